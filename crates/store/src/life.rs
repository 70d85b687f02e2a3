//! The name, protection and owner of a table, and their changes.
//!
//! # Invariant
//!
//! **NOW**: an operation takes effect at a moment when the table lives, has the name it was asked for by, if it was by
//! name, and lets the caller do this. So a rename, `setopts/2`, `give_away/3` and the end of an owner take effect at
//! one moment, as in ETS: an operation that comes after it in real time sees, and does, nothing by the state before.
//!
//! Name and protection are one word, the *state*, with a count of its changes and the *modes* of the table, which say
//! what its writes have to do besides. (That the table lives is another, the pointer to its
//! [data](crate::table_data): see [`crate::table_shared`].) Operations keep it in two ways:
//!
//! * **Reads look twice.** A read loads the state, reads, and loads the state again. If it is the same, it was in force
//!   when the object was read. If not, a lookup begins anew; an operation that reads many objects asks whether the
//!   caller may still do that. No read waits.
//! * **Writes are waited out.** A write enters a [section](Sections) of the table, and then loads the state. A thread
//!   that changes the state waits for the sections.
//!
//! # The order of steps of a change
//!
//! 1. Take the table's turn: one change at a time.
//! 2. Say so in the state ([`CLOSING`]). A write that sees this leaves its section and waits for the turn.
//! 3. Wait for the sections (invariant QUIET of `fyris_sync`). From here to step 5 no thread writes to the table,
//!    while readers go on.
//! 4. Take the registry's lock; see whether the change may still be made; enter the new name in the directory.
//! 5. **Store the new state.** At this moment the change takes effect.
//! 6. Take the old name out of the directory; release lock and turn.
//!
//! No process can tell that these are several steps:
//!
//! * A write under the old state ended before step 4, so it is before the change, and so is all that saw it. None that
//!   is refused by the new state came before one that was admitted by the old: writers that come between wait.
//! * A name in a directory is only a hint (see [`crate::catalog`]): a thread that finds the table by it asks the state,
//!   and finds the old name until step 5 and the new one since. So there is no moment without a name, nor one with two.
//! * A read whose second look finds the old state was done before step 5. An object that a writer puts in after step 5
//!   is published after the new state, so a read that saw it finds the new state at its second look.
//! * Between a new owner, which is a word of its own, and the new state nothing is written, and a deletion waits for
//!   the lock: so it is the same at which of the two a reader arrives.
//!
//! Public tables let every process do everything, whichever owns them: no process waits for a new owner there.

use std::sync::{Arc, Mutex, MutexGuard};

use fyris_sync::atomic::{AtomicU64, Ordering};
use fyris_sync::reclaim::{LocalGuard, Section, Sections};
use fyris_term::Atom;

use crate::fork;
use crate::ids::{ProcessId, Protection, Right};
use crate::transaction::TransactionPart;

/// Bits of a state: only the owner writes; only the owner reads and writes; a change is under way.
const PROTECTED: u64 = 1;
const PRIVATE: u64 = 2;
const CLOSING: u64 = 4;

/// The bits of modes, that say what writes have to do besides: the table is [fixed](crate::fix),
/// [versioned](crate::version), [watched](crate::watch) or [held](crate::transaction::hold).
const FIXED: u64 = 8;
const VERSIONED: u64 = 16;
const WATCHED: u64 = 32;
const HELD: u64 = 64;

/// The bits that do not matter to a read: a change that is only on its way has not happened, and modes are for writes.
const UNSEEN: u64 = CLOSING | FIXED | VERSIONED | WATCHED | HELD;

/// The name's number in a state: there are no more than 2^20 atoms.
const NAME_SHIFT: u32 = 7;
const NAME: u64 = ((1 << 20) - 1) << NAME_SHIFT;
const _: () = assert!(fyris_term::atom::MAX_ATOMS as u64 - 1 <= NAME >> NAME_SHIFT);

/// The count of changes: the rest of the state.
const CHANGE: u64 = 1 << (NAME_SHIFT + 20);

/// Stands for "no owner".
const NOBODY: u64 = u64::MAX;

/// By what a table was found: by a name that it must still have, or by its identity.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// The bits of the state that must be as in `name`.
    mask: u64,
    name: u64,
}

impl Asked {
    pub(crate) const BY_IDENTITY: Asked = Asked { mask: 0, name: 0 };

    #[inline]
    pub(crate) fn by(name: Atom) -> Asked {
        Asked {
            mask: if cfg!(fyris_mutant = "store_name_unchecked") {
                0
            } else {
                NAME
            },
            name: bits_of(name),
        }
    }

    /// Returns the name.
    pub(crate) fn name(self) -> Option<Atom> {
        (self.mask != 0).then(|| name_in(self.name))
    }

    /// Returns whether a table in this state has the name.
    #[inline]
    pub(crate) fn is_name_in(self, state: State) -> bool {
        (state.0 ^ self.name) & self.mask == 0
    }
}

/// Name, protection and the count of changes, as they were at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u64);

