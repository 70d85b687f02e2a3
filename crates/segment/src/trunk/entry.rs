//! One entry of the log.
//!
//! | word of 8 bytes | content |
//! |---|---|
//! | 0 | page (32 bits), frame (32 bits) |
//! | 1 | frame before (32 bits), how many words changed if they are few, else 0 (3 bits), age of the frame before (29 bits) |
//! | 2 | version |
//! | 3..7 | few: the first two words' values, before and after |
//! | 7 | few: which words, 10 bits each |
//! | 8..16 | few: the values of four more words; else a mask of the changed words, 512 bits |
//!
//! An entry whose mask is empty moves a page: it gets another frame with the same content.
//!
//! A change of one or two words is all on the entry's first cache line: an update needs no frame for it.

use super::layout::ENTRY;
use crate::words::{Mask, WORDS, load};

/// Words of 8 bytes of an entry.
pub(super) const LEN: usize = ENTRY / 8;
/// Words on its first cache line.
const LINE: usize = 8;

/// Changed words whose values an entry has room for.
pub(crate) const FEW: usize = 6;
/// The words of their values: before, and in the next word after.
const VALUES: [usize; FEW] = [3, 5, 8, 10, 12, 14];
/// The most words that fit on the first line.
const FEWEST: usize = 2;
/// The word with their numbers, and the bits of each.
const WHICH: usize = 7;
const WHICH_BITS: usize = 10;

/// The bits of word 1 with their number, and with the age of the frame before: since how many entries it was current.
const FEW_AT: u32 = 32;
const AGE_AT: u32 = 35;
/// The highest age stands for itself and all above.
const OLDEST: u64 = (1 << (64 - AGE_AT)) - 1;

/// In place of a page: the segment has grown to what the header says.
const GROWN: u32 = u32::MAX;

/// The first words of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// The page.
    pub(crate) page: u32,
    /// The frame it has now.
    pub(crate) frame: u32,
    /// The frame it had.
    pub(crate) before: u32,
    /// The number of words that are there with their values; 0: there is a mask.
    pub(crate) few: usize,
    /// For how many entries before this one `before` was the page's frame, if below [`OLDEST`].
    age: u64,
    /// The commit this belongs to.
    pub(crate) version: u64,
}

impl Head {
    /// Makes a head out of an entry's words, unchecked.
    #[inline]
    pub(super) fn of(get: impl Fn(usize) -> u64) -> Head {
        let (first, second) = (get(0), get(1));
        Head {
            page: first as u32,
            frame: (first >> 32) as u32,
            before: second as u32,
            few: (second >> FEW_AT & 7) as usize,
            age: second >> AGE_AT,
            version: get(2),
        }
    }

    /// Returns whether the entry says no more than that the segment has grown.
    #[inline]
    pub(crate) fn grown(&self) -> bool {
        self.page == GROWN
    }

    /// Returns the first position at which `before` was current, if this is entry `position`: that or an earlier one.
    pub(super) fn current_from(&self, position: u64) -> u64 {
        match self.age {
            OLDEST => 0,
            age => position.saturating_sub(age),
        }
    }
}

/// One changed word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct One {
    /// The index of the word in its page, below [`WORDS`].
    pub(crate) word: u16,
    pub(crate) before: u64,
    pub(crate) after: u64,
}

/// Returns the words that an entry has values of, in no order if a hostile process wrote them.
#[inline]
pub(super) fn few(head: &Head, get: impl Fn(usize) -> u64) -> impl Iterator<Item = One> {
    let which = get(WHICH);
    VALUES[..head.few]
        .iter()
        .enumerate()
        .map(move |(i, &at)| One {
            word: ((which >> (i * WHICH_BITS)) as usize % WORDS) as u16,
            before: get(at),
            after: get(at + 1),
        })
}

/// Returns the mask of an entry that has one.
#[inline]
pub(super) fn mask(get: impl Fn(usize) -> u64) -> Mask {
    Mask(std::array::from_fn(|i| get(LINE + i)))
}

/// An entry that is to be written. Made in its place, word by word: a copy in wider pieces would wait for all stores
/// before it, those of a whole page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Image([u64; LEN]);

impl Image {
    /// Nothing yet.
    pub(crate) const EMPTY: Image = Image([0; LEN]);

    /// Makes this the entry of a change of page `page` from frame `before` to `frame`. Its words are still to be set,
    /// and the version.
    #[inline]
    pub(crate) fn set_change(&mut self, page: u32, before: u32, frame: u32) {
        self.0[0] = u64::from(page) | u64::from(frame) << 32;
        self.0[1] = u64::from(before);
    }

