//! The heads of a split-ordered list, in segments that never move.
//!
//! # Positions
//!
//! With `2^bits` buckets a bucket begins at a *position*: the top `bits` bits of the hashes in it, zeros below. Its
//! level is the least `bits` with which there is a bucket that begins there. The heads of one level are a segment, in
//! order, so doubling adds a segment and leaves all others alone:
//!
//! ```text
//! level    position (top bits)                                    segment
//! 0 to 3   000      001      010      011  ...                    0:  8 heads
//! 4          0001     0011     0101     0111  ...                 1:  8 heads
//! 5         00001 00011 00101 00111 01001 ...                     2: 16 heads
//! ```
//!
//! # A head's life
//!
//! Its order says what it is: zero, unclaimed; its position and [`CLAIMED`], a thread is putting it into the list; and
//! [`READY`] besides, it is in the list and a place to begin at. An order that is not zero compares with others alike in
//! all states: less than the nodes at and behind its position, more than those before.
//!
//! # Invariants
//!
//! * **CLAIMED_ONCE**: only the thread that has claimed a head puts it into the list, so it is there once.
//! * **READY_LINKED**: a head that is ready is in the list, and heads are not taken out.
//! * **SEGMENTS_FIRST**: when there are `2^bits` buckets, all their segments are there.
//!
//! A thread that needs a head that is not ready begins at the nearest one before that is: with a position's lowest set
//! bit cleared it is the position of the bucket that this one was split from. So a thread that stops between claiming
//! a head and linking it makes others walk a longer way, and holds up none.

use std::ptr::NonNull;

#[cfg(not(any(loom, shuttle)))]
use fyris_sync::alloc::Pages;
use fyris_sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use fyris_sync::reclaim::Guard;

use crate::list::{Buckets, Head, Link, seek};

/// In the order of a head: a thread puts it into the list, or has done so.
const CLAIMED: u64 = 2;
/// In the order of a head: it is in the list.
const READY: u64 = 4;

/// Level of the last heads in the first segment: the smallest table has `2^FIRST_BITS` buckets.
const FIRST_BITS: u32 = if cfg!(any(fyris_small, loom, shuttle)) {
    1
} else {
    3
};
/// The largest table: 2^40 buckets, more than there is memory for; in a model few.
const MAX_BITS: u32 = if cfg!(any(loom, shuttle)) { 6 } else { 40 };
const SEGMENTS: usize = (MAX_BITS - FIRST_BITS + 1) as usize;

/// The buckets of a split-ordered list. See the [module](super).
pub struct Segments {
    bits: AtomicU32,
    bytes: AtomicUsize,
    segments: [AtomicPtr<Segment>; SEGMENTS],
}

/// The heads of one level; in the first segment of several.
struct Segment {
    heads: *const Head,
    #[cfg(not(any(loom, shuttle)))]
    memory: Pages,
    #[cfg(any(loom, shuttle))]
    memory: Box<[Head]>,
}

// SAFETY: `heads` points into `memory`, which the segment owns; all else is atomic.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    fn new(heads: usize) -> Box<Segment> {
        #[cfg(not(any(loom, shuttle)))]
        let memory = Pages::zeroed(heads * size_of::<Head>());
        #[cfg(not(any(loom, shuttle)))]
        let heads = memory.as_ptr().cast_const().cast::<Head>();
        #[cfg(any(loom, shuttle))]
        let memory: Box<[Head]> = (0..heads).map(|_| Head::default()).collect();
        #[cfg(any(loom, shuttle))]
        let heads = memory.as_ptr();
        Box::new(Segment { heads, memory })
    }

    fn bytes(&self) -> usize {
        #[cfg(not(any(loom, shuttle)))]
        let array = self.memory.size();
        #[cfg(any(loom, shuttle))]
        let array = size_of_val(&*self.memory);
        size_of::<Self>() + array
    }
}

/// Returns the number of heads in a segment.
fn heads_of(segment: usize) -> usize {
    1 << (FIRST_BITS as usize + segment.saturating_sub(1))
}

/// Returns where the head of a position is: its segment, and its place there.
#[inline]
fn place_of(position: u64) -> (usize, usize) {
    // 64 trailing zeros, for position 0, are level 0.
    let level = 64 - position.trailing_zeros();
    if level <= FIRST_BITS {
        (0, (position >> (64 - FIRST_BITS)) as usize)
    } else {
        let segment = (level - FIRST_BITS) as usize;
        // Of the positions of this many bits every second one is of this level.
        let shared = u32::from(cfg!(fyris_mutant = "split_heads_shared"));
        (segment, (position >> (64 - level) >> (1 + shared)) as usize)
    }
}

/// Returns the position of the bucket that the one at this position was split from.
#[inline]
fn parent(position: u64) -> u64 {
    position & position.wrapping_sub(1)
}

fn bits_for(capacity: usize) -> u32 {
    let buckets = capacity.checked_next_power_of_two().unwrap_or(usize::MAX);
    buckets.ilog2().clamp(FIRST_BITS, MAX_BITS)
}

fn is_ready(head: &Head) -> bool {
    // Acquire: pairs with the Release in `link`: the head is in the list (READY_LINKED).
    head.order.load(Ordering::Acquire) & READY != 0 || cfg!(fyris_mutant = "split_begins_unlinked")
}

impl Segments {
    #[inline]
    fn bits(&self) -> u32 {
        // Acquire: pairs with the Release in `grow`: the segments are there (SEGMENTS_FIRST).
        self.bits.load(Ordering::Acquire)
    }

