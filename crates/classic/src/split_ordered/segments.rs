//! The heads of a split-ordered list, in [levels](crate::levels): with `2^bits` buckets the levels up to `bits`.
//!
//! # A head's life
//!
//! Its order says what it is: zero, unclaimed; its position and [`CLAIMED`], a thread is putting it into the list; and
//! [`READY`] besides, it is in the list and a place to begin at. An order that is not zero compares with others alike
//! in all states: less than the nodes at and behind its position, more than those before.
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

use fyris_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use fyris_sync::reclaim::Guard;

use crate::levels::{FIRST_BITS, Levels, MAX_BITS, Zeroed, parent, segment_of};
use crate::list::{Buckets, Head, Link, seek};

/// In the order of a head: a thread puts it into the list, or has done so.
const CLAIMED: u64 = 2;
/// In the order of a head: it is in the list.
const READY: u64 = 4;

// SAFETY: a null link and an order of zero.
unsafe impl Zeroed for Head {}

/// The buckets of a split-ordered list. See the [module](super).
pub struct Segments {
    bits: AtomicU32,
    /// The number of buckets that writers have prepared, or are about to, in the order in which levels are laid out.
    prepared: AtomicUsize,
    heads: Levels<Head>,
}

/// Returns the position of the bucket with this number, not 0, in the order in which levels are laid out.
fn laid_out(number: usize) -> u64 {
    let level = number.ilog2();
    ((2 * (number - (1 << level)) + 1) as u64) << (63 - level)
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
        // SAFETY: the segment of a bucket is there (SEGMENTS_FIRST), as long as the table.
        unsafe { self.heads.at(position) }
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
}

impl Buckets for Segments {
    fn with_capacity(capacity: usize) -> Self {
        let bits = bits_for(capacity);
        let table = Segments {
            bits: AtomicU32::new(bits),
            prepared: AtomicUsize::new(1),
            heads: Levels::with_bits(bits),
        };
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
        self.heads.memory()
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

    /// Doubles the buckets when there are more entries; then prepares twice as many as entries have been added, if so
    /// many are not prepared, so that most lookups find the head of their bucket in the list.
    fn grow(&self, entries: usize, added: usize, pin: &impl Guard) {
        let bits = self.bits();
        if entries > 1 << bits && bits < MAX_BITS {
            self.heads.add(segment_of(bits + 1));
            // Release: pairs with the Acquire in `bits` (SEGMENTS_FIRST). Relaxed: another thread has doubled them.
            _ = self
                .bits
                .compare_exchange(bits, bits + 1, Ordering::Release, Ordering::Relaxed);
        }
        let (count, share) = (self.count(), 2 * added);
        // Relaxed, twice: threads share work by it, which any other may do as well.
        if self.prepared.load(Ordering::Relaxed) >= count {
            return;
        }
        let first = self.prepared.fetch_add(share, Ordering::Relaxed);
        for number in first..count.min(first + share) {
            let position = laid_out(number);
            if !is_ready(self.head(position)) {
                self.prepare(position, pin);
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_laid_out_behind_those_they_are_split_from() {
        let mut all = vec![0];
        for number in 1..1 << 10 {
            let position = laid_out(number);
            assert!(all.contains(&parent(position)) && !all.contains(&position));
            all.push(position);
        }
    }
}