    /// Makes the entry that says that the segment grows.
    pub(crate) fn grown(version: u64) -> Image {
        let mut image = Image::EMPTY;
        image.set_change(GROWN, 0, 0);
        image.set_version(version);
        image
    }

    /// Sets the changed words: those of `mask`, which differ between two pages.
    ///
    /// # Safety
    ///
    /// Two pages (invariant PAGES).
    #[inline]
    pub(crate) unsafe fn set_words(&mut self, mask: &Mask, before: *const u8, after: *const u8) {
        let (mut which, mut count) = (0, 0);
        for (at, &bits) in mask.0.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                if count == FEW {
                    return self.set_mask(mask);
                }
                let word = at * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                which |= (word as u64) << (count * WHICH_BITS);
                // SAFETY: pages by the caller's promise; a mask has bits below WORDS only.
                let values = unsafe { (load(before, word), load(after, word)) };
                (self.0[VALUES[count]], self.0[VALUES[count] + 1]) = values;
                count += 1;
            }
        }
        self.set_few(count);
        self.0[WHICH] = which;
    }

    fn set_few(&mut self, count: usize) {
        self.0[1] = self.0[1] & !(7 << FEW_AT) | (count as u64) << FEW_AT;
    }

    /// Sets the age of the frame before: the number of entries for which it has been the page's.
    #[inline]
    pub(super) fn set_age(&mut self, age: u64) {
        self.0[1] = self.0[1] & ((1 << AGE_AT) - 1) | age.min(OLDEST) << AGE_AT;
    }

    fn set_mask(&mut self, mask: &Mask) {
        self.set_few(0);
        self.0[LINE..].copy_from_slice(&mask.0);
    }

    /// Sets the version.
    pub(crate) fn set_version(&mut self, version: u64) {
        self.0[2] = version;
    }

    /// Returns the first words.
    #[inline]
    pub(crate) fn head(&self) -> Head {
        Head::of(|i| self.0[i])
    }

    /// Returns whether this changes the page's frame only, and no word.
    #[inline]
    pub(crate) fn is_move(&self) -> bool {
        self.head().few == 0 && self.0[LINE..].iter().all(|&word| word == 0)
    }

    /// Returns the words that are in use.
    #[inline]
    pub(super) fn words(&self) -> &[u64] {
        let head = self.head();
        let short = head.grown() || (1..=FEWEST).contains(&head.few);
        &self.0[..if short { LINE } else { LEN }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Page;
    use proptest::prelude::*;

    fn page(words: &[(usize, u64)]) -> Page {
        let mut page = Page::default();
        for &(word, value) in words {
            // SAFETY: a page of this test's own; the words are below WORDS.
            unsafe { crate::words::store(page.ptr(), word, value) };
        }
        page
    }

    proptest! {
        #[test]
        fn what_is_put_in_comes_out(
            words in prop::collection::btree_map(0..WORDS, 1..u64::MAX, 1..12),
            version: u64,
            age in prop_oneof![0..1000u64, OLDEST - 2..OLDEST + 2, any::<u64>()],
        ) {
            let words: Vec<(usize, u64)> = words.into_iter().collect();
            let (mut before, mut after) = (page(&[]), page(&words));
            let mut set = Mask::default();
            words.iter().for_each(|&(word, _)| set.set(word));
            let mut image = Image::EMPTY;
            image.set_change(7, 8, 9);
            // SAFETY: two pages.
            unsafe { image.set_words(&set, before.ptr(), after.ptr()) };
            image.set_version(version);
            image.set_age(age);
            let long = image.words().to_vec();
            let get = |i: usize| long.get(i).copied().unwrap_or(u64::MAX);
            let head = Head::of(get);
            prop_assert_eq!((head.page, head.before, head.frame, head.version), (7, 8, 9, version));
            let from = if age < OLDEST { (1 << 62) - age } else { 0 };
            prop_assert_eq!(head.current_from(1 << 62), from);
            if words.len() > FEW {
                prop_assert_eq!((head.few, mask(get)), (0, set));
            } else {
                let ones: Vec<_> = few(&head, get).collect();
                prop_assert!(ones.iter().all(|one| one.before == 0));
                let found: Vec<_> = ones.iter().map(|one| (usize::from(one.word), one.after)).collect();
                prop_assert_eq!(found, words);
            }
        }
    }
}
