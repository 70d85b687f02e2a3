//! `skip_list`: an ordered list with shortcuts, whose readers never wait and whose writers lock the nodes that they
//! change.
//!
//! This is the optimistic skip list of Herlihy, Lev, Luchangco and Shavit ("A Simple Optimistic Skiplist Algorithm"),
//! which the 2013 paper on the scalability of ETS looks at for `ordered_set` (sections 4.2.2 and 6.2.1). All nodes are
//! in one list in the order of keys, the lowest level. Half of them are in a second list too, half of these in a third,
//! and so on: a lookup goes along the highest list as far as nodes are before its key, then goes on from there in the
//! next lower one.
//!
//! # Invariants
//!
//! A node is *alive* from its making until its entry is taken out, then it is *dead*. It is in the index while it is in
//! the lowest level.
//!
//! * **TOP_DOWN**: a node is put into its levels from the lowest up and taken out of them from the highest down, so a
//!   node that is in a level is in all lower ones.
//! * **LINKED**: the link of a node changes under the lock of the node, while the node is alive. So the links of a dead
//!   node do not change, and a node that is alive is in the levels in which it was met.
//! * **ALL_LEVELS**: a new node is locked until it is in all its levels. So what is locked or dead later is in all of
//!   them.
//! * **DESCENDING**: a thread that has a lock, or has killed a node, waits only for nodes before that one. So no
//!   threads wait for each other in a circle.
//! * **NEVER_EMPTY**: the owner of an entry that was taken out gets it when its node has another entry, or when no link
//!   leads to the node any more. So a node has an entry of its key at all times, and a lookup can compare the key of a
//!   dead one.
//!
//! # Reading
//!
//! A reader goes from node to node, dead ones too, and never back. Each node that it meets on a level was in that level
//! at a moment of the operation, because the link to it is that of such a node. If that node is in the level now, so is
//! the next one; if it has been unlinked since, its link is as it was then (LINKED), and the next one took its place.
//! The same holds one level below (TOP_DOWN). So between two neighbours that a reader meets there was no node at some
//! moment of the operation: a key that it does not find was absent then, and a node that is in the index throughout is
//! met, once. A dead node that it finds under its key was in the index at some moment of the operation, so it was there
//! dead, and the key absent, or it died during the operation.
//!
//! # Writing
//!
//! A writer finds its key like a reader. If it is there, its node is locked, which protects the slot while the closure
//! runs; a new entry is one store to the node's word. If it is absent, the node before its place is locked, and the key
//! is absent as long as that node is alive and leads past the place, which is looked at again under the lock: so the
//! absence is protected too, and an upsert that puts nothing in changes nothing. A new node is linked at the lowest
//! level under that lock, the linearization point, then at each further level under the lock of the node before it
//! there. A removal marks the node dead under the node's lock, the linearization point, then unlinks it from its
//! levels. A writer that meets a dead node where it is to lock one waits until it has been taken out.
//!
//! # Differences from the paper
//!
//! There a writer locks all nodes before the place, on all levels, then validates and changes them; here one level
//! after another, since a reader needs no level but the lowest to be right. There a flag says that a node is in all its
//! levels; here its lock does.
//!
//! # Progress and consistency
//!
//! `get` is wait-free but for nodes that others put in on its way; it takes no lock, writes nothing and repeats
//! nothing, and so do `seek` and scans. `upsert` waits for writers of the same key, and of the nodes before it on each
//! of its levels, which may be far away and may wait in turn for those before them: each for the length of a closure at
//! most or until a node has been put in or taken out. `get` and `upsert` are linearizable. `seek` and `seek_back`
//! return an entry that was there at a moment of the call, such that none that is there throughout the call lies
//! between it and the bound.
//!
//! # Complexity
//!
//! Expected, for n entries: O(log n) for what names a key; a scan adds what it appends. There are no links back: a scan
//! downwards walks upwards from a node about as many entries below as are wanted, turns that run round, and goes on
//! with the next one, which takes O(log n) a run; `seek_back` is such a scan of one entry, O(log n). `split` walks
//! along a level of some 64 nodes a part, `estimated_rank` along one of some 256 nodes, which is wrong by 3 % of the
//! entries or so. `memory` and `len` are O(stripes).
//!
//! A comparison reads the node's key prefix; only where that does not decide it follows the entry to its key.
//!
//! # Sizes
//!
//! A node is 16 bytes, the word of its entry and the key prefix, and 8 for each of its levels, two on average. The
//! allocator gives 32 bytes to a node of one or two levels, 48 to one of three or four: 37 bytes an entry.

