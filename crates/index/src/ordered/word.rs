//! The word that locks a leaf: its [`StatWord`], whose payload is the length of the prefix that it skips, which never
//! changes.

use fyris_sync::lock::StatWord;

use crate::catree::Learnt;

/// The longest prefix that a leaf skips.
pub(super) const MAX_SKIP: usize = 255;

/// Makes the word of a new leaf.
pub(super) fn word(skip: usize, learnt: Learnt) -> StatWord {
    debug_assert!(skip <= MAX_SKIP);
    StatWord::new(skip as u64)
        .with_statistic(learnt.statistic)
        .flagged(learnt.forced)
}

/// Returns how many bytes of prefix the keys of the leaf are known to share.
#[inline]
pub(super) fn skip_of(word: StatWord) -> usize {
    word.payload() as usize
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
        assert_eq!((first.statistic(), first.is_flagged()), (-1000, true));
        assert_eq!((second.statistic(), second.is_flagged()), (0, false));
    }
}
