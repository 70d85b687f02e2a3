//! The statistics collecting lock of the contention adapting trees (2014 paper, section 3.1), with their valid flag
//! (section 3.2), in one word.
//!
//! A lock that remembers how contended it has been: acquiring it at once lowers a number a little, having to wait
//! raises it a lot. The holder of the lock looks at the number and adapts the structure that the lock protects: high
//! means split, low means join. A node that has been split or joined is *dead*: no thread gets its lock any more.
//!
//! ```text
//! bits 63..16   15..4      3       2     1     0
//!      payload  statistic  unused  flag  dead  locked
//! ```
//!
//! The payload never changes and belongs to the structure, like the flag. The holder alone changes the rest, so
//! unlocking is a plain `Release` store that brings the statistic along: collecting costs no further access. `dead` is
//! set by the store that unlocks a node for the last time, after the node has been unlinked: a thread that takes the
//! lock and does not see it holds a node of the structure.
//!
//! The constants are those that ETS uses: a failed try weighs as much as 250 successes, so about one wait in 250
//! acquisitions keeps the number level.

use super::{Backoff, unlock};
use crate::atomic::{AtomicU64, Ordering};

const LOCKED: u64 = 1;
const DEAD: u64 = 2;
const FLAG: u64 = 4;
const STAT_SHIFT: u32 = 4;
const STAT_BITS: u32 = 12;
const STAT_MASK: u64 = ((1 << STAT_BITS) - 1) << STAT_SHIFT;
const PAYLOAD_SHIFT: u32 = STAT_SHIFT + STAT_BITS;

/// The word of a [`StatLock`], apart from its lock.
#[derive(Clone, Copy, Debug)]
pub struct StatWord(u64);

impl StatWord {
    /// The number of bits of payload.
    pub const PAYLOAD_BITS: u32 = u64::BITS - PAYLOAD_SHIFT;

    /// Makes the word of a living node, with a statistic of zero and no flag.
    #[inline]
    pub const fn new(payload: u64) -> Self {
        debug_assert!(payload >> Self::PAYLOAD_BITS == 0);
        Self(payload << PAYLOAD_SHIFT)
    }

    /// Returns the payload that the word was made with.
    #[inline]
    pub const fn payload(self) -> u64 {
        self.0 >> PAYLOAD_SHIFT
    }

    /// Returns a measure of contention: above zero more than one wait in 250 acquisitions.
    #[inline]
    pub const fn statistic(self) -> i64 {
        // Shifted to the top and back to keep its sign.
        ((self.0 << (u64::BITS - STAT_BITS - STAT_SHIFT)) as i64) >> (u64::BITS - STAT_BITS)
    }

    /// Returns the word with another statistic, of at most [`StatLock::EXTREME`] either way.
    #[inline]
    pub const fn with_statistic(self, statistic: i64) -> Self {
        Self((self.0 & !STAT_MASK) | (((statistic as u64) << STAT_SHIFT) & STAT_MASK))
    }

    /// Returns the word with the statistic moved by `step`, to [`StatLock::EXTREME`] at most.
    #[inline]
    pub(super) fn moved(self, step: i64) -> Self {
        let statistic = self.statistic() + step;
        self.with_statistic(statistic.clamp(-StatLock::EXTREME, StatLock::EXTREME))
    }

    /// Returns whether the node has been unlinked.
    #[inline]
    pub(super) const fn is_dead(self) -> bool {
        self.0 & DEAD != 0
    }

    /// Returns the bits.
    #[inline]
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the word of these bits.
    #[inline]
    pub(super) const fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the structure's flag.
    #[inline]
    pub const fn is_flagged(self) -> bool {
        self.0 & FLAG != 0
    }

    /// Returns the word with the flag as said.
    #[inline]
    pub const fn flagged(self, yes: bool) -> Self {
        Self(if yes { self.0 | FLAG } else { self.0 & !FLAG })
    }
}

/// A mutual exclusion lock that counts contention and can be closed for ever. It protects nothing by itself.
#[derive(Debug)]
pub struct StatLock(AtomicU64);

impl StatLock {
    /// Added when the lock was not free at once.
    pub const CONTENDED: i64 = 250;
    /// Taken when it was.
    pub const UNCONTENDED: i64 = 1;
    /// Taken when the operation takes several such locks one after another, instead of [`Self::UNCONTENDED`].
    pub const SEVERAL: i64 = 10;
    /// The statistic goes no further from zero.
    pub const EXTREME: i64 = 2000;

    /// Makes a free lock.
    #[inline]
    pub fn new(word: StatWord) -> Self {
        Self(AtomicU64::new(word.0))
    }

