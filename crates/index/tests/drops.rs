//! Values whose drop uses the map that they were in, and panics: no bucket or leaf is locked when it runs.
#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use fyris_index::reclaim::{flush, pin};
use fyris_index::{ConcurrentMap, ConcurrentTree};

static DROPS: AtomicU64 = AtomicU64::new(0);
static MAP: LazyLock<ConcurrentMap<u64, Nosy>> = LazyLock::new(ConcurrentMap::new);
static TREE: LazyLock<ConcurrentTree<u64, Nosy>> = LazyLock::new(ConcurrentTree::new);

/// Looks at its neighbours, and replaces one now and then, when it is dropped.
struct Nosy(u64);

impl Drop for Nosy {
    fn drop(&mut self) {
        let drops = DROPS.fetch_add(1, Ordering::Relaxed);
        let pin = pin();
        for key in self.0.saturating_sub(2)..self.0 + 3 {
            let _ = (
                MAP.get(&key, &pin).is_some(),
                TREE.get(&key, &pin).is_some(),
            );
        }
        if drops.is_multiple_of(16) {
            MAP.insert(self.0, Nosy(self.0), &pin);
            TREE.insert(self.0, Nosy(self.0), &pin);
        }
        assert!(
            drops % 100 != 99 || std::thread::panicking(),
            "a drop that panics"
        );
    }
}

#[test]
fn drops_may_use_the_map_and_panic() {
    const KEYS: u64 = if cfg!(fyris_small) { 200 } else { 2000 };
    std::thread::scope(|s| {
        for thread in 0..2 {
            s.spawn(move || {
                for turn in 0..20_000 {
                    // Growing, shrinking, splitting and joining.
                    let key = (turn * 7 + thread * 3) % KEYS;
                    let _ = catch_unwind(AssertUnwindSafe(|| match turn / KEYS % 3 {
                        0 | 1 => {
                            MAP.insert(key, Nosy(key), &pin());
                            TREE.insert(key, Nosy(key), &pin());
                        }
                        _ => {
                            MAP.remove(&key, &pin());
                            TREE.remove(&key, &pin());
                        }
                    }));
                }
            });
        }
    });
    let _ = catch_unwind(flush);
    let pin = pin();
    for key in 0..KEYS {
        MAP.insert(key, Nosy(key), &pin);
        TREE.insert(key, Nosy(key), &pin);
        assert!(MAP.get(&key, &pin).is_some() && TREE.get(&key, &pin).is_some());
    }
    assert_eq!((MAP.len(), TREE.len()), (KEYS as usize, KEYS as usize));
    // Values that are dropped when the process ends are outside this test.
    std::mem::forget(pin);
}
