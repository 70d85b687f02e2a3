//! Where readers are noted: in the flag word itself, or by a read indicator beside it.
//!
//! # The order of two steps
//!
//! A reader first notes that it reads and then looks whether a thread has the claim; a writer first takes the claim and
//! then looks whether readers are noted. Both steps of both are in one order, so at least one sees the other
//! (ONE_SEES). With the readers in the flag word this is one step each. With an indicator they are sequentially
//! consistent accesses to different words; loom knows no order of such accesses beyond that of fences, so a model has a
//! fence between them.

use crate::atomic::{AtomicU64, Ordering};

use super::word::{NO_READ, READER, READERS};

/// Places where readers are noted, which a lock is built on. Implemented by [`InWord`], [`Indicated`] and
/// [`Chosen`](super::Chosen).
///
/// # Safety
///
/// Invariant ONE_SEES holds for `arrive` and a claim followed by `is_empty`, and for `depart` and the bit for draining
/// followed by `is_empty`. `is_empty` returns true only if each reader that arrived before it was called has departed;
/// it then acquires what was released by `depart`.
pub unsafe trait Readers: Send + Sync {
    /// The places of a new lock.
    #[cfg(not(any(loom, shuttle)))]
    const INIT: Self;

    /// Returns the bits of the flag word that tell of readers and that a writer takes away when it unlocks.
    fn stale(&self) -> u64;

    /// Returns the calling thread's place: the same whenever it asks.
    fn place(&self) -> usize;

    /// Notes a reader in `place`, and returns the flag word. The reader must depart if that is against reading.
    fn arrive(&self, word: &AtomicU64, place: usize) -> u64;

    /// Notes a reader in `place` for whom a hold on the lock keeps the claim away meanwhile; [`Readers::noted`]
    /// follows.
    fn admit(&self, place: usize);

    /// Returns the flag word `word` with `readers` more readers.
    fn noted(&self, word: u64, readers: u64) -> u64;

    /// Takes a reader away from `place`. Returns the flag word then, or zero if other readers are left there.
    fn depart(&self, word: &AtomicU64, place: usize) -> u64;

    /// Returns whether no reader is noted.
    fn is_empty(&self, word: &AtomicU64) -> bool;
}

/// Readers counted in the flag word: the ERTS lock as it is by default.
#[derive(Debug, Default)]
pub struct InWord;

// SAFETY: all of it are atomic read-modify-write operations on one word, which are in one order, and loads of it that
// follow one by the same thread.
unsafe impl Readers for InWord {
    #[cfg(not(any(loom, shuttle)))]
    const INIT: Self = Self;

    #[inline]
    fn stale(&self) -> u64 {
        0
    }

    #[inline]
    fn place(&self) -> usize {
        0
    }

    #[inline]
    fn arrive(&self, word: &AtomicU64, _place: usize) -> u64 {
        // Acquire: pairs with the Release of the writer that unlocked, if no bit is against reading.
        word.fetch_add(READER, Ordering::Acquire)
    }

    #[inline]
    fn admit(&self, _place: usize) {}

    #[inline]
    fn noted(&self, word: u64, readers: u64) -> u64 {
        word + READER * readers
    }

    #[inline]
    fn depart(&self, word: &AtomicU64, _place: usize) -> u64 {
        // Release: pairs with the Acquire in `is_empty` and in the claim of a writer.
        let left = word.fetch_sub(READER, Ordering::Release) - READER;
        if left & READERS == 0 { left } else { 0 }
    }

    #[inline]
    fn is_empty(&self, word: &AtomicU64) -> bool {
        // Acquire: pairs with the Release in `depart`.
        word.load(Ordering::Acquire) & READERS == 0
    }
}

