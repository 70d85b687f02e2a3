//! The suite `core`: the two indexes, and the store over them, as maps from keys to numbers.

pub mod case;
pub mod contender;
mod encode;
mod figures;
mod indexes;
mod judy;
pub mod keys;
mod memory;
pub mod own;
pub(crate) mod pass;
pub mod store;
pub mod subject;
mod table;
pub(crate) mod workload;

use std::time::{Duration, Instant};

use crate::args::{BenchArgs, Clock, Suite};
use crate::entry::Entry;
use crate::error::BenchError;
use crate::memory::make_ready;
use crate::output::Output;
use crate::registry::Registry;
use crate::report::{Line, Memory, Series};
use case::Case;
use contender::Contender;
use keys::KeyKind;
use workload::Workload;

/// The suite's row in the list of suites.
pub(super) const ENTRY: Entry = Entry {
    suite: Suite::Core,
    cases: || Case::all().map(Case::name).collect(),
    run,
    child: memory_child,
    table: table::render,
    figures: figures::figures,
};

/// The time that a `--quick` run may take, less what the last pass and the memory children need.
const QUICK: Duration = Duration::from_secs(35);

/// Memory made ready for each entry, and at most: see [`make_ready`].
const READY: (usize, usize) = (1 << 10, 1 << 30);

/// Runs the suite. See [`crate::run`].
fn run(out: &mut Output, registry: &Registry) -> Result<(), BenchError> {
    let args = out.args;
    check_filters(args, registry)?;
    make_ready((args.entry_count() * READY.0).min(READY.1));
    let mut bench = Bench {
        args,
        out,
        deadline: args.quick.then(|| Instant::now() + QUICK),
        groups_left: groups(args, registry),
        threads: args.thread_counts(&THREADS),
    };
    bench.all(registry)
}

/// Numbers of threads, if none are asked for.
const THREADS: [usize; 2] = [1, 2];

/// One run of the suite.
struct Bench<'a, 'b> {
    args: &'a BenchArgs,
    out: &'b mut Output<'a>,
    /// When a quick run must be over.
    deadline: Option<Instant>,
    /// The number of pairs of a kind of keys and a number of threads that are still to be timed.
    groups_left: u32,
    threads: Vec<usize>,
}

impl Bench<'_, '_> {
    /// Measures everything.
    fn all(&mut self, registry: &Registry) -> Result<(), BenchError> {
        self.encode();
        self.time(&keys::U64, &registry.u64)?;
        self.time(&keys::BYTES20, &registry.bytes20)?;
        self.time(&keys::TERM_INT, &registry.term_int)?;
        self.time(&keys::TERM_BIN20, &registry.term_bin20)?;
        self.memory(&keys::U64, &registry.u64)?;
        self.memory(&keys::BYTES20, &registry.bytes20)?;
        self.memory(&keys::TERM_INT, &registry.term_int)?;
        self.memory(&keys::TERM_BIN20, &registry.term_bin20)
    }

