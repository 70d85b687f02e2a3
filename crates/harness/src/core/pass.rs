//! One pass: a subject's table built, put through the cases, checked and dropped.
//!
//! The threads live as long as the pass, as a program's threads would; a barrier before each case starts them
//! together, and each takes its own time.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::case::Case;
use super::subject::{Seen, Subject};
use super::workload::{HOT, List, Op, RANGE, Workload};
use crate::clock::cpu_now;
use crate::error::BenchError;
use crate::report::Timing;

/// The time for which the threads of `hot8` update.
const HOT_TIME: Duration = Duration::from_millis(200);

/// Operations of `hot8` between two looks at the clock.
const HOT_STEP: u64 = 256;

/// The work of one thread in one case.
#[derive(Clone, Copy, Default)]
struct CaseWork {
    /// Units of work the time is divided by: operations, or entries visited.
    units: u64,
    /// Operations that succeeded, or entries visited.
    found: u64,
    wall: f64,
    cpu: f64,
}

/// Puts an `S` through the workload.
///
/// # Errors
///
/// [`BenchError::WrongAnswer`], naming the subject, the case and both numbers.
pub(super) fn run<K: Sync + 'static, S: Subject<K>>(
    label: &str,
    work: &Workload<K>,
    wanted: &[Case],
) -> Result<Vec<(Case, Timing)>, BenchError> {
    run_on(&S::new(), label, work, wanted)
}

/// Puts this empty subject through the workload. See [`run`].
pub(crate) fn run_on<K: Sync + 'static, S: Subject<K>>(
    subject: &S,
    label: &str,
    work: &Workload<K>,
    wanted: &[Case],
) -> Result<Vec<(Case, Timing)>, BenchError> {
    let barrier = &Barrier::new(work.threads);
    let done: Vec<Vec<CaseWork>> = std::thread::scope(|scope| {
        let handles: Vec<_> = work
            .lists
            .iter()
            .map(|lists| scope.spawn(move || thread(subject, lists, barrier)))
            .collect();
        handles
            .into_iter()
            .map(|h| h.join().expect("a bench thread panicked"))
            .collect()
    });
    let mut timings = Vec::new();
    for (at, &(case, _)) in work.lists[0].iter().enumerate() {
        let by_thread: Vec<CaseWork> = done.iter().map(|d| d[at]).collect();
        if S::CHECKED {
            check::<K, S>(label, work, case, at, &by_thread)?;
        }
        if wanted.contains(&case) && by_thread.iter().all(|d| d.units > 0) {
            timings.push((case, timing(&by_thread)));
        }
    }
    Ok(timings)
}

fn timing(threads: &[CaseWork]) -> Timing {
    let mean = |f: fn(&CaseWork) -> f64| threads.iter().map(f).sum::<f64>() / threads.len() as f64;
    let least = threads.iter().map(|d| d.units).min().unwrap_or(0) as f64;
    Timing {
        wall: mean(|d| d.wall) / mean(|d| d.units as f64),
        cpu: mean(|d| d.cpu) / mean(|d| d.units as f64),
        fairness: least / mean(|d| d.units as f64),
    }
}

fn thread<K, S: Subject<K>>(
    subject: &S,
    lists: &[(Case, List<K>)],
    barrier: &Barrier,
) -> Vec<CaseWork> {
    let mut all = Vec::with_capacity(lists.len());
    for (case, list) in lists {
        if *case == Case::Hot8 && barrier.wait().is_leader() {
            list.keys.iter().for_each(|key| subject.insert(key, 0));
        }
        barrier.wait();
        let cpu = cpu_now();
        let start = Instant::now();
        let (units, mut found) = perform(subject, *case, list);
        let wall = start.elapsed().as_secs_f64() * 1e9;
        let cpu = cpu_now() - cpu;
        if *case == Case::Hot8 && units > 0 {
            // One thread answers for all: what the keys have come to.
            let last = barrier.wait().is_leader();
            found = if last {
                list.keys.iter().filter_map(|k| subject.get(k)).sum()
            } else {
                0
            };
        }
        all.push(CaseWork {
            units,
            found,
            wall,
            cpu,
        });
    }
    barrier.wait();
    all
}

