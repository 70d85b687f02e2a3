//! The permutation word of a leaf: the live slots in key order.
//!
//! ```text
//! bits 63..60   59..56 ... 7..4  3..0
//!      live     p14    ... p1    p0
//! ```
//!
//! `live` counts the entries. `p0..` name slots: first the live ones in key order, then those whose entry is gone, then
//! `F` for each slot that was never written. As in Masstree (Mao, Kohler and Morris, EuroSys 2012, section 4.6.2) one
//! store of the word publishes a change; but a slot whose entry is gone is never given out again (invariant
//! WRITTEN_ONCE), so a word never returns: every change raises the number of written slots or the number of gone ones.
//! That makes the word a version.

use super::SLOTS;

/// The nibbles, without the count.
const ORDER: u64 = (1 << 60) - 1;

/// A value of the permutation word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Perm(pub(super) u64);

impl Perm {
    /// The permutation of a leaf in which no slot was written.
    #[cfg(test)]
    pub(super) const EMPTY: Perm = Perm(ORDER);

    /// Returns the permutation in which the slots `0..live` are live, in that order.
    pub(super) fn sorted(live: usize) -> Perm {
        debug_assert!(live <= SLOTS);
        let known = low(live);
        Perm(((live as u64) << 60) | (0xedc_ba98_7654_3210 & known) | (ORDER & !known))
    }

    /// Returns the number of live entries.
    #[inline]
    pub(super) fn len(self) -> usize {
        (self.0 >> 60) as usize
    }

    /// Returns the slot of the entry at `pos` in key order.
    #[inline]
    pub(super) fn slot(self, pos: usize) -> usize {
        (self.0 >> (4 * pos)) as usize & 15
    }

    /// Returns the position in key order of the entry of this slot, if it is live.
    #[inline]
    pub(super) fn position(self, slot: usize) -> Option<usize> {
        debug_assert!(slot < SLOTS);
        const ONES: u64 = ORDER / 15;
        // Zero where a nibble names the slot; the lowest such nibble has the lowest bit set in `found`.
        let differ = (self.0 & ORDER) ^ (slot as u64 * ONES);
        let found = differ.wrapping_sub(ONES) & !differ & (8 * ONES);
        let pos = (found.trailing_zeros() / 4) as usize;
        (pos < self.len()).then_some(pos)
    }

    /// Returns a mask with bit `slot` for each slot with a live entry.
    #[inline]
    pub(super) fn live(self) -> u64 {
        let mut slots = (1 << self.used()) - 1;
        for pos in self.len()..self.used() {
            slots &= !(1 << self.slot(pos));
        }
        slots
    }

    /// Returns the number of slots that have been written: the next free slot, if below [`SLOTS`].
    #[inline]
    pub(super) fn used(self) -> usize {
        15 - (self.0 << 4).leading_ones() as usize / 4
    }

    /// Returns true when every slot has been written.
    #[inline]
    pub(super) fn is_full(self) -> bool {
        self.used() >= SLOTS
    }

    /// Returns the permutation in which the next free slot is live at `pos`.
    #[inline]
    pub(super) fn insert(self, pos: usize) -> Perm {
        debug_assert!(pos <= self.len() && !self.is_full());
        let slot = self.used() as u64;
        let below = low(pos);
        // The last nibble is `F`, because a slot is free; it falls off the end.
        let above = ((self.0 & ORDER & !below) << 4) & ORDER;
        let live = self.len() as u64 + 1;
        Perm((live << 60) | above | (slot << (4 * pos)) | (self.0 & below))
    }

    /// Returns the permutation without the entry at `pos`; its slot goes behind the live ones.
    #[inline]
    pub(super) fn remove(self, pos: usize) -> Perm {
        let live = self.len();
        debug_assert!(pos < live);
        let slot = self.slot(pos) as u64;
        let (below, upto) = (low(pos), low(live));
        let between = ((self.0 & upto) >> 4) & !below;
        let behind = self.0 & ORDER & !upto;
        let left = live - 1;
        Perm(((left as u64) << 60) | behind | (slot << (4 * left)) | between | (self.0 & below))
    }
}

/// Returns a mask of the lowest `count` nibbles.
#[inline]
fn low(count: usize) -> u64 {
    (1 << (4 * count)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn live(p: Perm) -> Vec<usize> {
        (0..p.len()).map(|i| p.slot(i)).collect()
    }

    #[test]
    fn sorted_is_what_inserting_at_the_end_gives() {
        let mut p = Perm::EMPTY;
        for n in 0..=SLOTS {
            assert_eq!(p, Perm::sorted(n));
            assert_eq!((p.len(), p.used()), (n, n));
            if n < SLOTS {
                p = p.insert(n);
            }
        }
        assert!(p.is_full());
    }

    /// Walks every sequence of changes of a leaf of three written slots, and more of them at random, against a list;
    /// and checks that no word of one history returns.
    #[test]
    fn follows_a_list_and_never_returns() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..2000 {
            let (mut p, mut model) = (Perm::EMPTY, Vec::new());
            let mut seen = HashSet::from([p.0]);
            loop {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(99);
                let r = (state >> 33) as usize;
                if !model.is_empty() && r.is_multiple_of(3) {
                    let pos = r / 3 % model.len();
                    model.remove(pos);
                    p = p.remove(pos);
                } else if !p.is_full() {
                    let pos = r / 3 % (model.len() + 1);
                    model.insert(pos, p.used());
                    p = p.insert(pos);
                } else {
                    break;
                }
                assert_eq!(live(p), model);
                let slots: u64 = model.iter().map(|slot| 1 << slot).sum();
                assert_eq!(p.live(), slots);
                for slot in 0..SLOTS {
                    assert_eq!(p.position(slot), model.iter().position(|s| *s == slot));
                }
                assert!(seen.insert(p.0), "a word returned");
            }
        }
    }
}
