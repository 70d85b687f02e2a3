//! Reading: lookups, the fast ones that build no terms, and whole tables.

use fyris_sync::reclaim::{Guard, pin};
use fyris_term::Term;

use super::{Iter, RangeOptions, Table};
use crate::chain;
use crate::error::{Error, Result};
use crate::ids::TableType;
use crate::keys::AsKey;
use crate::ops::{Span, terms};
use crate::record::{Object, newest};
use crate::slot::Kind;

/// The result of `lookup_element`: one element, or one of each object in the bags.
///
/// ```
/// # use fyris::{Elements, Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::bag())?;
/// table.insert_list(&[term!({1, "one"}), term!({1, "uno"})])?;
/// let both = Elements::Many(vec![term!("one"), term!("uno")]);
/// assert_eq!(table.lookup_element(&term!(1), 2)?, both);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// In `set` and `ordered_set`.
    One(Term),
    /// In the bags, in insertion order.
    Many(Vec<Term>),
}

impl Elements {
    /// Returns the element, in `set` and `ordered_set`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// assert_eq!(table.lookup_element(&term!(1), 2)?.one(), Some(term!("one")));
    /// let bag = owner.new_table("b", &Options::bag())?;
    /// bag.insert(&term!({1, "one"}))?;
    /// assert_eq!(bag.lookup_element(&term!(1), 2)?.one(), None); // a list, though of one
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn one(self) -> Option<Term> {
        match self {
            Elements::One(term) => Some(term),
            Elements::Many(_) => None,
        }
    }

    /// Returns the term that ETS returns: the element, or a list.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert(&term!({1, "one"}))?;
    /// assert_eq!(table.lookup_element(&term!(1), 2)?.into_term(), term!(["one"]));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn into_term(self) -> Term {
        match self {
            Elements::One(term) => term,
            Elements::Many(terms) => Term::list(terms),
        }
    }
}

/// An answer of the generator of [`Table::init_table`].
///
/// ```
/// # use fyris::{Generated, Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// let mut parts = vec![vec![term!({1}), term!({2})], vec![term!({3})]].into_iter();
/// table.init_table(|| Ok(parts.next().map_or(Generated::EndOfInput, Generated::Objects)))?;
/// assert_eq!(table.len(), 3);
/// # Ok::<(), fyris::Error>(())
/// ```
pub enum Generated {
    /// More objects.
    Objects(Vec<Term>),
    /// There are no more objects.
    EndOfInput,
}

