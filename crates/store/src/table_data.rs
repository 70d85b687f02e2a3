//! A table's content: an index and the counts that go with it.
//!
//! Writes go through [`crate::displaced`]; the operations themselves are in [`crate::ops`], written once over
//! [`Index`].

use std::sync::Arc;

use fyris_index::{Entry, HashIndex, Index, Ordered};
use fyris_sync::counter::Striped;
use fyris_sync::reclaim::{self, Guard, Retire};
use fyris_term::key::KeyBuf;

use crate::commits::{CommitLog, Commits};
use crate::error::Result;
use crate::fork;
use crate::ids::TableType;
#[cfg(feature = "indexes")]
use crate::indexes::{PluggedHash, PluggedOrder, unfailed};
use crate::key_kind::{Exact, KeyKind, Order};
use crate::resource_ref;
use crate::secondary::{Definition, Secondaries};
use crate::slot::{Content, Moment, Now, Slot};
use crate::version::LiveSnapshots;

/// Finished changes of one stripe after which a table's counters are spread out.
const SPREAD_AFTER: u64 = 512;

/// The number of times that the counters are read before a count that may include too much is taken for good.
const LOOKS: u32 = 100;

/// The number of objects from which on a content is freed in the background; freeing fewer takes less than about a
/// quarter of a millisecond.
const LARGE: usize = 4096;

/// A table's content; `delete_all_objects` puts a fresh one in its place.
pub(crate) struct TableData<K: KeyKind, I>
where
    Slot<K>: Entry<Key = K::Key>,
{
    pub(crate) index: I,
    pub(crate) kind: TableType,
    pub(crate) keypos: usize,
    objects: Striped,
    pub(crate) bytes: Striped,
    /// The snapshots of it.
    pub(crate) snapshots: LiveSnapshots,
    /// Of a table in the order of keys: deleted ones that snapshots see (BURIED in [`crate::version`]).
    pub(crate) graves: Option<Ordered<Slot<K>>>,
    pub(crate) secondaries: Secondaries,
    /// Behind the indexes, whose entries are disposed of first.
    pub(crate) commits: Commits,
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    pub(crate) fn new(index: I, kind: TableType, keypos: usize, log: &Arc<CommitLog>) -> Self {
        TableData {
            index,
            kind,
            keypos,
            objects: Striped::new(),
            bytes: Striped::new(),
            snapshots: LiveSnapshots::new(log),
            graves: K::ORDERED.then(Ordered::new),
            secondaries: Secondaries::new(&[]),
            commits: Commits::new(log),
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
        self.get_at(key, Now, pin)
    }

    /// Returns the content of the key at a moment; never waits.
    #[inline]
    pub(crate) fn get_at(
        &self,
        key: &K::Key,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Option<Content> {
        let buried = || moment.read(self.graves_at(moment)?.get(key, pin)?);
        let too_early = cfg!(fyris_mutant = "store_graves_first").then(buried);
        let found = self.index.get(key, pin).and_then(|slot| moment.read(slot));
        // After the index (BURIED).
        found.or_else(|| too_early.unwrap_or_else(buried))
    }

    /// Returns the graves that a reader looks at after the index; none for a reader of the present.
    #[inline]
    pub(crate) fn graves_at<M: Moment>(&self, _: M) -> Option<&Ordered<Slot<K>>> {
        self.graves.as_ref().filter(|_| M::PAST)
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
        self.objects_memory()
            + self.index.memory()
            + self.graves.as_ref().map_or(0, Index::memory)
            + self.secondaries.memory()
            + counters
            + size_of::<Self>()
    }

    /// Returns the number of bytes allocated for objects and their keys, outside of the index. O(1).
    pub(crate) fn objects_memory(&self) -> usize {
        self.bytes.sum().max(0) as usize
    }
}

/// A table's content, whichever index holds it. The two default indexes are compiled into every operation; all others
/// are behind a pointer.
pub(crate) enum AnyTableData {
    Hash(TableData<Exact, HashIndex<Slot<Exact>>>),
    OrderedSet(TableData<Order, Ordered<Slot<Order>>>),
    #[cfg(feature = "indexes")]
    Tree(TableData<Exact, Ordered<Slot<Exact>>>),
    #[cfg(feature = "indexes")]
    PluggedHash(TableData<Exact, PluggedHash>),
    #[cfg(feature = "indexes")]
    PluggedOrder(TableData<Order, PluggedOrder>),
}

/// Runs an expression on the data, whatever its index.
macro_rules! with_data {
    ($any:expr, $data:ident => $result:expr) => {
        match $any {
            $crate::table_data::AnyTableData::Hash($data) => $result,
            $crate::table_data::AnyTableData::OrderedSet($data) => $result,
            #[cfg(feature = "indexes")]
            $crate::table_data::AnyTableData::Tree($data) => $result,
            #[cfg(feature = "indexes")]
            $crate::table_data::AnyTableData::PluggedHash($data) => $result,
            #[cfg(feature = "indexes")]
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

    /// Returns the number of bytes allocated for it. O(1).
    pub(crate) fn memory(&self) -> usize {
        with_data!(self, data => data.memory())
    }

    /// Returns the log of the commits of its store.
    pub(crate) fn log(&self) -> &Arc<CommitLog> {
        with_data!(self, data => &data.commits.log)
    }

    /// Keeps secondary indexes from now on; nothing is in it yet.
    pub(crate) fn with_secondaries<'d>(
        mut self,
        definitions: impl IntoIterator<Item = &'d Arc<Definition>>,
    ) -> AnyTableData {
        let secondaries = Secondaries::new(definitions);
        with_data!(&mut self, data => data.secondaries = secondaries);
        self
    }

    /// Lets writes keep unique what is to be, or not: of a content that nobody else has.
    pub(crate) fn keep_unique(&mut self, keep: bool) {
        with_data!(self, data => data.secondaries.keep_unique(keep));
    }

    /// Returns the secondary indexes.
    pub(crate) fn secondaries(&self) -> &Secondaries {
        with_data!(self, data => &data.secondaries)
    }

    /// Returns the snapshots of it.
    pub(crate) fn snapshots(&self) -> &LiveSnapshots {
        with_data!(self, data => &data.snapshots)
    }

    /// Returns the bytes by which snapshots make it larger: what they retain, and where the deleted keys of that are.
    pub(crate) fn retained_bytes(&self) -> usize {
        let graves = with_data!(self, data => {
            let graves = data.graves.as_ref().filter(|graves| !graves.is_empty());
            graves.map_or(0, Index::memory)
        });
        self.snapshots().retained().1 + graves
    }

    /// Returns the content, or the error of every operation on an index of a library that has failed.
    #[inline]
    pub(crate) fn unfailed(&self) -> Result<&AnyTableData> {
        #[cfg(feature = "indexes")]
        if let AnyTableData::PluggedHash(_) | AnyTableData::PluggedOrder(_) = self {
            return unfailed(self);
        }
        Ok(self)
    }

    /// Frees the content, and soon after the resources that its records held.
    pub(crate) fn free(self) {
        let bytes = self.memory();
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
