//! A guard that stays where its thread can take it up again, and what the thread gathers under it.
//!
//! # Why
//!
//! Entering the collector and leaving it takes some forty instructions and a locked one, at every pin. A lookup is
//! little more than one or two cache misses, and the processor waits for those of several lookups at once only as long
//! as all their instructions fit into its window; so a pin cost a lookup a quarter of its time. But most pins of a
//! thread follow another one closely. So a thread that unpins leaves its guard of the collector lying in its *slot*,
//! still entered, and the next pin finds it there: it only says that it is in. A thread that has retired something
//! takes away what lies about unused.
//!
//! # The protocol
//!
//! A slot has a *depth*, how many pins its thread has, and a *state*, which is odd while a guard lies there that may
//! be used without asking. A thread that pins raises the depth, then looks at the state; one that unpins lowers
//! the depth, then looks at the state. A thread that retires ([`Slot::mark`], then [`Slot::take`])
//!
//! 1. hands its batch to the collector, which notes it with every guard;
//! 2. makes the states even;
//! 3. makes all threads pass a barrier ([`heavy`]);
//! 4. takes the guards of those slots whose depth is zero, and drops them.
//!
//! ## Invariant **OWNER**: a pinned thread's guard is its own
//!
//! A thread that finds its state odd after it has raised the depth keeps the guard until it has lowered the depth to
//! zero. For if it looked before the barrier of the thread that made the state even, it had raised the depth before,
//! and step 4 sees that. If it looked after, it found the state even. Then it takes the lock of the slot, under which
//! guards are taken: either the guard is still there and a thread that comes for it later sees the depth, or the thread
//! enters anew.
//!
//! A state only grows, so a thread takes no guard but the one that it marked before the barrier.
//!
//! ## Invariant **FLUSH**: a marked guard goes with its thread's pin
//!
//! Step 4 leaves a guard alone only if its thread is pinned after the barrier. That thread lowers the depth after the
//! barrier, so it finds the state even then, and drops the guard itself. And a state is made odd before the guard is
//! entered, so that step 2 misses no guard that step 1 has met. So retired blocks wait for no thread that is not
//! pinned.
//!
//! ## Invariant **BAG**: the bag of a thread that is not pinned may be taken
//!
//! In the slot lies also what the thread gathers. It touches that while it is pinned, or else under the lock. Another
//! thread takes it as it takes guards: under the lock, after a barrier before which it saw the state even, if it sees
//! the same state and a depth of zero then. As in OWNER: a thread that pinned before the barrier is seen to be pinned,
//! or has left, and what it put in is seen (its depth is lowered by a Release store); one that pins later finds the
//! state even, so it takes the lock before it touches the bag.

use crate::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use crate::cell::UnsafeCell;
use crate::lock::SpinLock;

/// Bit of a state: the guard may be used without asking. Otherwise the slot has none, or one that a thread has marked
/// to be taken away.
const STAYS: u64 = 1;

/// Whether barriers are fences on both sides, because a tool has to see them.
const FENCED: bool = cfg!(any(loom, shuttle, miri, fyris_sanitize));

/// The place of a thread's guard `G` and its bag `B`. Not aligned by itself: a library that is loaded at run time, as
/// into the Erlang machine, is refused if it has thread-local values of more than 64 bytes' alignment.
pub(super) struct Slot<G, B> {
    /// The number of pins of the thread. Written by the thread alone.
    depth: AtomicU64,
    /// Twice the number of guards that were made to go so far, and [`STAYS`].
    state: AtomicU64,
    /// The section that the thread is in: see `section`. Written by the thread alone.
    pub(super) section: AtomicUsize,
    guard: SpinLock<Option<G>>,
    /// See invariant BAG.
    bag: UnsafeCell<B>,
    /// Whether there is something in the bag. Of no use but to save barriers.
    filled: AtomicBool,
}

// SAFETY: the guard is behind a lock, and the bag moves to another thread as a whole (invariant BAG).
unsafe impl<G: Send, B: Send> Sync for Slot<G, B> {}

impl<G, B> Slot<G, B> {
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new(section: usize, bag: B) -> Self {
        Self {
            depth: AtomicU64::new(0),
            state: AtomicU64::new(0),
            section: AtomicUsize::new(section),
            guard: SpinLock::new(None),
            bag: UnsafeCell::new(bag),
            filled: AtomicBool::new(false),
        }
    }

    #[cfg(any(loom, shuttle))]
    pub(super) fn new(section: usize, bag: B) -> Self {
        Self {
            depth: AtomicU64::new(0),
            state: AtomicU64::new(0),
            section: AtomicUsize::new(section),
            guard: SpinLock::new(None),
            bag: UnsafeCell::new(bag),
            filled: AtomicBool::new(false),
        }
    }

