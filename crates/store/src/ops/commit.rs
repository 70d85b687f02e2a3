//! Putting a commit in: a cell in the slot of each key, the decision, and what won in the places of the cells.
//!
//! The protocol and its invariants are in [`crate::pending`]. A commit may be long, and others wait for the sections of
//! writes (see [`crate::life`]): so it goes in steps of some keys, each in a section of its own, which asks anew
//! whether the commit may be made. If not, it is aborted, as it is if its table has been emptied meanwhile.

use std::sync::Arc;

use fyris_index::{Action, Entry, Index};
use fyris_sync::reclaim::Guard;
use smallvec::SmallVec;

use crate::displaced::Displaced;
use crate::error::Result;
use crate::key_kind::KeyKind;
use crate::pending::{CellTerms, Commit, CommitPart, PartPlan, PendingPtr, Terms};
use crate::record::{NewRecord, RecordPtr};
use crate::secondary::{Claims, Unclaimed};
use crate::slot::{Content, Held, Settled, Slot};
use crate::table_data::TableData;
use crate::transaction::TransactionPart;
use crate::version::VersionPtr;
use crate::watch::{CommitAnnouncement, CommitWatch};
use crate::writer::Writer;

/// Cells that one step has taken out of slots: about as many as neighbours lie together.
type Cells = SmallVec<[PendingPtr; 32]>;

/// The number of keys, from the one that is being written, whose memory is asked for ahead.
const AHEAD: usize = 8;

/// The number of keys from which on a step ends.
const STEP: usize = if cfg!(fyris_small) { 1 } else { 64 };

