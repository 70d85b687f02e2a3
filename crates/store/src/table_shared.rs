//! A table as all its handles share it.
//!
//! # One load decides
//!
//! **LIFE**: an operation loads the pointer to the table's [data](crate::table_data) once and works on what it got.
//! Null means that the table is deleted. `delete/1` and `delete_all_objects/1` swap the pointer; that is their
//! linearization point. An operation that loaded the pointer before may still be working on the old data afterwards: it
//! takes effect *before* the swap. That is sound, since
//!
//! * it began before the swap, so there is no moment in real time that contradicts it;
//! * whatever it reads or writes is in the old data, whose operations keep their order among
//!   themselves, and which no thread reads that began after the swap;
//! * counts belong to the data, so what it adds late is not counted in the new one.
//!
//! So emptying a table is atomic and isolated at the price of one pointer, and the old content is freed when
//! no thread is left that may look at it (RECLAIM).
//!
//! A deletion swaps the pointer under the registry's lock, and takes the table out of the directories under the same
//! lock. A thread that finds it there in between, without the lock, finds it deleted: see [`crate::life`] for the rest
//! of a table's life.

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use fyris_sync::atomic::{AtomicPtr, Ordering};
use fyris_sync::reclaim::{Guard, LocalGuard, PROTECT, Retire};
use fyris_term::Atom;

use crate::displaced::DisplacedData;
use crate::error::{Error, Result};
use crate::fix::Fixes;
use crate::fork;
use crate::ids::{NamedTable, ProcessId, Right, TableId, TableRef};
use crate::life::{Asked, Life, State};
use crate::options::Settings;
use crate::registry::Inner;
use crate::resource_ref::HeldTerm;
use crate::snapshot::SnapshotInner;
use crate::table_data::AnyTableData;
use crate::version::Versioned;
use crate::watch::Watchers;

/// The heir of a table.
#[derive(Clone)]
pub(crate) struct Heir {
    pub(crate) process: ProcessId,
    /// The registration of the process: a later one is another process.
    pub(crate) incarnation: u64,
    /// The data of its message; without data there is no message.
    pub(crate) data: Option<Arc<HeldTerm>>,
}

/// A table.
pub(crate) struct TableShared {
    pub(crate) id: TableId,
    pub(crate) settings: Settings,
    pub(crate) fixes: Fixes,
    pub(crate) versioned: Versioned,
    /// The last snapshot that was taken for a call, which may serve another.
    pub(crate) last_moment: Mutex<Weak<SnapshotInner>>,
    /// Read and written under the registry's lock.
    pub(crate) heir: Mutex<Option<Heir>>,
    pub(crate) store: Weak<Inner>,
    /// The value that a binding keeps with the table while it lives.
    pub(crate) attachment: Mutex<Option<Box<dyn Any + Send>>>,
    /// Made when the table is first watched.
    watchers: OnceLock<Box<Watchers>>,
    pub(crate) life: Life,
    data: AtomicPtr<AnyTableData>,
}

impl TableShared {
    pub(crate) fn new(
        id: TableId,
        name: Atom,
        owner: Option<ProcessId>,
        settings: Settings,
        data: AnyTableData,
        store: Weak<Inner>,
    ) -> TableShared {
        TableShared {
            id,
            fixes: Fixes::default(),
            versioned: Versioned::default(),
            last_moment: Mutex::default(),
            heir: Mutex::new(None),
            store,
            attachment: Mutex::new(None),
            watchers: OnceLock::new(),
            life: Life::new(name, settings.protection, owner),
            data: AtomicPtr::new(Box::into_raw(Box::new(data))),
            settings,
        }
    }

