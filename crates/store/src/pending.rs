//! Commits over several keys: pending cells and the decision that they share.
//!
//! # Why
//!
//! `insert/2` of a list is atomic and isolated: a reader sees all of it or nothing. Readers take no
//! locks, so the step that makes all of it visible must be one store. It is the store of a
//! decision's state.
//!
//! # How
//!
//! 1. For every key, in one order for the whole store (by table, then by key bytes), the committer puts a
//!    *pending cell* in the slot: the content that the key holds now, the content that it will hold, and the way to the
//!    decision.
//! 2. It decides: it appends the decision to the store's [log of commits](crate::commits), and its state says
//!    `Committed`; or the state says `Aborted`.
//! 3. It replaces each cell that is still there by the content that won, and retires the loser.
//!
//! A reader that meets a cell reads the state: undecided and aborted mean old, committed means new.
//! It never waits. A writer that meets a decided cell may replace it at once and then retires the loser itself, if that
//! is what the key held; what an aborted commit would have put there is its committer's (UNPLACED).
//!
//! A commit may be over several tables. The [decision](Decision) is one, and each table has a [part](CommitPart) of the
//! cells. A cell may also remove its key, and so have no content at all; then the part has the key.
//!
//! # Writing through
//!
//! A writer of one key that meets an undecided cell does not wait either, however long the list: its write happens
//! *before* the commit. With the slot protected it changes the cell's old content, which the key holds until the
//! decision, and the slot keeps the cell. The content that the commit means to put there is
//!
//! * the same as before where it replaces whatever is there (`set` and `ordered_set`);
//! * made anew from the present content, in the bags;
//! * nothing at all if the key was to be new, or a [transaction](crate::transaction) has read it: a writer that changes
//!   it aborts the commit.
//!
//! The decision must not fall between the look at the state and the change, nor before the write is counted and
//! [announced](crate::watch): the writer *holds* it. The committer *seals* the commit before it decides: from then on
//! no writer can hold it, and the committer waits for the few dozen nanoseconds that its holders still need. A writer
//! that comes then waits for the decision, which is the next step.
//!
//! # Invariants
//!
//! * **DECISION**: the state changes once, after the last cell was put in a slot, or to aborted. So all cells turn
//!   together, and a slot that holds an undecided cell keeps it.
//! * **ASCENDING**: cells are put in slots in ascending order of tables and keys, and a committer waits for other
//!   committers while it holds only cells of smaller ones. So waiting makes no circle.
//! * **BLOCK**: a decision and its cells live as long as one of two uses: its committer's, until no slot holds a cell
//!   of it any more, and the log's, while it is the last commit. The thread that gives up the last use retires it; a
//!   reader that came by it before is pinned (RECLAIM).
//! * **UNPLACED**: the objects that a commit adds are its committer's until it is committed. An aborted one takes them
//!   back when no slot holds a cell of it any more.
//! * **THROUGH**: the contents that a cell names change only under the protection of the slot that holds it, and once
//!   the commit is decided the winning one does not change. So a thread that takes a cell out of its slot reads the
//!   final contents that the cell owned.
//!
//! A committer that panics half-way aborts (its guard's `Drop`), so that no thread waits for ever.
//!
//! A snapshot is an empty commit: its place in the log says what it sees.

use std::ptr::NonNull;
use std::sync::Arc;

use fyris_sync::atomic::{AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use fyris_sync::lock::Backoff;
use fyris_sync::reclaim::{Guard, PROTECT, Retire};
use smallvec::SmallVec;

use crate::commits::NewestCommit;
use crate::record::{NewRecord, RecordPtr};
use crate::slot::{Content, Held};
use crate::transaction::Hold;
use crate::version::{LiveSnapshot, VersionPtr};
use crate::writer::Writer;

/// Whether a commit has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitState {
    Undecided,
    Committed,
    Aborted,
}

