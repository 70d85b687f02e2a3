//! A table's content: an index and the counts that go with it.
//!
//! Everything that is common to all writes is here: settling a slot that belongs to a decided
//! commit, waiting for an undecided one, retiring what was displaced, keeping the counts.
//! The operations themselves are in [`crate::ops`], written once over [`Index`].

use std::marker::PhantomData;

use fyris_index::library::Status;
use fyris_index::plug::{DynIndex, DynOrderedIndex, Plugged};
use fyris_index::{Action, Entry, HashIndex, Index, Ordered};
use fyris_sync::counter::Striped;
use fyris_sync::reclaim::{self, Guard, Retire};
use fyris_term::key::KeyBuf;

use crate::chain;
use crate::commits::Commits;
use crate::fork;
use crate::ids::TableType;
use crate::key_kind::{Exact, KeyKind, Order};
use crate::keys::ShortKey;
use crate::pending::{PendingPtr, State, Terms};
use crate::record::RecordPtr;
use crate::resource_ref;
use crate::slot::{Content, Settled, Slot};

/// Finished changes of one stripe after which a table's counters are spread out.
const SPREAD_AFTER: u64 = 512;

/// The number of times that the counters are read before a count that may include too much is taken for good.
const LOOKS: u32 = 100;

/// The number of objects from which on a content is freed in the background; freeing fewer takes less than about a
/// quarter of a millisecond.
const LARGE: usize = 4096;

/// A table's content; `delete_all_objects` puts a fresh one in its place.
pub(crate) struct TableData<K, I> {
    pub(crate) index: I,
    pub(crate) kind: TableType,
    pub(crate) keypos: usize,
    objects: Striped,
    pub(crate) bytes: Striped,
    /// Behind the index, whose entries are disposed of first.
    pub(crate) commits: Commits,
    keys: PhantomData<fn() -> K>,
}

/// The change of a key's content.
pub(crate) enum Change {
    Keep,
    Put(Content),
    Remove,
}

/// The outcome of a write.
enum Written<R> {
    Done(R),
    /// This decided cell was taken out of its slot.
    Displaced(R, PendingPtr),
    /// A commit made another chain in the place of this one, of whose cells it shares those from the second content on.
    Remade(R, Content, Option<Content>),
    /// Not at all, since this commit is about to be decided.
    Sealed(PendingPtr),
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    pub(crate) fn new(index: I, kind: TableType, keypos: usize) -> Self {
        TableData {
            index,
            kind,
            keypos,
            objects: Striped::new(),
            bytes: Striped::new(),
            commits: Commits::new(),
            keys: PhantomData,
        }
    }

