//! The statistics collecting lock over a reader-writer lock: for base nodes of contention adapting trees that are read
//! often, as the 2014 paper proposes in its section 8.
//!
//! It weighs waits against acquisitions like [`StatLock`], and knows when its node is dead. A reader that gets the lock
//! at once leaves the word alone, so that readers write no line in common beyond what the lock below makes them write.
//! So reading moves the statistic only where readers wait for writers, or where a reader takes several such locks one
//! after another.
//!
//! # Invariant
//!
//! HELD: the word is changed by threads that have the lock, for writing or reading. A writer stores it when it unlocks;
//! a reader exchanges it, as there may be other readers. So no count is lost, a thread that has the lock sees whether
//! the node is dead, and the word needs no ordering of its own.

use std::marker::PhantomData;

use lock_api::RawRwLock;

use super::stat::Kept;
use super::{StatGuard, StatLock, StatWord};
use crate::atomic::{AtomicU64, Ordering};

/// A reader-writer lock that counts contention and can be closed for ever. It protects nothing by itself.
#[derive(Debug)]
pub struct StatRwLock<R> {
    raw: R,
    /// HELD.
    word: AtomicU64,
}

impl<R: RawRwLock> StatRwLock<R> {
    /// Makes a free lock of a lock that is free.
    pub fn new(raw: R, word: StatWord) -> Self {
        Self {
            raw,
            word: AtomicU64::new(word.bits()),
        }
    }

    /// Returns the lock below, to look at.
    pub fn raw(&self) -> &R {
        &self.raw
    }

    /// Returns the word, to a thread that has the lock.
    #[inline]
    fn word(&self) -> StatWord {
        // Relaxed: HELD.
        StatWord::of_bits(self.word.load(Ordering::Relaxed))
    }

    /// Takes the lock for writing if it is free and the node alive. Counts nothing.
    #[inline]
    pub fn try_write(&self) -> Option<StatGuard<'_, Self>> {
        if !self.raw.try_lock_exclusive() {
            return None;
        }
        self.written(false)
    }

    /// Takes the lock for writing after a try that failed, waiting if need be; `None` if the node is dead. Counts as a
    /// wait.
    #[cold]
    pub fn wait_to_write(&self) -> Option<StatGuard<'_, Self>> {
        self.raw.lock_exclusive();
        self.written(true)
    }

    /// Makes the guard of a lock that was just taken for writing.
    #[inline]
    fn written(&self, waited: bool) -> Option<StatGuard<'_, Self>> {
        let word = self.word();
        let held = StatGuard::new(self, word, waited);
        (!word.is_dead()).then_some(held)
    }

    /// Takes the lock for reading if that is possible at once and the node alive. Counts nothing.
    #[inline]
    pub fn try_read(&self) -> Option<StatReading<'_, R>> {
        if !self.raw.try_lock_shared() {
            return None;
        }
        self.reading(false)
    }

    /// Takes the lock for reading after a try that failed, waiting if need be; `None` if the node is dead. Counts as a
    /// wait.
    #[cold]
    pub fn wait_to_read(&self) -> Option<StatReading<'_, R>> {
        self.raw.lock_shared();
        self.reading(true)
    }

    /// Makes the guard of a lock that was just taken for reading.
    #[inline]
    fn reading(&self, waited: bool) -> Option<StatReading<'_, R>> {
        let marker = PhantomData;
        let reading = StatReading {
            lock: self,
            waited,
            marker,
        };
        let dead = self.word().is_dead() && !cfg!(fyris_mutant = "stat_reads_dead");
        (!dead).then_some(reading)
    }
}

impl<R: RawRwLock> Kept for StatRwLock<R> {
    #[inline]
    unsafe fn put_back(&self, word: StatWord) {
        // Relaxed: HELD.
        self.word.store(word.bits(), Ordering::Relaxed);
        // SAFETY: forwarded.
        unsafe { self.raw.unlock_exclusive() }
    }
}

/// A [`StatRwLock`], held for reading. Dropping the guard unlocks.
#[derive(Debug)]
pub struct StatReading<'a, R: RawRwLock> {
    lock: &'a StatRwLock<R>,
    waited: bool,
    /// A reader departs from the place of the thread that arrived.
    marker: PhantomData<R::GuardMarker>,
}

