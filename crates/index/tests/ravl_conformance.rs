//! The conformance suite for relaxed AVL trees: bare, and behind a pointer as a table has them.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use fyris_index::RelaxedAvl;
use fyris_index::conformance::{Object, ordered_suite, suite};

suite!(RelaxedAvl::<Object>::default());
ordered_suite!(RelaxedAvl::<Object>::default());

mod plugged {
    use super::*;
    use fyris_index::plug::{DynOrderedIndex, Features, Plugged};

    fn plugged() -> Plugged<dyn DynOrderedIndex<Object>> {
        Plugged::new(Box::new(RelaxedAvl::<Object>::default()), Features::ALL)
    }

    suite!(plugged());
    ordered_suite!(plugged());
}
