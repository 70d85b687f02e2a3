//! The word that locks a node: a statistics collecting lock (2014 paper, section 3.1) of 8 bytes
//! that also says whether the node is still in the tree.
//!
//! ```text
//! bits 63..24      23..16   15..4       3..2   1      0
//!      generation  skip     statistic   shape  dead   locked
//! ```
//!
//! `generation` and `skip` never change; the holder alone changes the rest, so unlocking is a plain
//! `Release` store. `dead` is set by the store that unlocks a node for the last time, after the
//! node has been unlinked: whoever takes the lock and does not see it holds a node of the tree
//! (2014 paper, section 3.2, the valid flag).

use fyris_sync::atomic::{AtomicU64, Ordering};
use fyris_sync::lock::{Backoff, StatLock};

const LOCKED: u64 = 1;
const DEAD: u64 = 2;
const FORCED: u64 = 4;
const STAT_SHIFT: u32 = 4;
const STAT_MASK: u64 = 0xfff << STAT_SHIFT;
const SKIP_SHIFT: u32 = 16;
const GENERATION_SHIFT: u32 = 24;

/// The longest prefix that a leaf skips.
pub(super) const MAX_SKIP: usize = 255;

/// What a lock word says beside its lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word(u64);

impl Word {
    /// An unlocked, living node.
    pub(super) fn new(generation: u64, skip: usize) -> Word {
        debug_assert!(skip <= MAX_SKIP);
        Word((generation << GENERATION_SHIFT) | ((skip as u64) << SKIP_SHIFT))
    }

    /// Bytes of prefix that the keys of this leaf are known to share.
    #[inline]
    pub(super) fn skip(self) -> usize {
        (self.0 >> SKIP_SHIFT) as usize & MAX_SKIP
    }

    /// A number that tells this node from others that had its address before.
    pub(super) fn generation(self) -> u64 {
        self.0 >> GENERATION_SHIFT
    }

    /// The word of the leaf that takes this one's place: alive, with all that was learnt.
    pub(super) fn renewed(self, generation: u64) -> Word {
        Word::new(generation, self.skip())
            .with_stat(self.stat())
            .forced(self.is_forced())
    }

    /// How contended the lock has been.
    #[inline]
    pub(super) fn stat(self) -> i64 {
        // The field is 12 bits; shift it to the top and back to keep its sign.
        ((self.0 << (64 - 12 - STAT_SHIFT)) as i64) >> 52
    }

    /// With another statistic.
    #[inline]
    pub(super) fn with_stat(self, stat: i64) -> Word {
        Word((self.0 & !STAT_MASK) | (((stat as u64) << STAT_SHIFT) & STAT_MASK))
    }

    /// True for a leaf that contention made small: only the lack of contention joins it again.
    #[inline]
    pub(super) fn is_forced(self) -> bool {
        self.0 & FORCED != 0
    }

    /// Marked as a leaf that contention made small.
    pub(super) fn forced(self, yes: bool) -> Word {
        Word(if yes {
            self.0 | FORCED
        } else {
            self.0 & !FORCED
        })
    }
}

/// The lock word of a node.
pub(super) struct NodeLock(AtomicU64);

impl NodeLock {
    pub(super) fn new(word: Word) -> Self {
        Self(AtomicU64::new(word.0))
    }

    /// The word now; `skip` and `generation` in it never change.
    #[inline]
    pub(super) fn word(&self) -> Word {
        // Relaxed: for the constant parts, which came with the pointer to the node.
        Word(self.0.load(Ordering::Relaxed))
    }

    /// True once the node has been unlinked. False may be out of date.
    #[inline]
    pub(super) fn is_dead(&self) -> bool {
        // Relaxed: a hint for walks, which are right either way (invariant FROZEN).
        self.0.load(Ordering::Relaxed) & DEAD != 0
    }

    /// Takes the lock, waiting if need be; `None` if the node is dead.
    #[inline]
    pub(super) fn lock(&self) -> Option<LockGuard<'_>> {
        let seen = self.0.load(Ordering::Relaxed);
        if seen & (LOCKED | DEAD) == 0 && self.take(seen) {
            return Some(LockGuard {
                lock: self,
                word: Word(seen),
                waited: false,
            });
        }
        self.wait()
    }

    #[cold]
    fn wait(&self) -> Option<LockGuard<'_>> {
        let mut backoff = Backoff::new();
        loop {
            let seen = self.0.load(Ordering::Relaxed);
            if seen & DEAD != 0 && !cfg!(fyris_mutant = "ordered_skip_dead_check") {
                return None;
            }
            if seen & LOCKED == 0 && self.take(seen) {
                return Some(LockGuard {
                    lock: self,
                    word: Word(seen),
                    waited: true,
                });
            }
            backoff.wait();
        }
    }

    /// Takes the lock if it is free and the node alive.
    pub(super) fn try_lock(&self) -> Option<LockGuard<'_>> {
        let seen = self.0.load(Ordering::Relaxed);
        let stop = if cfg!(fyris_mutant = "ordered_joins_dead") {
            LOCKED
        } else {
            LOCKED | DEAD
        };
        // Lazily: a `LockGuard` that is made and dropped would unlock somebody else's lock.
        (seen & stop == 0 && self.take(seen)).then(|| LockGuard {
            lock: self,
            word: Word(seen),
            waited: false,
        })
    }

    #[inline]
    fn take(&self, seen: u64) -> bool {
        // Acquire: pairs with the Release in `LockGuard::put` of the previous holder.
        self.0
            .compare_exchange(seen, seen | LOCKED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }
}

/// A node's lock, held. Dropping it (as a panic does) unlocks and leaves the word as it was.
pub(super) struct LockGuard<'a> {
    lock: &'a NodeLock,
    /// The word without the lock bit; stored when the lock is released.
    pub(super) word: Word,
    waited: bool,
}

impl LockGuard<'_> {
    /// Counts this acquisition in the word and returns the statistic.
    #[inline]
    pub(super) fn count(&mut self) -> i64 {
        let step = if self.waited {
            StatLock::CONTENDED
        } else {
            -StatLock::UNCONTENDED
        };
        let stat = (self.word.stat() + step).clamp(-2000, 2000);
        self.word = self.word.with_stat(stat);
        stat
    }

    /// Unlocks a node that has been unlinked: nobody will hold it again.
    pub(super) fn mark_dead(mut self) {
        self.word = Word(self.word.0 | DEAD);
    }
}

impl Drop for LockGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `NodeLock::take`.
        self.lock.0.store(self.word.0, Ordering::Release);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_meet() {
        let word = Word::new(0xff_ffff_ffff, 255);
        for stat in [-2000, -1000, -1, 0, 1, 250, 2000] {
            let w = word.with_stat(stat).forced(true);
            assert_eq!(w.stat(), stat);
            assert!(w.is_forced() && !w.forced(false).is_forced());
            assert_eq!((w.skip(), w.generation()), (255, 0xff_ffff_ffff));
        }
    }

    #[test]
    fn a_dead_node_is_not_locked() {
        let lock = NodeLock::new(Word::new(1, 0));
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
    fn waiting_is_counted() {
        let lock = NodeLock::new(Word::new(1, 0));
        std::thread::scope(|s| {
            let first = lock.lock().expect("alive");
            let waiter = s.spawn(|| lock.lock().expect("alive").count());
            std::thread::sleep(std::time::Duration::from_millis(20));
            drop(first);
            assert_eq!(waiter.join().expect("no panic"), StatLock::CONTENDED);
        });
        assert_eq!(lock.lock().expect("alive").count(), StatLock::CONTENDED - 1);
    }
}
