//! `ca_avl` and `ca_treap`: contention adapting trees over sequential trees.
//!
//! These are the trees of Sagonas and Winblad, "More Scalable Ordered Set for ETS Using Adaptation" (Erlang Workshop
//! 2014), which ETS uses for an `ordered_set` with `write_concurrency`: base nodes are sequential trees, each under a
//! lock that collects statistics (section 3.1). An operation finds the base node of its key, takes the lock, begins
//! anew if the node is no longer valid, and adapts when it has finished (section 3.2): waiting for a lock adds 250 to
//! its statistic, getting it at once takes 1, being one of several base nodes of an operation takes 10; above 1000 a
//! node splits in two, below -1000 it joins a neighbour. Splits and joins take O(log n), however large the nodes.
//!
//! * `base`: a [`SplitTree`] as a base node. Inner nodes, decisions and replacing are those of `catree`, which
//!   `ordered` has too; there the routing nodes of the paper have up to 57 children.
//! * `range`: operations over several base nodes, one after another.
//!
//! # Progress and consistency
//!
//! Readers and writers of one base node wait for each other, those of different nodes do not; nothing is lock-free. A
//! read counts like a write, so what is read often by several threads splits too. `get` and `upsert` are linearizable,
//! and so is a seek whose answer lies in the base node that covers the bound. A scan reads each base node at one
//! moment. A base node that is unlinked is emptied: its lock tells that it is dead, and no thread looks at its tree.
//!
//! # Complexity
//!
//! O(log n) for what names a key; a scan adds what it appends and a descent for each base node. `slot` takes O(slot).

mod base;
mod range;
#[cfg(all(test, feature = "conformance", not(any(loom, shuttle))))]
mod tests;

use std::marker::PhantomData;
use std::ops::Bound;

use fyris_sync::reclaim::Guard;

use crate::catree::{Stats, Tree};
use crate::key::probe::ByKey;
use crate::plug::{DynIndex, DynOrderedIndex, IndexFactory, PlugEntry};
use crate::sequential::{Balance, KeyOf, SearchTree, SplitTree};
use crate::{Action, Batch, Build, Figures, Index, IndexOptions, OrderedIndex, Range};

use base::TreeBase;

/// A contention adapting tree over sequential trees. See the [module](self).
pub struct CaTree<T: SplitTree> {
    tree: Tree<TreeBase<T>>,
}

impl<T: SplitTree> Default for CaTree<T> {
    fn default() -> Self {
        Self { tree: Tree::new() }
    }
}

impl<T: SplitTree> Build for CaTree<T> {
    fn build(_: &IndexOptions) -> Self {
        Self::default()
    }
}

impl<T: SplitTree> CaTree<T> {
    /// Returns the shape of the tree, and the adaptations that made it.
    pub fn stats(&self, pin: &impl Guard) -> Stats {
        self.tree.stats(pin)
    }

    /// Runs `f` on the base node of a key, under its lock.
    #[inline]
    fn with_base<R>(&self, key: &KeyOf<T>, pin: &impl Guard, f: impl FnOnce(&mut T) -> R) -> R {
        let probe = ByKey(key);
        let (base_ref, held) = self.tree.lock_base(&probe, pin);
        // SAFETY: the lock is held and the node alive; the reference ends before it is settled.
        let out = f(unsafe { base_ref.base.tree() });
        self.tree.settle(base_ref, held, None, &probe, pin);
        out
    }
}

impl<T: SplitTree + Send + Sync> Index<T::Entry> for CaTree<T> {
    #[inline]
    fn get(&self, key: &KeyOf<T>, pin: &impl Guard) -> Option<T::Entry> {
        self.with_base(key, pin, |tree| tree.get(key))
    }

    #[inline]
    fn upsert<R>(
        &self,
        key: &KeyOf<T>,
        pin: &impl Guard,
        f: impl FnOnce(Option<T::Entry>) -> (Action<T::Entry>, R),
    ) -> R {
        self.with_base(key, pin, |tree| {
            let (out, change) = tree.upsert(key, f);
            if change != 0 {
                self.tree.counters.entries.add(change);
            }
            out
        })
    }

    fn scan(
        &self,
        range: Range<'_, KeyOf<T>>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<T::Entry>,
    ) -> bool {
        self.scan_bases::<false>(range, want, pin, out)
    }

    fn next_entry(&self, after: Option<&KeyOf<T>>, pin: &impl Guard) -> Option<T::Entry> {
        self.seek(after.map_or(Bound::Unbounded, Bound::Excluded), pin)
    }

    fn len(&self) -> usize {
        self.tree.len()
    }

    fn describe(&self, pin: &impl Guard) -> Figures {
        Figures::new().adapting(&self.stats(pin))
    }

    fn memory(&self) -> usize {
        self.tree.memory() + T::memory_of(self.len())
    }
}

impl<T: SplitTree + Send + Sync> OrderedIndex<T::Entry> for CaTree<T> {
    fn seek(&self, from: Bound<&KeyOf<T>>, pin: &impl Guard) -> Option<T::Entry> {
        let mut found = None;
        self.each_base::<false>(from, pin, |tree, _| {
            found = tree.seek(from);
            found.is_none()
        });
        found
    }

    fn seek_back(&self, from: Bound<&KeyOf<T>>, pin: &impl Guard) -> Option<T::Entry> {
        let mut found = None;
        self.each_base::<true>(from, pin, |tree, _| {
            found = tree.seek_back(from);
            found.is_none()
        });
        found
    }

    fn scan_back(
        &self,
        range: Range<'_, KeyOf<T>>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<T::Entry>,
    ) -> bool {
        self.scan_bases::<true>(range, want, pin, out)
    }
}

/// Makes contention adapting trees over search trees of a [`Balance`]: `{index, ca_avl}` and `{index, ca_treap}`.
pub struct CaTrees<B>(PhantomData<fn() -> B>);

impl<B> CaTrees<B> {
    /// Makes the factory.
    #[expect(clippy::new_without_default, reason = "a factory, not a value")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

// SAFETY: a tree holds exactly the entries that were put in and not replaced or removed, each in the base node that
// covers its key, and disposes of them when it is dropped.
unsafe impl<B: Balance> IndexFactory for CaTrees<B> {
    fn build<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynIndex<E>>> {
        Some(Box::new(CaTree::<SearchTree<E, B>>::default()))
    }

    fn build_ordered<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynOrderedIndex<E>>> {
        Some(Box::new(CaTree::<SearchTree<E, B>>::default()))
    }
}
