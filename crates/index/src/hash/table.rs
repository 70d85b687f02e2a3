//! An array of buckets, and the state of its successor's making.

#[cfg(not(any(loom, shuttle)))]
use fyris_sync::alloc::Pages;
use fyris_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use fyris_sync::reclaim::{PROTECT, Retire};

use super::bucket::Bucket;
use super::word::window;
use crate::progress::Progress;

/// One size of the hash table.
///
/// The first line is read by every operation and hardly ever written; the second is where writers
/// meet while they move buckets.
#[repr(C, align(64))]
pub(super) struct Table {
    buckets: *const Bucket,
    /// By how much a hash is shifted down to be a bucket's number: 64 less [`Table::bits`].
    shift: u32,
    window: u32,
    next: AtomicPtr<Table>,
    memory: Memory,
    pub(super) moving: Moving,
}

#[cfg(not(any(loom, shuttle)))]
type Memory = Pages;
#[cfg(any(loom, shuttle))]
type Memory = Box<[Bucket]>;

/// The progress of the move to the next table.
#[repr(align(64))]
#[derive(Default)]
pub(super) struct Moving {
    /// Not zero once a thread has begun to make the next table.
    pub(super) begun: AtomicUsize,
    /// Units that threads have taken on.
    pub(super) claimed: AtomicUsize,
    pub(super) progress: Progress,
}

// SAFETY: `buckets` points into `memory`, which the table owns; all else is atomic.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// Makes an empty table of `2^bits` buckets. `None` if there is no memory for it.
    pub(super) fn try_new(bits: u32) -> Option<Box<Self>> {
        #[cfg(not(any(loom, shuttle)))]
        let memory = Pages::try_zeroed(size_of::<Bucket>() << bits)?;
        #[cfg(any(loom, shuttle))]
        let memory: Box<[Bucket]> = (0..1 << bits).map(|_| Bucket::default()).collect();
        Some(Self::of(memory, bits))
    }

    /// Makes an empty table that may stay so for long: in no time, however large. `None` if there is no memory for it.
    pub(super) fn try_fresh(bits: u32) -> Option<Box<Self>> {
        #[cfg(not(any(loom, shuttle)))]
        return Some(Self::of(
            Pages::try_fresh(size_of::<Bucket>() << bits)?,
            bits,
        ));
        #[cfg(any(loom, shuttle))]
        Self::try_new(bits)
    }

    fn of(memory: Memory, bits: u32) -> Box<Self> {
        #[cfg(not(any(loom, shuttle)))]
        let buckets = memory.as_ptr().cast_const().cast::<Bucket>();
        #[cfg(any(loom, shuttle))]
        let buckets = memory.as_ptr();
        Box::new(Self {
            buckets,
            shift: 64 - bits,
            window: window(bits),
            next: AtomicPtr::default(),
            memory,
            moving: Moving::default(),
        })
    }

    /// Returns the number of buckets.
    #[inline]
    pub(super) fn len(&self) -> usize {
        1 << self.bits()
    }

    /// Returns the binary logarithm of the number of buckets.
    #[inline]
    pub(super) fn bits(&self) -> u32 {
        64 - self.shift
    }

    /// Returns the bit at which tags begin in this table.
    #[inline]
    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// Returns the bucket of a hash.
    #[inline]
    pub(super) fn index(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    /// Returns the bucket a hash belongs to.
    #[inline]
    pub(super) fn bucket(&self, hash: u64) -> &Bucket {
        // SAFETY: `index` is below `2^bits`.
        unsafe { &*self.buckets.add(self.index(hash)) }
    }

    /// Returns bucket `i`.
    pub(super) fn nth(&self, i: usize) -> &Bucket {
        assert!(i < self.len());
        // SAFETY: in bounds; zeroed memory is a valid empty bucket.
        unsafe { &*self.buckets.add(i) }
    }

    /// Returns the table that this one's content moves to, if a move is under way or done.
    #[inline]
    pub(super) fn next(&self) -> Option<&Table> {
        // PROTECT: pairs with the Release in `set_next`: the table is seen whole.
        let next = self.next.load(PROTECT);
        // SAFETY: null, or published by `set_next`; retired only after this table is, so it lives
        // while a pin does under which this one was reachable (RECLAIM).
        unsafe { next.as_ref() }
    }

    /// Publishes the next table. Called once, by the thread that set `begun`.
    pub(super) fn set_next(&self, next: Box<Table>) {
        // Release: pairs with the PROTECT load in `next`.
        self.next.store(Box::into_raw(next), Ordering::Release);
    }

    /// Returns the number of bytes of the array and of this header.
    pub(super) fn memory(&self) -> usize {
        #[cfg(not(any(loom, shuttle)))]
        let array = self.memory.size();
        #[cfg(any(loom, shuttle))]
        let array = size_of_val(&*self.memory);
        size_of::<Self>() + array
    }
}

impl Retire for Table {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: from `Box::into_raw`, by the caller's contract reclaimed once. The overflow
        // buckets of its chains were retired when the buckets moved.
        drop(unsafe { Box::from_raw(ptr) });
    }
}
