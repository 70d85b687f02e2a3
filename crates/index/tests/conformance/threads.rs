//! Several threads: reclamation, panics, traversal while the index grows and shrinks.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use fyris_index::{Action, Entry, Index};
use fyris_sync::reclaim::{self, pin};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::object::{Census, Object, put, remove};

/// Threads replace, remove and read the same keys; readers keep what they found for a while. Every
/// object is freed once, and none that a reader still looks at.
pub fn reclamation<I: Index<Object>>(make: impl Fn() -> I) {
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

/// A closure that panics leaves slot and count as they were; others go on.
pub fn panic_in_closure<I: Index<Object>>(make: impl Fn() -> I) {
    let (census, index) = (Census::new(), make());
    let pin = pin();
    for k in 0..100 {
        put(&index, &census, 2 * k, k, &pin);
    }
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    for k in 0..200u64 {
        let stamp = super::model::settled_stamp(&index, k);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            index.upsert(&k, &pin, |_| -> (Action<Object>, ()) {
                panic!("on purpose")
            });
        }));
        assert!(caught.is_err());
        assert_eq!(stamp, index.stamp(&k, &pin));
        assert_eq!(index.get(&k, &pin).is_some(), k % 2 == 0);
    }
    std::panic::set_hook(hook);
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

/// Steady keys are met exactly once by every traversal, and found by every read, while others come
/// and go in numbers that make the index grow and shrink.
pub fn traversal_under_growth<I: Index<Object>>(make: impl Fn() -> I) {
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
                stop.store(true, Ordering::Relaxed);
            });
        }
        s.spawn(|| {
            let mut rounds = 0;
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
        index.next_batch(cursor.as_ref(), &pin, &mut batch);
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
