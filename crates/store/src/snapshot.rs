//! Snapshots: tables as they were at one moment.
//!
//! [`crate::version`] says how. This is their life: how they begin, over several tables at once, and how they end.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use fyris_sync::reclaim::{self, LocalGuard, pin};

use crate::displaced::DisplacedData;
use crate::error::{Error, Result};
use crate::fork;
use crate::ids::{ProcessId, Right, TableRef};
use crate::life::Life;
use crate::table::Table;
use crate::table_data::{AnyTableData, with_data};
use crate::table_shared::TableShared;
use crate::version::{DeadList, Holder};
use crate::view::{Past, View};

/// A table as it was when the snapshot was taken: all that reads a [`Table`] reads this.
///
/// Taken by [`Table::snapshot`] and, of several tables at one moment, by [`Store::snapshots`](crate::Store::snapshots).
/// It is `Send` and `Sync`, and lasts until it is [released](Snapshot::release) or dropped, or the process ends that took
/// it (in Rust, the [`Owner`](crate::Owner) of the handle), whatever becomes of the table: written to, emptied, renamed,
/// deleted. Who has it may read it. No writer waits for who reads it, and no reader of it for a writer.
/// What writes is refused with [`Error::ReadOnly`].
///
/// # Cost
///
/// As long as a snapshot of a table lives, each write leaves what it displaces: 32 bytes and the object, the first time
/// that an object changes after the snapshot was taken. Writes that displace what no snapshot sees find their key twice.
/// A lookup takes the live table's time, and another O(1) for each later version of the object that other snapshots
/// see. [`Table::len`] of a snapshot counts: O(n).
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
    /// that are alive); what only this one saw is freed in the background.
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
        if let Some(taken) = self.table.past() {
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
pub(crate) struct Taken {
    shared: Arc<TableShared>,
    /// Held until the release.
    data: *mut AnyTableData,
    holder: Arc<Holder>,
    place: u64,
    /// The process that took it.
    taker: ProcessId,
    released: AtomicBool,
    /// The number of objects, once it was asked for.
    size: OnceLock<usize>,
}

// SAFETY: the pointer is to data that threads share, and that the snapshot holds until it is released.
unsafe impl Send for Taken {}
// SAFETY: as above.
unsafe impl Sync for Taken {}

impl Taken {
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

    /// Refuses a released snapshot. What was read before a look that passes is right.
    pub(crate) fn check(&self) -> Result<()> {
        fork::check()?;
        // Acquire: pairs with the AcqRel in `release`: who reads a word that was put there afterwards sees this.
        match self.released.load(Ordering::Acquire) {
            true => Err(Error::Released),
            false => Ok(()),
        }
    }

    /// Returns the number of objects: O(n) the first time.
    pub(crate) fn size(&self, view: Past<'_>) -> usize {
        *self.size.get_or_init(|| view.len())
    }

    /// Returns the place in the list of all.
    fn id(&self) -> TakenId {
        (self.taker, Arc::as_ptr(&self.holder).addr())
    }

    fn release(&self) {
        // A forked child has the locks as other threads had left them.
        // AcqRel: pairs with the Acquire in `check`, and is done once.
        if fork::is_child() || self.released.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(store) = self.shared.store.upgrade() {
            store.takings.lock().remove(&self.id());
        }
        end(&self.shared, self.data, &self.holder, &pin());
    }
}

/// What tells snapshots apart: who took it, and where its holder is.
type TakenId = (ProcessId, usize);

/// The snapshots of a store that are alive.
#[derive(Default)]
pub(crate) struct Takings(Mutex<BTreeMap<TakenId, Weak<Taken>>>);

impl Takings {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<TakenId, Weak<Taken>>> {
        // Nothing is left half done by a panic.
        self.0.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Releases the snapshots of a process that has ended.
    pub(crate) fn end(&self, taker: ProcessId) {
        let from = (taker, 0);
        let taken: Vec<_> = {
            let all = self.lock();
            let of_taker = all.range(from..).take_while(|(id, _)| id.0 == taker);
            of_taker.map(|(_, taken)| taken.clone()).collect()
        };
        let alive = taken.iter().filter_map(Weak::upgrade);
        alive.for_each(|taken| taken.release());
    }

    /// Returns the table, the taker and the age of each.
    pub(crate) fn all(&self) -> Vec<(TableRef, ProcessId, Duration)> {
        if fork::is_child() {
            return Vec::new();
        }
        let taken: Vec<_> = self.lock().values().cloned().collect();
        let alive = taken.iter().filter_map(Weak::upgrade);
        let told = |taken: Arc<Taken>| (taken.shared.reference(), taken.taker, taken.holder.age());
        alive.map(told).collect()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.release();
    }
}

/// Ends a snapshot that is listed, and lets go of the content.
fn end(shared: &TableShared, data: *mut AnyTableData, holder: &Arc<Holder>, pin: &LocalGuard) {
    // SAFETY: held by the snapshot.
    let living = unsafe { &*data }.living();
    let garbage = living.leave(holder, pin);
    shared.versioned.leave(&shared.life);
    if garbage.is_empty() || !living.hold() {
        return let_go(data, pin);
    }
    let_go(data, pin);
    let burial = Burial { data, garbage };
    *burials() += 1;
    reclaim::later(move || {
        burial.run();
        *burials() -= 1;
        BURIED.notify_all();
    });
}

/// The number of burials under way.
static BURIALS: Mutex<usize> = Mutex::new(0);
static BURIED: Condvar = Condvar::new();

fn burials() -> MutexGuard<'static, usize> {
    BURIALS.lock().unwrap_or_else(|p| p.into_inner())
}

/// Returns when what was released before is freed.
pub(crate) fn collect() {
    // A forked child has no other thread that could do it.
    if fork::is_child() {
        return;
    }
    let mut under_way = burials();
    while *under_way > 0 {
        under_way = BURIED.wait(under_way).unwrap_or_else(|p| p.into_inner());
    }
    drop(under_way);
    reclaim::free_waiting();
}

/// Takes a holder of a content away.
fn let_go(data: *mut AnyTableData, pin: &LocalGuard) {
    // SAFETY: the caller's hold; the table is a holder as well, so that the last one finds it in no table.
    unsafe { DisplacedData::new(data) }.let_go(pin);
}

/// What no snapshot sees any more, to be freed.
struct Burial {
    /// Held until it is done.
    data: *mut AnyTableData,
    garbage: Vec<DeadList>,
}

// SAFETY: as for `Taken`; the contents in the lists are the lists' own (RETAINED).
unsafe impl Send for Burial {}

impl Burial {
    fn run(self) {
        // SAFETY: held.
        let data = unsafe { &*self.data };
        for list in self.garbage {
            with_data!(data, data => data.bury(list));
        }
        let_go(self.data, &pin());
    }
}

/// The snapshots of a table, over all contents that it had, as far as its mode goes.
#[derive(Default)]
pub(crate) struct Versioned {
    /// The number of them. The bit in the state of the table is set if there is any.
    count: Mutex<usize>,
}

impl Versioned {
    /// Counts a snapshot that is about to begin, and has the table versioned (TURNED).
    fn enter(&self, life: &Life, pin: &LocalGuard) {
        let mut count = self.lock();
        if *count == 0 {
            life.set_versioned(true);
            if !cfg!(fyris_mutant = "store_turn_unwaited") {
                life.wait_for_writes(pin);
            }
        }
        *count += 1;
    }

    fn leave(&self, life: &Life) {
        let mut count = self.lock();
        *count -= 1;
        if *count == 0 {
            life.set_versioned(false);
        }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        // Nothing is left half done by a panic.
        self.count.lock().unwrap_or_else(|p| p.into_inner())
    }
}

/// A snapshot of one table that is beginning, without a place of its own yet. Ends if it is dropped.
struct Beginning<'t> {
    table: &'t Table,
    data: *mut AnyTableData,
    holder: Option<Arc<Holder>>,
}

