//! Snapshots: tables as they were at one moment.
//!
//! [`crate::version`] says how. This is their life: how they begin, over several tables at once, and how they end.

mod expiry;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use fyris_sync::reclaim::{self, LocalGuard, PROTECT, pin};

use crate::displaced::DisplacedData;
use crate::error::{Error, Result};
use crate::fork;
use crate::ids::{ProcessId, Right, TableRef};
use crate::table::Table;
use crate::table_data::{AnyTableData, with_data};
use crate::table_shared::TableShared;
use crate::version::{DeadList, LiveSnapshot};
use crate::view::{Past, View};

/// A table as it was when the snapshot was taken: all that reads a [`Table`] reads this.
///
/// Taken by [`Table::snapshot`] and, of several tables at one moment, by [`Store::snapshots`](crate::Store::snapshots).
/// It is `Send` and `Sync`, and lasts until it is [released](Snapshot::release) or dropped, or the process ends that
/// took it (in Rust, the [`Owner`](crate::Owner) of the handle), whatever becomes of the table: written to, emptied,
/// renamed, deleted. Who has it may read it. No writer waits for who reads it, and no reader of it for a writer. What
/// writes is refused with [`Error::ReadOnly`].
///
/// # Cost
///
/// While a snapshot of a table lives, the first write to an object after it keeps what the object was, with 40 bytes
/// beside that. Later writes to the same object keep nothing, and find their key twice. A lookup takes the live
/// table's time, and another O(1) for each later version of the object that other snapshots see. [`Table::len`] of a
/// snapshot counts: O(n), the first time.
///
/// ```
/// use fyris::{Options, Store, term};
///
/// let owner = Store::new().owner();
/// let table = owner.new_table("t", &Options::ordered_set())?;
/// table.insert_list(&[term!({1, "one"}), term!({2, "two"})])?;
/// let before = table.snapshot()?;
/// table.delete_key(&1)?;
/// table.insert(&term!({2, "due"}))?;
/// assert_eq!(before.tab2list()?, [term!({1, "one"}), term!({2, "two"})]);
/// assert_eq!(table.tab2list()?, [term!({2, "due"})]);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Debug)]
pub struct Snapshot {
    table: Table,
}

impl Snapshot {
    /// Ends the snapshot, also for the handles and cursors that were made of it: reading by them is
    /// [`Error::Released`] from now on. Dropping it does the same when the last of them goes. O(snapshots of the table
    /// that are alive); what only this one saw is freed in the background. One of [`Table::for_steps`], which other
    /// calls may use too, ends with its last handle.
    ///
    /// ```
    /// # use fyris::{Error, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let snapshot = table.snapshot()?;
    /// snapshot.release();
    /// assert!(matches!(snapshot.member(&1), Err(Error::Released)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn release(&self) {
        if let Some(taken) = self.table.past()
            && let Lasts::WithTaker = taken.life
        {
            taken.release();
        }
    }
}

impl Deref for Snapshot {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.table
    }
}

/// What all handles of a snapshot share.
pub(crate) struct SnapshotInner {
    shared: Arc<TableShared>,
    /// Held until the release.
    data: *mut AnyTableData,
    listed: Arc<LiveSnapshot>,
    place: u64,
    /// The process that took it.
    taker: ProcessId,
    life: Lasts,
    released: AtomicBool,
    /// The number of objects, once it was asked for.
    size: OnceLock<usize>,
}

/// How long a snapshot lasts that is not released.
#[derive(Clone, Copy)]
enum Lasts {
    /// As long as its handles, and the process that took it.
    WithTaker,
    /// As long as the call that took it, and to the moment.
    WithCall(Option<Instant>),
}

// SAFETY: the pointer is to data that threads share, and that the snapshot holds until it is released.
unsafe impl Send for SnapshotInner {}
// SAFETY: as above.
unsafe impl Sync for SnapshotInner {}