impl<R: RawRwLock> StatReading<'_, R> {
    /// Counts this acquisition if it waited, and returns the statistic then.
    #[inline]
    pub fn count(&self) -> Option<i64> {
        self.waited.then(|| self.add(StatLock::CONTENDED))
    }

    /// Counts this acquisition as one of several locks that an operation takes one after another, and returns the
    /// statistic.
    pub fn count_several(&self) -> i64 {
        let waited = if self.waited { StatLock::CONTENDED } else { 0 };
        self.add(waited - StatLock::SEVERAL)
    }

    #[cold]
    fn add(&self, step: i64) -> i64 {
        let (word, mut old) = (&self.lock.word, self.lock.word());
        loop {
            let new = old.moved(step);
            if cfg!(fyris_mutant = "stat_readers_store") {
                word.store(new.bits(), Ordering::Relaxed);
                return new.statistic();
            }
            // Relaxed: HELD.
            let (from, to) = (old.bits(), new.bits());
            match word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return new.statistic(),
                Err(seen) => old = StatWord::of_bits(seen),
            }
        }
    }
}

impl<R: RawRwLock> Drop for StatReading<'_, R> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard is the hold, and stays with its thread unless the lock lets it leave.
        unsafe { self.lock.raw.unlock_shared() }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::lock::rw::{InWord, RawFair};

    fn lock() -> StatRwLock<RawFair<InWord>> {
        StatRwLock::new(RawFair::with_readers(InWord), StatWord::new(0))
    }

    #[test]
    fn a_dead_node_is_neither_read_nor_written() {
        let lock = lock();
        let reading = lock.try_read().expect("alive");
        assert!(lock.try_write().is_none() && lock.try_read().is_some());
        drop(reading);
        let held = lock.try_write().expect("alive");
        assert!(lock.try_write().is_none() && lock.try_read().is_none());
        held.mark_dead();
        assert!(lock.try_write().is_none() && lock.try_read().is_none());
        assert!(lock.wait_to_write().is_none() && lock.wait_to_read().is_none());
        assert!(!lock.raw().is_locked(), "a refusal unlocks");
    }

    #[test]
    fn readers_count_waits_only_and_writers_all() {
        let lock = lock();
        assert_eq!(lock.try_read().expect("alive").count(), None);
        assert_eq!(lock.try_write().expect("alive").count(), -1);
        let waited = lock.wait_to_read().expect("alive").count();
        assert_eq!(waited, Some(StatLock::CONTENDED - 1));
        let waited = lock.wait_to_write().expect("alive").count();
        assert_eq!(waited, 2 * StatLock::CONTENDED - 1);
        let several = lock.try_read().expect("alive").count_several();
        assert_eq!(several, 2 * StatLock::CONTENDED - 1 - StatLock::SEVERAL);
    }

    #[test]
    fn readers_count_beside_readers() {
        let lock = lock();
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    for _ in 0..40 {
                        lock.try_read().expect("no writers").count_several();
                    }
                });
            }
        });
        let statistic = lock.try_write().expect("alive").word.statistic();
        assert_eq!(statistic, -3 * 40 * StatLock::SEVERAL);
    }
}

/// `RUSTFLAGS='--cfg loom' cargo test -p fyris-sync --release --lib lock`.
#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use super::*;
    use crate::cell::UnsafeCell;
    use crate::lock::rw::{InWord, RawFair};
    use crate::thread::spawn;

    /// A value under the lock, which the thread that marks the node dead changes.
    struct Node {
        lock: StatRwLock<RawFair<InWord>>,
        value: UnsafeCell<u64>,
    }

    // SAFETY: the value is reached under the lock only.
    unsafe impl Send for Node {}
    // SAFETY: as above.
    unsafe impl Sync for Node {}

    impl Node {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                lock: StatRwLock::new(RawFair::with_readers(InWord), StatWord::new(0)),
                value: UnsafeCell::new(0),
            })
        }

        /// Reads the value as one of several, unless the node is dead.
        fn read(&self) -> Option<u64> {
            let reading = self.lock.try_read().or_else(|| self.lock.wait_to_read())?;
            // SAFETY: held for reading.
            let value = self.value.with(|value| unsafe { *value });
            reading.count_several();
            Some(value)
        }

        /// Changes the value and marks the node dead.
        fn end(&self) {
            let held = self.lock.try_write();
            let held = held.or_else(|| self.lock.wait_to_write()).expect("alive");
            // SAFETY: held for writing.
            self.value.with_mut(|value| unsafe { *value = 1 });
            held.mark_dead();
        }
    }

    #[test]
    fn a_reader_sees_a_living_node_or_none() {
        loom::model(|| {
            let node = Node::new();
            let reader = spawn({
                let node = node.clone();
                move || assert!(matches!(node.read(), None | Some(0)))
            });
            node.end();
            reader.join().expect("no panic");
            assert_eq!(node.read(), None);
        });
    }

    #[test]
    fn readers_lose_no_count() {
        loom::model(|| {
            let node = Node::new();
            let reader = spawn({
                let node = node.clone();
                move || node.read()
            });
            node.read();
            reader.join().expect("no panic");
            let held = node.lock.try_write().expect("alive");
            assert_eq!(held.word.statistic(), -2 * StatLock::SEVERAL);
        });
    }
}