/// The right to write to a content, in one step after another.
pub(crate) trait Admission {
    /// Runs a step, in a section of its own. `None`, and it does not run, if the table has another content now.
    ///
    /// # Errors
    ///
    /// The caller may not write to the table any more.
    fn step<R>(&self, f: impl FnOnce(&Writer<'_>) -> R) -> Result<Option<R>>;

    /// Runs a step that changes nothing that readers see, whatever has become of the table.
    fn tidy<R>(&self, f: impl FnOnce(&Writer<'_>) -> R) -> R;
}

/// The reaction to another commit that holds one of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Wait until that is decided, however long it is: only where each step has a section of its own. The other commit
    /// may be waiting for a change of the table, which waits for the sections.
    Waits,
    /// Wait about as long as a short list takes, and then do nothing.
    GivesUp,
}

/// The end of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Committed,
    /// A condition did not hold.
    Failed,
    /// A write of a key or of a value that it was to bring has come before it.
    Aborted,
    /// Another commit holds a key.
    GaveUp,
    /// The table has another content than when it began.
    Moved,
}

/// What a commit does to the keys of one content, in ascending order of keys (ASCENDING). The objects in it stay the
/// committer's until they are committed (UNPLACED).
pub(crate) struct Writes {
    /// A record of each key, where the key is read.
    pub(crate) keys: Vec<RecordPtr>,
    /// The condition of each key, or one for all.
    pub(crate) terms: CellTerms,
    /// What each key is to hold; none where the records below say it.
    pub(crate) contents: Vec<Option<Content>>,
    /// In a bag, the records that are added to each key, one behind another; and where those of the next key begin.
    pub(crate) records: Vec<RecordPtr>,
    pub(crate) ends: Vec<usize>,
    /// The place of each key in the order of writing, for who is told of it; none where nobody is.
    pub(crate) ranks: Vec<u64>,
}

impl Writes {
    /// Retires the objects of writes that were not committed: others may have seen them in cells.
    pub(crate) fn retire(self, pin: &impl Guard) {
        for content in self.contents.into_iter().flatten() {
            // SAFETY: UNPLACED: in no slot, and in no cell of one.
            unsafe { content.retire(pin) };
        }
        for record in self.records {
            // SAFETY: as above.
            unsafe { record.retire(pin) };
        }
    }
}

/// The number of keys that have a cell in their slot, and the numbers of objects and bytes that these add, of objects
/// that they take away.
#[derive(Default)]
pub(crate) struct Placed {
    pub(crate) keys: usize,
    more: i64,
    fewer: i64,
    bytes: i64,
}

/// The end of a step of placing cells.
enum Placing {
    All,
    More,
    Failed,
    /// Another commit has the next key.
    Met(PendingPtr),
    /// A transaction that goes first holds it.
    Held(Arc<TransactionPart>),
}

/// What is in the way at a key.
enum InTheWay {
    Commit(PendingPtr),
    Hold,
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Returns the plan of a commit's part in this content. Cells of keys under which nothing is put have a key of
    /// their own in `keys`.
    pub(crate) fn plan(&self, work: &Writes, keys: Vec<Option<NewRecord>>) -> PartPlan {
        PartPlan {
            newest: self.commits.newest.clone(),
            cells: work.keys.len(),
            terms: work.terms.clone(),
            keys,
            records: work.records.clone(),
            ends: work.ends.clone(),
            ranks: work.ranks.clone(),
        }
    }

    /// Commits writes to this content alone. If they are committed their objects are the slots'; else they are still
    /// the caller's, and may be put in again, or retired.
    pub(crate) fn commit(
        &self,
        work: &Writes,
        patience: Patience,
        admission: &impl Admission,
    ) -> Result<Outcome> {
        let commit = Commit::new([self.plan(work, Vec::new())]);
        if cfg!(fyris_mutant = "store_commit_early") {
            commit.block().appear();
        }
        self.enter_writes(work);
        let mut placed = Placed::default();
        match self.claim_writes(work, commit.block(), patience) {
            Ok(claims) => {
                let claims = (!cfg!(fyris_mutant = "store_claims_go_early")).then_some(claims);
                let placing = self.place_all(work, &commit, 0, &mut placed, patience, admission);
                self.end(work, commit, &placed, placing, claims, admission)
            }
            Err(unclaimed) => {
                let refused = match unclaimed {
                    Unclaimed::GaveUp => Ok(Outcome::GaveUp),
                    Unclaimed::Failed => Ok(Outcome::Failed),
                    Unclaimed::Taken { at, object, .. } => Err(self.not_unique(at, object)),
                };
                self.end(work, commit, &placed, refused, None, admission)
            }
        }
    }

    /// Ends a commit over this content, whose cells are in their slots, or those of some keys. What it claims it does
    /// until readers find its values.
    pub(crate) fn end(
        &self,
        work: &Writes,
        commit: Commit,
        placed: &Placed,
        placing: Result<Outcome>,
        claims: Option<Claims<'_>>,
        admission: &impl Admission,
    ) -> Result<Outcome> {
        let outcome = match placing {
            Ok(Outcome::Committed) => {
                let decided = self.decide(&commit, placed, admission);
                decided.map(|(outcome, announced)| {
                    if let Some(announced) = announced {
                        announced.tell(commit.block());
                    }
                    outcome
                })
            }
            other => other,
        };
        let done = outcome == Ok(Outcome::Committed);
        if !done {
            commit.abort();
        }
        self.conclude(work, commit.part(0), placed, done, admission);
        if !done {
            self.leave_writes(work);
        }
        // Before the block of the commit is retired, to which they lead.
        drop(claims);
        let keys = work.keys.len();
        admission.tidy(|writer| {
            // SAFETY: `conclude` has seen to it that no slot holds a cell of it.
            unsafe { commit.finish(writer.pin) };
            if done {
                self.commits.log.trim(keys, writer.pin);
            }
        });
        outcome
    }

    /// Lets a commit over this content happen, whose cells are all in their slots. Returns what is to be told of it,
    /// too.
    fn decide<'c>(
        &self,
        commit: &'c Commit,
        placed: &Placed,
        admission: &impl Admission,
    ) -> Result<(Outcome, Option<CommitAnnouncement<'c>>)> {
        let decided = admission.step(|writer| {
            let part = commit.part(0);
            let mut watch = CommitWatch::default();
            self.watch_part(part, writer, &mut watch);
            let unsealed = cfg!(fyris_mutant = "store_announced_unsealed")
                .then(|| std::mem::take(&mut watch).announce());
            if !self.passes_guards(part, commit.block(), writer.pin) || !commit.seal() {
                return (Outcome::Aborted, None);
            }
            let announced = unsealed.unwrap_or_else(|| watch.announce());
            self.count_coming(placed, part);
            self.commits.log.append(commit, writer.pin);
            self.count_gone(placed, part);
            (Outcome::Committed, announced)
        })?;
        Ok(decided.unwrap_or((Outcome::Moved, None)))
    }

    /// Counts the objects that a commit adds, which is sealed: before they can be seen.
    pub(crate) fn count_coming(&self, placed: &Placed, part: &CommitPart) {
        self.account(placed.more + part.drifted().0, 0);
    }

    /// Counts the objects that a commit takes away, and the bytes, which is in the log. In the section of the decision:
    /// who waits for that and then counts finds the number right.
    pub(crate) fn count_gone(&self, placed: &Placed, part: &CommitPart) {
        let (_, fewer, bytes) = part.drifted();
        self.account(placed.fewer + fewer, placed.bytes + bytes);
    }

    /// Clears up after the decision: puts what won in the places of the cells of some keys. Writers that met a decided
    /// cell have done so before, for their keys.
    pub(crate) fn conclude(
        &self,
        work: &Writes,
        part: &CommitPart,
        placed: &Placed,
        done: bool,
        admission: &impl Admission,
    ) {
        self.unfold(&work.keys[..placed.keys], part, admission);
        if done {
            admission.tidy(|writer| self.retire_repeats(part, writer));
        }
    }

    /// Puts cells in the slots of all keys of a commit's part; of fewer, if the commit is not to be.
    pub(crate) fn place_all(
        &self,
        work: &Writes,
        commit: &Commit,
        part: usize,
        placed: &mut Placed,
        patience: Patience,
        admission: &impl Admission,
    ) -> Result<Outcome> {
        let part = commit.part(part);
        while !commit.is_aborted() {
            // A step puts cells in the slots of the next keys, in ascending order, and ends because
            // * the table has another content by now: the commit cannot be here;
            // * all keys have their cells: it can be decided;
            // * it is long enough: on with the next one, so that who waits for this section gets a turn;
            // * a key fails its condition: it is not to be, and the caller aborts it;
            // * another commit, undecided, holds the next key: that is waited for, out of the section, while this one
            //   holds only cells of smaller keys (ASCENDING); or, without patience, this one gives up;
            // * a transaction that goes first holds it: the same, and it aborts this one if it comes by its cells.
            // A writer of a key may abort it meanwhile, as its condition fails now: the loop sees that, or else `seal`
            // will.
            let step = admission.step(|writer| self.place_some(work, part, placed, writer))?;
            match step {
                None => return Ok(Outcome::Moved),
                Some(Placing::All) => return Ok(Outcome::Committed),
                Some(Placing::More) => {}
                Some(Placing::Failed) => return Ok(Outcome::Failed),
                Some(Placing::Held(part)) if patience == Patience::Waits => part.wait(),
                Some(Placing::Held(_)) => return Ok(Outcome::GaveUp),
                Some(Placing::Met(cell)) => match patience {
                    Patience::Waits => cell.get().wait(),
                    Patience::GivesUp if cell.get().wait_a_little() => {}
                    Patience::GivesUp => return Ok(Outcome::GaveUp),
                },
            }
        }
        Ok(Outcome::Aborted)
    }

    /// Puts cells in the slots of the next keys.
    fn place_some(
        &self,
        work: &Writes,
        part: &CommitPart,
        placed: &mut Placed,
        writer: &Writer<'_>,
    ) -> Placing {
        let end = placed.keys + STEP;
        while placed.keys < work.keys.len() {
            if placed.keys >= end {
                return Placing::More;
            }
            if let Some(&later) = work.keys.get(placed.keys + AHEAD) {
                self.index.prefetch_write(self.key_of(later), writer.pin);
            }
            let (done, met) = self.place(work, part, placed, writer);
            match met {
                _ if done > 0 => placed.keys += done,
                Some(InTheWay::Commit(cell)) => return Placing::Met(cell),
                Some(InTheWay::Hold) => {
                    return Placing::Held(writer.held.clone().expect("it has asked"));
                }
                None => return Placing::Failed,
            }
        }
        Placing::All
    }

    /// Puts cells in the slots of some keys behind those that have theirs. Returns how many, and what is in the way at
    /// the key behind them; if nothing is, that key may fail its condition.
    fn place(
        &self,
        work: &Writes,
        part: &CommitPart,
        placed: &mut Placed,
        writer: &Writer<'_>,
    ) -> (usize, Option<InTheWay>) {
        let first = placed.keys;
        let asks = (writer.held.as_ref())
            .is_some_and(|held| !held.is_of(part.cell(first).get().decision()));
        let key = |at: usize| work.keys.get(first + at).map(|&key| self.key_of(key));
        let (mut met, mut displaced) = (None, Cells::new());
        let done = self.index.upsert_run(key, writer.pin, |at, slot| {
            // With the slot protected: the content that the key holds, or that has won there, becomes the old one of
            // the cell, and the cell takes the slot; a decided cell that was there is this thread's to clear up. An
            // undecided one of another commit, or a condition that fails, ends the run before this key.
            let held = match slot.map(Slot::settled) {
                None => None,
                Some(Settled::Held(held)) => held,
                Some(Settled::Undecided(cell)) => {
                    met = Some(InTheWay::Commit(cell));
                    return None;
                }
            };
            if asks {
                let (key, new) = (work.keys[first + at], work.contents.get(first + at));
                if self.is_held(self.key_of(key), new.copied().flatten(), writer) {
                    met = Some(InTheWay::Hold);
                    return None;
                }
            }
            let (cell, old) = (part.cell(first + at), held.and_then(Held::settled));
            // Also when nothing changes for this key: the cell keeps it as it is until the decision (DECISION).
            let new = self.planned(work, first + at, cell, old)?;
            let decided = slot.and_then(Slot::as_pending);
            let held = match decided {
                Some(decided) if writer.is_versioned => decided.get().held_with_history(),
                _ => held,
            };
            let extends = cell.get().terms().extends();
            let (objects, bytes) = self.gain(old, new, extends);
            placed.more += objects.max(0);
            placed.fewer += objects.min(0);
            placed.bytes += bytes;
            cell.get().prepare(held, new);
            displaced.extend(decided);
            Some(Action::Put(Slot::pending(cell)))
        });
        self.displaced_cells(displaced, writer);
        (done, met)
    }

    /// Returns what the `at`-th key, which holds `old`, will hold; `None` if that fails its condition.
    fn planned(
        &self,
        work: &Writes,
        at: usize,
        cell: PendingPtr,
        old: Option<Content>,
    ) -> Option<Option<Content>> {
        let given = work.contents.get(at).copied();
        match (cell.get().terms(), given) {
            (Terms::New, _) if old.is_some() => None,
            (_, Some(content)) => Some(content),
            (_, None) => Some(self.with_records(old, cell.get().part().records_of(cell.get()))),
        }
    }

    fn displaced_cells(&self, cells: Cells, writer: &Writer<'_>) {
        for cell in cells {
            self.displaced(Displaced::cell(cell), writer);
        }
    }

    /// Retires the records of a committed part that no slot got: repeats in a bag.
    fn retire_repeats(&self, part: &CommitPart, writer: &Writer<'_>) {
        for cell in part.cells().iter().filter(|_| part.adds()) {
            let (bottom, mut used) = (cell.before(), cell.after());
            for &record in part.records_of(cell).iter().rev() {
                match used.filter(|_| used != bottom) {
                    Some(top) if top.newest() == record => used = crate::chain::older(top),
                    _ => {
                        self.leave(record, 0, writer.pin);
                        // SAFETY: UNPLACED: a block of this commit, in none of its chains, which is in no slot.
                        unsafe { record.retire(writer.pin) };
                    }
                }
            }
        }
    }

    /// Puts what won in the places of decided cells, of the first keys of a part, unless a writer has done so already.
    pub(crate) fn unfold(&self, keys: &[RecordPtr], part: &CommitPart, admission: &impl Admission) {
        let mut first = 0;
        while first < keys.len() {
            let end = keys.len().min(first + STEP);
            admission.tidy(|writer| {
                while first < end {
                    first += self.unfold_some(&keys[first..], first, part, writer);
                }
            });
        }
    }

    /// Does so for some keys, of which the first is the `first`-th of the part; returns how many.
    fn unfold_some(
        &self,
        keys: &[RecordPtr],
        first: usize,
        part: &CommitPart,
        writer: &Writer<'_>,
    ) -> usize {
        if let Some(&later) = keys.get(AHEAD) {
            self.index.prefetch_write(self.key_of(later), writer.pin);
        }
        let key = |at: usize| keys.get(at).map(|&key| self.key_of(key));
        let mut ours = Cells::new();
        let done = self.index.upsert_run(key, writer.pin, |at, slot| {
            let cell = part.cell(first + at);
            if slot.and_then(Slot::as_pending) != Some(cell) {
                // What took its place may be what has aborted the commit, and the caller is going to tell (STAMPED).
                let version = slot.and_then(Slot::as_version);
                if !cfg!(fyris_mutant = "store_aborted_unstamped") {
                    version.map(VersionPtr::stamp);
                }
                return Some(Action::Keep);
            }
            ours.push(cell);
            let held = match writer.is_versioned {
                true => cell.get().held_with_history(),
                false => cell.get().held(),
            };
            Some(held.map_or(Action::Remove, |held| Action::Put(Slot::held(held))))
        });
        self.displaced_cells(ours, writer);
        done
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