impl SnapshotInner {
    /// Returns the view of the snapshot.
    ///
    /// # Errors
    ///
    /// [`Error::Released`]; [`Error::Forked`].
    pub(crate) fn view<'g>(&self, _pin: &'g impl reclaim::Guard) -> Result<Past<'g>> {
        self.check()?;
        // SAFETY: held until the release, which comes after this pin began; retired afterwards (RECLAIM).
        let data = unsafe { &*self.data };
        let place = self.place;
        Ok(Past { data, place })
    }

    /// Returns the place in the log.
    pub(crate) fn place(&self) -> u64 {
        self.place
    }

    /// Returns the snapshot as its content lists it.
    pub(crate) fn listed(&self) -> &Arc<LiveSnapshot> {
        &self.listed
    }

    /// Refuses a released snapshot. What was read before a look that passes is right.
    pub(crate) fn check(&self) -> Result<()> {
        fork::check()?;
        // PROTECT: pairs with the AcqRel in `release`: a pin that finds it unreleased keeps the content, and who reads
        // a word that was put there after the release sees that.
        let released = self.released.load(PROTECT);
        match self.life {
            Lasts::WithCall(Some(end)) if released || Instant::now() >= end => Err(Error::Expired),
            _ if released => Err(Error::Released),
            _ => Ok(()),
        }
    }

    /// Returns whether it is alive and shows the present.
    fn is_present(&self, pin: &LocalGuard) -> bool {
        let view = self.view(pin).ok();
        view.is_some_and(|view| {
            std::ptr::eq(self.shared.data_ptr(), self.data) && view.data.log().is_still(self.place)
        })
    }

    /// Returns the number of objects: O(n) the first time.
    pub(crate) fn size(&self, view: Past<'_>) -> usize {
        *self.size.get_or_init(|| view.len())
    }

    /// Returns the place in the list of all.
    fn id(&self) -> SnapshotId {
        (self.taker, Arc::as_ptr(&self.listed).addr())
    }

    fn release(&self) {
        // A forked child has the locks as other threads had left them.
        // AcqRel: pairs with PROTECT in `check`, and is done once.
        if fork::is_child() || self.released.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(store) = self.shared.store.upgrade() {
            store.snapshots.lock().remove(&self.id());
        }
        if let Lasts::WithCall(Some(end)) = self.life {
            expiry::forget(self, end);
        }
        end(&self.shared, self.data, &self.listed, &pin());
    }
}

/// What tells snapshots apart: who took it, and where it is listed.
type SnapshotId = (ProcessId, usize);

/// The snapshots of a store that are alive.
#[derive(Default)]
pub(crate) struct AllSnapshots(Mutex<BTreeMap<SnapshotId, Weak<SnapshotInner>>>);

impl AllSnapshots {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SnapshotId, Weak<SnapshotInner>>> {
        // Nothing is left half done by a panic.
        self.0.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Releases the snapshots of a process that has ended; those of calls last as long as what goes on with them.
    pub(crate) fn end(&self, taker: ProcessId) {
        let from = (taker, 0);
        let taken: Vec<_> = {
            let all = self.lock();
            let of_taker = all.range(from..).take_while(|(id, _)| id.0 == taker);
            of_taker.map(|(_, taken)| taken.clone()).collect()
        };
        let alive = taken.iter().filter_map(Weak::upgrade);
        let alive = alive.filter(|taken| matches!(taken.life, Lasts::WithTaker));
        alive.for_each(|taken| taken.release());
    }

    /// Returns the table, the taker and the age of each.
    pub(crate) fn all(&self) -> Vec<(TableRef, ProcessId, Duration)> {
        if fork::is_child() {
            return Vec::new();
        }
        let taken: Vec<_> = self.lock().values().cloned().collect();
        let alive = taken.iter().filter_map(Weak::upgrade);
        let facts = |taken: Arc<SnapshotInner>| {
            let table = taken.shared.reference();
            (table, taken.taker, taken.listed.age())
        };
        alive.map(facts).collect()
    }
}

impl Drop for SnapshotInner {
    fn drop(&mut self) {
        self.release();
    }
}

/// Ends a snapshot that is listed, and gives up its hold of the content.
fn end(
    shared: &TableShared,
    data: *mut AnyTableData,
    listed: &Arc<LiveSnapshot>,
    pin: &LocalGuard,
) {
    // SAFETY: held by the snapshot.
    let lists = unsafe { &*data }.snapshots().leave(listed, pin);
    shared.versioned.leave();
    if lists.is_empty() {
        return let_go(data, pin);
    }
    let garbage = Garbage { data, lists };
    let job = Job::begin();
    reclaim::later(move || {
        garbage.free();
        drop(job);
    });
}

/// Takes a holder of a content away.
fn let_go(data: *mut AnyTableData, pin: &LocalGuard) {
    // SAFETY: the caller's hold; the table is a holder as well, so that the last one finds it in no table.
    unsafe { DisplacedData::new(data) }.let_go(pin);
}

/// What no snapshot sees any more, to be freed.
struct Garbage {
    /// Held until it is done: the snapshot that has ended held it.
    data: *mut AnyTableData,
    lists: Vec<DeadList>,
}

// SAFETY: as for `SnapshotInner`; the contents in the lists are the lists' own (RETAINED).
unsafe impl Send for Garbage {}

impl Garbage {
    fn free(self) {
        // SAFETY: held.
        let data = unsafe { &*self.data };
        for list in self.lists {
            with_data!(data, data => data.free_dead(list));
        }
        let_go(self.data, &pin());
    }
}

/// The jobs of freeing that are not done, by number, and the number of the next.
static JOBS: Mutex<(BTreeSet<u64>, u64)> = Mutex::new((BTreeSet::new(), 0));
static JOB_DONE: Condvar = Condvar::new();

fn jobs() -> MutexGuard<'static, (BTreeSet<u64>, u64)> {
    // Nothing is left half done by a panic.
    JOBS.lock().unwrap_or_else(|p| p.into_inner())
}