const UNDECIDED: u32 = 0;
const COMMITTED: u32 = 1;
const ABORTED: u32 = 2;
/// Undecided, and about to be decided.
const SEALED: u32 = 3;
/// The bits of the four.
const STATE: u32 = 3;
/// One writer that holds the decision.
const HOLD: u32 = 4;

/// The condition of a commit on one of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terms {
    /// None: what it puts there, or that nothing is there, replaces whatever is there.
    Replace,
    /// Its content is made from the one that is there.
    Add,
    /// The key is new.
    New,
    /// The commit's transaction has read what it replaces: see [`crate::version::guards`].
    Guarded,
}

impl Terms {
    /// Returns whether the content of a bag's key is made on top of the one that is there.
    pub(crate) fn extends(self) -> bool {
        self != Terms::Guarded
    }
}

/// The condition of each key of a commit in one table; where all have the same, there is one.
pub(crate) type CellTerms = SmallVec<[Terms; 8]>;

/// Returns the condition of the key at a place.
pub(crate) fn terms_of(terms: &CellTerms, place: impl FnOnce() -> usize) -> Terms {
    match *terms.as_slice() {
        [all] => all,
        _ => terms[place()],
    }
}

/// One key's part of a commit: 8-byte aligned.
pub(crate) struct Pending {
    decision: *const Decision,
    /// What the key holds: bits of [`Held`], or zero. Written before the cell is put in a slot, and under its
    /// protection (THROUGH).
    old: AtomicU64,
    /// What the key will hold if the commit is decided for: bits of a content, or zero. Written as `old` is.
    new: AtomicU64,
}

/// The cells of a commit in one table, in the order of keys (ASCENDING).
pub(crate) struct CommitPart {
    /// What tells readers of the table's content of the commit.
    pub(crate) newest: Arc<NewestCommit>,
    cells: Box<[Pending]>,
    terms: CellTerms,
    /// The key of each cell that puts nothing under it; there may be none at all.
    keys: Box<[Option<NewRecord>]>,
    /// In a bag, the records that it adds to each key one behind another; and for each key where those of the next
    /// begin.
    records: Box<[RecordPtr]>,
    ends: Box<[usize]>,
    /// The place of each cell in the order in which the commit was written, over all parts; none where nobody is told.
    ranks: Box<[u64]>,
    /// By how much what the commit adds has changed since its cells were put in slots: additional objects; objects
    /// fewer; bytes.
    drift: (AtomicI64, AtomicI64, AtomicI64),
}

/// What a part is made of.
pub(crate) struct PartPlan {
    pub(crate) newest: Arc<NewestCommit>,
    /// The number of keys.
    pub(crate) cells: usize,
    pub(crate) terms: CellTerms,
    pub(crate) keys: Vec<Option<NewRecord>>,
    pub(crate) records: Vec<RecordPtr>,
    pub(crate) ends: Vec<usize>,
    pub(crate) ranks: Vec<u64>,
}

/// The state that all cells of a commit share, and the cells (BLOCK).
pub(crate) struct Decision {
    /// One of the four states, and above it how many writers hold the decision.
    state: AtomicU32,
    /// The ticket of the transaction that commits; 0 of a list. Of two commits that cannot both be, the one
    /// with the lower ticket goes first.
    ticket: u64,
    /// The address of what its transaction holds its tables by; 0 if it does not go first.
    hold: usize,
    /// The number of uses that the block still has.
    uses: AtomicU8,
    /// The number of commits before. Written before the block is in the log, as `previous`.
    version: AtomicU64,
    /// The commit before, to be followed by threads that know that it has not been freed.
    previous: AtomicPtr<Decision>,
    /// One for each table, in the order of tables.
    parts: Box<[CommitPart]>,
    /// The snapshots whose place this is.
    snapshots: Box<[Arc<LiveSnapshot>]>,
}

