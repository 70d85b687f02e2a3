//! What happens rarely: tables come and go, change names and owners; processes end.
//!
//! One lock orders all of it. No operation on objects takes it. Events are sent after it is
//! released, so that a sink may use the store; whoever is told of a table owns it already.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use fyris_sync::reclaim::{Pin, pin};
use fyris_term::{Atom, Term};

use crate::body::AnyBody;
use crate::catalog::{Directory, ENTRIES};
use crate::core::{Core, Heir};
use crate::error::{Error, Result};
use crate::event::{Event, Sink};
use crate::ids::{ProcessId, Protection, TableId, TableRef};
use crate::options::Options;

/// Bits of a table's id that are its place in the directory; the rest is a sequence number.
const PLACE_BITS: u32 = ENTRIES.trailing_zeros();

/// A store: two directories, read without locks, and the registry that writes them.
pub(crate) struct Inner {
    by_place: Directory,
    by_name: Directory,
    registry: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    tables: BTreeMap<TableId, Arc<Core>>,
    free: Vec<usize>,
    /// Places used so far.
    places: usize,
    /// Tables made so far.
    sequence: u64,
    processes: HashMap<ProcessId, Process>,
    /// Registrations so far.
    incarnations: u64,
    /// Numbers given to owners so far.
    owners: u64,
}

struct Process {
    incarnation: u64,
    sink: Option<Arc<Sink>>,
    owned: BTreeSet<TableId>,
    fixed: BTreeSet<TableId>,
}

/// An event on its way: sent when the lock is released.
type Letter = Option<(Arc<Sink>, Event)>;

/// Owners made by the store get numbers from here, far above what a binding is likely to hand out.
const FIRST_OWNER: u64 = 1 << 62;

impl Inner {
    pub(crate) fn new() -> Inner {
        Inner {
            by_place: Directory::new(),
            by_name: Directory::new(),
            registry: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        // Every method leaves the registry consistent before it can panic.
        self.registry
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The table a reference stands for. No lock.
    #[inline]
    pub(crate) fn find<'g>(&self, table: TableRef, pin: &'g impl Pin) -> Result<&'g Core> {
        let found = match table {
            TableRef::Id(id) => self.by_id(id, pin),
            TableRef::Name(name) => self.by_name.get(name.id() as usize, pin),
        };
        found.ok_or(Error::NoSuchTable(table))
    }

