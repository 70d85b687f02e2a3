//! The end of a transaction that has written.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fyris_sync::reclaim::{LocalGuard, pin};
use smallvec::smallvec;

use super::part::OwnWrite;
use super::{FIRST, Transaction, TransactionPart};
use crate::error::{Error, Result};
use crate::ids::Right;
use crate::ops::{Outcome, Patience, Placed, Writes};
use crate::pending::{Commit, PartPlan, Terms};
use crate::record::NewRecord;
use crate::secondary::{Claims, Unclaimed};
use crate::slot::Before;
use crate::snapshot::SnapshotInner;
use crate::table_data::{AnyTableData, with_data};
use crate::version::guards::{Reads, Standing};
use crate::watch::{CommitAnnouncement, CommitWatch};

/// What is committed in one table.
struct PartWork<'g> {
    part: &'g TransactionPart,
    /// Those that were read, the last one at the end.
    snapshots: Vec<Arc<SnapshotInner>>,
    content: &'g AnyTableData,
    /// `None` if there is nothing to commit.
    writes: Option<Writes>,
    /// Records of the keys that go.
    keys: Vec<Option<NewRecord>>,
    reads: Cell<Reads>,
    placed: Placed,
}

impl Transaction {
    /// Makes happen, all at once, what was written, if nothing that was read has changed since; else nothing happens.
    ///
    /// ```
    /// use fyris::{Error, Options, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// let transaction = store.begin();
    /// let within = transaction.table(&table)?;
    /// within.insert(&term!({2, (within.member(&1)?)}))?;
    /// table.insert(&term!({1}))?;
    /// let Err(Error::Conflict { key, .. }) = transaction.commit() else { panic!() };
    /// assert_eq!(key.as_deref(), Some(&term!(1)));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`], also if a table has been emptied or deleted meanwhile; [`Error::NoSuchTable`],
    /// [`Error::NoAccess`]; [`Error::NotUnique`]; the conflict that [`Transaction::table`] returned before.
    pub fn commit(self) -> Result<()> {
        self.check()?;
        // Relaxed: as in `begin_nested`.
        while self.depth.load(Ordering::Relaxed) > 0 {
            self.end_nested(true);
        }
        let parts: Vec<_> = self.parts().values().cloned().collect();
        if self.has_conflict() {
            // Of a hold that gave way no table is known.
            let first = parts.first().expect("a conflict is about a table");
            let first = || first.table.shared().named();
            let table = self.conflict.get().copied().unwrap_or_else(first);
            return Err(Error::Conflict { table, key: None });
        }
        for part in &parts {
            part.check()?;
        }
        let has_written = |part: &Arc<TransactionPart>| !part.state().writes.is_empty();
        let done = match (parts.iter().any(has_written), self.holds.get()) {
            // It takes effect where its snapshots are.
            (false, None) => Ok(()),
            // These are of several moments: it does so at one more, if all is the same there.
            (false, Some(_)) => self.take_in(&mut self.parts(), &[]),
            (true, _) => {
                let pin = pin();
                let works = parts.iter().map(|part| PartWork::new(part, &pin));
                self.commit_parts(works.collect::<Result<_>>()?, &pin)
            }
        };
        match (done, self.holds.get()) {
            (Err(Error::Conflict { .. }), Some(hold)) if hold.is_expired() => Err(hold.expired()),
            (done, _) => done,
        }
    }

    /// Returns the ticket of the commit (TICKETS).
    fn commit_ticket(&self) -> u64 {
        match self.holds.get() {
            Some(hold) if hold.stands() => FIRST,
            _ => self.place.ticket,
        }
    }

