//! The one write path: what a write puts into a slot, and what becomes of all that it takes out.
//!
//! A write has two steps, each with one owner.
//!
//! 1. **With the slot protected**, [`TableData::apply`] settles what the slot holds, lets the operation see that and
//!    say what it becomes, counts the objects that come, builds the new word and notes in [`Displaced`] what that word
//!    does not own any more (OWNERSHIP in [`crate::slot`]). If a commit under way holds the key, the write goes through
//!    its cell ([`crate::pending`]), or waits for the decision and is done again.
//! 2. **After the index has stored the word and left the slot**, [`TableData::displaced`] accounts for what was noted
//!    and retires it.
//!
//! In a versioned table the new word is a cell over what the key holds, and what it displaces is kept as long as a
//! snapshot sees it ([`crate::version`]).
//!
//! The swap of a whole content (a table that is emptied or deleted, its owner's end) has the same two steps:
//! [`TableShared`](crate::table_shared::TableShared) swaps, [`DisplacedData`] is retired, when no
//! snapshot holds it any more.
//!
//! Invariant **AFTER_STORE**: nothing is retired before the word that takes its place is stored. A thread that pins
//! after the retirement is not waited for, so it must not find what was retired. `ops/model.rs` tries it.
//!
//! Counts: objects that come are counted before they can be seen, those that go after they are gone, so that a count
//! is never too low. Bytes are accounted for afterwards.

use fyris_index::{Action, Entry, HashIndex, Index};
use fyris_sync::reclaim::{Guard, LocalGuard};

use crate::chain::{self, Edited};
use crate::key_kind::{Exact, KeyKind};
use crate::keys::ShortKey;
use crate::pending::{CommitState, PendingPtr, Terms};
use crate::record::RecordPtr;
use crate::secondary::HandedOver;
use crate::slot::{Content, Held, Settled, Slot};
use crate::table_data::{AnyTableData, TableData};
use crate::version::{DeadItem, VersionPtr};
use crate::writer::Writer;

/// The change of a key's content.
pub(crate) enum Change {
    Keep,
    /// This takes the place of all that the key holds.
    Put(Content),
    /// A chain on top of what the key holds.
    Push(Content),
    /// A chain with other objects in the places of some of the chain that the key holds, or without some of them.
    Edit(Edited),
    Remove,
}

/// Says what becomes of what a key holds. The rare ways of a write take it so: they are compiled once, not for each
/// operation.
pub(crate) type Decide<'f> = &'f mut dyn FnMut(Option<Content>) -> Change;

/// What a write has displaced.
#[derive(Default)]
pub(crate) struct Displaced {
    content: Gone,
    handed_over: HandedOver,
    cell: MetCell,
    history: History,
}

/// The history of a key that a write has changed.
#[derive(Default)]
enum History {
    /// There is none, and there was none.
    #[default]
    None,
    /// The first cell of what there was: no snapshot lives that could see any of it.
    Ended(VersionPtr),
    /// The cell of the write, and what the key held before.
    Extended(VersionPtr, Option<Held>),
}

/// What of a key's content has gone.
#[derive(Default)]
enum Gone {
    #[default]
    Nothing,
    /// The whole of the old one, in whose place the new one is.
    Whole(Option<Content>, Option<Content>),
    /// Nothing: the new one is a chain on top of the old one.
    Pushed(Option<Content>, Content),
    /// What the new chain does not have of the old one.
    Part(Edited),
}

/// The cell of a commit that a write has met in its slot, and what is to be done about it.
#[derive(Default)]
enum MetCell {
    #[default]
    None,
    /// It was decided, and is out of the slot.
    Decided(PendingPtr),
    /// It holds another chain in the place of this one, of whose cells that shares those from the second content on.
    Remade(Content, Option<Content>),
    /// The commit is about to be decided, and nothing was written.
    Sealed(PendingPtr),
}

impl Displaced {
    /// Returns what a write displaces that puts the content that won in the place of a decided cell.
    pub(crate) fn cell(cell: PendingPtr) -> Displaced {
        Displaced {
            cell: MetCell::Decided(cell),
            ..Displaced::default()
        }
    }
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Runs `f` on what the key holds, with the slot protected, does as it says, accounts for what that displaces and
    /// retires it.
    ///
    /// The contract of `f` is that of [`Index::upsert`]. It may run again, on what the key holds by then: what it has
    /// offered before is its own again. What it has offered last is not when this returns: a slot has it, or the writer
    /// was told that the write was refused.
    #[inline]
    pub(crate) fn write<R>(
        &self,
        key: &K::Key,
        writer: &Writer<'_>,
        mut f: impl FnMut(Option<Content>) -> (Change, R),
    ) -> R {
        match self.write_otherwise(key, writer, &mut f) {
            Some(result) => result,
            None => self.write_now(key, writer, f),
        }
    }

