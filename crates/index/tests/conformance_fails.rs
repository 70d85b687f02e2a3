//! The conformance suite fails on an index that breaks a promise: one fault for each.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fyris_index::conformance::{self as suite, Object};
use fyris_index::plug::{DynIndex, Features, Plugged};
use fyris_index::reclaim::Guard;
use fyris_index::{Action, Batch, Entry, Index, Ordered, OrderedIndex, Range};

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// A key that is there is not found.
    Misses,
    /// Removes entries that are to be kept.
    KeepRemoves,
    /// The entry is not put back when the closure panics.
    PanicRemoves,
    /// The slot may change while the closure runs.
    Unprotected,
    /// Frees removed entries at once.
    FreesEarly,
    /// Where the number of entries is odd, fewer are told.
    CountSlips,
    /// The last entry of a scan is left out.
    ScanDrops,
    /// A scan begins at the key that it is to begin behind.
    ScanRepeats,
    /// A scan says that it was the last.
    ScanEnds,
    /// Of keys that are changed together one that is to be the end is passed over.
    RunGoesOn,
    /// The key of a bound is not found by a search that includes it.
    SeekPasses,
    /// A scan downwards goes upwards.
    BackIsForth,
}

struct Broken {
    index: Ordered<Object>,
    fault: Fault,
}

impl Broken {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

/// Puts in an entry, or takes one out, without a look at what is there.
fn set(index: &Ordered<Object>, key: u64, action: Action<Object>, pin: &impl Guard) {
    index.upsert(&key, pin, |_| (action, ()));
}

impl Index<Object> for Broken {
    fn get(&self, key: &u64, pin: &impl Guard) -> Option<Object> {
        let found = self.index.get(key, pin);
        found.filter(|_| !(self.is(Fault::Misses) && key % 7 == 3))
    }

    fn upsert<R>(
        &self,
        key: &u64,
        pin: &impl Guard,
        f: impl FnOnce(Option<Object>) -> (Action<Object>, R),
    ) -> R {
        match self.fault {
            Fault::Unprotected => {
                let (action, result) = f(self.index.get(key, pin));
                set(&self.index, *key, action, pin);
                result
            }
            Fault::PanicRemoves => {
                let old = self.index.get(key, pin);
                set(&self.index, *key, Action::Remove, pin);
                let (action, result) = f(old);
                match (action, old) {
                    (Action::Keep, Some(old)) => set(&self.index, *key, Action::Put(old), pin),
                    (action, _) => set(&self.index, *key, action, pin),
                }
                result
            }
            _ => self.index.upsert(key, pin, |old| match (f(old), old) {
                ((Action::Keep, result), _) if self.is(Fault::KeepRemoves) => {
                    (Action::Remove, result)
                }
                ((Action::Remove, result), Some(old)) if self.is(Fault::FreesEarly) => {
                    // SAFETY: it is not: that is the fault.
                    unsafe { old.dispose() };
                    (Action::Remove, result)
                }
                (done, _) => done,
            }),
        }
    }

    fn scan(
        &self,
        (from, to): Range<'_, u64>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<Object>,
    ) -> bool {
        let from = match from {
            Bound::Excluded(key) if self.is(Fault::ScanRepeats) => Bound::Included(key),
            from => from,
        };
        let more = self.index.scan((from, to), want, pin, out);
        if self.is(Fault::ScanDrops) && out.len() > 1 {
            out.pop();
        }
        more && !self.is(Fault::ScanEnds)
    }

    fn upsert_run<'k>(
        &self,
        keys: impl Fn(usize) -> Option<&'k u64>,
        pin: &impl Guard,
        mut f: impl FnMut(usize, Option<Object>) -> Option<Action<Object>>,
    ) -> usize {
        let Some(key) = keys(0) else { return 0 };
        self.upsert(key, pin, |old| match f(0, old) {
            Some(action) => (action, 1),
            None => (Action::Keep, usize::from(self.is(Fault::RunGoesOn))),
        })
    }

    fn len(&self) -> usize {
        let len = self.index.len();
        if self.is(Fault::CountSlips) && len % 2 == 1 {
            return len.saturating_sub(3);
        }
        len
    }

    fn memory(&self) -> usize {
        self.index.memory()
    }
}

impl OrderedIndex<Object> for Broken {
    fn seek(&self, from: Bound<&u64>, pin: &impl Guard) -> Option<Object> {
        match from {
            Bound::Included(key) if self.is(Fault::SeekPasses) => {
                self.index.seek(Bound::Excluded(key), pin)
            }
            from => self.index.seek(from, pin),
        }
    }

    fn seek_back(&self, from: Bound<&u64>, pin: &impl Guard) -> Option<Object> {
        self.index.seek_back(from, pin)
    }

    fn scan_back(
        &self,
        range: Range<'_, u64>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<Object>,
    ) -> bool {
        match self.is(Fault::BackIsForth) {
            true => self.index.scan(range, want, pin, out),
            false => self.index.scan_back(range, want, pin, out),
        }
    }
}

/// Checks that a test of the suite panics on an index with this fault. Some faults show only in some schedules of
/// threads, so the test is run up to 100 times.
fn fails(fault: Fault, test: impl Fn(&dyn Fn() -> Broken)) {
    let make = || Broken {
        index: Ordered::default(),
        fault,
    };
    let panics = |_| catch_unwind(AssertUnwindSafe(|| test(&make))).is_err();
    assert!((0..100).any(panics), "{fault:?} is not noticed");
}

#[test]
fn answers() {
    fails(Fault::Misses, |make| suite::model(make));
    fails(Fault::KeepRemoves, |make| suite::model(make));
}

#[test]
fn slots() {
    fails(Fault::Unprotected, |make| suite::protection(make));
    fails(Fault::PanicRemoves, |make| suite::panic_in_closure(make));
}

#[test]
fn counts() {
    fails(Fault::CountSlips, |make| suite::sizes(make));
}

#[test]
fn entries() {
    fails(Fault::FreesEarly, |make| suite::reclamation(make));
}

#[test]
fn cursors() {
    fails(Fault::ScanRepeats, |make| suite::model(make));
    fails(Fault::ScanDrops, |make| suite::scans(make));
    fails(Fault::ScanEnds, |make| suite::scans(make));
    fails(Fault::ScanEnds, |make| suite::scans_under_changes(make));
}

#[test]
fn keys_changed_together() {
    fails(Fault::RunGoesOn, |make| suite::runs(make));
}

#[test]
fn order() {
    fails(Fault::SeekPasses, |make| suite::seeks(make));
    fails(Fault::BackIsForth, |make| suite::ordered_scans(make));
    fails(Fault::BackIsForth, |make| {
        suite::ordered_scans_under_changes(make)
    });
}

/// An index that says that it takes one writer at a time is given one at a time, so that it need not protect slots.
#[test]
fn writers_come_one_after_another() {
    suite::protection(&|| -> Plugged<dyn DynIndex<Object>> {
        let index = Broken {
            index: Ordered::default(),
            fault: Fault::Unprotected,
        };
        Plugged::new(Box::new(index), Features::ALL.without_concurrent_writers())
    });
}
