//! Reclamation as it really is: `seize`, with one collector for the process.
//!
//! One collector, because a pin then covers every structure at once: the catalog, the table and the
//! record. What is retired must therefore be `'static` and fit to be freed on any thread.

use std::sync::LazyLock;

use seize::{Collector, Guard as _};

use super::Retire;

/// Blocks a thread gathers before it starts a reclamation round: one barrier (a system call on
/// Linux) is paid a batch.
const BATCH: usize = if cfg!(fyris_small) { 4 } else { 256 };

static COLLECTOR: LazyLock<Collector> = LazyLock::new(|| Collector::new().batch_size(BATCH));

pub(super) type Local = LocalPin;
pub(super) type Owned = OwnedPin;

pub(super) struct LocalPin(seize::LocalGuard<'static>);
pub(super) struct OwnedPin(seize::OwnedGuard<'static>);

#[inline]
pub(super) fn enter() -> LocalPin {
    LocalPin(COLLECTOR.enter())
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
