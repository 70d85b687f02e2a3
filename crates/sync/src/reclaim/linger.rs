//! A guard that stays where its thread can take it up again.
//!
//! # Why
//!
//! Entering the collector and leaving it takes some forty instructions and a locked one, at every pin. A lookup is
//! little more than one or two cache misses, and the processor waits for those of several lookups at once only as
//! long as all their instructions fit into its window; so a pin cost a lookup a quarter of its time. But most pins of a
//! thread follow another one closely. So a thread that unpins leaves its guard of the collector lying in its *slot*,
//! still entered, and the next pin finds it there: it only says that it is in. Whoever has retired something takes
//! away what lies about unused.
//!
//! # The protocol
//!
//! A slot has a *depth*, how many pins its thread has, and a *state*, which is odd while a guard lies there that may
//! be used without asking. A thread that pins raises the depth, then looks at the state; one that unpins lowers
//! the depth, then looks at the state. Whoever retires ([`Slot::mark`], then [`Slot::take`])
//!
//! 1. hands its batch to the collector, which notes it with every guard;
//! 2. makes the states even;
//! 3. makes all threads pass a barrier ([`heavy`]);
//! 4. takes the guards of those slots whose depth is zero, and drops them.
//!
//! ## Invariant L: a pinned thread's guard is its own
//!
//! A thread that finds its state odd after it has raised the depth keeps the guard until it has lowered the depth
//! to zero. For if it looked before the barrier of whoever made the state even, it had raised the depth before, and
//! step 4 sees that. If it looked after, it found the state even. Then it takes the lock of the slot, under which guards are
//! taken: either the guard is still there and whoever comes for it later sees the depth, or the thread enters anew.
//!
//! A state only grows, so nobody takes another guard than the one that he marked before the barrier.
//!
//! ## Invariant U: a marked guard goes with its thread's pin
//!
//! Step 4 leaves a guard alone only if its thread is pinned after the barrier. That thread lowers the depth after the
//! barrier, so it finds the state even then, and drops the guard itself. And a state is made odd before the guard is
//! entered, so that step 2 misses no guard that step 1 has met. So what is retired waits for no thread that is not
//! pinned.

use crate::atomic::{AtomicU64, Ordering, fence};
#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bit of a state: the guard may be used without asking. Else the slot has none, or one that somebody wants to be gone.
const STAYS: u64 = 1;

/// Whether barriers are fences on both sides, because a tool has to see them.
const FENCED: bool = cfg!(any(loom, miri, fyris_sanitize));

/// Where a thread's guard `G` lies. Not aligned by itself: a library that is loaded at run time, as into the Erlang machine, is
/// refused if it has thread-local values of more than 64 bytes' alignment.
pub(super) struct Slot<G> {
    /// How many pins the thread has. Written by the thread alone.
    depth: AtomicU64,
    /// Twice the number of guards that were made to go so far, and [`STAYS`].
    state: AtomicU64,
    guard: Mutex<Option<G>>,
}

impl<G> Slot<G> {
    #[cfg(not(loom))]
    pub(super) const fn new() -> Self {
        Self {
            depth: AtomicU64::new(0),
            state: AtomicU64::new(0),
            guard: Mutex::new(None),
        }
    }

    #[cfg(loom)]
    pub(super) fn new() -> Self {
        Self {
            depth: AtomicU64::new(0),
            state: AtomicU64::new(0),
            guard: Mutex::new(None),
        }
    }

    /// Pins the slot's thread, which calls this; `make` enters the collector if need be. The guard stays if
    /// `may_stay`.
    #[inline]
    pub(super) fn enter(&self, may_stay: impl FnOnce() -> bool, make: impl FnOnce() -> G) {
        // Relaxed: only this thread writes it. The barrier orders it for others.
        let depth = self.depth.load(Ordering::Relaxed);
        self.depth.store(depth + 1, Ordering::Relaxed);
        light();
        // Relaxed: odd or even is all that is asked, and the barrier orders that (invariant L). Whether it is the
        // outermost pin is asked later, so that this is four instructions.
        if self.state.load(Ordering::Relaxed) & STAYS == 0 {
            self.ask(may_stay, make);
        }
    }

