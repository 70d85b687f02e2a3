//! The conformance suite for the default indexes behind a pointer, as a table has those of other crates.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

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