mod find;
mod node;
mod scan;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod write;

use std::hash::BuildHasher;
use std::marker::PhantomData;
use std::ops::Bound;

use fyris_index::hash::RandomState;
use fyris_index::key::TreeKey;
use fyris_index::plug::{DynOrderedIndex, Features, IndexFactory, PlugEntry};
use fyris_index::{Action, Batch, Build, Entry, Figures, Index, IndexOptions, OrderedIndex, Range};
use fyris_sync::atomic::{AtomicUsize, Ordering};
use fyris_sync::counter::Striped;
use fyris_sync::reclaim::Guard;

use crate::place::{ByKey, Place};

use self::find::descend;
use self::node::SkipNodeRef;

/// The most levels that a node is in: enough for a thousand million entries.
const HEIGHT: usize = if cfg!(fyris_small) { 6 } else { 28 };

/// Nodes of a level, on average, for each node of the next higher one.
const BRANCHING: usize = 2;

/// Entries from which on they are counted in stripes.
const INFLATE: usize = 256;

/// Additions of a thread from one look at the number of entries to the next.
const EVERY: u64 = 16;

/// A skip list of entries `E`, whose heights are drawn by the hasher `S`. See the [module](self).
pub struct SkipList<E: Entry, S = RandomState> {
    /// A node before all keys, with links on all levels, which lives as long as the index.
    head: SkipNodeRef<'static>,
    /// Levels that lookups begin with; the higher ones may be empty.
    levels: AtomicUsize,
    heights: S,
    entries: Striped,
    bytes: Striped,
    /// Invariant: threads that share the index may put entries in that others take out.
    entry: PhantomData<fn(E) -> E>,
}

// SAFETY: the index hands out and takes in entries from any thread; entries are handles of immutable things. Whether
// those may cross threads is what the bound says.
unsafe impl<E: Entry + Send + Sync, S: Send> Send for SkipList<E, S> {}
// SAFETY: as above; all shared state is atomic.
unsafe impl<E: Entry + Send + Sync, S: Sync> Sync for SkipList<E, S> {}

impl<E: Entry, S: Default> Default for SkipList<E, S> {
    fn default() -> Self {
        Self {
            head: SkipNodeRef::head(HEIGHT),
            levels: AtomicUsize::new(1),
            heights: S::default(),
            entries: Striped::new(),
            bytes: Striped::new(),
            entry: PhantomData,
        }
    }
}

impl<E: Entry, S: Default> Build for SkipList<E, S> {
    fn build(_: &IndexOptions) -> Self {
        Self::default()
    }
}

impl<E: Entry, S> SkipList<E, S> {
    #[inline]
    fn head(&self) -> SkipNodeRef<'_> {
        self.head
    }

    #[inline]
    fn levels(&self) -> usize {
        // Relaxed: a lookup that begins lower than it could finds the same.
        self.levels.load(Ordering::Relaxed)
    }

    /// Makes lookups begin at the levels of a node of this height.
    #[inline]
    fn raise(&self, height: usize) {
        if height > self.levels() {
            // Relaxed: as in `levels`.
            self.levels.fetch_max(height, Ordering::Relaxed);
        }
    }

    /// Goes down from the head to level `bottom`, as far right before the place on each level as it can (see
    /// [`descend`]). The caller is pinned.
    #[inline]
    fn descend<'g>(
        &'g self,
        bottom: usize,
        place: &impl Place<E>,
        note: impl FnMut(usize, SkipNodeRef<'g>),
    ) -> (SkipNodeRef<'g>, Option<SkipNodeRef<'g>>) {
        descend(self.head(), self.levels(), bottom, place, note)
    }

    /// Returns the number of entries; exact while no thread writes.
    fn count(&self) -> usize {
        usize::try_from(self.entries.sum()).unwrap_or(0)
    }
}

