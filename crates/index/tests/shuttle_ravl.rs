//! Random schedules of relaxed AVL trees, with more threads and nodes than loom can exhaust:
//! `RUSTFLAGS='--cfg shuttle --cfg fyris_small' cargo test -p fyris-index --release --test shuttle_ravl`.
#![cfg(shuttle)]

mod models;

use std::sync::Arc;

use fyris_index::RelaxedAvl;
use fyris_index::reclaim::check;
use fyris_sync::thread::spawn;
use models::{Handle, get, put};

const SCHEDULES: usize = 10_000;

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
