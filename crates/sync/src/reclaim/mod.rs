//! The reclamation facade: one scheme for the whole of Fyris.
//!
//! # Why
//!
//! A reader walks a structure without a lock, so a writer that unlinks a block cannot free it: it *retires* it, and the
//! block is freed once no thread that might still look at it is pinned. The scheme is `seize`'s, behind a facade, so
//! that it can be replaced by a model: the blocks that a thread retires gather in a bag, which is retired as one block;
//! and a thread that unpins leaves its guard for its next pin (see `guard_cache`).
//!
//! # Invariant
//!
//! **RECLAIM**: a block reachable at a moment when a thread is pinned stays allocated until that thread unpins. It
//! holds if the thread that retires a block has first made it unreachable for threads that pin later, and retires it
//! once. Every `unsafe` that follows a shared pointer cites RECLAIM.
//!
//! Loads of shared pointers that RECLAIM protects use [`PROTECT`], the ordering `seize` asks for.
//!
//! # When blocks are reclaimed
//!
//! Blocks are reclaimed where a pin ends, and there alone: [`Guard::retire`] runs no foreign code, so a structure may
//! retire under its own locks. Reclaiming a block may itself pin, retire and panic; it runs under no lock of this
//! module.
//!
//! * The end of a [`LocalGuard`] that is nested in another of its thread reclaims nothing. The end of the outermost
//!   hands in the blocks that the thread has retired, if that is due, and reclaims those that waited for this pin
//!   alone.
//! * The end of an [`OwnedGuard`] reclaims the blocks that waited for it alone (and for those that began with it, as
//!   they share one guard of the collector), on the thread where it ends, also if a [`LocalGuard`] of that thread
//!   lives: blocks that are reclaimed then were handed in before that one began. It hands in the blocks that the thread
//!   that drops it has retired, if that is due, unless a [`LocalGuard`] of that thread lives: then the end of that one
//!   does. Other threads that retired blocks under it hand them in themselves.
//!
//! # The amount of garbage that waits
//!
//! At rest, for each living thread: fewer than 512 blocks, which hold less than 64 KiB each and less than 256 KiB in
//! all, as [`Guard::weigh`] counts them (a bag that passes a bound is handed in when the pin ends); and what nobody
//! weighed, of 16 blocks and more, no longer than two milliseconds if the thread goes on retiring, by the kernel's coarse
//! clock, which steps every 1 to 10 ms (a thread that replaces megabytes as fast as it can may keep some 80 of them; who
//! cannot afford that weighs them). While any thread retires, a round in a tenth of a second takes the bags of all threads that are not pinned (of the first 256 of a
//! process, where there is a barrier to do it with); [`flush`] does it at once. A thread that ends leaves nothing.
//! While a thread is pinned, every block that is retired from then on waits for it, with 16 bytes for each block and 4
//! KiB for each bag: keep pins short. An [`OwnedGuard`] may hold back blocks that were retired since the last bag was
//! handed in before it began, too. For a block that must not wait at all, such as a whole table, there is
//! [`Guard::flush_on_drop`], which pays for two barriers. A thread that wants its garbage freed calls [`flush`].
//!
//! # Forks
//!
//! A child has one thread, and waits for the pins of no other: it gets a collector of its own, and blocks that had not
//! been reclaimed are never freed. An [`OwnedGuard`] that lived at the fork may be in the hands of that one thread, so
//! it stays a pin in the child; one that another thread held holds back the blocks that the child retires from then on.
//!
//! # In a model
//!
//! `--cfg loom` and `--cfg shuttle` put a stand-in here, see `model`: it keeps exact books of which thread is pinned
//! since when, frees nothing before the model ends, and lets a test ask whether a block would have been freed.

use crate::atomic::Ordering;

