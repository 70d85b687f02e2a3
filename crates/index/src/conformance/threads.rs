//! Several threads: reclamation, panics, traversal while the index grows and shrinks.

use std::collections::HashMap;
use std::ops::Bound::Unbounded;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Action, Entry, Index};
use fyris_sync::reclaim::{self, pin};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::object::{Census, Object, put, remove};
use super::scans::behind;

/// Checks that every object is freed once, and none that a reader still looks at: threads replace, remove and read the
/// same keys, and readers keep the objects that they found for a while.
pub fn reclamation<I: Index<Object>>(make: &dyn Fn() -> I) {
    let (census, index) = (Census::new(), make());
    std::thread::scope(|s| {
        for t in 0..4u64 {
            let (census, index) = (&census, &index);
            s.spawn(move || {
                let mut rng = SmallRng::seed_from_u64(t);
                for _ in 0..150 {
                    let pin = pin();
                    let mut held = Vec::new();
                    for _ in 0..40 {
                        let key = rng.random_range(0..64);
                        match rng.random_range(0..4) {
                            0 => _ = put(index, census, key, key + 1, &pin),
                            1 => _ = remove(index, key, &pin),
                            _ => held.extend(index.get(&key, &pin)),
                        }
                    }
                    for entry in held {
                        assert_eq!(entry.value(), entry.key() + 1);
                    }
                }
                reclaim::flush();
            });
        }
    });
    drop(index);
    census.assert_all_freed();
}

/// Checks that a closure that panics leaves slot and count as they were, and that other operations go on.
pub fn panic_in_closure<I: Index<Object>>(make: &dyn Fn() -> I) {
    let (census, index) = (Census::new(), make());
    let pin = pin();
    for k in 0..100 {
        put(&index, &census, 2 * k, k, &pin);
    }
    for k in 0..200u64 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            index.upsert(&k, &pin, |_| -> (Action<Object>, ()) {
                std::panic::resume_unwind(Box::new(()))
            });
        }));
        assert!(caught.is_err());
        assert_eq!(index.get(&k, &pin).is_some(), k % 2 == 0);
    }
    assert_eq!(index.len(), 100);
    // Another thread is not locked out of any slot.
    std::thread::scope(|s| {
        s.spawn(|| {
            let pin = reclaim::pin();
            for k in 0..200 {
                put(&index, &census, k, k, &pin);
            }
        });
    });
    assert_eq!(index.len(), 200);
}

/// Checks that the number of entries never goes backwards while entries are only put in, whichever thread asks.
pub fn sizes<I: Index<Object>>(make: &dyn Fn() -> I) {
    const THREADS: usize = 3;
    const TOTAL: usize = THREADS * 400;
    let (census, index) = (Census::new(), make());
    let most_seen = Mutex::new(0);
    // Each asks for no less than any thread has seen before.
    let ask = || {
        while *most_seen.lock().unwrap() < TOTAL {
            let before = *most_seen.lock().unwrap();
            let now = index.len();
            assert!(before <= now && now <= TOTAL, "{before}, then {now}");
            let mut most_seen = most_seen.lock().unwrap();
            *most_seen = now.max(*most_seen);
        }
    };
    std::thread::scope(|s| {
        for thread in 0..THREADS {
            let (census, index) = (&census, &index);
            s.spawn(move || {
                for key in (thread..TOTAL).step_by(THREADS) {
                    put(index, census, key as u64, 0, &pin());
                }
            });
        }
        (0..2).for_each(|_| drop(s.spawn(ask)));
    });
}

/// Checks that no other thread changes a slot while a closure looks at it: threads add to counters by reading in one
/// closure the value that the next one replaces, and no addition is lost.
pub fn protection<I: Index<Object>>(make: &dyn Fn() -> I) {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 2000;
    const KEYS: u64 = 3;
    let (census, index) = (Census::new(), make());
    std::thread::scope(|s| {
        for thread in 0..THREADS {
            let (census, index) = (&census, &index);
            s.spawn(move || {
                for round in 0..ROUNDS {
                    let (pin, key) = (pin(), (thread + round) % KEYS);
                    let old = index.upsert(&key, &pin, |old| {
                        let value = old.map_or(0, |entry| entry.value());
                        if round % 64 == 0 {
                            std::thread::yield_now();
                        }
                        (Action::Put(census.object(key, value + 1)), old)
                    });
                    super::object::settle(old, &pin);
                }
            });
        }
    });
    let value = |key| index.get(&key, &pin()).map_or(0, |entry| entry.value());
    assert_eq!(
        (0..KEYS).map(value).sum::<u64>(),
        THREADS * ROUNDS,
        "no change is lost"
    );
    drop(index);
    census.assert_all_freed();
}

/// Checks that steady keys are met exactly once by every traversal, and found by every read, while others come and go
/// in numbers that make the index grow and shrink.
pub fn traversal_under_growth<I: Index<Object>>(make: &dyn Fn() -> I) {
    const STEADY: u64 = 300;
    let (census, index) = (Census::new(), make());
    for k in 0..STEADY {
        put(&index, &census, 2 * k, k, &pin());
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        for t in 0..2 {
            let (census, index, stop) = (&census, &index, &stop);
            s.spawn(move || {
                for round in 0..12 {
                    let keys = (0..1500u64).map(|k| (k * 4 + 2 * t + 1) << (round % 3 * 8));
                    keys.clone()
                        .for_each(|k| _ = put(index, census, k | 1, k, &pin()));
                    keys.for_each(|k| _ = remove(index, k | 1, &pin()));
                }
                // Relaxed: a flag, read below; nothing is read because of it.
                stop.store(true, Ordering::Relaxed);
            });
        }
        s.spawn(|| {
            let mut rounds = 0;
            // Relaxed: as above.
            while !stop.load(Ordering::Relaxed) || rounds < 3 {
                rounds += 1;
                check_steady(&index, STEADY);
            }
        });
    });
    assert_eq!(index.len() as u64, STEADY);
    drop(index);
    census.assert_all_freed();
}

fn check_steady(index: &impl Index<Object>, steady: u64) {
    let mut seen: HashMap<u64, u32> = HashMap::new();
    let mut cursor = None;
    loop {
        // A pin for each batch: the cursor alone carries the traversal on.
        let pin = pin();
        let mut batch = Vec::new();
        index.scan((behind(cursor.as_ref()), Unbounded), 1, &pin, &mut batch);
        let Some(last) = batch.last() else { break };
        cursor = Some(*last.key());
        for entry in &batch {
            *seen.entry(*entry.key()).or_default() += 1;
        }
    }
    for k in 0..steady {
        assert_eq!(
            seen.get(&(2 * k)),
            Some(&1),
            "key {} is there throughout",
            2 * k
        );
        assert_eq!(index.get(&(2 * k), &pin()).map(|e| e.value()), Some(k));
    }
}