    /// Returns the part of an encoded key that counts here.
    #[inline]
    pub(crate) fn key<'k>(&self, key: &'k KeyBuf) -> &'k K::Key {
        K::of(key)
    }

    /// Returns the bytes of that part.
    #[inline]
    pub(crate) fn key_bytes<'k>(&self, key: &'k KeyBuf) -> &'k [u8] {
        K::bytes(K::of(key))
    }

    /// Returns the present content of the key; never waits.
    #[inline]
    pub(crate) fn get(&self, key: &K::Key, pin: &impl Guard) -> Option<Content> {
        self.index.get(key, pin)?.read()
    }

    /// Runs `f` once on what the key holds, with the slot protected, and does as it says.
    ///
    /// The contract of `f` is that of [`Index::upsert`]. Objects that come are counted here, before they can be seen.
    /// The caller retires the content that `f` displaces, and accounts for objects that go, and for bytes.
    #[inline]
    pub(crate) fn write<R>(
        &self,
        key: &K::Key,
        pin: &impl Guard,
        mut f: impl FnMut(Option<Content>) -> (Change, R),
    ) -> R {
        loop {
            let written = self.index.upsert(key, pin, |slot| self.apply(slot, &mut f));
            if let Some(result) = self.finish(written, pin) {
                return result;
            }
        }
    }

    /// Runs `f` on the content of an entry, with the slot protected, and returns the action that it asks for.
    #[inline]
    fn apply<R>(
        &self,
        slot: Option<Slot<K>>,
        f: &mut impl FnMut(Option<Content>) -> (Change, R),
    ) -> (Action<Slot<K>>, Written<R>) {
        let old = match slot.map(Slot::settled) {
            None => None,
            Some(Settled::Content(content)) => content,
            Some(Settled::Undecided(cell)) => return self.write_through(cell, f),
        };
        let (change, result) = f(old);
        let action = match change {
            Change::Keep => return (Action::Keep, Written::Done(result)),
            Change::Put(content) => {
                self.count_new(old, content);
                Action::Put(Slot::content(content))
            }
            Change::Remove => Action::Remove,
        };
        match slot.and_then(Slot::as_pending) {
            None => (action, Written::Done(result)),
            Some(cell) => (action, Written::Displaced(result, cell)),
        }
    }

    /// Retires the cells that a write has displaced, and returns its result; `None` if it is to be done again.
    #[inline]
    fn finish<R>(&self, written: Written<R>, pin: &impl Guard) -> Option<R> {
        match written {
            Written::Done(result) => Some(result),
            Written::Displaced(result, cell) => {
                self.retire_loser(cell, pin);
                Some(result)
            }
            Written::Remade(result, chain, bottom) => {
                // SAFETY: OWNERSHIP: another chain of the same records is in the cell.
                unsafe { chain::retire_cells_above(chain, bottom, pin) };
                Some(result)
            }
            Written::Sealed(cell) => {
                // In a moment.
                cell.get().wait();
                None
            }
        }
    }

    /// Writes to a key that an undecided commit holds: before the commit. With the slot protected.
    #[cold]
    fn write_through<R>(
        &self,
        cell: PendingPtr,
        f: &mut impl FnMut(Option<Content>) -> (Change, R),
    ) -> (Action<Slot<K>>, Written<R>) {
        let Some(hold) = cell.get().hold() else {
            return (Action::Keep, Written::Sealed(cell));
        };
        let old = cell.get().before();
        let (change, result) = f(old);
        let now = match change {
            Change::Keep => return (Action::Keep, Written::Done(result)),
            Change::Put(content) => {
                self.count_new(old, content);
                Some(content)
            }
            Change::Remove => None,
        };
        // The slot gets the word that it has: a thread that has read it sees that something has changed.
        let same = Action::Put(Slot::pending(cell));
        match (cell.get().commit().terms(), now) {
            (Terms::Replace, _) => {
                self.put_below(cell, old, now, cell.get().after());
                (same, Written::Done(result))
            }
            (Terms::Add, _) => {
                let new = cell.get().after();
                let remade = self.with_records(now, cell.get().commit().records_of(cell.get()));
                self.put_below(cell, old, now, remade);
                match new {
                    Some(chain) => (same, Written::Remade(result, chain, old)),
                    None => (same, Written::Done(result)),
                }
            }
            (Terms::New, None) => (Action::Keep, Written::Done(result)),
            (Terms::New, Some(content)) => {
                hold.abort();
                let action = Action::Put(Slot::content(content));
                (action, Written::Displaced(result, cell))
            }
        }
    }

    /// Lets an undecided cell say that its key holds `now`, and `new` after the commit.
    fn put_below(
        &self,
        cell: PendingPtr,
        old: Option<Content>,
        now: Option<Content>,
        new: Option<Content>,
    ) {
        if let (Some(before), Some(after)) = (cell.get().after(), new) {
            let (before, after) = (self.gain(old, before), self.gain(now, after));
            let (objects, bytes) = (after.0 - before.0, after.1 - before.1);
            // The commit will bring back what the caller takes out: counted already.
            self.account(objects.max(0), 0);
            cell.get().commit().drift(objects, bytes);
        }
        cell.get().write_through(now, new);
    }

    /// Returns the content of a key of a bag with those records put in that it does not have.
    pub(crate) fn with_records(
        &self,
        old: Option<Content>,
        records: &[RecordPtr],
    ) -> Option<Content> {
        let add = |content, &record| match self.is_repeated(record, content) {
            true => content,
            false => Some(chain::push(record, content)),
        };
        records.iter().fold(old, add)
    }

    /// Returns by how many objects and bytes a key grows when `new` takes the place of `old`; in a bag `new` was made
    /// from `old`.
    pub(crate) fn gain(&self, old: Option<Content>, new: Content) -> (i64, i64) {
        let objects = new.count() as i64 - old.map_or(0, |c| c.count() as i64);
        let bytes = match old {
            Some(old) if !self.kind.is_bag() => new.size() as i64 - old.size() as i64,
            _ => chain::size_above(new, old) as i64,
        };
        (objects, bytes)
    }

    /// Retires the side of a decided cell that lost; the caller has taken the cell out of its slot.
    #[cold]
    pub(crate) fn retire_loser(&self, cell: PendingPtr, pin: &impl Guard) {
        let (old, new) = (cell.get().before(), cell.get().after());
        // SAFETY: OWNERSHIP: the cell owned both sides, the winner went to the slot, and the cell is taken out
        // of its slot once. In a bag what wins contains the old chain.
        unsafe {
            match (cell.get().state(), old, new) {
                (State::Committed, Some(old), _) if !self.kind.is_bag() && Some(old) != new => {
                    old.retire(pin);
                }
                (State::Aborted, _, Some(new)) => chain::retire_above(new, old, pin),
                _ => {}
            }
        }
    }

    /// Counts objects that are about to be put in the place of `old`: a count is never too low.
    #[inline]
    fn count_new(&self, old: Option<Content>, new: Content) {
        let more = new.count() as i64 - old.map_or(0, |old| old.count() as i64);
        self.account(more.max(0), 0);
    }

    /// Counts a change: objects and bytes more, or fewer. Objects that come are counted before they can be seen, those
    /// that go when they are gone.
    #[inline]
    pub(crate) fn account(&self, objects: i64, bytes: i64) {
        if bytes != 0 {
            self.bytes.add(bytes);
        }
        // True each time the stripe passes a multiple of the constant; once is what counts.
        if objects != 0 && self.objects.add(objects) % SPREAD_AFTER < objects.unsigned_abs() {
            self.objects.inflate();
            self.bytes.inflate();
        }
    }

    /// Returns the number of objects, exact with respect to finished operations; [`crate::Table::len`] gives the bound
    /// for others.
    ///
    /// The counters' sum was true at one moment, unless others write so fast that no two looks at the counters agree;
    /// then some of the inserts that overlap the call count although their deletion does not.
    pub(crate) fn len(&self) -> usize {
        let count = self
            .objects
            .try_exact(LOOKS)
            .unwrap_or_else(|| self.objects.sum());
        count.max(0) as usize
    }

    /// Returns the number of bytes allocated for objects, their keys and the index. O(1).
    pub(crate) fn memory(&self) -> usize {
        let counters = self.objects.memory() + self.bytes.memory();
        self.objects_memory() + self.index.memory() + counters + size_of::<Self>()
    }

    /// Returns the number of bytes allocated for objects and their keys, outside of the index. O(1).
    pub(crate) fn objects_memory(&self) -> usize {
        self.bytes.sum().max(0) as usize
    }
}

