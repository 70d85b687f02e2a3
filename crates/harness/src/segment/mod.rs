//! The suite `segment`: what the operations of a version-controlled segment cost, after Table 3 of the 2013 paper.
//!
//! # The units
//!
//! A bare time says little about another machine, so every figure is also given in two units measured in the same
//! run: **M**, a `memcpy` of a 4 KiB page inside a warm set of a hundred (`memcpy_page`), and **C**, the kernel's own
//! copy-on-write fault on a private mapping (`cow_fault`), which the paper measures itself by.
//!
//! # Two processes
//!
//! Every case has a segment of its own, and a second real process attached to it: this program again, told what to do
//! over a pipe, on the same CPU as the first or (`_cross`) on another. Where the first commits, the second updates;
//! where the first updates, the second has committed. Only the first one's operation is timed.
//!
//! Everything is touched beforehand: both working copies, and every page is committed twice, so that the trunk's
//! frames are backed. First use of memory that the machine has not backed yet would be several times any figure here.
//!
//! # Slopes
//!
//! Costs that grow with the number of pages are measured at several numbers of pages, many times each; a
//! line through the medians, weighted so that each counts by its relative error, gives the cost of a page (`*_page_*`)
//! and the fixed cost (`commit_fixed_*`).
//!
//! *Scattered* pages are taken in one random order through the whole segment: a page comes again only when all
//! others have. *Hot* pages are the same hundred in every commit.
//!
//! After each timed update the words that it had to bring are compared: a wrong one is an error, not a fast time.

mod case;
mod exchange;
mod figures;
mod fit;
mod local;
mod partner;
mod stage;
mod table;
mod units;

pub use case::{CASES, SegmentCase};
pub use stage::Setting;

use crate::args::{BenchArgs, Clock, Suite};
use crate::cpus::Cpus;
use crate::entry::Entry;
use crate::error::BenchError;
use crate::output::Output;
use crate::registry::Registry;
use crate::report::{Line, Series, Timing};
use case::{IN_C, IN_M};
use stage::Stage;

/// The suite's row in the list of suites.
pub(super) const ENTRY: Entry = Entry {
    suite: Suite::Segment,
    cases: || CASES.iter().map(|case| case.name).collect(),
    run,
    child: partner::child,
    table: table::render,
    figures: figures::figures,
};

fn run(out: &mut Output, _: &Registry) -> Result<(), BenchError> {
    let args = out.args;
    check_filters(args)?;
    let cpus = Cpus::take(0)?;
    let wanted: Vec<&SegmentCase> = CASES
        .iter()
        .filter(|case| case.is_unit() || args.wants_case(case.name))
        .filter(|case| cpus.second().is_some() || !case.setting.cross)
        .collect();
    let mut series = vec![Series::default(); wanted.len()];
    for run in 0..args.run_count() {
        for (case, series) in wanted.iter().zip(&mut series) {
            out.progress(&format!("segment, run {}: {}", run + 1, case.name));
            let ns = measure(args, case, &cpus)?;
            series.push(&Timing {
                wall: ns,
                cpu: ns,
                fairness: 1.0,
            });
        }
    }
    out.progress_over("segment");
    out.emit(lines(&wanted, &series));
    Ok(())
}

/// Measures one case once; returns nanoseconds.
fn measure(args: &BenchArgs, case: &SegmentCase, cpus: &Cpus) -> Result<f64, BenchError> {
    match case.measure {
        case::Measure::Alone(measure) => measure(),
        case::Measure::Staged(measure) => measure(&mut Stage::set(args, case.setting, cpus)?),
    }
}

/// Returns a line for each case, in units of the first two.
fn lines(cases: &[&SegmentCase], series: &[Series]) -> Vec<Line> {
    let median = |name: &str| {
        let at = cases.iter().position(|case| case.name == name);
        at.map_or(f64::NAN, |at| series[at].times(false).ns_per_op)
    };
    let (m, c) = (median("memcpy_page"), median("cow_fault"));
    let line = |(case, series): (&&SegmentCase, &Series)| {
        let times = series.times(false);
        let ns = times.ns_per_op;
        Line {
            suite: Suite::Segment.name(),
            case: case.name,
            subject: "fyris",
            index: None,
            object: None,
            options: None,
            keys: "u64",
            threads: 1,
            n: case.setting.bytes / fyris_segment::PAGE,
            times: Some(times),
            memory: None,
            extra: vec![(IN_M, ns / m), (IN_C, ns / c)],
        }
    };
    cases.iter().zip(series).map(line).collect()
}

/// Refuses filters of subjects or clocks: the suite has one of each.
fn check_filters(args: &BenchArgs) -> Result<(), BenchError> {
    if args.clock == Clock::Cpu {
        return Err(BenchError::NothingToRun(
            "`segment` times single operations, by the wall clock only".to_owned(),
        ));
    }
    match args.subject.iter().find(|subject| *subject != "fyris") {
        None => Ok(()),
        Some(bad) => Err(BenchError::NothingToRun(format!(
            "no subject `{bad}`; there is: fyris"
        ))),
    }
}