impl<E: Entry, S: BuildHasher> SkipList<E, S> {
    /// Counts a new entry, and draws the height of its node.
    #[inline]
    fn count_new(&self, prefix: u64) -> usize {
        let nth = self.entries.add(1);
        let is_small = || self.entries.memory() == 0;
        if nth.is_multiple_of(EVERY) && is_small() && self.count() >= INFLATE {
            self.entries.inflate();
            self.bytes.inflate();
        }
        let drawn = self.heights.hash_one((nth, prefix));
        1 + (drawn.trailing_zeros() / BRANCHING.ilog2()).min(HEIGHT as u32 - 1) as usize
    }
}

impl<E: Entry, S> Drop for SkipList<E, S> {
    fn drop(&mut self) {
        let mut next = self.head.next(0);
        while let Some(node) = next {
            next = node.next(0);
            if let Some(entry) = node.entry::<E>() {
                // SAFETY: no other thread can reach the index; each entry in it is met once.
                unsafe { entry.dispose() };
            }
            // SAFETY: as above; a node that is in the list has not been retired.
            unsafe { node.free() };
        }
        // SAFETY: as above.
        unsafe { self.head.free() };
    }
}

impl<E: Entry, S: BuildHasher + Send + Sync> Index<E> for SkipList<E, S>
where
    E: Send + Sync,
    E::Key: TreeKey,
{
    #[inline]
    fn get(&self, key: &E::Key, _: &impl Guard) -> Option<E> {
        let (_, found) = self.descend(0, &ByKey::new(key), |_, _| ());
        found?.entry()
    }

    #[inline]
    fn upsert<R>(
        &self,
        key: &E::Key,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        self.change(key, pin, f)
    }

    fn scan(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        self.scan_up(range, want, out)
    }

    fn next_entry(&self, after: Option<&E::Key>, pin: &impl Guard) -> Option<E> {
        self.seek(after.map_or(Bound::Unbounded, Bound::Excluded), pin)
    }

    fn len(&self) -> usize {
        self.count()
    }

    fn describe(&self, _: &impl Guard) -> Figures {
        Figures::new().count("levels", self.levels() as u64)
    }

    fn memory(&self) -> usize {
        let nodes = usize::try_from(self.bytes.sum()).unwrap_or(0);
        let counters = self.entries.memory() + self.bytes.memory();
        size_of::<Self>() + self.head().bytes() + counters + nodes
    }

    fn split(&self, parts: usize, _: &impl Guard, out: &mut Batch<E>) {
        self.cut(parts, out);
    }
}

impl<E: Entry, S: BuildHasher + Send + Sync> OrderedIndex<E> for SkipList<E, S>
where
    E: Send + Sync,
    E::Key: TreeKey,
{
    fn seek(&self, from: Bound<&E::Key>, _: &impl Guard) -> Option<E> {
        self.first_behind(from)
    }

    fn seek_back(&self, from: Bound<&E::Key>, pin: &impl Guard) -> Option<E> {
        let mut batch = Batch::new();
        self.scan_back((Bound::Unbounded, from), 1, pin, &mut batch);
        batch.pop()
    }

    fn scan_back(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        self.scan_down(range, want, out)
    }

    fn estimated_rank(&self, bound: Bound<&E::Key>, _: &impl Guard) -> f64 {
        self.rank(bound)
    }
}

/// Makes [`SkipList`] indexes: `{index, skip_list}`.
pub struct SkipLists;

// SAFETY: an entry is found only in a node that is alive, or was during the operation, for its own key, and is out of
// the index before its owner has it (NEVER_EMPTY); the index disposes of those that are in it when it is dropped.
unsafe impl IndexFactory for SkipLists {
    fn features(&self) -> Features {
        Features::ALL.without_lock_options()
    }

    fn build_ordered<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynOrderedIndex<E>>> {
        Some(Box::new(SkipList::<E>::default()))
    }
}