    /// Returns the content, if the caller may use it so in this state, the table lives (LIFE), and its index has not
    /// failed.
    #[inline]
    pub(crate) fn data<'g>(
        &self,
        state: State,
        (asked, caller): (Asked, ProcessId),
        right: Right,
        pin: &'g impl Guard,
    ) -> Result<&'g AnyTableData> {
        if !self.life.allows(state, asked, caller, right) {
            return Err(self.refusal(state, asked, right));
        }
        let data = self.any_data(pin).ok_or_else(|| self.gone())?;
        data.unfailed()
    }

    /// Does what a write to a versioned table has to do beside writing.
    #[cold]
    pub(crate) fn end_versions_if_idle(&self) {
        self.versioned.end_if_idle(&self.life);
    }

    /// Returns the content, without a check of rights; `None` if the table is deleted, and in a forked child.
    #[inline]
    pub(crate) fn any_data<'g>(&self, _pin: &'g impl Guard) -> Option<&'g AnyTableData> {
        // PROTECT: pairs with the AcqRel in `put_in_place`. SAFETY: null or a data that is retired only
        // after it was swapped out (RECLAIM).
        unsafe { fork::unless_child(self.data.load(PROTECT)).as_ref() }
    }

    /// Returns the address of the content; null if the table is deleted.
    pub(crate) fn data_ptr(&self) -> *mut AnyTableData {
        // PROTECT: as in `any_data`.
        self.data.load(PROTECT)
    }

    /// Returns the error of a caller that may not do this.
    #[cold]
    pub(crate) fn refusal(&self, state: State, asked: Asked, right: Right) -> Error {
        match asked.name() {
            _ if self.is_deleted() || fork::is_child() => self.gone(),
            Some(name) if !asked.is_name_in(state) => {
                Error::NoSuchTable(TableRef::Name(name).into())
            }
            _ => Error::NoAccess {
                table: self.named(),
                right,
                protection: state.protection(),
            },
        }
    }

    /// Returns the subscriptions.
    pub(crate) fn watchers(&self) -> &Watchers {
        let new = || Box::new(Watchers::new(self.id, self.settings.keypos));
        self.watchers.get_or_init(new)
    }

    /// Returns the number of subscriptions.
    pub(crate) fn subscriptions(&self) -> usize {
        self.watchers
            .get()
            .map_or(0, |watchers| watchers.subscriptions())
    }

    /// Returns whether the table is deleted.
    pub(crate) fn is_deleted(&self) -> bool {
        // Acquire: pairs with the AcqRel in `put_in_place`.
        self.data.load(Ordering::Acquire).is_null()
    }

    /// Returns the error of using a deleted table, or any in a forked child.
    #[cold]
    pub(crate) fn gone(&self) -> Error {
        if fork::is_child() {
            return Error::Forked;
        }
        Error::NoSuchTable(self.named())
    }

    /// Puts fresh content in the place of the old, which is retired and returned, with the place in the log from which
    /// on snapshots see the fresh one.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`] if the table is deleted; [`Error::LibraryIndex`].
    pub(crate) fn empty<'g>(&self, pin: &'g impl Guard) -> Result<(&'g AnyTableData, u64)> {
        let old = self.any_data(pin).ok_or_else(|| self.gone())?;
        let secondaries = old.secondaries().definitions();
        let fresh = self.settings.content(0, secondaries, old.log())?;
        self.put_in_place(fresh, pin)
    }

    /// Does so with a content that the caller has made.
    pub(crate) fn put_in_place<'g>(
        &self,
        fresh: AnyTableData,
        pin: &'g impl Guard,
    ) -> Result<(&'g AnyTableData, u64)> {
        fork::check()?;
        let log = fresh.log().clone();
        let fresh = Box::into_raw(Box::new(fresh));
        loop {
            // PROTECT: pairs with the AcqRel below.
            let old = self.data.load(PROTECT);
            if old.is_null() {
                // SAFETY: never published.
                drop(unsafe { Box::from_raw(fresh) });
                return Err(self.gone());
            }
            // AcqRel: pairs with PROTECT in `any_data`, which sees the new data whole. Relaxed: a failure is retried.
            let swap = || {
                self.data
                    .compare_exchange(old, fresh, Ordering::AcqRel, Ordering::Relaxed)
            };
            let (swapped, place) = log.swap_content(swap);
            if swapped.is_ok() {
                self.life.end_waits();
                // SAFETY: unreachable for threads that pin from now on, and only one swap takes it out.
                let old = unsafe { DisplacedData::new(old) }.let_go(pin);
                return Ok((old, place));
            }
        }
    }

    /// Takes the content away for ever; it is to be retired. `None` if that was done before.
    pub(crate) fn delete(&self) -> Option<DisplacedData> {
        let store = self.store.upgrade();
        let _swap = store.as_ref().map(|store| store.commits.swap_contents());
        // AcqRel: pairs with PROTECT in `any_data`, and sees whole what it takes.
        let old = self.data.swap(std::ptr::null_mut(), Ordering::AcqRel);
        self.life.end_waits();
        // SAFETY: unreachable for threads that pin from now on, and only one swap takes it out.
        (!old.is_null()).then(|| unsafe { DisplacedData::new(old) })
    }

    /// Tells the subscriptions that the table is deleted, after all that was written to it.
    pub(crate) fn end_watching(&self, pin: &LocalGuard) {
        if let Some(watchers) = self.watchers.get() {
            self.life.wait_for_writes(pin);
            watchers.end(pin);
        }
    }

    pub(crate) fn name(&self) -> Atom {
        self.life.state().name()
    }

    /// Returns the reference to the table: its name if it is a named one.
    pub(crate) fn reference(&self) -> TableRef {
        if self.settings.named {
            TableRef::Name(self.name())
        } else {
            TableRef::Id(self.id)
        }
    }

    /// Returns the table as errors name it.
    pub(crate) fn named(&self) -> NamedTable {
        NamedTable {
            reference: self.reference(),
            name: Some(self.name()),
        }
    }
}

impl Drop for TableShared {
    fn drop(&mut self) {
        // Relaxed: no other thread has the table any more.
        let data = self.data.load(Ordering::Relaxed);
        // SAFETY: from the Box in `new` or `put_in_place`, and not retired, as it was not swapped out. Snapshots that
        // are left to be cleared up after may hold it.
        unsafe {
            if !data.is_null() && (*data).snapshots().let_go() {
                drop(Box::from_raw(data));
            }
        }
    }
}

/// The registry's count of a table, as the collector sees it.
impl Retire for TableShared {
    unsafe fn reclaim(ptr: *mut TableShared) {
        // SAFETY: the registry retires a pointer from `Arc::into_raw`, once.
        drop(unsafe { std::sync::Arc::from_raw(ptr.cast_const()) });
    }
}