/// A job of freeing, done when it is dropped, if by a panic.
struct Job(u64);

impl Job {
    fn begin() -> Job {
        let mut jobs = jobs();
        let number = jobs.1;
        jobs.1 += 1;
        jobs.0.insert(number);
        Job(number)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        jobs().0.remove(&self.0);
        JOB_DONE.notify_all();
    }
}

/// Returns when what was released before is freed. What is released meanwhile is not waited for.
pub(crate) fn collect() {
    // A forked child has no other thread that could do it.
    if fork::is_child() {
        return;
    }
    let mut under_way = jobs();
    let next = under_way.1;
    while under_way.0.first().is_some_and(|&first| first < next) {
        under_way = JOB_DONE.wait(under_way).unwrap_or_else(|p| p.into_inner());
    }
    drop(under_way);
    reclaim::free_waiting();
}

/// A snapshot of one table that is beginning, without a place of its own yet. Ends if it is dropped.
struct Beginning<'t> {
    table: &'t Table,
    data: *mut AnyTableData,
    listed: Option<Arc<LiveSnapshot>>,
}

impl<'t> Beginning<'t> {
    /// `None` if the table's content was swapped out meanwhile.
    fn new(table: &'t Table, pin: &LocalGuard) -> Result<Option<Beginning<'t>>> {
        let shared = table.shared();
        shared.versioned.enter(&shared.life, pin);
        let data = table.live(Right::Read, pin).inspect_err(|_| {
            shared.versioned.leave();
        })?;
        let same = shared.data_ptr();
        if !std::ptr::eq(same, data) || !data.snapshots().hold() {
            shared.versioned.leave();
            return Ok(None);
        }
        Ok(Some(Beginning {
            table,
            data: same,
            listed: Some(LiveSnapshot::new()),
        }))
    }

    /// Lists it.
    fn enter(&self, pin: &LocalGuard) -> Arc<LiveSnapshot> {
        let listed = self.listed.as_ref().expect("it is beginning");
        // SAFETY: held.
        unsafe { &*self.data }.snapshots().enter(listed, pin);
        listed.clone()
    }

    fn is_still(&self) -> bool {
        std::ptr::eq(self.table.shared().data_ptr(), self.data)
    }

    fn finish(mut self, place: u64, life: Lasts) -> Snapshot {
        let listed = self.listed.take().expect("it is beginning");
        let taken = Arc::new(SnapshotInner {
            shared: self.table.shared().clone(),
            data: self.data,
            listed,
            place,
            taker: self.table.caller(),
            life,
            released: AtomicBool::new(false),
            size: OnceLock::new(),
        });
        if let Some(store) = taken.shared.store.upgrade() {
            let weak = Arc::downgrade(&taken);
            store.snapshots.lock().insert(taken.id(), weak);
        }
        if let Lasts::WithCall(Some(end)) = life {
            expiry::watch(&taken, end);
        }
        Snapshot {
            table: self.table.at(taken),
        }
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        if let Some(listed) = self.listed.take() {
            end(self.table.shared(), self.data, &listed, &pin());
        }
    }
}

/// Takes snapshots of tables at one moment: see [`Store::snapshots`](crate::Store::snapshots).
pub(crate) fn take(tables: &[&Table]) -> Result<Vec<Snapshot>> {
    take_for(tables, Lasts::WithTaker)
}

/// Takes snapshots for a transaction, which holds them; nobody else can release them.
pub(crate) fn take_within(tables: &[&Table]) -> Result<Vec<Arc<SnapshotInner>>> {
    let taken = take_for(tables, Lasts::WithCall(None))?;
    let inner = |taken: Snapshot| taken.table.past().expect("of a snapshot").clone();
    Ok(taken.into_iter().map(inner).collect())
}

fn take_for(tables: &[&Table], life: Lasts) -> Result<Vec<Snapshot>> {
    // Before any lock, which another thread of the parent may have held.
    fork::check()?;
    for table in tables {
        table.check_live("snapshot")?;
    }
    let pin = pin();
    loop {
        // Each table becomes versioned. Then the snapshots are listed, and the place in the log is the moment, for all
        // of them. A table that was emptied in between may have been so before that moment: then all begins again.
        let begun = tables.iter().map(|table| Beginning::new(table, &pin));
        let Some(begun) = begun.collect::<Result<Option<Vec<_>>>>()? else {
            continue;
        };
        let Some(first) = begun.first() else {
            return Ok(Vec::new());
        };
        // SAFETY: held.
        let log = unsafe { &*first.data }.log();
        let place = log.begin(
            || begun.iter().map(|begun| begun.enter(&pin)).collect(),
            &pin,
        );
        let same = begun.iter().all(Beginning::is_still);
        if same {
            for table in tables {
                table.live(Right::Read, &pin)?;
            }
            return Ok(begun
                .into_iter()
                .map(|begun| begun.finish(place, life))
                .collect());
        }
    }
}

impl Table {
    /// Returns the snapshot that this is a handle of; `None` for a handle of the live table.
    ///
    /// ```
    /// # use fyris::{Options, Store, Table};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let handle: Table = table.snapshot()?.clone();
    /// assert!(handle.is_empty() && table.as_snapshot().is_none());
    /// handle.as_snapshot().expect("it is one").release();
    /// assert!(handle.member(&1).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn as_snapshot(&self) -> Option<Snapshot> {
        self.past().map(|_| Snapshot {
            table: self.clone(),
        })
    }