    /// The guard that is there stays, or there will be one: who comes for it now sees the depth.
    #[cold]
    #[inline(never)]
    fn ask(&self, may_stay: impl FnOnce() -> bool, make: impl FnOnce() -> G) {
        // Relaxed: only this thread writes it. Under another pin the guard is there.
        if self.depth.load(Ordering::Relaxed) > 1 || self.guard().is_some() {
            return;
        }
        // Nobody puts one here but this thread.
        if may_stay() {
            // Relaxed, twice: nobody else changes an even state.
            let before = self.state.load(Ordering::Relaxed);
            self.state.store(before + STAYS, Ordering::Relaxed);
            if !cfg!(fyris_mutant = "sync_stays_unseen") {
                // Release: pairs with the fence of whoever meets the guard and then looks for it here (invariant U).
                fence(Ordering::Release);
            }
        }
        // Not under the lock: it may wait for others.
        let guard = make();
        *self.guard() = Some(guard);
    }

    /// Unpins the slot's thread, which calls this.
    #[inline]
    pub(super) fn leave(&self) {
        // Relaxed: only this thread writes it.
        let depth = self.depth.load(Ordering::Relaxed) - 1;
        // Release: pairs with the Acquire in `take`.
        self.depth.store(depth, Ordering::Release);
        if !cfg!(fyris_mutant = "sync_leave_unfenced") {
            light();
        }
        // Relaxed: as in `enter` (invariant U).
        if self.state.load(Ordering::Relaxed) & STAYS == 0 {
            self.drop_guard();
        }
    }

    /// Drops the guard if that was the outermost pin and it is still there. What that frees may pin this thread again.
    #[cold]
    #[inline(never)]
    fn drop_guard(&self) {
        // Relaxed: only this thread writes it.
        if self.depth.load(Ordering::Relaxed) > 0 {
            return;
        }
        // The lock is gone before the guard goes.
        let guard = self.guard().take();
        drop(guard);
    }

    /// Asks for the guard that lies here: the number to take it by, after a barrier. `None` if there is none, or
    /// somebody else has asked and will see to it.
    ///
    /// The caller has made an Acquire fence after it met the guard.
    pub(super) fn mark(&self) -> Option<u64> {
        // Relaxed, all: the fence before and the barrier that follows order it.
        let seen = self.state.load(Ordering::Relaxed);
        let marked = seen + 1;
        let swap = |to| {
            self.state
                .compare_exchange(seen, to, Ordering::Relaxed, Ordering::Relaxed)
        };
        (seen & STAYS != 0 && swap(marked).is_ok()).then_some(marked)
    }

    /// Takes the guard that was marked by this number before a barrier, unless its thread is pinned and will drop
    /// it, or it is gone already.
    pub(super) fn take(&self, marked: u64) -> Option<G> {
        let mut guard = self.guard();
        // Relaxed: while this guard is here the number is its own, and whoever puts another one here has the lock
        // after it has changed the number.
        let same = self.state.load(Ordering::Relaxed) == marked
            || cfg!(fyris_mutant = "sync_takes_any_guard");
        // Acquire: pairs with the Release in `leave`: what the thread did under the guard is over (invariant L).
        let pinned = self.depth.load(Ordering::Acquire) != 0;
        if same && !pinned { guard.take() } else { None }
    }

    /// Gives back the guard that stayed. For the slot's thread when it ends; `Err` if it is still pinned, and then
    /// unpinning drops the guard.
    #[cfg(not(loom))]
    pub(super) fn close(&self) -> Result<Option<G>, ()> {
        // Whoever has marked it before takes it away, or finds it gone.
        self.mark();
        // Relaxed: only this thread writes it.
        match self.depth.load(Ordering::Relaxed) {
            0 => Ok(self.guard().take()),
            _ => Err(()),
        }
    }

