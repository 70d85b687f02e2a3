//! Measures the speed of saving and loading dumps: `cargo run --release --example dump_speed -- [FILE]`.
//!
//! Without a file it makes a dump of 1M {integer, integer} objects. Prints medians of five runs; where
//! Erlang is installed, `ets:file2tab` runs in between on the same file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use fyris::dump::{LoadOptions, SaveOptions};
use fyris::{Options, Store};
use fyris_term::Term;

const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = std::env::args().nth(1).map(PathBuf::from);
    let temporary = given.is_none();
    let path = given.unwrap_or_else(|| {
        std::env::temp_dir().join(format!("fyris-speed-{}.ets", std::process::id()))
    });
    if temporary {
        make(&path)?;
    }
    let (mut plain, mut verified, mut saved, mut erlang) = (vec![], vec![], vec![], vec![]);
    for _ in 0..RUNS {
        plain.push(load(&path, false)?);
        verified.push(load(&path, true)?);
        saved.push(save(&path)?);
        erlang.extend(file2tab(&path));
    }
    println!("file2tab            {:>8.1} ms", median(&mut plain));
    println!("file2tab, verified  {:>8.1} ms", median(&mut verified));
    println!("tab2file            {:>8.1} ms", median(&mut saved));
    if !erlang.is_empty() {
        let otp = median(&mut erlang);
        println!(
            "ets:file2tab        {otp:>8.1} ms; ours / theirs {:.2}",
            median(&mut plain) / otp
        );
    }
    if temporary {
        std::fs::remove_file(&path)?;
    }
    Ok(())
}

/// Makes a dump of 1M {integer, integer}.
fn make(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let owner = Store::new().owner();
    let table = owner.new_table("integers", &Options::set())?;
    for i in 0..1_000_000 {
        table.insert(&Term::tuple(vec![Term::Int(i), Term::Int(i * 7)]))?;
    }
    let options = SaveOptions {
        object_count: true,
        md5sum: true,
        ..SaveOptions::default()
    };
    table.tab2file(path, &options)?;
    Ok(())
}

fn load(path: &Path, verify: bool) -> Result<f64, Box<dyn std::error::Error>> {
    let owner = Store::new().owner();
    let options = LoadOptions {
        verify,
        ..LoadOptions::default()
    };
    let begin = Instant::now();
    let loaded = owner.file2tab(path, &options)?;
    let time = milliseconds(begin);
    assert!(loaded.damage.is_empty());
    Ok(time)
}

fn save(path: &Path) -> Result<f64, Box<dyn std::error::Error>> {
    let owner = Store::new().owner();
    let loaded = owner.file2tab(path, &LoadOptions::default())?;
    let to = path.with_extension("again");
    let begin = Instant::now();
    loaded.table.tab2file(&to, &SaveOptions::default())?;
    let time = milliseconds(begin);
    std::fs::remove_file(to)?;
    Ok(time)
}

/// Measures `ets:file2tab`, if there is an Erlang.
fn file2tab(path: &Path) -> Option<f64> {
    let program = format!(
        "{{T, {{ok, _}}}} = timer:tc(fun() -> ets:file2tab(\"{}\") end), io:format(\"~w\", [T]), halt().",
        path.display()
    );
    let output = Command::new("erl")
        .args(["-noinput", "-eval", &program])
        .output()
        .ok()?;
    let microseconds: f64 = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    Some(microseconds / 1000.0)
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1000.0
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
