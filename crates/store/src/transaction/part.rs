//! A transaction's part in one table: what it has read there, and what it is going to write.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use fyris_index::{Entry, Index};
use fyris_sync::reclaim::{self, Guard};

use crate::chain;
use crate::displaced::Change;
use crate::error::{Error, Result};
use crate::fork;
use crate::ids::TableType;
use crate::key_kind::KeyKind;
use crate::ops::Span;
use crate::record::{RecordPtr, edited};
use crate::slot::{Before, Content, Slot};
use crate::snapshot::SnapshotInner;
use crate::table::Table;
use crate::table_data::TableData;
use crate::version::guards::Reads;
use crate::view::{Past, Within};
use crate::writer::Writer;

/// What a transaction has written to a table: the content of each key that it has changed, `None` of one that it has
/// deleted. The contents are its own until they are committed (UNPLACED in [`crate::pending`]), and share nothing with
/// others.
pub(crate) type OwnWrites = BTreeMap<Box<[u8]>, Option<Content>>;

/// What a transaction had written to keys before a nested one did; `None` where it had not.
type SavedWrites = BTreeMap<Box<[u8]>, Option<Option<Content>>>;

/// A transaction's part in one table.
pub(crate) struct TransactionPart {
    /// A handle of the live table.
    pub(crate) table: Table,
    state: Mutex<PartState>,
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
    place: u64,
    pub(crate) writes: OwnWrites,
    pub(crate) reads: Reads,
    /// Of each nested transaction under way, the innermost last: what keys that it has written held before it.
    nested: Vec<SavedWrites>,
}

impl PartState {
    /// Returns the snapshot that is read.
    pub(super) fn snapshot(&self) -> Result<&Arc<SnapshotInner>> {
        self.snapshots.last().ok_or(Error::TransactionEnded)
    }

    /// Reads a later one from now on.
    pub(super) fn move_on(&mut self, snapshot: Arc<SnapshotInner>) {
        self.place = snapshot.place();
        self.snapshots.push(snapshot);
    }

