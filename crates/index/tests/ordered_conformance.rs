//! The conformance suite for `ordered`.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

mod conformance;

use fyris_index::Ordered;

conformance::suite!(Ordered::<conformance::Object>::new());