/// Does the case; returns the units of work done and the successes.
fn perform<K, S: Subject<K>>(subject: &S, case: Case, list: &List<K>) -> (u64, u64) {
    let ops = list.keys.len() as u64;
    match case {
        Case::Insert => {
            for (value, key) in (list.base..).zip(&list.keys) {
                subject.insert(key, value);
            }
            (ops, 0)
        }
        Case::Hit | Case::Miss | Case::Lookup => (ops, gets(subject, &list.keys)),
        Case::HitDependent => (ops, chained_gets(subject, &list.keys)),
        Case::Delete => (
            ops,
            list.keys.iter().map(|k| u64::from(subject.remove(k))).sum(),
        ),
        Case::Scan => visited(subject.scan()),
        Case::Range100 if S::ORDERED => {
            visited(list.keys.iter().fold(Seen::default(), |mut all, key| {
                let seen = subject.range(key, RANGE);
                all.entries += seen.entries;
                all.sum = all.sum.wrapping_add(seen.sum);
                all
            }))
        }
        Case::Hot8 if S::ADDS.is_some() => (hot(subject, &list.keys), 0),
        _ if case.lookup_share().is_some() => (ops, mixed(subject, list)),
        _ => (0, 0),
    }
}

fn visited(seen: Seen) -> (u64, u64) {
    std::hint::black_box(seen.sum);
    (seen.entries, seen.entries)
}

fn gets<K, S: Subject<K>>(subject: &S, keys: &[K]) -> u64 {
    let (mut found, mut sum) = (0, 0u64);
    for key in keys {
        if let Some(value) = subject.get(key) {
            found += 1;
            sum = sum.wrapping_add(value);
        }
    }
    std::hint::black_box(sum);
    found
}

/// Lookups of which each waits for the one before: the position of the next key depends on the
/// value, by a mask that is zero and that the compiler cannot see to be.
fn chained_gets<K, S: Subject<K>>(subject: &S, keys: &[K]) -> u64 {
    let zero = std::hint::black_box(0u64);
    let (mut found, mut at) = (0, 0);
    while let Some(key) = keys.get(at) {
        at += 1;
        if let Some(value) = subject.get(key) {
            found += 1;
            at += (value & zero) as usize;
        }
    }
    found
}

/// Returns the removals that removed.
fn mixed<K, S: Subject<K>>(subject: &S, list: &List<K>) -> u64 {
    let (mut removed, mut sum, mut value) = (0, 0u64, 0);
    for (op, key) in list.ops.iter().zip(&list.keys) {
        match op {
            Op::Get => sum = sum.wrapping_add(subject.get(key).unwrap_or(0)),
            Op::Insert => {
                subject.insert(key, value);
                value += 1;
            }
            Op::Remove => removed += u64::from(subject.remove(key)),
        }
    }
    std::hint::black_box(sum);
    removed
}

/// Updates the hot keys for [`HOT_TIME`]; returns how often.
fn hot<K, S: Subject<K>>(subject: &S, keys: &[K]) -> u64 {
    let start = Instant::now();
    let mut done = 0;
    while start.elapsed() < HOT_TIME {
        for step in 0..HOT_STEP {
            subject.add(&keys[((done + step) % HOT) as usize]);
        }
        done += HOT_STEP;
    }
    done
}

/// Compares what the threads found with what the workload says they must find.
fn check<K, S: Subject<K>>(
    label: &str,
    work: &Workload<K>,
    case: Case,
    at: usize,
    done: &[CaseWork],
) -> Result<(), BenchError> {
    let wrong = |found: u64, right: u64| {
        Err(BenchError::WrongAnswer(format!(
            "{label}, case {}, {} threads: {found} answers where {right} are right",
            case.name(),
            work.threads,
        )))
    };
    if case == Case::Hot8 && S::ADDS == Some(true) {
        let (added, found) = (total(done, |d| d.units), total(done, |d| d.found));
        return if added == found {
            Ok(())
        } else {
            wrong(found, added)
        };
    }
    if !S::TELLS_REMOVED && (case == Case::Delete || case.lookup_share().is_some()) {
        return Ok(());
    }
    for (lists, d) in work.lists.iter().zip(done) {
        let expect = if case == Case::Scan {
            Some(work.entries as u64)
        } else {
            lists[at].1.expect
        };
        if let Some(right) = expect.filter(|&right| right != d.found) {
            return wrong(d.found, right);
        }
    }
    Ok(())
}

fn total(done: &[CaseWork], part: fn(&CaseWork) -> u64) -> u64 {
    done.iter().map(part).sum()
}