    fn commit_parts(&self, mut works: Vec<PartWork<'_>>, pin: &LocalGuard) -> Result<()> {
        let plans: Vec<PartPlan> = works.iter_mut().filter_map(PartWork::plan).collect();
        let commit = Commit::of_transaction(plans, self.commit_ticket(), self.holds.get());
        each_part(&works, |work, writes| {
            with_data!(work.content, data => data.enter_writes(writes));
        });
        // From here on
        // 1. the values that are to be unique are claimed (CLAIMED);
        // 2. the cells of all keys are put in their slots, in the order of tables and keys (ASCENDING);
        // 3. guards stand over what was read (GUARDED);
        // 4. it is looked at: if it has changed, nothing happens;
        // 5. the guards of others over what is written are asked (UNPASSED);
        // 6. the decision falls, in the sections of all tables.
        let claims = written(&works).map(|work| self.claim(work, &commit, pin));
        let claims = claims.collect::<Result<Vec<_>>>();
        let mut outcome = match &claims {
            Ok(_) => self.place(&mut works, &commit, pin),
            Err(error) => Err(error.clone()),
        };
        if outcome.is_ok() {
            let standing = match cfg!(fyris_mutant = "store_unguarded") {
                true => Vec::new(),
                false => works.iter().map(|work| work.guard(&commit)).collect(),
            };
            outcome = self.validate(&works, &standing, &commit, pin);
            if outcome.is_ok() {
                let decided = self.decide(&works, &commit, pin);
                outcome = decided.map(|announced| {
                    if let Some(announced) = announced {
                        announced.tell(commit.block());
                    }
                });
            }
            if outcome.is_err() {
                commit.abort();
            }
            drop::<Vec<Standing<'_>>>(standing);
        } else {
            commit.abort();
        }
        // Nobody has a use for what they saw any more, so what the commit displaces need not wait for their end.
        works.iter_mut().for_each(|work| work.snapshots.clear());
        let (mut at, done) = (0, outcome.is_ok());
        for work in &works {
            let Some(writes) = &work.writes else { continue };
            let (steps, part) = (work.part.table.steps(pin, work.content), commit.part(at));
            with_data!(work.content, data => {
                data.conclude(writes, part, &work.placed, done, &steps);
            });
            at += 1;
        }
        if !done {
            each_part(&works, |work, writes| {
                with_data!(work.content, data => data.leave_writes(writes));
            });
        }
        // Before the block of the commit is retired, to which they lead.
        drop(claims);
        // SAFETY: `conclude` has seen to it that no slot holds a cell of it.
        unsafe { commit.finish(pin) };
        let keys = works.iter().filter_map(|work| work.writes.as_ref());
        let keys: usize = keys.map(|writes| writes.keys.len()).sum();
        if done {
            works[0].content.log().trim(keys, pin);
        } else {
            works
                .into_iter()
                .filter_map(|work| work.writes)
                .for_each(|writes| writes.retire(pin));
        }
        outcome
    }

    /// Claims the values that a part brings. If another key has one of them, and had it already when the transaction
    /// read the table, it is refused; else that key has changed since.
    fn claim<'g>(
        &self,
        work: &PartWork<'g>,
        commit: &Commit,
        pin: &LocalGuard,
    ) -> Result<Claims<'g>> {
        let before = Before(work.snapshot().place());
        let writes = work.writes.as_ref().expect("it has some");
        with_data!(work.content, data => {
            let (at, object, key) = match data.claim_writes(writes, commit.block(), Patience::Waits) {
                Ok(claims) => return Ok(claims),
                Err(Unclaimed::Taken { at, object, key }) => (at, object, key),
                Err(Unclaimed::GaveUp | Unclaimed::Failed) => return Err(self.conflict(&work.part.table, None)),
            };
            match key.is_none_or(|key| data.was_taken((at, object), &key, before, pin)) {
                true => Err(data.not_unique(at, object)),
                false => Err(self.conflict(&work.part.table, None)),
            }
        })
    }

    fn place(&self, works: &mut [PartWork<'_>], commit: &Commit, pin: &LocalGuard) -> Result<()> {
        let mut at = 0;
        for work in works {
            let Some(writes) = &work.writes else { continue };
            let steps = work.part.table.steps(pin, work.content);
            let outcome = with_data!(work.content, data => {
                data.place_all(writes, commit, at, &mut work.placed, Patience::Waits, &steps)
            })?;
            if outcome != Outcome::Committed {
                return Err(self.conflict(&work.part.table, None));
            }
            at += 1;
        }
        Ok(())
    }

    fn validate(
        &self,
        works: &[PartWork<'_>],
        standing: &[Standing<'_>],
        commit: &Commit,
        pin: &LocalGuard,
    ) -> Result<()> {
        let me = commit.block();
        for (work, standing) in works.iter().zip(standing) {
            let (place, reads) = (work.snapshot().place(), standing.reads());
            let found = with_data!(work.content, data => data.validate(reads, place, me, pin));
            if let Err(changed) = found {
                let keypos = work.part.table.keypos();
                let key = changed.map(|record| crate::record::object(record, keypos).key());
                return Err(self.conflict(&work.part.table, key));
            }
        }
        Ok(())
    }

    /// Lets it happen, if all tables are as they were and no other commit is in the way. Returns what is to be told of
    /// it.
    fn decide<'c>(
        &self,
        works: &[PartWork<'_>],
        commit: &'c Commit,
        pin: &LocalGuard,
    ) -> Result<Option<CommitAnnouncement<'c>>> {
        // In the sections of all tables none of them gets another name, owner or protection meanwhile.
        let mut sections = Vec::with_capacity(works.len());
        for work in works {
            let right = if work.writes.is_some() {
                Right::Write
            } else {
                Right::Read
            };
            sections.push(work.part.table.enter(right, pin)?);
        }
        // Nor another content: what is in several tables must not be lost in one of them.
        let log = works[0].content.log();
        let _swaps = (!cfg!(fyris_mutant = "store_swapped_beneath")).then(|| log.keep_contents());
        for work in works {
            if !std::ptr::eq(work.part.table.shared().data_ptr(), work.content) {
                return Err(self.conflict(&work.part.table, None));
            }
        }
        let entered = works.iter().zip(&sections);
        let entered = entered.filter(|(work, _)| work.writes.is_some());
        let mut watch = CommitWatch::default();
        for (part, (work, (_, writer))) in commit.block().parts().iter().zip(entered) {
            let me = commit.block();
            if !with_data!(work.content, data => data.passes_guards(part, me, pin)) {
                return Err(self.conflict(&work.part.table, None));
            }
            part.note_removed(writer);
            with_data!(work.content, data => data.watch_part(part, writer, &mut watch));
        }
        if !commit.seal() {
            return Err(self.conflict(&works[0].part.table, None));
        }
        let counted = || written(works).zip(commit.block().parts());
        let late = cfg!(fyris_mutant = "store_commit_announced_late");
        let mut announced = if late {
            None
        } else {
            std::mem::take(&mut watch).announce()
        };
        for (work, part) in counted() {
            with_data!(work.content, data => data.count_coming(&work.placed, part));
        }
        log.append(commit, pin);
        if late {
            announced = watch.announce();
        }
        for (work, part) in counted() {
            with_data!(work.content, data => data.count_gone(&work.placed, part));
        }
        Ok(announced)
    }
}

/// Shows `f` the parts in whose tables cells are, and what is written there.
fn each_part(works: &[PartWork<'_>], f: impl Fn(&PartWork<'_>, &Writes)) {
    for work in works {
        work.writes.iter().for_each(|writes| f(work, writes));
    }
}

/// Returns the parts in whose tables cells are.
fn written<'w, 'g>(works: &'w [PartWork<'g>]) -> impl Iterator<Item = &'w PartWork<'g>> {
    works.iter().filter(|work| work.writes.is_some())
}

