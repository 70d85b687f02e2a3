//! What every index has to pass.
//!
//! An index joins in by one line in a test file of its own:
//!
//! ```ignore
//! mod conformance;
//! conformance::suite!(HashIndex::<conformance::Object>::new());
//! ```
//!
//! The expression makes an empty index of [`Object`]s, whose keys are `u64`. The suite then runs
//!
//! * `model`: random commands, each answer compared with a `BTreeMap`, cursors across growth included;
//! * `history`: operations of real threads recorded and checked for linearizability;
//! * `reclamation`: every entry freed once and none while a reader can see it;
//! * `panic_in_closure`: a closure that panics leaves its slot as it was, and usable;
//! * `runs`, `runs_of_threads`, `panic_in_run`: keys that are changed together change as if one by one;
//! * `traversal_under_growth`: what is present throughout is met exactly once;
//! * `stamps`: equal stamps mean that nothing changed in between.
//!
//! [`Object`] checks on every look at its key that it has not been freed: a freed object is
//! poisoned and kept until its [`Census`] ends, so a use after free is a failed test and not
//! undefined behaviour.

#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "each test file uses its own part"
)]

mod history;
mod model;
mod object;
mod runs;
mod threads;

pub use history::{Step, history, is_linearizable};
pub use model::{model, stamps, traversal_with_changes};
pub use object::{Census, Object, put};
pub use runs::{panic_in_run, runs, runs_of_threads};
pub use threads::{panic_in_closure, reclamation, traversal_under_growth};

/// The suite as `#[test]` functions, for an expression that makes an empty index.
#[macro_export]
macro_rules! suite {
    ($make:expr) => {
        #[test]
        fn model() {
            conformance::model(|| $make);
        }
        #[test]
        fn traversal_with_changes() {
            conformance::traversal_with_changes(|| $make);
        }
        #[test]
        fn stamps() {
            conformance::stamps(|| $make);
        }
        #[test]
        fn history() {
            conformance::history(|| $make);
        }
        #[test]
        fn reclamation() {
            conformance::reclamation(|| $make);
        }
        #[test]
        fn panic_in_closure() {
            conformance::panic_in_closure(|| $make);
        }
        #[test]
        fn runs() {
            conformance::runs(|| $make);
        }
        #[test]
        fn runs_of_threads() {
            conformance::runs_of_threads(|| $make);
        }
        #[test]
        fn panic_in_run() {
            conformance::panic_in_run(|| $make);
        }
        #[test]
        fn traversal_under_growth() {
            conformance::traversal_under_growth(|| $make);
        }
    };
}
pub use suite;