    /// Returns the word as it is. Only its payload can be relied on.
    #[inline]
    pub fn word(&self) -> StatWord {
        // Relaxed: for the payload, which came with the pointer to the node.
        StatWord(self.0.load(Ordering::Relaxed))
    }

    /// Returns whether the node has been unlinked. `false` may be out of date.
    #[inline]
    pub fn is_dead(&self) -> bool {
        // Relaxed: a hint; the content of the node is right either way.
        self.0.load(Ordering::Relaxed) & DEAD != 0
    }

    /// Takes the lock, waiting if need be; `None` if the node is dead.
    #[inline]
    pub fn lock(&self) -> Option<StatGuard<'_>> {
        // Relaxed: `take` compares it.
        let seen = self.0.load(Ordering::Relaxed);
        if seen & (LOCKED | DEAD) == 0 && self.take(seen) {
            return Some(StatGuard::new(self, StatWord(seen), false));
        }
        self.wait()
    }

    /// Takes the lock after a try that failed, waiting if need be; `None` if the node is dead. Counts as a wait.
    #[cold]
    pub fn wait(&self) -> Option<StatGuard<'_>> {
        let mut backoff = Backoff::new();
        loop {
            // Relaxed: as in `lock`; the node that took a dead node's place is found by loads of their own.
            let seen = self.0.load(Ordering::Relaxed);
            if seen & DEAD != 0 && !cfg!(fyris_mutant = "ordered_skip_dead_check") {
                return None;
            }
            if seen & LOCKED == 0 && self.take(seen) {
                return Some(StatGuard::new(self, StatWord(seen), true));
            }
            backoff.wait();
        }
    }

    /// Takes the lock if it is free and the node alive. Counts nothing.
    #[inline]
    pub fn try_lock(&self) -> Option<StatGuard<'_>> {
        // Relaxed: as in `lock`.
        let seen = self.0.load(Ordering::Relaxed);
        let stop = if cfg!(fyris_mutant = "ordered_joins_dead") {
            LOCKED
        } else {
            LOCKED | DEAD
        };
        // `then`, not `then_some`: a guard made eagerly and dropped would unlock a lock that another thread holds.
        (seen & stop == 0 && self.take(seen)).then(|| StatGuard::new(self, StatWord(seen), false))
    }

    #[inline]
    fn take(&self, seen: u64) -> bool {
        // Acquire: pairs with the Release in the drop of the previous holder's guard.
        self.0
            .compare_exchange(seen, seen | LOCKED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }
}

/// A lock that keeps a [`StatWord`] for the thread that has it alone.
pub trait Kept {
    /// Stores the word, and unlocks.
    ///
    /// # Safety
    ///
    /// The caller has the lock alone.
    unsafe fn put_back(&self, word: StatWord);
}

impl Kept for StatLock {
    #[inline]
    unsafe fn put_back(&self, word: StatWord) {
        // Pairs with the Acquire in `StatLock::take`; VISIBLE.
        unlock(&self.0, word.0);
    }
}

/// A [`StatLock`] or, for writing, a [`StatRwLock`](super::StatRwLock), held. Dropping the guard, as a panic does,
/// unlocks and stores its word.
#[derive(Debug)]
pub struct StatGuard<'a, L: Kept = StatLock> {
    lock: &'a L,
    /// The word without the lock bit; stored when the lock is released.
    pub word: StatWord,
    waited: bool,
}

impl<'a, L: Kept> StatGuard<'a, L> {
    /// Makes the guard of a lock that this thread has alone, with the lock's word.
    #[inline]
    pub(super) fn new(lock: &'a L, word: StatWord, waited: bool) -> Self {
        Self { lock, word, waited }
    }
}

impl<L: Kept> StatGuard<'_, L> {
    /// Counts this acquisition in the word and returns the statistic.
    #[inline]
    pub fn count(&mut self) -> i64 {
        self.add(if self.waited {
            StatLock::CONTENDED
        } else {
            -StatLock::UNCONTENDED
        })
    }

    /// Counts this acquisition as that of one of several locks that an operation takes one after another, and returns
    /// the statistic.
    #[inline]
    pub fn count_several(&mut self) -> i64 {
        let waited = if self.waited { StatLock::CONTENDED } else { 0 };
        self.add(waited - StatLock::SEVERAL)
    }

    #[inline]
    fn add(&mut self, step: i64) -> i64 {
        self.word = self.word.moved(step);
        self.word.statistic()
    }

    /// Unlocks a node that has been unlinked, and marks it dead: no thread will hold its lock again.
    #[inline]
    pub fn mark_dead(mut self) {
        self.word = StatWord(self.word.0 | DEAD);
    }
}

