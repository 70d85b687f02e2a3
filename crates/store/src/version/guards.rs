//! What transactions have read, while they commit.
//!
//! # Why
//!
//! A [transaction](crate::transaction) reads by a snapshot, and takes effect at its commit. In between nobody may
//! change what it has read, keys that were not there and ranges included. It is not locked: a transaction looks at its
//! end whether anything has changed, and from then on until its commit is decided a *guard* stands over it.
//!
//! # Invariants
//!
//! * **GUARDED**: the guard stands before the transaction looks, and a write has put its version into the slot before
//!   it looks for guards. Between the two steps each has a fence. So the transaction finds the version, or the write
//!   finds the guard.
//! * **UNPASSED**: a write takes effect, where it gets its stamp or its commit is sealed, when it has looked for guards
//!   over its key *before* the clock: it aborts a commit that is not decided yet, and one that is sealed comes into the
//!   log first. A reader does not wait for that: what has no stamp has not taken effect, and is passed over.
//! * **TICKETS**: of two commits of which one has read what the other writes, and that are both undecided, the one with
//!   the lower ticket goes on. That of a list has none, and goes first: it cannot fail.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use fyris_sync::atomic::{AtomicPtr, Ordering, fence};
use fyris_sync::reclaim::{Guard, PROTECT, pin};

use super::live_snapshots::{LiveSnapshot, LiveSnapshots};
use crate::ids::TableType;
use crate::ops::Span;
use crate::pending::Decision;
use crate::record::{Object, RecordPtr};
use crate::secondary::Secondary;

/// What was read in one table.
#[derive(Clone, Default)]
pub(crate) struct Reads {
    /// Whether keys are told apart as an `ordered_set` does it.
    pub(crate) in_order: bool,
    pub(crate) keys: BTreeSet<Box<[u8]>>,
    /// Ranges of keys, in tables in the order of keys; in others there is but one for all keys.
    pub(crate) spans: Vec<Span>,
    /// Values by which keys were looked for in secondary indexes.
    pub(crate) values: Vec<(Arc<Secondary>, Box<[u8]>)>,
}

impl Reads {
    /// Returns that nothing was read of a table of a type.
    pub(crate) fn new(table_type: TableType) -> Reads {
        Reads {
            in_order: table_type == TableType::OrderedSet,
            ..Reads::default()
        }
    }

    /// Notes all that others note.
    pub(crate) fn add(&mut self, others: Reads) {
        self.keys.extend(others.keys);
        for span in others.spans {
            self.note_span(span);
        }
        for (index, value) in &others.values {
            self.note_value(index, value);
        }
    }

    /// Returns whether all that others note was read.
    pub(crate) fn has_all(&self, others: &Reads) -> bool {
        let has_span = |span: &Span| self.spans.iter().any(|of| of.contains(span));
        let has_value = |(index, value): &(Arc<Secondary>, Box<[u8]>)| self.has_value(index, value);
        others.keys.is_subset(&self.keys)
            && others.spans.iter().all(has_span)
            && others.values.iter().all(has_value)
    }

    /// Returns the ranges and the values that were read.
    pub(crate) fn ranges(&self) -> Reads {
        Reads {
            in_order: self.in_order,
            keys: BTreeSet::new(),
            spans: self.spans.clone(),
            values: self.values.clone(),
        }
    }

    /// Notes that a key was read.
    pub(crate) fn note_key(&mut self, key: &[u8]) {
        if !self.keys.contains(key) {
            self.keys.insert(key.into());
        }
    }

    /// Notes that a range was read. A scan comes with one after another, each beginning where the last one ended.
    pub(crate) fn note_span(&mut self, span: Span) {
        let joined = |last: &mut Span| {
            if last.from == Bound::Unbounded && last.to == Bound::Unbounded {
                return true;
            }
            let (is_next, is_before) = (meets(&last.to, &span.from), meets(&span.to, &last.from));
            if is_next {
                last.to = span.to.clone();
            } else if is_before {
                last.from = span.from.clone();
            }
            is_next || is_before || *last == span
        };
        // Those of walks that take turns.
        if !self.spans.iter_mut().rev().take(4).any(joined) {
            self.spans.push(span);
        }
    }

    /// Notes that all keys with a value were read.
    pub(crate) fn note_value(&mut self, index: &Arc<Secondary>, value: &[u8]) {
        if !self.has_value(index, value) {
            self.values.push((index.clone(), value.into()));
        }
    }

    fn has_value(&self, index: &Arc<Secondary>, value: &[u8]) -> bool {
        let is_same = |(noted, its): &(Arc<Secondary>, Box<[u8]>)| {
            Arc::ptr_eq(noted, index) && **its == *value
        };
        self.values.iter().any(is_same)
    }

    /// Returns whether nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.spans.is_empty() && self.values.is_empty()
    }

    /// Returns whether a record has a key that was read. The caller holds the record.
    fn cover(&self, record: RecordPtr, pin: &impl Guard) -> bool {
        // SAFETY: the caller's promise.
        let key = unsafe {
            match self.in_order {
                true => record.order().bytes(),
                false => record.exact().bytes(),
            }
        };
        self.cover_key(key, pin)
    }

    /// Returns whether a key was read, as it was at any time.
    pub(crate) fn cover_key(&self, key: &[u8], pin: &impl Guard) -> bool {
        // What a write puts in, and what it takes away, has its entries (ENTERED in `crate::secondary`).
        let mut values = self.values.iter();
        self.keys.contains(key)
            || self.spans.iter().any(|span| span.has(key))
            || (values.any(|(index, value)| index.has(value, key, pin))
                && !cfg!(fyris_mutant = "store_values_unguarded"))
    }
}

