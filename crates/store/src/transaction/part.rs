//! A transaction's part in one table: what it has read there, and what it is going to write.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use fyris_sync::reclaim::{self, Guard};

use super::Tries;
use super::hold::Hold;
use crate::error::{Error, Result};
use crate::fork;
use crate::ops::Span;
use crate::secondary::Secondary;
use crate::slot::Content;
use crate::snapshot::SnapshotInner;
use crate::table::Table;
use crate::version::guards::Reads;
use crate::view::{Past, Within};

/// What a transaction has written to a key: its content, `None` if it was deleted; and the place of the last write of
/// it among all writes. The content is its own until it is committed (UNPLACED in [`crate::pending`]), and shares nothing with
/// others.
#[derive(Clone, Copy)]
pub(crate) struct OwnWrite {
    pub(crate) content: Option<Content>,
    pub(crate) rank: u64,
}

/// What a transaction has written to a table.
pub(crate) type OwnWrites = BTreeMap<Box<[u8]>, OwnWrite>;

/// What a transaction had written to keys before a nested one did; `None` where it had not.
type SavedWrites = BTreeMap<Box<[u8]>, Option<OwnWrite>>;

/// A transaction's part in one table.
pub(crate) struct TransactionPart {
    /// A handle of the live table.
    pub(crate) table: Table,
    state: Mutex<PartState>,
    tries: Arc<Tries>,
    /// If the transaction goes first.
    pub(super) hold: Option<Arc<Hold>>,
    /// What writers wait for then.
    pub(super) held: Mutex<Reads>,
    /// The number of ranges that had changed when they were to be held.
    pub(super) late: AtomicU32,
    /// Held by the thread that is about to hold something more.
    pub(super) turn: Mutex<()>,
}

// SAFETY: the contents are the part's own, and may be retired on any thread.
unsafe impl Send for TransactionPart {}
// SAFETY: as above; they are behind a lock.
unsafe impl Sync for TransactionPart {}

/// What changes of a part.
pub(crate) struct PartState {
    /// The last one is read; those before may be in use still. There is none once the transaction ends.
    snapshots: Vec<Arc<SnapshotInner>>,
    /// The place of the last one.
    pub(super) place: u64,
    pub(crate) writes: OwnWrites,
    pub(crate) reads: Reads,
    /// Why what is read does not count any more.
    pub(super) failure: Option<Error>,
    /// Of each nested transaction under way, the innermost last: what keys that it has written held before it.
    nested: Vec<SavedWrites>,
}

impl PartState {
    /// Returns the snapshot that is read.
    pub(super) fn snapshot(&self) -> Result<&Arc<SnapshotInner>> {
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => self.snapshots.last().ok_or(Error::TransactionEnded),
        }
    }

    /// Returns whether the transaction has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.snapshots.is_empty()
    }

    /// Reads a later one from now on.
    pub(super) fn move_on(&mut self, snapshot: Arc<SnapshotInner>) {
        self.place = snapshot.place();
        self.snapshots.push(snapshot);
    }

    /// Notes what a key that is about to change holds, for the nested transaction under way. Returns `true` if that is
    /// kept: the first time, if there is one.
    pub(super) fn save(&mut self, key: &[u8], own: Option<OwnWrite>) -> bool {
        let Some(innermost) = self.nested.last_mut() else {
            return false;
        };
        let is_first = !innermost.contains_key(key);
        if is_first {
            innermost.insert(key.into(), own);
        }
        is_first
    }
}

impl TransactionPart {
    pub(super) fn new(
        table: Table,
        snapshot: Arc<SnapshotInner>,
        depth: usize,
        tries: Arc<Tries>,
        hold: Option<Arc<Hold>>,
    ) -> TransactionPart {
        let reads = Reads::new(table.table_type());
        TransactionPart {
            table,
            tries,
            hold,
            held: Mutex::new(reads.clone()),
            late: AtomicU32::new(0),
            turn: Mutex::default(),
            state: Mutex::new(PartState {
                place: snapshot.place(),
                snapshots: vec![snapshot],
                writes: OwnWrites::new(),
                reads,
                failure: None,
                nested: vec![BTreeMap::new(); depth],
            }),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, PartState> {
        // Nothing is left half done by a panic.
        self.state.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Returns the place of a write behind those of the transaction until now.
    pub(super) fn next_rank(&self) -> u64 {
        // Relaxed: a number.
        self.tries.written.fetch_add(1, Ordering::Relaxed)
    }

    /// Refuses a transaction that has ended. What was read before a look that passes is right.
    pub(crate) fn check(&self) -> Result<()> {
        self.state().snapshot().map(|_| ())
    }

    /// Returns the view of the transaction.
    pub(crate) fn view<'g>(&'g self, pin: &'g impl Guard) -> Result<Within<'g>> {
        let begun = self.past(pin)?;
        Ok(Within { begun, part: self })
    }

    /// Returns the content that is read and written, and where its snapshot is.
    pub(crate) fn past<'g>(&self, pin: &'g impl Guard) -> Result<Past<'g>> {
        self.state().snapshot()?.view(pin)
    }

    /// Returns the same, and the place that is read.
    pub(super) fn place_and_past<'g>(&self, pin: &'g impl Guard) -> Result<(u64, Past<'g>)> {
        let state = self.state();
        Ok((state.place, state.snapshot()?.view(pin)?))
    }