    /// Does so where more has to be done than to change a slot. Returns `None`, and does nothing, where not.
    #[inline]
    fn write_otherwise<R>(
        &self,
        key: &K::Key,
        writer: &Writer<'_>,
        f: &mut impl FnMut(Option<Content>) -> (Change, R),
    ) -> Option<R> {
        let is_bound =
            writer.within.is_some() || writer.held.is_some() || self.secondaries.has_unique();
        let interest = match writer.watchers {
            Some(watchers) if !is_bound => watchers.interest(K::bytes(key), writer.pin),
            _ => None,
        };
        if !is_bound && interest.is_none() {
            return None;
        }
        let mut result = None;
        let decide = &mut |old| {
            let (change, its) = f(old);
            result = Some(its);
            change
        };
        match interest {
            Some(interest) => self.write_watched(&interest, key, writer, decide),
            None => self.write_bound(key, writer, decide),
        }
        Some(result.expect("`f` has decided"))
    }

    /// Writes in a transaction, beside one that goes first, or with unique indexes.
    #[inline(never)]
    fn write_bound(&self, key: &K::Key, writer: &Writer<'_>, f: Decide<'_>) {
        match (writer.within, &writer.held) {
            (Some(part), _) => self.write_within(part, key, writer, f),
            (None, Some(part)) => self.write_beside_hold(part, key, writer, f),
            (None, None) => self.write_unheld(key, writer, f),
        }
    }

    /// Writes where no transaction keeps it from that.
    pub(crate) fn write_unheld(&self, key: &K::Key, writer: &Writer<'_>, f: Decide<'_>) {
        match self.secondaries.has_unique() {
            true => self.write_unique(key, writer, f),
            false => self.write_claimed(key, writer, f),
        }
    }

    /// Writes where no value is to be claimed any more.
    pub(crate) fn write_claimed(&self, key: &K::Key, writer: &Writer<'_>, f: Decide<'_>) {
        let watchers = writer.watchers;
        match watchers.and_then(|watchers| watchers.interest(K::bytes(key), writer.pin)) {
            Some(interest) => self.write_watched(&interest, key, writer, f),
            None => self.write_now(key, writer, |old| (f(old), ())),
        }
    }

    /// Does so in the table, and tells nobody.
    #[inline]
    pub(crate) fn write_now<R>(
        &self,
        key: &K::Key,
        writer: &Writer<'_>,
        mut f: impl FnMut(Option<Content>) -> (Change, R),
    ) -> R {
        loop {
            // With the slot protected it holds (`apply`)
            // * a content, or nothing: `f` decides on that;
            // * the cell of a decided commit: `f` decides on the content that won. If it changes that, the cell goes
            //   too, and this thread retires the content that lost;
            // * the cell of an undecided commit: `f` decides on the content that the key holds until then, and the
            //   write is before the commit (THROUGH). The cell stays, and says what the key holds now and will hold;
            //   or, where the commit asked for a new key or for what it had read, it is aborted, and the cell goes;
            // * the same, but the commit is sealed, and is decided in a moment: nothing is done, `f` is not called.
            //   That is waited for out of the slot, then all begins again.
            // What goes is accounted for and retired when the slot has its new word (AFTER_STORE).
            let mut displaced = Displaced::default();
            let written = self.index.upsert(key, writer.pin, |slot| {
                self.apply(slot, &mut displaced, &mut f, writer)
            });
            self.displaced(displaced, writer);
            if let Some(result) = written {
                return result;
            }
        }
    }

    /// Runs `f` on the content of an entry, with the slot protected, and returns the action that it asks for. The
    /// result is `None` if the write is to be done again.
    #[inline]
    fn apply<R>(
        &self,
        slot: Option<Slot<K>>,
        displaced: &mut Displaced,
        f: &mut impl FnMut(Option<Content>) -> (Change, R),
        writer: &Writer<'_>,
    ) -> (Action<Slot<K>>, Option<R>) {
        let held = match slot.map(Slot::settled) {
            None => None,
            Some(Settled::Held(held)) => held,
            Some(Settled::Undecided(cell)) => {
                let mut result = None;
                let decide = &mut |old| {
                    let (change, its) = f(old);
                    result = Some(its);
                    change
                };
                return (self.write_through(cell, displaced, decide, writer), result);
            }
        };
        if let Some(cell) = slot.and_then(Slot::as_pending) {
            displaced.cell = MetCell::Decided(cell);
            if writer.is_versioned {
                // The slot gets the commit's own version, and the write is done again.
                return (action(cell.get().held_with_history()), None);
            }
        }
        let old = held.and_then(Held::settled);
        let (change, result) = f(old);
        let Some(new) = self.change(old, change, displaced, writer) else {
            displaced.cell = MetCell::None;
            return (Action::Keep, Some(result));
        };
        if cfg!(fyris_mutant = "store_loser_kept") {
            displaced.cell = MetCell::None;
        }
        let new = self.with_history(held, new, displaced, writer);
        if cfg!(fyris_mutant = "store_retire_early") {
            self.displaced(std::mem::take(displaced), writer);
        }
        (action(new), Some(result))
    }

