//! A transaction that goes first: writers wait for what it has read.
//!
//! # Why
//!
//! Nobody waits for a transaction, so a long one can lose every time against short writes of what it reads. After some
//! conflicts an attempt *holds* what it reads and writes: writers of that wait, for a stated time at most, while all
//! others go on.
//!
//! # How
//!
//! One transaction of a store holds at a time. Its tables say so (a mode of [`crate::life`]), so writes ask, with the
//! slot protected, whether the key is held; if it is they leave the slot, wait, and begin anew. Before the transaction
//! reads a key, a range or a value it
//!
//! 1. notes that, where writers find it;
//! 2. settles what is on its way there: versions get their stamps, commits that are not decided are aborted;
//! 3. moves on to a later snapshot, if something has come since its own.
//!
//! So it has no single snapshot, but what it has read stays as it is until it ends. The commit looks once more at all
//! of it, also if nothing was written: a hold makes a conflict rare, and is not what makes a transaction right.
//!
//! # Invariants
//!
//! * **HELD**: what was noted before a protected look at the slot of its key is not changed while the hold stands. For
//!   ranges and values there is no such look: before a part moves on it compares those that were read of its table. In
//!   a bag an object that comes with a value that was looked up does not wait; that is a conflict. The commit of the
//!   transaction, and its own thread, need not ask.
//! * **GIVES_WAY**: a hold ends when its time is over, and when the table's writes are waited for: a writer that waits
//!   for a hold is in its section. What moves on has its snapshot before it asks whether the hold still stands, and the
//!   writes that it has kept waiting are stamped after that.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use fyris_index::{Action, Entry, Index};
use fyris_sync::reclaim::{LocalGuard, pin};

use super::TransactionPart;
use crate::displaced::{Change, Decide};
use crate::error::{Error, Result};
use crate::fork;
use crate::ids::Right;
use crate::key_kind::KeyKind;
use crate::keys::AsKey;
use crate::ops::{Navigate, Span};
use crate::pending::{CommitState, Decision};
use crate::record::newest;
use crate::slot::{Before, Content, Held, Slot};
use crate::snapshot;
use crate::store::Store;
use crate::table::Table;
use crate::table_data::{TableData, with_data};
use crate::version::guards::Reads;
use crate::writer::Writer;

/// The number of conflicts after which a transaction holds what it reads.
pub(super) const PATIENCE: u32 = if cfg!(any(test, fyris_small)) { 1 } else { 8 };

/// The ticket of a transaction that goes first: the lowest.
pub(crate) const FIRST: u64 = 1;

/// No hold is longer, whatever is asked for.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// After so many ranges that had changed when they were to be held, the whole table is held. Else a transaction that
/// looks for the first key, beside others that delete it each time, would run after them until the hold is over.
const CHASES: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Stands,
    GaveWay,
    Over,
}

/// The time for which a transaction goes first. Its address tells its own commit from others.
pub(crate) struct Hold {
    lasts: Duration,
    until: Instant,
    /// The thread that runs the transaction, if it stays on one: a write of that thread does not wait.
    thread: Option<ThreadId>,
    phase: Mutex<Phase>,
    changed: Condvar,
}

