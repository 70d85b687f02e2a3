//! Arrays of buckets, one of each size at most, and the pool of overflow buckets.
//!
//! An array is named by one word, a [`Place`]: its address and its size. Whoever has such a word, however old, finds in
//! it a bucket for every hash.
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
use fyris_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use fyris_sync::lock::{Mutex, MutexGuard};

use super::bucket::InlineBucket;
#[cfg(any(loom, shuttle))]
use super::model::Pages;

/// The largest array has 2^31 buckets: 256 GiB.
pub(super) const MAX_BITS: u32 = 31;

/// Buckets that are brought to life at once: the lock is taken once for all of them.
const NEIGHBOURS: usize = if cfg!(fyris_small) { 2 } else { 64 };

/// An array: its address, and in the low bits 64 less the binary logarithm of its size.
///
/// ```text
///  63                                  7    6      5     0
/// +------------------------------------+--------+---------+
/// | address, a multiple of 128         | steady | shift   |   0 = none
/// +------------------------------------+--------+---------+
/// ```
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Place(pub(super) u64);

impl Place {
    const SHIFT: u64 = 63;
    const STEADY: u64 = 64;

    fn new(array: *mut InlineBucket, bits: u32) -> Self {
        const { assert!(align_of::<InlineBucket>() as u64 > Self::STEADY) };
        Self(array.expose_provenance() as u64 | u64::from(64 - bits))
    }

    /// Returns the same with the note that nothing moves.
    pub(super) fn steady(self) -> Self {
        Self(self.0 | Self::STEADY)
    }

    /// Returns whether there was an array, and nothing moved, when this was noted.
    #[inline]
    pub(super) fn is_steady(self) -> bool {
        self.0 & Self::STEADY != 0
    }

    /// Returns the binary logarithm of the number of buckets.
    #[inline]
    pub(super) fn bits(self) -> u32 {
        64 - (self.0 & Self::SHIFT) as u32
    }

    /// Returns the number of the bucket of a hash.
    #[inline]
    pub(super) fn index(self, hash: u64) -> usize {
        (hash >> (self.0 & Self::SHIFT)) as usize
    }

    /// Returns the bucket of a hash.
    ///
    /// # Safety
    ///
    /// It is the place of an array of a map that lives during `'a` (MEMORY_TYPE).
    #[inline]
    pub(super) unsafe fn bucket<'a>(self, hash: u64) -> &'a InlineBucket {
        let array = (self.0 & !(Self::STEADY | Self::SHIFT)) as usize;
        let array = std::ptr::with_exposed_provenance::<InlineBucket>(array);
        // SAFETY: the caller's contract; the shift leaves a number below the number of buckets.
        unsafe { &*array.add(self.index(hash)) }
    }

    /// Returns bucket `i`.
    ///
    /// # Safety
    ///
    /// As for [`Place::bucket`].
    pub(super) unsafe fn nth<'a>(self, i: usize) -> &'a InlineBucket {
        assert!(i < 1 << self.bits());
        // SAFETY: the caller's contract.
        unsafe { self.bucket((i as u64) << (self.0 & Self::SHIFT)) }
    }
}

/// All memory of a map.
pub(super) struct Space {
    /// The arrays that moves of even and of odd generations have made: the present one, and that of the next size or
    /// one that is not in use.
    places: [AtomicU64; 2],
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
    /// Makes the memory of a map whose first array, fresh from the system, has `2^bits` buckets. `None` if there is not
    /// so much.
    pub(super) fn try_new(bits: u32) -> Option<Self> {
        let space = Self {
            places: [AtomicU64::new(0), AtomicU64::new(0)],
            bytes: AtomicUsize::new(0),
            owned: Mutex::new(Owned::default()),
        };
        let pages = Pages::try_fresh(size_of::<InlineBucket>() << bits)?;
        space.adopt(&mut space.owned(), 0, bits, pages);
        space.bring_to_life(space.place(0), 0, |_| true);
        Some(space)
    }

    /// Returns the array that the move of a generation has made, or, if that was long ago, another one.
    pub(super) fn place(&self, generation: u64) -> Place {
        // Acquire: pairs with the Release in `show`.
        Place(self.places[generation as usize % 2].load(Ordering::Acquire))
    }

    /// Makes an array that of a generation.
    fn show(&self, generation: u64, place: Place) {
        // Release: pairs with the Acquire in `place`: the array has been made.
        self.places[generation as usize % 2].store(place.0, Ordering::Release);
    }

    /// Provides an array of `2^bits` buckets for the move of a generation: the one that there is, prepared to be filled
    /// again, or a new one. Returns whether there is memory for it. For the one thread that resizes.
    pub(super) fn provide(&self, generation: u64, bits: u32) -> bool {
        let mut owned = self.owned();
        if let Some((_, pages)) = owned.pages.iter().find(|(of, _)| *of == bits) {
            pages.reuse();
            let back = if pages.gives_back() { pages.size() } else { 0 };
            // Relaxed: a number.
            self.bytes.fetch_add(back, Ordering::Relaxed);
            self.show(generation, Place::new(pages.as_ptr().cast(), bits));
            return true;
        }
        let pages = Pages::try_zeroed(size_of::<InlineBucket>() << bits);
        pages.is_some_and(|pages| {
            self.adopt(&mut owned, generation, bits, pages);
            true
        })
    }

    /// Brings bucket `i` of an array that is fresh from the system to life, and its neighbours, if it is fresh (FRESH)
    /// still: arrays are discarded under the lock that is held meanwhile.
    pub(super) fn bring_to_life(
        &self,
        place: Place,
        i: usize,
        is_fresh: impl Fn(&InlineBucket) -> bool,
    ) {
        let _owned = self.owned();
        // SAFETY: an array of this map, which outlives the call (MEMORY_TYPE).
        let nth = |i| unsafe { place.nth(i) };
        if is_fresh(nth(i)) {
            let first = i - i % NEIGHBOURS;
            for i in first..(first + NEIGHBOURS).min(1 << place.bits()) {
                nth(i).draft(0).bring_to_life();
            }
        }
    }

    fn adopt(&self, owned: &mut Owned, generation: u64, bits: u32, pages: Pages) {
        debug_assert!(pages.as_ptr().cast::<InlineBucket>().is_aligned());
        self.show(generation, Place::new(pages.as_ptr().cast(), bits));
        // Relaxed: a number.
        self.bytes.fetch_add(pages.size(), Ordering::Relaxed);
        // Most maps never have a second one.
        owned.pages.reserve_exact(1);
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
