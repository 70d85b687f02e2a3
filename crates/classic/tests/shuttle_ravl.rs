//! Random schedules of relaxed AVL trees, with more threads and nodes than loom can exhaust:
//! `RUSTFLAGS='--cfg shuttle --cfg fyris_small' cargo test -p fyris-classic --release --test shuttle_ravl`.
#![cfg(shuttle)]

#[path = "../../index/tests/models/mod.rs"]
mod models;

use std::ops::Bound;
use std::sync::Arc;

use fyris_classic::RelaxedAvl;
use fyris_index::Entry;
use fyris_index::reclaim::check;
use fyris_sync::thread::spawn;

use models::{Handle, add, get, put, remove};

const SCHEDULES: usize = 6000;

#[test]
fn a_relaxed_avl_tree_keeps_its_order() {
    check(
        SCHEDULES,
        models::ordered::keeps_its_order::<RelaxedAvl<Handle>>,
    );
}

/// Both writers find their gap below the node of 30, which sinks when the one has put its node there: then the key of
/// the other belongs to the node of 10.
#[test]
fn a_writer_is_told_of_a_rotation() {
    check(SCHEDULES, || {
        let tree = Arc::new(RelaxedAvl::<Handle>::default());
        [10, 30].map(|key| put(&*tree, key, key));
        let other = spawn({
            let tree = tree.clone();
            move || put(&*tree, 15, 15)
        });
        put(&*tree, 20, 20);
        other.join().unwrap();
        assert_eq!(get(&*tree, 15), Some(15));
        assert_eq!(models::ordered::up(&*tree, 9), [10, 15, 20, 30]);
    });
}

/// One writer adds to a key and then to another, one makes the tree turn: a snapshot sees what was there at one moment,
/// and goes on seeing it.
#[test]
fn a_snapshot_is_of_one_moment() {
    check(SCHEDULES, || {
        let tree = Arc::new(RelaxedAvl::<Handle, true>::default());
        (0..7).for_each(|key| put(&*tree, key, 0));
        let work: [fn(&RelaxedAvl<Handle, true>); 2] = [
            |tree| (0..3).for_each(|_| [1, 5].into_iter().for_each(|key| add(tree, key))),
            |tree| {
                (7..10).for_each(|key| put(tree, key, 0));
                [3, 2].into_iter().for_each(|key| remove(tree, key));
            },
        ];
        let threads = work.map(|work| {
            let tree = tree.clone();
            spawn(move || work(&tree))
        });
        let taken = [tree.snapshot(), tree.snapshot()];
        for _ in 0..2 {
            let counts = taken.each_ref().map(|snapshot| {
                let count = |key| snapshot.get(&key).map_or(0, Handle::value);
                assert!(
                    (0..2).contains(&(count(1) - count(5))),
                    "one after the other"
                );
                let (mut all, unbounded) = (Vec::new(), Bound::Unbounded);
                assert!(!snapshot.scan((unbounded, unbounded), 99, &mut all));
                assert_eq!(all.len(), snapshot.len());
                let keys: Vec<u64> = all.iter().map(|entry| *entry.key()).collect();
                let came = keys.iter().filter(|key| **key > 6).count();
                let gone = [2, 3].iter().filter(|key| !keys.contains(key)).count();
                assert!(gone == 0 || came == 3, "{keys:?}");
                count(1) + count(5)
            });
            assert!(counts[0] <= counts[1], "snapshots go forwards");
        }
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        let left = models::ordered::up(&*tree, 9);
        assert_eq!(left, [0, 1, 4, 5, 6, 7, 8, 9]);
    });
}
