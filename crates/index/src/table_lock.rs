//! The lock of tables that have one, or an array of them: the reader-writer lock of ERTS, as ETS has it
//! ([`fyris_sync::lock::rw`]). No thread starves.

use fyris_sync::atomic::{AtomicU64, Ordering};
use fyris_sync::lock::rw::{Chosen, Groups, RawFair};
use lock_api::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::IndexOptions;

/// The kinds of locks in Table 1 of the 2013 paper on the scalability of ETS (section 5.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// *normal*: readers are counted in the flag word.
    Normal,
    /// *freq_r*: readers are noted in groups; so many of them, the default number for zero.
    FrequentReads(usize),
}

impl LockKind {
    /// Returns the kind of a lock that is read often, or not, with the options' number of reader groups.
    pub fn new(often: bool, options: &IndexOptions) -> Self {
        if often {
            Self::FrequentReads(options.reader_groups.unwrap_or(0))
        } else {
            Self::Normal
        }
    }
}

type Lock<T> = RwLock<RawFair<Chosen>, T>;
/// The value of a lock, while other threads may read it.
pub type Reading<'a, T> = RwLockReadGuard<'a, RawFair<Chosen>, T>;
/// The value of a lock, while this thread has it alone.
pub type Writing<'a, T> = RwLockWriteGuard<'a, RawFair<Chosen>, T>;

/// A value behind a lock, which counts how often it was not free.
pub struct TableLock<T> {
    /// Written by threads that found the lock taken.
    conflicts: AtomicU64,
    lock: Lock<T>,
}

impl<T> TableLock<T> {
    /// Puts a value behind a lock that is free.
    pub fn new(kind: LockKind, value: T) -> Self {
        let readers = match kind {
            LockKind::Normal => Chosen::word(),
            LockKind::FrequentReads(groups) => Chosen::groups(groups),
        };
        Self {
            conflicts: AtomicU64::new(0),
            lock: RwLock::from_raw(RawFair::with_readers(readers), value),
        }
    }

    /// Locks for reading, waiting if need be.
    #[inline]
    pub fn read(&self) -> Reading<'_, T> {
        match self.lock.try_read() {
            Some(value) => value,
            None => self.count(Lock::read),
        }
    }

    /// Locks for writing, waiting if need be.
    #[inline]
    pub fn write(&self) -> Writing<'_, T> {
        self.write_at_once()
            .unwrap_or_else(|| self.write_after_conflict())
    }

    /// Locks for writing if no other thread has the lock. [`TableLock::write_after_conflict`] is to follow if not.
    #[inline]
    pub fn write_at_once(&self) -> Option<Writing<'_, T>> {
        self.lock.try_write()
    }

    /// Locks for writing, and counts a conflict.
    #[cold]
    pub fn write_after_conflict(&self) -> Writing<'_, T> {
        self.count(Lock::write)
    }

    #[cold]
    fn count<'a, G>(&'a self, wait: impl FnOnce(&'a Lock<T>) -> G) -> G {
        // Relaxed, as all accesses to it: a number; nothing is read because of it.
        self.conflicts.fetch_add(1, Ordering::Relaxed);
        wait(&self.lock)
    }

    /// Returns how often the lock was not free for a thread that wanted it.
    pub fn conflicts(&self) -> u64 {
        // Relaxed: a number alone.
        self.conflicts.load(Ordering::Relaxed)
    }

    /// Returns the reader groups, if the lock has them.
    fn groups(&self) -> Option<&Groups> {
        // SAFETY: only asked for numbers.
        unsafe { self.lock.raw() }.readers().in_groups()
    }

    /// Returns the number of reader groups, if the lock has them.
    pub fn reader_groups(&self) -> Option<usize> {
        self.groups().map(Groups::number)
    }

    /// Returns the number of bytes on the heap.
    pub fn memory(&self) -> usize {
        self.groups().map_or(0, Groups::memory)
    }
}

/// Returns the name of the kind of a lock with reader groups or without.
pub const fn kind(reader_groups: Option<usize>) -> &'static str {
    match reader_groups {
        Some(_) => "freq_r",
        None => "normal",
    }
}
