//! `avl`, `treap` and `btree`: a sequential tree under one reader-writer lock.
//!
//! This is how ETS keeps an `ordered_set` without `write_concurrency`, an AVL tree under the table's lock
//! (Klaftenegger, Sagonas and Winblad, "On the Scalability of the Erlang Term Storage", 2013, sections 2 and 3.3), and
//! what the papers compare their trees with. It is also the plainest example of what it takes to plug an index in: the
//! required methods of [`Index`] and [`OrderedIndex`], and an [`IndexFactory`]. All the rest are defaults.
//!
//! The tree is any [`SequentialTree`], the lock that of ERTS ([`fyris_sync::lock::rw`]).
//!
//! # Options
//!
//! As Table 1 of the paper (section 5.2.1) has them: the lock is normal, or has reader groups for `read_concurrency`,
//! as many as `reader_groups` says. There is no use for the others: entries are counted under the lock.
//!
//! # Progress
//!
//! Readers share the lock, a writer has it alone while its closure runs. Nothing is lock-free. A scan holds the lock
//! while it appends, so what one call appends was there at one moment. All operations are linearizable.
//!
//! # Complexity
//!
//! O(log n) for what names a key, and O(1) for the sizes; a scan adds what it appends, and `slot` takes O(slot).

use std::marker::PhantomData;
use std::ops::Bound;

use fyris_index::plug::{DynOrderedIndex, Features, IndexFactory, PlugEntry};
use fyris_index::table_lock::{LockKind, TableLock};
use fyris_index::{Action, Batch, Build, Figures, Index, IndexOptions, OrderedIndex, Range};
use fyris_sync::reclaim::Guard;

use crate::sequential::{Balance, KeyOf, SearchTree, SequentialTree};

/// A tree under one lock. See the [module](self).
pub struct Locked<T>(TableLock<Content<T>>);

/// What the lock protects.
#[derive(Default)]
struct Content<T> {
    tree: T,
    len: usize,
}

impl<T: Default> Default for Locked<T> {
    fn default() -> Self {
        Self::build(&IndexOptions::default())
    }
}

impl<T: Default> Build for Locked<T> {
    fn build(options: &IndexOptions) -> Self {
        let kind = LockKind::new(options.read_concurrency, options);
        Self(TableLock::new(kind, Content::default()))
    }
}

impl<T> Index<T::Entry> for Locked<T>
where
    T: SequentialTree + Send + Sync,
{
    #[inline]
    fn get(&self, key: &KeyOf<T>, _: &impl Guard) -> Option<T::Entry> {
        self.0.read().tree.get(key)
    }

    #[inline]
    fn upsert<R>(
        &self,
        key: &KeyOf<T>,
        _: &impl Guard,
        f: impl FnOnce(Option<T::Entry>) -> (Action<T::Entry>, R),
    ) -> R {
        let mut content = self.0.write();
        let (out, change) = content.tree.upsert(key, f);
        content.len = content.len.wrapping_add_signed(change as isize);
        out
    }

    fn scan(
        &self,
        range: Range<'_, KeyOf<T>>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<T::Entry>,
    ) -> bool {
        self.0.read().tree.scan(range, want, out)
    }

    fn next_entry(&self, after: Option<&KeyOf<T>>, pin: &impl Guard) -> Option<T::Entry> {
        self.seek(after.map_or(Bound::Unbounded, Bound::Excluded), pin)
    }

    fn describe(&self, _: &impl Guard) -> Figures {
        let depth = self.0.read().tree.depth();
        Figures::new().table_lock(&self.0).known("depth", depth)
    }

    fn len(&self) -> usize {
        self.0.read().len
    }

    fn split(&self, parts: usize, _: &impl Guard, out: &mut Batch<T::Entry>) {
        let content = self.0.read();
        if T::COUNTS && content.len > parts {
            let cuts = 1..parts;
            out.extend(cuts.filter_map(|cut| content.tree.nth(cut * content.len / parts)));
        }
    }

    fn slot(&self, slot: usize, _: &impl Guard, out: &mut Batch<T::Entry>) {
        let content = self.0.read();
        if T::COUNTS {
            out.extend(content.tree.nth(slot));
            return;
        }
        let mut before = Batch::new();
        let all = (Bound::Unbounded, Bound::Unbounded);
        content.tree.scan(all, slot + 1, &mut before);
        out.extend(before.get(slot));
    }

    fn memory(&self) -> usize {
        let content = self.0.read();
        let nodes = content.tree.memory(content.len);
        size_of::<Self>() + self.0.memory() + nodes
    }
}

impl<T> OrderedIndex<T::Entry> for Locked<T>
where
    T: SequentialTree + Send + Sync,
{
    fn seek(&self, from: Bound<&KeyOf<T>>, _: &impl Guard) -> Option<T::Entry> {
        self.0.read().tree.seek(from)
    }

    fn seek_back(&self, from: Bound<&KeyOf<T>>, _: &impl Guard) -> Option<T::Entry> {
        self.0.read().tree.seek_back(from)
    }

    fn scan_back(
        &self,
        range: Range<'_, KeyOf<T>>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<T::Entry>,
    ) -> bool {
        self.0.read().tree.scan_back(range, want, out)
    }

    fn estimated_rank(&self, bound: Bound<&KeyOf<T>>, _: &impl Guard) -> f64 {
        let content = self.0.read();
        match (bound, content.tree.count((Bound::Unbounded, bound))) {
            (Bound::Unbounded, _) => 0.0,
            (_, Some(below)) => below as f64 / content.len.max(1) as f64,
            (_, None) => 0.5,
        }
    }

    fn counts(&self) -> bool {
        T::COUNTS
    }

    fn nth(&self, n: usize, _: &impl Guard) -> Option<T::Entry> {
        self.0.read().tree.nth(n)
    }

    fn count(&self, range: Range<'_, KeyOf<T>>, _: &impl Guard) -> Option<usize> {
        self.0.read().tree.count(range)
    }
}

/// Makes search trees of a [`Balance`] under one lock: `{index, avl}` and `{index, treap}`.
pub struct LockedTrees<B>(PhantomData<fn() -> B>);

impl<B> LockedTrees<B> {
    /// Makes the factory.
    #[expect(clippy::new_without_default, reason = "a factory, not a value")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

// SAFETY: a tree holds exactly the entries that were put in and not replaced or removed, under the lock, and disposes
// of them when it is dropped.
unsafe impl<B: Balance> IndexFactory for LockedTrees<B> {
    fn features(&self) -> Features {
        Features::ALL.without_bucket_locks()
    }

    fn build_ordered<E: PlugEntry>(
        &self,
        options: &IndexOptions,
    ) -> Option<Box<dyn DynOrderedIndex<E>>> {
        Some(Box::new(Locked::<SearchTree<E, B>>::build(options)))
    }
}
