//! Arrays of buckets that grow without moving, for tables in the order of hashes.
//!
//! A bucket begins at a *position*: the first bits of the hashes in it, zeros below. Its level is the least number of
//! bits with which there is a bucket that begins there. The buckets of one level are a segment, in order, so a table
//! grows by further segments and leaves all others alone:
//!
//! ```text
//! level    position (top bits)                                    segment
//! 0 to 3   000      001      010      011  ...                    0:  8 buckets
//! 4          0001     0011     0101     0111  ...                 1:  8 buckets
//! 5         00001 00011 00101 00111 01001 ...                     2: 16 buckets
//! ```

use std::marker::PhantomData;

#[cfg(not(any(loom, shuttle)))]
use fyris_sync::alloc::Pages;
use fyris_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Level of the last buckets in the first segment: the smallest table has `2^FIRST_BITS` buckets.
pub(crate) const FIRST_BITS: u32 = if cfg!(any(fyris_small, loom, shuttle)) {
    1
} else {
    3
};
/// The highest level: 2^40 buckets, more than there is memory for; in a model few.
pub(crate) const MAX_BITS: u32 = if cfg!(any(loom, shuttle)) { 6 } else { 40 };
const SEGMENTS: usize = (MAX_BITS - FIRST_BITS + 1) as usize;

/// Returns the level of a position.
#[inline]
pub(crate) fn level_of(position: u64) -> u32 {
    // Position 0 has 64 trailing zeros.
    64 - position.trailing_zeros()
}

/// Returns the segment of the buckets of a level.
pub(crate) fn segment_of(level: u32) -> usize {
    level.saturating_sub(FIRST_BITS) as usize
}

/// Returns the number of buckets in a segment.
fn buckets_in(segment: usize) -> usize {
    1 << (FIRST_BITS as usize + segment.saturating_sub(1))
}

/// Returns where the bucket of a position is: its segment, and its place there.
#[inline]
fn place_of(position: u64) -> (usize, usize) {
    let level = level_of(position);
    if level <= FIRST_BITS {
        return (0, (position >> (64 - FIRST_BITS)) as usize);
    }
    let shared = u32::from(cfg!(fyris_mutant = "levels_share_buckets"));
    // Of the positions of this many bits every second one is of this level.
    let place = position >> (64 - level) >> (1 + shared);
    ((level - FIRST_BITS) as usize, place as usize)
}

/// Returns the position of the bucket that the one at this position was split from.
#[inline]
pub(crate) fn parent(position: u64) -> u64 {
    position & position.wrapping_sub(1)
}

/// A bucket that can be made of zeroed memory.
///
/// # Safety
///
/// Where there is no model, all bytes zero are a valid value, the same as the default.
pub(crate) unsafe trait Zeroed: Default {}

/// Buckets by position. A segment is made before a bucket in it is asked for.
pub(crate) struct Levels<T> {
    segments: [AtomicPtr<Segment<T>>; SEGMENTS],
    bytes: AtomicUsize,
    buckets: PhantomData<T>,
}

struct Segment<T> {
    buckets: *const T,
    #[cfg(not(any(loom, shuttle)))]
    memory: Pages,
    #[cfg(any(loom, shuttle))]
    memory: Box<[T]>,
}

impl<T: Zeroed> Segment<T> {
    fn new(buckets: usize) -> Box<Self> {
        #[cfg(not(any(loom, shuttle)))]
        let memory = Pages::zeroed(buckets * size_of::<T>());
        #[cfg(not(any(loom, shuttle)))]
        let buckets = memory.as_ptr().cast_const().cast::<T>();
        #[cfg(any(loom, shuttle))]
        let memory: Box<[T]> = (0..buckets).map(|_| T::default()).collect();
        #[cfg(any(loom, shuttle))]
        let buckets = memory.as_ptr();
        Box::new(Self { buckets, memory })
    }

    fn bytes(&self) -> usize {
        #[cfg(not(any(loom, shuttle)))]
        let array = self.memory.size();
        #[cfg(any(loom, shuttle))]
        let array = size_of_val(&*self.memory);
        size_of::<Self>() + array
    }
}

