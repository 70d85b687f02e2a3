//! Inserting lists, in steps.

use fyris_sync::reclaim::{LocalGuard, Section};

use super::Table;
use crate::error::Result;
use crate::ids::Right;
use crate::ops::{Admission, Outcome, Patience};
use crate::record::NewRecord;
use crate::table_data::{AnyTableData, with_data};
use crate::view::View;
use crate::writer::Writer;

/// The number of times that a list is inserted in steps. Then it is inserted in one section, as long as that takes: a
/// table that is emptied over and over keeps no list out.
const TRIES: usize = 3;

/// The right of a table's handle to write to the content that the table had when it began.
pub(crate) struct Steps<'g> {
    table: &'g Table,
    pin: &'g LocalGuard,
    content: &'g AnyTableData,
}

impl Admission for Steps<'_> {
    fn step<R>(&self, f: impl FnOnce(&Writer<'_>) -> R) -> Result<Option<R>> {
        self.table.write_under(self.pin, |content, writer| {
            // While the pin lives no other content has the address.
            let same = std::ptr::eq(content, self.content);
            Ok((same || cfg!(fyris_mutant = "store_list_unmoved")).then(|| f(writer)))
        })
    }

    fn tidy<R>(&self, f: impl FnOnce(&Writer<'_>) -> R) -> R {
        let shared = &self.table.shared;
        let (_section, state) = shared.life.enter(self.pin);
        f(&Writer::new(self.pin, state, shared))
    }
}

/// All steps are in the section of this write, so none may wait ([`Patience::GivesUp`]).
impl Admission for Writer<'_> {
    fn step<R>(&self, f: impl FnOnce(&Writer<'_>) -> R) -> Result<Option<R>> {
        Ok(Some(f(self)))
    }

    fn tidy<R>(&self, f: impl FnOnce(&Writer<'_>) -> R) -> R {
        f(self)
    }
}

impl Table {
    /// Returns the right to write to a content in steps.
    pub(crate) fn steps<'g>(&'g self, pin: &'g LocalGuard, content: &'g AnyTableData) -> Steps<'g> {
        Steps {
            table: self,
            pin,
            content,
        }
    }

    /// Enters a section in which the caller has a right to the table; returns the write that it may be, too.
    pub(crate) fn enter<'g>(
        &'g self,
        right: Right,
        pin: &'g LocalGuard,
    ) -> Result<(Section<'g>, Writer<'g>)> {
        let (section, state) = self.shared.life.enter(pin);
        self.data(state, right, pin)?;
        Ok((section, Writer::new(pin, state, &self.shared)))
    }

    /// Inserts all objects for a transaction, one after another: the whole is atomic.
    fn insert_within(
        &self,
        records: Vec<NewRecord>,
        only_new: bool,
        pin: &LocalGuard,
    ) -> Result<bool> {
        self.write_under(pin, |content, writer| {
            with_data!(content, data => {
                let view = writer.view(content)?;
                let bytes = |new: &NewRecord| data.bytes_of(new.ptr()).to_vec();
                let is_there = |new: &NewRecord| view.get_bytes(&bytes(new), pin).is_some();
                if only_new && records.iter().any(is_there) {
                    return Ok(false);
                }
                records.into_iter().for_each(|new| data.insert_one(new, writer));
                Ok(true)
            })
        })
    }

    /// Inserts all objects in one atomic and isolated step; with `only_new` none if the key of any is there. Returns
    /// whether it did; `None` if it gave up on another list. A caller that may not write is told that first.
    pub(crate) fn insert_records(
        &self,
        records: Result<Vec<NewRecord>>,
        only_new: bool,
        patience: Patience,
        pin: &LocalGuard,
    ) -> Result<Option<bool>> {
        if self.part().is_some() {
            return self.insert_within(records?, only_new, pin).map(Some);
        }
        let content = || self.write_under(pin, |content, _| Ok(content));
        let watched = self.shared.life.state().is_watched();
        let mut list = with_data!(content()?, b => b.list(records?, only_new, watched));
        let outcome = loop {
            // * In steps, each in a section of its own, on the content that the table has now. It ends: done, failed,
            //   or given up.
            // * The table was emptied meanwhile (`Moved`): nothing of the list is in the new content, so again there.
            // * That came `TRIES` times: all of it in one section, in the content that the table has at its beginning;
            //   an emptying that comes then is after the list. No other list may be waited for there, as that may wait
            //   for a change of the table, which waits for the section. If one is in the way, a patient caller begins
            //   again, in steps.
            // * A write of a single key has aborted it, and was first: again, after that.
            let mut outcome = Ok(Outcome::Moved);
            for _ in 0..TRIES {
                if outcome == Ok(Outcome::Moved) {
                    outcome = content().and_then(|content| {
                        let steps = self.steps(pin, content);
                        with_data!(content, b => b.insert_list(&mut list, patience, &steps))
                    });
                }
            }
            match outcome {
                Ok(Outcome::Moved) => {}
                Ok(Outcome::Aborted) if patience == Patience::Waits => continue,
                outcome => break outcome,
            }
            let briefly = match cfg!(fyris_mutant = "store_list_waits_inside") {
                true => patience,
                false => Patience::GivesUp,
            };
            let in_one = self.write_under(pin, |content, writer| {
                with_data!(content, b => b.insert_list(&mut list, briefly, writer))
            });
            let is_over = !matches!(in_one, Ok(Outcome::GaveUp | Outcome::Aborted));
            if is_over || patience == Patience::GivesUp {
                break in_one;
            }
        };
        if outcome != Ok(Outcome::Committed) {
            list.retire(pin);
        }
        Ok(match outcome? {
            Outcome::GaveUp | Outcome::Aborted => None,
            outcome => Some(outcome == Outcome::Committed),
        })
    }
}