#[cfg(not(any(loom, shuttle)))]
mod background;
#[cfg(not(any(loom, shuttle)))]
mod bag;
#[cfg(not(any(loom, shuttle)))]
mod clock;
#[cfg(not(any(loom, shuttle)))]
mod gate;
#[cfg_attr(
    any(shuttle, all(loom, not(test))),
    expect(dead_code, reason = "only its barriers are used")
)]
mod guard_cache;
#[cfg(not(any(loom, shuttle)))]
mod live;
#[cfg(any(loom, shuttle))]
mod model;
#[cfg(not(any(loom, shuttle)))]
mod owned;
#[cfg(all(unix, not(any(loom, shuttle))))]
mod process;
#[cfg_attr(shuttle, expect(dead_code, reason = "nobody has a word"))]
mod section;

#[cfg(not(any(loom, shuttle)))]
use live::{self as scheme, LocalPin, OwnedPin};
#[cfg(any(loom, shuttle))]
use model::{self as scheme, ModelPin as LocalPin, ModelPin as OwnedPin};
#[cfg(any(loom, shuttle))]
pub use model::{assert_not_reclaimed, check};
pub use section::{Section, Sections};

/// Returns a number of this process that no process has which it forks from now on.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn this_process() -> u64 {
    live::watched_process()
}

/// Fails in a model if the block would have been freed by now. Does nothing where there is no model.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub fn assert_not_reclaimed<T>(_: *const T) {}

/// Ordering of a load whose result is dereferenced under a pin: the one that `seize` asks for where pins make a fence,
/// and no more than Acquire where its barriers do. The same instruction as Acquire on x86-64. It pairs with the Release
/// store that published the pointer, and orders the load after the pin for the thread that retires the block.
pub const PROTECT: Ordering = Ordering::SeqCst;

/// A pinned thread: blocks reachable while it exists stay allocated until it is dropped.
///
/// Implemented by [`LocalGuard`] (cheap, stays on its thread) and [`OwnedGuard`] (`Send`).
pub trait Guard: sealed::Sealed {
    /// Calls [`Retire::reclaim`] on `ptr` once no thread pinned now is pinned any more. Runs no foreign code itself.
    ///
    /// # Safety
    ///
    /// `ptr` is unreachable for threads that pin from now on, is retired once, and may be reclaimed
    /// on any thread and at any later time: reclaiming it does not use a value that the block borrows.
    unsafe fn retire<T: Retire>(&self, ptr: *mut T);

    /// Tells the number of bytes of a block that is larger than most, before it is retired.
    fn weigh(&self, bytes: usize);

    /// Arranges for the blocks that this thread has retired to be freed as soon as its outermost pin has ended, and so
    /// have the pins of the other threads that are pinned at that moment: at the price of two barriers, once for the
    /// pin. Under an [`OwnedGuard`] that moves to another thread, when this thread next hands a bag in or ends.
    fn flush_on_drop(&self);
}

/// Blocks that can be retired.
pub trait Retire {
    /// Frees the block.
    ///
    /// # Safety
    ///
    /// Only the caller can still reach `ptr`, and it is reclaimed once.
    unsafe fn reclaim(ptr: *mut Self);
}

mod sealed {
    pub trait Sealed {}
}

/// A pin that stays on the thread that made it. See [`pin`].
pub struct LocalGuard(LocalPin);

/// A pin that may move to another thread. See [`pin_owned`].
pub struct OwnedGuard(OwnedPin);

/// Pins the current thread. Nested pins are cheap.
///
/// A few nanoseconds, no lock, no line shared with other readers. While a guard lives nothing that
/// was reachable since is freed, so guards should be short-lived. One that is forgotten (`std::mem::forget`) holds back
/// what every thread of the process retires from then on, also after its own thread has ended.
#[inline]
pub fn pin() -> LocalGuard {
    LocalGuard(scheme::enter())
}

/// Makes a pin that may be sent to another thread; dearer than [`pin`].
pub fn pin_owned() -> OwnedGuard {
    OwnedGuard(scheme::enter_owned())
}

