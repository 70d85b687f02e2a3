//! Loading a dump, against `ets:file2tab` on the same file.
//!
//! The file is made by Erlang's own `ets:tab2file`: a set of `{integer, integer}` objects in the
//! order in which ETS gives them out. Runs alternate; each of Erlang's is the best of three loads in
//! a fresh emulator, so that its heap has grown before; each of ours is one load and one drop.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;
use fyris::Store;
use fyris::dump::LoadOptions;
use fyris_harness::args::Clock;
use fyris_harness::{cpu_now, stats::Samples};

/// The greatest allowed ratio.
const TARGET: f64 = 0.5;

/// Options of `fyris-compare load`.
#[derive(Args, Clone, Debug)]
pub struct LoadArgs {
    /// Objects in the dump
    #[arg(long, default_value_t = 1_000_000)]
    objects: u64,
    /// Alternating runs; the figure is their median
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// The clock the figures are taken from; `cpu` is the processor time of our thread, and of the whole emulator
    #[arg(long, value_enum, default_value = "wall")]
    clock: Clock,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
}

/// Why there is no figure.
#[derive(Debug)]
pub enum LoadError {
    /// No `erl` could be started, or it failed; what it said.
    Erlang(String),
    /// Fyris could not load the file.
    Fyris(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Erlang(what) => write!(f, "Erlang, which makes the dump, failed: {what}"),
            Self::Fyris(what) => write!(f, "loading failed: {what}"),
        }
    }
}

/// Makes the dump, loads it by turns and prints both medians and their ratio.
///
/// # Errors
///
/// See [`LoadError`].
pub fn run(args: &LoadArgs) -> Result<(), LoadError> {
    let file = Dump(std::env::temp_dir().join(format!("fyris-load-{}.ets", std::process::id())));
    make(&file.0, args.objects)?;
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for _ in 0..args.runs {
        theirs.push(by_erlang(&file.0, args.clock)?);
        ours.push(by_fyris(&file.0, args)?);
    }
    for (subject, samples) in [("fyris", &ours), ("ets", &theirs)] {
        report(args, subject, samples);
    }
    if !args.json {
        let ratio = ours.median() / theirs.median();
        let word = if ratio <= TARGET { "reached" } else { "MISSED" };
        println!("fyris / ets:file2tab {ratio:.2}, to be at most {TARGET:.2}: {word}");
    }
    Ok(())
}

/// The file, gone when this is dropped.
struct Dump(PathBuf);

impl Drop for Dump {
    fn drop(&mut self) {
        // A file left behind in the temporary directory does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn report(args: &LoadArgs, subject: &str, samples: &Samples) {
    let per_object = |ms: f64| ms * 1e6 / args.objects as f64;
    if args.json {
        println!(
            concat!(
                r#"{{"suite":"load","case":"file2tab","subject":"{}","keys":"term_int","#,
                r#""threads":1,"n":{},"ns_per_op":{:.1},"min":{:.1},"max":{:.1},"runs":{}}}"#
            ),
            subject,
            args.objects,
            per_object(samples.median()),
            per_object(samples.min()),
            per_object(samples.max()),
            samples.runs()
        );
    } else {
        println!(
            "{subject:6} {:6.0} ms ({:.0} to {:.0}), {:.0} ns an object",
            samples.median(),
            samples.min(),
            samples.max(),
            per_object(samples.median())
        );
    }
}

/// Has Erlang write the dump.
fn make(file: &Path, objects: u64) -> Result<(), LoadError> {
    erlang(&format!(
        "T = ets:new(dump, [public]), \
         [ets:insert(T, {{I, I * 7}}) || I <- lists:seq(1, {objects})], \
         ok = ets:tab2file(T, {file:?}), halt()."
    ))
    .map(|_| ())
}

/// Milliseconds of the best of three loads in one emulator.
fn by_erlang(file: &Path, clock: Clock) -> Result<f64, LoadError> {
    let now = match clock {
        Clock::Wall => "erlang:monotonic_time(microsecond)",
        Clock::Cpu => "element(1, erlang:statistics(runtime)) * 1000",
    };
    let printed = erlang(&format!(
        "Ts = [begin \
           T0 = {now}, {{ok, Tab}} = ets:file2tab({file:?}), T = {now} - T0, \
           ets:delete(Tab), erlang:garbage_collect(), T end || _ <- [1, 2, 3]], \
         io:format(\"~b~n\", [lists:min(Ts)]), halt()."
    ))?;
    let micros: f64 = printed
        .trim()
        .parse()
        .map_err(|_| LoadError::Erlang(format!("it said {printed:?}")))?;
    Ok(micros / 1e3)
}

/// Runs a piece of Erlang and returns its output.
fn erlang(code: &str) -> Result<String, LoadError> {
    let output = Command::new("erl")
        .args(["-noshell", "-noinput", "-eval", code])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| LoadError::Erlang(error.to_string()))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(printed)
    } else {
        Err(LoadError::Erlang(format!(
            "{printed}{}",
            String::from_utf8_lossy(&output.stderr)
        )))
    }
}

/// Milliseconds of one load.
fn by_fyris(file: &Path, args: &LoadArgs) -> Result<f64, LoadError> {
    let owner = Store::new().owner();
    let (start, cpu) = (Instant::now(), cpu_now());
    let loaded = owner
        .file2tab(file, &LoadOptions::default())
        .map_err(|error| LoadError::Fyris(error.to_string()))?;
    let took = match args.clock {
        Clock::Wall => start.elapsed().as_secs_f64() * 1e3,
        Clock::Cpu => (cpu_now() - cpu) / 1e6,
    };
    let found = loaded.table.len() as u64;
    if found == args.objects {
        Ok(took)
    } else {
        Err(LoadError::Fyris(format!(
            "{found} objects of {}",
            args.objects
        )))
    }
}