impl<'g> PartWork<'g> {
    /// Takes over what a part has read and written.
    fn new(part: &'g TransactionPart, pin: &'g LocalGuard) -> Result<PartWork<'g>> {
        let content = part.past(pin)?.data;
        let (own, reads, snapshots) = part.take();
        let mut work = PartWork {
            part,
            content,
            writes: None,
            keys: Vec::new(),
            reads: Cell::new(reads),
            placed: Placed::default(),
            snapshots,
        };
        let mut writes = Writes {
            keys: Vec::with_capacity(own.len()),
            terms: smallvec![Terms::Guarded],
            contents: Vec::with_capacity(own.len()),
            records: Vec::new(),
            ends: Vec::new(),
            ranks: Vec::with_capacity(own.len()),
        };
        let before = Before(work.snapshot().place());
        for (key, OwnWrite { content: new, rank }) in own {
            let old = || with_data!(content, data => data.get_bytes(&key, before, pin));
            let (record, key) = match (new, new.is_none().then(old).flatten()) {
                (Some(new), _) => (new.newest(), None),
                (None, Some(old)) => {
                    let key = NewRecord::of_key(old.newest());
                    (key.ptr(), Some(key))
                }
                // It was not there, and is not to be: it was read.
                (None, None) => continue,
            };
            writes.keys.push(record);
            writes.contents.push(new);
            writes.ranks.push(rank);
            work.keys.push(key);
        }
        if !writes.keys.is_empty() {
            work.writes = Some(writes);
        }
        Ok(work)
    }

    /// Returns the snapshot that was read.
    fn snapshot(&self) -> &Arc<SnapshotInner> {
        self.snapshots.last().expect("a part begins with one")
    }

    fn plan(&mut self) -> Option<PartPlan> {
        let (writes, keys) = (self.writes.as_ref()?, std::mem::take(&mut self.keys));
        Some(with_data!(self.content, data => data.plan(writes, keys)))
    }

    fn guard(&self, commit: &Commit) -> Standing<'_> {
        let snapshots = self.content.snapshots();
        snapshots.guard(self.snapshot().listed(), self.reads.take(), commit.block())
    }
}