    /// Times every wanted kind of keys with every number of threads.
    fn time<K: Clone + Send + Sync + 'static>(
        &mut self,
        kinds: &[KeyKind<K>],
        contenders: &[Contender<K>],
    ) -> Result<(), BenchError> {
        for kind in kinds
            .iter()
            .filter(|k| self.args.wants_keys(k.name, k.usual) && !k.dense)
        {
            for threads in self.threads.clone() {
                self.group(kind, contenders, threads)?;
            }
        }
        Ok(())
    }

    /// Times all contenders, interleaved, with one kind of keys and one number of threads.
    fn group<K: Clone + Send + Sync + 'static>(
        &mut self,
        kind: &KeyKind<K>,
        contenders: &[Contender<K>],
        threads: usize,
    ) -> Result<(), BenchError> {
        let wanted = wanted(self.args);
        let mut contenders = chosen(self.args, contenders);
        contenders.retain(|contender| contender.concurrent || threads == 1);
        if wanted.is_empty() || contenders.is_empty() {
            return Ok(());
        }
        let (entries, ops) = (self.args.entry_count(), self.args.op_count());
        let work = Workload::new(kind, &needed(&wanted), entries, ops, threads, 42);
        let end = self.share_of_time();
        let mut series: Vec<Vec<(Case, Series)>> = vec![Vec::new(); contenders.len()];
        for run in 0..self.args.run_count() {
            let started = Instant::now();
            for turn in 0..contenders.len() {
                let at = (turn + run) % contenders.len();
                let contender = contenders[at];
                self.progress(kind.name, threads, run, &contender.label());
                for (case, timing) in (contender.run)(&contender.label(), &work, &wanted)? {
                    series_of(&mut series[at], case).push(&timing);
                }
            }
            if end.is_some_and(|end| Instant::now() + started.elapsed() > end) {
                break;
            }
        }
        self.progress_over(kind.name, threads);
        let lines = contenders
            .iter()
            .zip(&series)
            .flat_map(|(contender, series)| {
                let cpu = self.args.clock == Clock::Cpu;
                series.iter().map(move |(case, series)| Line {
                    times: Some(series.times(cpu)),
                    extra: extra(*case, series),
                    ..line(*case, contender, kind.name, threads, entries)
                })
            });
        self.out.emit(lines.collect());
        Ok(())
    }

    /// Measures the memory of every contender with every wanted kind of keys.
    fn memory<K: Clone + Send + Sync + 'static>(
        &mut self,
        kinds: &[KeyKind<K>],
        contenders: &[Contender<K>],
    ) -> Result<(), BenchError> {
        if !self.args.wants_case(Case::Bytes.name()) {
            return Ok(());
        }
        for kind in kinds.iter().filter(|k| self.args.wants_keys(k.name, true)) {
            for contender in chosen(self.args, contenders) {
                if contender.name == "harness" {
                    continue;
                }
                self.progress(kind.name, 1, 0, &format!("{}: bytes", contender.label()));
                let memory = Some(memory::in_child(contender, kind, self.args)?);
                let n = self.args.entry_count();
                self.out.emit(vec![Line {
                    memory,
                    ..line(Case::Bytes, contender, kind.name, 1, n)
                }]);
            }
            self.progress_over(kind.name, 1);
        }
        Ok(())
    }

    /// Times the encoding of keys, which has no peers.
    fn encode(&mut self) {
        let cases: Vec<Case> = Case::ENCODE
            .into_iter()
            .filter(|&case| self.args.wants_case(case.name()))
            .collect();
        if self.args.keys.is_empty() && self.args.wants_subject("fyris") && !cases.is_empty() {
            let lines = encode::run(&cases, self.args);
            self.out.emit(lines);
        }
    }

    /// Returns the instant at which the next group of a quick run must be over.
    fn share_of_time(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let groups = self.groups_left;
        self.groups_left = groups.saturating_sub(1);
        self.deadline
            .map(|end| now + end.saturating_duration_since(now) / groups.max(1))
    }

    fn progress(&self, keys: &str, threads: usize, run: usize, label: &str) {
        let (run, runs) = (run + 1, self.args.run_count());
        self.out.progress(&format!(
            "{keys}, {threads} threads, run {run}/{runs}: {label}"
        ));
    }

    fn progress_over(&self, keys: &str, threads: usize) {
        self.out
            .progress_over(&format!("{keys}, {threads} threads"));
    }
}

fn line<K>(
    case: Case,
    contender: &Contender<K>,
    keys: &'static str,
    threads: usize,
    n: usize,
) -> Line {
    Line {
        suite: Suite::Core.name(),
        case: case.name(),
        subject: contender.name,
        index: contender.index,
        object: contender.object,
        options: None,
        keys,
        threads,
        n,
        times: None,
        memory: None,
        extra: Vec::new(),
    }
}

/// Returns the evenness of the threads' shares, where they fight for the same keys.
fn extra(case: Case, series: &Series) -> Vec<(&'static str, f64)> {
    let fight = case == Case::Hot8;
    fight
        .then(|| ("fairness", series.fairness.min()))
        .into_iter()
        .collect()
}

