//! Measures the cost of readers: four of one segment, with copies and in place. And how long it takes to check out a
//! segment of which little was ever written.
//!
//! `cargo run --release -p fyris-segment --example readers -- [MiB]` (default: 64)

use std::hint::black_box;
use std::time::Instant;

use fyris_segment::{Error, Options, PAGE, Segment};

const READERS: usize = 4;

fn main() -> Result<(), Error> {
    let mib: usize = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(64);
    let size = mib << 20;
    let name = format!("readers-{}", std::process::id());
    let mut writer = Segment::checkout(&name, size, &Options::new())?;
    for page in 0..size / PAGE {
        writer.as_mut_slice()[page * PAGE] = 1;
    }
    writer.commit()?;
    println!(
        "{mib} MiB, {READERS} readers   check out (ms)   read all (ms)   memory (MiB)   update of 100 pages (us)"
    );
    let kinds = [
        ("with copies", Options::new().read_only(true)),
        ("in place", Options::new().in_place(true)),
    ];
    for (kind, (what, options)) in kinds.into_iter().enumerate() {
        let before = memory();
        let (mut readers, took) = timed(|| {
            (0..READERS)
                .map(|_| Segment::checkout(&name, 0, &options))
                .collect::<Result<Vec<_>, _>>()
        });
        let readers = readers.as_mut().expect("readers");
        let (_, read) = timed(|| readers.iter().for_each(look));
        let taken = memory() - before;
        // Other pages each time: those that were changed before lie alone in the file, and are copied.
        for at in 0..100 {
            writer.as_mut_slice()[(at * size / 100 / PAGE + 8 * kind) * PAGE + 8] += 1;
        }
        writer.commit()?;
        let (updated, update) = timed(|| readers[0].update());
        updated?;
        println!(
            "{what:>20}   {:14.2}   {:13.2}   {:12}   {:24.1}",
            took / READERS as f64 * 1e3,
            read / READERS as f64 * 1e3,
            taken / 1024,
            update * 1e6
        );
    }
    drop(writer);
    Segment::unlink(&name)?;

    for (content, has) in [("zeros", size), ("which one page is used", PAGE)] {
        let _empty = Segment::checkout(&name, has, &Options::new().max_size(size))?;
        for (what, options) in [
            ("tracked", Options::new()),
            ("declared", Options::new().declared()),
            ("in place", Options::new().in_place(true)),
        ] {
            let mut times: Vec<f64> = (0..9)
                .map(|_| timed(|| Segment::checkout(&name, 0, &options).map(drop)).1)
                .collect();
            times.sort_by(f64::total_cmp);
            let us = times[4] * 1e6;
            println!("{mib} MiB of {content}, checked out {what} and let go: {us:.0} us");
        }
        Segment::unlink(&name)?;
    }
    Ok(())
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let done = run();
    (done, begun.elapsed().as_secs_f64())
}

fn look(reader: &Segment) {
    for page in reader.as_slice().chunks(PAGE) {
        black_box(page[0]);
    }
}

/// Returns the kilobytes that this process has of the machine's memory, its share of those that processes share.
fn memory() -> usize {
    let all = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = all.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    number.unwrap_or(0)
}