    #[cfg(not(loom))]
    fn guard(&self) -> MutexGuard<'_, Option<G>> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(loom)]
    fn guard(&self) -> MutexGuard<'_, Option<G>> {
        self.guard.lock().unwrap()
    }
}

/// The barrier of a thread that pins or unpins: nothing but an order for the compiler, as [`heavy`] does the rest.
#[inline]
fn light() {
    if FENCED {
        if !cfg!(fyris_mutant = "sync_light_unfenced") {
            // SeqCst: pairs with the fence in `heavy`.
            fence(Ordering::SeqCst);
        }
    } else {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}

/// A barrier in every thread: of what one does before its [`light`] and after it, and what the caller does before
/// and after this, one side sees the other.
pub(super) fn heavy() {
    if FENCED {
        // SeqCst: pairs with the fence in `light`.
        fence(Ordering::SeqCst);
        return;
    }
    #[cfg(target_os = "linux")]
    assert!(
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0,
        "a barrier that was registered fails"
    );
}

/// Whether there is a [`heavy`] barrier on this system: without one no guard may stay.
#[cfg(not(loom))]
pub(super) fn is_possible() -> bool {
    if FENCED {
        return true;
    }
    #[cfg(target_os = "linux")]
    return membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
    #[cfg(not(target_os = "linux"))]
    return false;
}

#[cfg(target_os = "linux")]
fn membarrier(command: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes two numbers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0) }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use std::sync::atomic::AtomicUsize as Plain;

    /// A collector of one thread's guards. `entered` is what others see of it; `living` is the truth of the
    /// interleaving, whatever its threads may know.
    struct Guards {
        entered: AtomicU64,
        made: Plain,
        living: Plain,
    }

    struct Held(Arc<Guards>);

    impl Held {
        fn new(guards: &Arc<Guards>) -> Self {
            let number = guards.made.fetch_add(1, Ordering::Relaxed) + 1;
            guards.living.store(number, Ordering::Relaxed);
            guards.entered.store(number as u64, Ordering::Relaxed);
            light();
            Held(Arc::clone(guards))
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            self.0.living.store(0, Ordering::Relaxed);
            self.0.entered.store(0, Ordering::Release);
        }
    }

    fn pinned(slot: &Slot<Held>, guards: &Arc<Guards>) {
        slot.enter(|| true, || Held::new(guards));
        let mine = guards.living.load(Ordering::Relaxed);
        assert_ne!(mine, 0, "a pinned thread has a guard");
        thread::yield_now();
        let now = guards.living.load(Ordering::Relaxed);
        assert_eq!(mine, now, "and keeps it");
        slot.leave();
    }

    /// Hands in a batch and sweeps; returns the guard that the batch waits for.
    fn swept(slot: &Slot<Held>, guards: &Guards) -> u64 {
        heavy();
        let met = guards.entered.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let marked = slot.mark();
        heavy();
        drop(marked.and_then(|marked| slot.take(marked)));
        met
    }

    fn check(sweepers: usize, pins: usize) {
        loom::model(move || {
            let slot = Arc::new(Slot::new());
            let guards = Arc::new(Guards {
                entered: AtomicU64::new(0),
                made: Plain::new(0),
                living: Plain::new(0),
            });
            let others: Vec<_> = (0..sweepers)
                .map(|_| {
                    let (slot, guards) = (Arc::clone(&slot), Arc::clone(&guards));
                    thread::spawn(move || swept(&slot, &guards))
                })
                .collect();
            (0..pins).for_each(|_| pinned(&slot, &guards));
            for other in others {
                let met = other.join().unwrap();
                let living = guards.living.load(Ordering::Relaxed) as u64;
                assert!(met == 0 || met != living, "a batch waits for nobody");
            }
        });
    }

    #[test]
    fn one_sweeper() {
        check(1, 3);
    }

    #[test]
    fn two_sweepers() {
        check(2, 3);
    }
}
