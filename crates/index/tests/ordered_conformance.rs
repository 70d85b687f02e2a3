//! The conformance suite for `ordered`.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use fyris_index::Ordered;

use fyris_index::conformance::{Object, ordered_suite, suite};

suite!(Ordered::<Object>::new());
ordered_suite!(Ordered::<Object>::new());