    /// Shows the bag to the slot's thread, which calls this.
    ///
    /// # Safety
    ///
    /// The thread is pinned (invariant BAG), and `f` does not come back here.
    #[inline]
    pub(super) unsafe fn with_bag<R>(&self, f: impl FnOnce(&mut B) -> R) -> R {
        // SAFETY: the caller's contract: no other thread touches it, nor does this one further out.
        self.bag.with_mut(|bag| f(unsafe { &mut *bag }))
    }

    /// Shows the bag to the slot's thread, which need not be pinned.
    pub(super) fn with_bag_locked<R>(&self, f: impl FnOnce(&mut B) -> R) -> R {
        // SAFETY: under the lock (invariant BAG), under which nothing is called that takes it again.
        self.guard.with(|_| unsafe { self.with_bag(f) })
    }

    /// Says that there is something in the bag, or that there may be nothing.
    pub(super) fn fill(&self, filled: bool) {
        // Relaxed, as the load: who must know has synchronized with the thread since.
        self.filled.store(filled, Ordering::Relaxed);
    }

    pub(super) fn is_filled(&self) -> bool {
        // Relaxed: who must know has synchronized with the thread since it was filled.
        self.filled.load(Ordering::Relaxed)
    }

    /// Pins the slot's thread, which calls this; `make` enters the collector if need be. The guard stays if
    /// `may_stay`.
    #[inline]
    pub(super) fn enter(&self, may_stay: impl FnOnce() -> bool, make: impl FnOnce() -> G) {
        // Relaxed, both: only this thread writes it. The barrier orders it for others.
        let depth = self.depth.load(Ordering::Relaxed);
        self.depth.store(depth + 1, Ordering::Relaxed);
        light();
        // Relaxed: odd or even is all that is asked, and the barrier orders that (invariant OWNER). Whether it is the
        // outermost pin is asked later, so that this is four instructions.
        if self.state.load(Ordering::Relaxed) & STAYS == 0 {
            self.ask(may_stay, make);
        }
    }

    /// Sees to it that the slot has a guard, a new one if there is none: a thread that comes for it now sees the depth.
    #[cold]
    #[inline(never)]
    fn ask(&self, may_stay: impl FnOnce() -> bool, make: impl FnOnce() -> G) {
        // Relaxed: only this thread writes it. Under another pin the guard is there.
        if self.depth.load(Ordering::Relaxed) > 1 || self.guard.with(|guard| guard.is_some()) {
            return;
        }
        // Only this thread puts a guard here.
        if may_stay() {
            // Relaxed, twice: only this thread changes an even state.
            let before = self.state.load(Ordering::Relaxed);
            self.state.store(before + STAYS, Ordering::Relaxed);
            if !cfg!(fyris_mutant = "sync_stays_unseen") {
                // Release: pairs with the fence of a thread that meets the guard and then looks for it here (invariant
                // FLUSH).
                fence(Ordering::Release);
            }
        }
        // Not under the lock: it may wait for others.
        let guard = make();
        self.guard.with(|place| *place = Some(guard));
    }

    /// Unpins the slot's thread, which calls this. Returns true if it is not pinned any more and its guard does not
    /// stay: so always after [`Slot::mark`] by the thread itself.
    #[inline]
    pub(super) fn leave(&self) -> bool {
        // Relaxed: only this thread writes it.
        let depth = self.depth.load(Ordering::Relaxed) - 1;
        // Release: pairs with the Acquire in `take`.
        self.depth.store(depth, Ordering::Release);
        if !cfg!(fyris_mutant = "sync_leave_unfenced") {
            light();
        }
        // Relaxed: as in `enter` (invariant FLUSH).
        self.state.load(Ordering::Relaxed) & STAYS == 0 && self.drop_guard()
    }

    /// Drops the guard if that was the outermost pin and it is still there. Freeing blocks then may pin this thread
    /// again.
    #[cold]
    #[inline(never)]
    fn drop_guard(&self) -> bool {
        if self.is_pinned() {
            return false;
        }
        // The lock is gone before the guard goes.
        let guard = self.guard.with(Option::take);
        drop(guard);
        true
    }

    /// Returns whether the slot's thread, which calls this, is pinned.
    pub(super) fn is_pinned(&self) -> bool {
        // Relaxed: only this thread writes it.
        self.depth.load(Ordering::Relaxed) > 0
    }

