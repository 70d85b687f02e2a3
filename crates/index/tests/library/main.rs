//! Indexes from libraries: the two examples and a sorted array pass the conformance suite; of each thing that a library
//! can do wrong the index says which it was, and goes on rightly by itself.
//!
//! Needs `cc`, which building Fyris needs too; without `c++` the sorted array stands in for the examples. Libraries have
//! no tiny constants.
#![cfg(not(any(loom, shuttle, fyris_small)))]
#![allow(missing_docs)]

mod build;
mod faults;

use std::ops::Bound;

use fyris_index::conformance::Object;
use fyris_index::library::{Fault, Library, LibraryIndex};
use fyris_index::reclaim::Guard;
use fyris_index::{Action, Batch, Index, IndexOptions, OrderedIndex, Range};

/// An index whose library is to be without fault.
struct Sound(LibraryIndex<Object>);

impl Sound {
    fn of(library: Library) -> Sound {
        let index = library.index(&IndexOptions::default());
        Sound(index.expect("a table"))
    }
}

impl Drop for Sound {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.0.status().fault(), None);
        }
    }
}

impl Index<Object> for Sound {
    fn get(&self, key: &u64, pin: &impl Guard) -> Option<Object> {
        self.0.get(key, pin)
    }

    fn upsert<R>(
        &self,
        key: &u64,
        pin: &impl Guard,
        f: impl FnOnce(Option<Object>) -> (Action<Object>, R),
    ) -> R {
        self.0.upsert(key, pin, f)
    }

    fn scan(
        &self,
        range: Range<'_, u64>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<Object>,
    ) -> bool {
        self.0.scan(range, want, pin, out)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }
}

impl OrderedIndex<Object> for Sound {
    fn seek(&self, from: Bound<&u64>, pin: &impl Guard) -> Option<Object> {
        self.0.seek(from, pin)
    }

    fn seek_back(&self, from: Bound<&u64>, pin: &impl Guard) -> Option<Object> {
        self.0.seek_back(from, pin)
    }

    fn scan_back(
        &self,
        range: Range<'_, u64>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<Object>,
    ) -> bool {
        self.0.scan_back(range, want, pin, out)
    }
}

/// Makes a module that runs suites over a library.
macro_rules! conforms {
    ($name:ident, $library:expr, $($suite:ident)*) => {
        mod $name {
            use super::*;
            use fyris_index::conformance;
            use std::sync::OnceLock;

            fn index() -> Sound {
                static LIBRARY: OnceLock<Library> = OnceLock::new();
                Sound::of(*LIBRARY.get_or_init(|| $library))
            }

            $(conformance::$suite!(index());)*
        }
    };
}

/// Loads a library of this repository.
fn load(library: &build::Built) -> Result<Library, Fault> {
    // SAFETY: its functions touch no memory but their own and what they are given, whatever they answer.
    unsafe { Library::load(library.path()) }
}

fn sorted(definitions: &[&str]) -> Library {
    load(&build::sorted(definitions)).expect("a library without fault")
}

fn example(name: &str) -> Library {
    match build::example(name) {
        Some(library) => load(&library).expect("a library without fault"),
        None => sorted(&[]),
    }
}

conforms!(std_map, example("map"), suite ordered_suite);
conforms!(one_call_at_a_time, sorted(&["ALONE"]), suite ordered_suite);
conforms!(in_the_order_of_hashes, sorted(&["BY_HASH"]), suite);
conforms!(concurrent_writers, sorted(&["CONCURRENT"]), suite ordered_suite);
conforms!(
    concurrent_by_hash,
    sorted(&["CONCURRENT", "BY_HASH"]),
    suite
);

/// Without iteration: what needs no scans of any length.
mod std_unordered_map {
    use super::*;
    use std::sync::OnceLock;

    fn index() -> Sound {
        static LIBRARY: OnceLock<Library> = OnceLock::new();
        Sound::of(*LIBRARY.get_or_init(|| example("unordered_map")))
    }

    fyris_index::conformance_tests! {
        index(); history reclamation panic_in_closure protection sizes runs_of_threads panic_in_run
    }
}
