//! A table as all its handles share it.
//!
//! # One load decides (invariant L, *life*)
//!
//! An operation loads the pointer to the table's [body](crate::body) once and works on what it
//! got. Null means that the table is deleted. `delete/1` and `delete_all_objects/1` swap the pointer;
//! that is their linearization point. An operation that loaded the pointer before may still be working
//! on the old body afterwards: it takes effect *before* the swap. That is sound, since
//!
//! * it began before the swap, so there is no moment in real time that contradicts it;
//! * whatever it reads or writes is in the old body, whose operations keep their order among
//!   themselves, and which nobody reads who began after the swap;
//! * counts belong to the body, so what it adds late is not counted in the new one.
//!
//! So emptying a table is atomic and isolated at the price of one pointer, and the old content is freed when
//! nobody is left who may look at it (R).

use std::any::Any;
use std::sync::atomic::AtomicU8;
use std::sync::{Mutex, Weak};

use fyris_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use fyris_sync::reclaim::{PROTECT, Pin, Retire};
use fyris_term::{Atom, Term};

use crate::body::AnyBody;
use crate::error::{Error, Result};
use crate::fix::Fixes;
use crate::ids::{ProcessId, Protection, Right, TableId, TableRef};
use crate::options::Settings;
use crate::registry::Inner;

/// Stands for "no owner".
const NOBODY: u64 = u64::MAX;

/// Who inherits a table.
#[derive(Clone)]
pub(crate) struct Heir {
    pub(crate) process: ProcessId,
    /// Which registration of the process: a later one is another process.
    pub(crate) incarnation: u64,
    /// What it is sent; nothing is sent without.
    pub(crate) data: Option<Term>,
}

/// A table.
pub(crate) struct Core {
    pub(crate) id: TableId,
    pub(crate) settings: Settings,
    pub(crate) fixes: Fixes,
    /// Read and written under the registry's lock.
    pub(crate) heir: Mutex<Option<Heir>>,
    pub(crate) store: Weak<Inner>,
    /// What a binding keeps with the table while it lives.
    pub(crate) attachment: Mutex<Option<Box<dyn Any + Send>>>,
    name: AtomicU32,
    /// How many times it was renamed.
    renames: AtomicU64,
    owner: AtomicU64,
    protection: AtomicU8,
    body: AtomicPtr<AnyBody>,
}

impl Core {
    pub(crate) fn new(
        id: TableId,
        name: Atom,
        owner: Option<ProcessId>,
        settings: Settings,
        body: AnyBody,
        store: Weak<Inner>,
    ) -> Core {
        Core {
            id,
            fixes: Fixes::default(),
            heir: Mutex::new(None),
            store,
            attachment: Mutex::new(None),
            name: AtomicU32::new(name.id()),
            renames: AtomicU64::new(0),
            owner: AtomicU64::new(owner.map_or(NOBODY, |p| p.0)),
            protection: AtomicU8::new(settings.protection as u8),
            body: AtomicPtr::new(Box::into_raw(Box::new(body))),
            settings,
        }
    }