// SAFETY: the pointer in a cell is to the block the cell is part of, the other one to a block in the log.
unsafe impl Send for Decision {}
// SAFETY: as above; everything written after publication is atomic.
unsafe impl Sync for Decision {}

/// A pointer to a live pending cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PendingPtr(NonNull<Pending>);

impl PendingPtr {
    pub(crate) fn bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// # Safety
    ///
    /// `bits` comes from [`PendingPtr::bits`] of a cell whose block has not been freed.
    pub(crate) unsafe fn from_bits(bits: u64) -> PendingPtr {
        let ptr = std::ptr::with_exposed_provenance_mut(bits as usize);
        // SAFETY: the bits came from a NonNull.
        PendingPtr(unsafe { NonNull::new_unchecked(ptr) })
    }

    pub(crate) fn get<'c>(self) -> &'c Pending {
        // SAFETY: BLOCK and RECLAIM.
        unsafe { self.0.as_ref() }
    }
}

impl Pending {
    /// Returns the state of the commit the cell belongs to.
    pub(crate) fn state(&self) -> CommitState {
        // Acquire: pairs with the Release in `Decision::appear` and `abort`.
        match self.decision().state.load(Ordering::Acquire) & STATE {
            COMMITTED => CommitState::Committed,
            ABORTED => CommitState::Aborted,
            _ => CommitState::Undecided,
        }
    }

    /// Returns the commit's part in the table of the cell.
    pub(crate) fn part(&self) -> &CommitPart {
        let has_it = |part: &&CommitPart| {
            part.cells
                .as_ptr_range()
                .contains(&std::ptr::from_ref(self))
        };
        let part = self.decision().parts.iter().find(has_it);
        part.expect("a cell is in a part")
    }

    /// Returns whether what a bag's key will hold contains what it holds.
    pub(crate) fn extends(&self) -> bool {
        self.terms().extends() && self.after().is_some()
    }

    pub(crate) fn decision(&self) -> &Decision {
        #[cfg(loom)]
        fyris_sync::reclaim::assert_not_reclaimed(self.decision);
        // SAFETY: BLOCK: the decision lives as long as the cell.
        unsafe { &*self.decision }
    }

    /// Returns the content of the key according to the state now.
    pub(crate) fn read(&self) -> Option<Content> {
        match self.state() {
            CommitState::Committed => self.after(),
            CommitState::Undecided | CommitState::Aborted => self.before(),
        }
    }

    /// Returns the content of the key without the commit.
    pub(crate) fn before(&self) -> Option<Content> {
        self.held_before()?.now()
    }

    /// Returns what the key holds without the commit.
    pub(crate) fn held_before(&self) -> Option<Held> {
        // PROTECT: pairs with the Release in `write_through`. SAFETY: live by OWNERSHIP.
        unsafe { Held::from_bits(self.old.load(PROTECT)) }
    }

    /// Returns the content of the key after a commit.
    pub(crate) fn after(&self) -> Option<Content> {
        // PROTECT: pairs with the Release in `write_through`. SAFETY: live by OWNERSHIP.
        unsafe { Content::from_bits(self.new.load(PROTECT)) }
    }

    /// Returns what the key holds according to the state now, where no snapshot lives.
    pub(crate) fn held(&self) -> Option<Held> {
        match self.state() {
            CommitState::Committed => self.after().map(Held::content),
            CommitState::Undecided | CommitState::Aborted => self.held_before(),
        }
    }

    /// Returns what the key holds according to a decision, with what it held before for the snapshots that see that.
    /// The cell that this may have made is the caller's.
    pub(crate) fn held_with_history(&self) -> Option<Held> {
        let (before, after) = (self.held_before(), self.after());
        if self.state() != CommitState::Committed || before.and_then(Held::now) == after {
            return before;
        }
        let version = self.decision().version();
        Some(Held::version(VersionPtr::of_commit(after, before, version)))
    }