    /// Marks the guard that lies here and returns the number to take it by, after a barrier. Returns `None` if there is
    /// no guard, or if it is marked already.
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
        self.guard.with(|guard| {
            // Relaxed: while this guard is here the number is its own, and the thread that puts another one here has
            // the lock after it has changed the number.
            let same = self.state.load(Ordering::Relaxed) == marked
                || cfg!(fyris_mutant = "sync_takes_any_guard");
            // Acquire: pairs with the Release in `leave`: the accesses that the thread made under the guard are over
            // (invariant OWNER).
            let pinned = self.depth.load(Ordering::Acquire) != 0;
            if same && !pinned { guard.take() } else { None }
        })
    }

    /// Sees to it that the state is even, and returns it: the number to [take](Slot::take_bag) the bag by, after a
    /// barrier.
    pub(super) fn note(&self) -> u64 {
        loop {
            // Relaxed: the barrier that follows orders it.
            let seen = self.state.load(Ordering::Relaxed);
            if seen & STAYS == 0 {
                return seen;
            }
            self.mark();
        }
    }

    /// Shows the bag to another thread, which has [noted](Slot::note) this number before a barrier, and hands it the
    /// guard, unless the slot's thread is pinned or has been since.
    pub(super) fn take_bag(&self, noted: u64, f: impl FnOnce(&mut B)) -> Option<G> {
        self.guard.with(|guard| {
            // Relaxed: as in `take`.
            let same = self.state.load(Ordering::Relaxed) == noted;
            // Acquire: pairs with the Release in `leave`: what the thread put in is seen (invariant BAG).
            let pinned = self.depth.load(Ordering::Acquire) != 0
                && !cfg!(fyris_mutant = "sync_takes_bag_of_pinned");
            if !same || pinned {
                return None;
            }
            self.fill(false);
            // SAFETY: (invariant BAG) under the lock, the thread not pinned, the state even since before a barrier.
            unsafe { self.with_bag(f) };
            guard.take()
        })
    }

    /// Gives back the guard that stayed. For the slot's thread when it ends; `Err` if it is still pinned, and then
    /// unpinning drops the guard.
    pub(super) fn close(&self) -> Result<Option<G>, ()> {
        // A thread that has marked it before takes it away, or finds it gone.
        self.mark();
        match self.is_pinned() {
            false => Ok(self.guard.with(Option::take)),
            true => Err(()),
        }
    }

    /// Forgets the guard in the child of a fork: with `make` the slot's thread, which is the caller, gets another if it
    /// is pinned; else the slot is as new, and in this section. With `bag` it forgets the bag for this one: a thread
    /// that the child does not have may have been at it.
    ///
    /// # Safety
    ///
    /// There is no other thread.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) unsafe fn renew(
        &self,
        section: usize,
        make: Option<impl FnOnce() -> G>,
        bag: Option<B>,
    ) {
        if let Some(new) = bag {
            // SAFETY: written over, not dropped, where there is no other thread.
            self.bag.with_mut(|bag| unsafe { bag.write(new) });
            self.fill(false);
        }
        let guard = make.filter(|_| self.is_pinned()).map(|make| make());
        if guard.is_none() {
            // Relaxed, both: there is no other thread. A section of the caller is under a pin.
            self.depth.store(0, Ordering::Relaxed);
            self.section.store(section, Ordering::Relaxed);
        }
        // So that the guard goes with the pin.
        self.mark();
        // A thread that the child does not have may have held the lock, and have been at the guard.
        self.guard.release();
        // SAFETY: written over, not dropped: the guard belongs to the collector of the parent.
        self.guard
            .with(|place| unsafe { std::ptr::write(place, guard) });
    }
}

