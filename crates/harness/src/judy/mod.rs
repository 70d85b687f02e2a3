//! The suite `judy`: the experiments of Fritchie's study of Judy arrays as tables of ETS (2003, section 7).
//!
//! # The programs
//!
//! Seven, over tables of `{K, 1}` with the keys from 0 on, by one thread: insertion into an empty table in the order of
//! keys and in random order; lookup in both orders, traversal by `first` and `next`, counter updates in random order,
//! and deletion of each key that a traversal finds, over tables that were filled in the order of keys. Tables have 700
//! to 7 million keys, or up to 54 million (`--entries`); a program over a small table is repeated. The memory of tables
//! is that of the study's Table 2.
//!
//! # The subjects
//!
//! Every index that a store can know by name ([`store`]), in an `ordered_set` if it serves one, else in a `set`; and
//! `ets`, a `set` and an `ordered_set`, where Erlang is installed. All take turns, run by run. A subject for which a
//! larger table would take too long, by what the last ones took, is left out of it, and that is said.
//!
//! # The figures
//!
//! Those of the study by their numbers: times relative to the `set` of ETS where that was measured, else to the table
//! on `hash`. Counter updates, which the study leaves out as they were like random lookups, are drawn too.

mod case;
mod ets;
mod figures;
mod fyris;
mod order;
mod table;

pub(crate) use self::fyris::indexes;
pub use self::fyris::store;

use ::fyris::TableType;

use crate::args::{BenchArgs, Clock, Suite};
use crate::entry::Entry;
use crate::error::BenchError;
use crate::memory::{allocated, make_ready, resident};
use crate::output::Output;
use crate::process;
use crate::registry::Registry;
use crate::report::{Line, Memory, Series, Timing};
use case::JudyCase;
use ets::JudyEts;

/// The suite's row in the list of suites.
pub(super) const ENTRY: Entry = Entry {
    suite: Suite::Judy,
    cases: || JudyCase::ALL.map(JudyCase::name).to_vec(),
    run,
    child: memory_child,
    table: table::render,
    figures: figures::figures,
};

/// Keys of the tables of the study.
const SIZES: [usize; 8] = [
    700, 7_000, 70_000, 700_000, 7_000_000, 14_000_000, 21_000_000, 54_000_000,
];
/// The largest table if nothing is said, and of a quick run.
const LARGEST: (usize, usize) = (7_000_000, 70_000);
/// Tables of which Table 2 gives the memory.
const REMEMBERED: (usize, usize) = (70_000, 21_000_000);

/// Keys that a program handles at least, by repetition.
const WORK: usize = 70_000;

/// Seconds that a table's programs may take in one run, and in a quick one.
const PATIENCE: (f64, f64) = (120.0, 2.0);

/// Memory made ready for each key, and at most: see [`make_ready`].
const READY: (usize, usize) = (1 << 8, 1 << 30);

/// The times of one pass of all programs: nanoseconds by the clock, and of the processor.
type Pass = [(f64, f64); JudyCase::TIMED];

/// A kind of table under measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TableKind {
    /// The index; `None` for the real ETS.
    index: Option<&'static str>,
    table_type: TableType,
}

impl TableKind {
    fn subject(self) -> &'static str {
        if self.index.is_some() { "fyris" } else { "ets" }
    }

    fn label(self) -> String {
        let name = self.index.unwrap_or("ets");
        format!("{name} {}", self.table_type.as_str())
    }

    fn line(self, case: JudyCase, n: usize) -> Line {
        Line {
            suite: Suite::Judy.name(),
            case: case.name(),
            subject: self.subject(),
            index: self.index,
            object: Some(self.table_type.as_str()),
            options: None,
            keys: "term_int",
            threads: 1,
            n,
            times: None,
            memory: None,
            extra: Vec::new(),
        }
    }
}

