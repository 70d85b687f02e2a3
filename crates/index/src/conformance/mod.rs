//! The conformance suite that every index has to pass, of this crate or plugged in.
//!
//! An index joins in by a line in a test file of its own, with an expression that makes an empty index of [`Object`]s,
//! whose keys are `u64`:
//!
//! ```
//! # fn main() {}
//! use fyris_index::{HashIndex, conformance::Object};
//!
//! fyris_index::conformance::suite!(HashIndex::<Object>::new());
//! ```
//!
//! [`suite!`](crate::conformance::suite) checks the contract of [`Index`](crate::Index),
//! [`ordered_suite!`](crate::conformance::ordered_suite) that of [`OrderedIndex`](crate::OrderedIndex) on top of it.
//! The functions of this module are the tests, and panic where an index fails:
//!
//! * [`model`]: random commands, each answer compared with a `BTreeMap`; [`traversal_with_changes`]: cursors that
//!   survive growth and the deletion of their key;
//! * [`history`]: operations of real threads recorded and checked for linearizability;
//! * [`crossing_writes`]: two threads that write and then read what the other writes do not both miss it;
//! * [`reclamation`]: every entry freed once and none while a reader can see it;
//! * [`panic_in_closure`]: a closure that panics leaves its slot as it was, and usable;
//! * [`protection`]: no other thread changes a slot while a closure looks at it;
//! * [`sizes`]: the number of entries does not go backwards while they are only put in;
//! * [`runs`], [`runs_of_threads`], [`panic_in_run`]: keys that are changed together change as if one by one;
//! * [`traversal_under_growth`], [`scans_under_changes`]: entries that are present throughout are met exactly once;
//! * [`scans`]: any range, in steps of any length; [`ordered_scans`], [`seeks`]: both ways, with every kind of bound.
//!
//! [`Object`] checks on every look at its key that it has not been freed: a freed object is
//! poisoned and kept until its [`Census`] ends, so a use after free is a failed test and not
//! undefined behaviour.

mod crossing;
mod history;
mod model;
mod object;
mod runs;
mod scans;
mod threads;

use proptest::prelude::ProptestConfig;

pub use crossing::crossing_writes;
pub use history::{Step, history, is_linearizable};
pub use model::{model, traversal_with_changes};
pub use object::{Census, Object, put, remove};
pub use runs::{panic_in_run, runs, runs_of_threads};
pub use scans::{ordered_scans, ordered_scans_under_changes, scans, scans_under_changes, seeks};
pub use threads::{panic_in_closure, protection, reclamation, sizes, traversal_under_growth};

/// Returns how often a property is tried: as often as said with tiny constants, where most branches are met, and a third
/// of that elsewhere.
fn cases(with_tiny_constants: u32) -> ProptestConfig {
    ProptestConfig {
        cases: with_tiny_constants / if cfg!(fyris_small) { 1 } else { 3 },
        failure_persistence: None,
        ..Default::default()
    }
}

/// Makes a `#[test]` function of each of these functions of the module, for an expression that makes an empty index.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($make:expr; $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                $crate::conformance::$name(&|| $make);
            }
        )*
    };
}

/// The tests of an [`Index`](crate::Index), for an expression that makes an empty one.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_suite {
    ($make:expr) => {
        $crate::conformance_tests! {
            $make;
            model traversal_with_changes history crossing_writes reclamation panic_in_closure protection sizes runs
            runs_of_threads panic_in_run traversal_under_growth scans scans_under_changes
        }
    };
}

/// The tests of an [`OrderedIndex`](crate::OrderedIndex) beyond those of the suite.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_ordered_suite {
    ($make:expr) => {
        $crate::conformance_tests! { $make; ordered_scans ordered_scans_under_changes seeks }
    };
}

pub use conformance_ordered_suite as ordered_suite;
pub use conformance_suite as suite;
