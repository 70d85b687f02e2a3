//! The conformance suite for `btree`, bare and behind a pointer as a table has it.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

mod bare {
    use fyris_classic::LockedBTree;
    use fyris_index::conformance::{Object, ordered_suite, suite};

    suite!(LockedBTree::<Object>::default());
    ordered_suite!(LockedBTree::<Object>::default());
}

mod plugged {
    use fyris_classic::LockedBTree;
    use fyris_index::conformance::{Object, ordered_suite, suite};
    use fyris_index::plug::{DynOrderedIndex, Features, Plugged};

    fn plugged(features: Features) -> Plugged<dyn DynOrderedIndex<Object>> {
        Plugged::new(Box::new(LockedBTree::default()), features)
    }

    suite!(plugged(Features::ALL.without_concurrent_writers()));
    ordered_suite!(plugged(Features::ALL));
}