impl State {
    pub(crate) fn protection(self) -> Protection {
        match self.0 & (PROTECTED | PRIVATE) {
            0 => Protection::Public,
            PROTECTED => Protection::Protected,
            _ => Protection::Private,
        }
    }

    pub(crate) fn name(self) -> Atom {
        name_in(self.0)
    }

    fn is_closing(self) -> bool {
        self.0 & CLOSING != 0
    }

    /// Returns whether writes leave what they displace for snapshots.
    #[inline]
    pub(crate) fn is_versioned(&self) -> bool {
        self.0 & VERSIONED != 0
    }

    /// Returns whether writes tell subscriptions what they change.
    #[inline]
    pub(crate) fn is_watched(self) -> bool {
        self.0 & WATCHED != 0
    }

    /// Returns whether a transaction that goes first reads the table.
    #[inline]
    pub(crate) fn is_held(self) -> bool {
        self.0 & HELD != 0
    }

    /// Returns whether any process has fixed the table.
    #[inline]
    pub(crate) fn is_fixed(self) -> bool {
        self.0 & FIXED != 0
    }
}

fn bits_of(name: Atom) -> u64 {
    u64::from(name.id()) << NAME_SHIFT
}

fn name_in(bits: u64) -> Atom {
    let number = (bits & NAME) >> NAME_SHIFT;
    Atom::from_id(number as u32).expect("the number of an atom")
}

fn bits_for(protection: Protection) -> u64 {
    match protection {
        Protection::Public => 0,
        Protection::Protected => PROTECTED,
        Protection::Private => PRIVATE,
    }
}

/// Name, protection and owner of a table.
pub(crate) struct Life {
    state: AtomicU64,
    owner: AtomicU64,
    writes: Sections,
    turn: Mutex<()>,
    /// What a transaction that goes first has read and written of the table.
    held: Mutex<Option<Arc<TransactionPart>>>,
}

impl Life {
    pub(crate) fn new(name: Atom, protection: Protection, owner: Option<ProcessId>) -> Life {
        Life {
            state: AtomicU64::new(bits_of(name) | bits_for(protection)),
            owner: AtomicU64::new(owner.map_or(NOBODY, |owner| owner.0)),
            writes: Sections::default(),
            turn: Mutex::new(()),
            held: Mutex::default(),
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        // Acquire: pairs with the Release in `commit`: a thread that sees a new state sees the owner that goes with it.
        State(self.state.load(Ordering::Acquire))
    }

    /// Returns whether the state is still as it was before: the second look of a read.
    #[inline]
    pub(crate) fn is_still(&self, before: State) -> bool {
        if cfg!(fyris_mutant = "store_no_second_look") {
            return true;
        }
        // Acquire: pairs with the Release by which a writer of the table published what was read. A writer that
        // published after it had seen a newer state in `enter` makes that state seen here (NOW).
        fyris_sync::atomic::fence(Ordering::Acquire);
        // Relaxed: the fence before orders it.
        let now = self.state.load(Ordering::Relaxed);
        now == before.0 || (now ^ before.0) & !UNSEEN == 0
    }

    /// Returns the owner.
    #[inline]
    pub(crate) fn owner(&self) -> Option<ProcessId> {
        // Acquire: pairs with the Release in `set_owner`.
        match self.owner.load(Ordering::Acquire) {
            NOBODY => None,
            id => Some(ProcessId(id)),
        }
    }

    /// Returns whether a caller may do this in this state, if the table has the name in it that it was asked for by.
    #[inline]
    pub(crate) fn allows(
        &self,
        state: State,
        asked: Asked,
        caller: ProcessId,
        right: Right,
    ) -> bool {
        let refused = match right {
            Right::Read => PRIVATE,
            Right::Write => PRIVATE | PROTECTED,
        };
        let wrong = (state.0 ^ asked.name) & (asked.mask | refused);
        wrong == 0 || (wrong & !refused == 0 && self.owner() == Some(caller))
    }

    /// Enters a write: the state that is in force until the section is over.
    #[inline]
    pub(crate) fn enter<'a>(&'a self, pin: &'a LocalGuard) -> (Section<'a>, State) {
        let section = self.writes.enter(pin);
        let state = self.state();
        if state.is_closing() && !cfg!(fyris_mutant = "store_write_unwaited") {
            drop(section);
            return self.enter_later(pin);
        }
        (section, state)
    }

