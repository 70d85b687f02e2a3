//! The suite `query`: match specifications over tables, beside the real `ets` where Erlang is installed.
//!
//! # The tables
//!
//! Two kinds of objects, `{integer, integer}` and `{binary, integer, atom}`, each in a `set` and in an `ordered_set`,
//! here and there, filled in the same order. The second elements are a permutation of the numbers below their count,
//! so that a guard can let exactly half of the objects through; every answer is counted and checked.
//!
//! # The subjects
//!
//! `fyris`, and `ets`: an Erlang process that is told case by case what to do, and times it itself. Both take turns,
//! run by run. Making the result of a call is in its time, freeing it is not; so Erlang's time holds the collections
//! that its heap needs for the results, and Fyris's time holds the allocations.
//!
//! # The check
//!
//! The tables for people end with the ratios that the suite aims at ([`aims()`]); `fyris-compare query --check`
//! judges them. A run with other programs beside it proves nothing but ratios of what was interleaved.

mod aims;
mod case;
mod ets;
mod figures;
mod fyris;
mod kind;
mod table;

use ::fyris::TableType;

use crate::args::{BenchArgs, Clock, Suite};
use crate::entry::Entry;
use crate::error::BenchError;
use crate::memory;
use crate::output::Output;
use crate::registry::Registry;
use crate::report::{Line, Series, Timing};
pub use aims::{Aim, aims};
use case::QueryCase;
use ets::QueryEts;
use fyris::{FullTable, QueryPass};
use kind::ObjectKind;

/// The suite's row in the list of suites.
pub(super) const ENTRY: Entry = Entry {
    suite: Suite::Query,
    cases: || QueryCase::ALL.map(QueryCase::name).to_vec(),
    run,
    child: |_, _, _| Err(BenchError::NothingToRun("`query` has no child".to_owned())),
    table: table::render,
    figures: figures::figures,
};

/// Our index, and the type of table that has it.
const INDEXES: [(&str, TableType); 2] =
    [("hash", TableType::Set), ("ordered", TableType::OrderedSet)];

/// Memory made ready for each object, and at most: see [`memory::make_ready`].
const READY: (usize, usize) = (1 << 10, 1 << 30);

/// Numbers of threads, if none are asked for.
const THREADS: [usize; 2] = [1, 2];

fn run(out: &mut Output, _: &Registry) -> Result<(), BenchError> {
    let args = out.args;
    memory::make_ready((args.entry_count() * READY.0).min(READY.1));
    let mut ets = if args.wants_subject("ets") {
        QueryEts::start()?
    } else {
        None
    };
    if ets.is_none() {
        out.progress_over("without ets");
    }
    for (index, table_type) in INDEXES {
        for kind in ObjectKind::ALL {
            if args.wants_keys(kind.keys(), true) {
                let lines = group(out, (index, table_type), kind, ets.as_mut())?;
                out.emit(lines);
            }
        }
    }
    Ok(())
}

/// One figure under way.
struct Column {
    case: QueryCase,
    threads: usize,
    theirs: bool,
    series: Series,
}

/// Measures every case over one kind of table, interleaved.
fn group(
    out: &Output,
    (index, table_type): (&'static str, TableType),
    kind: ObjectKind,
    mut ets: Option<&mut QueryEts>,
) -> Result<Vec<Line>, BenchError> {
    let (args, n) = (out.args, out.args.entry_count());
    let what = format!("{} of {}", table_type.as_str(), kind.objects());
    out.progress(&format!("{what}: filling"));
    let filled = FullTable::new(table_type, kind, n)?;
    if let Some(ets) = &mut ets {
        ets.fill(table_type, kind, n)?;
    }
    let mut columns = columns(args, table_type, kind, ets.is_some());
    for run in 0..args.run_count() {
        for column in &mut columns {
            let case = column.case;
            out.progress(&format!("{what}, run {}: {}", run + 1, case.name()));
            let done = match &mut ets {
                Some(ets) if column.theirs => ets.run(case)?,
                _ => filled.run(case, column.threads)?,
            };
            check(case, &done, n)?;
            column.series.push(&timing(&done));
        }
    }
    out.progress_over(&what);
    let index = |theirs: bool| if theirs { table_type.as_str() } else { index };
    let cpu = args.clock == Clock::Cpu;
    Ok(columns
        .iter()
        .map(|column| Line {
            suite: Suite::Query.name(),
            case: column.case.name(),
            subject: if column.theirs { "ets" } else { "fyris" },
            index: Some(index(column.theirs)),
            object: Some(kind.objects()),
            options: None,
            keys: kind.keys(),
            threads: column.threads,
            n,
            times: Some(column.series.times(cpu && column.threads == 1)),
            memory: None,
            extra: Vec::new(),
        })
        .collect())
}

/// Returns the measurements over one kind of table.
fn columns(
    args: &BenchArgs,
    table_type: TableType,
    kind: ObjectKind,
    with_ets: bool,
) -> Vec<Column> {
    let ranges = table_type == TableType::OrderedSet && kind == ObjectKind::Int;
    let mut columns = Vec::new();
    for case in QueryCase::ALL {
        if !args.wants_case(case.name()) || (case.is_range() && !ranges) {
            continue;
        }
        let threads = args.thread_counts(&THREADS).into_iter();
        let ours = threads.filter(|&threads| threads == 1 || case.is_shared());
        let ours = ours.filter(|_| args.wants_subject("fyris"));
        let theirs = (with_ets && !case.is_range()).then_some(1);
        let column = |theirs| {
            move |threads| Column {
                case,
                threads,
                theirs,
                series: Series::default(),
            }
        };
        columns.extend(ours.map(column(false)));
        columns.extend(theirs.map(column(true)));
    }
    columns
}

fn timing(done: &QueryPass) -> Timing {
    Timing {
        wall: done.wall / done.units as f64,
        cpu: done.cpu / done.units as f64,
        fairness: 1.0,
    }
}

/// Refuses times of wrong answers.
fn check(case: QueryCase, done: &QueryPass, n: usize) -> Result<(), BenchError> {
    let right = match case {
        QueryCase::Match => 1,
        QueryCase::Compile
        | QueryCase::Lookup
        | QueryCase::Point
        | QueryCase::Range100
        | QueryCase::SelectRange100 => done.units,
        _ => n / 2,
    };
    if done.answer == right {
        return Ok(());
    }
    Err(BenchError::WrongAnswer(format!(
        "case {}: {} answers where {right} are right",
        case.name(),
        done.answer
    )))
}
