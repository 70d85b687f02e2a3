//! Reclamation as it really is: `seize`, with one collector for the process.
//!
//! One collector, because a pin then covers every structure at once: the catalog, the table and the
//! record. What is retired must therefore be `'static` and fit to be freed on any thread.

use std::cell::Cell;
use std::sync::LazyLock;

use seize::{Collector, Guard as _};

use super::Retire;

/// Blocks a thread gathers before it starts a reclamation round: one barrier (a system call on
/// Linux) is paid a batch.
const BATCH: usize = if cfg!(fyris_small) { 4 } else { 256 };

static COLLECTOR: LazyLock<Collector> = LazyLock::new(|| Collector::new().batch_size(BATCH));

pub(super) type Local = LocalPin;
pub(super) type Owned = OwnedPin;

pub(super) struct LocalPin(seize::LocalGuard<'static>, Cell<bool>);
pub(super) struct OwnedPin(seize::OwnedGuard<'static>);

/// Blocks that fill a batch up before a hasty round: `seize` does nothing while a batch has fewer blocks
/// than there are threads pinned at that moment. Threads pinned beyond the processors' number are those
/// that were interrupted under a pin, so few that this leaves ample room.
static FILL: LazyLock<usize> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (16 + 4 * processors).min(BATCH)
});

/// Starts a round now, however little there is to free.
fn round(guard: &impl seize::Guard) {
    for _ in 0..*FILL {
        // SAFETY: `nothing` does nothing, as often as it is called.
        unsafe { guard.defer_retire(std::ptr::null_mut::<()>(), nothing) };
    }
    guard.flush();
}

/// Reclaims what only fills a batch up.
unsafe fn nothing(_: *mut (), _: &Collector) {}

#[inline]
pub(super) fn enter() -> LocalPin {
    LocalPin(COLLECTOR.enter(), Cell::new(false))
}

impl LocalPin {
    /// One round for all that is retired under this pin, when it goes.
    #[inline]
    pub(super) fn hasten(&self) {
        self.1.set(!cfg!(fyris_mutant = "sync_no_haste"));
    }
}

impl Drop for LocalPin {
    #[inline]
    fn drop(&mut self) {
        if self.1.get() {
            round(&self.0);
        }
    }
}

impl OwnedPin {
    pub(super) fn hasten(&self) {
        round(&self.0);
    }
}

pub(super) fn enter_owned() -> OwnedPin {
    OwnedPin(COLLECTOR.enter_owned())
}

macro_rules! forward {
    ($pin:ty) => {
        impl $pin {
            /// # Safety
            ///
            /// As [`super::Pin::retire`].
            #[inline]
            pub(super) unsafe fn retire<T: Retire>(&self, ptr: *mut T) {
                // SAFETY: the caller's contract is `seize`'s contract.
                unsafe { self.0.defer_retire(ptr, shim::<T>) }
            }

            pub(super) fn flush(&self) {
                self.0.flush();
            }
        }
    };
}
forward!(LocalPin);
forward!(OwnedPin);

/// Adapts [`Retire::reclaim`] to the signature `seize` calls.
///
/// # Safety
///
/// As [`Retire::reclaim`].
unsafe fn shim<T: Retire>(ptr: *mut T, _: &Collector) {
    // SAFETY: forwarded.
    unsafe { T::reclaim(ptr) }
}