fn series_of(series: &mut Vec<(Case, Series)>, case: Case) -> &mut Series {
    let at = series
        .iter()
        .position(|(c, _)| *c == case)
        .unwrap_or_else(|| {
            series.push((case, Series::default()));
            series.len() - 1
        });
    &mut series[at].1
}

/// Returns the point cases asked for.
fn wanted(args: &BenchArgs) -> Vec<Case> {
    Case::POINTS
        .into_iter()
        .filter(|&case| args.wants_case(case.name()))
        .collect()
}

/// Returns the point cases that must run for the wanted ones to be possible.
fn needed(wanted: &[Case]) -> Vec<Case> {
    Case::POINTS
        .into_iter()
        .filter(|c| *c == Case::Insert || wanted.contains(c))
        .collect()
}

fn chosen<'a, K: Sync + 'static>(
    args: &BenchArgs,
    contenders: &'a [Contender<K>],
) -> Vec<&'a Contender<K>> {
    contenders
        .iter()
        .filter(|c| c.names().any(|name| args.wants_subject(name)))
        .collect()
}

/// Returns the number of groups to be timed.
fn groups(args: &BenchArgs, registry: &Registry) -> u32 {
    fn of<K>(args: &BenchArgs, kinds: &[KeyKind<K>], any: bool) -> u32 {
        let kinds = kinds
            .iter()
            .filter(|k| any && !k.dense && args.wants_keys(k.name, k.usual));
        (kinds.count() * args.thread_counts(&THREADS).len()) as u32
    }
    of(args, &keys::U64, !registry.u64.is_empty())
        + of(args, &keys::BYTES20, !registry.bytes20.is_empty())
        + of(args, &keys::TERM_INT, !registry.term_int.is_empty())
        + of(args, &keys::TERM_BIN20, !registry.term_bin20.is_empty())
}

/// Refuses what no subject and no kind of keys is called.
fn check_filters(args: &BenchArgs, registry: &Registry) -> Result<(), BenchError> {
    let kinds: Vec<&str> = [
        keys::U64.map(|k| k.name).as_slice(),
        &keys::BYTES20.map(|k| k.name),
        &keys::TERM_INT.map(|k| k.name),
        &keys::TERM_BIN20.map(|k| k.name),
    ]
    .concat();
    if let Some(bad) = args.keys.iter().find(|k| !kinds.contains(&k.as_str())) {
        let known = kinds.join(", ");
        return Err(BenchError::NothingToRun(format!(
            "no keys `{bad}`; there are: {known}"
        )));
    }
    let mut names: Vec<&str> = registry.u64.iter().flat_map(Contender::names).collect();
    names.extend(registry.bytes20.iter().flat_map(Contender::names));
    if let Some(bad) = args.subject.iter().find(|s| !names.contains(&s.as_str())) {
        names.sort_unstable();
        names.dedup();
        let known = names.join(", ");
        return Err(BenchError::NothingToRun(format!(
            "no subject `{bad}`; there are: {known}"
        )));
    }
    Ok(())
}

/// Prints the allocated and resident bytes an entry of the subject `label`, in the child.
fn memory_child(args: &BenchArgs, registry: &Registry, label: &str) -> Result<(), BenchError> {
    let memory = child_of(args, label, &keys::U64, &registry.u64)
        .or_else(|| child_of(args, label, &keys::BYTES20, &registry.bytes20))
        .or_else(|| child_of(args, label, &keys::TERM_INT, &registry.term_int))
        .or_else(|| child_of(args, label, &keys::TERM_BIN20, &registry.term_bin20))
        .ok_or_else(|| BenchError::NothingToRun("no such subject and keys".to_owned()))?;
    println!("{} {}", memory.bytes_per_entry, memory.rss_per_entry);
    Ok(())
}

fn child_of<K: Sync + 'static>(
    args: &BenchArgs,
    label: &str,
    kinds: &[KeyKind<K>],
    contenders: &[Contender<K>],
) -> Option<Memory> {
    let kind = kinds
        .iter()
        .find(|k| args.keys.iter().any(|name| name == k.name))?;
    let contender = contenders.iter().find(|c| c.label() == label)?;
    Some(memory::measure(contender, kind, args.entry_count()))
}
