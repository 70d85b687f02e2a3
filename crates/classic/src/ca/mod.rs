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
//! * `lock`: the locks of base nodes, and what they count of readers.
//! * `range`: operations over several base nodes, one after another.
//!
//! # Progress and consistency
//!
//! Readers and writers of one base node wait for each other, those of different nodes do not; nothing is lock-free. The
//! lock of a base node depends on `read_concurrency`, as in OTP:
//!
//! * without it readers take the lock alone, one store each, as in the paper. A read counts like a write, so what is
//!   read often by several threads splits too;
//! * with it readers share the lock, and are noted in reader groups (`{reader_groups, N}`), which cost each base node a
//!   cache line a group: for trees that are read and hardly written, and for long scans. A read counts if it waits, or
//!   if it is of several base nodes.
//!
//! `get` and `upsert` are linearizable,
//! and so is a seek whose answer lies in the base node that covers the bound. A scan reads each base node at one
//! moment. A base node that is unlinked is emptied: its lock tells that it is dead, and no thread looks at its tree.
//!
//! # Complexity
//!
//! O(log n) for what names a key; a scan adds what it appends and a descent for each base node. `slot` takes O(slot).

mod base;
mod lock;
mod range;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use std::marker::PhantomData;
use std::ops::Bound;

use fyris_index::catree::{Base, BaseRef, SharedLock, Stats, Tree};
use fyris_index::key::probe::{ByKey, Probe};
use fyris_index::plug::{DynOrderedIndex, Features, IndexFactory, PlugEntry};
use fyris_index::{Action, Batch, Build, Figures, Index, IndexOptions, OrderedIndex, Range};
use fyris_sync::lock::StatLock;
use fyris_sync::reclaim::Guard;

use crate::sequential::{Balance, KeyOf, SearchTree, SplitTree};

use base::TreeBase;
use lock::ReadLock;

/// A contention adapting tree over sequential trees, below locks `L`: a [`CaTree`] or a [`SharedCaTree`]. See the
/// [module](self).
#[expect(private_bounds, reason = "there are two kinds of locks")]
pub struct Adapting<T: SplitTree, L: ReadLock> {
    tree: Tree<TreeBase<T, L>>,
    /// Reader groups of each lock, if the locks have them.
    reader_groups: Option<usize>,
    /// Bytes on the heap for each lock.
    lock_memory: usize,
}

/// A contention adapting tree whose readers take the lock of a base node alone.
pub type CaTree<T> = Adapting<T, StatLock>;

/// A contention adapting tree whose readers share the lock of a base node.
pub type SharedCaTree<T> = Adapting<T, SharedLock>;

impl<T: SplitTree, L: ReadLock> Default for Adapting<T, L> {
    fn default() -> Self {
        Self::build(&IndexOptions::default())
    }
}

impl<T: SplitTree, L: ReadLock> Build for Adapting<T, L> {
    fn build(options: &IndexOptions) -> Self {
        let lock = L::of(options);
        let (reader_groups, lock_memory) = (lock.reader_groups(), lock.memory());
        Self {
            // SAFETY: just allocated; valid until it is reclaimed.
            tree: unsafe { Tree::new(TreeBase::alloc(T::default(), lock)) },
            reader_groups,
            lock_memory,
        }
    }
}

#[expect(private_bounds, reason = "as above")]
impl<T: SplitTree, L: ReadLock> Adapting<T, L> {
    /// Returns the shape of the tree, and the adaptations that made it.
    pub fn stats(&self, pin: &impl Guard) -> Stats {
        self.tree.stats(pin)
    }

    /// Takes the lock of a base node for reading, waiting if need be; `None` if the node is dead.
    #[inline(always)]
    fn read_lock<'p>(&'p self, base: &'p TreeBase<T, L>) -> Option<L::Reading<'p>> {
        match base.lock().try_read() {
            Some(reading) => Some(reading),
            None => self.wait_to_read(base),
        }
    }

    #[cold]
    fn wait_to_read<'p>(&'p self, base: &'p TreeBase<T, L>) -> Option<L::Reading<'p>> {
        let reading = base.lock().wait_to_read()?;
        self.tree.count_wait();
        Some(reading)
    }

    /// Ends reading of a base node, which adapts if it is time to. `several`: an operation reads more than this one.
    #[inline]
    fn settle_read<'p>(
        &'p self,
        base_ref: BaseRef<'p, TreeBase<T, L>>,
        reading: L::Reading<'p>,
        several: bool,
        probe: &impl Probe<KeyOf<T>>,
        pin: &'p impl Guard,
    ) {
        let Some(held) = base_ref.base.lock().end(reading, several) else {
            return;
        };
        // SAFETY: `probe` led to the base node, whose lock is `held`; the callers' references to its tree have ended.
        unsafe {
            if several {
                self.tree.settle_several(base_ref, held, probe, pin);
            } else {
                self.tree.settle(base_ref, held, None, probe, pin);
            }
        }
    }

    /// Runs `f` on the base node of a key, which no thread changes meanwhile.
    #[inline]
    fn read_base<R>(&self, key: &KeyOf<T>, pin: &impl Guard, f: impl FnOnce(&T) -> R) -> R {
        let probe = ByKey(key);
        loop {
            let base_ref = self.tree.find_base(&probe, pin);
            // A dead node has been replaced: its successor is found from the root.
            let Some(reading) = self.read_lock(base_ref.base) else {
                continue;
            };
            // SAFETY: the lock is held for reading and the node alive; the reference ends before it is settled.
            let out = f(unsafe { base_ref.base.read() });
            self.settle_read(base_ref, reading, false, &probe, pin);
            return out;
        }
    }

    /// Runs `f` on the base node of a key, under its lock.
    #[inline]
    fn with_base<R>(&self, key: &KeyOf<T>, pin: &impl Guard, f: impl FnOnce(&mut T) -> R) -> R {
        let probe = ByKey(key);
        let (base_ref, held) = self.tree.lock_base(&probe, pin);
        // SAFETY: the lock is held and the node alive; the reference ends before it is settled.
        let out = f(unsafe { base_ref.base.tree() });
        // SAFETY: as in `settle_read`.
        unsafe { self.tree.settle(base_ref, held, None, &probe, pin) };
        out
    }
}

impl<T: SplitTree + Send + Sync, L: ReadLock> Index<T::Entry> for Adapting<T, L> {
    #[inline]
    fn get(&self, key: &KeyOf<T>, pin: &impl Guard) -> Option<T::Entry> {
        self.read_base(key, pin, |tree| tree.get(key))
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
                self.tree.count_entries(change);
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
        Figures::new()
            .word("lock", L::KIND)
            .known("reader_groups", self.reader_groups)
            .adapting(&self.stats(pin))
    }

    fn memory(&self) -> usize {
        let locks = self.tree.bases() * self.lock_memory;
        self.tree.memory() + locks + T::memory_of(self.len())
    }
}

impl<T: SplitTree + Send + Sync, L: ReadLock> OrderedIndex<T::Entry> for Adapting<T, L> {
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
    fn features(&self) -> Features {
        Features::ALL.without_bucket_locks()
    }

    fn build_ordered<E: PlugEntry>(
        &self,
        options: &IndexOptions,
    ) -> Option<Box<dyn DynOrderedIndex<E>>> {
        Some(if options.read_concurrency {
            Box::new(SharedCaTree::<SearchTree<E, B>>::build(options))
        } else {
            Box::new(CaTree::<SearchTree<E, B>>::build(options))
        })
    }
}
