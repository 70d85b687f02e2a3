//! The pages that a signal handler has noted, for a commit that collects them.
//!
//! There is a bit for each page, and one for each word of these bits, so that a commit need not look at all of them.
//!
//! Invariant **MARKED**: a page that was noted is in the next [`Marks::drain`] that begins afterwards, or was in one
//! that ran beside it. The handler sets the page's bit first, then its word's; a drain takes the word's bit first, and
//! then finds the page's. In the other order a drain between the two would take the word's bit, find no
//! page, and leave the page's bit where no later drain looks.
//!
//! Loom's atomics stand in for these in the model below, which `tests/loom.rs` runs.

use fyris_sync::atomic::{AtomicU64, Ordering};

/// The noted pages.
pub(super) struct Marks {
    pages: Box<[AtomicU64]>,
    /// A bit for each word of `pages` that has one.
    words: Box<[AtomicU64]>,
}

impl Marks {
    /// Makes marks for `pages` pages, none of them noted.
    pub(super) fn new(pages: usize) -> Marks {
        let zeros = |bits: usize| (0..bits.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Marks {
            pages: zeros(pages),
            words: zeros(pages.div_ceil(64)),
        }
    }

    /// Notes a page. For handlers of signals, too.
    pub(super) fn note(&self, page: usize) {
        let word = page / 64;
        let set_word = || {
            // Release: pairs with the Acquire in `drain` and `look`.
            self.words[word / 64].fetch_or(1 << (word % 64), Ordering::Release);
        };
        if cfg!(fyris_mutant = "segment_word_marked_first") {
            set_word();
        }
        // Relaxed: published by the word's bit.
        self.pages[word].fetch_or(1 << (page % 64), Ordering::Relaxed);
        if !cfg!(fyris_mutant = "segment_word_marked_first") {
            set_word();
        }
    }

    /// Takes the noted pages, ascending.
    pub(super) fn drain(&self) -> Vec<u32> {
        // Relaxed: only a look; a handler of this thread came before, those of others are their affair. Acquire: pairs
        // with the Release in `note`: the bit of a page is there if that of its word is (MARKED).
        self.collect(|word| match word.load(Ordering::Relaxed) {
            0 => 0,
            _ => word.swap(0, Ordering::Acquire),
        })
    }

    /// Returns the noted pages, ascending, and leaves them noted.
    pub(super) fn look(&self) -> Vec<u32> {
        // Acquire: as in `drain`.
        self.collect(|word| word.load(Ordering::Acquire))
    }

    fn collect(&self, get: impl Fn(&AtomicU64) -> u64) -> Vec<u32> {
        let noted = |at: usize, word| ones(get(word)).map(move |bit| at * 64 + bit);
        let words = self.words.iter().enumerate();
        let words = words.flat_map(|(at, word)| noted(at, word));
        let pages = words.flat_map(|at| noted(at, &self.pages[at]));
        pages.map(|page| page as u32).collect()
    }
}

/// Returns the places of the bits that are set, ascending.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// Two handlers beside two drains, and a drain when they are done: every page is in one of these.
    #[test]
    fn no_noted_page_is_lost() {
        loom::model(|| {
            let marks = Arc::new(Marks::new(128));
            let handlers = [3, 70].map(|page| {
                let marks = Arc::clone(&marks);
                thread::spawn(move || marks.note(page))
            });
            let mut found = marks.drain();
            found.extend(marks.look());
            for handler in handlers {
                handler.join().unwrap();
            }
            found.extend(marks.drain());
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, [3, 70]);
        });
    }
}
