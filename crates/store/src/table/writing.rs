//! Writing: insert, take, delete, update.

use fyris_sync::reclaim::{LocalGuard, pin};
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::Table;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::ids::Right;
use crate::keys::AsKey;
use crate::native_terms::record_of;
use crate::ops::{CounterOp, Patience, counter_reply, edits_of, terms};
use crate::record::{NewRecord, with_key};
use crate::table_data::{AnyTableData, with_data};
use crate::view::View;
use crate::writer::Writer;

impl Table {
    /// `insert/2`: inserts one object, a tuple at least as long as the key position.
    ///
    /// In `set` and `ordered_set` it takes the place of the object with the same key, whose key changes
    /// too (`1` becomes `1.0` in an `ordered_set`). A `bag` ignores an object that it has.
    /// Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// table.insert(&term!({1.0, "uno"}))?; // the same key, in this type of table
    /// assert_eq!(table.tab2list()?, [term!({1.0, "uno"})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotATuple`], [`Error::BadKeyPosition`], [`Error::ObjectTooLarge`]; [`Error::NotUnique`].
    pub fn insert(&self, object: &Term) -> Result<()> {
        self.insert_object(object, &pin())
    }

    /// `insert/2` of a list: inserts all of its objects in one atomic and isolated step.
    ///
    /// A call that reads, one step of a query, one batch of a cursor: each sees all of the objects or none, in the
    /// words of [`Table::tab2list`]. A traversal in several steps may find the list between two of them. Only another
    /// list with one of its keys waits for a list: a writer of a single key gets through, and its write comes before
    /// the list. The other list waits, asleep if it is long, until those that came to a key before it are in:
    /// for no longer than they take, which is some 0.2 us an object. O(n log n). Objects with one key keep their order
    /// in the bags; elsewhere the last one counts.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert!(table.insert_list(&[term!({1, "one"}), term!(2)]).is_err()); // 2 is no object
    /// assert!(table.is_empty());
    /// table.insert_list(&[term!({1, "one"}), term!({1, "uno"})])?;
    /// assert_eq!(table.tab2list()?, [term!({1, "uno"})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotATuple`], [`Error::BadKeyPosition`], [`Error::ObjectTooLarge`], [`Error::NotUnique`] for any of the
    /// objects; then none is inserted.
    pub fn insert_list(&self, objects: &[Term]) -> Result<()> {
        self.insert_all(objects, false).map(|_| ())
    }

    /// `insert_new/2` of one object: inserts it if its key is not there; returns whether it did.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert!(table.insert_new(&term!({1, "one"}))?);
    /// assert!(!table.insert_new(&term!({1, "uno"}))?);
    /// assert_eq!(table.tab2list()?, [term!({1, "one"})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotATuple`], [`Error::BadKeyPosition`], [`Error::ObjectTooLarge`]; [`Error::NotUnique`].
    pub fn insert_new(&self, object: &Term) -> Result<bool> {
        self.insert_new_object(object)
    }