    /// Returns what a key will hold that gets another content: in a versioned table a cell over what it holds now.
    #[inline]
    fn with_history(
        &self,
        held: Option<Held>,
        new: Option<Content>,
        displaced: &mut Displaced,
        writer: &Writer<'_>,
    ) -> Option<Held> {
        if writer.is_versioned {
            return Some(self.extended(held, new, displaced));
        }
        if let Some(cell) = held.and_then(Held::as_version) {
            displaced.history = History::Ended(cell);
        }
        new.map(Held::content)
    }

    #[cold]
    fn extended(
        &self,
        held: Option<Held>,
        new: Option<Content>,
        displaced: &mut Displaced,
    ) -> Held {
        let cell = VersionPtr::new(new, held, &self.snapshots);
        displaced.history = History::Extended(cell, held);
        Held::version(cell)
    }

    /// Counts the objects that a change brings and enters them in the secondary indexes, or lets a fixed table remember
    /// the key that goes; notes what the change displaces, and returns what the key will hold, `None` if nothing
    /// changes.
    #[inline]
    fn change(
        &self,
        old: Option<Content>,
        change: Change,
        displaced: &mut Displaced,
        writer: &Writer<'_>,
    ) -> Option<Option<Content>> {
        if !self.secondaries.is_empty() {
            let is_plain =
                !writer.is_versioned || cfg!(fyris_mutant = "store_handed_over_versioned");
            displaced.handed_over = self.enter_change(old, &change, is_plain, writer.pin);
        }
        let (new, gone) = match change {
            Change::Keep => return None,
            Change::Put(new) => (Some(new), Gone::Whole(old, Some(new))),
            Change::Remove => (None, Gone::Whole(old, None)),
            Change::Push(new) => (Some(new), Gone::Pushed(old, new)),
            Change::Edit(edited) => {
                debug_assert!(edited.new.is_some(), "that would be a removal");
                (edited.new, Gone::Part(edited))
            }
        };
        match (old, new) {
            (_, Some(_)) => self.account(more(old, new).max(0), 0),
            (Some(old), None) => writer.note_one(old.newest()),
            (None, None) => {}
        }
        displaced.content = gone;
        Some(new)
    }

    /// Writes to a key that an undecided commit holds: before the commit, or not at all
    /// if that is sealed. With the slot protected.
    #[cold]
    fn write_through(
        &self,
        cell: PendingPtr,
        displaced: &mut Displaced,
        f: Decide<'_>,
        writer: &Writer<'_>,
    ) -> Action<Slot<K>> {
        let Some(hold) = cell.get().hold() else {
            displaced.cell = MetCell::Sealed(cell);
            return Action::Keep;
        };
        let held = cell.get().held_before();
        let old = held.and_then(Held::settled);
        let Some(now) = self.change(old, f(old), displaced, writer) else {
            return Action::Keep;
        };
        let (terms, after) = (cell.get().terms(), cell.get().after());
        if matches!(terms, Terms::New | Terms::Guarded) && now.is_none() && old.is_none() {
            return Action::Keep;
        }
        let held = self.with_history(held, now, displaced, writer);
        // The slot gets the word that it has: a thread that has read it sees that something has changed.
        let same = Action::Put(Slot::pending(cell));
        match terms {
            Terms::Replace => {
                self.put_below(cell, (old, now, held), after);
                same
            }
            Terms::Add => {
                let remade = self.with_records(now, cell.get().part().records_of(cell.get()));
                self.put_below(cell, (old, now, held), remade);
                if let Some(chain) = after {
                    displaced.cell = MetCell::Remade(chain, old);
                }
                same
            }
            Terms::New | Terms::Guarded => {
                if !cfg!(fyris_mutant = "store_read_passed") {
                    hold.abort();
                }
                displaced.cell = MetCell::Decided(cell);
                action(held)
            }
        }
    }