/// Frees the blocks that this thread has retired, and those that other threads have which are not pinned, except those
/// that wait for a pin of another thread.
///
/// Two barriers in all threads and some microseconds if anything waits, else a look at 256 words at most. Under a pin
/// of the same thread it is done when that ends. For threads that want what they have removed dropped now, such as a
/// channel closed or a file. What the allocator keeps of this thread's freed memory goes back to the system, if no pin
/// is in the way: some milliseconds, if that is much.
pub fn flush() {
    scheme::flush();
    scheme::give_back();
}

/// Runs `job` soon on a background thread: for work that takes long, and must not hold up the thread that finds it to
/// be done. A panic ends the job alone. Where the system refuses another thread the job is run here.
pub fn later(job: impl FnOnce() + Send + 'static) {
    scheme::later(Box::new(job));
}

/// Counts `bytes`, approximately, of records and tables as freed, where that was not by [`Guard::retire`]. When they
/// are some megabytes, memory that is still free half a second later has gone back to the system.
pub fn freed(bytes: usize) {
    scheme::freed(bytes);
}

/// Frees the blocks that [`flush`] frees, and leaves to the allocator what it keeps.
#[doc(hidden)]
pub fn free_waiting() {
    scheme::flush();
}

macro_rules! impl_pin {
    ($guard:ty) => {
        impl sealed::Sealed for $guard {}
        impl Guard for $guard {
            #[inline]
            unsafe fn retire<T: Retire>(&self, ptr: *mut T) {
                // SAFETY: the caller's contract is the scheme's contract.
                unsafe { self.0.retire(ptr) }
            }
            #[inline]
            fn weigh(&self, bytes: usize) {
                self.0.weigh(bytes);
            }
            #[inline]
            fn flush_on_drop(&self) {
                self.0.flush_on_drop();
            }
        }
        impl std::fmt::Debug for $guard {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($guard))
            }
        }
    };
}
impl_pin!(LocalGuard);
impl_pin!(OwnedGuard);

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    struct Counted(&'static AtomicUsize);
    impl Retire for Counted {
        unsafe fn reclaim(ptr: *mut Self) {
            // SAFETY: every `Counted` here is a Box, reclaimed once.
            let counted = unsafe { Box::from_raw(ptr) };
            // Relaxed, here and where it is loaded: a count; nothing is read because of it.
            counted.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until `count` is `wanted`: the other test of this process may be pinned for a moment.
    fn await_count(count: &AtomicUsize, wanted: usize) {
        let start = std::time::Instant::now();
        while count.load(Ordering::Relaxed) != wanted {
            assert!(start.elapsed().as_secs() < 60, "not freed");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_block_outlives_the_pins_that_could_see_it() {
        static FREED: AtomicUsize = AtomicUsize::new(0);
        let reader = pin_owned();
        std::thread::spawn(|| {
            let pin = pin();
            for _ in 0..1000 {
                let block = Box::into_raw(Box::new(Counted(&FREED)));
                // SAFETY: never shared, retired once.
                unsafe { pin.retire(block) };
            }
            pin.flush_on_drop();
        })
        .join()
        .unwrap();
        assert_eq!(FREED.load(Ordering::Relaxed), 0);
        drop(reader);
        await_count(&FREED, 1000);
    }

    #[test]
    fn in_haste_a_block_goes_with_the_last_pin() {
        static FREED: AtomicUsize = AtomicUsize::new(0);
        let reader = pin_owned();
        std::thread::spawn(|| {
            let outer = pin();
            let inner = pin();
            let block = Box::into_raw(Box::new(Counted(&FREED)));
            // SAFETY: never shared, retired once.
            unsafe { inner.retire(block) };
            inner.flush_on_drop();
            drop(inner);
            drop(outer);
            assert_eq!(FREED.load(Ordering::Relaxed), 0);
            // The thread lives on, as schedulers do: its end frees nothing.
            drop(reader);
            await_count(&FREED, 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_that_was_pinned_once_holds_nothing_back() {
        static FREED: AtomicUsize = AtomicUsize::new(0);
        let (over, wait) = std::sync::mpsc::channel::<()>();
        let (pinned, go) = std::sync::mpsc::channel();
        let idle = std::thread::spawn(move || {
            drop(pin());
            pinned.send(()).unwrap();
            wait.recv().unwrap_err();
        });
        go.recv().unwrap();
        let pin = pin();
        let block = Box::into_raw(Box::new(Counted(&FREED)));
        // SAFETY: never shared, retired once.
        unsafe { pin.retire(block) };
        pin.flush_on_drop();
        drop(pin);
        // No other thread retires anything here: the idle thread's guard must have been dropped in that round.
        await_count(&FREED, 1);
        drop(over);
        idle.join().unwrap();
    }

    /// More threads than have places, all at once, and each ends with garbage.
    #[test]
    fn threads_come_and_go() {
        static FREED: AtomicUsize = AtomicUsize::new(0);
        const THREADS: usize = if cfg!(miri) { 10 } else { 300 };
        for _ in 0..2 {
            let all = std::sync::Barrier::new(THREADS);
            std::thread::scope(|s| {
                for _ in 0..THREADS {
                    s.spawn(|| {
                        let outer = pin();
                        all.wait();
                        let block = Box::into_raw(Box::new(Counted(&FREED)));
                        // SAFETY: never shared, retired once.
                        unsafe { pin().retire(block) };
                        all.wait();
                        drop(outer);
                        all.wait();
                    });
                }
            });
        }
        await_count(&FREED, 2 * THREADS);
    }

    /// A block that says when it has been freed.
    struct Page([AtomicUsize; 8]);
    impl Retire for Page {
        unsafe fn reclaim(ptr: *mut Self) {
            // SAFETY: every `Page` here is a Box, reclaimed once.
            let page = unsafe { Box::from_raw(ptr) };
            // Relaxed: a reader that meets this store is what the test looks for, in whatever order.
            page.0
                .iter()
                .for_each(|word| word.store(0, Ordering::Relaxed));
        }
    }

    #[test]
    fn readers_that_come_and_go_meet_no_freed_block() {
        let new = || Box::into_raw(Box::new(Page(std::array::from_fn(|_| AtomicUsize::new(7)))));
        let shared = std::sync::atomic::AtomicPtr::new(new());
        let stop = std::sync::atomic::AtomicBool::new(false);
        let write = |times: usize| {
            for i in 0..times {
                let pin = pin();
                // AcqRel: pairs with PROTECT below, and with itself.
                let old = shared.swap(new(), Ordering::AcqRel);
                // SAFETY: the swap took it out, and gives it to one thread.
                unsafe { pin.retire(old) };
                if i.is_multiple_of(64) {
                    pin.flush_on_drop();
                }
            }
        };
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    // Relaxed: a flag, as where it is stored; nothing is read because of it.
                    while !stop.load(Ordering::Relaxed) {
                        let _pin = pin();
                        // PROTECT: pairs with the swap above. SAFETY: reachable under the pin (RECLAIM).
                        let page = unsafe { &*shared.load(PROTECT) };
                        // Relaxed: as in `reclaim`.
                        for word in &page.0 {
                            assert_eq!(word.load(Ordering::Relaxed), 7);
                        }
                    }
                });
            }
            let times = if cfg!(miri) { 20 } else { 30_000 };
            let writers = [s.spawn(move || write(times)), s.spawn(move || write(times))];
            writers
                .into_iter()
                .for_each(|writer| writer.join().unwrap());
            stop.store(true, Ordering::Relaxed);
        });
        // SAFETY: the last one, which only this thread can still reach.
        unsafe { Page::reclaim(shared.into_inner()) };
    }
}
