//! Counters that writers do not meet on.
//!
//! # Why
//!
//! A table counts its entries and its bytes. One shared counter would make every insert of every
//! thread write the same cache line, and undo all that the table does to keep writers apart. ETS
//! calls its answer decentralized counters; this is the same idea, with a cheaper add.
//!
//! # How
//!
//! A [`Striped`] counter starts as one cell, which suits a small table. [`Striped::inflate`] gives
//! it a padded stripe for each of the first threads (see [`crate::thread::slot`]), and a few shared
//! stripes for all the others. A stripe is two numbers that only grow: the sum of all additions and the sum of all
//! subtractions. A thread is alone in its own stripe, so it adds by a plain load and store.
//!
//! # The meaning of a sum
//!
//! Invariant **SUM**: a sum is never below the count, is above it by no more than what is subtracted during its
//! quietest look, and is exact when nothing is added.
//!
//! Every number in every stripe only grows. [`Striped::sum`] reads the subtractions first and the additions then, so
//! with concurrent writers it is never below the true value at the moment between the two passes; with no writers it is
//! exact. A thread that is held up between the passes would count whatever was added *and subtracted* meanwhile. So it
//! reads the subtractions once more: if they have not changed, the count went from what it was at the beginning of the
//! other pass to what it was at its end by additions alone, and the sum lies between. The same holds for additions that
//! have not changed around a pass over the subtractions. Otherwise it looks again, and at last takes the look during
//! which the least was subtracted: by no more than that is it above the count at the end of that look.
//! A sum that begins when another has ended finds no number smaller than that did: while there are only
//! additions, sums never go backwards, whichever threads ask. If two threads each add and then sum, one of them counts
//! what the other has added: an addition may still be in the store buffer of its processor when it returns (the litmus
//! test SB), so a sum begins with a fence. [`Striped::exact`] reads everything twice until nothing differs: numbers
//! that only grow and did not change between two passes all had those values at one moment between them, so that sum
//! was true at that moment.

use std::ptr;

use crate::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use crate::lock::Backoff;
use crate::thread::{processors, slot};

/// Times that a sum looks at numbers that others change, at most.
const LOOKS: usize = 64;

/// Stripes that one thread has to itself: as many as there are processors, within bounds.
const MAX_OWN: usize = 64;

/// The numbers added and taken; both only grow (invariant SUM).
#[derive(Default)]
struct Cell {
    added: AtomicU64,
    taken: AtomicU64,
}

#[repr(align(64))]
#[derive(Default)]
struct Stripe(Cell);

/// The padded stripes: first those with one thread each, then the shared ones.
struct Stripes {
    own: usize,
    stripes: Box<[Stripe]>,
}

/// A counter for many writers and few readers. See the module.
#[derive(Default)]
pub struct Striped {
    base: Cell,
    stripes: AtomicPtr<Stripes>,
}