    fn by_id<'g>(&self, id: TableId, pin: &'g impl Pin) -> Option<&'g Core> {
        let place = (id.0 & (ENTRIES as u64 - 1)) as usize;
        // The place may belong to a later table by now.
        self.by_place.get(place, pin).filter(|core| core.id == id)
    }

    /// Makes a process known.
    pub(crate) fn register(&self, process: ProcessId, sink: Option<Sink>) {
        let mut registry = self.lock();
        registry.process(process).sink = sink.map(Arc::new);
    }

    /// A process that nobody else stands for.
    pub(crate) fn new_owner(&self, sink: Sink) -> ProcessId {
        let mut registry = self.lock();
        let process = ProcessId(FIRST_OWNER + registry.owners);
        registry.owners += 1;
        registry.process(process).sink = Some(Arc::new(sink));
        process
    }

    /// Makes a table.
    pub(crate) fn create(
        self: &Arc<Self>,
        caller: ProcessId,
        name: Atom,
        options: &Options,
    ) -> Result<Arc<Core>> {
        let settings = options.settings()?;
        let (index, kind) = (settings.index, settings.kind);
        let body =
            AnyBody::new(index, kind, settings.keypos, options.capacity).ok_or_else(|| {
                Error::BadIndex {
                    index: index.to_owned(),
                    table_type: kind,
                }
            })?;
        let mut registry = self.lock();
        if settings.named && self.is_taken(name) {
            return Err(Error::NameTaken(name.as_str().to_owned()));
        }
        let id = registry.new_id()?;
        let owner = options.owned.then_some(caller);
        let core = Core::new(id, name, owner, settings, body, Arc::downgrade(self));
        let core = Arc::new(core);
        registry.process(caller);
        if let Some(owner) = owner {
            registry.process(owner).owned.insert(id);
        }
        *lock_heir(&core) = registry.heir(options.heir.as_ref());
        registry.tables.insert(id, core.clone());
        self.by_place.set(place(id), Arc::as_ptr(&core));
        if core.settings.named {
            self.by_name.set(name.id() as usize, Arc::as_ptr(&core));
        }
        Ok(core)
    }

    /// Under the lock.
    fn is_taken(&self, name: Atom) -> bool {
        self.by_name.get(name.id() as usize, &pin()).is_some()
    }

    /// Removes a table. `false` if it was removed before.
    pub(crate) fn delete(&self, core: &Core) -> bool {
        let pin = pin();
        if !core.delete(&pin) {
            return false;
        }
        let mut registry = self.lock();
        self.remove(&mut registry, core, &pin);
        true
    }

    /// Takes a deleted table out of the directories.
    fn remove(&self, registry: &mut Registry, core: &Core, pin: &impl Pin) {
        let Some(counted) = registry.tables.remove(&core.id) else {
            return;
        };
        if let Some(process) = core.owner().and_then(|o| registry.processes.get_mut(&o)) {
            process.owned.remove(&core.id);
        }
        self.by_place.set(place(core.id), std::ptr::null());
        if core.settings.named {
            self.by_name
                .set(core.name().id() as usize, std::ptr::null());
        }
        registry.free.push(place(core.id));
        drop(lock_attachment(core).take());
        let ptr = Arc::into_raw(counted).cast_mut();
        // SAFETY: T: in no directory any more; `reclaim` drops the registry's count, once.
        unsafe { pin.retire(ptr) };
    }

    /// Gives a table another name.
    pub(crate) fn rename(&self, core: &Core, name: Atom) -> Result<()> {
        let _registry = self.lock();
        if core.is_deleted() {
            return Err(core.gone());
        }
        if !core.settings.named {
            core.set_name(name);
            return Ok(());
        }
        if self.is_taken(name) {
            return Err(Error::NameTaken(name.as_str().to_owned()));
        }
        let old = core.name();
        self.by_name.set(old.id() as usize, std::ptr::null());
        core.set_name(name);
        self.by_name
            .set(name.id() as usize, std::ptr::from_ref(core));
        Ok(())
    }

    /// Makes another process the owner and tells it.
    pub(crate) fn give_away(
        &self,
        core: &Core,
        caller: ProcessId,
        to: ProcessId,
        data: Term,
    ) -> Result<()> {
        let letter = {
            let mut registry = self.lock();
            check_owner(core, caller)?;
            if to == caller {
                return Err(Error::AlreadyOwner);
            }
            if !registry.processes.contains_key(&to) {
                return Err(Error::NoSuchProcess(to.0));
            }
            registry.transfer(core, caller, to, Some(data))
        };
        send(letter);
        Ok(())
    }

    /// Sets or clears the heir.
    pub(crate) fn set_heir(
        &self,
        core: &Core,
        caller: ProcessId,
        heir: Option<(ProcessId, Option<Term>)>,
    ) -> Result<()> {
        let registry = self.lock();
        check_owner(core, caller)?;
        *lock_heir(core) = registry.heir(heir.as_ref());
        Ok(())
    }

    /// Refuses a caller who is not the owner.
    pub(crate) fn check_owner(&self, core: &Core, caller: ProcessId) -> Result<()> {
        let _registry = self.lock();
        check_owner(core, caller)
    }

    /// Changes the protection.
    pub(crate) fn set_protection(
        &self,
        core: &Core,
        caller: ProcessId,
        protection: Protection,
    ) -> Result<()> {
        let _registry = self.lock();
        check_owner(core, caller)?;
        core.set_protection(protection);
        Ok(())
    }

    /// The heir, if there is one.
    pub(crate) fn heir_of(&self, core: &Core) -> Option<ProcessId> {
        let _registry = self.lock();
        lock_heir(core).as_ref().map(|heir| heir.process)
    }

    /// Fixes a table for a process, or releases one fix.
    pub(crate) fn fix(&self, core: &Core, process: ProcessId, fix: bool) -> Result<()> {
        let mut registry = self.lock();
        if core.is_deleted() {
            return Err(core.gone());
        }
        if fix {
            core.fixes.fix(process);
            registry.process(process).fixed.insert(core.id);
        } else if core.fixes.release(process) {
            registry.process(process).fixed.remove(&core.id);
        }
        Ok(())
    }

    /// All tables.
    pub(crate) fn all(&self) -> Vec<TableRef> {
        self.lock()
            .tables
            .values()
            .map(|core| core.reference())
            .collect()
    }

    /// Hands over or deletes the tables of a process that has ended, and releases its fixes.
    pub(crate) fn ended(&self, process: ProcessId) {
        let pin = pin();
        let letters: Vec<Letter> = {
            let mut registry = self.lock();
            let Some(ended) = registry.processes.remove(&process) else {
                return;
            };
            for id in &ended.fixed {
                if let Some(core) = registry.tables.get(id) {
                    core.fixes.end(process);
                }
            }
            ended
                .owned
                .iter()
                .map(|id| self.bequeath(&mut registry, *id, process, &pin))
                .collect()
        };
        letters.into_iter().for_each(send);
    }

    fn bequeath(
        &self,
        registry: &mut Registry,
        id: TableId,
        from: ProcessId,
        pin: &impl Pin,
    ) -> Letter {
        let core = registry.tables.get(&id)?.clone();
        // The heir stays what it is: `info` shows it, also of a table that it has inherited.
        let heir = lock_heir(&core).clone();
        if let Some(heir) = heir.filter(|heir| registry.is_alive(heir)) {
            return registry.transfer(&core, from, heir.process, heir.data);
        }
        if core.delete(pin) {
            self.remove(registry, &core, pin);
        }
        None
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Handles may outlive the store; they find their tables deleted.
        let pin = pin();
        let tables = std::mem::take(&mut self.lock().tables);
        for core in tables.values() {
            core.delete(&pin);
        }
    }
}