    /// Returns a handle for whoever reads the table in several calls: it shows the table as it was at one moment of this
    /// one, unless the table was made with `{consistent, false}`; then it is this handle. O(1).
    ///
    /// It lasts as long as it is held, but no longer than the table's `snapshot_ttl`: then reading by it is
    /// [`Error::Expired`].
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let steps = table.for_steps()?;
    /// table.insert(&term!({1}))?;
    /// assert!(steps.is_empty());
    /// assert!(steps.for_steps()?.is_empty()); // of a snapshot it is the snapshot
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn for_steps(&self) -> Result<Table> {
        let age = self.shared().settings.snapshot_ttl;
        self.moment(age.and_then(|age| Instant::now().checked_add(age)))
    }

    /// Returns a handle as [`Table::for_steps`] does, but for the time of one call: `snapshot_ttl` does not count.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert!(table.at_one_moment()?.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn at_one_moment(&self) -> Result<Table> {
        self.moment(None)
    }

    fn moment(&self, end: Option<Instant>) -> Result<Table> {
        let is_consistent = self.shared().settings.consistent;
        if !self.is_live() || !is_consistent || cfg!(fyris_mutant = "store_moments_mixed") {
            return Ok(self.clone());
        }
        if end.is_none()
            && let Some(same) = self.same_moment()?
        {
            return Ok(self.at(same));
        }
        let taken = take_for(&[self], Lasts::WithCall(end))?;
        let table = taken.into_iter().next().expect("one of one").table;
        if let (None, Some(past)) = (end, table.past()) {
            *self.last_moment() = Arc::downgrade(past);
        }
        Ok(table)
    }

    /// Returns the snapshot that the last call took, if it lives and shows the present (STILL in [`crate::version`]).
    fn same_moment(&self) -> Result<Option<Arc<SnapshotInner>>> {
        fork::check()?;
        let pin = pin();
        self.live(Right::Read, &pin)?;
        let last = self.last_moment().upgrade();
        Ok(last.filter(|last| last.is_present(&pin)))
    }

    fn last_moment(&self) -> MutexGuard<'_, Weak<SnapshotInner>> {
        // Nothing is left half done by a panic.
        let last = self.shared().last_moment.lock();
        last.unwrap_or_else(|p| p.into_inner())
    }

    /// Takes a snapshot of the table. Linearizable: it shows what the table held at one moment of the call, with all
    /// writes that had returned before.
    ///
    /// The first one of a table waits for the writes under way, of lists for a part of them.
    ///
    /// ```
    /// # use fyris::{CounterOp, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 10}))?;
    /// let snapshot = table.snapshot()?;
    /// table.update_counter(&term!(1), &[CounterOp::add(5)])?;
    /// assert_eq!(snapshot.lookup(&term!(1))?, [term!({1, 10})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`]; [`Error::ReadOnly`] for a snapshot.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let taken = take(&[self])?;
        Ok(taken.into_iter().next().expect("one of one"))
    }
}