    /// Lets an undecided cell say that its key holds `now`, that is `held`, in the place of `old`, and `new` after the
    /// commit.
    fn put_below(
        &self,
        cell: PendingPtr,
        (old, now, held): (Option<Content>, Option<Content>, Option<Held>),
        new: Option<Content>,
    ) {
        let (before, after) = (
            self.gain(old, cell.get().after(), true),
            self.gain(now, new, true),
        );
        let (objects, bytes) = (after.0 - before.0, after.1 - before.1);
        cell.get().part().drift(objects, bytes);
        cell.get().write_through(held, new);
    }

    /// Returns the content of a key of a bag with those records put in that it does not have.
    pub(crate) fn with_records(
        &self,
        old: Option<Content>,
        records: &[RecordPtr],
    ) -> Option<Content> {
        let add = |content, &record| match self.is_repeated(record, content) {
            true => content,
            false => Some(chain::push(record, content)),
        };
        records.iter().fold(old, add)
    }

    /// Returns by how many objects and bytes a key grows when `new` takes the place of `old`; where it `extends` that,
    /// in a bag, it was made from it.
    pub(crate) fn gain(
        &self,
        old: Option<Content>,
        new: Option<Content>,
        extends: bool,
    ) -> (i64, i64) {
        let size = |content: Option<Content>| content.map_or(0, Content::size) as i64;
        let bytes = match new {
            Some(new) if extends && self.kind.is_bag() => chain::size_above(new, old) as i64,
            _ => size(new) - size(old),
        };
        (more(old, new), bytes)
    }

    /// Accounts for what a write has displaced, and retires it. The index has stored the new word, and left the slot
    /// (AFTER_STORE).
    #[inline]
    pub(crate) fn displaced(&self, displaced: Displaced, writer: &Writer<'_>) {
        if let History::Extended(cell, older) = displaced.history {
            return self.displaced_with_history(displaced, cell, older, writer);
        }
        // SAFETY: OWNERSHIP, AFTER_STORE: out of its slot, which this thread has written.
        self.account_for(displaced.content, |item| unsafe {
            self.retire_item(item, displaced.handed_over, writer.pin);
        });
        self.displaced_cell(displaced.cell, writer);
        if let History::Ended(cell) = displaced.history {
            // SAFETY: OWNERSHIP, AFTER_STORE: a content without a cell took its place.
            unsafe { cell.retire_chain(writer.pin) };
        }
    }

    /// Accounts for what has gone of a key's content, and for what came; gives `f` what belongs to nobody now.
    #[inline(always)]
    fn account_for<R>(&self, gone: Gone, f: impl FnOnce(DeadItem) -> R) -> R {
        match gone {
            Gone::Nothing => f(DeadItem::Nothing),
            Gone::Whole(None, new) => {
                self.account(0, new.map_or(0, Content::size) as i64);
                f(DeadItem::Nothing)
            }
            Gone::Whole(Some(old), new) => {
                match new {
                    None => self.account(-(old.count() as i64), -(old.size() as i64)),
                    // If the lengths are equal, the sizes are, and the allocator need not be asked.
                    Some(new) if old.is_as_long(new) => {}
                    Some(new) => self.account(0, new.size() as i64 - old.size() as i64),
                }
                f(DeadItem::Content(old))
            }
            Gone::Pushed(old, new) => {
                self.account(0, chain::size_above(new, old) as i64);
                f(DeadItem::Nothing)
            }
            Gone::Part(edited) => {
                self.account(-(edited.fewer() as i64), edited.more_bytes());
                f(DeadItem::Part(edited))
            }
        }
    }

    /// Does the same in a versioned table, where `cell` took the place of `older`.
    #[cold]
    #[inline(never)]
    fn displaced_with_history(
        &self,
        displaced: Displaced,
        cell: VersionPtr,
        older: Option<Held>,
        writer: &Writer<'_>,
    ) {
        let owned = self.account_for(displaced.content, |item| item);
        self.displaced_cell(displaced.cell, writer);
        // The stamp first: a snapshot that is not listed when this looks does not see what went (LISTED).
        let died = cell.stamp();
        writer.note_stamp(died);
        let is_gone = cell.content().is_none();
        self.supersede(older, owned, (died, is_gone), cell.key(), writer.pin);
    }

    /// Does what is to be done about the cell of a commit that a write has met.
    #[inline]
    fn displaced_cell(&self, cell: MetCell, writer: &Writer<'_>) {
        match cell {
            MetCell::None => {}
            MetCell::Decided(cell) => self.retire_loser(cell, writer.is_versioned, writer.pin),
            // SAFETY: OWNERSHIP, AFTER_STORE: another chain of the same records is in the cell.
            MetCell::Remade(chain, bottom) => unsafe {
                chain::retire_cells_above(chain, bottom, writer.pin);
            },
            // In a moment.
            MetCell::Sealed(cell) => cell.get().wait(),
        }
    }