impl<'t> Beginning<'t> {
    /// `None` if the table's content was swapped out meanwhile.
    fn new(table: &'t Table, pin: &LocalGuard) -> Result<Option<Beginning<'t>>> {
        let shared = table.shared();
        shared.versioned.enter(&shared.life, pin);
        let data = table.live(Right::Read, pin).inspect_err(|_| {
            shared.versioned.leave(&shared.life);
        })?;
        let same = shared.data_ptr();
        if !std::ptr::eq(same, data) || !data.living().hold() {
            shared.versioned.leave(&shared.life);
            return Ok(None);
        }
        Ok(Some(Beginning {
            table,
            data: same,
            holder: Some(Holder::new()),
        }))
    }

    /// Lists it.
    fn enter(&self, pin: &LocalGuard) -> Arc<Holder> {
        let holder = self.holder.as_ref().expect("it is beginning");
        // SAFETY: held.
        unsafe { &*self.data }.living().enter(holder, pin);
        holder.clone()
    }

    fn is_still(&self) -> bool {
        std::ptr::eq(self.table.shared().data_ptr(), self.data)
    }

    fn finish(mut self, place: u64) -> Snapshot {
        let holder = self.holder.take().expect("it is beginning");
        let taken = Arc::new(Taken {
            shared: self.table.shared().clone(),
            data: self.data,
            holder,
            place,
            taker: self.table.caller(),
            released: AtomicBool::new(false),
            size: OnceLock::new(),
        });
        if let Some(store) = taken.shared.store.upgrade() {
            let weak = Arc::downgrade(&taken);
            store.takings.lock().insert(taken.id(), weak);
        }
        Snapshot {
            table: self.table.at(taken),
        }
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        if let Some(holder) = self.holder.take() {
            end(self.table.shared(), self.data, &holder, &pin());
        }
    }
}

/// Takes snapshots of tables at one moment: see [`Store::snapshots`](crate::Store::snapshots).
pub(crate) fn take(tables: &[&Table]) -> Result<Vec<Snapshot>> {
    // Before any lock, which another thread of the parent may have held.
    fork::check()?;
    check(tables)?;
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
            return Ok(begun.into_iter().map(|begun| begun.finish(place)).collect());
        }
    }
}

fn check(tables: &[&Table]) -> Result<()> {
    for table in tables {
        if table.past().is_some() {
            return Err(Error::ReadOnly);
        }
    }
    Ok(())
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