impl Table {
    /// Returns the object with the key, without building terms: the fast way to read. In the bags the newest
    /// of them; [`Table::get_all`] gives all.
    ///
    /// The key is a [`Term`], an `i64`, or a [`KeyBuf`](fyris_term::key::KeyBuf) encoded beforehand. No lock, no shared
    /// write, no allocation. Linearizable; what is returned is what was there at that moment.
    ///
    /// ```
    /// # use fyris::{Options, Store, Term};
    /// # let store = Store::new();
    /// # let owner = store.owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&Term::tuple(vec![Term::Int(1), Term::Int(42)]))?;
    /// let pin = fyris::pin();
    /// let object = table.get(&1, &pin)?.expect("just inserted");
    /// assert_eq!(object.element(2), Some(Term::Int(42)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    #[inline]
    pub fn get<'g>(
        &self,
        key: &(impl AsKey + ?Sized),
        pin: &'g impl Guard,
    ) -> Result<Option<Object<'g>>> {
        let content = self.look_up(key, pin)?;
        Ok(content.map(|content| crate::record::newest(content, self.keypos())))
    }

    /// Returns all objects with the key, in insertion order, as [`Table::get`] returns one.
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert_list(&[term!({1, 10}), term!({1, 20})])?;
    /// let pin = pin();
    /// let objects = table.get_all(&1, &pin)?;
    /// assert_eq!(objects[1].element(2), Some(term!(20)));
    /// assert!(table.get_all(&7, &pin)?.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn get_all<'g>(
        &self,
        key: &(impl AsKey + ?Sized),
        pin: &'g impl Guard,
    ) -> Result<Vec<Object<'g>>> {
        let content = self.look_up(key, pin)?;
        let records = content.map(chain::oldest_first).unwrap_or_default();
        Ok(records
            .into_iter()
            .map(|r| crate::record::object(r, self.keypos()))
            .collect())
    }

    /// `lookup/2`: returns the objects with the key, in insertion order. Keys are the same when `=:=`, in an
    /// `ordered_set` when `==`. Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// assert_eq!(table.lookup(&term!(1))?, [term!({1, "one"})]);
    /// assert!(table.lookup(&term!(1.0))?.is_empty()); // in an `ordered_set` it is found
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn lookup(&self, key: &Term) -> Result<Vec<Term>> {
        key.with(|buf| {
            let pin = pin();
            let content = self.look_up(buf, &pin)?;
            Ok(content.map_or_else(Vec::new, |content| {
                terms(content, self.keypos(), buf, Some(key))
            }))
        })
    }

    /// `member/2`: returns whether there is an object with the key. Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// assert!(table.member(&1)? && table.member(&term!(1))? && !table.member(&2)?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn member(&self, key: &(impl AsKey + ?Sized)) -> Result<bool> {
        let pin = pin();
        Ok(self.look_up(key, &pin)?.is_some())
    }

    /// `lookup_element/3`: returns element `position` of the object with the key, or of all of them in the bags.
    ///
    /// ```
    /// # use fyris::{Error, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// assert_eq!(table.lookup_element(&term!(1), 2)?.one(), Some(term!("one"))); // 1 is the key
    /// assert!(matches!(table.lookup_element(&term!(2), 2), Err(Error::NoSuchKey)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchKey`]; [`Error::BadPosition`] if any of the objects is shorter; [`Error::BadArgument`] for
    /// position 0, whether the key is there or not.
    pub fn lookup_element(&self, key: &Term, position: usize) -> Result<Elements> {
        self.elements(key, position)?.ok_or(Error::NoSuchKey)
    }

    /// `lookup_element/4`: returns element `position` of the object with the key, or of all of them in the bags;
    /// `default` if there is none.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1}))?;
    /// let zero = table.lookup_element_or(&term!(7), 2, term!(0))?;
    /// assert_eq!(zero.one(), Some(term!(0)));
    /// assert!(table.lookup_element_or(&term!(1), 2, term!(0)).is_err()); // the object is there, and short
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadPosition`]; [`Error::BadArgument`] for position 0, whether the key is there or not.
    pub fn lookup_element_or(
        &self,
        key: &Term,
        position: usize,
        default: Term,
    ) -> Result<Elements> {
        Ok(self
            .elements(key, position)?
            .unwrap_or(Elements::One(default)))
    }

    fn elements(&self, key: &Term, position: usize) -> Result<Option<Elements>> {
        if position == 0 {
            return Err(Error::BadArgument("positions count from 1".to_owned()));
        }
        let pin = pin();
        let Some(content) = self.look_up(key, &pin)? else {
            return Ok(None);
        };
        let element = |record| {
            let object = crate::record::object(record, self.keypos());
            let bad = || Error::BadPosition {
                position: position.to_string(),
                arity: object.arity(),
            };
            object.element(position).ok_or_else(bad)
        };
        if let (Kind::One(record), false) = (content.kind(), self.table_type().is_bag()) {
            return Ok(Some(Elements::One(element(record)?)));
        }
        let records = chain::oldest_first(content).into_iter();
        Ok(Some(Elements::Many(
            records.map(element).collect::<Result<_>>()?,
        )))
    }

    /// Returns a part of the object with the key: see [`Object::get_in`]. `None` if there is no object, or the path
    /// leads nowhere. In the bags, of the newest object. Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, #{:name => "Ada"}}))?;
    /// assert_eq!(table.get_in(&1, &[term!(2), term!(:name)])?, Some(term!("Ada")));
    /// assert_eq!(table.get_in(&1, &[term!(2), term!(:age)])?, None);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn get_in(&self, key: &(impl AsKey + ?Sized), path: &[Term]) -> Result<Option<Term>> {
        let pin = pin();
        let object = self.get(key, &pin)?;
        Ok(object.and_then(|object| object.get_in(path)))
    }

    /// `tab2list/1`: returns all objects; in term order in an `ordered_set`.
    ///
    /// # Consistency
    ///
    /// More than 512 objects are returned as they were at one moment of the call, from a
    /// [`snapshot`](Table::snapshot): no writer waits for that, and writes cost what [`Snapshot`](crate::Snapshot) says.
    /// With fewer objects each key is as it was at some moment of the call. Of a list that is inserted at once
    /// ([`Table::insert_list`]) the result then has either all objects, as later writers have changed them, or for each
    /// of its keys the objects that were there before, unless they have been deleted since.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({2}), term!({1})])?;
    /// assert_eq!(table.tab2list()?, [term!({1}), term!({2})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn tab2list(&self) -> Result<Vec<Term>> {
        self.terms_of(Span::ALL, RangeOptions::new())
    }

    /// Returns an iterator over all objects, in term order in an `ordered_set`. It is `Send` and pins nothing
    /// itself between its steps. Consistency as [`Table::tab2list`], at a moment of the first step.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1, 10}), term!({2, 20})])?;
    /// let objects = table.iter().collect::<Result<Vec<_>, _>>()?; // the table may go away meanwhile
    /// assert_eq!(objects, [term!({1, 10}), term!({2, 20})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn iter(&self) -> Iter {
        Iter::new(self.clone(), false)
    }

    /// Returns an iterator over all objects, in descending term order in an `ordered_set`. It is `Send` and pins
    /// nothing itself between its steps. Consistency as [`Table::iter`].
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({2})])?;
    /// assert_eq!(table.iter_back().next().transpose()?, Some(term!({2})));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn iter_back(&self) -> Iter {
        Iter::new(self.clone(), true)
    }

    /// `foldl/3`: calls `f` on every object and the value that it returned before, in ascending order in an
    /// `ordered_set`; returns the last value. `f` may use the table. Consistency as [`Table::tab2list`].
    ///
    /// `f` runs under a pin and outside of every lock: what others free meanwhile waits for some hundred calls of `f`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_list(&[term!({1, 10}), term!({2, 20})])?;
    /// assert_eq!(table.foldl(0, |_, count| count + 1)?, 2); // the object comes first, as in `ets`
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn foldl<A>(&self, init: A, f: impl FnMut(Term, A) -> A) -> Result<A> {
        self.fold(false, init, f)
    }

    /// `foldr/3`: calls `f` on every object and the value that it returned before, in descending order in an
    /// `ordered_set`; returns the last value. `f` runs under a pin, as that of [`Table::foldl`] does.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({2})])?;
    /// let keys = table.foldr(vec![], |object, mut all| {
    ///     all.push(object);
    ///     all
    /// })?;
    /// assert_eq!(keys, [term!({2}), term!({1})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn foldr<A>(&self, init: A, f: impl FnMut(Term, A) -> A) -> Result<A> {
        self.fold(true, init, f)
    }

    fn fold<A>(&self, back: bool, init: A, mut f: impl FnMut(Term, A) -> A) -> Result<A> {
        let back = back && self.table_type() == TableType::OrderedSet;
        let mut all = Some(init);
        self.each_batch(self.cursor_of(Span::ALL, back), usize::MAX, |records| {
            let objects = records.iter().map(|&record| newest(record, self.keypos()));
            let so_far = all.take().expect("put back");
            all = Some(objects.fold(so_far, |all, object| f(object.to_term(), all)));
        })?;
        Ok(all.expect("put back"))
    }

    /// `init_table/2`: replaces the content by what the generator gives until it is done.
    ///
    /// Not atomic: readers see the table empty and then filling.
    ///
    /// ```
    /// # use fyris::{Generated, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1}))?;
    /// let mut some = Some(vec![term!({2})]);
    /// table.init_table(|| Ok(some.take().map_or(Generated::EndOfInput, Generated::Objects)))?;
    /// assert_eq!(table.tab2list()?, [term!({2})]); // what was there is gone
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Errors of the generator; as [`Table::insert`] for the objects. Objects inserted before the error stay, and the
    /// former content of the table is gone.
    pub fn init_table(&self, mut generator: impl FnMut() -> Result<Generated>) -> Result<()> {
        self.delete_all_objects()?;
        while let Generated::Objects(objects) = generator()? {
            self.insert_list(&objects)?;
        }
        Ok(())
    }
}
