//! The reclamation facade: one scheme for the whole of Fyris.
//!
//! # Why
//!
//! A reader walks a structure without a lock, so a writer that unlinks a block cannot free it: it
//! *retires* it, and the block is freed once no thread that might still look at it is pinned.
//! The scheme is `seize` (Hyaline-1): entering costs a store and leaving a swap on a line that is
//! the thread's own; the price of the barrier falls on the thread that retires, once a batch.
//!
//! # The invariant (R)
//!
//! A block reachable at a moment when a thread is pinned stays allocated until that thread unpins.
//! It holds if whoever retires a block has first made it unreachable for threads that pin later,
//! and retires it once. Every `unsafe` that follows a shared pointer cites R.
//!
//! Loads of shared pointers that R protects use [`PROTECT`], the ordering `seize` asks for.

use std::sync::LazyLock;
use std::sync::atomic::Ordering;

use seize::{Collector, Guard as _};

/// Ordering of a load whose result is dereferenced under a pin (stronger than `Acquire`, as the
/// collector's light barrier requires; the same instruction on x86-64).
pub const PROTECT: Ordering = Ordering::SeqCst;

/// Blocks a thread gathers before it starts a reclamation round: one barrier (a system call on
/// Linux) is paid a batch.
const BATCH: usize = 256;

static COLLECTOR: LazyLock<Collector> = LazyLock::new(|| Collector::new().batch_size(BATCH));

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
}

/// How a retired block is freed.
pub trait Retire {
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
pub struct Guard(seize::LocalGuard<'static>);

/// A pin that may move to another thread. See [`pin_owned`].
pub struct OwnedGuard(seize::OwnedGuard<'static>);

/// Pins the current thread. Nested pins are cheap.
///
/// A few nanoseconds, no lock, no line shared with other readers. While a guard lives nothing that
/// was reachable since is freed, so guards should be short-lived.
#[inline]
pub fn pin() -> Guard {
    Guard(COLLECTOR.enter())
}

/// Makes a pin that may be sent to another thread; dearer than [`pin`].
pub fn pin_owned() -> OwnedGuard {
    OwnedGuard(COLLECTOR.enter_owned())
}

macro_rules! impl_pin {
    ($guard:ty) => {
        impl sealed::Sealed for $guard {}
        impl Pin for $guard {
            #[inline]
            unsafe fn retire<T: Retire>(&self, ptr: *mut T) {
                // SAFETY: the caller's contract is `seize`'s contract.
                unsafe { self.0.defer_retire(ptr, reclaim_shim::<T>) }
            }
            fn flush(&self) {
                self.0.flush();
            }
        }
    };
}
impl_pin!(Guard);
impl_pin!(OwnedGuard);

/// Adapts [`Retire::reclaim`] to the signature `seize` calls.
///
/// # Safety
///
/// As [`Retire::reclaim`].
unsafe fn reclaim_shim<T: Retire>(ptr: *mut T, _: &Collector) {
    // SAFETY: forwarded.
    unsafe { T::reclaim(ptr) }
}
