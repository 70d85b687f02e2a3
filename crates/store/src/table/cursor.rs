//! Traversals that can stop and go on.

use fyris_sync::reclaim::{Pin, pin};
use fyris_term::Term;

use super::Table;
use crate::body::with_body;
use crate::error::Result;
use crate::ids::Right;
use crate::ops::Found;
use crate::record::Object;

/// A place in a table: between two keys. It survives any change of the table.
///
/// A cursor holds no pin and no lock between its steps; it remembers a key.
///
/// # Consistency
///
/// An object that is there throughout comes up exactly once. One that comes or goes meanwhile may or
/// may not. The objects of one key come up together, as they were at one moment.
#[derive(Default)]
pub struct Cursor {
    found: Found,
    back: bool,
    begun: bool,
    ended: bool,
}

// SAFETY: between two steps `found` holds keys only: a step takes all records out, and forgets at its begin what a
// panic may have left. So no pointer travels to another thread.
unsafe impl Send for Cursor {}

impl Cursor {
    /// Before the first key.
    pub fn new() -> Cursor {
        Cursor::default()
    }

    /// Behind the last key, to move down; the same as [`Cursor::new`] except in an `ordered_set`.
    pub fn back() -> Cursor {
        Cursor {
            back: true,
            ..Cursor::default()
        }
    }

    /// Appends the objects of the next few keys: a bucket's or a leaf's worth. `false` when there
    /// are no more, and nothing was appended.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`](crate::Error::NoSuchTable), [`Error::NoAccess`](crate::Error::NoAccess).
    pub fn next_batch<'g>(
        &mut self,
        table: &Table,
        pin: &'g impl Pin,
        out: &mut Vec<Object<'g>>,
    ) -> Result<bool> {
        let body = table.core.body(table.caller, Right::Read, pin)?;
        self.found.records.clear();
        while self.found.records.is_empty() && !self.ended {
            let (first, found) = (!self.begun, &mut self.found);
            self.ended = !with_body!(body, b => b.batch(first, self.back, found, pin));
            self.begun = true;
        }
        let keypos = table.keypos();
        out.extend(
            self.found
                .records
                .drain(..)
                .map(|r| crate::record::object(r, keypos)),
        );
        table.check_name()?;
        Ok(!self.ended)
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
