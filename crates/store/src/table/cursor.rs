//! Traversals that can stop and go on.

use fyris_sync::reclaim::{Guard, pin};
use fyris_term::Term;

use super::Table;
use super::range::STEP;
use crate::error::Result;
use crate::ops::Span;
use crate::record::{Object, newest};
use crate::view::{ReadMany, View};

/// A place in a table: between two keys. It survives any change of the table.
///
/// A cursor holds no pin and no lock between its steps; it remembers a key.
///
/// # Consistency
///
/// An object that is there throughout comes up exactly once. One that comes or goes meanwhile may or
/// may not; in an `ordered_set`, after the second batch, none that comes behind the last key of then, so that writers
/// of ever higher keys cannot keep it from its end. The objects of one key come up together, as they were at one
/// moment. A batch sees all of a list that is inserted at once or nothing; between two batches such a list may come.
pub struct Cursor {
    /// The part of the table that is left.
    span: Span,
    back: bool,
    ended: bool,
}

impl Default for Cursor {
    fn default() -> Cursor {
        Cursor {
            span: Span::ALL,
            back: false,
            ended: false,
        }
    }
}

impl Cursor {
    /// Makes a cursor before the first key.
    pub fn new() -> Cursor {
        Cursor::default()
    }

    /// Makes a cursor behind the last key of an `ordered_set`, to move down. In other tables it moves as
    /// [`Cursor::new`], from key to key; but of the objects of a key the newest comes first.
    pub fn back() -> Cursor {
        Cursor {
            back: true,
            ..Cursor::default()
        }
    }

    /// Appends the objects of the next keys, in the order of [`Table::next`]: of a few hundred, in a bag of a few.
    /// Returns `false` when there are no more, and nothing was appended.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable), [`Error::NoAccess`](crate::Error::NoAccess).
    pub fn next_batch<'g>(
        &mut self,
        table: &Table,
        pin: &'g impl Guard,
        out: &mut Vec<Object<'g>>,
    ) -> Result<bool> {
        table.check_iteration("a scan")?;
        // A key of a bag may have any number of objects.
        let want = if table.table_type().is_bag() { 1 } else { STEP };
        let records = table.read_under(pin, |view, pin| {
            let (mut records, mut reader) = (Vec::new(), view.read_many(pin));
            while records.is_empty() && !self.ended {
                let span = &mut self.span;
                self.ended = !reader.scan(span, self.back, want, pin, &mut records);
            }
            Ok(records)
        })?;
        records.iter().for_each(|record| record.prefetch());
        let keypos = table.keypos();
        out.extend(records.iter().map(|&r| newest(r, keypos)));
        Ok(!records.is_empty())
    }
}

/// An iterator over a table's objects. See [`Table::iter`].
pub struct Iter {
    table: Table,
    cursor: Cursor,
    /// The batch under way, reversed.
    batch: Vec<Term>,
    failed: bool,
}

impl Iter {
    pub(super) fn new(table: Table, back: bool) -> Iter {
        let cursor = if back { Cursor::back() } else { Cursor::new() };
        Iter {
            table,
            cursor,
            batch: Vec::new(),
            failed: false,
        }
    }

    fn fill(&mut self) -> Result<bool> {
        let pin = pin();
        let mut objects = Vec::new();
        let more = self.cursor.next_batch(&self.table, &pin, &mut objects)?;
        self.batch.extend(objects.iter().rev().map(Object::to_term));
        Ok(more)
    }
}

impl Iterator for Iter {
    type Item = Result<Term>;

    fn next(&mut self) -> Option<Result<Term>> {
        while self.batch.is_empty() && !self.failed {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
        self.batch.pop().map(Ok)
    }
}
