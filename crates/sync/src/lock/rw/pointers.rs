//! ETS pointers: an indicator of one word for each thread, which says what the thread reads (2013 paper, section 6.3).
//!
//! # How
//!
//! A thread that reads writes the address of the indicator into the word of its place, and the writer looks at all
//! words. They are there once for the process, so a lock takes eight bytes where reader groups take a line for each
//! group. The price is the paper's: a writer looks at words that change because of other locks.
//!
//! A thread has one word but may read under several locks, or under one more than once, and other threads may be at the
//! same place. So the word is written only if it is free; else the reader is counted in the indicator. A thread that
//! departs clears the word if that names the lock, though another reader of the place may have written it: what matters
//! is how many there are.
//!
//! # Why none is missed
//!
//! Invariant **MARK**: of the readers of one place that have not departed, the word stands for one if it names the
//! lock, and the counter for each of the others. `is_empty` looks at the word first and at the counter later. Let a
//! reader be there all the while, and the word not name the lock when it is looked at. If it still does not when the
//! counter is, the counter stands for the reader. If it does, another reader has written it since, the last one to do
//! so, and that reader is there too: in departing it would have cleared the word. So the counter stands for one of the
//! two.

use super::readers::ReadIndicator;
use crate::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::thread;

/// Places with a word. Threads beyond them are counted.
const WORDS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };

/// The word of a place: the address of what is read there, or zero.
#[repr(align(128))]
#[derive(Debug, Default)]
struct PlaceWord(AtomicUsize);

/// An indicator of readers by a word for each thread. See the module. It must not move while a thread reads.
#[derive(Debug)]
pub struct Pointers {
    /// Readers that no word stands for.
    counted: AtomicU64,
    /// A model has its own.
    #[cfg(any(loom, shuttle))]
    words: [PlaceWord; WORDS],
}

impl Pointers {
    /// Makes an indicator with no readers.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self {
            counted: AtomicU64::new(0),
        }
    }

    /// Makes an indicator with no readers.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self {
            counted: AtomicU64::new(0),
            words: Default::default(),
        }
    }

    #[cfg(not(any(loom, shuttle)))]
    #[inline]
    fn words(&self) -> &[PlaceWord; WORDS] {
        static ALL: [PlaceWord; WORDS] = [const { PlaceWord(AtomicUsize::new(0)) }; WORDS];
        &ALL
    }

    #[cfg(any(loom, shuttle))]
    fn words(&self) -> &[PlaceWord; WORDS] {
        &self.words
    }

    /// Returns the number by which a word names this.
    #[inline]
    fn name(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Puts `new` into the word of `place` if there is one that holds `old`.
    #[inline]
    fn replace(&self, place: usize, old: usize, new: usize) -> bool {
        // SeqCst, as `ReadIndicator` asks: pairs with the loads in `is_empty`. Relaxed: then the counter is used, which
        // orders.
        let replace = |word: &PlaceWord| {
            (word.0).compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed)
        };
        self.words()
            .get(place)
            .map(replace)
            .is_some_and(|done| done.is_ok())
    }
}

impl Default for Pointers {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Pointers {
    /// Takes this out of the words of threads that have forgotten their guards: another indicator may get the address.
    fn drop(&mut self) {
        (0..WORDS).for_each(|place| _ = self.replace(place, self.name(), 0));
    }
}

// SAFETY: the accesses to words and counter are sequentially consistent, and `is_empty` misses no reader (MARK).
unsafe impl ReadIndicator for Pointers {
    #[cfg(not(any(loom, shuttle)))]
    const INIT: Self = Self::new();

    #[inline]
    fn place(&self) -> usize {
        thread::place()
    }

    #[inline]
    fn arrive(&self, place: usize) {
        if !self.replace(place, 0, self.name()) {
            // SeqCst, as `ReadIndicator` asks: pairs with the load in `is_empty`.
            self.counted.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[inline]
    fn depart(&self, place: usize) -> bool {
        // SeqCst, as `ReadIndicator` asks. It releases: pairs with the Acquire in `is_empty`, as the word's does.
        self.replace(place, self.name(), 0) || self.counted.fetch_sub(1, Ordering::SeqCst) == 1
    }

    fn is_empty(&self) -> bool {
        let counted = || {
            // SeqCst, as `ReadIndicator` asks. It acquires: pairs with the Release in `depart`.
            self.counted.load(Ordering::SeqCst) == 0
        };
        if cfg!(fyris_mutant = "rw_counter_first") && !counted() {
            return false;
        }
        // SeqCst: as for the counter.
        let names = |word: &PlaceWord| word.0.load(Ordering::SeqCst) == self.name();
        // The words first: invariant MARK.
        !self.words().iter().any(names) && (cfg!(fyris_mutant = "rw_counter_first") || counted())
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    /// A reader has the word of its place, and another one of the same place comes and goes, which clears the word.
    #[test]
    fn a_reader_whose_word_is_cleared_is_counted() {
        loom::model(|| {
            let pointers = Arc::new(Pointers::new());
            pointers.arrive(0);
            let other = loom::thread::spawn({
                let pointers = Arc::clone(&pointers);
                move || {
                    pointers.arrive(0);
                    pointers.depart(0);
                }
            });
            assert!(!pointers.is_empty(), "the reader is missed");
            other.join().unwrap();
            assert!(pointers.depart(0) && pointers.is_empty());
        });
    }
}