    #[cold]
    #[inline(never)]
    fn enter_later<'a>(&'a self, pin: &'a LocalGuard) -> (Section<'a>, State) {
        loop {
            // Out of the section, for which the change waits: wait for the end of its turn, then enter anew. If another
            // change is under way by then, again.
            // The thread that makes the change may not be there in a forked child, where nothing is written.
            if !fork::is_child() {
                drop(self.turn());
            }
            let section = self.writes.enter(pin);
            let state = self.state();
            if !state.is_closing() || fork::is_child() {
                return (section, state);
            }
        }
    }

    /// Steps 1 to 3 of a change. Dropping it lets things be as they were.
    pub(crate) fn close(&self, pin: &LocalGuard) -> Closed<'_> {
        let turn = self.turn();
        // Relaxed: the barriers of `wait` order it.
        self.state.fetch_or(CLOSING, Ordering::Relaxed);
        self.wait_for_writes(pin);
        Closed {
            life: self,
            _turn: turn,
        }
    }

    /// Waits for the writes under way, as far as they may not have seen what the caller did before. A transaction that
    /// goes first, for which some of them may be waiting, does so no longer.
    pub(crate) fn wait_for_writes(&self, pin: &LocalGuard) {
        self.end_waits();
        if !cfg!(fyris_mutant = "store_writes_unwaited") {
            self.writes.wait(pin);
        }
    }

    /// Waits for the changes under way, and for the writes as [`Life::wait_for_writes`] does.
    pub(crate) fn wait_for_changes(&self, pin: &LocalGuard) {
        if !cfg!(fyris_mutant = "store_clearing_unwaited") {
            drop(self.turn());
        }
        self.wait_for_writes(pin);
    }

    /// Says whether the table is fixed. Who says so waits for the writes that may not have seen it.
    pub(crate) fn set_fixed(&self, fixed: bool) {
        self.set_mode(FIXED, fixed);
    }

    /// Says whether writes leave what they displace for snapshots. Who says so waits for the writes that may not have
    /// seen it.
    pub(crate) fn set_versioned(&self, versioned: bool) {
        self.set_mode(VERSIONED, versioned);
    }

    /// Says whether writes tell subscriptions what they change. Who says so waits for the writes that may not have seen
    /// it.
    pub(crate) fn set_watched(&self, watched: bool) {
        self.set_mode(WATCHED, watched);
    }

    /// Lets writes ask what a transaction that goes first has read.
    pub(crate) fn set_held(&self, part: Arc<TransactionPart>, pin: &LocalGuard) {
        let mut holder = self.holder();
        *holder = Some(part);
        self.set_mode(HELD, true);
        drop(holder);
        // Nobody waits for it yet.
        self.writes.wait(pin);
    }

    /// Ends that, unless another transaction goes first by now.
    pub(crate) fn end_held(&self, part: &Arc<TransactionPart>) {
        let mut holder = self.holder();
        if holder.as_ref().is_some_and(|its| Arc::ptr_eq(its, part)) {
            *holder = None;
            self.set_mode(HELD, false);
        }
    }

    /// Lets writers go on that wait for a transaction that goes first.
    pub(crate) fn end_waits(&self) {
        if self.state().is_held()
            && let Some(part) = self.held()
        {
            part.give_way();
        }
    }

    /// Returns what a transaction that goes first has read, if there is one.
    #[cold]
    pub(crate) fn held(&self) -> Option<Arc<TransactionPart>> {
        self.holder().clone()
    }

    fn holder(&self) -> MutexGuard<'_, Option<Arc<TransactionPart>>> {
        // Nothing is left half done by a panic.
        self.held.lock().unwrap_or_else(|p| p.into_inner())
    }

    fn set_mode(&self, mode: u64, on: bool) {
        // Relaxed, both: the barriers of `wait` order the one, and nothing goes with the other.
        if on {
            self.state.fetch_or(mode, Ordering::Relaxed);
        } else {
            self.state.fetch_and(!mode, Ordering::Relaxed);
        }
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        // There is nothing that a panic could leave half done.
        self.turn
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Sets a new owner where that changes no process's rights; otherwise [`Closed::set_owner`] does. Under the
    /// registry's lock.
    pub(crate) fn set_owner(&self, owner: ProcessId) {
        // Release: pairs with the Acquire in `owner`.
        self.owner.store(owner.0, Ordering::Release);
    }

    /// Sets a new name for a table that is not found by it. Under the registry's lock, with the turn or without.
    pub(crate) fn set_label(&self, name: Atom) {
        // Relaxed: nothing goes with it.
        let set = |state| Some(state & !NAME | bits_of(name));
        let _ = self
            .state
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, set);
    }
}

/// A table to which no process writes, since a change of it is under way.
pub(crate) struct Closed<'a> {
    life: &'a Life,
    _turn: MutexGuard<'a, ()>,
}

impl Closed<'_> {
    /// Does step 5 for a new name. Under the registry's lock.
    pub(crate) fn set_name(&self, name: Atom) {
        self.commit(NAME, bits_of(name));
    }

    /// Does step 5 for another protection. Under the registry's lock.
    pub(crate) fn set_protection(&self, protection: Protection) {
        self.commit(PRIVATE | PROTECTED, bits_for(protection));
    }

    /// Does step 5 for a new owner. Under the registry's lock.
    pub(crate) fn set_owner(&self, owner: ProcessId) {
        self.life.set_owner(owner);
        self.commit(0, 0);
    }

    fn commit(&self, mask: u64, bits: u64) {
        // Release: pairs with the Acquire in `state`.
        let set = |state: u64| Some((state & !mask | bits).wrapping_add(CHANGE));
        let _ = self
            .life
            .state
            .fetch_update(Ordering::Release, Ordering::Relaxed, set);
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `state`: a write that sees the flag gone sees the new state.
        self.life.state.fetch_and(!CLOSING, Ordering::Release);
    }
}