    /// Retires the side of a decided cell that lost; where the key got the commit's own version, snapshots may see it.
    #[cold]
    pub(crate) fn retire_loser(&self, cell: PendingPtr, with_history: bool, pin: &LocalGuard) {
        let (held, new) = (cell.get().held_before(), cell.get().after());
        let old = held.and_then(Held::settled);
        let committed = cell.get().state() == CommitState::Committed;
        // In a bag what is put in may contain the old chain.
        let contains = self.kind.is_bag() && cell.get().extends();
        if committed && with_history {
            if old != new {
                let (died, key) = (cell.get().version(), cell.get().key());
                let owned = match old {
                    Some(old) if !contains => DeadItem::Content(old),
                    _ => DeadItem::Nothing,
                };
                self.supersede(held, owned, (died, new.is_none()), key, pin);
            } else {
                self.leave_repeated(new, pin);
            }
            return;
        }
        // SAFETY: OWNERSHIP: the cell owned both sides, the winner went to the slot, and the cell is taken out
        // of its slot once.
        unsafe {
            match (committed, old, new) {
                (true, Some(old), _) if !contains && Some(old) != new => {
                    self.retire_item(DeadItem::Content(old), 0, pin);
                }
                (true, Some(_), _) if !contains => self.leave_repeated(new, pin),
                // The records are the committer's (UNPLACED).
                (false, _, Some(new)) if contains => chain::retire_cells_above(new, old, pin),
                _ => {}
            }
            if let (true, Some(cell)) = (committed, held.and_then(Held::as_version)) {
                cell.retire_chain(pin);
            }
        }
        if self.graves.is_some() && with_history && held.is_some() && old.is_none() {
            // Deleted beneath the cell of a commit that was aborted then: it is time to bury it.
            self.prune(self.key_of(cell.get().key()), pin);
        }
    }
}

/// Returns the action that lets a key hold this.
#[inline]
fn action<K>(held: Option<Held>) -> Action<Slot<K>> {
    held.map_or(Action::Remove, |held| Action::Put(Slot::held(held)))
}

/// Returns by how many objects a key grows when `new` takes the place of `old`.
fn more(old: Option<Content>, new: Option<Content>) -> i64 {
    let count = |content: Option<Content>| content.map_or(0, Content::count) as i64;
    count(new) - count(old)
}

impl TableData<Exact, HashIndex<Slot<Exact>>> {
    /// Runs `f` on what a key holds, for a key that is hashed and compared in a register; does as it says, with the
    /// slot protected, accounts for what that displaces, and retires it. Again, where the write has to be done again.
    #[inline]
    pub(crate) fn write_short<R>(
        &self,
        key: ShortKey,
        writer: &Writer<'_>,
        mut f: impl FnMut(Option<Content>) -> (Change, R),
    ) -> R {
        let (bytes, len) = (key.word.to_le_bytes(), key.len);
        let whole = Exact::from_bytes(&bytes[..len]);
        if let Some(result) = self.write_otherwise(whole, writer, &mut f) {
            return result;
        }
        let has_key = |slot: &Slot<Exact>| slot.has_short_key(key);
        loop {
            let mut displaced = Displaced::default();
            let written = self.index.upsert_by(&key, has_key, writer.pin, |slot| {
                self.apply(slot, &mut displaced, &mut f, writer)
            });
            self.displaced(displaced, writer);
            if let Some(result) = written {
                return result;
            }
        }
    }
}

/// A whole content that was swapped out of its table.
pub(crate) struct DisplacedData(*mut AnyTableData);

impl DisplacedData {
    /// # Safety
    ///
    /// One swap took it out, and no thread that pins from now on finds it.
    pub(crate) unsafe fn new(data: *mut AnyTableData) -> DisplacedData {
        DisplacedData(data)
    }

    /// Lets go of it: retires it, and sees to it that it is freed soon, unless snapshots hold it. It can be looked at
    /// while `pin` lives.
    pub(crate) fn let_go(self, pin: &impl Guard) -> &AnyTableData {
        // SAFETY: the promise of `new`; the last holder retires it, under this pin or a later one (RECLAIM).
        let data = unsafe { &*self.0 };
        if data.snapshots().let_go() {
            // SAFETY: as above.
            unsafe { pin.retire(self.0) };
            pin.flush_on_drop();
        }
        data
    }
}
