//! The word that locks a leaf: its [`StatWord`], whose payload says two things of the leaf that never change.
//!
//! ```text
//! bits 47..8       7..0   of the payload
//!      generation  skip
//! ```

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use fyris_sync::lock::StatWord;

use crate::catree::Learnt;

const SKIP_BITS: u32 = 8;
const GENERATION_BITS: u32 = StatWord::PAYLOAD_BITS - SKIP_BITS;

/// The longest prefix that a leaf skips.
pub(super) const MAX_SKIP: usize = (1 << SKIP_BITS) - 1;

/// Makes the word of a new leaf.
pub(super) fn word(skip: usize, learnt: Learnt) -> StatWord {
    debug_assert!(skip <= MAX_SKIP);
    StatWord::new((generation() << SKIP_BITS) | skip as u64)
        .with_statistic(learnt.statistic)
        .flagged(learnt.forced)
}

/// Returns how many bytes of prefix the keys of the leaf are known to share.
#[inline]
pub(super) fn skip_of(word: StatWord) -> usize {
    word.payload() as usize & MAX_SKIP
}

/// Returns a number that tells the leaf from others that had its address before.
pub(super) fn generation_of(word: StatWord) -> u64 {
    word.payload() >> SKIP_BITS
}

/// Generations a thread takes at a time.
const LOT: u64 = 1024;

/// Returns a number that no other leaf of the process has, until 2^40 have been made.
///
/// The standard library's atomics, in a static: no memory is published through them.
fn generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static MINE: Cell<u64> = const { Cell::new(0) };
    }
    MINE.with(|mine| {
        let mut next = mine.get();
        if next.is_multiple_of(LOT) {
            // Relaxed: numbers only have to differ.
            next = NEXT.fetch_add(LOT, Ordering::Relaxed);
        }
        mine.set(next + 1);
        next & ((1 << GENERATION_BITS) - 1)
    })
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_meet() {
        let learnt = Learnt {
            statistic: -1000,
            forced: true,
        };
        let (first, second) = (word(MAX_SKIP, learnt), word(0, Learnt::default()));
        assert_eq!((skip_of(first), skip_of(second)), (MAX_SKIP, 0));
        assert_ne!(generation_of(first), generation_of(second));
        assert_eq!((first.statistic(), first.is_flagged()), (-1000, true));
        assert_eq!((second.statistic(), second.is_flagged()), (0, false));
    }
}
