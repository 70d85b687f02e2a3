//! Further indexes under measurement, by the trait that all have in common: pairs of words behind a pointer.

use std::ops::Bound;

use fyris_index::{Action, Batch, Build, Entry, Index, IndexOptions, MichaelHash, SplitOrdered};
use fyris_sync::reclaim::{Guard, Retire, pin};

use super::contender::Contender;
use super::subject::{Seen, Subject};

/// Returns the subjects with `u64` keys.
pub(super) fn u64() -> Vec<Contender<u64>> {
    vec![
        Contender::own::<Plain<SplitOrdered<Pair>>>("split_ordered"),
        Contender::own::<Plain<MichaelHash<Pair>, MILLION>>("michael_hash"),
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

/// An index that was made for `CAPACITY` entries.
struct Plain<I, const CAPACITY: usize = 0>(I);

impl<I: Index<Pair>, const CAPACITY: usize> Plain<I, CAPACITY> {
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
}

impl<I, const CAPACITY: usize> Subject<u64> for Plain<I, CAPACITY>
where
    I: Index<Pair> + Build + 'static,
{
    const ORDERED: bool = false;
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
        let (mut seen, mut batch, mut last) = (Seen::default(), Batch::new(), None);
        loop {
            let pin = pin();
            let after = last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let more = self
                .0
                .scan((after, Bound::Unbounded), BATCH, &pin, &mut batch);
            last = batch.last().map(|pair| *pair.key());
            batch.drain(..).for_each(|pair| seen.add(pair.value()));
            if !more {
                return seen;
            }
        }
    }
}