    /// Returns the content of the key just before a place of the log, which is the end of a commit that has appeared.
    pub(crate) fn before_place(&self, place: u64) -> Option<Content> {
        let committed = self.state() == CommitState::Committed;
        if committed && self.decision().version() < place {
            return self.after();
        }
        self.held_before()?.before(place)
    }

    /// Returns the commit's place in the log.
    pub(crate) fn version(&self) -> u64 {
        self.decision().version()
    }

    /// Says what the key holds without the commit and after it, for a writer of the key (THROUGH). The cell is
    /// undecided, and stays so if the second changes.
    pub(crate) fn write_through(&self, old: Option<Held>, new: Option<Content>) {
        // Release, both: pair with PROTECT in `held_before` and `after`.
        self.new
            .store(new.map_or(0, Content::bits), Ordering::Release);
        self.set_before(old);
    }

    /// Says in other words what the key holds without the commit. With the slot protected.
    pub(crate) fn set_before(&self, old: Option<Held>) {
        // Release: pairs with PROTECT in `held_before`.
        self.old.store(old.map_or(0, Held::bits), Ordering::Release);
    }

    /// Returns the condition of the commit on the key.
    pub(crate) fn terms(&self) -> Terms {
        let part = self.part();
        terms_of(&part.terms, || part.place_of(self))
    }

    /// Returns a record with the key: of either content, or made for that.
    pub(crate) fn key(&self) -> RecordPtr {
        let held = self.after().or(self.held_before().map(Held::with_key));
        match held {
            Some(content) => content.newest(),
            None => self.part().key_of(self),
        }
    }

    /// Says what the key holds and will hold, before the cell is put in a slot.
    pub(crate) fn prepare(&self, old: Option<Held>, new: Option<Content>) {
        // Relaxed, both: published by the store that puts the cell in a slot.
        self.old.store(old.map_or(0, Held::bits), Ordering::Relaxed);
        self.new
            .store(new.map_or(0, Content::bits), Ordering::Relaxed);
    }

    /// Keeps the commit undecided while the value lives. `None` if it is about to be decided, or is.
    pub(crate) fn hold(&self) -> Option<CommitHold<'_>> {
        let commit = self.decision();
        let more = |state: u32| (state & STATE == UNDECIDED).then_some(state + HOLD);
        // Acquire: pairs with the Release where a `CommitHold` is dropped: what other holders have written comes
        // before.
        let held = commit
            .state
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, more);
        held.ok().map(|_| CommitHold { commit })
    }

    /// Waits some microseconds for the decision, at most; whether it came. Called outside every slot.
    pub(crate) fn wait_a_little(&self) -> bool {
        let mut backoff = Backoff::new();
        while self.state() == CommitState::Undecided && !backoff.is_long() {
            backoff.wait();
        }
        self.state() != CommitState::Undecided
    }

    /// Waits until the commit is decided: as long as the list takes that is being inserted, asleep if that is long.
    /// Called outside every slot.
    pub(crate) fn wait(&self) {
        self.decision().wait();
    }
}

/// The decision of a commit, held.
pub(crate) struct CommitHold<'c> {
    commit: &'c Decision,
}

impl CommitHold<'_> {
    /// Aborts the commit.
    pub(crate) fn abort(&self) {
        self.commit.abort();
    }
}

impl Drop for CommitHold<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `hold` and in `Commit::seal`.
        self.commit.state.fetch_sub(HOLD, Ordering::Release);
    }
}

impl CommitPart {
    /// Returns the cells, in the order of keys.
    pub(crate) fn cells(&self) -> &[Pending] {
        &self.cells
    }

    /// Returns the place of the `i`-th cell in the order of writing; 0 of all where that is not known.
    pub(crate) fn rank(&self, i: usize) -> u64 {
        self.ranks.get(i).copied().unwrap_or(0)
    }

    /// Returns the cell of the `i`-th key.
    pub(crate) fn cell(&self, i: usize) -> PendingPtr {
        PendingPtr(NonNull::from(&self.cells[i]))
    }

