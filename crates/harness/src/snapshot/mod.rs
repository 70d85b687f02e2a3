//! The suite `snapshot`: what snapshots cost those who take and read them, and those who write meanwhile.
//!
//! One table of pairs of integers, a `set` and an `ordered_set`. Each run goes through all cases in their order: the
//! live table, a snapshot since which nothing was written, all objects overwritten once and again, a hundred snapshots,
//! all released, and two writers. A figure is the median over runs; what it aims at is a ratio to another case of the
//! same run ([`aims()`]), or a time. Objects are overwritten at random, so that their versions lie at random: of a bare scan
//! of them 15 ns an object are not counted.

mod case;
mod stage;

use std::fmt::Write as _;

use fyris::TableType;

use crate::args::Suite;
use crate::entry::Entry;
use crate::error::BenchError;
use crate::memory;
use crate::output::Output;
use crate::registry::Registry;
use crate::report::{Line, Series, Timing};
use case::{Limit, SnapshotCase};
use stage::{Measured, SnapshotStage};

/// The suite's row in the list of suites.
pub(super) const ENTRY: Entry = Entry {
    suite: Suite::Snapshot,
    cases: || SnapshotCase::all().map(SnapshotCase::name).collect(),
    run,
    child: |_, _, _| {
        Err(BenchError::NothingToRun(
            "`snapshot` has no child".to_owned(),
        ))
    },
    table: render,
    figures: |_| Vec::new(),
};

/// Memory made ready for each object, and at most: see [`memory::make_ready`].
const READY: (usize, usize) = (1 << 9, 1 << 30);

fn run(out: &mut Output, _: &Registry) -> Result<(), BenchError> {
    let n = out.args.entry_count();
    memory::make_ready((n * READY.0).min(READY.1));
    for table_type in [TableType::Set, TableType::OrderedSet] {
        let index = table_type.as_str();
        out.progress(&format!("{index}: filling"));
        let broken = |error: fyris::Error| BenchError::WrongAnswer(error.to_string());
        let mut stage = SnapshotStage::new(table_type, n).map_err(broken)?;
        let mut runs = Vec::new();
        for run in 0..out.args.run_count() {
            out.progress(&format!("{index}, run {}", run + 1));
            runs.push(stage.run().map_err(broken)?);
        }
        out.progress_over(index);
        let cases = SnapshotCase::all().filter(|case| out.args.wants_case(case.name()));
        let lines = cases.map(|case| line(case, index, n, &runs)).collect();
        out.emit(lines);
    }
    Ok(())
}

fn line(case: SnapshotCase, index: &'static str, n: usize, runs: &[Measured]) -> Line {
    let mut series = Series::default();
    let of_case = runs.iter().flat_map(|run| &run.times);
    for &(_, wall) in of_case.filter(|(measured, _)| *measured == case) {
        let cpu = wall;
        series.push(&Timing {
            wall,
            cpu,
            fairness: 1.0,
        });
    }
    let worst = |of: fn(&Measured) -> f64| runs.iter().map(of).fold(0.0, f64::max);
    let extra = match case {
        SnapshotCase::OverwriteFirst => vec![("bytes_retained", worst(|run| run.bytes))],
        SnapshotCase::FirstBusy => vec![("p99", worst(|run| run.slow[0]))],
        SnapshotCase::TakeBusy => vec![("p99", worst(|run| run.slow[1]))],
        _ => Vec::new(),
    };
    let busy = [
        SnapshotCase::FirstBusy,
        SnapshotCase::TakeBusy,
        SnapshotCase::Writers,
        SnapshotCase::WritersBeside,
    ];
    Line {
        suite: Suite::Snapshot.name(),
        case: case.name(),
        subject: "fyris",
        index: Some(index),
        object: Some("{integer, integer}"),
        options: None,
        keys: "term_int",
        threads: if busy.contains(&case) { 2 } else { 1 },
        n,
        times: Some(series.times(false)),
        memory: None,
        extra,
    }
}

/// One figure: a ratio to another, or to a time, that is not to be exceeded.
#[derive(Clone, Debug)]
pub struct SnapshotAim {
    /// The type of the table.
    pub index: &'static str,
    /// The case it is about.
    pub case: &'static str,
    /// The divisor of its time, in words.
    pub of: String,
    /// The greatest ratio that reaches it.
    pub target: f64,
    /// The ratio; `None` if the run did not measure both sides.
    pub measured: Option<f64>,
}

/// Returns the outcome of each aim.
pub fn aims(lines: &[Line]) -> Vec<SnapshotAim> {
    lines.iter().filter_map(|line| aim(line, lines)).collect()
}

fn aim(line: &Line, lines: &[Line]) -> Option<SnapshotAim> {
    let case = SnapshotCase::all().find(|case| case.name() == line.case)?;
    let (of, target, uncounted, divisor) = match case.limit()? {
        Limit::Nanoseconds(limit) => (format!("{} us", limit / 1e3), 1.0, 0.0, Some(limit)),
        Limit::Of(other, target, uncounted) => {
            let same = |l: &&Line| l.case == other.name() && l.index == line.index;
            let divisor = lines.iter().find(same).map(Line::figure);
            (other.name().to_owned(), target, uncounted, divisor)
        }
    };
    Some(SnapshotAim {
        index: line.index?,
        case: line.case,
        of,
        target,
        measured: divisor.map(|divisor| (line.figure() - uncounted) / divisor),
    })
}

/// Returns a table for each type of table.
fn render(lines: &[Line]) -> String {
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        if at == 0 || lines[at - 1].index != line.index {
            let index = line.index.unwrap_or("");
            let _ = writeln!(out, "\n{index} of {} {{integer, integer}}: ns", line.n);
        }
        let _ = write!(out, "{:16} {:>12.1}", line.case, line.figure());
        if let Some((aim, measured)) = aim(line, lines).and_then(|a| a.measured.map(|m| (a, m))) {
            let word = if measured <= aim.target {
                "reached"
            } else {
                "MISSED"
            };
            let _ = write!(
                out,
                "  {measured:.2} of {}, at most {}: {word}",
                aim.of, aim.target
            );
        }
        for (name, value) in &line.extra {
            let _ = write!(out, "  {name} {value:.1}");
        }
        out.push('\n');
    }
    out
}