/// A kind of table, and what was measured of the last size.
struct MeasuredKind {
    kind: TableKind,
    series: [Series; JudyCase::TIMED],
    /// Nanoseconds a key for all programs, over the last table and over the one before.
    last: [f64; 2],
    is_out: bool,
}

fn run(out: &mut Output, _: &Registry) -> Result<(), BenchError> {
    let args = out.args;
    let mut ets = if args.wants_subject("ets") {
        JudyEts::start()?
    } else {
        None
    };
    if ets.is_none() {
        out.progress_over("without ets");
    }
    let sizes = sizes(args);
    let mut subjects: Vec<MeasuredKind> = kinds(args, ets.is_some())?
        .into_iter()
        .map(MeasuredKind::new)
        .collect();
    make_ready((sizes.iter().max().unwrap_or(&0) * READY.0).min(READY.1));
    if JudyCase::ALL[..JudyCase::TIMED]
        .iter()
        .any(|case| args.wants_case(case.name()))
    {
        for &n in &sizes {
            let lines = size(out, n, &mut subjects, ets.as_mut())?;
            out.emit(lines);
        }
    }
    if args.wants_case(JudyCase::Bytes.name()) {
        memory(out, &sizes, &subjects, ets.as_mut())?;
    }
    Ok(())
}

/// Returns the numbers of keys of the tables.
fn sizes(args: &BenchArgs) -> Vec<usize> {
    let usual = if args.quick { LARGEST.1 } else { LARGEST.0 };
    let most = args.entries.map_or(usual, |n| n as usize);
    let mut sizes: Vec<usize> = SIZES.into_iter().filter(|n| *n < most).collect();
    sizes.push(most);
    sizes
}

/// Returns the kinds of tables that take part.
fn kinds(args: &BenchArgs, with_ets: bool) -> Result<Vec<TableKind>, BenchError> {
    let mut kinds = Vec::new();
    if with_ets {
        let ets = [TableType::Set, TableType::OrderedSet];
        kinds.extend(ets.map(|table_type| TableKind {
            index: None,
            table_type,
        }));
    }
    for (index, table_type) in indexes()? {
        if args.wants_subject("fyris") || args.wants_subject(index) {
            kinds.push(TableKind {
                index: Some(index),
                table_type,
            });
        }
    }
    if kinds.is_empty() {
        return Err(BenchError::NothingToRun(
            "no subject of `judy` is called that; there are `ets`, `fyris`, and each index by its name".to_owned(),
        ));
    }
    Ok(kinds)
}

impl MeasuredKind {
    fn new(kind: TableKind) -> Self {
        Self {
            kind,
            series: Default::default(),
            last: [0.0; 2],
            is_out: false,
        }
    }

    /// Returns the seconds that all programs over a table of `n` keys will take, by what they took a key.
    fn forecast(&self, n: usize) -> f64 {
        let [last, before] = self.last;
        let growth = if before > 0.0 {
            (last / before).max(1.0)
        } else {
            1.0
        };
        last * growth * n.max(WORK) as f64 / 1e9
    }
}

