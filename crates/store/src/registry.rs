//! Rare operations: tables come and go, change names and owners; processes end.
//!
//! One lock orders all of it. No operation on objects takes it. Under it every change is checked and takes effect, so
//! the caller has the right to it at that moment. Changes that take a right away first close the table for writes,
//! without the lock: see [`crate::life`]. Events are sent after the lock is released, so that a sink may use the store;
//! a process that is told of a table owns it already.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use fyris_sync::reclaim::{Guard, LocalGuard, pin};
use fyris_term::{Atom, Term};

use crate::catalog::{Directory, ENTRIES};
use crate::commits::CommitLog;
use crate::displaced::DisplacedData;
use crate::error::{Error, Result};
use crate::event::{Event, Sink};
use crate::fork;
use crate::ids::{ProcessId, Protection, Right, TableId, TableRef};
use crate::indexes::Indexes;
use crate::life::{Asked, Closed, State};
use crate::options::Options;
use crate::resource_ref::HeldTerm;
use crate::snapshot::AllSnapshots;
use crate::table::Setting;
use crate::table_shared::{Heir, TableShared};

/// Bits of a table's id that are its place in the directory; the rest is a sequence number.
const PLACE_BITS: u32 = ENTRIES.trailing_zeros();

/// A store: two directories, read without locks, and the registry that writes them.
pub(crate) struct Inner {
    by_place: Directory,
    by_name: Directory,
    pub(crate) indexes: Indexes,
    /// The commits over all tables, in their order.
    pub(crate) commits: Arc<CommitLog>,
    pub(crate) snapshots: AllSnapshots,
    registry: Mutex<Registry>,
    /// Held while the tables of a process that has ended change hands. Comes before all other locks.
    ends: Mutex<()>,
}

#[derive(Default)]
struct Registry {
    tables: BTreeMap<TableId, Arc<TableShared>>,
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

/// A table that is in no directory any more, to be freed when the lock is released.
struct Removed {
    shared: Arc<TableShared>,
    data: DisplacedData,
    attachment: Option<Box<dyn Any + Send>>,
    heir: Option<Heir>,
}

impl Removed {
    fn retire(self, pin: &LocalGuard) {
        drop((self.attachment, self.heir));
        self.shared.end_watching(pin);
        let shared = Arc::into_raw(self.shared).cast_mut();
        self.data.let_go(pin);
        // SAFETY: TABLE_STAYS: no thread that pins from now on finds the table, of which `reclaim` drops the registry's
        // count, once.
        unsafe { pin.retire(shared) };
    }
}

/// Owners made by the store get numbers from here, far above what a binding is likely to hand out.
const FIRST_OWNER: u64 = 1 << 62;

impl Inner {
    pub(crate) fn new() -> Inner {
        fork::watch();
        Inner {
            by_place: Directory::new(),
            by_name: Directory::new(),
            indexes: Indexes::new(),
            commits: CommitLog::new(),
            snapshots: AllSnapshots::default(),
            registry: Mutex::default(),
            ends: Mutex::new(()),
        }
    }

    /// Not in a forked child, which may find it locked for good.
    fn lock(&self) -> MutexGuard<'_, Registry> {
        debug_assert!(!fork::is_child());
        // Every method leaves the registry consistent before it can panic.
        self.registry
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns the table that a reference stands for at some moment of the call, and by what it was found. No lock. It
    /// may be deleted by now.
    #[inline]
    pub(crate) fn find<'g>(
        &self,
        table: TableRef,
        pin: &'g impl Guard,
    ) -> Result<(&'g TableShared, Asked)> {
        let (found, asked) = match table {
            TableRef::Id(id) => (self.by_id(id, pin), Asked::BY_IDENTITY),
            TableRef::Name(name) => {
                let asked = Asked::by(name);
                let found = self.by_name.get(name.id() as usize, pin);
                // The directory is a hint: the table may have the name no longer, or not yet.
                let named = |shared: &&TableShared| {
                    asked.is_name_in(shared.life.state())
                        || cfg!(fyris_mutant = "store_hint_believed")
                };
                (found.filter(named), asked)
            }
        };
        match found {
            Some(shared) => Ok((shared, asked)),
            None => Err(fork::check()
                .err()
                .unwrap_or(Error::NoSuchTable(table.into()))),
        }
    }

