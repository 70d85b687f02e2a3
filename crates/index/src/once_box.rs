//! A box that is made when it is asked for first.

use std::marker::PhantomData;

use fyris_sync::atomic::{AtomicPtr, Ordering};

/// A value that is made once, in a block of its own. Of atomics that models know.
pub(crate) struct OnceBox<T>(AtomicPtr<T>, PhantomData<Box<T>>);

impl<T> Default for OnceBox<T> {
    fn default() -> Self {
        Self(AtomicPtr::default(), PhantomData)
    }
}

impl<T> OnceBox<T> {
    /// Makes one that has been made.
    pub(crate) fn of(value: T) -> Self {
        Self(AtomicPtr::new(Box::into_raw(Box::new(value))), PhantomData)
    }

    /// Returns the value, if it has been made.
    pub(crate) fn get(&self) -> Option<&T> {
        // Acquire: pairs with the Release in `get_or_make`.
        let made = self.0.load(Ordering::Acquire);
        // SAFETY: null, or from a box that goes with this.
        unsafe { made.as_ref() }
    }

    /// Returns the value, which is made first if need be; what several threads make at a time is dropped but for one.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(made) = self.get() {
            return made;
        }
        let (new, null) = (Box::into_raw(Box::new(make())), std::ptr::null_mut());
        // AcqRel: pairs with the Acquire in `get`. Acquire: pairs with the Release of the thread that was first.
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let made = match self.0.compare_exchange(null, new, success, failure) {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: from the box above, and not shared.
                drop(unsafe { Box::from_raw(new) });
                first
            }
        };
        // SAFETY: as in `get`.
        unsafe { &*made }
    }
}

impl<T> Drop for OnceBox<T> {
    fn drop(&mut self) {
        // Relaxed: `&mut self` is ordered after everything.
        let made = self.0.load(Ordering::Relaxed);
        if !made.is_null() {
            // SAFETY: from a box; only this thread can reach it.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}
