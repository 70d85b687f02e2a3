//! The ring of the log: how many entries it has, and where each of them lies.
//!
//! The file has room for the log of the largest segment, and space for that of the present one: a ring of twice as many
//! entries as the segment has pages, which is made longer when the segment grows.
//!
//! A longer ring of `len` entries begins at the position where it is made, `start`, behind the space of the shorter
//! one, which had `before` entries. Entry `s` from `start` on is at `(s - start + before) % len`, and those below stay
//! where they are. So no entry of the shorter ring is written over before the longer one has come to its end, `len -
//! before` entries on; then none of them may be left, and the longer ring is as any other.
//!
//! | word of the header | content |
//! |---|---|
//! | RING | the present ring: its number in the table |
//! | RINGS | the table: for the ring of `1024 << number` entries the position `start` (58 bits), and 1 + the binary logarithm of `before` (6 bits, 1: there was none before); 0: there was no such ring |

use fyris_sync::atomic::{AtomicU64, Ordering};

use super::Trunk;
use super::layout::{MAX_RINGS, MIN_LOG, word};
use crate::failpoints::failpoint;

/// The bits of a word of the table with the logarithm.
const BEFORE_BITS: u32 = 6;

/// One ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ring {
    pub(crate) start: u64,
    before: usize,
    /// Its entries, a power of two.
    pub(crate) len: usize,
}

/// Returns the word of the table for a ring that begins at `start`, behind one of `before` entries (0: none).
pub(super) fn ring_word(start: u64, before: usize) -> u64 {
    start << BEFORE_BITS | before.checked_ilog2().map_or(1, |log| u64::from(log) + 1)
}

/// Returns the number of the ring of `len` entries.
pub(super) fn ring_number(len: usize) -> usize {
    (len / MIN_LOG as usize).ilog2() as usize
}

impl Ring {
    /// Reads the word of ring `number`; `None` if there was no such ring.
    #[inline]
    fn of(number: usize, word: u64) -> Option<Ring> {
        let log = (word & ((1 << BEFORE_BITS) - 1)) as u32;
        (log != 0).then(|| Ring {
            start: word >> BEFORE_BITS,
            before: (1usize << (log - 1)) & !1,
            len: (MIN_LOG as usize) << number,
        })
    }

    /// Returns the place of entry `position` in the log, below `len`.
    #[inline]
    pub(super) fn place(&self, position: u64) -> usize {
        (position.wrapping_sub(self.start) as usize).wrapping_add(self.before) & (self.len - 1)
    }

    /// Returns where the tail has to be before entries up to `end` are written.
    pub(super) fn tail_for(&self, end: u64) -> u64 {
        let fresh = self.len.saturating_sub(self.before) as u64;
        match end.saturating_sub(self.start) <= fresh {
            true => 0,
            false if cfg!(fyris_mutant = "segment_ring_turns_early") => {
                end.saturating_sub(self.len as u64)
            }
            false => self.start.max(end.saturating_sub(self.len as u64)),
        }
    }
}

impl Trunk {
    fn ring_at(&self, number: usize) -> &AtomicU64 {
        self.word(word::RINGS + number * 8)
    }

    /// Returns the number of the longest ring that the file has room for.
    fn last_ring(&self) -> usize {
        ring_number(self.geometry.log).min(MAX_RINGS - 1)
    }

    /// Returns the present ring.
    #[inline]
    pub(crate) fn ring(&self) -> Ring {
        // Acquire: pairs with the Release in `lengthen`: its place in the table is written. A process that has read a
        // position sees the ring of the entries below it, which was made before they were published.
        let number = self.word(word::RING).load(Ordering::Acquire) as usize;
        let number = number.min(self.last_ring());
        // Relaxed: as above; what a hostile process writes leads into the log all the same.
        let word = self.ring_at(number).load(Ordering::Relaxed);
        Ring::of(number, word).unwrap_or_else(|| self.older_ring(u64::MAX))
    }

    /// Returns the longest ring that begins at `position` or before.
    #[cold]
    pub(super) fn older_ring(&self, position: u64) -> Ring {
        let rings = (0..=self.last_ring()).rev();
        let mut rings = rings.filter_map(|number| {
            // Relaxed: as in `ring`.
            Ring::of(number, self.ring_at(number).load(Ordering::Relaxed))
        });
        // There is one, unless a hostile process took it away.
        rings.find(|ring| ring.start <= position).unwrap_or(Ring {
            start: 0,
            before: 0,
            len: MIN_LOG as usize,
        })
    }

    /// Makes the ring `len` entries long, which have their space. `position` is the log's. For holders of the lock.
    pub(super) fn lengthen(&self, position: u64, len: usize) {
        let (now, number) = (self.ring(), ring_number(len));
        for between in ring_number(now.len) + 1..number {
            // Relaxed: under the lock. A process that died here may have left one that was never used.
            self.ring_at(between).store(0, Ordering::Relaxed);
        }
        // Relaxed: published by the next.
        self.ring_at(number)
            .store(ring_word(position, now.len), Ordering::Relaxed);
        failpoint!("ring about to be longer");
        // Release: pairs with the Acquire in `ring`.
        self.word(word::RING)
            .store(number as u64, Ordering::Release);
        failpoint!("ring longer");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever commits and growths there are: no entry from the tail on is written over.
        #[test]
        fn entries_from_the_tail_on_stay(
            steps in prop::collection::vec((1..3000u64, 0..10u8, 0..4000u64), 1..60),
        ) {
            let mut rings = vec![Ring { start: 0, before: 0, len: 1024 }];
            let mut places = std::collections::HashMap::new();
            let (mut tail, mut position) = (0, 0);
            for (count, kind, lag) in steps {
                let now = *rings.last().unwrap();
                if kind == 0 && now.len < 1 << 16 {
                    let len = now.len << (1 + lag % 2);
                    let word = ring_word(position, now.len);
                    rings.push(Ring::of(ring_number(len), word).unwrap());
                }
                let now = *rings.last().unwrap();
                let end = position + count.min(now.len as u64);
                // The tail moves as far as it must, and sometimes further.
                tail = tail.max(now.tail_for(end)).max(position.saturating_sub(lag));
                prop_assert!(tail <= position && end - tail <= now.len as u64);
                for at in position..end {
                    let of = rings.iter().rev().find(|ring| ring.start <= at).unwrap();
                    let over = places.insert(of.place(at), at);
                    prop_assert!(over.is_none_or(|over| over < tail), "{over:?} {tail} {at}");
                }
                position = end;
            }
        }
    }
}