impl Reads {
    /// Returns whether an object has a value by which keys were looked for.
    pub(crate) fn cover_value(&self, object: &Object<'_>) -> bool {
        let mut values = self.values.iter();
        values.any(|(index, value)| index.definition.has(object, value))
    }
}

/// Returns whether a range that ends so, and one that begins so, are one without a gap.
fn meets(end: &Bound<Vec<u8>>, begin: &Bound<Vec<u8>>) -> bool {
    match (end, begin) {
        (Bound::Included(end), Bound::Excluded(begin) | Bound::Included(begin))
        | (Bound::Excluded(end), Bound::Included(begin)) => end == begin,
        _ => false,
    }
}

/// The guard over what was read by a snapshot.
pub(super) struct SnapshotGuard {
    reads: OnceLock<Reads>,
    /// The commit of the transaction, from the moment when the guard stands until it is decided; else null.
    decision: AtomicPtr<Decision>,
}

impl Default for SnapshotGuard {
    fn default() -> SnapshotGuard {
        SnapshotGuard {
            reads: OnceLock::new(),
            decision: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

/// A guard that stands until it is dropped.
pub(crate) struct Standing<'c> {
    snapshots: &'c LiveSnapshots,
    snapshot: &'c LiveSnapshot,
}

impl<'c> Standing<'c> {
    /// Returns what was read.
    pub(crate) fn reads(&self) -> &'c Reads {
        let reads = self.snapshot.guard.reads.get();
        reads.expect("it stands over something")
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        // Release, both: pair with PROTECT in `guarding` and the Acquire in `any_guard`: the decision comes before.
        self.snapshot
            .guard
            .decision
            .store(std::ptr::null_mut(), Ordering::Release);
        self.snapshots.guards.fetch_sub(1, Ordering::Release);
    }
}

impl LiveSnapshots {
    /// Lets a guard stand over what was read by a snapshot, until the commit is decided; once a snapshot. The commit
    /// lives as long as the result, and as long as threads are pinned that were before that was dropped.
    pub(crate) fn guard<'c>(
        &'c self,
        snapshot: &'c Arc<LiveSnapshot>,
        reads: Reads,
        decision: &Decision,
    ) -> Standing<'c> {
        let guard = &snapshot.guard;
        let is_first = guard.reads.set(reads).is_ok();
        debug_assert!(is_first, "a snapshot has one commit");
        let decision = std::ptr::from_ref(decision).cast_mut();
        // Release: pairs with PROTECT in `guarding`.
        guard.decision.store(decision, Ordering::Release);
        // Relaxed: the fence orders it.
        self.guards.fetch_add(1, Ordering::Relaxed);
        // SeqCst: pairs with the fences in `VersionPtr::give_stamp` and `TableData::passes_guards` (GUARDED).
        if !cfg!(fyris_mutant = "store_guard_unfenced") {
            fence(Ordering::SeqCst);
        }
        Standing {
            snapshots: self,
            snapshot,
        }
    }

    /// Returns the commits that are guarded against changes of a record's key. The caller holds the record, and has had
    /// a fence since it was put into its slot.
    pub(crate) fn guarding<'g>(
        &self,
        key: RecordPtr,
        pin: &'g impl Guard,
    ) -> impl Iterator<Item = &'g Decision> {
        let over = move |snapshot: &&'g Arc<LiveSnapshot>| {
            let reads = snapshot.guard.reads.get();
            reads.is_some_and(|reads| reads.cover(key, pin))
        };
        let decision = |snapshot: &'g Arc<LiveSnapshot>| {
            // PROTECT: pairs with the Release in `guard`.
            let decision = snapshot.guard.decision.load(PROTECT);
            // SAFETY: null, or retired after it was taken out of here (RECLAIM).
            unsafe { decision.as_ref() }
        };
        let stands = move |snapshot: &&'g Arc<LiveSnapshot>| decision(snapshot).is_some();
        let listed = self.now(pin).iter();
        listed.filter(stands).filter(over).filter_map(decision)
    }

    /// Returns whether any guard stands. The caller has had a fence since its change was put into a slot.
    pub(crate) fn any_guard(&self) -> bool {
        // Acquire: pairs with the Release in `drop`: who does not find a guard any more finds the commit that it was of
        // in the log (UNPASSED). The fence orders who has not found it yet (GUARDED).
        let acquire = match cfg!(fyris_mutant = "store_guard_goes_unordered") {
            true => Ordering::Relaxed,
            false => Ordering::Acquire,
        };
        self.guards.load(acquire) > 0
    }

    /// Aborts the commits that a single write of a key cannot go past. Returns `false` if one of them is about to be
    /// decided (UNPASSED).
    pub(super) fn passes(&self, key: impl FnOnce() -> RecordPtr) -> bool {
        if !self.any_guard() || cfg!(fyris_mutant = "store_guards_passed") {
            return true;
        }
        let (pin, key) = (pin(), key());
        self.guarding(key, &pin).all(Decision::abort_unsealed)
    }
}

/// Settles which of two commits comes first that cannot both be undecided (TICKETS). Returns `false` if `me` is not to
/// go on; else the other one is decided.
pub(crate) fn contend(me: &Decision, other: &Decision) -> bool {
    let goes_first = other.ticket() == 0 || (me.ticket() != 0 && other.ticket() < me.ticket());
    if goes_first && other.is_open() {
        return false;
    }
    if !other.abort_unsealed() {
        // Sealed: in a moment.
        other.wait();
    }
    true
}
