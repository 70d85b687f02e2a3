//! `avl`, `treap` and `btree`: a sequential tree under one reader-writer lock.
//!
//! This is how ETS keeps an `ordered_set` without `write_concurrency`, an AVL tree under the table's lock
//! (Klaftenegger, Sagonas and Winblad, "On the Scalability of the Erlang Term Storage", 2013, sections 2 and 3.3), and
//! what the papers compare their trees with. It is also the plainest example of what it takes to plug an index in: the
//! required methods of [`Index`] and [`OrderedIndex`], and an [`IndexFactory`]. All the rest are defaults.
//!
//! The tree is any [`SequentialTree`], the lock that of ERTS ([`TableLock`]) or any of [`lock_api`].
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

use fyris_sync::reclaim::Guard;
use lock_api::{RawRwLock, RwLock};

use crate::plug::{DynIndex, DynOrderedIndex, IndexFactory, PlugEntry};
use crate::sequential::{Balance, KeyOf, SearchTree, SequentialTree};
use crate::{Action, Batch, Build, Index, IndexOptions, OrderedIndex, Range, TableLock};

/// A tree under one lock. See the [module](self).
pub struct Locked<T, L = TableLock>(RwLock<L, Content<T>>);

/// What the lock protects.
#[derive(Default)]
struct Content<T> {
    tree: T,
    len: usize,
}

impl<T: Default, L: RawRwLock> Default for Locked<T, L> {
    fn default() -> Self {
        Self(RwLock::new(Content::default()))
    }
}

impl<T: Default, L: RawRwLock> Build for Locked<T, L> {
    fn build(_: &IndexOptions) -> Self {
        Self::default()
    }
}

impl<T, L> Index<T::Entry> for Locked<T, L>
where
    T: SequentialTree + Send + Sync,
    L: RawRwLock + Send + Sync,
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

    fn len(&self) -> usize {
        self.0.read().len
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + T::memory_of(self.len())
    }
}

impl<T, L> OrderedIndex<T::Entry> for Locked<T, L>
where
    T: SequentialTree + Send + Sync,
    L: RawRwLock + Send + Sync,
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
    fn build<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynIndex<E>>> {
        Some(Box::new(Locked::<SearchTree<E, B>>::default()))
    }

    fn build_ordered<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynOrderedIndex<E>>> {
        Some(Box::new(Locked::<SearchTree<E, B>>::default()))
    }
}
