//! The suite `ets_bench`: the benchmark of the papers on the scalability of ETS (2013) and on its contention adapting
//! `ordered_set` (2014), over tables of Fyris.
//!
//! # The workload
//!
//! Keys are integers below a power of two (`--range`). A phase inserts half as many objects as there are keys; mixed
//! phases look up in 50, 80, 90, 99 and 100 % of their operations, the rest are half inserts and half deletes; a last
//! phase deletes as often as the first inserted. All keys are drawn at random beforehand, so a key may be drawn twice,
//! and half of the lookups find something. In the papers each mixed phase has a fresh table; here they follow each
//! other on one. Insertion and deletion are timed from 2^14 keys on.
//!
//! The keys of updates are split between threads, as in `core`: so the lookups of the last mixed phase, and the size of
//! the table at the end, are known and checked.
//!
//! # The subjects
//!
//! Every index that a store can know by name, in an `ordered_set` if it serves one, else in a `set`, with every set of
//! options that it has use for: those of Table 1 of the 2013 paper (`no`, `r`, `w`, `r+w`), `auto`, and on request
//! numbers of bucket locks (`locks=16`) and of reader groups (`groups=4`). An index without locks takes part as `no`
//! only. `--library` adds the index of a shared library. All take turns, run by run. `michael_hash`, whose number of
//! buckets is fixed, takes part up to 2^16 keys.
//!
//! # The objects
//!
//! `key` is `{K}` as in the papers, `pair` is `{K, V}`, `large` has 32 integers beside the key. An insert hands in a
//! tuple just built, a lookup copies the object out, as `ets` does.

mod case;
mod options;
mod table;
mod tuned;

use fyris::TableType;

use crate::args::{BenchArgs, Clock, Suite};
use crate::core::case::Case;
use crate::core::keys::TERM_INT;
use crate::core::pass;
use crate::core::workload::Workload;
use crate::entry::Entry;
use crate::error::BenchError;
use crate::judy;
use crate::memory::make_ready;
use crate::output::Output;
use crate::registry::Registry;
use crate::report::{Line, Series, Timing};
use options::{OptionSet, StoredObject, TABLE_1};
use tuned::{Structure, TunedKind, TunedTable, uses};

/// The suite's row in the list of suites.
pub(super) const ENTRY: Entry = Entry {
    suite: Suite::EtsBench,
    cases: || case::PHASES.map(|(name, _)| name).to_vec(),
    run,
    child: |_, _, _| Err(BenchError::Child("this suite has no processes".to_owned())),
    table: table::render,
    figures: table::figures,
};

/// Powers of two below which the keys lie, and in a quick run.
const RANGES: [u32; 7] = [3, 6, 9, 12, 15, 18, 21];
const QUICK_RANGES: [u32; 3] = [3, 10, 16];
/// Operations of a mixed phase by all threads, and in a quick run.
const OPS: (usize, usize) = (1 << 20, 1 << 16);
/// Numbers of threads, if none are asked for.
const THREADS: [usize; 2] = [1, 2];
/// The index of a fixed number of buckets, and the largest range that it takes part in.
const FIXED: (&str, u32) = ("michael_hash", 16);
/// Memory made ready for each key, and at most: see [`make_ready`].
const READY: (usize, usize) = (1 << 8, 1 << 30);

fn run(out: &mut Output, _: &Registry) -> Result<(), BenchError> {
    let args = out.args;
    let (ranges, threads) = (ranges(args), args.thread_counts(&THREADS));
    let (fewest, most) = (ranges.iter().min(), threads.iter().max());
    if let (Some(bits), Some(threads)) = (fewest, most)
        && *threads > 1 << bits
    {
        return Err(BenchError::NothingToRun(format!(
            "{threads} threads with keys below 2^{bits}: each thread writes keys of its own"
        )));
    }
    let kinds = kinds(args)?;
    make_ready((READY.0 << ranges.iter().max().unwrap_or(&0)).min(READY.1));
    for object in StoredObject::ALL {
        let of_object: Vec<&TunedKind> =
            kinds.iter().filter(|kind| kind.object == object).collect();
        for &bits in ranges.iter().filter(|_| !of_object.is_empty()) {
            for &threads in &threads {
                let lines = group(out, &of_object, bits, threads)?;
                out.emit(lines);
            }
        }
    }
    Ok(())
}

/// Returns the powers of two below which the keys lie.
fn ranges(args: &BenchArgs) -> Vec<u32> {
    match (&args.range[..], args.quick) {
        ([], false) => RANGES.to_vec(),
        ([], true) => QUICK_RANGES.to_vec(),
        (asked, _) => asked.to_vec(),
    }
}

