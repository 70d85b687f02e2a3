//! The operations of `ets` that take patterns and specifications.

use fyris_query::{MatchSpec, Wanted};
use fyris_term::Term;

use super::plan::{alike, point};
use super::work::machine_or_default;
use super::{Chunk, Query};
use crate::chain;
use crate::error::{Error, Result};
use crate::record::newest;
use crate::table::Table;
use crate::view::View;

impl Table {
    /// Returns a query, which can run in slices, on several threads, or from the end: see [`Query`].
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((0..1000).map(|n| term!({n, n % 10})))?;
    /// let spec = MatchSpec::new(&term!([{{:"$1", 3}, [], [:"$1"]}]))?;
    /// let mut query = table.query(&spec); // nothing is done yet
    /// query.run()?;
    /// assert_eq!(query.take().len(), 100);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn query(&self, spec: &MatchSpec) -> Query {
        Query::new(self, spec)
    }

    /// `select/2`: returns the values of the objects that match. In term order in an `ordered_set`; elsewhere in the
    /// order of [`Table::next`], but of keys that the specification names one after another, in term order.
    ///
    /// # Consistency
    ///
    /// A call that visits more than 512 objects sees all of them as they were at one moment of the call: see
    /// [`Table::tab2list`]. A call that visits fewer sees each object that is there throughout exactly once, may or may
    /// not see concurrent changes, and sees all objects of a list insert or none.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1, "one"}), term!({2, "two"}), term!({3, "three"})])?;
    /// let above_1 = term!([{{:"$1", :"$2"}, [{:">", :"$1", 1}], [:"$2"]}]);
    /// assert_eq!(table.select(&MatchSpec::new(&above_1)?)?, [term!("two"), term!("three")]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn select(&self, spec: &MatchSpec) -> Result<Vec<Term>> {
        match point(self, spec) {
            Some(key) => self.select_point(spec, key),
            None => results(self.query(spec)),
        }
    }

    /// Does a select by one key: a lookup, without the state of a query.
    fn select_point(&self, spec: &MatchSpec, key: &[u8]) -> Result<Vec<Term>> {
        self.read(|view, pin| {
            let mut values = Vec::with_capacity(1);
            if let Some(content) = view.get_bytes(key, pin) {
                let alike = match content.is_chain() {
                    true => alike(self, spec),
                    false => chain::ANY,
                };
                chain::each_alike(content, &alike, |found| {
                    let object = newest(found, self.keypos()).view();
                    spec.run_into(&object, machine_or_default(&None), &mut values);
                });
            }
            Ok(values)
        })
    }

    /// `select/3`: returns the first `limit` values, and the place to go on. All chunks together are as one
    /// [`Table::select`]: see [`Continuation`](crate::Continuation).
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..3).map(|n| term!({n})))?;
    /// let chunk = table.select_limit(&MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?, 2)?;
    /// assert_eq!(chunk.results, [term!(0), term!(1)]);
    /// let rest = chunk.next.expect("one more").next()?;
    /// assert_eq!(rest.results, [term!(2)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadArgument`] for a limit of 0; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn select_limit(&self, spec: &MatchSpec, limit: usize) -> Result<Chunk> {
        self.chunk(self.query(spec), limit)
    }

    /// `select_reverse/2`: returns the values of the objects that match, from the end in an `ordered_set`. Consistency
    /// as [`Table::select`].
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({2})])?;
    /// let keys = MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?;
    /// assert_eq!(table.select_reverse(&keys)?, [term!(2), term!(1)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn select_reverse(&self, spec: &MatchSpec) -> Result<Vec<Term>> {
        results(self.query(spec).reverse())
    }

    /// `select_reverse/3`: returns the first `limit` values, from the end in an `ordered_set`, and the place to go on.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..1000).map(|n| term!({n})))?;
    /// let keys = MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?;
    /// assert_eq!(table.select_reverse_limit(&keys, 2)?.results, [term!(999), term!(998)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadArgument`] for a limit of 0; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn select_reverse_limit(&self, spec: &MatchSpec, limit: usize) -> Result<Chunk> {
        self.chunk(self.query(spec).reverse(), limit)
    }

    /// `select_count/2`: returns the number of objects whose value is exactly `true`. Consistency as [`Table::select`].
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((0..10).map(|n| term!({n, n % 2})))?;
    /// let odd = MatchSpec::new(&term!([{{:"_", 1}, [], [true]}]))?;
    /// assert_eq!(table.select_count(&odd)?, 5);
    /// let odd = MatchSpec::new(&term!([{{:"_", 1}, [], [:"$_"]}]))?;
    /// assert_eq!(table.select_count(&odd)?, 0); // matches, and is not `true`
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn select_count(&self, spec: &MatchSpec) -> Result<usize> {
        counted(self.query(spec).counting())
    }

    /// `select_delete/2`: deletes the objects whose value is exactly `true`; returns their number.
    ///
    /// # Consistency
    ///
    /// Each object is judged and deleted in one atomic step: what is deleted matched when it was. The whole
    /// is not isolated, except for `[{'_', [], [true]}]`, which empties the table in one atomic and isolated step.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((0..10).map(|n| term!({n, n % 2})))?;
    /// let odd = MatchSpec::new(&term!([{{:"_", 1}, [], [true]}]))?;
    /// assert_eq!((table.select_delete(&odd)?, table.len()), (5, 5));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`]; [`Error::NoAccess`] without the right to write.
    pub fn select_delete(&self, spec: &MatchSpec) -> Result<usize> {
        counted(self.query(spec).deleting())
    }

    /// `select_replace/2`: puts the values of the objects that match in their places; returns their number. For all but
    /// a `bag`; in a `duplicate_bag` an object's place among those of its key is kept.
    ///
    /// # Consistency
    ///
    /// Each object is judged and replaced in one atomic step, so that `[{Old, [], [{const, New}]}]` compares and
    /// swaps. The whole is not isolated.
    ///
    /// ```
    /// # use fyris::{Error, MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 10}))?;
    /// let double = term!([{{:"$1", :"$2"}, [], [{{:"$1", {:"*", :"$2", 2}}}]}]);
    /// assert_eq!(table.select_replace(&MatchSpec::new(&double)?)?, 1);
    /// assert_eq!(table.tab2list()?, [term!({1, 20})]);
    /// let swap = MatchSpec::new(&term!([{{:"$1", :"$2"}, [], [{{:"$2", :"$1"}}]}]))?;
    /// assert!(matches!(table.select_replace(&swap), Err(Error::KeyChanges { .. })));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyChanges`], before anything is touched, unless the specification provably keeps every object's key;
    /// [`Error::WrongType`] for a `bag`; as [`Table::insert`] for a new object, and then those before it are replaced.
    pub fn select_replace(&self, spec: &MatchSpec) -> Result<usize> {
        counted(self.query(spec).replacing()?)
    }

    /// Deletes the objects that match and returns their values: [`Table::select`] and a deletion of what it returns, in
    /// one atomic step for each object. Of several callers at once each object goes to one.
    ///
    /// # Consistency
    ///
    /// Each object is judged and deleted in one atomic step; the whole is not isolated. If the table goes away
    /// half-way, or the right to write to it, what was taken until then is returned: it is nowhere else (invariant
    /// TAKEN). The next call says what is wrong.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1, :due, "wash"}), term!({2, :later, "cook"}), term!({3, :due, "eat"})])?;
    /// let due = MatchSpec::new(&term!([{{:"_", :due, :"$1"}, [], [:"$1"]}]))?;
    /// assert_eq!(table.select_take(&due)?, [term!("wash"), term!("eat")]);
    /// assert_eq!(table.tab2list()?, [term!({2, :later, "cook"})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`]; [`Error::NoAccess`] without the right to write; [`Error::ReadOnly`] for a snapshot.
    /// Nothing was taken then. Within a transaction also its errors, which end it.
    pub fn select_take(&self, spec: &MatchSpec) -> Result<Vec<Term>> {
        let mut query = self.query(spec).deleting().returning();
        match query.run() {
            // What is out of the table is nowhere else. Of a transaction that fails nothing is.
            Err(Error::NoSuchTable(_) | Error::NoAccess { .. }) if query.has_results() => {
                Ok(query.take())
            }
            done => done.map(|()| query.take()),
        }
    }

    /// [`Table::select_replace`] that returns the new objects. In the order of [`Table::select`].
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1, :due}), term!({2, :later}), term!({3, :due})])?;
    /// let claim = MatchSpec::new(&term!([{{:"$1", :due}, [], [{{:"$1", :claimed}}]}]))?;
    /// assert_eq!(table.select_replace_returning(&claim)?, [term!({1, :claimed}), term!({3, :claimed})]);
    /// assert!(table.select_replace_returning(&claim)?.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::select_replace`].
    pub fn select_replace_returning(&self, spec: &MatchSpec) -> Result<Vec<Term>> {
        results(self.query(spec).replacing()?.returning())
    }

    /// `match/2`: returns for every object that matches a list of the values of the pattern's variables, in the order
    /// of their numbers. Consistency as [`Table::select`].
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1, 10, "one"}), term!({2, 20, "two"})])?;
    /// let found = table.match_pattern(&term!({:"$2", :"_", :"$1"}))?; // in the order of the numbers
    /// assert_eq!(found, [term!(["one", 1]), term!(["two", 2])]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadMatchSpec`], [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn match_pattern(&self, pattern: &Term) -> Result<Vec<Term>> {
        self.select(&compiled(pattern, Wanted::Bindings)?)
    }

    /// `match/3`: returns the values of the pattern's variables for the first `limit` objects that match, and the place
    /// to go on.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..10).map(|n| term!({n})))?;
    /// let chunk = table.match_pattern_limit(&term!({:"$1"}), 2)?;
    /// assert_eq!(chunk.results, [term!([0]), term!([1])]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadMatchSpec`]; [`Error::BadArgument`] for a limit of 0; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn match_pattern_limit(&self, pattern: &Term, limit: usize) -> Result<Chunk> {
        self.select_limit(&compiled(pattern, Wanted::Bindings)?, limit)
    }

    /// `match_object/2`: returns the objects that match. Consistency as [`Table::select`].
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_list(&[term!({1, "one"}), term!({2, "two"})])?;
    /// assert_eq!(table.match_object(&term!({:"_", "two"}))?, [term!({2, "two"})]);
    /// assert!(table.match_object(&term!({2}))?.is_empty()); // another arity
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadMatchSpec`], [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn match_object(&self, pattern: &Term) -> Result<Vec<Term>> {
        self.select(&compiled(pattern, Wanted::Objects)?)
    }

    /// `match_object/3`: returns the first `limit` objects that match, and the place to go on.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..10).map(|n| term!({n})))?;
    /// let chunk = table.match_object_limit(&term!(:"_"), 10)?;
    /// assert_eq!(chunk.results.len(), 10);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadMatchSpec`]; [`Error::BadArgument`] for a limit of 0; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn match_object_limit(&self, pattern: &Term, limit: usize) -> Result<Chunk> {
        self.select_limit(&compiled(pattern, Wanted::Objects)?, limit)
    }

    /// `match_delete/2`: deletes the objects that match. Consistency as [`Table::select_delete`]; the pattern `'_'`
    /// empties the table in one step.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_list(&[term!({1, "one"}), term!({2, "two"})])?;
    /// table.match_delete(&term!({:"_", "one"}))?;
    /// assert_eq!(table.tab2list()?, [term!({2, "two"})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadMatchSpec`], [`Error::NoSuchTable`]; [`Error::NoAccess`] without the right to write.
    pub fn match_delete(&self, pattern: &Term) -> Result<()> {
        let spec = compiled(pattern, Wanted::True)?;
        if spec.is_catch_all_true() {
            return self.delete_all_objects();
        }
        self.select_delete(&spec).map(|_| ())
    }
}

fn compiled(pattern: &Term, wanted: Wanted) -> Result<MatchSpec> {
    MatchSpec::pattern(pattern, wanted).map_err(Error::BadMatchSpec)
}

fn results(mut query: Query) -> Result<Vec<Term>> {
    query.run()?;
    Ok(query.take())
}

fn counted(mut query: Query) -> Result<usize> {
    query.run()?;
    Ok(query.count())
}