impl Registry {
    fn new_id(&mut self) -> Result<TableId> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.places < ENTRIES => {
                self.places += 1;
                self.places - 1
            }
            None => return Err(Error::TooManyTables(ENTRIES)),
        };
        self.sequence += 1;
        Ok(TableId(self.sequence << PLACE_BITS | place as u64))
    }

    /// The process, made known if it is not.
    fn process(&mut self, id: ProcessId) -> &mut Process {
        let incarnations = &mut self.incarnations;
        self.processes.entry(id).or_insert_with(|| {
            *incarnations += 1;
            let none = BTreeSet::new;
            Process {
                incarnation: *incarnations,
                sink: None,
                owned: none(),
                fixed: none(),
            }
        })
    }

    /// An heir as it is kept: a process that is not known is none.
    fn heir(&self, heir: Option<&(ProcessId, Option<Term>)>) -> Option<Heir> {
        let (process, data) = heir?;
        let incarnation = self.processes.get(process)?.incarnation;
        Some(Heir {
            process: *process,
            incarnation,
            data: data.clone(),
        })
    }

    fn is_alive(&self, heir: &Heir) -> bool {
        let process = self.processes.get(&heir.process);
        process.is_some_and(|process| process.incarnation == heir.incarnation)
    }

    /// Changes the owner; the letter is for when the lock is released.
    fn transfer(
        &mut self,
        core: &Core,
        from: ProcessId,
        to: ProcessId,
        data: Option<Term>,
    ) -> Letter {
        if let Some(process) = self.processes.get_mut(&from) {
            process.owned.remove(&core.id);
        }
        core.set_owner(to);
        let process = self.process(to);
        process.owned.insert(core.id);
        let sink = process.sink.clone()?;
        Some((
            sink,
            Event::Transfer {
                table: core.reference(),
                from,
                data: data?,
            },
        ))
    }
}

fn place(id: TableId) -> usize {
    (id.0 & (ENTRIES as u64 - 1)) as usize
}

fn lock_heir(core: &Core) -> MutexGuard<'_, Option<Heir>> {
    core.heir
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What a binding keeps with the table.
pub(crate) fn lock_attachment(core: &Core) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
    core.attachment
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn check_owner(core: &Core, caller: ProcessId) -> Result<()> {
    if core.is_deleted() {
        return Err(core.gone());
    }
    if core.owner() == Some(caller) {
        Ok(())
    } else {
        Err(Error::NotOwner)
    }
}

fn send(letter: Letter) {
    if let Some((sink, event)) = letter {
        sink(event);
    }
}
