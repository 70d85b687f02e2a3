//! The conformance suite for `btree`, bare and behind a pointer as a table has it.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

mod bare {
    use fyris_index::LockedBTree;
    use fyris_index::conformance::{Object, ordered_suite, suite};

    suite!(LockedBTree::<Object>::default());
    ordered_suite!(LockedBTree::<Object>::default());
}

mod plugged {
    use fyris_index::LockedBTree;
    use fyris_index::conformance::{Object, ordered_suite, suite};
    use fyris_index::plug::{DynOrderedIndex, Features, Plugged};

    fn plugged(features: Features) -> Plugged<dyn DynOrderedIndex<Object>> {
        Plugged::new(Box::new(LockedBTree::default()), features)
    }

    suite!(plugged(Features::ALL.without_concurrent_writers()));
    ordered_suite!(plugged(Features::ALL));
}

/// The default indexes keep the contract behind a pointer, too.
mod plugged_default {
    use fyris_index::conformance::{Object, ordered_suite, suite};
    use fyris_index::plug::{DynIndex, DynOrderedIndex, Features, Plugged};
    use fyris_index::{HashIndex, Ordered};

    fn hash() -> Plugged<dyn DynIndex<Object>> {
        Plugged::new(Box::new(HashIndex::new()), Features::ALL)
    }

    fn ordered() -> Plugged<dyn DynOrderedIndex<Object>> {
        Plugged::new(Box::new(Ordered::new()), Features::ALL)
    }

    suite!(hash());
    ordered_suite!(ordered());
}
