//! A transaction's part in one table: what it has read there, and what it is going to write.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use fyris_index::{Entry, Index};
use fyris_sync::reclaim::{self, Guard};

use crate::chain;
use crate::displaced::Change;
use crate::error::{Error, Result};
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

/// What a transaction has written to a table: the content of each key that it has changed, `None` of one that it has
/// deleted. The contents are its own until they are committed (UNPLACED in [`crate::pending`]), and share nothing with
/// others.
pub(crate) type OwnWrites = BTreeMap<Box<[u8]>, Option<Content>>;

/// A transaction's part in one table.
pub(crate) struct TransactionPart {
    /// A handle of the live table.
    pub(crate) table: Table,
    ended: Arc<AtomicBool>,
    state: Mutex<PartState>,
}

// SAFETY: the contents are the part's own, and may be retired on any thread.
unsafe impl Send for TransactionPart {}
// SAFETY: as above; they are behind a lock.
unsafe impl Sync for TransactionPart {}

/// What changes of a part.
pub(crate) struct PartState {
    /// The last one is read; those before may be in use still.
    pub(crate) snapshots: Vec<Arc<SnapshotInner>>,
    pub(crate) writes: OwnWrites,
    pub(crate) reads: Reads,
}

impl PartState {
    /// Returns the snapshot that is read.
    pub(crate) fn snapshot(&self) -> &Arc<SnapshotInner> {
        self.snapshots.last().expect("a part begins with one")
    }
}

impl TransactionPart {
    pub(crate) fn new(
        table: Table,
        snapshot: Arc<SnapshotInner>,
        ended: Arc<AtomicBool>,
    ) -> TransactionPart {
        let reads = Reads {
            in_order: table.table_type() == TableType::OrderedSet,
            ..Reads::default()
        };
        TransactionPart {
            table,
            ended,
            state: Mutex::new(PartState {
                snapshots: vec![snapshot],
                writes: OwnWrites::new(),
                reads,
            }),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, PartState> {
        // Nothing is left half done by a panic.
        self.state.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Refuses a transaction that has ended.
    pub(crate) fn check(&self) -> Result<()> {
        // Acquire: pairs with the Release in `Transaction::end`.
        match self.ended.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(Error::TransactionEnded),
        }
    }

    /// Returns the view of the transaction.
    pub(crate) fn view<'g>(&'g self, pin: &'g impl Guard) -> Result<Within<'g>> {
        self.check()?;
        let past = self.state().snapshot().view(pin)?;
        Ok(Within { past, part: self })
    }

    /// Returns the content that is read and written, and where its snapshot is.
    pub(crate) fn past<'g>(&self, pin: &'g impl Guard) -> Result<Past<'g>> {
        self.check()?;
        self.state().snapshot().view(pin)
    }

    /// Lets `f` decide on what a key holds for the transaction, and notes the change. As
    /// [`TableData::write`], but nobody sees it.
    pub(crate) fn write<K, I, R>(
        &self,
        data: &TableData<K, I>,
        key: &K::Key,
        pin: &impl Guard,
        f: impl FnOnce(Option<Content>) -> (Change, R),
    ) -> R
    where
        K: KeyKind,
        I: Index<Slot<K>>,
        Slot<K>: Entry<Key = K::Key>,
    {
        let mut state = self.state();
        let bytes = K::bytes(key);
        state.reads.note_key(bytes);
        let own = state.writes.get(bytes).copied();
        let old = own.unwrap_or_else(|| self.adopted(&mut state, data, key, pin));
        let (change, result) = f(old);
        let new = match change {
            Change::Keep => return result,
            Change::Put(new) | Change::Push(new) => Some(new),
            Change::Edit(ref edited) => edited.new,
            Change::Remove => None,
        };
        state.writes.insert(bytes.into(), new);
        // SAFETY, both: the transaction's own, and not in what it has now.
        match change {
            Change::Put(_) | Change::Remove => {
                if let Some(Some(old)) = own.or_else(|| data.kind.is_bag().then_some(old)) {
                    unsafe { old.retire(pin) };
                }
            }
            Change::Edit(edited) => unsafe { edited.retire(pin) },
            Change::Keep | Change::Push(_) => {}
        }
        result
    }

    /// Returns what a key holds that the transaction has not written yet. In a bag it becomes the transaction's own:
    /// chains are made one of another, and those of others may be changed meanwhile.
    fn adopted<K, I>(
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
        let place = state.snapshot().place();
        let old = data.get_at(key, Before(place), pin)?;
        if !data.kind.is_bag() {
            return Some(old);
        }
        let copy = |older, record: &RecordPtr| {
            let copy = edited(*record, data.keypos, &[]).expect("an object that is stored");
            Some(chain::push(copy.publish_block(), older))
        };
        let own = chain::oldest_first(old).iter().fold(None, copy);
        state.writes.insert(K::bytes(key).into(), own);
        own
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
        if state.writes.contains_key(K::bytes(key)) {
            return these.to_vec();
        }
        let place = state.snapshot().place();
        let old = data.get_at(key, Before(place), pin);
        state.reads.note_key(K::bytes(key));
        let own = self.adopted(&mut state, data, key, pin);
        let pairs = chain::newest_first(old).zip(chain::newest_first(own));
        pairs
            .filter(|(old, _)| these.contains(old))
            .map(|(_, own)| own)
            .collect()
    }

    /// Notes that a key was read, and returns what the transaction has written there.
    pub(crate) fn read(&self, key: &[u8]) -> Option<Option<Content>> {
        let mut state = self.state();
        state.reads.note_key(key);
        state.writes.get(key).copied()
    }

    /// Notes that a range was read.
    pub(crate) fn note_span(&self, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) {
        self.state().reads.note_span(Span::new(from, to));
    }

    /// Lets go of what was written.
    pub(crate) fn give_up(&self) {
        let own = std::mem::take(&mut self.state().writes);
        let pin = reclaim::pin();
        for content in own.into_values().flatten() {
            // SAFETY: the transaction's own, and committed nowhere.
            unsafe { content.retire(&pin) };
        }
    }
}

impl Drop for TransactionPart {
    fn drop(&mut self) {
        self.give_up();
    }
}
