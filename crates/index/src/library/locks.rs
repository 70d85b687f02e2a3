//! The locks of an index from a library: which calls of the library are made at the same time.

use super::Library;
use crate::table_lock::{LockKind, Reading, TableLock, Writing};

/// Locks where the library locks for itself: a writer locks the one of its key, so that it sees and changes the key in
/// one step.
const OF_KEYS: usize = 64;

/// One lock, or some for the writers of keys.
pub(super) struct Locks {
    locks: Box<[TableLock<()>]>,
    reads_at_once: bool,
}

/// A lock that is held, if the library needs one.
pub(super) enum Turn<'l> {
    Free,
    Shared(#[expect(dead_code, reason = "held")] Reading<'l, ()>),
    Alone(#[expect(dead_code, reason = "held")] Writing<'l, ()>),
}

impl Locks {
    pub(super) fn new(library: Library) -> Self {
        let number = match library.writes_at_once() {
            true => OF_KEYS,
            false => 1,
        };
        Self {
            locks: (0..number)
                .map(|_| TableLock::new(LockKind::Normal, ()))
                .collect(),
            reads_at_once: library.reads_at_once(),
        }
    }

    /// Returns whether there is no call beside that of a writer.
    pub(super) fn is_one(&self) -> bool {
        self.locks.len() == 1
    }

    /// Waits for the turn of a reader.
    pub(super) fn shared(&self) -> Turn<'_> {
        match &*self.locks {
            [lock] if self.reads_at_once => Turn::Shared(lock.read()),
            [lock] => Turn::Alone(lock.write()),
            _ => Turn::Free,
        }
    }

    /// Waits for the turn of a writer of a key with this hash.
    pub(super) fn of(&self, hash: u64) -> Turn<'_> {
        Turn::Alone(self.locks[hash as usize % self.locks.len()].write())
    }

    /// Waits until there is no writer, and keeps all others out; the locks are taken in one order.
    pub(super) fn alone(&self) -> Vec<Turn<'_>> {
        let turns = self.locks.iter().map(|lock| Turn::Alone(lock.write()));
        turns.collect()
    }

    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.locks)
    }
}
