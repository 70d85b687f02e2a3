//! The conformance suite for skip lists: bare, behind a pointer as a table has them, and of nodes that are all as high,
//! or as low, as possible.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use std::hash::{BuildHasherDefault, Hasher};

use fyris_classic::SkipList;
use fyris_index::conformance::{self, Object, ordered_suite, suite};
use fyris_index::plug::{DynOrderedIndex, Features, Plugged};

suite!(SkipList::<Object>::default());
ordered_suite!(SkipList::<Object>::default());

mod plugged {
    use super::*;

    fn plugged() -> Plugged<dyn DynOrderedIndex<Object>> {
        Plugged::new(Box::new(SkipList::<Object>::default()), Features::ALL)
    }

    suite!(plugged());
    ordered_suite!(plugged());
}

/// One height for all nodes.
#[derive(Default)]
struct Same<const BITS: u64>;

impl<const BITS: u64> Hasher for Same<BITS> {
    fn write(&mut self, _: &[u8]) {}
    fn finish(&self) -> u64 {
        BITS
    }
}

type SameHeights<const BITS: u64> = SkipList<Object, BuildHasherDefault<Same<BITS>>>;

/// Every change changes every level.
mod high {
    use super::*;
    type High = SameHeights<0>;

    #[test]
    fn history() {
        conformance::history(&High::default);
    }
    #[test]
    fn reclamation() {
        conformance::reclamation(&High::default);
    }
    #[test]
    fn scans_under_changes() {
        conformance::scans_under_changes(&High::default);
    }
}

/// A plain list.
mod low {
    use super::*;
    type Low = SameHeights<1>;

    #[test]
    fn history() {
        conformance::history(&Low::default);
    }
    #[test]
    fn ordered_scans() {
        conformance::ordered_scans(&Low::default);
    }
    #[test]
    fn seeks() {
        conformance::seeks(&Low::default);
    }
}