impl<T: Zeroed> Levels<T> {
    /// Makes the segments of all levels up to `bits`.
    pub(crate) fn with_bits(bits: u32) -> Self {
        let levels = Self {
            segments: std::array::from_fn(|_| AtomicPtr::default()),
            bytes: AtomicUsize::new(0),
            buckets: PhantomData,
        };
        (0..=segment_of(bits)).for_each(|segment| levels.add(segment));
        levels
    }

    /// Returns the bucket of a position.
    ///
    /// # Safety
    ///
    /// The caller knows that the position's segment has been added, and is not removed while the result is in use.
    #[inline]
    pub(crate) unsafe fn at(&self, position: u64) -> &T {
        let (segment, place) = place_of(position);
        // Acquire: pairs with the Release in `add`.
        let segment = self.segments[segment].load(Ordering::Acquire);
        // SAFETY: the segment is there, as the caller knows, and has as many buckets as its level has positions.
        unsafe { &*(*segment).buckets.add(place) }
    }

    /// Makes a segment, unless it is there.
    pub(crate) fn add(&self, segment: usize) {
        // Acquire: as in `at`.
        if !self.segments[segment].load(Ordering::Acquire).is_null() {
            return;
        }
        let new = Segment::new(buckets_in(segment));
        let bytes = new.bytes();
        let new = Box::into_raw(new);
        // Release: pairs with the Acquire in `at`. Relaxed: the other's is as good.
        let added = self.segments[segment].compare_exchange(
            std::ptr::null_mut(),
            new,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if added.is_ok() {
            // Relaxed: a number.
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        } else {
            // SAFETY: from `Box::into_raw`, not published.
            drop(unsafe { Box::from_raw(new) });
        }
    }

    /// Frees a segment.
    ///
    /// # Safety
    ///
    /// No thread uses a bucket in it, nor asks for one before the segment has been added again.
    pub(crate) unsafe fn remove(&self, segment: usize) {
        // Acquire: pairs with the Release in `add`.
        let old = self.segments[segment].swap(std::ptr::null_mut(), Ordering::Acquire);
        if !old.is_null() {
            // SAFETY: from `Box::into_raw` in `add`; the swap gives it to one thread, and no other uses it.
            let old = unsafe { Box::from_raw(old) };
            // Relaxed: a number.
            self.bytes.fetch_sub(old.bytes(), Ordering::Relaxed);
        }
    }

    /// Returns the number of bytes on the heap.
    pub(crate) fn memory(&self) -> usize {
        // Relaxed: a number.
        self.bytes.load(Ordering::Relaxed)
    }
}

impl<T> Drop for Levels<T> {
    fn drop(&mut self) {
        for segment in &self.segments {
            // Relaxed: `&mut self` is ordered after everything.
            let segment = segment.load(Ordering::Relaxed);
            if !segment.is_null() {
                // SAFETY: from `Box::into_raw` in `add`; no other thread can reach the buckets.
                drop(unsafe { Box::from_raw(segment) });
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_position_has_a_place_of_its_own() {
        for bits in FIRST_BITS..12 {
            let positions = (0..1u64 << bits).map(|bucket| bucket << (64 - bits));
            let places: HashSet<_> = positions.map(place_of).collect();
            assert_eq!(places.len(), 1 << bits);
            let last = segment_of(bits);
            assert_eq!((0..=last).map(buckets_in).sum::<usize>(), 1 << bits);
            let is_inside = |&(segment, place)| segment <= last && place < buckets_in(segment);
            assert!(places.iter().all(is_inside));
        }
    }

    #[test]
    fn a_bucket_is_split_from_the_one_before_it() {
        for bits in FIRST_BITS..12 {
            for bucket in 1..1u64 << bits {
                let position = bucket << (64 - bits);
                let above = u64::MAX.checked_shl(65 - level_of(position)).unwrap_or(0);
                assert_eq!(parent(position), position & above);
            }
        }
    }
}
