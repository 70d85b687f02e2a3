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
///
/// ```
/// # use fyris::{Cursor, Options, Store, pin, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// table.insert_many((0..1000).map(|n| term!({n})))?;
/// let (mut cursor, mut count) = (Cursor::new(), 0);
/// loop {
///     let (pin, mut objects) = (pin(), Vec::new()); // a short pin for each batch
///     if !cursor.next_batch(&table, &pin, &mut objects)? {
///         break;
///     }
///     count += objects.len();
/// }
/// assert_eq!(count, 1000);
/// # Ok::<(), fyris::Error>(())
/// ```
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
    ///
    /// ```
    /// # use fyris::{Cursor, Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({2})])?;
    /// let (pin, mut objects) = (pin(), Vec::new());
    /// Cursor::new().next_batch(&table, &pin, &mut objects)?;
    /// assert_eq!(objects[0].to_term(), term!({1}));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn new() -> Cursor {
        Cursor::default()
    }

    /// Makes a cursor behind the last key of an `ordered_set`, to move down. In other tables it moves as
    /// [`Cursor::new`], from key to key; but of the objects of a key the newest comes first.
    ///
    /// ```
    /// # use fyris::{Cursor, Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({2})])?;
    /// let (pin, mut objects) = (pin(), Vec::new());
    /// Cursor::back().next_batch(&table, &pin, &mut objects)?;
    /// assert_eq!(objects[0].to_term(), term!({2}));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn back() -> Cursor {
        Cursor {
            back: true,
            ..Cursor::default()
        }
    }

    /// Appends the objects of the next keys, in the order of [`Table::next`]: of a few hundred, in a bag of a few.
    /// Returns `false` when there are no more, and nothing was appended.
    ///
    /// ```
    /// # use fyris::{Cursor, Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// let (mut cursor, pin, mut objects) = (Cursor::new(), pin(), Vec::new());
    /// assert!(cursor.next_batch(&table, &pin, &mut objects)?); // the last one says so the next time
    /// assert!(!cursor.next_batch(&table, &pin, &mut objects)?);
    /// assert_eq!(objects.len(), 1);
    /// # Ok::<(), fyris::Error>(())
    /// ```
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
        self.next_at_least(1, table, pin, out)
    }

    /// Appends at least so many objects, or all that are left: as one batch, which sees all of a list that is inserted at
    /// once or nothing. Otherwise as [`Cursor::next_batch`].
    ///
    /// ```
    /// # use fyris::{Cursor, Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((0..600).map(|n| term!({n})))?;
    /// let (mut cursor, pin, mut objects) = (Cursor::new(), pin(), Vec::new());
    /// assert!(cursor.next_at_least(500, &table, &pin, &mut objects)? && objects.len() >= 500);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Cursor::next_batch`].
    pub fn next_at_least<'g>(
        &mut self,
        least: usize,
        table: &Table,
        pin: &'g impl Guard,
        out: &mut Vec<Object<'g>>,
    ) -> Result<bool> {
        table.check_iteration("a scan")?;
        // A key of a bag may have any number of objects.
        let want = if table.table_type().is_bag() { 1 } else { STEP };
        let records = table.read_under(pin, |view, pin| {
            let (mut records, mut reader) = (Vec::new(), view.read_many(pin));
            while records.len() < least && !self.ended {
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
///
/// ```
/// # use fyris::{Error, Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// table.insert(&term!({1, "one"}))?;
/// let mut iter = table.iter();
/// table.delete()?;
/// assert!(matches!(iter.next(), Some(Err(Error::NoSuchTable(_)))));
/// assert!(iter.next().is_none());
/// # Ok::<(), fyris::Error>(())
/// ```
pub struct Iter(ObjectIter<Term>);

impl Iter {
    pub(super) fn new(table: Table, back: bool) -> Iter {
        Iter(ObjectIter::new(table, Span::ALL, back, |object| {
            object.to_term()
        }))
    }
}

impl Iterator for Iter {
    type Item = Result<Term>;

    fn next(&mut self) -> Option<Result<Term>> {
        self.0.next()
    }
}

/// An iterator over the objects of a span, in some form. Consistency as [`Table::iter`].
pub(crate) struct ObjectIter<T> {
    table: Table,
    /// The snapshot that it reads, once it has begun to.
    past: Option<Table>,
    cursor: Cursor,
    form: fn(&Object<'_>) -> T,
    /// The batch under way, reversed.
    batch: Vec<T>,
    /// Nothing comes behind the batch.
    ended: bool,
}

impl<T> ObjectIter<T> {
    /// `form` runs under a pin and outside of every lock.
    pub(crate) fn new(
        table: Table,
        span: Span,
        back: bool,
        form: fn(&Object<'_>) -> T,
    ) -> ObjectIter<T> {
        ObjectIter {
            table,
            past: None,
            cursor: Cursor {
                span,
                back,
                ended: false,
            },
            form,
            batch: Vec::new(),
            ended: false,
        }
    }

    /// Reads the next batch: all objects, if they are few; else of a snapshot.
    fn fill(&mut self) -> Result<()> {
        let past = match &self.past {
            Some(past) => past,
            None => {
                let span = self.cursor.span.clone();
                let all = self.table.cursor_of(span, self.cursor.back);
                if let Some(few) = self.table.few(all, self.form)? {
                    self.batch = few;
                    self.batch.reverse();
                    self.ended = true;
                    return Ok(());
                }
                self.past.insert(self.table.for_steps()?)
            }
        };
        let (pin, mut objects) = (pin(), Vec::new());
        self.ended = !self.cursor.next_batch(past, &pin, &mut objects)?;
        self.batch.extend(objects.iter().rev().map(self.form));
        Ok(())
    }
}

impl<T> Iterator for ObjectIter<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        while self.batch.is_empty() && !self.ended {
            if let Err(error) = self.fill() {
                self.ended = true;
                self.past = None;
                return Some(Err(error));
            }
        }
        if self.ended {
            self.past = None;
        }
        self.batch.pop().map(Ok)
    }
}