/// Returns the kinds of tables that take part.
fn kinds(args: &BenchArgs) -> Result<Vec<TunedKind>, BenchError> {
    let (sets, objects) = (option_sets(args)?, objects(args)?);
    let mut indexes: Vec<(Structure, TableType)> = judy::indexes()?
        .into_iter()
        .map(|(index, table_type)| (Structure::Named(index), table_type))
        .collect();
    if let Some(path) = &args.library {
        // Said in each kind of table, and given once.
        let path = path.to_string_lossy().into_owned().leak();
        indexes.push((Structure::Library(path), TableType::Set));
    }
    let known: Vec<&str> = indexes.iter().map(|(index, _)| index.name()).collect();
    if let Some(bad) = args
        .subject
        .iter()
        .find(|name| *name != "fyris" && !known.contains(&name.as_str()))
    {
        let known = known.join(", ");
        return Err(BenchError::NothingToRun(format!(
            "no subject `{bad}`; there are fyris, {known}"
        )));
    }
    let mut kinds = Vec::new();
    for (index, table_type) in indexes {
        if !args.wants_subject("fyris") && !args.wants_subject(index.name()) {
            continue;
        }
        let uses = uses(index, table_type)?;
        for &object in &objects {
            for options in sets.iter().copied().filter(|set| set.matters_to(uses)) {
                kinds.push(TunedKind {
                    index,
                    table_type,
                    options,
                    object,
                });
            }
        }
    }
    if kinds.is_empty() {
        return Err(BenchError::NothingToRun(
            "none of these indexes has use for these options".to_owned(),
        ));
    }
    Ok(kinds)
}

/// Returns the sets of options asked for.
fn option_sets(args: &BenchArgs) -> Result<Vec<OptionSet>, BenchError> {
    let all: Vec<OptionSet> = options::all().collect();
    let names: Vec<&str> = all.iter().map(|set| set.name).collect();
    refuse_unknown("options", &args.options, &names)?;
    if args.options.is_empty() {
        return Ok(TABLE_1.to_vec());
    }
    let asked = |set: &OptionSet| args.options.iter().any(|name| name == set.name);
    Ok(all.into_iter().filter(asked).collect())
}

/// Returns the objects asked for.
fn objects(args: &BenchArgs) -> Result<Vec<StoredObject>, BenchError> {
    refuse_unknown(
        "object",
        &args.object,
        &StoredObject::ALL.map(StoredObject::name),
    )?;
    if args.object.is_empty() {
        return Ok(vec![StoredObject::Key]);
    }
    let asked = |object: &StoredObject| args.object.iter().any(|name| name == object.name());
    Ok(StoredObject::ALL.into_iter().filter(asked).collect())
}

fn refuse_unknown(what: &str, asked: &[String], known: &[&str]) -> Result<(), BenchError> {
    match asked.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(bad) => Err(BenchError::NothingToRun(format!(
            "no {what} `{bad}`; there are: {}",
            known.join(", ")
        ))),
    }
}

/// Measures all kinds of tables, interleaved, with keys of one range and one number of threads.
fn group(
    out: &Output,
    kinds: &[&TunedKind],
    bits: u32,
    threads: usize,
) -> Result<Vec<Line>, BenchError> {
    let args = out.args;
    let wanted = case::wanted(args, bits);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let usual = if args.quick { OPS.1 } else { OPS.0 };
    let ops = args.ops.map_or(usual, |ops| ops as usize).div_ceil(threads);
    let work = Workload::drawn(
        &TERM_INT[0],
        &case::needed(&wanted),
        1 << bits,
        ops,
        threads,
    );
    let fits = |kind: &&&TunedKind| bits <= FIXED.1 || kind.index.name() != FIXED.0;
    let kinds: Vec<&TunedKind> = kinds.iter().filter(fits).copied().collect();
    let mut series = vec![vec![Series::default(); wanted.len()]; kinds.len()];
    for run in 0..args.run_count() {
        for turn in 0..kinds.len() {
            let at = (turn + run) % kinds.len();
            let label = kinds[at].label();
            out.progress(&format!(
                "2^{bits} keys, {threads} threads, run {}: {label}",
                run + 1
            ));
            let timings = one(kinds[at], &work, &wanted)?;
            for (case, timing) in timings {
                let case = wanted.iter().position(|of| *of == case);
                series[at][case.expect("a case that was asked for")].push(&timing);
            }
        }
    }
    out.progress_over(&format!("2^{bits} keys, {threads} threads"));
    let cpu = args.clock == Clock::Cpu;
    let lines = kinds.iter().zip(&series).flat_map(|(kind, series)| {
        let cases = wanted.iter().zip(series);
        cases.map(move |(case, series)| line(kind, *case, (bits, threads), series, cpu))
    });
    Ok(lines.collect())
}

/// Puts one table through the workload, and checks what is left in it.
fn one(
    kind: &TunedKind,
    work: &Workload<u64>,
    wanted: &[Case],
) -> Result<Vec<(Case, Timing)>, BenchError> {
    let table = TunedTable::make(kind)?;
    let timings = pass::run_on(&table, &kind.label(), work, wanted)?;
    if table.len() == work.left {
        return Ok(timings);
    }
    Err(BenchError::WrongAnswer(format!(
        "{}, {} threads: {} objects are left where {} are right",
        kind.label(),
        work.threads,
        table.len(),
        work.left
    )))
}

fn line(
    kind: &TunedKind,
    case: Case,
    (bits, threads): (u32, usize),
    series: &Series,
    cpu: bool,
) -> Line {
    let times = series.times(cpu);
    Line {
        suite: Suite::EtsBench.name(),
        case: case::name(case),
        subject: "fyris",
        index: Some(kind.index.name()),
        object: Some(kind.object.form()),
        options: Some(kind.options.name),
        keys: "term_int",
        threads,
        n: 1 << bits,
        extra: vec![("ops_per_s", threads as f64 * 1e9 / times.ns_per_op)],
        times: Some(times),
        memory: None,
    }
}