    /// `insert_new/2` of a list: all or, if any of the keys is there, nothing; one atomic and isolated
    /// step, as [`Table::insert_list`]. Keys repeated inside the list do not clash.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// assert!(!table.insert_new_list(&[term!({1, "uno"}), term!({2, "due"})])?);
    /// assert!(!table.member(&2)?); // all or nothing
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotATuple`], [`Error::BadKeyPosition`], [`Error::ObjectTooLarge`], [`Error::NotUnique`] for any of the
    /// objects; then none is inserted.
    pub fn insert_new_list(&self, objects: &[Term]) -> Result<bool> {
        self.insert_all(objects, true)
    }

    fn insert_all(&self, objects: &[Term], only_new: bool) -> Result<bool> {
        let record = |object| record_of(object, self.keypos());
        let records: Result<Vec<NewRecord>> = objects.iter().map(record).collect();
        let pin = pin();
        let done = self.insert_records(records, only_new, Patience::Waits, &pin)?;
        Ok(done.unwrap_or_default())
    }

    /// Inserts one object after another; each insert is atomic, all together are not. Returns how
    /// many there were.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert_eq!(table.insert_many((0..10).map(|n| term!({n, n * n})))?, 10);
    /// assert!(table.insert_many([term!({10}), term!(11), term!({12})]).is_err());
    /// assert!(table.member(&10)? && !table.member(&12)?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotATuple`], [`Error::BadKeyPosition`], [`Error::ObjectTooLarge`], [`Error::NotUnique`]; what came
    /// before the bad object stays.
    pub fn insert_many(&self, objects: impl IntoIterator<Item = Term>) -> Result<usize> {
        let mut count = 0;
        for object in objects {
            self.insert(&object)?;
            count += 1;
        }
        Ok(count)
    }

    /// `take/2`: removes the objects with the key and returns them, in one atomic step; none if there are none.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// assert_eq!(table.take(&term!(1))?, [term!({1, "one"})]);
    /// assert!(table.take(&term!(1))?.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn take(&self, key: &Term) -> Result<Vec<Term>> {
        let (buf, pin) = (KeyBuf::encode(key), pin());
        let taken = self.write_under(&pin, |data, writer| {
            Ok(with_data!(data, b => b.remove(b.key(&buf), writer)))
        })?;
        Ok(taken.map_or_else(Vec::new, |content| {
            terms(content, self.keypos(), &buf, Some(key))
        }))
    }

    /// `delete/2`: removes every object with the key. Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert_list(&[term!({1, "one"}), term!({1, "uno"})])?;
    /// table.delete_key(&1)?;
    /// table.delete_key(&1)?; // no error
    /// assert!(table.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn delete_key(&self, key: &(impl AsKey + ?Sized)) -> Result<()> {
        key.with(|buf| self.delete_under(buf, &fyris_sync::reclaim::pin()))
    }

    /// `delete_object/2`: removes the objects exactly equal to this one. Linearizable; in the bags O(log² n) for n
    /// objects of the key, on average.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert_list(&[term!({1, "one"}), term!({1, "uno"})])?;
    /// table.delete_object(&term!({1, "one"}))?;
    /// assert_eq!(table.tab2list()?, [term!({1, "uno"})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotATuple`], [`Error::BadKeyPosition`], [`Error::ObjectTooLarge`] for the object.
    pub fn delete_object(&self, object: &Term) -> Result<()> {
        self.delete_like(object)
    }

    /// `delete_all_objects/1`: empties the table in one atomic and isolated step. O(1) for the
    /// caller; the memory is given back when no reader can be looking at it.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// table.delete_all_objects()?;
    /// assert!(table.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn delete_all_objects(&self) -> Result<()> {
        self.check_live("delete_all_objects")?;
        self.delete_all(&pin()).map(|_| ())
    }

    /// Empties the table in one atomic and isolated step; returns how many objects there were.
    ///
    /// Writes that found the old content go on with it, and are before this in the order of things: so the objects are
    /// counted when they have ended. That is waited for outside of this write's own section, for else two that do this
    /// at once would wait for each other.
    pub(crate) fn delete_and_count_all(&self) -> Result<usize> {
        let pin = pin();
        let old = self.delete_all(&pin)?;
        if !cfg!(fyris_mutant = "store_counts_at_once") {
            self.shared.life.wait_for_writes(&pin);
        }
        Ok(old.len())
    }

    /// Empties the table; returns the old content, to which others may still be writing.
    fn delete_all<'g>(&'g self, pin: &'g LocalGuard) -> Result<&'g AnyTableData> {
        let empty = |writer: &Writer<'g>| {
            writer.note_all();
            self.shared.empty(pin)
        };
        let done = self.write_under(pin, |_, writer| match writer.watchers {
            None => empty(writer).map(Some),
            Some(_) => Ok(None),
        })?;
        if let Some((old, _)) = done {
            return Ok(old);
        }
        // It is watched: what others write to the old content comes before, for who is told of both.
        let beside = cfg!(fyris_mutant = "store_cleared_beside");
        let closed = (!beside).then(|| self.shared.life.close(pin));
        let state = self.shared.life.state();
        self.data(state, Right::Write, pin)?;
        let clearing = self.shared.watchers().announce_clearing(pin);
        let (old, place) = empty(&Writer::new(pin, state, &self.shared))?;
        drop(closed);
        clearing.tell(old.len(), place);
        Ok(old)
    }

    /// `update_element/3`: replaces elements, given as pairs of position and value, in one atomic step;
    /// `false` if there is no object with the key. A position given twice takes the last value.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "Ada", 1815}))?;
    /// assert!(table.update_element(&term!(1), &[(2, term!("Ada L.")), (3, term!(36))])?);
    /// assert_eq!(table.lookup(&term!(1))?, [term!({1, "Ada L.", 36})]);
    /// assert!(!table.update_element(&term!(2), &[(2, term!("Bob"))])?); // no error
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyUpdate`], [`Error::BadPosition`], [`Error::NotUnique`], [`Error::WrongType`] for the bags; nothing
    /// changes then.
    pub fn update_element(&self, key: &Term, edits: &[(usize, Term)]) -> Result<bool> {
        self.update(key, edits, None)
    }

    /// `update_element/4`: replaces elements in one atomic step, of `default` with its key field replaced if there is
    /// no object with the key, which is then inserted.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let fresh = term!({:key, 0, 0}); // its key is replaced
    /// assert!(table.update_element_or(&term!(1), &[(2, term!(5))], &fresh)?);
    /// assert_eq!(table.tab2list()?, [term!({1, 5, 0})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::update_element`]; [`Error::NotATuple`] and [`Error::BadKeyPosition`] for the default, whether
    /// it is needed or not.
    pub fn update_element_or(
        &self,
        key: &Term,
        edits: &[(usize, Term)],
        default: &Term,
    ) -> Result<bool> {
        self.update(key, edits, Some(default))
    }

    fn update(&self, key: &Term, edits: &[(usize, Term)], default: Option<&Term>) -> Result<bool> {
        let default = self.default_of("update_element", key, default)?;
        key.with(|buf| {
            self.write(|data, writer| {
                with_data!(data, b => b.update_element(b.key(buf), edits, default.as_deref(), writer))
            })
        })
    }

    /// Returns the default of an update with its key field replaced. Refuses one that is no object, and a bag.
    pub(crate) fn default_of(
        &self,
        operation: &'static str,
        key: &Term,
        default: Option<&Term>,
    ) -> Result<Option<Vec<Term>>> {
        self.check_unique(operation)?;
        let with_key = |default| with_key(default, self.keypos(), key);
        default.map(with_key).transpose()
    }

    /// Does `update_element/3,4` with the second argument as Erlang has it: `{Pos, Value}` or a list of them.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 0, 0}))?;
    /// table.update_element_term(&term!(1), &term!({2, 5}), None)?;
    /// table.update_element_term(&term!(1), &term!([{2, 6}, {3, 7}]), None)?;
    /// assert_eq!(table.tab2list()?, [term!({1, 6, 7})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Also [`Error::BadArgument`] for another form.
    pub fn update_element_term(
        &self,
        key: &Term,
        edits: &Term,
        default: Option<&Term>,
    ) -> Result<bool> {
        let edits = edits_of(edits);
        match edits {
            Ok(edits) => self.update(key, &edits, default),
            // ETS looks for the key before it looks at the edits.
            Err(_) if default.is_none() && !self.has(key)? => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a table with one object a key has this one, for a writer.
    fn has(&self, key: &Term) -> Result<bool> {
        self.check_unique("update_element")?;
        key.with(|buf| {
            self.write(|data, writer| Ok(writer.view(data)?.get(buf, writer.pin).is_some()))
        })
    }

    /// `update_counter/3`: runs the steps in order on one object, in one atomic and isolated step;
    /// returns the new values in order. Integers grow as large as need be.
    ///
    /// ```
    /// # use fyris::{CounterOp, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:hits, 0, 0}))?;
    /// let steps = [CounterOp::add(1), CounterOp::add(5).at(3)];
    /// assert_eq!(table.update_counter(&term!(:hits), &steps)?, [term!(1), term!(5)]);
    /// assert!(table.update_counter(&term!(:misses), &steps).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchKey`], [`Error::NotAnInteger`], [`Error::KeyUpdate`], [`Error::BadPosition`],
    /// [`Error::IntegerTooLarge`], [`Error::NotUnique`], [`Error::WrongType`] for the bags; nothing changes then.
    pub fn update_counter(&self, key: &Term, ops: &[CounterOp]) -> Result<Vec<Term>> {
        self.count(key, ops, None)
    }

    /// `update_counter/4`: runs the steps in order in one atomic and isolated step, on `default` with its key field
    /// replaced if there is no object with the key, which is then inserted; returns the new values in order.
    ///
    /// ```
    /// # use fyris::{CounterOp, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let fresh = term!({:key, 0}); // its key is replaced
    /// assert_eq!(table.update_counter_or(&term!(:hits), &[CounterOp::add(1)], &fresh)?, [term!(1)]);
    /// assert_eq!(table.tab2list()?, [term!({:hits, 1})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::update_counter`]; [`Error::NotATuple`] and [`Error::BadKeyPosition`] for the default, whether
    /// it is needed or not.
    pub fn update_counter_or(
        &self,
        key: &Term,
        ops: &[CounterOp],
        default: &Term,
    ) -> Result<Vec<Term>> {
        self.count(key, ops, Some(default))
    }

    fn count(&self, key: &Term, ops: &[CounterOp], default: Option<&Term>) -> Result<Vec<Term>> {
        let default = self.default_of("update_counter", key, default)?;
        key.with(|buf| {
            self.write(|data, writer| {
                with_data!(data, b => b.update_counter(b.key(buf), ops, default.as_deref(), writer))
            })
        })
    }

    /// Does `update_counter/3,4` with the second argument as Erlang has it: an increment, one operation or a list of
    /// operations. The result is a number for the first two and a list for the third.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:hits, 0}))?;
    /// assert_eq!(table.update_counter_term(&term!(:hits), &term!(1), None)?, term!(1));
    /// assert_eq!(table.update_counter_term(&term!(:hits), &term!([{2, 1}]), None)?, term!([2]));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Also [`Error::BadArgument`] for another form.
    pub fn update_counter_term(
        &self,
        key: &Term,
        ops: &Term,
        default: Option<&Term>,
    ) -> Result<Term> {
        let (ops, is_list) = CounterOp::parse_all(ops)?;
        Ok(counter_reply(self.count(key, &ops, default)?, is_list))
    }
}