    /// Returns the position of the bucket of an order.
    #[inline]
    fn position(&self, order: u64) -> u64 {
        let shift = 64 - self.bits();
        order >> shift << shift
    }

    /// Returns the head of a position of one of the buckets.
    #[inline]
    fn head(&self, position: u64) -> &Head {
        let (segment, place) = place_of(position);
        // Acquire: pairs with the Release in `add_segment`.
        let segment = self.segments[segment].load(Ordering::Acquire);
        // SAFETY: the segment of a bucket is there (SEGMENTS_FIRST), as long as the table, and is as long as the level
        // has positions; zeroed memory is an unclaimed head.
        unsafe { &*(*segment).heads.add(place) }
    }

    /// Returns the nearest head that is ready, at a position or before.
    #[inline]
    fn ready_at(&self, mut position: u64) -> &Head {
        loop {
            let head = self.head(position);
            if position == 0 || is_ready(head) {
                return head;
            }
            position = parent(position);
        }
    }

    /// Puts the head of a position into the list, and first the one of the bucket it was split from.
    #[cold]
    fn prepare(&self, position: u64, pin: &impl Guard) {
        let before = parent(position);
        if before != 0 && !is_ready(self.head(before)) {
            self.prepare(before, pin);
        }
        let (head, order) = (self.head(position), position | CLAIMED);
        // Relaxed, both: the order is published with the link to the head; a thread that fails does nothing.
        let claim = head
            .order
            .compare_exchange(0, order, Ordering::Relaxed, Ordering::Relaxed);
        if claim.is_ok() || cfg!(fyris_mutant = "split_claimed_twice") {
            self.link(head, order, &self.ready_at(before).next, pin);
        }
    }

    /// Puts a head that this thread has claimed into the list, which is entered at `start`.
    fn link(&self, head: &Head, order: u64, start: &Link, pin: &impl Guard) {
        loop {
            let front = seek(start, |at| at >= order, pin);
            // SAFETY: claimed once (CLAIMED_ONCE), so it is in no list; heads live as long as the table.
            if unsafe { front.insert(NonNull::from(head)) } {
                break;
            }
        }
        // Release: pairs with the Acquire in `is_ready`: it has been linked.
        head.order.store(order | READY, Ordering::Release);
    }

    /// Makes a segment, unless it is there.
    fn add_segment(&self, segment: usize) {
        let new = Segment::new(heads_of(segment));
        let bytes = new.bytes();
        let new = Box::into_raw(new);
        // Release: pairs with the Acquire in `head`. Relaxed: the other's is as good.
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
}

impl Buckets for Segments {
    fn with_capacity(capacity: usize) -> Self {
        let bits = bits_for(capacity);
        let table = Segments {
            bits: AtomicU32::new(bits),
            bytes: AtomicUsize::new(0),
            segments: std::array::from_fn(|_| AtomicPtr::default()),
        };
        (0..=(bits - FIRST_BITS) as usize).for_each(|segment| table.add_segment(segment));
        // Relaxed: not shared yet.
        table
            .head(0)
            .order
            .store(CLAIMED | READY, Ordering::Relaxed);
        table
    }

    fn count(&self) -> usize {
        1 << self.bits()
    }

    fn memory(&self) -> usize {
        // Relaxed: a number.
        self.bytes.load(Ordering::Relaxed)
    }

    #[inline]
    fn before(&self, order: u64) -> &Link {
        &self.ready_at(self.position(order)).next
    }

    #[inline]
    fn before_write(&self, order: u64, pin: &impl Guard) -> &Link {
        let position = self.position(order);
        if !is_ready(self.head(position)) {
            self.prepare(position, pin);
        }
        &self.ready_at(position).next
    }

    fn next_list(&self, _: u64) -> Option<u64> {
        None
    }

    /// Doubles the buckets when there are more entries.
    fn grow(&self, entries: usize) {
        let bits = self.bits();
        if entries <= 1 << bits || bits == MAX_BITS {
            return;
        }
        self.add_segment((bits + 1 - FIRST_BITS) as usize);
        // Release: pairs with the Acquire in `bits` (SEGMENTS_FIRST). Relaxed: another thread has doubled them.
        _ = self
            .bits
            .compare_exchange(bits, bits + 1, Ordering::Release, Ordering::Relaxed);
    }
}

impl Drop for Segments {
    fn drop(&mut self) {
        for segment in &self.segments {
            // Relaxed: `&mut self` is ordered after everything.
            let segment = segment.load(Ordering::Relaxed);
            if !segment.is_null() {
                // SAFETY: from `Box::into_raw` in `add_segment`; no other thread can reach the table.
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
            let last = (bits - FIRST_BITS) as usize;
            assert_eq!((0..=last).map(heads_of).sum::<usize>(), 1 << bits);
            assert!(
                places
                    .iter()
                    .all(|&(segment, place)| segment <= last && place < heads_of(segment))
            );
        }
    }

    #[test]
    fn a_bucket_is_split_from_the_one_before_it() {
        for bits in FIRST_BITS..12 {
            for bucket in 1..1u64 << bits {
                let position = bucket << (64 - bits);
                let level = 64 - position.trailing_zeros();
                let above = u64::MAX.checked_shl(65 - level).unwrap_or(0);
                assert_eq!(parent(position), position & above);
            }
        }
    }
}
