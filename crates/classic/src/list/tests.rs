//! What is in a list after changes that came one after another.

use fyris_index::conformance::{Census, Object, put, remove};
use fyris_index::reclaim::pin;
use fyris_index::{Action, Index};

use crate::{MichaelHash, SplitOrdered};

use super::{Buckets, ListTable, nodes};

/// Returns the number of nodes in all lists, dead ones too.
fn count_nodes<B: Buckets>(index: &ListTable<Object, B>) -> usize {
    let _pin = pin();
    let lists = std::iter::successors(Some(0), |at| index.buckets.next_list(*at));
    lists
        .map(|at| nodes(index.buckets.before(at).load()).count())
        .sum()
}

fn dead_nodes_leave<B: Buckets>() {
    let (census, index) = (Census::new(), ListTable::<Object, B>::default());
    (0..1000).for_each(|key| _ = put(&index, &census, key, key, &pin()));
    assert_eq!(count_nodes(&index), 1000);
    for key in 0..2000 {
        index.upsert(&key, &pin(), |_| (Action::Keep, ()));
    }
    assert_eq!(count_nodes(&index), 1000, "placeholders go");
    (0..2000).for_each(|key| _ = remove(&index, key, &pin()));
    assert_eq!((count_nodes(&index), index.len()), (0, 0));
    drop(index);
    census.assert_all_freed();
}

#[test]
fn dead_nodes_leave_one_list() {
    dead_nodes_leave::<crate::split_ordered::Segments>();
}

#[test]
fn dead_nodes_leave_many_lists() {
    dead_nodes_leave::<crate::michael_hash::Fixed>();
}

/// A closure that panics leaves no placeholder.
#[test]
fn a_placeholder_goes_with_its_closure() {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    let index = MichaelHash::<Object>::default();
    let panics = || {
        index.upsert(&7, &pin(), |_| -> (Action<Object>, ()) {
            resume_unwind(Box::new(()))
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(count_nodes(&index), 0);
}

/// There are as many buckets as entries at least, and most have heads when all have been written to.
#[test]
fn buckets_follow_entries() {
    let (census, index) = (Census::new(), SplitOrdered::<Object>::default());
    for key in 0..5000u64 {
        put(&index, &census, key, key, &pin());
        let spare = index.slots() / 4;
        assert!(index.slots() + spare.min(16) >= index.len());
    }
    assert_eq!(index.slots(), 8192);
    let mut longest = 0;
    for slot in 0..index.slots() {
        let mut batch = Vec::new();
        index.slot(slot, &pin(), &mut batch);
        longest = longest.max(batch.len());
    }
    assert!(longest < 12, "{longest} entries in a bucket");
}
