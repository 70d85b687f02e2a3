//! Arrays of buckets, one of each size at most, and the pool of overflow buckets.
//!
//! # Invariant **MEMORY_TYPE**: memory keeps its type
//!
//! An array, once made, stays mapped until the map is dropped, and so does an overflow bucket. An array or bucket that
//! is not live may be used again, and a large array that is not live gives its physical memory back to the kernel,
//! after which it reads as zeros: buckets that are not live. So a reader may come late and read anything; it will find
//! out by the header (invariant VERSION), and needs no pin.

use std::ptr::NonNull;
use std::sync::PoisonError;

#[cfg(not(any(loom, shuttle)))]
use fyris_sync::alloc::Pages;
use fyris_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use fyris_sync::lock::{Mutex, MutexGuard};

use super::bucket::InlineBucket;
#[cfg(any(loom, shuttle))]
use super::model::Pages;

/// The largest array has 2^31 buckets: 256 GiB.
pub(super) const MAX_BITS: u32 = 31;

/// Buckets that are brought to life at once: the lock is taken once for all of them.
const NEIGHBOURS: usize = if cfg!(fyris_small) { 2 } else { 64 };

/// All memory of a map.
pub(super) struct Space {
    arrays: [AtomicPtr<InlineBucket>; MAX_BITS as usize + 1],
    /// Bytes that are in use: arrays but for discarded ones, overflow buckets.
    bytes: AtomicUsize,
    owned: Mutex<Owned>,
}

#[derive(Default)]
struct Owned {
    pages: Vec<(u32, Pages)>,
    overflow: Vec<NonNull<InlineBucket>>,
    free: Vec<NonNull<InlineBucket>>,
}

// SAFETY: the pointers lead to buckets that this map owns, whose fields are atomics.
unsafe impl Send for Owned {}

impl Space {
    pub(super) fn new() -> Self {
        Self {
            arrays: std::array::from_fn(|_| AtomicPtr::default()),
            bytes: AtomicUsize::new(0),
            owned: Mutex::new(Owned::default()),
        }
    }

    /// Returns the bucket of a hash in the array of `2^bits`, which has been made.
    #[inline]
    pub(super) fn bucket(&self, bits: u32, hash: u64) -> &InlineBucket {
        // SAFETY: the shift leaves a number below `2^bits` (`bits` is 1 or more).
        unsafe { self.nth_unchecked(bits, (hash >> (64 - bits)) as usize) }
    }

    /// Returns bucket `i` of the array of `2^bits`, which has been made.
    pub(super) fn nth(&self, bits: u32, i: usize) -> &InlineBucket {
        assert!(i < 1 << bits);
        // SAFETY: in bounds.
        unsafe { self.nth_unchecked(bits, i) }
    }

    /// # Safety
    ///
    /// `i` is below `2^bits`.
    #[inline]
    unsafe fn nth_unchecked(&self, bits: u32, i: usize) -> &InlineBucket {
        debug_assert!(bits <= MAX_BITS);
        // SAFETY: sizes that a root names are `MAX_BITS` at most, so this is in bounds.
        let array = unsafe { self.arrays.get_unchecked(bits as usize) };
        // Relaxed: the Acquire load of the root that named this size ordered it.
        let array = array.load(Ordering::Relaxed);
        // SAFETY: the array was made before the root named it, has `2^bits` buckets, and lives as long
        // as the map (MEMORY_TYPE).
        unsafe { &*array.add(i) }
    }

    /// Provides an array of `2^bits` buckets: the one that there is, prepared to be filled again, or a new one. Returns
    /// whether there is memory for it. For the one thread that resizes.
    pub(super) fn provide(&self, bits: u32) -> bool {
        let mut owned = self.owned();
        if let Some((_, pages)) = owned.pages.iter().find(|(of, _)| *of == bits) {
            pages.reuse();
            let back = if pages.gives_back() { pages.size() } else { 0 };
            // Relaxed: a number.
            self.bytes.fetch_add(back, Ordering::Relaxed);
            return true;
        }
        let pages = Pages::try_zeroed(size_of::<InlineBucket>() << bits);
        pages.is_some_and(|pages| {
            self.adopt(&mut owned, bits, pages);
            true
        })
    }

    /// Provides the first array, of memory fresh from the system. Returns whether there is so much.
    pub(super) fn provide_fresh(&self, bits: u32) -> bool {
        let pages = Pages::try_fresh(size_of::<InlineBucket>() << bits);
        pages.is_some_and(|pages| {
            self.adopt(&mut self.owned(), bits, pages);
            true
        })
    }

    /// Brings bucket `i` of an array that is fresh from the system to life, and its neighbours, if it is fresh (FRESH)
    /// still: arrays are discarded under the lock that is held meanwhile.
    pub(super) fn bring_to_life(
        &self,
        bits: u32,
        i: usize,
        is_fresh: impl Fn(&InlineBucket) -> bool,
    ) {
        let _owned = self.owned();
        if is_fresh(self.nth(bits, i)) {
            let first = i - i % NEIGHBOURS;
            for i in first..(first + NEIGHBOURS).min(1 << bits) {
                self.nth(bits, i).draft(0).bring_to_life();
            }
        }
    }

    fn adopt(&self, owned: &mut Owned, bits: u32, pages: Pages) {
        debug_assert!(pages.as_ptr().cast::<InlineBucket>().is_aligned());
        // Relaxed: published by the Release store of the root.
        self.arrays[bits as usize].store(pages.as_ptr().cast(), Ordering::Relaxed);
        // Relaxed: a number.
        self.bytes.fetch_add(pages.size(), Ordering::Relaxed);
        owned.pages.push((bits, pages));
    }

    /// Gives back the memory of an array in which no bucket is live any more. For the one thread that
    /// resizes.
    pub(super) fn discard(&self, bits: u32) {
        let owned = self.owned();
        let mut pages = owned
            .pages
            .iter()
            .filter(|(of, pages)| *of == bits && pages.gives_back());
        if let Some((_, pages)) = pages.next() {
            // SAFETY: nothing in it is live; what readers still do there, they do by atomics.
            unsafe { pages.discard() };
            // Relaxed: a number.
            self.bytes.fetch_sub(pages.size(), Ordering::Relaxed);
        }
    }

    /// Returns an overflow bucket that is not in use.
    #[cold]
    pub(super) fn spare(&self) -> &InlineBucket {
        let mut owned = self.owned();
        let free = owned.free.pop().unwrap_or_else(|| {
            let made = NonNull::from(Box::leak(Box::<InlineBucket>::default()));
            owned.overflow.push(made);
            // Relaxed: a number.
            self.bytes
                .fetch_add(size_of::<InlineBucket>(), Ordering::Relaxed);
            made
        });
        // SAFETY: made here, freed when the map is dropped (MEMORY_TYPE).
        unsafe { free.as_ref() }
    }

    /// Takes overflow buckets back.
    pub(super) fn take_back<'a>(&self, spares: impl IntoIterator<Item = &'a InlineBucket>) {
        self.owned()
            .free
            .extend(spares.into_iter().map(NonNull::from));
    }

    /// Returns the number of bytes in use.
    pub(super) fn memory(&self) -> usize {
        // Relaxed: a number.
        self.bytes.load(Ordering::Relaxed)
    }

    fn owned(&self) -> MutexGuard<'_, Owned> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let owned = self.owned.get_mut().unwrap_or_else(PoisonError::into_inner);
        for overflow in owned.overflow.drain(..) {
            // SAFETY: from `Box::leak` in `spare`; listed once.
            drop(unsafe { Box::from_raw(overflow.as_ptr()) });
        }
    }
}