impl Hold {
    pub(super) fn new(lasts: Duration, thread: Option<ThreadId>) -> Hold {
        Hold {
            lasts,
            until: Instant::now() + lasts.min(LONGEST),
            thread,
            phase: Mutex::new(Phase::Stands),
            changed: Condvar::new(),
        }
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        // Nothing is left half done by a panic.
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Returns whether writers wait for it.
    pub(crate) fn stands(&self) -> bool {
        *self.phase() == Phase::Stands && !self.is_late()
    }

    /// Returns whether its time was over before its transaction ended.
    pub(super) fn is_expired(&self) -> bool {
        *self.phase() == Phase::Stands && self.is_late()
    }

    /// Returns whether it ended early: the transaction is to be tried again.
    pub(super) fn gave_way(&self) -> bool {
        *self.phase() == Phase::GaveWay
    }

    /// Refuses what was read after it ended.
    fn check(&self, part: &TransactionPart) -> Result<()> {
        let phase = *self.phase();
        match (phase, self.is_late()) {
            (Phase::Stands, false) => Ok(()),
            (Phase::Stands, true) => Err(self.expired()),
            _ => Err(Error::Conflict {
                table: part.table.shared().named(),
                key: None,
            }),
        }
    }

    /// Returns the error of a transaction that has held for too long.
    pub(super) fn expired(&self) -> Error {
        Error::HoldExpired(self.lasts)
    }

    /// Lets the writers go on, and the transaction be tried again.
    fn give_way(&self) {
        let mut phase = self.phase();
        if *phase == Phase::Stands {
            *phase = Phase::GaveWay;
        }
        self.changed.notify_all();
    }

    /// Lets the writers go on: the transaction has ended.
    fn end(&self) {
        *self.phase() = Phase::Over;
        self.changed.notify_all();
    }

    /// Waits until it ends.
    fn wait(&self) {
        let mut phase = self.phase();
        while *phase == Phase::Stands && !fork::is_child() {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let woken = self.changed.wait_timeout(phase, left);
            phase = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The transaction of a store that goes first, if there is one.
#[derive(Default)]
pub(crate) struct FirstOfStore {
    hold: Mutex<Option<Arc<Hold>>>,
    /// Whether there is one, for a look without the lock.
    is_some: AtomicBool,
}

impl FirstOfStore {
    fn hold(&self) -> MutexGuard<'_, Option<Arc<Hold>>> {
        // Nothing is left half done by a panic.
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a hold, unless another one stands.
    pub(super) fn begin(&self, hold: impl FnOnce() -> Hold) -> Option<Arc<Hold>> {
        let mut first = self.hold();
        if first.as_ref().is_some_and(|hold| hold.stands()) {
            return None;
        }
        *first = Some(Arc::new(hold()));
        // Relaxed, here and below: a hint.
        self.is_some.store(true, Ordering::Relaxed);
        first.clone()
    }

    /// Ends a hold.
    pub(super) fn end(&self, hold: &Arc<Hold>) {
        hold.end();
        let mut first = self.hold();
        if first.as_ref().is_some_and(|its| Arc::ptr_eq(its, hold)) {
            *first = None;
            self.is_some.store(false, Ordering::Relaxed);
        }
    }
}

impl Store {
    /// Returns whether a transaction goes first, so that writes may wait ([`TransactionOptions::hold`]): two loads. For
    /// who must not wait on the thread on which it is: see [`Table::holds_key`].
    ///
    /// ```
    /// assert!(!fyris::Store::new().has_first_transaction());
    /// ```
    ///
    /// [`TransactionOptions::hold`]: crate::TransactionOptions::hold
    pub fn has_first_transaction(&self) -> bool {
        let first = &self.0.commits.first;
        first.is_some.load(Ordering::Relaxed)
    }
}

impl Table {
    /// Returns whether a write of the key by this handle would wait now for a transaction that goes first; of no key,
    /// whether some writes would.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert!(!table.holds_key(Some(&1)) && !table.holds_key(None::<&i64>));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn holds_key(&self, key: Option<&(impl AsKey + ?Sized)>) -> bool {
        let shared = self.shared();
        if !self.is_live() || !shared.life.state().is_held() || fork::is_child() {
            return false;
        }
        let (Some(part), pin) = (shared.life.held(), pin()) else {
            return false;
        };
        match (key, self.live(Right::Write, &pin)) {
            (None, _) => part.holds_any(|_| true),
            (Some(key), Ok(data)) => key.with(|buf| {
                let bytes = with_data!(data, data => data.key_bytes(buf));
                part.holds_any(|reads| reads.cover_key(bytes, &pin))
            }),
            (Some(_), Err(_)) => false,
        }
    }
}

impl TransactionPart {
    /// Holds what is about to be read, if the transaction goes first. If the hold has ended, or something else has
    /// changed in a range, the part has failed.
    pub(super) fn take_hold(&self, note: impl FnOnce(&mut Reads)) {
        if let Some(hold) = &self.hold {
            let mut coming = Reads::new(self.table.table_type());
            note(&mut coming);
            self.hold_reads(hold, coming);
        }
    }

    fn hold_reads(&self, hold: &Hold, mut coming: Reads) {
        // One thread of the transaction after another: who finds something held finds it settled.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let pin = pin();
        // Relaxed, here and below: under the turn.
        if !coming.spans.is_empty() && self.late.load(Ordering::Relaxed) >= CHASES {
            coming.note_span(Span::ALL);
        }
        let Ok((place, past)) = self.place_and_past(&pin) else {
            return;
        };
        {
            let mut held = self.held();
            if held.has_all(&coming) {
                return;
            }
            held.add(coming.clone());
        }
        let is_late = with_data!(past.data, data => data.settle(&coming, place, &pin))
            && !cfg!(fyris_mutant = "store_hold_unsettled");
        let failure = match is_late {
            true => self.follow(hold).err(),
            false => hold.check(self).err(),
        };
        if is_late && !coming.spans.is_empty() {
            self.late.fetch_add(1, Ordering::Relaxed);
        }
        if failure.is_some() {
            self.state().failure = failure;
        }
    }

    /// Moves on to a snapshot of now. Of what was read keys are the same there, as they are held (HELD); it is asked
    /// whether ranges and values are.
    fn follow(&self, hold: &Hold) -> Result<()> {
        let later = snapshot::take_within(&[&self.table])?;
        let later = later.into_iter().next().expect("of one table");
        let pin = pin();
        let (before, now) = (self.past(&pin)?, later.view(&pin)?);
        let ranges = self.state().reads.ranges();
        let is_same = std::ptr::eq(before.data, now.data)
            && with_data!(now.data, data => data.same_at(&ranges, before.place, now.place, &pin));
        if !is_same {
            hold.give_way();
        }
        // What is read from now on is of the later place, or fails: at once, for another thread of the transaction.
        let mut state = self.state();
        state.move_on(later);
        state.failure = hold.check(self).err();
        Ok(())
    }

    /// Returns what writers ask for. Nothing is waited for, and no slot protected, while the result lives: writers have
    /// one protected when they ask.
    fn held(&self) -> MutexGuard<'_, Reads> {
        // Nothing is left half done by a panic.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a write of a key waits for the transaction.
    pub(crate) fn holds(&self, key: &[u8], pin: &LocalGuard) -> bool {
        self.holds_any(|reads| reads.cover_key(key, pin)) && !self.is_own()
    }

    /// Returns whether a write that puts this content under a key waits for the transaction, for one of its values.
    fn holds_new(&self, new: Content) -> bool {
        let object = newest(new, self.table.keypos());
        self.holds_any(|reads| reads.cover_value(&object)) && !self.is_own()
    }

    /// Returns whether the calling thread runs the transaction. Then the hold gives way: the thread would wait for
    /// itself.
    fn is_own(&self) -> bool {
        let hold = self.hold.as_ref().expect("it holds something");
        let is_own = hold.thread == Some(std::thread::current().id());
        if is_own {
            hold.give_way();
        }
        is_own
    }

    fn holds_any(&self, covers: impl Fn(&Reads) -> bool) -> bool {
        let Some(hold) = &self.hold else { return false };
        if !hold.stands() {
            return false;
        }
        covers(&self.held())
    }

    /// Returns whether a commit is that of the transaction.
    pub(crate) fn is_of(&self, commit: &Decision) -> bool {
        self.hold.as_ref().is_some_and(|hold| commit.is_of(hold))
    }

    /// Lets the writers go on that wait for the transaction, which is to be tried again.
    pub(crate) fn give_way(&self) {
        if let Some(hold) = &self.hold {
            hold.give_way();
        }
    }

    /// Waits until what is held is held no longer.
    pub(crate) fn wait(&self) {
        if let Some(hold) = &self.hold {
            hold.wait();
        }
    }
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Returns whether a transaction that goes first keeps a commit from putting this under a key.
    pub(crate) fn is_held(&self, key: &K::Key, new: Option<Content>, writer: &Writer<'_>) -> bool {
        let held = writer.held.as_ref();
        held.is_some_and(|part| {
            part.holds(K::bytes(key), writer.pin) || new.is_some_and(|new| part.holds_new(new))
        })
    }

    /// Writes as [`TableData::write`] does, to a table of a transaction that goes first: waits if that holds the key, or
    /// a value that the key is going to have.
    #[cold]
    #[inline(never)]
    pub(crate) fn write_beside_hold(
        &self,
        part: &TransactionPart,
        key: &K::Key,
        writer: &Writer<'_>,
        f: Decide<'_>,
    ) {
        loop {
            // The look is made with the slot protected (HELD). What is held is not written, and `f` comes again when
            // nobody waits for this thread any more: for its slot, or for values that it has claimed.
            let mut is_held = false;
            self.write_unheld(key, writer, &mut |old| {
                is_held = part.holds(K::bytes(key), writer.pin)
                    && !cfg!(fyris_mutant = "store_hold_passed");
                let change = match is_held {
                    true => Change::Keep,
                    false => f(old),
                };
                is_held |= matches!(change, Change::Put(new) if part.holds_new(new));
                if is_held { Change::Keep } else { change }
            });
            if !is_held {
                return;
            }
            part.wait();
        }
    }
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
    Self: Navigate<K>,
{
    /// Lets what is on its way to come where something is held: versions get their stamps, commits that are not decided
    /// are aborted. Returns whether something has come there that was not there just before a place.
    fn settle(&self, held: &Reads, place: u64, pin: &LocalGuard) -> bool {
        let mut is_late = false;
        let Ok(()) = self.each_late::<Infallible>(held, place, pin, |key| {
            is_late |= self.settle_key(key, place, pin);
            Ok(())
        });
        is_late
    }

    fn settle_key(&self, key: &K::Key, place: u64, pin: &LocalGuard) -> bool {
        loop {
            // With the slot protected: a write that has not seen the hold has put its version in, or sees the hold.
            let slot = self.index.upsert(key, pin, |slot| (Action::Keep, slot));
            if let Some(cell) = slot.and_then(Slot::as_pending)
                && cell.get().state() == CommitState::Undecided
            {
                let commit = cell.get().decision();
                if !commit.abort_unsealed() {
                    // Sealed: in a moment.
                    commit.wait();
                }
                continue;
            }
            let held = match slot.and_then(Slot::as_pending) {
                Some(cell) => cell.get().held_before(),
                None => slot.and_then(Slot::as_held),
            };
            if let Some(version) = held.and_then(Held::as_version) {
                version.stamp();
            }
            return self.get(key, pin) != self.get_at(key, Before(place), pin);
        }
    }
}
