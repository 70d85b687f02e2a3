//! Shows how much a reader copies that attaches in place after commits of many patterns, and in how many runs it maps
//! the rest.
//!
//! `cargo run --release -p fyris-segment --example in_place_runs`: percent of the pages that a reader copies after
//! 4,000 commits, and after 8,000, 12,000 and 16,000; at the end the runs, and the frames with and without space.
//! Commits are made beside nobody; beside a process that lags by up to a hundred commits; beside a reader in place that
//! updates as often; by two writers in turns of a hundred commits.

use fyris_segment::{Doctor, Error, Options, PAGE, Segment};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const PAGES: usize = 2048;
const COMMITS: usize = 4000;

/// Commits the pages of a pattern's n-th commit.
type Pattern = fn(&mut Segment, usize, &mut SmallRng) -> Result<(), Error>;

const PATTERNS: [(&str, Pattern); 5] = [
    ("whole", |s, n, _| write(s, 0..PAGES, n, n % 200 == 0)),
    ("random", |s, n, random| {
        let page = random.random_range(0..PAGES);
        write(s, page..page + 1, n, true)
    }),
    ("ten", |s, n, random| {
        for _ in 0..10 {
            let page = random.random_range(0..PAGES);
            s.touch(page * PAGE..page * PAGE + 8)?;
            s.as_mut_slice()[page * PAGE] = (n % 251) as u8 + 1;
        }
        s.commit().map(drop)
    }),
    ("sweep", |s, n, _| {
        write(s, n % PAGES..n % PAGES + 1, n, true)
    }),
    ("arrays", |s, n, _| {
        let half = PAGES / 2;
        let at = n / 2 * 7 % (half - 7) + n % 2 * half;
        write(s, at..at + 7, n, true)
    }),
];

fn main() -> Result<(), Error> {
    println!(
        "{:<8} {:<8} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}",
        "commits", "beside", "first", "2nd", "3rd", "4th", "runs", "frames", "holes"
    );
    for (name, pattern) in PATTERNS {
        for beside in ["nobody", "laggard", "reader", "writer"] {
            show(name, pattern, beside)?;
        }
    }
    Ok(())
}

fn show(name: &str, pattern: Pattern, beside: &str) -> Result<(), Error> {
    let options = Options::new().declared();
    let mut writer = Segment::nameless(PAGES * PAGE, &options)?;
    let mut other = None;
    write(&mut writer, 0..PAGES, 0, true)?;
    let mut random = SmallRng::seed_from_u64(1);
    print!("{name:<8} {beside:<8}");
    for round in 0..4 {
        for n in 1..=COMMITS {
            let n = round * COMMITS + n;
            match (beside, n % 100, &mut other) {
                ("laggard", 1, other) => *other = Some(writer.origin().checkout()?),
                ("reader", 1, other) if n % 1000 == 1 => *other = Some(reader(&writer)?),
                ("reader", 0, Some(reader)) => drop(reader.update()?),
                ("writer", 0, other) => {
                    let mut second = match other.take() {
                        Some(second) => second,
                        None => writer.origin().checkout()?,
                    };
                    second.update()?;
                    *other = Some(std::mem::replace(&mut writer, second));
                }
                _ => {}
            }
            pattern(&mut writer, n, &mut random)?;
        }
        print!(
            " {:>5.1}%",
            copied(&reader(&writer)?) as f64 / PAGES as f64 * 100.0
        );
    }
    let report = Doctor::open(writer.path())?.report()?;
    let frames = report.frames_current
        + report.frames_retained
        + report.frames_reserved
        + report.frames_free;
    println!(" {:>6} {frames:>6} {:>6}", report.runs, report.frames_holes);
    Ok(())
}

fn reader(writer: &Segment) -> Result<Segment, Error> {
    Segment::checkout(writer.path(), 0, &Options::new().in_place(true))
}

fn write(
    segment: &mut Segment,
    pages: std::ops::Range<usize>,
    n: usize,
    now: bool,
) -> Result<(), Error> {
    if now {
        segment.touch(pages.start * PAGE..pages.end * PAGE)?;
        for page in pages {
            segment.as_mut_slice()[page * PAGE] = (n % 251) as u8 + 1;
        }
        segment.commit()?;
    }
    Ok(())
}

/// Returns the pages of a reader's view that are of its own memory.
fn copied(reader: &Segment) -> usize {
    let view = reader.as_ptr() as usize..reader.as_ptr() as usize + reader.max_len();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let own = maps.lines().filter(|line| line.contains("fyris-copy"));
    let ranges = own.filter_map(|line| {
        let (from, rest) = line.split_once('-')?;
        let (to, _) = rest.split_once(' ')?;
        let hex = |text| usize::from_str_radix(text, 16).ok();
        Some(hex(from)?..hex(to)?)
    });
    ranges
        .filter(|range| view.contains(&range.start))
        .map(|range| range.len() / PAGE)
        .sum()
}
