//! Histories of real threads, checked for linearizability.
//!
//! Threads work on a few keys and note, for each operation, the time before and after it and what
//! it saw and left behind. Keys are independent, so each key's history is checked by itself, by the
//! Wing-Gong-Lowe checker of `todc-utils`. Times come from the monotonic clock, so that recording
//! adds no synchronization between the threads. Further threads make the index grow and shrink.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{Action, Index};
use fyris_sync::reclaim::pin;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use todc_utils::Specification;
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action as Event, History};

use super::object::{Census, Object, settle};

const KEYS: u64 = 6;
const THREADS: u64 = 4;
const OPERATIONS: usize = 180;

/// The value that one operation saw under its key, and the one it left there.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The value before.
    pub seen: Option<u64>,
    /// The value after.
    pub left: Option<u64>,
}

/// A key's place holds a value or nothing.
struct KeyRegister;

impl Specification for KeyRegister {
    type State = Option<u64>;
    type Operation = Step;

    fn init() -> Self::State {
        None
    }

    fn apply(step: &Step, state: &Self::State) -> (bool, Self::State) {
        (step.seen == *state, step.left)
    }
}

struct Record {
    thread: u64,
    key: u64,
    called: Duration,
    returned: Duration,
    step: Step,
}

/// Records histories and checks them.
pub fn history<I: Index<Object>>(make: &dyn Fn() -> I) {
    // The checker itself must be able to say no.
    let stale = Step {
        seen: None,
        left: None,
    };
    let put = Step {
        seen: None,
        left: Some(1),
    };
    assert!(!is_linearizable(&[(0, put, 0, 1), (1, stale, 2, 3)]));
    assert!(is_linearizable(&[(0, put, 0, 3), (1, stale, 2, 4)]));
    for round in 0..12 {
        let mut records = record(&make(), round);
        records.sort_by_key(|r| r.called);
        for key in 0..KEYS {
            let steps: Vec<_> = records
                .iter()
                .filter(|r| r.key == key)
                .map(|r| (r.thread, r.step, r.called.as_nanos(), r.returned.as_nanos()))
                .collect();
            assert!(is_linearizable(&steps), "not linearizable: {steps:?}");
        }
    }
}

/// Returns whether one key's history (thread, step, called, returned) is linearizable.
pub fn is_linearizable(steps: &[(u64, Step, u128, u128)]) -> bool {
    // At equal times a call comes before a return: the operations may have overlapped.
    let mut events = Vec::new();
    for (thread, step, called, returned) in steps {
        events.push((*called, 0, *thread as usize, Event::Call(*step)));
        events.push((*returned, 1, *thread as usize, Event::Response(*step)));
    }
    events.sort_by_key(|(time, kind, ..)| (*time, *kind));
    let actions = events
        .into_iter()
        .map(|(_, _, thread, event)| (thread, event))
        .collect();
    WGLChecker::<KeyRegister>::is_linearizable(History::from_actions(actions))
}

fn record(index: &impl Index<Object>, round: u64) -> Vec<Record> {
    let (census, stop, start) = (Census::new(), AtomicBool::new(false), Instant::now());
    std::thread::scope(|s| {
        let (census, stop) = (&census, &stop);
        s.spawn(move || churn(index, census, stop));
        let workers: Vec<_> = (0..THREADS)
            .map(|t| s.spawn(move || work(index, census, start, t, round)))
            .collect();
        let records = workers
            .into_iter()
            .flat_map(|w| w.join().unwrap())
            .collect();
        // Relaxed: a flag; the end of the scope orders the rest.
        stop.store(true, Ordering::Relaxed);
        records
    })
}

fn work(
    index: &impl Index<Object>,
    census: &Arc<Census>,
    start: Instant,
    thread: u64,
    round: u64,
) -> Vec<Record> {
    let mut rng = SmallRng::seed_from_u64(round << 8 | thread);
    (0..OPERATIONS)
        .map(|i| {
            let key = rng.random_range(0..KEYS);
            let kind = rng.random_range(0..6);
            let fresh = thread << 32 | i as u64;
            if rng.random_range(0..8) == 0 {
                std::thread::yield_now();
            }
            let called = start.elapsed();
            let step = operate(index, census, key, kind, fresh);
            Record {
                thread,
                key,
                called,
                returned: start.elapsed(),
                step,
            }
        })
        .collect()
}

fn operate(
    index: &impl Index<Object>,
    census: &Arc<Census>,
    key: u64,
    kind: u32,
    fresh: u64,
) -> Step {
    let pin = pin();
    let put = || Action::Put(census.object(key, fresh));
    let change = |choose: &dyn Fn(Option<Object>) -> Action<Object>| {
        let (old, left) = index.upsert(&key, &pin, |old| {
            let action = choose(old);
            let left = match action {
                Action::Keep => old.map(|e| e.value()),
                Action::Put(new) => Some(new.value()),
                Action::Remove => None,
            };
            // An entry that is taken out is retired below; one that stays belongs to the index.
            (action, (old.map(|e| (e, action != Action::Keep)), left))
        });
        let seen = old.and_then(|(e, out)| {
            if out {
                settle(Some(e), &pin)
            } else {
                Some(e.value())
            }
        });
        Step { seen, left }
    };
    match kind {
        0 => change(&|_| put()),
        1 => change(&|_| Action::Remove),
        2 => change(&|old| if old.is_some() { Action::Keep } else { put() }),
        3 => change(&|old| if old.is_some() { put() } else { Action::Keep }),
        _ => {
            let seen = index.get(&key, &pin).map(|e| e.value());
            Step { seen, left: seen }
        }
    }
}

/// Makes the index grow and shrink until told to stop.
fn churn(index: &impl Index<Object>, census: &Arc<Census>, stop: &AtomicBool) {
    // Relaxed: a flag, set in `record`; nothing is read because of it.
    while !stop.load(Ordering::Relaxed) {
        for key in 100..700u64 {
            super::object::put(index, census, key, key, &pin());
        }
        for key in 100..700u64 {
            super::object::remove(index, key, &pin());
        }
    }
}
