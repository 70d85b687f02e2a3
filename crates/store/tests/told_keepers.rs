//! What changes tell of holds the resources that it refers to, each record for itself.

use std::sync::atomic::{AtomicIsize, Ordering};

use fyris::{Options, ResourceRefs, SubscribeOptions, WatchFilter, set_resource_refs};
use fyris::{Store, Term, term};
use fyris_term::{Blob, Reference};

const KEEPER: &[u8] = b"the keeper of a binding";

/// Records that hold the resource.
static HOLDERS: AtomicIsize = AtomicIsize::new(0);

fn held() -> Option<Blob> {
    HOLDERS.fetch_add(1, Ordering::Relaxed);
    Some(Blob::from(KEEPER.to_vec()))
}

fn holders() -> isize {
    HOLDERS.load(Ordering::Relaxed)
}

fn object(key: i64, value: i64) -> Term {
    let reference = Reference {
        node: fyris_term::Atom::new("here").expect("short"),
        creation: 0,
        ids: vec![1, 2, 3],
    };
    term!({ key, (Term::Reference(Box::new(reference))), value })
}

#[test]
fn what_is_told_is_held_until_it_was_read() {
    set_resource_refs(ResourceRefs {
        is_resource_ref: |bytes| bytes.starts_with(KEEPER),
        any: || true,
        find: |_| held(),
        again: |_| held(),
        retire: |_| {
            assert!(
                HOLDERS.fetch_sub(1, Ordering::Relaxed) > 0,
                "given up twice"
            );
            false
        },
        release: |_| {},
    });
    let store = Store::new();
    let owner = store.owner();
    for options in [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
    ] {
        let table = owner.new_table("t", &options).expect("there is room");
        let watch = || table.subscribe(&WatchFilter::all(), &SubscribeOptions::new());
        let (mut read, unread) = (watch().expect("watches"), watch().expect("watches"));
        table.insert(&object(1, 1)).expect("inserts");
        table.insert(&object(1, 2)).expect("inserts");
        table
            .insert_list(&[object(1, 3), object(2, 1)])
            .expect("inserts");
        table.delete_key(&1).expect("deletes");
        table.delete_key(&2).expect("deletes");
        assert!(holders() > 0, "the events hold it");
        let told = std::iter::from_fn(|| read.try_next());
        assert!(told.map(|event| event.changes().len()).sum::<usize>() >= 5);
        drop(unread);
        drop(read);
        table.delete().expect("deletes");
        store.collect();
        assert_eq!(holders(), 0);
    }
}
