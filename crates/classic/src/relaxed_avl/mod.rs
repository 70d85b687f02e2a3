//! `relaxed_avl`: a binary search tree whose readers write nothing and check versions instead, and whose writers put
//! its balance right after their changes.
//!
//! This is the tree of Bronson, Casper, Chafi and Olukotun ("A Practical Concurrent Binary Search Tree", PPoPP 2010),
//! which the 2013 paper on the scalability of ETS looks at for `ordered_set` (section 4.2.2). The heights of the
//! children of a node differ by one at most while no thread writes, as in an AVL tree; while threads write this is
//! *relaxed*: a writer links its node first and rotates afterwards.
//!
//! # Invariants
//!
//! The keys between the two nodes that surround a subtree *belong* to its root: a search for them goes there. A node
//! *shrinks* when some of these keys come to belong to another node, by a rotation that makes it a child of its child,
//! or by a removal. A node is *dead* when its entry has been taken out, *unlinked* when no link leads to it.
//!
//! * **MARKED_FIRST**: a node is marked as shrinking, or as unlinked, in its version before the first link changes. The
//!   mark is there until the last one has changed, and leaves another version behind. So a node whose version is what
//!   it was has not lost a key in between.
//! * **HAND_OVER_HAND**: a descent goes on to a child with a version that the child had while it was linked and its
//!   parent had not shrunk. So the key belonged to the child at that moment, and does as long as that is its version.
//! * **DOWNWARDS**: a thread that has a lock waits only for the child of a node that it has locked. Links that lead to
//!   nodes that are waited for do not change, so no threads wait for each other in a circle.
//! * A node is for one key from its making to its end. As in `skip_list`, it has an entry of its key at all times, dead
//!   or alive, so that a search can compare the key (NEVER_EMPTY).
//! * **REPAIRED**: a thread that has changed links of a node looks at its shape when it has unlocked it, and one that
//!   has changed its height looks at the parent that the node has then. Of two threads one sees what the other has
//!   changed (VISIBLE). So what one of them leaves in a wrong shape the other repairs before its operation ends.
//! * **FROZEN_SHARED**: a node that is marked as shared, and what is below it, does not change. A writer that comes by
//!   it puts a copy into its place, whose children it marks as shared before. A snapshot is pinned since before its
//!   root was marked, so what it leads to stays allocated.
//!
//! # Reading
//!
//! A link that a reader meets led to a node that was in the tree at a moment of the operation. If that has the key, its
//! entry is the answer: it is what the key had then, or later. If the descent ends where there is no child, the node
//! above was still what it was, so the key belonged there and was absent. Where a version or a link has changed, the
//! descent begins anew.
//!
//! A walk remembers the nodes to come that it has passed on its way down, with their versions; where it cannot go on
//! from one of them, it finds the place behind it from the root.
//!
//! # Writing
//!
//! A writer finds its key like a reader. If it is there, its node is locked, which protects the slot while the closure
//! runs. If it is absent, the node above the gap is locked and looked at again: as long as it is locked it does not
//! shrink, so the absence is protected too. A new node is one link, the linearization point.
//!
//! A removal marks the entry as dead under the node's lock, the linearization point. Then the node is taken out, with
//! its parent locked. If it has one child or none, that takes its place. If it has two, the next node in the order of
//! keys does: all nodes on the way there are locked; a twin of that one, with its entry, is put where the dead one was.
//! The nodes on the way shrink, since the keys between the two belong to the other side of the twin. If that next node
//! is dead itself, it is taken out first, and the thread that has killed it finds it gone.
//!
//! Rotations are those of the paper: a node that is tilted sinks, its higher child or that one's inner child rises.
//! Children are put right before their parents. Keys are compared during descents alone, so a comparison that panics
//! leaves nothing locked or half done.
//!
//! # Snapshots
//!
//! Of a `RelaxedAvl<E, true>` a [snapshot](RelaxedAvl::snapshot) can be taken, the paper's fast clone, for reading. It
//! waits until no writer is at work (QUIET), marks the root as shared and lets the writers in again: O(1). From then on
//! a writer copies the shared nodes on its way down (FROZEN_SHARED), each once after each snapshot, and never those
//! that it does not come by. A reader of the tree that is at a shared node when a copy takes its place goes on below it
//! as the tree was at that moment.
//!
//! What it costs: a writer of such a tree says in a word of its thread when it begins and ends, two stores (two atomic
//! additions to a common word where the thread is in a [section] already); after a snapshot it copies 48 bytes for each
//! node that it comes by first. The snapshot is a pin: what is taken out while it lives is not freed before its end. A
//! tree without snapshots pays for none of this, but for testing a bit of each version.
//!
//! [section]: fyris_sync::reclaim::Sections
//!
//! # Differences from the paper
//!
//! There the node of a removed key may stay as a routing node, so that removals shrink no node; here it goes, since its
//! key belongs to the owner of the entry. There a reader that is overtaken tries again from the parent, here from the
//! root. There a thread that rotates decides by the heights it has read before; here it looks at the nodes again
//! (REPAIRED), so that no change of a height beside it is lost. There a clone can be written to; here it is for
//! reading.
//!
//! # Progress and consistency
//!
//! `get`, `seek` and scans take no lock and write nothing. They wait while a node on their way is being rotated or
//! taken out, and repeat what such a change has overtaken. `upsert` waits for writers of the same key, or of the node
//! above the gap, for the length of a closure at most, and for changes of links. `get` and `upsert` are linearizable.
//! `seek` and `seek_back` return an entry that was there at a moment of the call, such that none that is there
//! throughout the call lies between it and the bound.
//!
//! # Complexity
//!
//! For n entries: O(log n) for what names a key, and n steps for a scan of n entries, in either direction.
//! `estimated_rank` takes O(log n), and tells the rank from the heights on the way, `split` looks at some 64 nodes a
//! part. `memory` and `len` are O(stripes). A comparison reads the node's key prefix; only where that does not decide
//! it follows the entry to its key.
//!
//! # Sizes
//!
//! A node is 48 bytes: version, key prefix, two links, the word of its entry, and the link to its parent. Nodes that
//! snapshots alone have are not counted in `memory`.

