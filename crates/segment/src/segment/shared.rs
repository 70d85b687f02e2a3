//! A segment behind a shared reference, for callers in languages without `&mut`.

use std::sync::{Mutex, TryLockError};

use super::Segment;
use crate::error::{Error, Result};

/// A segment that several threads may call at once: one of them does, the others are told
/// [`Error::Busy`] at once instead of waiting or tearing pages.
#[derive(Debug)]
pub struct Shared(Mutex<Segment>);

impl Shared {
    /// Wraps a segment.
    pub fn new(segment: Segment) -> Shared {
        Shared(Mutex::new(segment))
    }

    /// Runs `operation` on the segment.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another thread is inside, or this one is already; those of `operation`.
    pub fn with<T>(&self, operation: impl FnOnce(&mut Segment) -> Result<T>) -> Result<T> {
        match self.0.try_lock() {
            Ok(mut segment) => operation(&mut segment),
            // A panic in a callback left the segment as it was.
            Err(TryLockError::Poisoned(segment)) => operation(&mut segment.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Error::Busy),
        }
    }

    /// Gives the segment back.
    pub fn into_inner(self) -> Segment {
        self.0
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
