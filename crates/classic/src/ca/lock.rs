//! The locks of base nodes, for those that read.

use fyris_index::IndexOptions;
use fyris_index::catree::{BaseLock, LIMIT, Learnt, SharedLock};
use fyris_index::table_lock::kind;
use fyris_sync::lock::rw::{Chosen, Groups, RawFair};
use fyris_sync::lock::{StatGuard, StatLock, StatReading, StatWord};

/// The lock of a base node, which readers take.
pub(super) trait ReadLock: BaseLock + Send + Sync {
    /// The name of the kind of lock in [`Figures`](fyris_index::Figures).
    const KIND: &'static str;

    /// The lock, held for reading.
    type Reading<'a>
    where
        Self: 'a;

    /// Makes a free lock for the first base node of a table.
    fn of(options: &IndexOptions) -> Self;

    /// Makes a free lock of the same kind.
    fn like(&self, learnt: Learnt) -> Self;

    /// Takes the lock for reading if that is possible at once and the node alive.
    fn try_read(&self) -> Option<Self::Reading<'_>>;

    /// Takes the lock for reading after a try that failed, waiting if need be; `None` if the node is dead.
    fn wait_to_read(&self) -> Option<Self::Reading<'_>>;

    /// Ends reading, of one of `several` nodes or of one alone. Returns the lock held alone, and this acquisition not
    /// yet counted, if the node may have to adapt; otherwise counts it as far as the lock counts readers, and unlocks.
    fn end<'a>(&'a self, reading: Self::Reading<'a>, several: bool) -> Option<Self::Held<'a>>;

    /// Returns the number of reader groups, if the lock has them.
    fn reader_groups(&self) -> Option<usize>;

    /// Returns the number of bytes on the heap.
    fn memory(&self) -> usize;
}

fn word(learnt: Learnt) -> StatWord {
    let word = StatWord::new(0).with_statistic(learnt.statistic);
    word.flagged(learnt.forced)
}

/// Readers take the lock alone, as in the 2014 paper: what is read often by several threads splits too.
impl ReadLock for StatLock {
    const KIND: &'static str = "exclusive";

    type Reading<'a> = StatGuard<'a>;

    fn of(_: &IndexOptions) -> Self {
        Self::new(word(Learnt::default()))
    }

    fn like(&self, learnt: Learnt) -> Self {
        Self::new(word(learnt))
    }

    #[inline]
    fn try_read(&self) -> Option<StatGuard<'_>> {
        self.try_lock()
    }

    fn wait_to_read(&self) -> Option<StatGuard<'_>> {
        self.wait()
    }

    #[inline]
    fn end<'a>(&'a self, reading: StatGuard<'a>, _: bool) -> Option<StatGuard<'a>> {
        Some(reading)
    }

    fn reader_groups(&self) -> Option<usize> {
        None
    }

    fn memory(&self) -> usize {
        0
    }
}

/// Readers share the lock and are noted in reader groups, as in OTP's trees with `read_concurrency`.
impl ReadLock for SharedLock {
    const KIND: &'static str = kind(Some(1));

    type Reading<'a> = StatReading<'a, RawFair<Chosen>>;

    fn of(options: &IndexOptions) -> Self {
        let groups = Chosen::groups(options.reader_groups.unwrap_or(0));
        Self::new(RawFair::with_readers(groups), word(Learnt::default()))
    }

    fn like(&self, learnt: Learnt) -> Self {
        let readers = match self.reader_groups() {
            Some(groups) => Chosen::groups(groups),
            None => Chosen::word(),
        };
        Self::new(RawFair::with_readers(readers), word(learnt))
    }

    #[inline]
    fn try_read(&self) -> Option<Self::Reading<'_>> {
        self.try_read()
    }

    fn wait_to_read(&self) -> Option<Self::Reading<'_>> {
        self.wait_to_read()
    }

    #[inline]
    fn end<'a>(&'a self, reading: Self::Reading<'a>, several: bool) -> Option<Self::Held<'a>> {
        let statistic = if several {
            reading.count_several()
        } else {
            reading.count()?
        };
        drop(reading);
        // If the lock is not free, its next holder adapts.
        let adapts = statistic.abs() > LIMIT;
        adapts.then(|| self.try_write()).flatten()
    }

    fn reader_groups(&self) -> Option<usize> {
        self.raw().readers().in_groups().map(Groups::number)
    }

    fn memory(&self) -> usize {
        let groups = self.raw().readers().in_groups();
        groups.map_or(0, Groups::memory)
    }
}