mod find;
mod node;
mod repair;
mod snapshot;
#[cfg(all(test, not(any(loom, shuttle))))]
mod snapshot_tests;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod walk;
mod write;

use std::marker::PhantomData;
use std::ops::Bound;

use fyris_sync::counter::Striped;
use fyris_sync::reclaim::Guard;

use self::find::find;
use self::node::{AvlNodeRef, HIGH, LOW};
use self::snapshot::Gate;
pub use self::snapshot::Snapshot;
use fyris_index::key::TreeKey;
use fyris_index::plug::{DynOrderedIndex, Features, IndexFactory, PlugEntry};
use fyris_index::{Action, Batch, Build, Entry, Figures, Index, IndexOptions, OrderedIndex, Range};

use crate::place::{ByKey, Cut};

use self::walk::Walk;

/// Entries from which on they are counted in stripes.
const INFLATE: usize = 256;

/// Additions of a thread from one look at the number of entries to the next.
const EVERY: u64 = 16;

/// A relaxed AVL tree of entries `E`, of which snapshots can be taken if `SNAPSHOTS`. See the [module](self).
pub struct RelaxedAvl<E: Entry, const SNAPSHOTS: bool = false> {
    /// A node whose higher child is the root, and which lives as long as the index.
    holder: AvlNodeRef<'static>,
    entries: Striped,
    /// Open to writers but while a snapshot is taken.
    gate: Gate,
    /// Invariant: threads that share the index may put entries in that others take out.
    entry: PhantomData<fn(E) -> E>,
}

// SAFETY: the index hands out and takes in entries from any thread; entries are handles of immutable things. Whether
// those may cross threads is what the bound says.
unsafe impl<E: Entry + Send + Sync, const SNAPSHOTS: bool> Send for RelaxedAvl<E, SNAPSHOTS> {}
// SAFETY: as above; all shared state is atomic.
unsafe impl<E: Entry + Send + Sync, const SNAPSHOTS: bool> Sync for RelaxedAvl<E, SNAPSHOTS> {}

impl<E: Entry, const SNAPSHOTS: bool> Default for RelaxedAvl<E, SNAPSHOTS> {
    fn default() -> Self {
        Self {
            holder: AvlNodeRef::holder(),
            entries: Striped::new(),
            gate: Gate::default(),
            entry: PhantomData,
        }
    }
}

impl<E: Entry, const SNAPSHOTS: bool> Build for RelaxedAvl<E, SNAPSHOTS> {
    fn build(_: &IndexOptions) -> Self {
        Self::default()
    }
}

