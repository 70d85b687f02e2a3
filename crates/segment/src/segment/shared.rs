//! A checked-out value behind a shared reference: for callers in languages without `&mut`.
//!
//! It is a lock that is only tried, and that knows processes: the word of the lock is the id of the process whose
//! thread is inside. A fork copies it with everything else; a child that finds its parent's id there knows that no
//! thread of its own will ever come out, and that the value may be half changed. Such a value is never looked at
//! again, nor dropped: reattaching puts a new one in its place.

use fyris_sync::atomic::{AtomicU32, Ordering};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use super::{Origin, Segment, let_others_pass};
use crate::error::{Error, Result};
use crate::map::this_process;
use crate::versioned_map::{MapError, VersionedMap};

/// A value that can be checked out again in a forked child.
pub trait Reattach: Sized {
    /// The error of checking it out.
    type Error: From<Error>;

    /// Returns the place and the options that it was checked out with.
    fn origin(&self) -> Origin;

    /// Checks it out anew.
    ///
    /// # Errors
    ///
    /// As for its checkout.
    fn again(origin: &Origin) -> std::result::Result<Self, Self::Error>;

    /// Checks it out anew in a forked child, in place; does nothing elsewhere.
    ///
    /// # Errors
    ///
    /// As for its checkout.
    fn reattach(&mut self) -> std::result::Result<(), Self::Error>;
}

impl Reattach for Segment {
    type Error = Error;

    fn origin(&self) -> Origin {
        Segment::origin(self)
    }

    fn again(origin: &Origin) -> Result<Segment> {
        origin.checkout()
    }

    fn reattach(&mut self) -> Result<()> {
        Segment::reattach(self)
    }
}

impl Reattach for VersionedMap {
    type Error = MapError;

    fn origin(&self) -> Origin {
        self.segment().origin()
    }

    fn again(origin: &Origin) -> std::result::Result<VersionedMap, MapError> {
        VersionedMap::open(origin.checkout()?)
    }

    fn reattach(&mut self) -> std::result::Result<(), MapError> {
        VersionedMap::reattach(self)
    }
}

/// A segment or map that several threads may call at once: one of them does, the others are told
/// [`Error::Busy`] at once instead of waiting or tearing pages.
///
/// ```
/// # use fyris_segment::{Error, Options, Segment};
/// # let mut ours = Segment::nameless(4096, &Options::new())?;
/// # let mut theirs = ours.origin().checkout()?;
/// use fyris_segment::Shared;
///
/// let shared = Shared::new(ours);
/// std::thread::scope(|s| {
///     s.spawn(|| shared.with(|segment| segment.update())); // done, or `Error::Busy`
///     s.spawn(|| shared.with(|segment| segment.update()));
/// });
/// assert_eq!(shared.with(|segment| Ok(segment.len()))?, 4096);
/// # Ok::<(), Error>(())
/// ```
pub struct Shared<T: Reattach = Segment> {
    /// The process whose thread is inside; 0: none.
    inside: AtomicU32,
    origin: Origin,
    value: UnsafeCell<ManuallyDrop<T>>,
}

// SAFETY: `inside` lets one thread at a time to the value, which may go to any thread.
unsafe impl<T: Reattach + Send> Sync for Shared<T> {}

/// The value, as long as this thread is inside.
///
/// ```
/// # use fyris_segment::{Error, Options, Segment};
/// # let mut ours = Segment::nameless(4096, &Options::new())?;
/// # let mut theirs = ours.origin().checkout()?;
/// let shared = fyris_segment::Shared::new(ours);
/// let mut inside = shared.lock()?;
/// inside.as_mut_slice()[0] = 1;
/// inside.commit()?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Inside<'a, T: Reattach> {
    shared: &'a Shared<T>,
    /// The value to leave behind: 0, or the id of a parent whose value is still there.
    after: u32,
}

impl<T: Reattach> Shared<T> {
    /// Wraps a checked-out value.
    ///
    /// ```
    /// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
    /// # let segment = Segment::nameless(1 << 20, &Options::new())?;
    /// # let mut map = VersionedMap::open(segment)?;
    /// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
    /// let shared = fyris_segment::Shared::new(map); // of a map, too
    /// assert!(shared.with(|map| map.is_empty())?);
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn new(value: T) -> Shared<T> {
        Shared {
            inside: AtomicU32::new(0),
            origin: value.origin(),
            value: UnsafeCell::new(ManuallyDrop::new(value)),
        }
    }