/// Runs all programs over tables of `n` keys, interleaved.
fn size(
    out: &Output,
    n: usize,
    subjects: &mut [MeasuredKind],
    mut ets: Option<&mut JudyEts>,
) -> Result<Vec<Line>, BenchError> {
    let args = out.args;
    let patience = if args.quick { PATIENCE.1 } else { PATIENCE.0 };
    for subject in subjects.iter_mut().filter(|subject| !subject.is_out) {
        subject.series = Default::default();
        if subject.forecast(n) > patience {
            subject.is_out = true;
            let label = subject.kind.label();
            let seconds = subject.forecast(n);
            out.progress_over(&format!(
                "{label}: left out from {n} keys on, some {seconds:.0} s a run"
            ));
        }
    }
    let (order, repeats) = (order::shuffled(n), WORK.div_ceil(n));
    for run in 0..args.run_count() {
        let count = subjects.len();
        for turn in 0..count {
            let subject = &mut subjects[(turn + run) % count];
            if subject.is_out {
                continue;
            }
            let kind = subject.kind;
            out.progress(&format!("{n} keys, run {}: {}", run + 1, kind.label()));
            let pass = match (kind.index, &mut ets) {
                (None, Some(ets)) => ets.pass(kind.table_type, n, repeats)?,
                _ => fyris::pass(kind, &order, repeats)?,
            };
            subject.take(&pass, n * repeats);
        }
    }
    out.progress_over(&format!("{n} keys"));
    let cpu = args.clock == Clock::Cpu;
    let mut lines = Vec::new();
    for subject in subjects.iter_mut().filter(|subject| !subject.is_out) {
        let medians = subject.series.iter().map(|series| series.wall.median());
        subject.last = [medians.sum(), subject.last[0]];
        for (case, series) in JudyCase::ALL.into_iter().zip(&subject.series) {
            if args.wants_case(case.name()) {
                lines.push(Line {
                    times: Some(series.times(cpu)),
                    ..subject.kind.line(case, n)
                });
            }
        }
    }
    Ok(lines)
}

impl MeasuredKind {
    /// Adds the times of a pass, in which each program handled `keys` keys.
    fn take(&mut self, pass: &Pass, keys: usize) {
        for (series, (wall, cpu)) in self.series.iter_mut().zip(pass) {
            series.push(&Timing {
                wall: wall / keys as f64,
                cpu: cpu / keys as f64,
                fairness: 1.0,
            });
        }
    }
}

/// Measures the memory of tables: of Table 2, as far as they are among those asked for, else of the largest.
fn memory(
    out: &mut Output,
    sizes: &[usize],
    subjects: &[MeasuredKind],
    mut ets: Option<&mut JudyEts>,
) -> Result<(), BenchError> {
    let largest = *sizes.iter().max().unwrap_or(&REMEMBERED.0);
    let (few, many) = (REMEMBERED.0.min(largest), REMEMBERED.1.min(largest));
    let mut counts = vec![few, many];
    counts.dedup();
    for n in counts {
        for subject in subjects
            .iter()
            .filter(|subject| !(subject.is_out && n == many))
        {
            let kind = subject.kind;
            out.progress(&format!("memory of {n} keys: {}", kind.label()));
            let memory = match (kind.index, &mut ets) {
                (None, Some(ets)) => ets.memory(kind.table_type, n)?,
                _ => in_child(out.args, kind, n)?,
            };
            let line = Line {
                memory: Some(memory),
                ..kind.line(JudyCase::Bytes, n)
            };
            out.emit(vec![line]);
        }
        out.progress_over(&format!("memory of {n} keys"));
    }
    Ok(())
}

/// Makes a child measure the memory of a table, from the parent.
fn in_child(args: &BenchArgs, kind: TableKind, n: usize) -> Result<Memory, BenchError> {
    let mut child = process::command(args, &kind.label())?;
    child.args(["--entries", &n.to_string()]);
    process::memory(&mut child, &kind.label())
}

/// Fills the table and prints its bytes and pages a key, in the child.
fn memory_child(args: &BenchArgs, _: &Registry, part: &str) -> Result<(), BenchError> {
    let mut kinds = indexes()?.into_iter().map(|(index, table_type)| TableKind {
        index: Some(index),
        table_type,
    });
    let Some(kind) = kinds.find(|kind| kind.label() == part) else {
        return Err(BenchError::NothingToRun(format!("no table `{part}`")));
    };
    let n = args.entry_count();
    let (blocks, pages) = (allocated(), resident());
    let table = fyris::filled(kind, n)?;
    let per_key = |after: usize, before: usize| (after as f64 - before as f64) / n as f64;
    println!(
        "{:.3} {:.3}",
        per_key(allocated(), blocks),
        per_key(resident(), pages)
    );
    drop(table);
    Ok(())
}
