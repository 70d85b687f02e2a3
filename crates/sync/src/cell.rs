//! Plain shared memory whose accesses loom can watch.
//!
//! [`UnsafeCell`] here has loom's interface: a closure gets the pointer. Under `--cfg loom` a read
//! that is not ordered after the write it may see fails the model; ordinarily it costs nothing.

#[cfg(loom)]
pub use loom::cell::UnsafeCell;

/// A cell of the standard library whose pointer is handed to a closure, so that loom's cell can stand in its place.
#[cfg(not(loom))]
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    /// Makes a cell that holds `value`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Hands out a pointer to read through.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Hands out a pointer to write through.
    #[inline]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}