impl<L: Kept> Drop for StatGuard<'_, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard is the hold.
        unsafe { self.lock.put_back(self.word) }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const PAYLOAD: u64 = (1 << StatWord::PAYLOAD_BITS) - 1;

    #[test]
    fn fields_do_not_meet() {
        let word = StatWord::new(PAYLOAD);
        assert_eq!((word.statistic(), word.is_flagged()), (0, false));
        for statistic in [-StatLock::EXTREME, -1000, -1, 0, 1, 250, StatLock::EXTREME] {
            let changed = word.with_statistic(statistic).flagged(true);
            assert_eq!(changed.statistic(), statistic);
            assert!(changed.is_flagged() && !changed.flagged(false).is_flagged());
            assert_eq!(changed.payload(), PAYLOAD);
        }
    }

    #[test]
    fn a_dead_node_is_not_locked() {
        let lock = StatLock::new(StatWord::new(1));
        let held = lock.lock().expect("alive");
        assert!(lock.try_lock().is_none());
        assert!(
            lock.try_lock().is_none(),
            "a failed try leaves the lock alone"
        );
        held.mark_dead();
        assert!(lock.is_dead() && lock.lock().is_none() && lock.try_lock().is_none());
    }

    #[test]
    fn waiting_raises_and_success_lowers() {
        let lock = StatLock::new(StatWord::new(1));
        assert_eq!(lock.lock().expect("alive").count(), -StatLock::UNCONTENDED);
        // The test cannot observe that a thread has begun to wait, so it tries until one has waited.
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let mut first = lock.lock().expect("alive");
            first.word = first.word.with_statistic(0);
            let counted = std::thread::scope(|s| {
                let waiter = s.spawn(|| lock.lock().expect("alive").count());
                std::thread::sleep(Duration::from_millis(10));
                drop(first);
                waiter.join().expect("no panic")
            });
            if counted == StatLock::CONTENDED {
                break;
            }
            assert_eq!(counted, -StatLock::UNCONTENDED);
            assert!(Instant::now() < deadline, "no thread ever waits");
        }
        assert_eq!(
            lock.lock().expect("alive").count(),
            StatLock::CONTENDED - StatLock::UNCONTENDED
        );
    }

    #[test]
    fn one_of_several_lowers_by_more() {
        let lock = StatLock::new(StatWord::new(1));
        assert_eq!(
            lock.lock().expect("alive").count_several(),
            -StatLock::SEVERAL
        );
        assert_eq!(
            lock.lock().expect("alive").count_several(),
            -2 * StatLock::SEVERAL
        );
    }

    #[test]
    fn the_statistic_has_an_end() {
        let lock = StatLock::new(StatWord::new(1));
        for _ in 0..2 * StatLock::EXTREME {
            lock.lock().expect("alive").count();
        }
        assert_eq!(lock.word().statistic(), -StatLock::EXTREME);
    }
}

/// `RUSTFLAGS='--cfg loom' cargo test -p fyris-sync --release --lib lock`.
#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use super::*;
    use crate::cell::UnsafeCell;

    /// A value that two threads change under the lock, of which one is the last.
    struct Protected {
        lock: StatLock,
        value: UnsafeCell<u64>,
    }

    // SAFETY: the value is reached under the lock only.
    unsafe impl Send for Protected {}
    // SAFETY: as above.
    unsafe impl Sync for Protected {}

    impl Protected {
        /// Adds one, and marks the node dead if `last`; returns false if it was dead.
        fn add(&self, last: bool) -> bool {
            let Some(mut held) = self.lock.lock() else {
                return false;
            };
            // SAFETY: this thread holds the lock.
            self.value.with_mut(|value| unsafe { *value += 1 });
            held.count();
            if last {
                held.mark_dead();
            }
            true
        }
    }

    #[test]
    fn one_holder_at_a_time_until_it_is_dead() {
        loom::model(|| {
            let node = Arc::new(Protected {
                lock: StatLock::new(StatWord::new(7)),
                value: UnsafeCell::new(0),
            });
            let other = loom::thread::spawn({
                let node = node.clone();
                move || u64::from(node.add(false))
            });
            assert!(node.add(true), "nobody else marks it");
            let others = other.join().expect("no panic");
            assert!(node.lock.is_dead() && !node.add(false));
            assert_eq!(node.lock.word().payload(), 7);
            // SAFETY: the other thread has ended.
            node.value
                .with(|value| assert_eq!(unsafe { *value }, 1 + others));
        });
    }
}
