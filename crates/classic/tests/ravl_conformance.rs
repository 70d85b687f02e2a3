//! The conformance suite for relaxed AVL trees: bare, and behind a pointer as a table has them.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use fyris_classic::RelaxedAvl;
use fyris_index::conformance::{Object, ordered_suite, suite};

suite!(RelaxedAvl::<Object>::default());
ordered_suite!(RelaxedAvl::<Object>::default());

mod with_snapshots {
    use super::*;

    fyris_index::conformance_tests! {
        RelaxedAvl::<Object, true>::default();
        history crossing_writes reclamation panic_in_closure
    }
}

mod plugged {
    use super::*;
    use fyris_index::plug::{DynOrderedIndex, Features, Plugged};

    fn plugged() -> Plugged<dyn DynOrderedIndex<Object>> {
        Plugged::new(Box::new(RelaxedAvl::<Object>::default()), Features::ALL)
    }

    suite!(plugged());
    ordered_suite!(plugged());
}
