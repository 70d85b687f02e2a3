//! Loading many objects.

use fyris_index::Index;

use super::Table;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::native_terms::{AsObject, record_in};
use crate::record::{NewRecord, Scratch};
use crate::table_data::with_data;

/// The number of objects that may wait for the memory that their insertion needs: large enough to hide the cost of
/// one miss, small enough for the processor to have all of the loads under way.
const AHEAD: usize = 16;

/// Inserts many objects, some at a time: the path for dumps and imports.
///
/// Objects go in in the order they came, each as [`Table::insert`] would put it in, together with the next ones: where
/// the index does not fit the cache this takes about half the time, since they wait for memory together. Those that
/// were not [flushed](Loader::flush) when the loader is dropped do not go in.
///
/// ```
/// # use fyris::{Options, Store, term};
/// # let store = Store::new();
/// # let owner = store.owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// let mut loader = table.loader();
/// for i in 0..100 {
///     loader.object(&term!({i, "value"}))?;
/// }
/// loader.flush()?;
/// assert_eq!(table.len(), 100);
/// # Ok::<(), fyris::Error>(())
/// ```
pub struct Loader<'t> {
    table: &'t Table,
    scratch: Scratch,
    /// Objects that are made and not inserted yet: fewer than [`AHEAD`] between two calls.
    waiting: Vec<NewRecord>,
}

impl Table {
    /// Returns a loader for this table.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut loader = table.loader();
    /// loader.object(&term!({1, "one"}))?;
    /// loader.flush()?; // without it, nothing of this is in the table
    /// assert!(table.member(&1)?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn loader(&self) -> Loader<'_> {
        Loader {
            table: self,
            scratch: Scratch::default(),
            waiting: Vec::new(),
        }
    }
}

impl Loader<'_> {
    /// Inserts an object, at the latest by [`Loader::flush`].
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut loader = table.loader();
    /// loader.object(&term!({1, "one"}))?;
    /// loader.object(&term!({1, "uno"}))?;
    /// assert!(table.is_empty()); // not yet
    /// loader.flush()?;
    /// assert_eq!(table.tab2list()?, [term!({1, "uno"})]); // in the order they came
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotATuple`], [`Error::BadKeyPosition`], [`Error::ObjectTooLarge`]. An error about the table itself may
    /// be about an earlier object.
    #[inline]
    pub fn object(&mut self, object: &(impl AsObject + ?Sized)) -> Result<()> {
        let new = self.record(object)?;
        self.put(new)
    }

    /// Returns the record of an object.
    #[inline]
    pub(crate) fn record(&mut self, object: &(impl AsObject + ?Sized)) -> Result<NewRecord> {
        record_in(&mut self.scratch, object, self.table.keypos())
    }

    /// Inserts a record as [`Loader::object`] inserts its object.
    #[inline]
    pub(crate) fn put(&mut self, new: NewRecord) -> Result<()> {
        self.waiting.push(new);
        if self.waiting.len() < AHEAD {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Inserts the objects that wait.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut loader = table.loader();
    /// loader.object(&term!({1}))?;
    /// table.delete()?;
    /// assert!(loader.flush().is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`]: none of them is inserted.
    pub fn flush(&mut self) -> Result<()> {
        let waiting = &mut self.waiting;
        let flushed = self.table.write(|data, writer| {
            with_data!(data, b => {
                for new in waiting.iter() {
                    Index::prefetch_write(&b.index, b.key_of(new.ptr()), writer.pin);
                }
                for new in waiting.drain(..) {
                    b.insert_one(new, writer);
                }
            });
            Ok(())
        });
        self.waiting.clear();
        flushed
    }
}

#[cfg(test)]
mod tests {
    use fyris_term::Term;

    use super::*;
    use crate::{Error, Options, Store};

    #[test]
    fn objects_wait_in_order_and_no_longer_than_told() {
        let owner = Store::new().owner();
        let table = owner.new_table("t", &Options::set()).unwrap();
        let mut loader = table.loader();
        for i in 0..2 * AHEAD as i64 + 3 {
            loader.object(&crate::term!({i / 2, i})).unwrap();
        }
        assert_eq!(table.len(), AHEAD);
        loader.object(&Term::tuple(vec![Term::Int(-1)])).unwrap();
        loader.flush().unwrap();
        assert_eq!(table.len(), AHEAD + 3);
        // The later of two objects with one key.
        let found = table.lookup(&Term::Int(0)).unwrap();
        assert_eq!(found, [Term::tuple(vec![Term::Int(0), Term::Int(1)])]);
        loader.object(&Term::tuple(vec![Term::Int(-2)])).unwrap();
        drop(loader);
        assert_eq!(table.len(), AHEAD + 3);
        let mut loader = table.loader();
        loader.object(&Term::tuple(vec![Term::Int(-2)])).unwrap();
        table.delete().unwrap();
        assert!(matches!(loader.flush(), Err(Error::NoSuchTable(_))));
    }
}
