//! Looking up by a secondary index.

use fyris_sync::reclaim::LocalGuard;
use fyris_term::Term;
use smallvec::SmallVec;

use super::{ByValue, Candidates};
use crate::chain;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::keys::AsKey;
use crate::ops::Span;
use crate::query::Query;
use crate::record::{Object, newest};
use crate::slot::Content;
use crate::table::{FEW, Table};
use crate::view::{ReadMany, TableView, View};

/// Objects that are visited under one pin of a call that visits many.
const SLICE: usize = 4096;

impl Table {
    /// Returns the objects that have a value by a secondary index ([`Options::secondary`]), in the order of their keys;
    /// of one key, in a bag, in insertion order. The value, given as keys are ([`AsKey`]), is compared as patterns
    /// compare it, by `=:=`.
    ///
    /// O(log n + objects found), and of objects that were changed while a snapshot lives also these.
    ///
    /// # Consistency
    ///
    /// That of [`Table::select`]: a call that visits more than 512 objects sees all of them as they were at one moment
    /// of the call; one that visits fewer sees each object that is there throughout exactly once. Works on snapshots
    /// and in transactions; there nobody commits an object with the value in between.
    ///
    /// ```
    /// use fyris::{Options, SecondaryIndex, Store, term};
    ///
    /// let owner = Store::new().owner();
    /// let options = Options::set().secondary(SecondaryIndex::element("by_city", 3));
    /// let people = owner.new_table("people", &options)?;
    /// people.insert_list(&[term!({1, "Ada", "London"}), term!({2, "Emmy", "Erlangen"})])?;
    /// assert_eq!(people.lookup_by("by_city", &term!("Erlangen"))?, [term!({2, "Emmy", "Erlangen"})]);
    /// people.update_element(&term!(2), &[(3, term!("London"))])?;
    /// assert_eq!(people.lookup_by("by_city", &term!("London"))?.len(), 2);
    /// assert!(people.lookup_by("by_name", &term!("Ada")).is_err()); // there is no such index
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSecondaryIndex`]; [`Error::NoSuchTable`], [`Error::NoAccess`].
    ///
    /// [`Options::secondary`]: crate::Options::secondary
    pub fn lookup_by(&self, index: &str, value: &(impl AsKey + ?Sized)) -> Result<Vec<Term>> {
        let mut found = Vec::new();
        self.each_by(index, value, |object| found.push(object.to_term()))?;
        Ok(found)
    }

    /// Shows `f` the objects that [`Table::lookup_by`] returns, without building terms. `f` runs under a pin and
    /// outside of every lock; if the call returns an error, what it was shown does not count.
    ///
    /// ```
    /// # use fyris::{Options, SecondaryIndex, Store, term};
    /// # let owner = Store::new().owner();
    /// # let by_parity = SecondaryIndex::element("by_parity", 2);
    /// # let table = owner.new_table("t", &Options::set().secondary(by_parity))?;
    /// table.insert_many((0..100).map(|n| term!({n, n % 2})))?;
    /// let mut keys = Vec::new();
    /// table.each_by("by_parity", &term!(1), |object| keys.push(object.key()))?;
    /// assert_eq!((keys.len(), &keys[0]), (50, &term!(1)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Table::lookup_by`].
    pub fn each_by(
        &self,
        index: &str,
        value: &(impl AsKey + ?Sized),
        mut f: impl FnMut(Object<'_>),
    ) -> Result<()> {
        if !self.each_of_few_by(index, value, &mut f)? {
            let mut query = self.query_by(index, value)?;
            while query.step_with(SLICE, |object, _| f(object))? {}
        }
        Ok(())
    }

    /// Does what [`Table::each_by`] does, if these are not more than about 500 objects; else, and in a snapshot or a
    /// transaction, `f` is not called. Returns whether it did: for who runs the rest in slices ([`Table::query_by`]).
    ///
    /// ```
    /// # use fyris::{Options, SecondaryIndex, Store, term};
    /// # let owner = Store::new().owner();
    /// # let by_parity = SecondaryIndex::element("by_parity", 2);
    /// # let table = owner.new_table("t", &Options::set().secondary(by_parity))?;
    /// table.insert_many((0..10_000).map(|n| term!({n, n % 2})))?;
    /// assert!(!table.each_of_few_by("by_parity", &term!(1), |_| unreachable!())?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Table::lookup_by`].
    pub fn each_of_few_by(
        &self,
        index: &str,
        value: &(impl AsKey + ?Sized),
        mut f: impl FnMut(Object<'_>),
    ) -> Result<bool> {
        self.read(|view, pin| {
            let of = view.secondaries().named(index)?;
            value.with(|value| {
                let by = ByValue {
                    of,
                    value: value.bytes(),
                };
                let found = self.is_live().then(|| few(view, by, pin)).flatten();
                let is_few = found.is_some();
                for content in found.into_iter().flatten() {
                    let object = newest(content, self.keypos());
                    if of.has(&object, by.value) {
                        f(object);
                    }
                }
                Ok(is_few)
            })
        })
    }

    /// Returns a query whose results are the objects that [`Table::lookup_by`] returns, and that runs in slices.
    ///
    /// ```
    /// # use fyris::{Options, SecondaryIndex, Store, term};
    /// # let owner = Store::new().owner();
    /// # let by_parity = SecondaryIndex::element("by_parity", 2);
    /// # let table = owner.new_table("t", &Options::ordered_set().secondary(by_parity))?;
    /// table.insert_many((0..10_000).map(|n| term!({n, n % 2})))?;
    /// let mut query = table.query_by("by_parity", &term!(1))?;
    /// while query.step(1000)? {}
    /// assert_eq!(query.take().len(), 5000);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSecondaryIndex`]; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn query_by(&self, index: &str, value: &(impl AsKey + ?Sized)) -> Result<Query> {
        let of = self.read(|view, _| view.secondaries().named(index).cloned())?;
        let left = value.with(|value| Candidates::new(&of, value.bytes()));
        Ok(Query::of_candidates(self, left))
    }
}

/// Reads the objects of all candidates of the live table, if these are few and no commit came in between: the entries
/// of what it has displaced may be gone.
fn few(view: TableView<'_>, by: ByValue<'_>, pin: &LocalGuard) -> Option<SmallVec<[Content; 4]>> {
    let (mut reader, mut keys) = (view.read_many(pin), Vec::new());
    if reader.candidates(by, &mut Span::ALL.clone(), false, FEW + 1, pin, &mut keys)? {
        return None;
    }
    let mut found = SmallVec::new();
    for key in keys {
        reader.get(&key, &chain::ANY, pin, |content| found.push(content));
    }
    let is_due = reader.is_due() && !cfg!(fyris_mutant = "store_candidates_torn");
    (found.len() <= FEW && !is_due).then_some(found)
}