impl TableData<Exact, HashIndex<Slot<Exact>>> {
    /// Works as [`TableData::write`], for a key that is hashed and compared in a register.
    #[inline]
    pub(crate) fn write_short<R>(
        &self,
        key: ShortKey,
        pin: &impl Guard,
        mut f: impl FnMut(Option<Content>) -> (Change, R),
    ) -> R {
        let has_key = |slot: &Slot<Exact>| slot.has_short_key(key);
        loop {
            let apply = |slot| self.apply(slot, &mut f);
            let written = self.index.upsert_by(&key, has_key, pin, apply);
            if let Some(result) = self.finish(written, pin) {
                return result;
            }
        }
    }
}

/// An index behind a pointer, of tables without an order.
pub(crate) type PluggedHash = Plugged<dyn DynIndex<Slot<Exact>>>;

/// An index behind a pointer, of ordered sets.
pub(crate) type PluggedOrder = Plugged<dyn DynOrderedIndex<Slot<Order>>>;

/// A table's content, whichever index holds it. The two default indexes are compiled into every operation; all others
/// are behind a pointer.
pub(crate) enum AnyTableData {
    Hash(TableData<Exact, HashIndex<Slot<Exact>>>),
    Tree(TableData<Exact, Ordered<Slot<Exact>>>),
    OrderedSet(TableData<Order, Ordered<Slot<Order>>>),
    PluggedHash(TableData<Exact, PluggedHash>),
    PluggedOrder(TableData<Order, PluggedOrder>),
}

/// Runs an expression on the data, whatever its index.
macro_rules! with_data {
    ($any:expr, $data:ident => $result:expr) => {
        match $any {
            $crate::table_data::AnyTableData::Hash($data) => $result,
            $crate::table_data::AnyTableData::Tree($data) => $result,
            $crate::table_data::AnyTableData::OrderedSet($data) => $result,
            $crate::table_data::AnyTableData::PluggedHash($data) => $result,
            $crate::table_data::AnyTableData::PluggedOrder($data) => $result,
        }
    };
}
pub(crate) use with_data;

impl AnyTableData {
    /// Returns the number of objects: see [`TableData::len`].
    pub(crate) fn len(&self) -> usize {
        with_data!(self, data => data.len())
    }

    /// Returns whether the index is behind a pointer.
    #[inline]
    pub(crate) fn is_plugged(&self) -> bool {
        matches!(
            self,
            AnyTableData::PluggedHash(_) | AnyTableData::PluggedOrder(_)
        )
    }

    /// Returns what is known of an index from a library that has been found at fault.
    pub(crate) fn failed(&self) -> Option<&Status> {
        match self {
            AnyTableData::PluggedHash(data) => data.index.failed(),
            AnyTableData::PluggedOrder(data) => data.index.failed(),
            _ => None,
        }
    }

    /// Frees the content, and soon after the resources that its records held.
    pub(crate) fn free(self) {
        let bytes = with_data!(&self, data => data.memory());
        drop(self);
        reclaim::freed(bytes);
        // Once for all records: a flush for each would take as many barriers.
        if resource_ref::any() {
            reclaim::pin().flush_on_drop();
        }
    }
}

impl Retire for AnyTableData {
    unsafe fn reclaim(ptr: *mut AnyTableData) {
        // SAFETY: a data is made by `Box`, and reclaimed once.
        let data = unsafe { Box::from_raw(ptr) };
        if fork::is_child() {
            // Another thread may have been at work on it.
            return std::mem::forget(data);
        }
        // An arbitrary thread reclaims, and it may be in a hurry.
        match data.len() {
            0..LARGE => data.free(),
            // Ten million objects take seconds.
            _ => reclaim::later(move || data.free()),
        }
    }
}