    /// The content, if the caller may use it so and the table lives (L).
    #[inline]
    pub(crate) fn body<'g>(
        &self,
        caller: ProcessId,
        right: Right,
        pin: &'g impl Pin,
    ) -> Result<&'g AnyBody> {
        if !self.allows(caller, right) {
            return Err(self.refusal(right));
        }
        self.any_body(pin).ok_or_else(|| self.gone())
    }

    /// The content, whoever asks.
    #[inline]
    pub(crate) fn any_body<'g>(&self, _pin: &'g impl Pin) -> Option<&'g AnyBody> {
        // PROTECT: pairs with the AcqRel in `swap_body`. SAFETY: null or a body that is retired only
        // after it was swapped out (R).
        unsafe { self.body.load(PROTECT).as_ref() }
    }

    #[inline]
    fn allows(&self, caller: ProcessId, right: Right) -> bool {
        match self.protection() {
            Protection::Public => true,
            Protection::Protected if right == Right::Read => true,
            _ => self.owner() == Some(caller),
        }
    }

    #[cold]
    fn refusal(&self, right: Right) -> Error {
        if self.is_deleted() {
            return self.gone();
        }
        Error::NoAccess {
            right,
            protection: self.protection(),
        }
    }

    /// Whether the table is deleted.
    pub(crate) fn is_deleted(&self) -> bool {
        // Acquire: pairs with the AcqRel in `swap_body`.
        self.body.load(Ordering::Acquire).is_null()
    }

    /// The error of using a deleted table.
    #[cold]
    pub(crate) fn gone(&self) -> Error {
        Error::NoSuchTable(self.reference())
    }

    /// Puts fresh content in the place of the old, which is retired and returned. `None` if the table is deleted.
    pub(crate) fn empty<'g>(&self, pin: &'g impl Pin) -> Option<&'g AnyBody> {
        let s = &self.settings;
        let fresh = AnyBody::new(s.index, s.kind, s.keypos, 0)?;
        let fresh = Box::into_raw(Box::new(fresh));
        loop {
            // PROTECT: pairs with the AcqRel in `swap_body`.
            let old = self.body.load(PROTECT);
            if old.is_null() {
                // SAFETY: never published.
                drop(unsafe { Box::from_raw(fresh) });
                return None;
            }
            if self.swap_body(old, fresh, pin) {
                // SAFETY: retired just now, under this pin (R).
                return Some(unsafe { &*old });
            }
        }
    }

    /// Takes the content away for ever. `false` if that was done before.
    pub(crate) fn delete(&self, pin: &impl Pin) -> bool {
        loop {
            // PROTECT: pairs with the AcqRel in `swap_body`.
            let old = self.body.load(PROTECT);
            if old.is_null() || self.swap_body(old, std::ptr::null_mut(), pin) {
                return !old.is_null();
            }
        }
    }

    fn swap_body(&self, old: *mut AnyBody, new: *mut AnyBody, pin: &impl Pin) -> bool {
        // AcqRel: the new body is seen whole by PROTECT in `any_body`; failure is retried.
        let swapped = self
            .body
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok();
        if swapped {
            // SAFETY: unreachable for threads that pin from now on, and only one swap takes it out.
            unsafe { pin.retire(old) };
            pin.hasten();
        }
        swapped
    }

    pub(crate) fn name(&self) -> Atom {
        // Acquire: pairs with the Release in `set_name`.
        let id = self.name.load(Ordering::Acquire);
        Atom::from_id(id).expect("the id of an atom")
    }

    /// Counts the rename before anybody can find the table by its new name, so that who sees anything put in
    /// under the new name also sees the count.
    pub(crate) fn set_name(&self, name: Atom) {
        // Release: pairs with the Acquire in `renames`.
        self.renames.fetch_add(1, Ordering::Release);
        // Release: pairs with the Acquire in `name`.
        self.name.store(name.id(), Ordering::Release);
    }

    pub(crate) fn renames(&self) -> u64 {
        // Acquire: pairs with the Release in `set_name`.
        self.renames.load(Ordering::Acquire)
    }

    /// The owner; only the registry changes it.
    #[inline]
    pub(crate) fn owner(&self) -> Option<ProcessId> {
        // Acquire: pairs with the Release in `set_owner`.
        match self.owner.load(Ordering::Acquire) {
            NOBODY => None,
            id => Some(ProcessId(id)),
        }
    }

    pub(crate) fn set_owner(&self, owner: ProcessId) {
        // Release: pairs with the Acquire in `owner`.
        self.owner.store(owner.0, Ordering::Release);
    }

    #[inline]
    pub(crate) fn protection(&self) -> Protection {
        // Acquire: pairs with the Release in `set_protection`.
        match self.protection.load(Ordering::Acquire) {
            0 => Protection::Public,
            1 => Protection::Protected,
            _ => Protection::Private,
        }
    }

    pub(crate) fn set_protection(&self, protection: Protection) {
        // Release: pairs with the Acquire in `protection`.
        self.protection.store(protection as u8, Ordering::Release);
    }

    /// How others refer to the table: its name if it is a named one.
    pub(crate) fn reference(&self) -> TableRef {
        if self.settings.named {
            TableRef::Name(self.name())
        } else {
            TableRef::Id(self.id)
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // Relaxed: nobody else has the table any more.
        let body = self.body.load(Ordering::Relaxed);
        if !body.is_null() {
            // SAFETY: from the Box in `new` or `empty`, and not retired, as it was not swapped out.
            drop(unsafe { Box::from_raw(body) });
        }
    }
}

/// The registry's count of a table, as the collector sees it.
impl Retire for Core {
    unsafe fn reclaim(ptr: *mut Core) {
        // SAFETY: the registry retires a pointer from `Arc::into_raw`, once.
        drop(unsafe { std::sync::Arc::from_raw(ptr.cast_const()) });
    }
}
