//! A hash table of lists: [`Index`] over any [`Buckets`].

use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::ptr::NonNull;

use fyris_index::hash::{RandomState, spread};
use fyris_index::{Action, Batch, Build, Entry, Figures, Index, IndexOptions, Range};
use fyris_sync::counter::Striped;
use fyris_sync::reclaim::Guard;

use super::upsert::upsert;
use super::{Link, Node, Target, find, order_of};

/// Entries from which on they are counted in stripes.
const INFLATE: usize = 256;
/// Additions of a thread from one look at the number of buckets to the next, where there are many.
const EVERY: usize = 16;
/// Bytes that the allocator takes for a node.
const NODE_BYTES: usize = size_of::<Node>().next_multiple_of(16);

/// The places in lists to begin at. The number of a bucket is the top of a hash, so buckets are in the order of nodes.
pub trait Buckets: Send + Sync {
    /// Makes empty buckets for about `capacity` entries; the least number for 0.
    fn with_capacity(capacity: usize) -> Self;

    /// Returns the number of buckets, a power of two from 2 on.
    fn count(&self) -> usize;

    /// Returns the number of bytes on the heap.
    fn memory(&self) -> usize;

    /// Returns a link before all nodes of an order in its list. Changes nothing.
    fn before(&self, order: u64) -> &Link;

    /// Returns a link before all nodes of an order in its list, to a writer, and may prepare a bucket for later
    /// operations.
    fn before_write(&self, order: u64, _pin: &impl Guard) -> &Link {
        self.before(order)
    }

    /// Returns the least order of the list behind the one that has this order; `None` after the last list.
    fn next_list(&self, order: u64) -> Option<u64>;

    /// Adds buckets if there are too few for `entries` entries, about `added` of which are new since the last call.
    fn grow(&self, _entries: usize, _added: usize, _pin: &impl Guard) {}
}

/// A concurrent hash index of entries `E` in lists that begin in buckets `B`. See the [module](super).
pub struct ListTable<E: Entry, B: Buckets, S = RandomState> {
    pub(super) buckets: B,
    hasher: S,
    entries: Striped,
    /// Invariant: threads that share the index may put entries in that others take out.
    entry: PhantomData<fn(E) -> E>,
}

// SAFETY: the index hands out and takes in entries from any thread; entries are handles of immutable things. Whether
// those may cross threads is what the bound says.
unsafe impl<E: Entry + Send + Sync, B: Buckets, S: Send> Send for ListTable<E, B, S> {}
// SAFETY: as above; all shared state is atomic.
unsafe impl<E: Entry + Send + Sync, B: Buckets, S: Sync> Sync for ListTable<E, B, S> {}

impl<E: Entry, B: Buckets, S: Default> Default for ListTable<E, B, S> {
    fn default() -> Self {
        Self::with_capacity_and_hasher(0, S::default())
    }
}

impl<E: Entry, B: Buckets, S: Default> Build for ListTable<E, B, S> {
    fn build(options: &IndexOptions) -> Self {
        Self::with_capacity_and_hasher(options.capacity, S::default())
    }
}

impl<E: Entry, B: Buckets, S> ListTable<E, B, S> {
    /// Makes an empty index with buckets for `capacity` entries and this hasher.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        let entries = Striped::new();
        if capacity >= INFLATE {
            entries.inflate();
        }
        Self {
            buckets: B::with_capacity(capacity),
            hasher,
            entries,
            entry: PhantomData,
        }
    }

    /// Returns the number of entries; exact while no thread writes.
    pub(super) fn count(&self) -> usize {
        usize::try_from(self.entries.sum()).unwrap_or(0)
    }

    /// Counts an entry more or less, and looks now and then whether there are enough buckets.
    #[inline]
    fn account(&self, change: i64, pin: &impl Guard) {
        if change == 0 {
            return;
        }
        let nth = self.entries.add(change);
        let every = self.buckets.count().div_ceil(4).min(EVERY);
        if change > 0 && nth.is_multiple_of(every as u64) {
            let count = self.count();
            if count >= INFLATE {
                self.entries.inflate();
            }
            self.buckets.grow(count, every, pin);
        }
    }
}

impl<E: Entry, B: Buckets, S: BuildHasher> ListTable<E, B, S>
where
    E::Key: Hash,
{
    #[inline]
    pub(super) fn order(&self, key: &E::Key) -> u64 {
        order_of(spread(self.hasher.hash_one(key)))
    }
}

/// Reads take no lock and write nothing; a writer locks the entry it changes. See the [module](super).
impl<E: Entry + Send + Sync, B: Buckets, S: BuildHasher + Send + Sync> Index<E>
    for ListTable<E, B, S>
where
    E::Key: Hash + Eq + Ord,
{
    #[inline]
    fn get(&self, key: &E::Key, _: &impl Guard) -> Option<E> {
        let order = self.order(key);
        find(self.buckets.before(order), order, |e: &E| e.has_key(key))
    }

    #[inline]
    fn upsert<R>(
        &self,
        key: &E::Key,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        let order = self.order(key);
        let start = self.buckets.before_write(order, pin);
        let (result, change) = upsert(start, order, |e: &E| e.has_key(key), pin, f);
        self.account(change, pin);
        result
    }

    fn scan(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        self.scan_range(range, want, out)
    }

    fn len(&self) -> usize {
        self.count()
    }

    fn describe(&self, _: &impl Guard) -> Figures {
        Figures::new().count("buckets", self.slots() as u64)
    }

    fn memory(&self) -> usize {
        size_of::<Self>()
            + self.buckets.memory()
            + self.entries.memory()
            + self.count() * NODE_BYTES
    }

    fn prefetch_write(&self, key: &E::Key, _: &impl Guard) {
        fyris_index::prefetch::write(self.buckets.before(self.order(key)));
    }

    fn prefetch_read(&self, key: &E::Key, _: &impl Guard) {
        fyris_index::prefetch::read(self.buckets.before(self.order(key)));
    }

    fn split(&self, parts: usize, _: &impl Guard, out: &mut Batch<E>) {
        self.split_orders(parts, out);
    }

    fn slots(&self) -> usize {
        self.buckets.count()
    }

    fn slot(&self, slot: usize, _: &impl Guard, out: &mut Batch<E>) {
        let buckets = self.buckets.count();
        if slot < buckets {
            let shift = 64 - buckets.ilog2();
            let first = (slot as u64) << shift;
            let last = first | ((1 << shift) - 1);
            self.scan_orders(first..=last, |_, _| true, usize::MAX, out);
        }
    }
}

impl<E: Entry, B: Buckets, S> Drop for ListTable<E, B, S> {
    fn drop(&mut self) {
        let mut list = Some(0);
        while let Some(order) = list {
            // SAFETY: no other thread can reach the index, and each list is met once.
            unsafe { dispose::<E>(self.buckets.before(order).load()) };
            list = self.buckets.next_list(order);
        }
    }
}

/// Disposes of the entries of a list from `target` on, and frees its nodes.
///
/// # Safety
///
/// No other thread can reach the list, and it is done once.
unsafe fn dispose<E: Entry>(mut target: Target) {
    // SAFETY: as the caller promises; a node is freed when its link has been read.
    while let Some(head) = unsafe { target.head() } {
        target = head.next.load();
        if let Some(node) = head.node() {
            if let Some(entry) = node.entry::<E>() {
                // SAFETY: an entry in the index, which is being dropped; each is met once.
                unsafe { entry.dispose() };
            }
            // SAFETY: from `placeholder`; a node in the list has not been retired.
            unsafe { Node::free(NonNull::from(node)) };
        }
    }
}