/// Orders the accesses of a thread that pins or unpins: a barrier for the compiler only where [`heavy`] makes one in
/// every thread, else a fence.
#[inline]
pub(super) fn light() {
    if FENCED {
        if !cfg!(fyris_mutant = "sync_light_unfenced") {
            // SeqCst: pairs with the fence in `heavy`.
            fence(Ordering::SeqCst);
        }
    } else {
        // SeqCst, for the compiler only: pairs with the barrier in every thread that `heavy` makes.
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}

/// Makes every thread pass a barrier: either the thread sees, after its [`light`], the writes that the caller made
/// before this call, or the caller sees, after this call, the writes that the thread made before its [`light`].
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

/// Returns whether there is a [`heavy`] barrier on this system: without one no guard may stay. To be asked again in the
/// child of a fork.
#[cfg(not(any(loom, shuttle)))]
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

    /// A collector of one thread's guards. `entered` is what others see of it; `living` and `made` are the truth of the
    /// interleaving, whatever its threads may know: of the standard library, so that the model neither orders by them
    /// nor branches on them, and Relaxed suffices for every access.
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
            // Relaxed: the fence in `light` pairs with that in `swept`, as in the collector.
            guards.entered.store(number as u64, Ordering::Relaxed);
            light();
            Held(Arc::clone(guards))
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            self.0.living.store(0, Ordering::Relaxed);
            // Release: pairs with the Acquire fence in `swept`.
            self.0.entered.store(0, Ordering::Release);
        }
    }

    /// A slot with a number in its bag.
    type Slot = super::Slot<Held, u64>;

    fn pinned(slot: &Slot, guards: &Arc<Guards>) {
        slot.enter(|| true, || Held::new(guards));
        // SAFETY: pinned.
        unsafe { slot.with_bag(|bag| *bag += 1) };
        let mine = guards.living.load(Ordering::Relaxed);
        assert_ne!(mine, 0, "a pinned thread has a guard");
        thread::yield_now();
        let now = guards.living.load(Ordering::Relaxed);
        assert_eq!(mine, now, "and keeps it");
        // SAFETY: as above.
        unsafe { slot.with_bag(|bag| *bag += 1) };
        slot.leave();
    }

    /// Takes the bag of a thread that is not pinned; returns what was in it.
    fn collected(slot: &Slot) -> u64 {
        fence(Ordering::Acquire);
        let noted = slot.note();
        heavy();
        let mut all = 0;
        drop(slot.take_bag(noted, |bag| all = std::mem::take(bag)));
        all
    }

    /// A thread pins and puts in, another takes what lies there: whole, and nothing twice.
    #[test]
    fn a_bag_is_taken_beside_pins() {
        loom::model(|| {
            let slot = Arc::new(Slot::new(0, 0));
            let guards = Arc::new(Guards {
                entered: AtomicU64::new(0),
                made: Plain::new(0),
                living: Plain::new(0),
            });
            let other = {
                let slot = Arc::clone(&slot);
                thread::spawn(move || collected(&slot))
            };
            pinned(&slot, &guards);
            pinned(&slot, &guards);
            let taken = other.join().unwrap();
            assert!(taken.is_multiple_of(2), "under a pin");
            assert_eq!(taken + slot.with_bag_locked(|bag| *bag), 4);
        });
    }

    /// Hands in a batch and sweeps; returns the guard that the batch waits for.
    fn swept(slot: &Slot, guards: &Guards) -> u64 {
        heavy();
        // Relaxed, and an Acquire fence: pairs with the Release fence in `ask`, which comes before the guard is
        // entered.
        let met = guards.entered.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let marked = slot.mark();
        heavy();
        drop(marked.and_then(|marked| slot.take(marked)));
        met
    }

    fn check(sweepers: usize, pins: usize) {
        loom::model(move || {
            let slot = Arc::new(Slot::new(0, 0));
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

    /// Pins within a pin: the guard is the outer one's.
    fn nested(slot: &Slot, guards: &Arc<Guards>) {
        slot.enter(|| true, || Held::new(guards));
        let outer = guards.living.load(Ordering::Relaxed);
        slot.enter(|| true, || unreachable!("a guard is there"));
        thread::yield_now();
        slot.leave();
        let now = guards.living.load(Ordering::Relaxed);
        assert_eq!(outer, now, "the inner pin takes nothing away");
        slot.leave();
    }

    /// Pins, and retires under the pin: it marks its own guard, which is dropped with it.
    fn marked_by_itself(slot: &Slot, guards: &Arc<Guards>) {
        slot.enter(|| true, || Held::new(guards));
        slot.mark();
        let mine = guards.living.load(Ordering::Relaxed);
        assert_ne!(mine, 0, "a pinned thread has a guard");
        assert!(slot.leave(), "there is something to look after");
        assert_ne!(guards.living.load(Ordering::Relaxed), mine);
    }

    /// Checks that a slot can be reused: one thread uses it in the ways of `first`, gives it back, and another has it
    /// then.
    fn check_reuse(first: fn(&Slot, &Arc<Guards>)) {
        loom::model(move || {
            let slot = Arc::new(Slot::new(0, 0));
            let guards = Arc::new(Guards {
                entered: AtomicU64::new(0),
                made: Plain::new(0),
                living: Plain::new(0),
            });
            let sweeper = {
                let (slot, guards) = (Arc::clone(&slot), Arc::clone(&guards));
                thread::spawn(move || swept(&slot, &guards))
            };
            let user = {
                let (slot, guards) = (Arc::clone(&slot), Arc::clone(&guards));
                thread::spawn(move || {
                    first(&slot, &guards);
                    drop(
                        slot.close()
                            .unwrap_or_else(|()| unreachable!("it is not pinned")),
                    );
                })
            };
            user.join().unwrap();
            pinned(&slot, &guards);
            let met = sweeper.join().unwrap();
            let living = guards.living.load(Ordering::Relaxed) as u64;
            assert!(met == 0 || met != living, "a batch waits for nobody");
        });
    }

    #[test]
    fn a_place_is_used_again() {
        check_reuse(pinned);
    }

    #[test]
    fn nested_pins() {
        check_reuse(nested);
    }

    #[test]
    fn a_guard_that_its_thread_marked() {
        check_reuse(marked_by_itself);
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
