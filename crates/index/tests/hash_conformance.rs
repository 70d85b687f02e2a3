//! The conformance suite for `hash`.
#![cfg(not(loom))]
#![allow(missing_docs)]

mod conformance;

use fyris_index::HashIndex;

conformance::suite!(HashIndex::<conformance::Object>::new());
