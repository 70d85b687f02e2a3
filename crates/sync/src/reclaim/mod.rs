//! The reclamation facade: one scheme for the whole of Fyris.
//!
//! # Why
//!
//! A reader walks a structure without a lock, so a writer that unlinks a block cannot free it: it
//! *retires* it, and the block is freed once no thread that might still look at it is pinned.
//! The scheme is `seize` (Hyaline-1), and a guard of it that lies ready for the thread's next pin (see `linger`):
//! pinning and unpinning write and read a line that is the thread's own; the price of the barriers falls on the
//! thread that retires, once a batch.
//!
//! # The invariant (R)
//!
//! A block reachable at a moment when a thread is pinned stays allocated until that thread unpins.
//! It holds if whoever retires a block has first made it unreachable for threads that pin later,
//! and retires it once. Every `unsafe` that follows a shared pointer cites R.
//!
//! Loads of shared pointers that R protects use [`PROTECT`], the ordering `seize` asks for.
//!
//! # How much garbage waits
//!
//! Each thread gathers a batch of retired blocks before it starts a round, so up to a batch a thread
//! waits at rest (not of a thread that has ended), and everything retired since waits for a thread that stays pinned:
//! keep pins short. Small blocks may wait so; what is large, or holds something that others count (a binary, a
//! whole table), must not. Who retires such a block says [`Pin::hasten`], which pays for one barrier more. A thread
//! that wants its garbage gone says [`flush`].
//!
//! # Under loom
//!
//! `--cfg loom` puts a stand-in here, see `model`: it keeps exact books of who is pinned since when,
//! frees nothing before the model ends, and lets a test ask whether a block would have been freed.

use crate::atomic::Ordering;

#[cfg(any(not(loom), test))]
mod linger;
#[cfg(not(loom))]
mod live;
#[cfg(loom)]
mod model;

#[cfg(not(loom))]
use live as scheme;
#[cfg(loom)]
use model as scheme;
#[cfg(loom)]
pub use model::{assert_not_reclaimed, check};

/// Ordering of a load whose result is dereferenced under a pin (stronger than `Acquire`, as the
/// collector's light barrier requires; the same instruction on x86-64).
pub const PROTECT: Ordering = Ordering::SeqCst;

/// A pinned thread: blocks reachable while it exists stay allocated until it is dropped.
///
/// Implemented by [`Guard`] (cheap, stays on its thread) and [`OwnedGuard`] (`Send`).
pub trait Pin: sealed::Sealed {
    /// Calls [`Retire::reclaim`] on `ptr` once no thread pinned now is pinned any more.
    ///
    /// # Safety
    ///
    /// `ptr` is unreachable for threads that pin from now on, is retired once, and may be reclaimed
    /// on any thread.
    unsafe fn retire<T: Retire>(&self, ptr: *mut T);

    /// Starts freeing what this thread has retired instead of waiting for a full batch.
    fn flush(&self);

    /// Sees to it that what is retired under this pin is freed as soon as the pin, and those of other threads that
    /// are pinned when it goes, are gone: at the price of a barrier, once for the pin.
    fn hasten(&self);
}

/// How a retired block is freed.
pub trait Retire: 'static {
    /// Frees the block.
    ///
    /// # Safety
    ///
    /// Nobody else can reach `ptr` any more, and it is reclaimed once.
    unsafe fn reclaim(ptr: *mut Self);
}

mod sealed {
    pub trait Sealed {}
}

/// A pin that stays on the thread that made it. See [`pin`].
pub struct Guard(scheme::Local);

/// A pin that may move to another thread. See [`pin_owned`].
pub struct OwnedGuard(scheme::Owned);

/// Pins the current thread. Nested pins are cheap.
///
/// A few nanoseconds, no lock, no line shared with other readers. While a guard lives nothing that
/// was reachable since is freed, so guards should be short-lived.
#[inline]
pub fn pin() -> Guard {
    Guard(scheme::enter())
}

/// Makes a pin that may be sent to another thread; dearer than [`pin`].
pub fn pin_owned() -> OwnedGuard {
    OwnedGuard(scheme::enter_owned())
}

/// Frees what this thread has retired, as far as nobody else is pinned.
///
/// Does nothing under a pin of the same thread. For tests, and for threads about to be idle.
pub fn flush() {
    pin().flush();
}

macro_rules! impl_pin {
    ($guard:ty) => {
        impl sealed::Sealed for $guard {}
        impl Pin for $guard {
            #[inline]
            unsafe fn retire<T: Retire>(&self, ptr: *mut T) {
                // SAFETY: the caller's contract is the scheme's contract.
                unsafe { self.0.retire(ptr) }
            }
            fn flush(&self) {
                self.0.flush();
            }
            #[inline]
            fn hasten(&self) {
                self.0.hasten();
            }
        }
        impl std::fmt::Debug for $guard {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($guard))
            }
        }
    };
}
impl_pin!(Guard);
impl_pin!(OwnedGuard);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    struct Counted(&'static AtomicUsize);
    impl Retire for Counted {
        unsafe fn reclaim(ptr: *mut Self) {
            // SAFETY: every `Counted` here is a Box, reclaimed once.
            let counted = unsafe { Box::from_raw(ptr) };
            counted.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The other test of this process may be pinned for a moment.
    fn await_count(count: &AtomicUsize, wanted: usize) {
        let start = std::time::Instant::now();
        while count.load(Ordering::Relaxed) != wanted {
            assert!(start.elapsed().as_secs() < 5, "not freed");
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
            pin.flush();
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
            inner.hasten();
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
        pin.hasten();
        drop(pin);
        // Nobody else retires anything here: the idle thread's guard must have gone in that round.
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
                let old = shared.swap(new(), Ordering::AcqRel);
                // SAFETY: the swap took it out, and gives it to one thread.
                unsafe { pin.retire(old) };
                if i.is_multiple_of(64) {
                    pin.hasten();
                }
            }
        };
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let _pin = pin();
                        // SAFETY: reachable under the pin (R).
                        let page = unsafe { &*shared.load(PROTECT) };
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
        // SAFETY: the last one, which nobody else can reach any more.
        unsafe { Page::reclaim(shared.into_inner()) };
    }
}