    fn place_of(&self, cell: &Pending) -> usize {
        let at = std::ptr::from_ref(cell).addr() - self.cells.as_ptr().addr();
        at / size_of::<Pending>()
    }

    /// Returns the records that a commit adds to a cell's key, in their order.
    pub(crate) fn records_of(&self, cell: &Pending) -> &[RecordPtr] {
        let at = self.place_of(cell);
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.records[begin..self.ends[at]]
    }

    /// Lets a fixed table remember the keys that the commit is about to remove (see [`crate::fix`]).
    pub(crate) fn note_removed(&self, writer: &Writer<'_>) {
        let removed = self.cells.iter().filter(|cell| cell.after().is_none());
        let held = removed.filter_map(Pending::held_before);
        held.for_each(|held| writer.note_one(held.with_key().newest()));
    }

    /// Returns whether it adds records to what keys hold.
    pub(crate) fn adds(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Returns the record with the key of a cell that has no content.
    fn key_of(&self, cell: &Pending) -> RecordPtr {
        let key = self.keys.get(self.place_of(cell)).and_then(Option::as_ref);
        key.expect("a cell that puts nothing has its key here")
            .ptr()
    }

    /// Notes that the commit adds this many objects and bytes more than it did, for a writer of one of its keys that
    /// holds it.
    pub(crate) fn drift(&self, objects: i64, bytes: i64) {
        // Relaxed, all: read when the commit is sealed, which orders what its holders have done.
        self.drift.0.fetch_add(objects.max(0), Ordering::Relaxed);
        self.drift.1.fetch_add(objects.min(0), Ordering::Relaxed);
        self.drift.2.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns how many more objects, how many fewer and how many more bytes it adds than its cells said at first. The
    /// commit is sealed.
    pub(crate) fn drifted(&self) -> (i64, i64, i64) {
        let (more, fewer, bytes) = &self.drift;
        // Relaxed, all: as in `drift`.
        let number = |of: &AtomicI64| of.load(Ordering::Relaxed);
        (number(more), number(fewer), number(bytes))
    }
}

impl Decision {
    /// Returns whether it has happened, or will not.
    pub(crate) fn is_decided(&self) -> bool {
        // Acquire: as in `Pending::state`.
        matches!(
            self.state.load(Ordering::Acquire) & STATE,
            COMMITTED | ABORTED
        )
    }

    /// Waits until it is decided.
    pub(crate) fn wait(&self) {
        let mut backoff = Backoff::new();
        while !self.is_decided() {
            backoff.wait_long();
        }
    }

    /// Returns whether it is neither decided nor about to be.
    pub(crate) fn is_open(&self) -> bool {
        // Acquire: as in `Pending::state`.
        self.state.load(Ordering::Acquire) & STATE == UNDECIDED
    }

    /// Returns the ticket.
    pub(crate) fn ticket(&self) -> u64 {
        self.ticket
    }

    /// Returns whether its transaction goes first by this.
    pub(crate) fn is_of(&self, hold: &Arc<Hold>) -> bool {
        self.hold == Arc::as_ptr(hold).addr()
    }

    /// Aborts the commit unless it is about to be decided; returns whether it is decided, either way.
    pub(crate) fn abort_unsealed(&self) -> bool {
        let aborted = |state: u32| (state & STATE == UNDECIDED).then_some(state | ABORTED);
        // Release: as in `abort`. Acquire: as in `Pending::state`.
        let done = self
            .state
            .fetch_update(Ordering::Release, Ordering::Acquire, aborted);
        done.is_ok() || self.is_decided()
    }

    fn abort(&self) {
        // Release: pairs with the Acquire in `Pending::state` and in `Commit::seal`. Relaxed: a failure is repeated.
        // Holders keep holding.
        let aborted = |state: u32| Some(state & !STATE | ABORTED);
        let _ = self
            .state
            .fetch_update(Ordering::Release, Ordering::Relaxed, aborted);
    }

    /// Returns the parts, in the order of tables.
    pub(crate) fn parts(&self) -> &[CommitPart] {
        &self.parts
    }

    /// Returns the place in the log, from 1.
    pub(crate) fn version(&self) -> u64 {
        // Relaxed: ordered by the exchange that put the block into the log.
        self.version.load(Ordering::Relaxed)
    }

    /// Returns the commit before.
    pub(crate) fn previous(&self) -> *const Decision {
        // Relaxed: as in `version`.
        self.previous.load(Ordering::Relaxed)
    }

    /// Lets its tables, its snapshots and then the state say that the commit has happened, which is in the log.
    pub(crate) fn appear(&self) {
        // Acquire: pairs with the Release below: a thread that sees it done goes on as if it had done it itself. A
        // store writes a line that others read.
        if self.state.load(Ordering::Acquire) & STATE == COMMITTED {
            return;
        }
        if !cfg!(fyris_mutant = "store_commit_untold") {
            let version = self.version();
            self.parts
                .iter()
                .for_each(|part| part.newest.raise(version));
            self.snapshots
                .iter()
                .for_each(|snapshot| snapshot.settle(version));
        }
        // Release: pairs with the Acquire in `Pending::state`, so that a thread that sees the decision sees
        // everything before it.
        self.state.store(COMMITTED, Ordering::Release);
    }

    /// Gives up a use of a block; retires it if that was the last.
    ///
    /// # Safety
    ///
    /// The use was the caller's to give up (BLOCK).
    pub(crate) unsafe fn release(block: *const Decision, pin: &impl Guard) {
        // AcqRel: pairs with itself: what was done with the block under the other use comes before it is retired.
        // SAFETY: the use keeps the block.
        if unsafe { (*block).uses.fetch_sub(1, Ordering::AcqRel) } == 1 {
            // SAFETY: BLOCK: threads that pin from now on find it neither in a slot nor in the log.
            unsafe { pin.retire(block.cast_mut()) }
        }
    }
}

impl Retire for Decision {
    unsafe fn reclaim(ptr: *mut Decision) {
        // SAFETY: made by `Box` in `Commit::new`, reclaimed once.
        drop(unsafe { Box::from_raw(ptr) });
    }
}

/// A commit under way: owns its block, and decides to abort if it is dropped undecided.
pub(crate) struct Commit(NonNull<Decision>);

impl Commit {
    /// Returns a commit with a part for each of its tables, in their order; undecided.
    pub(crate) fn new(plans: impl IntoIterator<Item = PartPlan>) -> Commit {
        Commit::of_transaction(plans, 0, None)
    }

    /// Returns the commit of a transaction with a ticket, which may go first.
    pub(crate) fn of_transaction(
        plans: impl IntoIterator<Item = PartPlan>,
        ticket: u64,
        hold: Option<&Arc<Hold>>,
    ) -> Commit {
        let block = Box::into_raw(Box::new(Decision {
            state: AtomicU32::new(UNDECIDED),
            ticket,
            hold: hold.map_or(0, |hold| Arc::as_ptr(hold).addr()),
            uses: AtomicU8::new(1),
            version: AtomicU64::new(0),
            previous: AtomicPtr::new(std::ptr::null_mut()),
            parts: Box::new([]),
            snapshots: Box::new([]),
        }));
        let cell = || Pending {
            decision: block,
            old: AtomicU64::new(0),
            new: AtomicU64::new(0),
        };
        let part = |plan: PartPlan| CommitPart {
            newest: plan.newest,
            cells: (0..plan.cells).map(|_| cell()).collect(),
            terms: plan.terms,
            keys: plan.keys.into(),
            records: plan.records.into(),
            ends: plan.ends.into(),
            ranks: plan.ranks.into(),
            drift: Default::default(),
        };
        let parts: Box<[CommitPart]> = plans.into_iter().map(part).collect();
        // SAFETY: `block` is ours alone until a cell is put in a slot.
        unsafe {
            (*block).parts = parts;
            Commit(NonNull::new_unchecked(block))
        }
    }

    /// Returns an empty commit, which is the beginning of snapshots.
    pub(crate) fn of_snapshots(snapshots: Box<[Arc<LiveSnapshot>]>) -> Commit {
        let commit = Commit::new([]);
        // SAFETY: ours alone until it is in the log.
        unsafe { (*commit.as_ptr()).snapshots = snapshots };
        commit
    }

    pub(crate) fn block(&self) -> &Decision {
        // SAFETY: the block is retired by `finish` alone, which consumes the commit.
        unsafe { self.0.as_ref() }
    }

    /// Returns the part in the `i`-th table.
    pub(crate) fn part(&self, i: usize) -> &CommitPart {
        &self.block().parts[i]
    }

    /// Returns the block, for the log.
    pub(crate) fn as_ptr(&self) -> *mut Decision {
        self.0.as_ptr()
    }

    /// Gets ready to follow `last` in the log, which will have a use for the block.
    ///
    /// # Safety
    ///
    /// `last` is null or has not been freed; the block is not in the log yet.
    pub(crate) unsafe fn follow(&self, last: *mut Decision) {
        // SAFETY: the caller's promise.
        let version = unsafe { last.as_ref() }.map_or(0, Decision::version) + 1;
        // Relaxed, all: the exchange that puts the block into the log orders them.
        self.block().version.store(version, Ordering::Relaxed);
        self.block().previous.store(last, Ordering::Relaxed);
        self.block().uses.store(2, Ordering::Relaxed);
    }

    /// Keeps writers from holding the decision any more. Returns `false` if a writer has aborted the commit.
    pub(crate) fn seal(&self) -> bool {
        let block = self.block();
        let sealed = |state: u32| (state & STATE == UNDECIDED).then_some(state | SEALED);
        // Relaxed, both: what the holders have written is ordered by the Acquire below.
        let _ = block
            .state
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, sealed);
        let mut backoff = Backoff::new();
        loop {
            // * Sealed, and no holder is left: all that writers have written through cells comes before the decision
            //   (THROUGH).
            // * A holder has aborted it, before the seal or under it.
            // * Holders are left: they need some dozen nanoseconds, and new ones do not come.
            // Acquire: pairs with the Release where a `CommitHold` is dropped, and in `abort`.
            match block.state.load(Ordering::Acquire) {
                SEALED => return true,
                state if state & STATE == ABORTED => return false,
                _ if cfg!(fyris_mutant = "store_through_unheld") => return true,
                _ => backoff.wait(),
            }
        }
    }

    /// Makes the commit not happen, for all keys at once (DECISION).
    pub(crate) fn abort(&self) {
        self.block().abort();
    }

    /// Returns whether it will not happen.
    pub(crate) fn is_aborted(&self) -> bool {
        // Relaxed: a hint; `seal` tells for sure.
        self.block().state.load(Ordering::Relaxed) & STATE == ABORTED
    }

    /// Ends the committer's use of the block.
    ///
    /// # Safety
    ///
    /// No slot holds a cell of it any more.
    pub(crate) unsafe fn finish(self, pin: &impl Guard) {
        let block = self.0;
        std::mem::forget(self);
        // SAFETY: the committer's use, by the caller's contract.
        unsafe { Decision::release(block.as_ptr(), pin) }
    }
}

impl Drop for Commit {
    fn drop(&mut self) {
        // Only a panic half-way comes here: cells may be in slots for ever, and stay readable, so the block is leaked.
        // Relaxed: the state becomes COMMITTED in this thread's own `CommitLog::append`, and others only repeat that
        // store.
        if self.block().state.load(Ordering::Relaxed) & STATE != COMMITTED {
            self.abort();
        }
    }
}