    /// Notes that a key was read, and returns what the transaction has written there; if nothing, where to read it: as
    /// [`TransactionPart::past`].
    pub(crate) fn read<'g>(
        &self,
        key: &[u8],
        pin: &'g impl Guard,
    ) -> std::result::Result<Option<Content>, Result<Past<'g>>> {
        self.take_hold(|reads| reads.note_key(key));
        let mut state = self.state();
        state.reads.note_key(key);
        let own = state.writes.get(key).map(|own| own.content);
        own.ok_or_else(|| state.snapshot()?.view(pin))
    }

    /// Notes that a range was read at a place. Returns `false`, and it is to be read again, if the transaction has
    /// moved on to a later one since.
    pub(crate) fn note_span(&self, span: Span, place: u64) -> bool {
        self.take_hold(|reads| reads.note_span(span.clone()));
        let mut state = self.state();
        state.reads.note_span(span);
        state.place == place || state.has_ended() || state.failure.is_some()
    }

    /// Notes that the keys with a value were read at a place, before that is done. Returns `false`, and they are to be
    /// read of another place, if the transaction has moved on to a later one since.
    pub(crate) fn note_value(&self, index: &Arc<Secondary>, value: &[u8], place: u64) -> bool {
        self.take_hold(|reads| reads.note_value(index, value));
        let mut state = self.state();
        state.reads.note_value(index, value);
        state.place == place || state.has_ended() || state.failure.is_some()
    }

    /// Hands out what was read and written, and the snapshots: the transaction has ended.
    pub(super) fn take(&self) -> (OwnWrites, Reads, Vec<Arc<SnapshotInner>>) {
        let mut state = self.state();
        let writes = std::mem::take(&mut state.writes);
        let reads = std::mem::take(&mut state.reads);
        (writes, reads, std::mem::take(&mut state.snapshots))
    }

    /// Begins a nested transaction.
    pub(super) fn begin_nested(&self) {
        self.state().nested.push(BTreeMap::new());
    }

    /// Ends the innermost nested transaction: what it has written becomes that of the one around it, or is taken back.
    pub(super) fn end_nested(&self, keep: bool) {
        let (mut state, pin) = (self.state(), reclaim::pin());
        let saved = state.nested.pop().unwrap_or_default();
        for (key, before) in saved {
            let gone = match keep {
                // The one around it has its own note, or needs none.
                true if !state.save(&key, before) => before.and_then(|own| own.content),
                true => None,
                false => {
                    let own = match before {
                        Some(before) => state.writes.insert(key, before),
                        None => state.writes.remove(&key),
                    };
                    own.and_then(|own| own.content)
                }
            };
            if let Some(content) = gone {
                // SAFETY: the transaction's own, and in none of what it has now.
                unsafe { content.retire(&pin) };
            }
        }
    }

    /// Lets go of what was written, and of the snapshots.
    pub(super) fn give_up(&self) {
        // A forked child has the locks as other threads had left them.
        if fork::is_child() {
            return;
        }
        let (own, _, snapshots) = self.take();
        let saved = std::mem::take(&mut self.state().nested);
        let saved = saved.into_iter().flatten().flat_map(|(_, before)| before);
        let pin = reclaim::pin();
        for content in saved.chain(own.into_values()).filter_map(|own| own.content) {
            // SAFETY: the transaction's own, and committed nowhere.
            unsafe { content.retire(&pin) };
        }
        drop(snapshots);
    }
}

impl Drop for TransactionPart {
    fn drop(&mut self) {
        self.give_up();
    }
}