    /// Returns the table that a reference stands for, and that was alive, at some moment of the call. No lock.
    pub(crate) fn find_living<'g>(
        &self,
        table: TableRef,
        pin: &'g impl Guard,
    ) -> Result<&'g TableShared> {
        let (shared, _) = self.find(table, pin)?;
        // It was alive when it had the name, if it is alive now.
        fork::check()?;
        if shared.is_deleted() && !cfg!(fyris_mutant = "store_dead_is_found") {
            return Err(Error::NoSuchTable(table.into()));
        }
        Ok(shared)
    }

    fn by_id<'g>(&self, id: TableId, pin: &'g impl Guard) -> Option<&'g TableShared> {
        let place = (id.0 & (ENTRIES as u64 - 1)) as usize;
        // The place may belong to a later table by now.
        self.by_place
            .get(place, pin)
            .filter(|shared| shared.id == id)
    }

    /// Makes a process known.
    pub(crate) fn register(&self, process: ProcessId, sink: Option<Sink>) {
        if fork::is_child() {
            return;
        }
        let mut registry = self.lock();
        registry.process(process).sink = sink.map(Arc::new);
    }

    /// Makes a process identifier that no other owner has, and registers it with `sink`.
    pub(crate) fn new_owner(&self, sink: Sink) -> ProcessId {
        if fork::is_child() {
            // It is refused everything, by whatever number.
            return ProcessId(FIRST_OWNER);
        }
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
    ) -> Result<Arc<TableShared>> {
        fork::check()?;
        // Before a library is loaded.
        let secondaries = options.definitions()?;
        let settings = options
            .settings(&self.indexes)
            .map_err(|error| self.indexes.told(error))?;
        let data = settings
            .content(options.capacity, &secondaries, &self.commits)
            .map_err(|error| self.indexes.told(error))?;
        let mut registry = self.lock();
        if settings.named && self.is_taken(name) {
            return Err(Error::NameTaken(name.as_str().to_owned()));
        }
        let id = registry.new_id()?;
        let owner = options.owned.then_some(caller);
        let shared = TableShared::new(id, name, owner, settings, data, Arc::downgrade(self));
        let shared = Arc::new(shared);
        registry.process(caller);
        if let Some(owner) = owner {
            registry.process(owner).owned.insert(id);
        }
        *lock_heir(&shared) = registry.heir(options.heir.as_ref());
        registry.tables.insert(id, shared.clone());
        self.by_place.set(place(id), Arc::as_ptr(&shared));
        if shared.settings.named {
            self.by_name.set(name.id() as usize, Arc::as_ptr(&shared));
        }
        Ok(shared)
    }

    /// Returns whether a table has the name. Under the lock.
    fn is_taken(&self, name: Atom) -> bool {
        self.by_name.get(name.id() as usize, &pin()).is_some()
    }

    /// Removes a table.
    pub(crate) fn delete(
        &self,
        shared: &TableShared,
        asked: Asked,
        caller: ProcessId,
    ) -> Result<()> {
        fork::check()?;
        let removed = {
            let mut registry = self.lock();
            check_right(shared, asked, caller, Right::Write)?;
            self.remove(&mut registry, shared)
        };
        if let Some(removed) = removed {
            removed.retire(&pin());
        }
        Ok(())
    }

    /// Deletes a table and takes it out of the directories. `None` if that was done before.
    ///
    /// It is gone when its content is: a thread that finds it in a directory afterwards sees that. Under the lock, so
    /// that no thread takes its name for taken.
    fn remove(&self, registry: &mut Registry, shared: &TableShared) -> Option<Removed> {
        let data = shared.delete()?;
        let counted = registry.tables.remove(&shared.id)?;
        let owner = shared.life.owner();
        if let Some(process) = owner.and_then(|owner| registry.processes.get_mut(&owner)) {
            process.owned.remove(&shared.id);
        }
        self.by_place.set(place(shared.id), std::ptr::null());
        if shared.settings.named {
            self.by_name
                .set(shared.name().id() as usize, std::ptr::null());
        }
        registry.free.push(place(shared.id));
        Some(Removed {
            attachment: lock_attachment(shared).take(),
            // Its data may refer to the table.
            heir: lock_heir(shared).take(),
            shared: counted,
            data,
        })
    }

    /// Makes a change that takes rights away, or a name: after all writes that were admitted before. `check` says
    /// whether it may be made, beforehand and when it takes effect.
    fn change<R>(
        &self,
        shared: &TableShared,
        check: impl Fn(&Registry) -> Result<()>,
        commit: impl FnOnce(&mut Registry, &Closed) -> R,
    ) -> Result<R> {
        check(&self.lock())?;
        let closed = shared.life.close(&pin());
        let mut registry = self.lock();
        check(&registry)?;
        Ok(commit(&mut registry, &closed))
    }

    /// Gives a table another name.
    pub(crate) fn rename(
        &self,
        shared: &TableShared,
        asked: Asked,
        caller: ProcessId,
        name: Atom,
    ) -> Result<TableRef> {
        fork::check()?;
        if !shared.settings.named {
            let _registry = self.lock();
            check_right(shared, asked, caller, Right::Write)?;
            shared.life.set_label(name);
            return Ok(TableRef::Id(shared.id));
        }
        let check = |_: &Registry| {
            check_right(shared, asked, caller, Right::Write)?;
            match self.is_taken(name) {
                true => Err(Error::NameTaken(name.as_str().to_owned())),
                false => Ok(()),
            }
        };
        self.change(shared, check, |_, closed| {
            let old = shared.name().id() as usize;
            // Found by the new name once it has it, and by the old as long.
            self.by_name
                .set(name.id() as usize, std::ptr::from_ref(shared));
            closed.set_name(name);
            self.by_name.set(old, std::ptr::null());
            TableRef::Name(name)
        })
    }

    /// Makes another process the owner and tells it.
    pub(crate) fn give_away(
        &self,
        shared: &TableShared,
        asked: Asked,
        caller: ProcessId,
        to: ProcessId,
        data: Term,
    ) -> Result<()> {
        fork::check()?;
        let check = |registry: &Registry| {
            check_owner(shared, asked, caller)?;
            if to == caller {
                return Err(Error::AlreadyOwner);
            }
            match registry.processes.contains_key(&to) {
                true => Ok(()),
                false => Err(Error::NoSuchProcess(to.0)),
            }
        };
        send(self.hand_over(shared, check, (caller, to), Some(data))?);
        Ok(())
    }

    /// Changes the owner; the letter is for when no lock is held.
    fn hand_over(
        &self,
        shared: &TableShared,
        check: impl Fn(&Registry) -> Result<()>,
        (from, to): (ProcessId, ProcessId),
        data: Option<Term>,
    ) -> Result<Letter> {
        {
            let mut registry = self.lock();
            check(&registry)?;
            if shared.life.state().protection() == Protection::Public {
                // No process gets or loses a right to the objects.
                shared.life.set_owner(to);
                return Ok(registry.handed_over(shared, from, to, data));
            }
        }
        self.change(shared, check, |registry, closed| {
            closed.set_owner(to);
            registry.handed_over(shared, from, to, data)
        })
    }

    /// Sets protection and heir, as far as they are among the settings.
    pub(crate) fn set(
        &self,
        shared: &TableShared,
        asked: Asked,
        caller: ProcessId,
        settings: &[Setting],
    ) -> Result<()> {
        fork::check()?;
        let check = |_: &Registry| check_owner(shared, asked, caller);
        // The former heirs' data are dropped when no lock is held, with the resources that they refer to.
        let mut former: Vec<Option<Heir>> = Vec::new();
        let mut set_heir = |registry: &Registry| {
            for setting in settings {
                if let Setting::Heir(heir) = setting {
                    let heir = registry.heir(heir.as_ref());
                    former.push(std::mem::replace(&mut *lock_heir(shared), heir));
                }
            }
        };
        let protection = settings.iter().find_map(|setting| match setting {
            Setting::Protection(protection) => Some(*protection),
            Setting::Heir(_) => None,
        });
        if let Some(protection) = protection {
            return self.change(shared, check, |registry, closed| {
                set_heir(registry);
                closed.set_protection(protection);
            });
        }
        let registry = self.lock();
        check(&registry)?;
        set_heir(&registry);
        Ok(())
    }

    /// Returns state, owner and heir at one moment, if the table lives and has the name it was asked for by.
    pub(crate) fn describe(
        &self,
        shared: &TableShared,
        asked: Asked,
    ) -> Option<(State, Option<ProcessId>, Option<ProcessId>)> {
        fork::check().ok()?;
        let _registry = self.lock();
        let state = shared.life.state();
        let heir = lock_heir(shared).as_ref().map(|heir| heir.process);
        (!shared.is_deleted() && asked.is_name_in(state))
            .then(|| (state, shared.life.owner(), heir))
    }

    /// Fixes a table for a process, at a time by the caller's clock.
    pub(crate) fn fix(
        &self,
        shared: &TableShared,
        asked: Asked,
        process: ProcessId,
        by_caller: Option<i64>,
    ) -> Result<()> {
        fork::check()?;
        let turn = {
            let mut registry = self.lock();
            check_right(shared, asked, process, Right::Read)?;
            registry.process(process).fixed.insert(shared.id);
            shared.fixes.fix(&shared.life, process, by_caller)
        };
        if let Some(turn) = turn
            && !cfg!(fyris_mutant = "store_fix_unwaited")
        {
            shared.life.wait_for_writes(&pin());
            shared.fixes.settle(turn);
        }
        Ok(())
    }

    /// Releases one fix of a process.
    pub(crate) fn release(
        &self,
        shared: &TableShared,
        asked: Asked,
        process: ProcessId,
    ) -> Result<()> {
        fork::check()?;
        let mut registry = self.lock();
        check_right(shared, asked, process, Right::Read)?;
        if shared.fixes.release(&shared.life, process) {
            registry.process(process).fixed.remove(&shared.id);
        }
        Ok(())
    }

    /// Returns all tables.
    pub(crate) fn all(&self) -> Vec<TableRef> {
        if fork::is_child() {
            return Vec::new();
        }
        self.lock()
            .tables
            .values()
            .map(|shared| shared.reference())
            .collect()
    }

    /// Hands over or deletes the tables of a process that has ended, and releases its fixes and snapshots. Of several
    /// callers each returns when that is done.
    pub(crate) fn ended(&self, process: ProcessId) {
        if fork::is_child() {
            return;
        }
        self.snapshots.end(process);
        // The heirs hold what their letters refer to.
        let letters: Vec<(Letter, Option<Heir>)> = {
            let _ends = self.ends.lock().unwrap_or_else(|p| p.into_inner());
            let owned = {
                let mut registry = self.lock();
                let Some(ended) = registry.processes.remove(&process) else {
                    return;
                };
                for shared in ended.fixed.iter().filter_map(|id| registry.tables.get(id)) {
                    shared.fixes.end(&shared.life, process);
                }
                ended.owned
            };
            let owned = owned.into_iter();
            owned.map(|id| self.bequeath(id, process)).collect()
        };
        letters.into_iter().for_each(|(letter, _heir)| send(letter));
    }

    /// Hands a table over to its heir, or removes it; the letter, and the heir it goes to.
    fn bequeath(&self, id: TableId, from: ProcessId) -> (Letter, Option<Heir>) {
        let (shared, heir) = {
            let registry = self.lock();
            let Some(shared) = registry.tables.get(&id).cloned() else {
                return (None, None);
            };
            // The heir stays what it is: `info` shows it, also of a table that it has inherited.
            let heir = lock_heir(&shared).clone();
            (shared, heir)
        };
        if let Some(heir) = &heir {
            let to = (from, heir.process);
            let check = |registry: &Registry| {
                check_owner(&shared, Asked::BY_IDENTITY, from)?;
                match registry.is_alive(heir) {
                    true => Ok(()),
                    false => Err(Error::NoSuchProcess(heir.process.0)),
                }
            };
            let data = heir.data.as_ref().map(|data| data.term().clone());
            if let Ok(letter) = self.hand_over(&shared, check, to, data) {
                return (letter, Some(heir.clone()));
            }
        }
        let removed = {
            let mut registry = self.lock();
            match check_owner(&shared, Asked::BY_IDENTITY, from) {
                Ok(()) => self.remove(&mut registry, &shared),
                Err(_) => None,
            }
        };
        if let Some(removed) = removed {
            removed.retire(&pin());
        }
        (None, None)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if fork::is_child() {
            let registry = self.registry.get_mut();
            let registry = registry.unwrap_or_else(|poisoned| poisoned.into_inner());
            return std::mem::forget(std::mem::take(&mut registry.tables));
        }
        // Handles may outlive the store; they find their tables deleted.
        let pin = pin();
        let tables = std::mem::take(&mut self.lock().tables);
        for shared in tables.values() {
            if let Some(data) = shared.delete() {
                data.let_go(&pin);
                shared.end_watching(&pin);
            }
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

    /// Returns the process, made known if it is not.
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

    /// Returns an heir as it is kept: a process that is not known is none.
    fn heir(&self, heir: Option<&(ProcessId, Option<Term>)>) -> Option<Heir> {
        let (process, data) = heir?;
        let incarnation = self.processes.get(process)?.incarnation;
        Some(Heir {
            process: *process,
            incarnation,
            data: data.as_ref().map(|data| Arc::new(HeldTerm::new(data))),
        })
    }

    fn is_alive(&self, heir: &Heir) -> bool {
        let process = self.processes.get(&heir.process);
        process.is_some_and(|process| process.incarnation == heir.incarnation)
    }

    /// Notes the new owner; the letter is for when the lock is released.
    fn handed_over(
        &mut self,
        shared: &TableShared,
        from: ProcessId,
        to: ProcessId,
        data: Option<Term>,
    ) -> Letter {
        if let Some(process) = self.processes.get_mut(&from) {
            process.owned.remove(&shared.id);
        }
        let process = self.process(to);
        process.owned.insert(shared.id);
        let sink = process.sink.clone()?;
        Some((
            sink,
            Event::Transfer {
                table: shared.reference(),
                from,
                data: data?,
            },
        ))
    }
}

fn place(id: TableId) -> usize {
    (id.0 & (ENTRIES as u64 - 1)) as usize
}

fn lock_heir(shared: &TableShared) -> MutexGuard<'_, Option<Heir>> {
    shared
        .heir
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Locks the value that a binding keeps with the table.
pub(crate) fn lock_attachment(shared: &TableShared) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
    shared
        .attachment
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Refuses a caller that may not do this. Under the lock.
fn check_right(shared: &TableShared, asked: Asked, caller: ProcessId, right: Right) -> Result<()> {
    let state = shared.life.state();
    match shared.life.allows(state, asked, caller, right) {
        true if !shared.is_deleted() => Ok(()),
        _ => Err(shared.refusal(state, asked, right)),
    }
}

/// Refuses a caller that is not the owner. Under the lock.
fn check_owner(shared: &TableShared, asked: Asked, caller: ProcessId) -> Result<()> {
    if shared.is_deleted() || !asked.is_name_in(shared.life.state()) {
        return Err(shared.refusal(shared.life.state(), asked, Right::Write));
    }
    match shared.life.owner() == Some(caller) {
        true => Ok(()),
        false => Err(Error::NotOwner),
    }
}

fn send(letter: Letter) {
    if let Some((sink, event)) = letter {
        sink(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Store};

    /// A deletion swaps the content out before it takes the table out of the directories: a thread that looks in
    /// between finds that it is gone, by whatever way.
    #[test]
    fn a_table_without_content_is_found_by_nobody() {
        let store = Store::new();
        let me = store.owner();
        let name = Atom::new("registry_half_deleted").expect("an atom");
        let options = Options::set().named();
        let table = me.new_table(name.as_str(), &options).expect("free");
        let pin = pin();
        let (shared, _) = store.0.find(name.into(), &pin).expect("it is there");
        let data = shared.delete().expect("it had content");
        assert!(table.member(&1).is_err());
        assert_eq!(store.whereis(name), None);
        assert!(matches!(me.table(name), Err(Error::NoSuchTable(_))));
        assert!(matches!(me.table(table.id()), Err(Error::NoSuchTable(_))));
        assert_eq!(table.info(), None);
        data.let_go(&pin);
    }

    /// The steps of a rename, one by one: the table has the old name until the state changes, and the new one since.
    #[test]
    fn a_table_in_the_middle_of_a_rename_has_one_name() {
        let store = Store::new();
        let me = store.owner();
        let names = ["registry_old", "registry_new"].map(|name| Atom::new(name).expect("an atom"));
        let options = Options::set().named();
        let table = me.new_table(names[0].as_str(), &options).expect("free");
        let named = || names.map(|name| store.whereis(name) == Some(table.id()));
        let pin = pin();
        let (shared, _) = store.0.find(names[0].into(), &pin).expect("it is there");
        let closed = shared.life.close(&pin);
        assert_eq!(named(), [true, false]);
        let by_name = &store.0.by_name;
        by_name.set(names[1].id() as usize, std::ptr::from_ref(shared));
        assert_eq!(named(), [true, false]);
        closed.set_name(names[1]);
        assert_eq!(named(), [false, true]);
        drop(closed);
        by_name.set(names[0].id() as usize, std::ptr::null());
        assert_eq!(named(), [false, true]);
    }
}
