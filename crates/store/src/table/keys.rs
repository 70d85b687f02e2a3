//! Moving from key to key.

use fyris_sync::reclaim::LocalGuard;
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::Table;
use crate::chain;
use crate::error::{Error, Result};
use crate::ids::TableType;
use crate::keys::AsKey;
use crate::slot::Content;
use crate::view::{Step, View};

impl Table {
    /// `first/1`: returns the first key, in term order in an `ordered_set`; `None` for `'$end_of_table'`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// assert_eq!(table.first()?, None);
    /// table.insert_list(&[term!({2}), term!({1})])?;
    /// assert_eq!(table.first()?, Some(term!(1)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn first(&self) -> Result<Option<Term>> {
        self.step(Step::First, |c| self.key_in(c))
    }

    /// `last/1`: returns the last key; the same as [`Table::first`] except in an `ordered_set`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({2}), term!({:a}), term!({1})])?;
    /// assert_eq!(table.last()?, Some(term!(:a))); // atoms come after numbers
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn last(&self) -> Result<Option<Term>> {
        self.step(Step::Last, |c| self.key_in(c))
    }

    /// `next/2`: returns the key after `key`. In an `ordered_set` the nearest above, whether `key` is there or not.
    ///
    /// Repeated calls visit every key that is there throughout once, also while the table grows. Their order is that of
    /// [`Table::tab2list`], [`Table::iter`] and [`Table::select`].
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({5})])?;
    /// assert_eq!(table.next(&term!(3))?, Some(term!(5))); // 3 need not be there
    /// assert_eq!(table.next(&term!(5))?, None);
    /// let set = owner.new_table("s", &Options::set())?;
    /// assert!(set.next(&term!(3)).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Except in an `ordered_set`, [`Error::NoSuchKey`] if `key` is not there, unless it was deleted
    /// while the table was and still is fixed. In an `ordered_set`, [`Error::BadArgument`] for the
    /// atom `'$end_of_table'`, be it there or not, as in ETS.
    pub fn next(&self, key: &Term) -> Result<Option<Term>> {
        self.step_from(key, |k| Step::Next(k), |c| self.key_in(c))
    }

    /// `prev/2`: returns the key before `key`; the same as [`Table::next`] except in an `ordered_set`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({5})])?;
    /// assert_eq!(table.prev(&term!(3))?, Some(term!(1)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchKey`] if `key` is not there, except in an `ordered_set`, and unless it was deleted while the
    /// table was and still is fixed; in an `ordered_set` [`Error::BadArgument`] for the atom `'$end_of_table'`.
    pub fn prev(&self, key: &Term) -> Result<Option<Term>> {
        self.step_from(key, |k| Step::Prev(k), |c| self.key_in(c))
    }

    /// `first_lookup/1`: returns the first key and its objects.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// assert_eq!(table.first_lookup()?, Some((term!(1), vec![term!({1, "one"})])));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn first_lookup(&self) -> Result<Option<(Term, Vec<Term>)>> {
        self.step(Step::First, |c| self.key_and_objects(c))
    }

    /// `last_lookup/1`: returns the last key and its objects.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert_list(&[term!({1, "one"}), term!({1, "uno"})])?;
    /// let (key, objects) = table.last_lookup()?.expect("there is a key");
    /// assert_eq!((key, objects.len()), (term!(1), 2)); // all objects of the key
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn last_lookup(&self) -> Result<Option<(Term, Vec<Term>)>> {
        self.step(Step::Last, |c| self.key_and_objects(c))
    }

    /// `next_lookup/2`: returns the key after `key` and its objects.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1, "one"}), term!({2, "two"})])?;
    /// assert_eq!(table.next_lookup(&term!(1))?, Some((term!(2), vec![term!({2, "two"})])));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchKey`] if `key` is not there, except in an `ordered_set`, and unless it was deleted while the
    /// table was and still is fixed; in an `ordered_set` [`Error::BadArgument`] for the atom `'$end_of_table'`.
    pub fn next_lookup(&self, key: &Term) -> Result<Option<(Term, Vec<Term>)>> {
        self.step_from(key, |k| Step::Next(k), |c| self.key_and_objects(c))
    }

    /// `prev_lookup/2`: returns the key before `key` and its objects.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1, "one"}), term!({2, "two"})])?;
    /// assert_eq!(table.prev_lookup(&term!(2))?, Some((term!(1), vec![term!({1, "one"})])));
    /// assert_eq!(table.prev_lookup(&term!(1))?, None);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchKey`] if `key` is not there, except in an `ordered_set`, and unless it was deleted while the
    /// table was and still is fixed; in an `ordered_set` [`Error::BadArgument`] for the atom `'$end_of_table'`.
    pub fn prev_lookup(&self, key: &Term) -> Result<Option<(Term, Vec<Term>)>> {
        self.step_from(key, |k| Step::Prev(k), |c| self.key_and_objects(c))
    }

    /// `slot/2`: returns the objects in slot `slot`, from 0; `None` exactly one past the last slot. In an
    /// `ordered_set` slot I is the I-th object; elsewhere a bucket of the index. All slots one after another have the
    /// objects in the order of [`Table::next`].
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({10}), term!({20})])?;
    /// assert_eq!(table.slot(1)?, Some(vec![term!({20})]));
    /// assert_eq!(table.slot(2)?, None);
    /// assert!(table.slot(3).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadSlot`] further beyond.
    pub fn slot(&self, slot: usize) -> Result<Option<Vec<Term>>> {
        self.check_iteration("slot")?;
        self.read(|view, pin| {
            let contents = view.slot(slot, pin)?;
            let objects = |c: Vec<Content>| c.into_iter().flat_map(|c| self.objects(c)).collect();
            Ok(contents.map(objects))
        })
    }

    fn step<R>(&self, step: Step<'_>, f: impl FnOnce(Content) -> R) -> Result<Option<R>> {
        self.read(|view, pin| Ok(self.content_at(step, &view, pin, || ())?.map(f)))
    }

    fn step_from<R>(
        &self,
        key: &Term,
        step: fn(&KeyBuf) -> Step<'_>,
        f: impl FnOnce(Content) -> R,
    ) -> Result<Option<R>> {
        if self.table_type() == TableType::OrderedSet && is_end(key) {
            // As ETS has it: a traversal that has ended does not begin again by itself.
            return Err(Error::BadArgument(
                "nothing follows '$end_of_table'".to_owned(),
            ));
        }
        key.with(|buf| self.step(step(buf), f))
    }

    /// Returns what a view holds a step away. Before a fix vouches for a key that is not there, `settle` may end the
    /// fixes of processes that have ended.
    pub(crate) fn content_at(
        &self,
        step: Step<'_>,
        view: &impl View,
        pin: &LocalGuard,
        settle: impl Fn(),
    ) -> Result<Option<Content>> {
        self.check_iteration("a step")?;
        let fixes = &self.shared.fixes;
        let known = |key: &KeyBuf| {
            self.shared.life.state().is_fixed() && {
                settle();
                fixes.knows(key.bytes())
            }
        };
        view.step(step, known, pin)
    }

    fn key_in(&self, content: Content) -> Term {
        crate::record::newest(content, self.keypos()).key()
    }

    fn key_and_objects(&self, content: Content) -> (Term, Vec<Term>) {
        (self.key_in(content), self.objects(content))
    }

    fn objects(&self, content: Content) -> Vec<Term> {
        let records = chain::oldest_first(content).into_iter();
        records
            .map(|r| crate::record::object(r, self.keypos()).to_term())
            .collect()
    }
}

fn is_end(key: &Term) -> bool {
    matches!(key, Term::Atom(atom) if atom.as_str() == "$end_of_table")
}