/// A place beside the lock, or several, where readers say that they read. See [`Indicated`] for a lock from one.
///
/// Of use for every protocol in which readers announce themselves and a rare writer waits until none is left: after
/// section 6.3 of the 2013 paper, where the indicator is a pointer of each thread.
///
/// # Safety
///
/// The accesses of `arrive`, `depart` and `is_empty` are sequentially consistent. `is_empty` returns true only if every
/// reader that arrived before the call has departed before it returned, and then acquires what `depart` released. A
/// thread arrives and departs with the place that it has, or another does so for it while it waits.
pub unsafe trait ReadIndicator: Send + Sync {
    /// An indicator with no readers.
    #[cfg(not(any(loom, shuttle)))]
    const INIT: Self;

    /// Returns the calling thread's place, the same as long as the thread lives.
    fn place(&self) -> usize;

    /// Notes that a reader is in `place`.
    fn arrive(&self, place: usize);

    /// Takes a reader away from `place`. Returns whether that may have been the last one there.
    fn depart(&self, place: usize) -> bool;

    /// Returns true if there was no reader at one moment for each place; false may be for readers that come and go.
    fn is_empty(&self) -> bool;
}

/// Readers noted by an indicator, and in the flag word whether one may be.
///
/// The first reader after a writer sets the bit for readers in the flag word, which then stays until the next writer
/// unlocks: "R-locked?" of the talk. Other readers only read the flag word. A writer that finds the bit clear need not
/// look at the indicator. Invariant **NOTED**: a reader that has the lock set the bit, or saw it, while no thread had
/// the claim; only a writer takes it away, whose claim outlasted all readers.
#[derive(Debug, Default)]
pub struct Indicated<I>(I);

impl<I> Indicated<I> {
    /// Makes the places of a lock from an indicator with no readers.
    pub const fn new(indicator: I) -> Self {
        Self(indicator)
    }

    /// Returns the indicator.
    pub const fn indicator(&self) -> &I {
        &self.0
    }
}

/// Orders the two steps of invariant ONE_SEES for loom.
#[inline]
fn order() {
    #[cfg(loom)]
    crate::atomic::fence(Ordering::SeqCst);
}

// SAFETY: the indicator's accesses are sequentially consistent, and so are those to the flag word here and where a
// claim is taken (ONE_SEES).
unsafe impl<I: ReadIndicator> Readers for Indicated<I> {
    #[cfg(not(any(loom, shuttle)))]
    const INIT: Self = Self(I::INIT);

    #[inline]
    fn stale(&self) -> u64 {
        READER
    }

    #[inline]
    fn place(&self) -> usize {
        self.0.place()
    }

    #[inline]
    fn arrive(&self, word: &AtomicU64, place: usize) -> u64 {
        self.0.arrive(place);
        order();
        // SeqCst: invariant ONE_SEES. It acquires as well: pairs with the Release of the writer that unlocked.
        let mut seen = word.load(Ordering::SeqCst);
        // The first reader since a writer; one that may not read leaves the bit alone.
        while seen & (NO_READ | READER) == 0 {
            // SeqCst, both: as the load, in the place of which this is.
            match word.compare_exchange(seen, seen | READER, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => break,
                Err(other) => seen = other,
            }
        }
        seen
    }

    #[inline]
    fn admit(&self, place: usize) {
        self.0.arrive(place);
    }

    #[inline]
    fn noted(&self, word: u64, readers: u64) -> u64 {
        if readers > 0 { word | READER } else { word }
    }

    #[inline]
    fn depart(&self, word: &AtomicU64, place: usize) -> u64 {
        if !self.0.depart(place) {
            return 0;
        }
        order();
        // SeqCst: invariant ONE_SEES, with the bit for draining.
        word.load(Ordering::SeqCst)
    }

    #[inline]
    fn is_empty(&self, word: &AtomicU64) -> bool {
        // Relaxed: the caller has the claim, or looks again when it knows; no thread sets or clears the bit meanwhile.
        if word.load(Ordering::Relaxed) & READER == 0 {
            return true;
        }
        order();
        self.0.is_empty()
    }
}
