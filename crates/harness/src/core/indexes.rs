//! Further indexes under measurement, by the trait that all have in common: pairs of words behind a pointer.

use std::ops::Bound;

use fyris_classic::sequential::{Avl, SearchTree, Treap};
use fyris_classic::{
    CaTree, LinearHash, Locked, LockedBTree, MichaelHash, RelaxedAvl, SharedCaTree, SkipList,
    SplitOrdered,
};
use fyris_index::{Action, Batch, Build, Entry, Index, IndexOptions};
use fyris_judy::{JudyEntries, JudyHashes, Measured, Padded};
use fyris_sync::reclaim::{Guard, Retire, pin};

use super::contender::Contender;
use super::subject::{Seen, Subject};

/// Returns the subjects with `u64` keys.
pub(super) fn u64() -> Vec<Contender<u64>> {
    vec![
        Contender::own::<Plain<SplitOrdered<Pair>>>("split_ordered"),
        Contender::own::<Plain<MichaelHash<Pair>, MILLION>>("michael_hash"),
        Contender::own::<Plain<LinearHash<Pair>>>("linear_hash"),
        Contender::own::<Sorted<SkipList<Pair>>>("skip_list"),
        Contender::own::<Sorted<RelaxedAvl<Pair>>>("relaxed_avl"),
        Contender::own::<Sorted<LockedBTree<Pair>>>("btree"),
        Contender::own::<Sorted<Locked<SearchTree<Pair, Avl>>>>("avl"),
        Contender::own::<Sorted<Locked<SearchTree<Pair, Treap>>>>("treap"),
        Contender::own::<Sorted<CaTree<SearchTree<Pair, Avl>>>>("ca_avl"),
        Contender::own::<Sorted<CaTree<SearchTree<Pair, Treap>>>>("ca_treap"),
        Contender::own::<Sorted<Locked<JudyEntries<Pair, Padded>>>>("judysl"),
        Contender::own::<Sorted<Locked<JudyEntries<Pair, Measured>>>>("judyesl"),
        Contender::own::<Plain<Locked<JudyHashes<Pair>>>>("judyeh"),
        // With `read_concurrency`.
        Contender::own::<Sorted<SharedCaTree<SearchTree<Pair, Avl>>>>("ca_avl_shared"),
    ]
}

/// Entries that an index of fixed size is made for.
const MILLION: usize = 1_000_000;

/// Entries that a scan appends at a time.
const BATCH: usize = 256;

/// A key and its value, in a block of their own.
#[derive(Clone, Copy)]
struct Pair(*mut (u64, u64));

// SAFETY: what is behind the pointer does not change.
unsafe impl Send for Pair {}
// SAFETY: as above.
unsafe impl Sync for Pair {}

impl Pair {
    fn new(key: u64, value: u64) -> Self {
        Self(Box::into_raw(Box::new((key, value))))
    }

    #[inline]
    fn value(self) -> u64 {
        // SAFETY: the callers are pinned since before they found the pair.
        unsafe { (*self.0).1 }
    }
}

/// The block of a [`Pair`].
struct Block;

impl Retire for Block {
    unsafe fn reclaim(block: *mut Self) {
        // SAFETY: from `Pair::new`, by the caller's contract reclaimed once.
        drop(unsafe { Box::from_raw(block.cast::<(u64, u64)>()) });
    }
}

// SAFETY: addresses are below 2^48; the key does not change, and lives until the pair is retired.
unsafe impl Entry for Pair {
    type Key = u64;

    #[inline]
    fn key(&self) -> &u64 {
        // SAFETY: pairs are looked at under a pin, or by the index that owns them.
        unsafe { &(*self.0).0 }
    }

    fn into_bits(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    unsafe fn from_bits(bits: u64) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(bits as usize))
    }

    unsafe fn retire(self, pin: &impl Guard) {
        // SAFETY: the caller's contract.
        unsafe { pin.retire(self.0.cast::<Block>()) };
    }

    unsafe fn dispose(self) {
        // SAFETY: the caller's contract.
        unsafe { Block::reclaim(self.0.cast()) };
    }
}

/// An index that was made for `CAPACITY` entries. Its ranges are those of its order if it is `ORDERED`.
struct Plain<I, const CAPACITY: usize = 0, const ORDERED: bool = false>(I);

/// An index in the order of keys.
type Sorted<I> = Plain<I, 0, true>;

impl<I: Index<Pair>, const CAPACITY: usize, const ORDERED: bool> Plain<I, CAPACITY, ORDERED> {
    /// Does to a key what `f` says; returns whether there was an entry before.
    #[inline]
    fn change(&self, key: &u64, f: impl FnOnce(Option<Pair>) -> Action<Pair>) -> bool {
        let pin = pin();
        let (old, is_out) = self.0.upsert(key, &pin, |old| {
            let action = f(old);
            (action, (old, !matches!(action, Action::Keep)))
        });
        if let Some(old) = old.filter(|_| is_out) {
            // SAFETY: taken out by this upsert.
            unsafe { old.retire(&pin) };
        }
        old.is_some()
    }

    /// Visits the first `limit` entries from a bound on.
    fn visit(&self, mut from: Bound<u64>, limit: u64) -> Seen {
        let (mut seen, mut batch) = (Seen::default(), Batch::new());
        loop {
            let pin = pin();
            let want = usize::try_from(limit - seen.entries).map_or(BATCH, |left| left.min(BATCH));
            let range = (from.as_ref(), Bound::Unbounded);
            let more = self.0.scan(range, want, &pin, &mut batch);
            if let Some(last) = batch.last() {
                from = Bound::Excluded(*last.key());
            }
            let left = (limit - seen.entries) as usize;
            batch
                .drain(..)
                .take(left)
                .for_each(|pair| seen.add(pair.value()));
            if !more || seen.entries >= limit {
                return seen;
            }
        }
    }
}

impl<I, const CAPACITY: usize, const ORDERED: bool> Subject<u64> for Plain<I, CAPACITY, ORDERED>
where
    I: Index<Pair> + Build + 'static,
{
    const ORDERED: bool = ORDERED;
    const ADDS: Option<bool> = Some(true);

    fn new() -> Self {
        Self(I::build(&IndexOptions::with_capacity(CAPACITY)))
    }
    #[inline]
    fn insert(&self, key: &u64, value: u64) {
        let new = Pair::new(*key, value);
        self.change(key, |_| Action::Put(new));
    }
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.0.get(key, &pin()).map(Pair::value)
    }
    #[inline]
    fn remove(&self, key: &u64) -> bool {
        self.change(key, |_| Action::Remove)
    }
    #[inline]
    fn add(&self, key: &u64) {
        self.change(key, |old| {
            old.map_or(Action::Keep, |old| {
                Action::Put(Pair::new(*key, old.value() + 1))
            })
        });
    }
    fn scan(&self) -> Seen {
        self.visit(Bound::Unbounded, u64::MAX)
    }
    fn range(&self, from: &u64, limit: u64) -> Seen {
        self.visit(Bound::Included(*from), limit)
    }
}
