//! Loading many objects.

use fyris_index::Index;
use fyris_term::key::KeyBuf;
use fyris_term::{Atom, Term, value};

use super::Table;
use crate::error::{Error, Result};
use crate::native_terms::record_in;
use crate::record::{NewRecord, Scratch};
use crate::table_data::with_data;

/// The number of objects that may wait for the memory that their insertion needs: large enough to hide the cost of
/// one miss, small enough for the processor to have all of the loads under way.
const AHEAD: usize = 16;

/// Builds objects element by element and inserts them: the path for dumps and imports, which makes
/// no tuple of terms on the way.
///
/// Each object is inserted as [`Table::insert`] would, at [`Loader::end`].
///
/// ```
/// # use fyris::{Options, Store};
/// # let store = Store::new();
/// # let owner = store.owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// let mut loader = table.loader();
/// for i in 0..100 {
///     loader.begin(2)?;
///     loader.int(i);
///     loader.binary(b"value");
///     loader.end()?;
/// }
/// assert_eq!(table.len(), 100);
/// # Ok::<(), fyris::Error>(())
/// ```
pub struct Loader<'t> {
    table: &'t Table,
    scratch: Scratch,
    /// Of the object that was begun, until it ends.
    arity: Option<usize>,
    /// The element that comes next, from 1.
    next: usize,
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
            arity: None,
            next: 1,
            waiting: Vec::new(),
        }
    }
}

