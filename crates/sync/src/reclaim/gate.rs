//! Guards of the collector, which a fork does not meet half made.
//!
//! `seize` takes a lock of its own where a guard that may move between threads is made or dropped. A forked child would
//! find that lock held for good if another thread was in there, so a fork waits until none is, and lets none in
//! meanwhile. Blocks that `seize` lets go are reclaimed when this thread is outside again, so foreign code runs neither
//! inside nor within `seize`.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

use seize::{Collector, Guard as _, OwnedGuard};

use super::bag::{self, Bag};
use super::scheme::process;

/// The longest wait of a fork for threads that do not get on, such as those of a debugger.
const PATIENCE: Duration = Duration::from_millis(100);

/// Threads inside.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Forks under way.
static FORKS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of times that this thread is inside.
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
            // SeqCst, all: pair with those in `close`, in one order with them: either this sees the fork, or `close`
            // sees this.
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

/// Runs what must not be half done in the child of a fork, and runs no foreign code.
pub(super) fn inside(f: impl FnOnce()) {
    let _inside = Inside::enter();
    f();
}

/// The number of guards that are entered, or may be, in the lower half; the number that ever came, in the upper.
/// `seize` does nothing with a batch that has fewer blocks than guards are entered, and says nothing then: a thread
/// that hands a batch in must know better.
static GUARDS: AtomicU64 = AtomicU64::new(0);
const CAME: u64 = 1 << 32;

/// Guards that may enter while a batch is handed in.
const MEANWHILE: u64 = 32;

/// Counts a guard that may be entered from now on.
pub(super) fn count() {
    // Relaxed: ordered by the fence.
    GUARDS.fetch_add(CAME + 1, Ordering::Relaxed);
    // Release: pairs with the Acquire fence in `Entered::retire`: a thread that has met the guard finds it counted.
    fence(Ordering::Release);
}

/// Takes back the count of a guard that is no longer entered.
pub(super) fn uncount() {
    // Relaxed: too large a number does no harm.
    GUARDS.fetch_sub(1, Ordering::Relaxed);
}

/// A guard of the collector: blocks that are retired while it lives, and could be reached before, are not freed.
pub(super) struct Entered {
    guard: ManuallyDrop<OwnedGuard<'static>>,
    /// The process in which it counts, if it does.
    counts: Option<u64>,
}

impl Entered {
    pub(super) fn new(collector: &'static Collector) -> Entered {
        count();
        Entered::enter(collector, Some(process()))
    }

    /// Enters and returns a guard that the caller has counted.
    pub(super) fn uncounted(collector: &'static Collector) -> Entered {
        Entered::enter(collector, None)
    }

    fn enter(collector: &'static Collector, counts: Option<u64>) -> Entered {
        let _inside = Inside::enter();
        Entered {
            guard: ManuallyDrop::new(collector.enter_owned()),
            counts,
        }
    }

    /// Retires a bag as one block, with blocks more for the guards that are entered. `seize` needs a block for each.
    pub(super) fn retire(&self, bag: Box<Bag>) {
        // SAFETY: a box, which `let_go` takes once; the blocks in the bag were unreachable when they were pushed.
        unsafe { self.guard.defer_retire(Box::into_raw(bag), let_go) };
        loop {
            // Relaxed, twice: ordered by the fence where that matters.
            let before = GUARDS.load(Ordering::Relaxed);
            let entered = match cfg!(fyris_mutant = "sync_guards_uncounted") {
                true => 0,
                false => before % CAME,
            };
            for _ in 0..entered + MEANWHILE {
                // SAFETY: `nothing` does nothing, as often as it is called.
                unsafe { self.guard.defer_retire(std::ptr::null_mut::<()>(), nothing) };
            }
            self.guard.flush();
            // Acquire: pairs with the Release fence in `count`.
            fence(Ordering::Acquire);
            let came = (GUARDS.load(Ordering::Relaxed) / CAME).wrapping_sub(before / CAME);
            // No more were met than there were blocks. Else it may be still to be done; and if not, then with no bag.
            if u64::from(came as u32) <= MEANWHILE {
                return;
            }
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        order::goes();
        let inside = Inside::enter();
        // SAFETY: dropped once, here.
        unsafe { ManuallyDrop::drop(&mut self.guard) };
        drop(inside);
        if self.counts == Some(process()) {
            uncount();
        }
        if bag::is_any_waiting() {
            order::has_gone();
            bag::reclaim_waiting();
        }
    }
}

/// Says to ThreadSanitizer what the fences of `seize` say, which it does not follow: what was looked at under a guard
/// was looked at before the guard went, and what is reclaimed is reclaimed after that. A block that is reclaimed too
/// early it still reports.
mod order {
    #[cfg(fyris_sanitize)]
    static GONE: super::AtomicUsize = super::AtomicUsize::new(0);

    #[inline(always)]
    pub(super) fn goes() {
        #[cfg(fyris_sanitize)]
        // Release: pairs with the Acquire in `has_gone`.
        GONE.fetch_add(1, super::Ordering::Release);
    }

    #[inline(always)]
    pub(super) fn has_gone() {
        #[cfg(fyris_sanitize)]
        // Acquire: pairs with the Release in `goes`.
        GONE.load(super::Ordering::Acquire);
    }
}

/// # Safety
///
/// `bag` comes from `Box::into_raw`, and this is called once for it.
unsafe fn let_go(bag: *mut Bag, _: &Collector) {
    // SAFETY: forwarded.
    bag::put_off(unsafe { Box::from_raw(bag) });
}

/// Reclaims what only fills a batch up.
unsafe fn nothing(_: *mut (), _: &Collector) {}

/// Closes the gate before a fork: no other thread is inside when this returns, nor goes there before [`open`].
pub(super) fn close() {
    // SeqCst, here and below: pairs with `Inside::enter`: either that sees the fork, or the load below sees the thread.
    // The load pairs also with the Release in the drop of an `Inside`: the writes made inside are over.
    FORKS.fetch_add(1, Ordering::SeqCst);
    let own = usize::from(DEPTH.get() > 0);
    let begun = Instant::now();
    while INSIDE.load(Ordering::SeqCst) > own && begun.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
}

/// Opens the gate after a fork, in the process that forked.
pub(super) fn open() {
    // SeqCst: pairs with the load in `Inside::enter`.
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// Opens the gate after a fork, in the child, which has one thread and another number than its parent: no guard is
/// entered there yet.
pub(super) fn open_in_child() {
    // SeqCst, both, as everywhere; there is no other thread to pair with.
    INSIDE.store(usize::from(DEPTH.get() > 0), Ordering::SeqCst);
    FORKS.store(0, Ordering::SeqCst);
    // Relaxed: there is no other thread.
    GUARDS.store(0, Ordering::Relaxed);
}