impl<E: Entry, const SNAPSHOTS: bool> RelaxedAvl<E, SNAPSHOTS> {
    #[inline]
    fn holder(&self) -> AvlNodeRef<'_> {
        self.holder
    }

    /// Returns the number of entries; exact while no thread writes.
    fn count(&self) -> usize {
        usize::try_from(self.entries.sum()).unwrap_or(0)
    }

    /// Counts a new entry.
    #[inline]
    fn count_new(&self) {
        let nth = self.entries.add(1);
        let is_small = || self.entries.memory() == 0;
        if nth.is_multiple_of(EVERY) && is_small() && self.count() >= INFLATE {
            self.entries.inflate();
        }
    }
}

impl<E: Entry, const SNAPSHOTS: bool> Drop for RelaxedAvl<E, SNAPSHOTS> {
    fn drop(&mut self) {
        let mut nodes = vec![self.holder];
        while let Some(node) = nodes.pop() {
            nodes.extend([LOW, HIGH].iter().filter_map(|side| node.child(*side)));
            if node != self.holder
                && let Some(entry) = node.entry::<E>()
            {
                // SAFETY: no other thread can reach the index; each entry in it is met once.
                unsafe { entry.dispose() };
            }
            // SAFETY: as above; a node that is in the tree has not been retired.
            unsafe { node.free() };
        }
    }
}

impl<E: Entry + Send + Sync, const SNAPSHOTS: bool> Index<E> for RelaxedAvl<E, SNAPSHOTS>
where
    E::Key: TreeKey,
{
    #[inline]
    fn get(&self, key: &E::Key, _: &impl Guard) -> Option<E> {
        find::<E>(self.holder(), &ByKey::new(key)).ok()?.entry()
    }

    #[inline]
    fn upsert<R>(
        &self,
        key: &E::Key,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        if SNAPSHOTS {
            let local = fyris_sync::reclaim::pin();
            let _writer = self.gate.enter(&local);
            return self.change(key, pin, f);
        }
        self.change(key, pin, f)
    }

    fn scan(
        &self,
        (from, to): Range<'_, E::Key>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        let walk = Walk::<false>::new::<E>(self.holder(), &Cut::begin(from));
        walk.append(&Cut::end(to), want, out)
    }

    fn next_entry(&self, after: Option<&E::Key>, pin: &impl Guard) -> Option<E> {
        self.seek(after.map_or(Bound::Unbounded, Bound::Excluded), pin)
    }

    fn len(&self) -> usize {
        self.count()
    }

    fn describe(&self, _: &impl Guard) -> Figures {
        let root = self.holder().child(HIGH);
        Figures::new().count("depth", root.map_or(0, AvlNodeRef::height).into())
    }

    fn memory(&self) -> usize {
        let nodes = (1 + self.count()) * AvlNodeRef::BYTES;
        size_of::<Self>() + self.entries.memory() + nodes
    }

    fn split(&self, parts: usize, _: &impl Guard, out: &mut Batch<E>) {
        walk::cut(self.holder(), parts, out);
    }
}

impl<E: Entry + Send + Sync, const SNAPSHOTS: bool> OrderedIndex<E> for RelaxedAvl<E, SNAPSHOTS>
where
    E::Key: TreeKey,
{
    fn seek(&self, from: Bound<&E::Key>, _: &impl Guard) -> Option<E> {
        Walk::<false>::new::<E>(self.holder(), &Cut::begin(from)).next_entry()
    }

    fn seek_back(&self, from: Bound<&E::Key>, _: &impl Guard) -> Option<E> {
        Walk::<true>::new::<E>(self.holder(), &Cut::end(from)).next_entry()
    }

    fn scan_back(
        &self,
        (from, to): Range<'_, E::Key>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        let walk = Walk::<true>::new::<E>(self.holder(), &Cut::end(to));
        walk.append(&Cut::begin(from), want, out)
    }

    fn estimated_rank(&self, bound: Bound<&E::Key>, _: &impl Guard) -> f64 {
        walk::rank::<E>(self.holder(), &Cut::begin(bound))
    }
}

/// Makes [`RelaxedAvl`] indexes: `{index, relaxed_avl}`.
pub struct RelaxedAvlTrees;

// SAFETY: an entry is found only in a node that is in the tree, or was during the operation, for its own key, and is
// out of the index before its owner has it (NEVER_EMPTY); the index disposes of those that are in it when it is
// dropped.
unsafe impl IndexFactory for RelaxedAvlTrees {
    fn features(&self) -> Features {
        Features::ALL.without_lock_options()
    }

    fn build_ordered<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynOrderedIndex<E>>> {
        Some(Box::new(RelaxedAvl::<E>::default()))
    }
}