    /// Goes inside.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// let shared = fyris_segment::Shared::new(ours);
    /// let inside = shared.lock()?;
    /// assert!(matches!(shared.lock(), Err(Error::Busy))); // also of the same thread
    /// drop(inside);
    /// assert!(shared.lock().is_ok());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another thread is inside, or this one is already; [`Error::Forked`] if this is a forked child
    /// and a thread of the parent was inside: [`Shared::reattach`].
    pub fn lock(&self) -> Result<Inside<'_, T>> {
        self.enter(0).map_err(|holder| match holder {
            _ if holder == this_process() => Error::Busy,
            _ => Error::Forked,
        })
    }

    /// Goes inside when the other threads are outside: to end what this thread has begun.
    #[doc(hidden)]
    pub fn lock_in_turn(&self) -> Result<Inside<'_, T>> {
        for turn in 0.. {
            match self.lock() {
                Err(Error::Busy) => let_others_pass(turn),
                done => return done,
            }
        }
        unreachable!("a thread that stays inside for ever")
    }

    /// Goes inside if `found` is there, otherwise says what is.
    fn enter(&self, found: u32) -> std::result::Result<Inside<'_, T>, u32> {
        // Acquire: pairs with the Release of the last thread that was inside.
        self.inside.compare_exchange(
            found,
            this_process(),
            Ordering::Acquire,
            Ordering::Relaxed,
        )?;
        Ok(Inside {
            shared: self,
            after: found,
        })
    }

    /// Runs `operation` on the value.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// let shared = fyris_segment::Shared::new(ours);
    /// shared.with(|segment| {
    ///     segment.as_mut_slice()[0] = 1;
    ///     segment.commit()
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another thread is inside, or this one is already; [`Error::Forked`] if this is a forked child
    /// and a thread of the parent was inside; and those of `operation`.
    pub fn with<R>(
        &self,
        operation: impl FnOnce(&mut T) -> std::result::Result<R, T::Error>,
    ) -> std::result::Result<R, T::Error> {
        // A panic in a callback leaves the value as it was.
        operation(&mut *self.lock()?)
    }

    /// Checks the same segment out anew in a forked child, at the trunk's present version, also if a thread of the
    /// parent was inside when it forked. Does nothing elsewhere.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// let shared = fyris_segment::Shared::new(ours);
    /// shared.reattach()?; // nothing to do here; to be called in a forked child
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for the checkout; [`Error::Busy`] if another thread of this process is inside.
    pub fn reattach(&self) -> std::result::Result<(), T::Error> {
        let holder = match self.enter(0) {
            Ok(mut inside) => return inside.reattach(),
            Err(holder) => holder,
        };
        if holder == this_process() || cfg!(fyris_mutant = "segment_fork_unnoticed") {
            return Err(Error::Busy.into());
        }
        let Ok(mut inside) = self.enter(holder) else {
            return Err(Error::Busy.into());
        };
        let fresh = T::again(&self.origin)?;
        // SAFETY: this thread is inside. The old value is not dropped: it may be half changed.
        unsafe { self.value.get().write(ManuallyDrop::new(fresh)) };
        inside.after = 0;
        Ok(())
    }
}

impl<T: Reattach> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<T: Reattach> Drop for Shared<T> {
    fn drop(&mut self) {
        if *self.inside.get_mut() == 0 {
            // SAFETY: no thread is inside, and it is not used afterwards. A value that a parent's thread was changing
            // is not dropped.
            unsafe { ManuallyDrop::drop(self.value.get_mut()) };
        }
    }
}

impl<T: Reattach> Deref for Inside<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread is inside. Only `reattach` goes inside where a parent's value is, and does not look.
        unsafe { &*self.shared.value.get() }
    }
}

impl<T: Reattach> DerefMut for Inside<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.shared.value.get() }
    }
}

impl<T: Reattach> Drop for Inside<'_, T> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `enter`.
        self.shared.inside.store(self.after, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, PAGE};

    #[test]
    fn one_is_inside_at_a_time() {
        let name = format!("test-shared-{}-0", std::process::id());
        let shared = Shared::new(Segment::checkout(&name, PAGE, &Options::new()).unwrap());
        let inside = shared.lock().unwrap();
        assert!(matches!(shared.lock(), Err(Error::Busy)));
        assert!(matches!(shared.reattach(), Err(Error::Busy)));
        drop(inside);
        assert_eq!(shared.with(|s| Ok(s.len())).unwrap(), PAGE);
        Segment::unlink(&name).unwrap();
    }
}
