//! `InlineTree`: a pair is the same pair wherever its leaf has been rebuilt.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fyris_index::{Action, ConcurrentTree, InlineTree};

/// Ten neighbours, which all lie in one leaf.
fn pairs<V: Copy + Send + Sync>(value: impl Fn(u64) -> V) -> InlineTree<u64, V> {
    (0..10).map(|key| (key, value(key))).collect()
}

/// The closure that is run once more than that sees nothing change but its neighbours.
const FOR_EVER: usize = 100;

/// Rebuilds the leaf of key 3 by writes of key 7.
fn write_neighbour<V: Copy + Send + Sync>(tree: &InlineTree<u64, V>, value: V) {
    (0..16).for_each(|_| _ = tree.pin().insert(7, value));
}

/// A leaf has fifteen slots, written once each: a closure that wrote a neighbour eight times found its own pair in
/// another leaf, took that for another pair and ran for ever.
#[test]
fn closures_that_write_a_neighbour_run_once() {
    let tree = pairs(|key| key);
    let mut runs = 0;
    let mut meddle = || {
        runs += 1;
        assert!(runs <= FOR_EVER, "it never ends");
        write_neighbour(&tree, 70);
    };
    tree.pin().compute(3, |old| {
        meddle();
        Action::Put(old.map_or(0, |n| n + 1))
    });
    tree.pin().update(&3, |n| {
        meddle();
        n + 1
    });
    let add = |n: &u64| {
        meddle();
        n + 1
    };
    tree.pin().update_or_insert(3, add, 0);
    assert_eq!(tree.pin().get(&3), Some(&6));
    tree.pin().retain(|key, _| {
        if *key == 3 {
            meddle();
        }
        *key != 3
    });
    tree.pin().compute(4, |_| {
        meddle();
        Action::Remove
    });
    assert_eq!((runs, tree.pin().get(&3), tree.len()), (5, None, 8));
}

/// A value whose padding holds whatever was in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Padded(u8, u64, u16);

/// The same for the value that the compiler passes in two registers.
#[test]
fn padding_moves_with_its_pair() {
    let tree = pairs(|key| Padded(key as u8, key, 1));
    let small = pairs(|key| (key as u8, key as u32));
    for _ in 0..100 {
        let mut runs = 0;
        tree.pin().update(&3, |old| {
            runs += 1;
            assert!(runs <= FOR_EVER, "it never ends");
            write_neighbour(&tree, Padded(7, 70, 1));
            Padded(3, old.1 + 1, 2)
        });
        small.pin().update(&3, |old| {
            runs += 1;
            assert!(runs <= FOR_EVER, "it never ends");
            write_neighbour(&small, (7, 70));
            (3, old.1 + 1)
        });
        assert_eq!(runs, 2);
    }
    assert_eq!(tree.pin().get(&3), Some(&Padded(3, 103, 2)));
    assert_eq!(small.pin().get(&3), Some(&(3, 103)));
}

/// What the closure saw and what came is not the same, though it has been rebuilt: it runs again on that.
#[test]
fn a_pair_that_has_changed_is_another_one() {
    let tree = pairs(|key| key);
    let mut seen = Vec::new();
    tree.pin().update(&3, |n| {
        seen.push(*n);
        if seen.len() == 1 {
            write_neighbour(&tree, 70);
            tree.pin().insert(3, 30);
        }
        n + 1
    });
    assert_eq!((seen, tree.pin().get(&3)), (vec![3, 30], Some(&31)));
}

/// Beside a thread that writes neighbours without a pause a slow closure gets done as often as in the boxed tree.
#[test]
fn slow_closures_get_done_beside_writers_of_other_keys() {
    let (inline, boxed) = (pairs(|key| key), ConcurrentTree::<u64, u64>::new());
    (0..10).for_each(|key| _ = boxed.pin().insert(key, key));
    let stop = AtomicBool::new(false);
    let mut runs = (0, 0);
    std::thread::scope(|s| {
        s.spawn(|| {
            // Relaxed, as the store below: a flag; nothing is read because of it.
            while !stop.load(Ordering::Relaxed) {
                inline.pin().insert(7, 70);
                boxed.pin().insert(7, 70);
            }
        });
        let until = Instant::now() + Duration::from_millis(200);
        let slowly = |n: &u64| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_micros(100) {
                std::hint::spin_loop();
            }
            n + 1
        };
        while Instant::now() < until && runs.0 < 100_000 {
            let add = |n: &u64| {
                runs.0 += 1;
                assert!(runs.0 < 100_000, "it never ends");
                slowly(n)
            };
            inline.pin().update(&3, add);
            boxed.pin().update(&3, slowly);
            runs.1 += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(runs.0, runs.1, "runs for so many updates");
}