impl Loader<'_> {
    /// Begins an object of `arity` elements; one that was begun and not ended is forgotten.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().keypos(2))?;
    /// let mut loader = table.loader();
    /// assert!(loader.begin(1).is_err()); // no place for the key
    /// loader.begin(3)?;
    /// loader.begin(2)?; // the object of three is forgotten
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadKeyPosition`] if it is too short for the table.
    #[inline]
    pub fn begin(&mut self, arity: usize) -> Result<()> {
        let keypos = self.table.keypos();
        self.arity = None;
        if arity < keypos {
            return Err(Error::BadKeyPosition { keypos, arity });
        }
        self.scratch.values.clear();
        self.scratch.blobs.clear();
        (self.arity, self.next) = (Some(arity), 1);
        Ok(())
    }

    /// Writes the next element, an integer.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut loader = table.loader();
    /// loader.begin(2)?;
    /// loader.int(1); // the element at the key position is the key
    /// loader.int(10);
    /// loader.end()?;
    /// assert_eq!(table.lookup(&term!(1))?, [term!({1, 10})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    #[inline]
    pub fn int(&mut self, element: i64) {
        if self.is_key() {
            self.scratch.key.set_int(element);
        } else {
            self.value(&Term::Int(element));
        }
    }

    /// Writes the next element, an atom.
    ///
    /// ```
    /// # use fyris::{Atom, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut loader = table.loader();
    /// loader.begin(1)?;
    /// loader.atom(Atom::new("ok")?);
    /// loader.end()?;
    /// assert_eq!(table.first()?, Some(term!(:ok)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn atom(&mut self, element: Atom) {
        self.term(&Term::Atom(element));
    }

    /// Writes the next element, a binary.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut loader = table.loader();
    /// loader.begin(1)?;
    /// loader.binary(b"key");
    /// loader.end()?;
    /// assert_eq!(table.first()?, Some(term!("key")));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn binary(&mut self, element: &[u8]) {
        if self.is_key() {
            self.scratch.key.set_binary(element);
        } else {
            self.value(&Term::binary(element));
        }
    }

    /// Writes the next element.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut loader = table.loader();
    /// loader.begin(2)?;
    /// loader.term(&term!({:a, 1}));
    /// loader.term(&term!([1, 2]));
    /// loader.end()?;
    /// assert_eq!(table.tab2list()?, [term!({{:a, 1}, [1, 2]})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn term(&mut self, element: &Term) {
        if self.is_key() {
            KeyBuf::encode_into(element, &mut self.scratch.key);
        } else {
            self.value(element);
        }
    }

    #[inline]
    fn is_key(&mut self) -> bool {
        self.next += 1;
        self.next - 1 == self.table.keypos()
    }

    fn value(&mut self, element: &Term) {
        let Scratch { values, blobs, .. } = &mut self.scratch;
        value::encode(element, values, blobs);
    }

    /// Inserts the object, after those that [`Loader::end_soon`] left waiting.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut loader = table.loader();
    /// loader.begin(2)?;
    /// loader.int(1);
    /// assert!(loader.end().is_err()); // one element of two: the object is forgotten
    /// assert!(table.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadKeyPosition`], [`Error::ObjectTooLarge`]; [`Error::BadArgument`] if there were more or fewer
    /// elements than `begin` said, or no object was begun since the last one.
    #[inline]
    pub fn end(&mut self) -> Result<()> {
        let new = self.record()?;
        self.waiting.push(new);
        self.flush()
    }

    /// Inserts the object, perhaps a little later, together with the next ones, and at the latest by
    /// [`Loader::flush`]. Where the index does not fit the cache this takes about half the time of [`Loader::end`],
    /// since the objects wait for memory together. They go in in the order they came; those that were not flushed when
    /// the loader is dropped do not.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut loader = table.loader();
    /// loader.begin(1)?;
    /// loader.int(1);
    /// loader.end_soon()?;
    /// assert!(table.is_empty()); // not yet
    /// loader.flush()?;
    /// assert_eq!(table.len(), 1);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadKeyPosition`], [`Error::ObjectTooLarge`]; [`Error::BadArgument`] if there were more or fewer
    /// elements than `begin` said, or no object was begun since the last one. An error about the table itself may be
    /// about an earlier object.
    #[inline]
    pub fn end_soon(&mut self) -> Result<()> {
        let new = self.record()?;
        self.waiting.push(new);
        if self.waiting.len() < AHEAD {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Inserts an object that is a term already, perhaps a little later, and at the latest by [`Loader::flush`]; an
    /// object that was begun is discarded.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut loader = table.loader();
    /// loader.object(&term!({1, "one"}))?;
    /// loader.object(&term!({1, "uno"}))?;
    /// loader.flush()?;
    /// assert_eq!(table.tab2list()?, [term!({1, "uno"})]); // in the order they came
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotATuple`], [`Error::BadKeyPosition`], [`Error::ObjectTooLarge`]. An error about the table itself may
    /// be about an earlier object.
    pub fn object(&mut self, object: &Term) -> Result<()> {
        self.arity = None;
        let new = record_in(&mut self.scratch, object, self.table.keypos())?;
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

    /// Returns the record of the object that was begun.
    #[inline]
    fn record(&mut self) -> Result<NewRecord> {
        let Some(arity) = self.arity.take() else {
            return Err(Error::BadArgument("no object was begun".to_owned()));
        };
        if self.next != arity + 1 {
            let given = self.next - 1;
            return Err(Error::BadArgument(format!(
                "{given} elements for a tuple of {arity}"
            )));
        }
        self.scratch.finish(arity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Store};

    #[test]
    fn objects_wait_in_order_and_no_longer_than_told() {
        let owner = Store::new().owner();
        let table = owner.new_table("t", &Options::set()).unwrap();
        let mut loader = table.loader();
        for i in 0..2 * AHEAD as i64 + 3 {
            loader.begin(2).unwrap();
            loader.int(i / 2);
            loader.int(i);
            loader.end_soon().unwrap();
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

    /// Ending an object that was never begun, or twice, made one out of what was left of the last: without a key, or
    /// with values that refer to binaries of another object. A later reader of that object panicked.
    #[test]
    fn what_was_not_begun_does_not_end() {
        let owner = Store::new().owner();
        let table = owner.new_table("t", &Options::set()).unwrap();
        let mut loader = table.loader();
        assert!(matches!(loader.end(), Err(Error::BadArgument(_))));
        loader.int(1);
        assert!(matches!(loader.end(), Err(Error::BadArgument(_))));
        loader.begin(2).unwrap();
        loader.int(1);
        loader.binary(&[7; 300]);
        loader.end().unwrap();
        assert!(matches!(loader.end(), Err(Error::BadArgument(_))));
        loader.begin(1).unwrap();
        assert!(loader.begin(0).is_err());
        assert!(matches!(loader.end(), Err(Error::BadArgument(_))));
        loader.begin(1).unwrap();
        loader.object(&Term::tuple(vec![Term::Int(2)])).unwrap();
        assert!(matches!(loader.end_soon(), Err(Error::BadArgument(_))));
        loader.flush().unwrap();
        let mut objects = table.tab2list().unwrap();
        objects.sort_by(Term::cmp_order);
        let first = Term::tuple(vec![Term::Int(1), Term::binary(vec![7; 300])]);
        assert_eq!(objects, [Term::tuple(vec![Term::Int(2)]), first]);
    }
}
