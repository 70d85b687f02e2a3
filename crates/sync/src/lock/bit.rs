//! A lock in one bit of a word.

use super::Backoff;
use crate::atomic::{AtomicU64, Ordering, fence};

/// Unlocks a word that readers look at without the lock: stores `unlocked` there.
///
/// Invariant **VISIBLE**: what a write has stored in an index is visible to all threads before its thread loads
/// anything more. A store with `Release` alone may wait in the store buffer of its processor while the operation
/// returns and the thread goes on to read (the litmus test SB). Then two threads that each write a key and read that of
/// the other both miss, which no order of the four operations explains.
#[inline]
pub fn unlock(word: &AtomicU64, unlocked: u64) {
    if cfg!(target_arch = "x86_64") && !cfg!(fyris_mutant = "unlock_is_release") {
        // SeqCst: an exchange, which empties the store buffer, and costs less than a fence.
        return word.store(unlocked, Ordering::SeqCst);
    }
    // Release: pairs with the Acquire of threads that lock, and of readers.
    word.store(unlocked, Ordering::Release);
    if !cfg!(fyris_mutant = "unlock_is_release") {
        // SeqCst: pairs with that of the other thread. A load with Acquire may overtake a SeqCst store elsewhere.
        fence(Ordering::SeqCst);
    }
}

/// Sets `bit` in `word`, waiting while it is set or until one of the bits of `stop` is set.
///
/// Returns the word as it was just before: with `bit` now set if none of `stop` was, untouched
/// otherwise. To unlock, store the word without the bit, by [`unlock`] where readers take no lock, else with `Release`;
/// the thread that holds the bit is alone in changing the word.
#[inline]
pub fn lock_bit(word: &AtomicU64, bit: u64, stop: u64) -> u64 {
    // Acquire: pairs with the Release store that unlocks, or that set a bit of `stop`.
    let seen = word.load(Ordering::Acquire);
    if seen & stop != 0 {
        return seen;
    }
    if seen & bit == 0
        // Acquire: pairs with the Release store that unlocks.
        && word.compare_exchange(seen, seen | bit, Ordering::Acquire, Ordering::Relaxed).is_ok()
    {
        return seen;
    }
    lock_bit_slow(word, bit, stop)
}

#[cold]
fn lock_bit_slow(word: &AtomicU64, bit: u64, stop: u64) -> u64 {
    let mut backoff = Backoff::new();
    loop {
        // Acquire, both: pair with the Release stores that unlock or set a bit of `stop`, as in `lock_bit`. Relaxed: a
        // failure is repeated.
        let seen = word.load(Ordering::Acquire);
        if seen & stop != 0 {
            return seen;
        }
        if seen & bit == 0
            && word
                .compare_exchange_weak(seen, seen | bit, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        {
            return seen;
        }
        backoff.wait();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let word = AtomicU64::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..2000 {
                        let seen = lock_bit(&word, 1, 2);
                        assert_eq!(seen & 3, 0);
                        // Release: pairs with the Acquire in `lock_bit`.
                        word.store(seen + 4, Ordering::Release);
                    }
                });
            }
        });
        // Relaxed, both: the other threads have been joined.
        assert_eq!(word.load(Ordering::Relaxed), 4 * 8000);
        word.store(2, Ordering::Relaxed);
        assert_eq!(
            lock_bit(&word, 1, 2),
            2,
            "a stop bit is reported, not waited for"
        );
    }
}