    /// Notes what a key that is about to change holds, for the nested transaction under way. Returns `true` if that is
    /// kept: the first time, if there is one.
    fn save(&mut self, key: &[u8], own: Option<Option<Content>>) -> bool {
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
    pub(crate) fn new(table: Table, snapshot: Arc<SnapshotInner>, depth: usize) -> TransactionPart {
        let reads = Reads {
            in_order: table.table_type() == TableType::OrderedSet,
            ..Reads::default()
        };
        TransactionPart {
            table,
            state: Mutex::new(PartState {
                place: snapshot.place(),
                snapshots: vec![snapshot],
                writes: OwnWrites::new(),
                reads,
                nested: vec![BTreeMap::new(); depth],
            }),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, PartState> {
        // Nothing is left half done by a panic.
        self.state.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Refuses a transaction that has ended.
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

    /// Lets `f` decide on what a key holds for the transaction, and notes the change. As
    /// [`TableData::write`], but nobody sees it. If the transaction has ended it comes to nothing.
    pub(crate) fn write<K, I, R>(
        &self,
        data: &TableData<K, I>,
        key: &K::Key,
        writer: &Writer<'_>,
        f: impl FnOnce(Option<Content>) -> (Change, R),
    ) -> R
    where
        K: KeyKind,
        I: Index<Slot<K>>,
        Slot<K>: Entry<Key = K::Key>,
    {
        let (mut state, pin) = (self.state(), writer.pin);
        if state.snapshots.is_empty() {
            writer.note_late();
        }
        let bytes = K::bytes(key);
        state.reads.note_key(bytes);
        let is_bag = data.kind.is_bag();
        let is_first = !state.writes.contains_key(bytes);
        let old = match is_bag {
            true => self.own_chain(&mut state, data, key, pin),
            false => self.held(&state, data, key, pin),
        };
        let (change, result) = f(old);
        let new = match change {
            // It need not have become the transaction's own.
            Change::Keep if is_bag && is_first => state.writes.remove(bytes).flatten(),
            Change::Keep => return result,
            Change::Put(new) | Change::Push(new) => Some(new),
            Change::Edit(ref edited) => edited.new,
            Change::Remove => None,
        };
        if let (Change::Keep, unused) = (&change, new) {
            // SAFETY: the transaction's own, and in none of what it has now.
            unused
                .into_iter()
                .for_each(|copy| unsafe { copy.retire(pin) });
            return result;
        }
        let own = state.writes.get(bytes).copied();
        let is_kept = !is_bag && state.save(bytes, own);
        state.writes.insert(bytes.into(), new);
        match change {
            Change::Put(_) | Change::Remove => {
                if let Some(Some(old)) = own.filter(|_| !is_kept) {
                    // SAFETY: the transaction's own, and not in what it has now.
                    unsafe { old.retire(pin) };
                }
            }
            // SAFETY: as above.
            Change::Edit(edited) => unsafe { edited.retire(pin) },
            Change::Keep | Change::Push(_) => {}
        }
        result
    }

    /// Returns what a key holds for the transaction.
    fn held<K, I>(
        &self,
        state: &PartState,
        data: &TableData<K, I>,
        key: &K::Key,
        pin: &impl Guard,
    ) -> Option<Content>
    where
        K: KeyKind,
        I: Index<Slot<K>>,
        Slot<K>: Entry<Key = K::Key>,
    {
        let own = state.writes.get(K::bytes(key)).copied();
        own.unwrap_or_else(|| data.get_at(key, Before(state.place), pin))
    }

    /// Returns what a key of a bag holds, as a chain that the transaction may change: chains are made one of another, so
    /// those of others, and of the transaction around a nested one, are copied first.
    fn own_chain<K, I>(
        &self,
        state: &mut PartState,
        data: &TableData<K, I>,
        key: &K::Key,
        pin: &impl Guard,
    ) -> Option<Content>
    where
        K: KeyKind,
        I: Index<Slot<K>>,
        Slot<K>: Entry<Key = K::Key>,
    {
        let bytes = K::bytes(key);
        let old = self.held(state, data, key, pin);
        let own = state.writes.get(bytes).copied();
        if !state.save(bytes, own) && own.is_some() {
            return old;
        }
        let copy = |older, record: &RecordPtr| {
            let copy = edited(*record, data.keypos, &[]).expect("an object that is stored");
            Some(chain::push(copy.publish_block(), older))
        };
        let records = old.map(chain::oldest_first).unwrap_or_default();
        let copied = records.iter().fold(None, copy);
        // A key that is not there is not written by being looked at.
        if copied.is_some() || own.is_some() {
            state.writes.insert(bytes.into(), copied);
        }
        copied
    }

    /// Returns the objects of a bag's key that the transaction has in the places of these, which it has found by its
    /// view.
    pub(crate) fn adopt<K, I>(
        &self,
        data: &TableData<K, I>,
        these: &[RecordPtr],
        pin: &impl Guard,
    ) -> Vec<RecordPtr>
    where
        K: KeyKind,
        I: Index<Slot<K>>,
        Slot<K>: Entry<Key = K::Key>,
    {
        let key = data.key_of(these[0]);
        let mut state = self.state();
        state.reads.note_key(K::bytes(key));
        let old = self.held(&state, data, key, pin);
        let own = self.own_chain(&mut state, data, key, pin);
        let mut words: Vec<u64> = these.iter().map(|record| record.bits()).collect();
        words.sort_unstable();
        let pairs = chain::newest_first(old).zip(chain::newest_first(own));
        let found = pairs.filter(|(old, _)| words.binary_search(&old.bits()).is_ok());
        found.map(|(_, own)| own).collect()
    }

    /// Notes that a key was read, and returns what the transaction has written there.
    pub(crate) fn read(&self, key: &[u8]) -> Option<Option<Content>> {
        let mut state = self.state();
        state.reads.note_key(key);
        state.writes.get(key).copied()
    }

    /// Notes that a range was read at a place. Returns `false`, and it is to be read again, if the transaction has moved
    /// on to a later one since.
    pub(crate) fn note_span(&self, span: Span, place: u64) -> bool {
        let mut state = self.state();
        state.reads.note_span(span);
        state.place == place || state.snapshots.is_empty()
    }

    /// Hands out what was read and written, and the snapshots, for the commit: the transaction has ended.
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
                true if !state.save(&key, before) => before.flatten(),
                true => None,
                false => {
                    let own = match before {
                        Some(before) => state.writes.insert(key, before),
                        None => state.writes.remove(&key),
                    };
                    own.flatten()
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
        let mut state = self.state();
        let snapshots = std::mem::take(&mut state.snapshots);
        let saved = std::mem::take(&mut state.nested).into_iter().flatten();
        let own = std::mem::take(&mut state.writes).into_values();
        let pin = reclaim::pin();
        for content in saved.flat_map(|(_, before)| before).chain(own).flatten() {
            // SAFETY: the transaction's own, and committed nowhere.
            unsafe { content.retire(&pin) };
        }
        drop((state, snapshots));
    }
}

impl Drop for TransactionPart {
    fn drop(&mut self) {
        self.give_up();
    }
}