impl Striped {
    /// Makes a counter that stands at zero, in one cell.
    pub fn new() -> Self {
        Self {
            base: Cell::default(),
            stripes: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Gives each thread a stripe of its own from now on. A second call changes nothing.
    ///
    /// Costs 96 bytes for each processor.
    pub fn inflate(&self) {
        // In a model one cell is all that is needed, and all threads are one.
        if cfg!(any(loom, shuttle)) || self.stripes().is_some() {
            return;
        }
        let own = processors().next_power_of_two().min(MAX_OWN);
        let stripes = (0..own + own.div_ceil(2))
            .map(|_| Stripe::default())
            .collect();
        let new = Box::into_raw(Box::new(Stripes { own, stripes }));
        // Release: pairs with the Acquire in `stripes`. A loser frees its own.
        let won = self.stripes.compare_exchange(
            ptr::null_mut(),
            new,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if won.is_err() {
            // SAFETY: `new` came from `Box::into_raw` above and was not published.
            drop(unsafe { Box::from_raw(new) });
        }
    }

    /// Adds `delta`, which may be negative. Returns how much this thread's stripe has moved in that
    /// direction since the beginning: a number for doing something "now and then".
    #[inline]
    pub fn add(&self, delta: i64) -> u64 {
        let amount = delta.unsigned_abs();
        let Some(stripes) = self.stripes() else {
            // Release: pairs with the Acquire in `collect`, as below.
            return side(&self.base, delta).fetch_add(amount, Ordering::Release) + amount;
        };
        let slot = slot();
        if slot < stripes.own {
            let side = side(&stripes.stripes[slot].0, delta);
            // Relaxed, load and store: only this thread writes here. Release: pairs with the
            // Acquire in `collect`, so that a sum that counts an operation comes after it.
            let now = side.load(Ordering::Relaxed).wrapping_add(amount);
            side.store(now, Ordering::Release);
            return now;
        }
        let shared = stripes.own + slot % (stripes.stripes.len() - stripes.own);
        // Release: pairs with the Acquire in `collect`, as above.
        side(&stripes.stripes[shared].0, delta).fetch_add(amount, Ordering::Release) + amount
    }

    /// Returns the count: exact while no thread adds, else never below the true value at some moment during the call,
    /// and above it by no more than is subtracted during one of 64 looks, the quietest. Linearizable while all add
    /// one, so it never goes backwards then. Three passes over the stripes, and more while others write without a
    /// pause.
    pub fn sum(&self) -> i64 {
        Self::begin_sum();
        // Order matters (invariant SUM): `taken` first.
        let mut taken = self.collect(|c| &c.taken);
        let mut added = self.collect(|c| &c.added);
        let (mut least, mut sum) = (u64::MAX, 0);
        for _ in 0..LOOKS {
            let again = self.collect(|c| &c.taken);
            let meanwhile = again.wrapping_sub(taken);
            if meanwhile < least {
                (least, sum) = (meanwhile, added.wrapping_sub(taken));
            }
            if meanwhile == 0 || cfg!(fyris_mutant = "sync_sum_looks_once") {
                break;
            }
            let more = self.collect(|c| &c.added);
            if more == added {
                sum = more.wrapping_sub(again);
                break;
            }
            (taken, added) = (again, more);
        }
        sum as i64
    }

    /// Returns the count at one moment during the call.
    ///
    /// Linearizable. Repeats while other threads add, so it may take long under constant writing; it delays no other
    /// thread.
    pub fn exact(&self) -> i64 {
        loop {
            if let Some(count) = self.try_exact(u32::MAX) {
                return count;
            }
        }
    }

    /// Returns the count at one moment during the call; `None` if that is not found in `tries` repetitions.
    /// Linearizable.
    pub fn try_exact(&self, tries: u32) -> Option<i64> {
        Self::begin_sum();
        let mut backoff = Backoff::new();
        let mut before = (self.collect(|c| &c.added), self.collect(|c| &c.taken));
        for _ in 0..tries {
            let after = (self.collect(|c| &c.added), self.collect(|c| &c.taken));
            if before == after {
                return Some(after.0.wrapping_sub(after.1) as i64);
            }
            before = after;
            backoff.wait();
        }
        None
    }

    /// Returns the number of bytes on the heap.
    pub fn memory(&self) -> usize {
        self.stripes()
            .map_or(0, |s| size_of::<Stripes>() + size_of_val(&*s.stripes))
    }

    /// Makes what this thread has added visible before it reads what others have (invariant SUM).
    #[inline]
    fn begin_sum() {
        if !cfg!(fyris_mutant = "sync_sum_unfenced") {
            // SeqCst: pairs with itself in the other thread.
            fence(Ordering::SeqCst);
        }
    }

    fn collect(&self, side: impl Fn(&Cell) -> &AtomicU64) -> u64 {
        // Acquire, all: pair with the Release stores and additions in `add`.
        let mut sum = side(&self.base).load(Ordering::Acquire);
        for stripe in self.stripes().map_or(&[][..], |s| &s.stripes) {
            sum = sum.wrapping_add(side(&stripe.0).load(Ordering::Acquire));
        }
        sum
    }

    #[inline]
    fn stripes(&self) -> Option<&Stripes> {
        // Acquire: pairs with the Release in `inflate`.
        let stripes = self.stripes.load(Ordering::Acquire);
        // SAFETY: null, or from the Box in `inflate`, which lives as long as the counter.
        unsafe { stripes.as_ref() }
    }
}

#[inline]
fn side(cell: &Cell, delta: i64) -> &AtomicU64 {
    if delta < 0 { &cell.taken } else { &cell.added }
}

impl Drop for Striped {
    fn drop(&mut self) {
        // Relaxed: `&mut self` is ordered after everything.
        let stripes = self.stripes.load(Ordering::Relaxed);
        if !stripes.is_null() {
            // SAFETY: from the Box in `inflate`; only this thread can still reach it.
            drop(unsafe { Box::from_raw(stripes) });
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn counts_across_threads_and_inflation() {
        let counter = Striped::new();
        std::thread::scope(|s| {
            for t in 0..8 {
                let counter = &counter;
                s.spawn(move || {
                    for i in 0..5000 {
                        if t == 0 && i == 100 {
                            counter.inflate();
                        }
                        counter.add(3);
                        assert!(counter.sum() > 0, "never below the truth");
                        counter.add(-2);
                    }
                });
            }
        });
        assert_eq!(counter.sum(), 40_000);
        assert_eq!(counter.exact(), 40_000);
        assert!(counter.memory() > 0);
    }

    #[test]
    fn sums_never_go_backwards_under_additions() {
        // Two threads ask in turns, each for no less than was seen before by any; it ends when four have added enough.
        let counter = Striped::new();
        let seen = std::sync::Mutex::new(0);
        let total = 4 * 20_000;
        std::thread::scope(|s| {
            for thread in 0..4 {
                let counter = &counter;
                s.spawn(move || {
                    for i in 0..total / 4 {
                        if thread == 0 && i == 500 {
                            counter.inflate();
                        }
                        counter.add(1);
                    }
                });
            }
            for exactly in [false, true] {
                let (counter, seen) = (&counter, &seen);
                s.spawn(move || {
                    loop {
                        let before: i64 = *seen.lock().unwrap();
                        let now = if exactly {
                            counter.exact()
                        } else {
                            counter.sum()
                        };
                        assert!(before <= now && now <= total, "{before} to {now}");
                        let mut seen = seen.lock().unwrap();
                        *seen = now.max(*seen);
                        if now == total {
                            return;
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn one_of_two_that_add_and_sum_counts_the_other() {
        const ROUNDS: u64 = 50_000;
        let counter = Striped::new();
        counter.inflate();
        let at = [AtomicU64::new(0), AtomicU64::new(0)];
        let missed = |me: usize| -> Vec<bool> {
            let round = |round: u64| {
                // Release and Acquire: so the additions of earlier rounds are counted.
                at[me].store(round, Ordering::Release);
                let mut spins = 0;
                while at[1 - me].load(Ordering::Acquire) < round {
                    spins += 1;
                    if spins > 2_000 {
                        std::thread::yield_now();
                    }
                    std::hint::spin_loop();
                }
                counter.add(1);
                let sum = if round.is_multiple_of(2) {
                    counter.sum()
                } else {
                    counter.exact()
                };
                (sum as u64) < 2 * round
            };
            (1..=ROUNDS).map(round).collect()
        };
        let [one, two] = std::thread::scope(|s| {
            let missed = &missed;
            let threads = [0, 1].map(|me| s.spawn(move || missed(me)));
            threads.map(|thread| thread.join().unwrap())
        });
        let both = one.iter().zip(&two).filter(|(one, two)| **one && **two);
        assert_eq!(both.count(), 0, "rounds where neither counted the other");
    }

    #[test]
    fn an_exact_sum_is_true_at_one_moment() {
        // One thread keeps the true value at 0 or 1; a torn sum would leave that range.
        let counter = Striped::new();
        counter.inflate();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                // Relaxed, as the store below: a flag; nothing is read because of it.
                while !stop.load(Ordering::Relaxed) {
                    counter.add(1);
                    counter.add(-1);
                    std::hint::black_box((0..50).sum::<u64>());
                }
            });
            for _ in 0..200 {
                assert!((0..=1).contains(&counter.exact()));
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
