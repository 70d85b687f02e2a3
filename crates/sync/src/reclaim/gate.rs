//! Guards of the collector, which a fork does not meet half made.
//!
//! `seize` takes a lock of its own where a guard that may move between threads is made or dropped. A forked child would find that lock
//! held for good if another thread was in there, so a fork waits until none is, and lets none in meanwhile. What dropping a guard
//! reclaims runs inside too: a fork by that very code does not wait for itself, and none waits longer than [`PATIENCE`].

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use seize::{Collector, Guard as _, OwnedGuard};

use super::bag::{self, Bag};

/// How long a fork waits for code that is reclaimed.
const PATIENCE: Duration = Duration::from_millis(100);

/// Threads inside.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Forks under way.
static FORKS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How often this thread is inside.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// This thread is inside while this lives.
struct Inside;

impl Inside {
    fn enter() -> Inside {
        let depth = DEPTH.get();
        DEPTH.set(depth + 1);
        if depth > 0 {
            return Inside;
        }
        loop {
            // SeqCst, both: either this sees the fork, or `close` sees this.
            INSIDE.fetch_add(1, Ordering::SeqCst);
            if FORKS.load(Ordering::SeqCst) == 0 {
                return Inside;
            }
            INSIDE.fetch_sub(1, Ordering::SeqCst);
            std::thread::yield_now();
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            // Release: pairs with the SeqCst load in `close`.
            INSIDE.fetch_sub(1, Ordering::Release);
        }
    }
}

/// A guard of the collector: what is retired while it lives, and could be reached before, stays.
pub(super) struct Entered(ManuallyDrop<OwnedGuard<'static>>);

impl Entered {
    pub(super) fn new(collector: &'static Collector) -> Entered {
        let _inside = Inside::enter();
        Entered(ManuallyDrop::new(collector.enter_owned()))
    }

    /// Retires a bag as one block, with `fill` blocks more for the guards that are entered. `seize` needs a block for each.
    pub(super) fn retire(&self, bag: Box<Bag>, fill: usize) {
        // SAFETY: a box, which `reclaim` takes once; what is in the bag was unreachable when it was pushed.
        unsafe { self.0.defer_retire(Box::into_raw(bag), reclaim) };
        for _ in 0..fill {
            // SAFETY: `nothing` does nothing, as often as it is called.
            unsafe { self.0.defer_retire(std::ptr::null_mut::<()>(), nothing) };
        }
        self.0.flush();
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let _inside = Inside::enter();
        // SAFETY: dropped once, here.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

/// # Safety
///
/// As [`Entered::retire`] says.
unsafe fn reclaim(bag: *mut Bag, _: &Collector) {
    // SAFETY: forwarded.
    bag::reclaim(*unsafe { Box::from_raw(bag) });
}

/// Reclaims what only fills a batch up.
unsafe fn nothing(_: *mut (), _: &Collector) {}

/// Before a fork: no other thread is inside when this returns, nor goes there before [`open`].
pub(super) fn close() {
    FORKS.fetch_add(1, Ordering::SeqCst);
    let own = usize::from(DEPTH.get() > 0);
    let begun = Instant::now();
    while INSIDE.load(Ordering::SeqCst) > own && begun.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
}

/// After a fork, in the process that forked.
pub(super) fn open() {
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// After a fork, in the child, which has one thread.
pub(super) fn open_in_child() {
    INSIDE.store(usize::from(DEPTH.get() > 0), Ordering::SeqCst);
    FORKS.store(0, Ordering::SeqCst);
}
