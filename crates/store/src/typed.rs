//! Tables of Rust types.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use fyris_sync::reclaim::pin;
use fyris_term::{ConvertError, SerdeError, Term, from_term_owned, to_term};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::native_terms::record_of;
use crate::ops::Span;
use crate::record::{Object, brief, newest};
use crate::table::{ObjectIter, Table, span_of};

/// A table of one `V` for each `K`, by serde: its objects are `{Key, Value}` of the terms of [`to_term`], which Erlang,
/// Python, C and the shell read and write as any other.
///
/// Made by [`Table::typed`] of a `set` or `ordered_set`. It is a handle, as a [`Table`] is: clones share the table.
/// Consistency and costs are those of the methods of `Table` that are named; the terms are made and read besides.
///
/// A key is given as `&K`, or as what `K` borrows as, `&str` for `String`, if that has the same term: a slice does not
/// find an array, since arrays are tuples and slices are lists.
///
/// # Which keys are equal, and in which order
///
/// Keys are their terms, whatever `Eq` and `Ord` of `K` say. `None` and `Some(None)` are one key. In an `ordered_set`,
/// whose ranges are in the order of terms, so are `1` and `1.0`, and `0.0` and `-0.0`.
///
/// | `K` | in the order of `Ord` |
/// |---|---|
/// | integers of all sizes, `bool`, `char`, text, bytes, `IpAddr` | yes |
/// | tuples, tuple structs, arrays, sequences, `BTreeSet`, `Box` | as what is in them |
/// | structs | if the fields are declared in alphabetical order |
/// | enums | if the variants are declared in the order that is said below |
/// | `Option` of text, sequences, tuples, structs | yes |
/// | `Option` of numbers | no: `None` comes last |
/// | `Option` of `bool`, of enums | no: `None` is the atom `undefined`, a name among others |
/// | `BTreeMap` | no: the number of entries comes first, then the keys, then the values |
/// | `Duration`, `SystemTime` | no: these are structs, and `nanos` comes before `secs` |
/// | `Result`, `Reverse` | no: `Err` comes before `Ok`; a `Reverse` is what is in it |
/// | floats | have no `Ord`; by value. NaN and infinities are refused |
///
/// Of an enum the variants without fields come first, then those with one value or with named fields, then those with
/// more values, by how many; and each of these kinds by name.
///
/// # Errors
///
/// Of all methods: those of `Table`; [`Error::BadArgument`] and [`Error::Atom`] for a key or value that is no term;
/// [`Error::OtherObject`] if an object that is read, put in by another handle, is not of the table's types. Nothing has
/// changed then.
///
/// ```
/// use fyris::{Options, Store, TypedTable, term};
///
/// #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
/// struct User { name: String, age: Option<u8> }
///
/// let owner = Store::new().owner();
/// let users: TypedTable<u32, User> = owner.new_table("users", &Options::ordered_set())?.typed()?;
/// users.insert(&7, &User { name: "Ada".into(), age: None })?;
/// assert_eq!(users.get(&7)?.map(|user| user.name), Some("Ada".into()));
/// assert_eq!(users.table().lookup(&term!(7))?, [term!({7, #{:name => "Ada", :age => :undefined}})]);
/// # Ok::<(), fyris::Error>(())
/// ```
pub struct TypedTable<K, V> {
    table: Table,
    /// No `K` or `V` is here: what they are says nothing of the threads that may use the handle.
    types: PhantomData<fn(K) -> V>,
}

impl<K, V> Clone for TypedTable<K, V> {
    fn clone(&self) -> TypedTable<K, V> {
        TypedTable::of(self.table.clone())
    }
}

impl<K, V> fmt::Debug for TypedTable<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedTable").field(&self.table).finish()
    }
}

impl Table {
    /// Returns a handle by which the table's objects are pairs of Rust values. O(1): what is there already is not
    /// looked at.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// let ages = owner.new_table("ages", &Options::set())?.typed::<String, u8>()?;
    /// ages.insert("Ada", &36)?;
    /// let bag = owner.new_table("bag", &Options::bag())?;
    /// assert!(bag.typed::<String, u8>().is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OtherTable`] for a bag, and for a table whose keys are not the first elements.
    pub fn typed<K, V>(&self) -> Result<TypedTable<K, V>> {
        let (kind, keypos) = (self.table_type(), self.keypos());
        if kind.is_bag() || keypos != 1 {
            let name = self.name().as_str().to_owned();
            return Err(Error::OtherTable { name, kind, keypos });
        }
        Ok(TypedTable::of(self.clone()))
    }
}

impl<K, V> TypedTable<K, V> {
    fn of(table: Table) -> TypedTable<K, V> {
        TypedTable {
            table,
            types: PhantomData,
        }
    }

    /// Returns the table, for all that is not here: rights, queries, dumps, lists in one step.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let ages = owner.new_table("ages", &Options::ordered_set())?.typed::<String, u8>()?;
    /// ages.table().insert_list(&[term!({"Ada", 36}), term!({"Bob", 7})])?;
    /// assert_eq!(ages.table().first()?, Some(term!("Ada")));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the number of pairs, as [`Table::len`].
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let ages = owner.new_table("ages", &Options::set())?.typed::<String, u8>()?;
    /// ages.insert("Ada", &36)?;
    /// assert_eq!(ages.len(), 1);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether there are no pairs.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let ages = owner.new_table("ages", &Options::set())?.typed::<String, u8>()?;
    /// assert!(ages.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the table as it is at one moment of the call, as [`Table::snapshot`], to be read by the same methods. It
    /// ends when the last handle of it is dropped, or by [`Table::as_snapshot`]. What writes is [`Error::ReadOnly`].
    ///
    /// ```
    /// # use fyris::{Error, Options, Store};
    /// # let owner = Store::new().owner();
    /// # let ages = owner.new_table("ages", &Options::set())?.typed::<String, u8>()?;
    /// let before = ages.snapshot()?;
    /// ages.insert("Ada", &36)?;
    /// assert!(before.is_empty() && ages.len() == 1);
    /// assert_eq!(before.insert("Ada", &36), Err(Error::ReadOnly));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] for a snapshot.
    pub fn snapshot(&self) -> Result<TypedTable<K, V>> {
        Ok(TypedTable::of(Table::clone(&*self.table.snapshot()?)))
    }
}

impl<K, V> TypedTable<K, V>
where
    K: Serialize + DeserializeOwned,
    V: Serialize + DeserializeOwned,
{
    /// Returns the value of the key, as [`Table::get`]. Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let ages = owner.new_table("ages", &Options::set())?.typed::<String, u8>()?;
    /// ages.insert("Ada", &36)?;
    /// assert_eq!((ages.get("Ada")?, ages.get(&"Bob".to_owned())?), (Some(36), None));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    #[inline]
    pub fn get<Q: Serialize + ?Sized>(&self, key: &Q) -> Result<Option<V>>
    where
        K: Borrow<Q>,
    {
        let (key, pin) = (term_of(key)?, pin());
        let object = self.table.get(&key, &pin)?;
        object.map(|object| value_of(&object)).transpose()
    }

    /// Returns whether the key is there, as [`Table::member`]. Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let squares = owner.new_table("squares", &Options::set())?.typed::<i32, i64>()?;
    /// squares.insert(&-3, &9)?;
    /// assert!(squares.contains_key(&-3)? && !squares.contains_key(&3)?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn contains_key<Q: Serialize + ?Sized>(&self, key: &Q) -> Result<bool>
    where
        K: Borrow<Q>,
    {
        self.table.member(&term_of(key)?)
    }

    /// Sets the value of the key, as [`Table::insert`]. Linearizable. [`TypedTable::replace`] returns what was there,
    /// and looks for the key twice.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let ages = owner.new_table("ages", &Options::set())?.typed::<String, u8>()?;
    /// ages.insert("Ada", &35)?;
    /// ages.insert("Ada", &36)?;
    /// assert_eq!(ages.get("Ada")?, Some(36));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    #[inline]
    pub fn insert<Q: Serialize + ?Sized>(&self, key: &Q, value: &V) -> Result<()>
    where
        K: Borrow<Q>,
    {
        let pair = [term_of(key)?, term_of(value)?];
        self.table.insert_object(&pair[..], &pin())
    }

    /// Sets the value of the key if it has none; returns whether it did. As [`Table::insert_new`]. Linearizable.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let ages = owner.new_table("ages", &Options::set())?.typed::<String, u8>()?;
    /// assert!(ages.insert_new("Ada", &36)? && !ages.insert_new("Ada", &37)?);
    /// assert_eq!(ages.get("Ada")?, Some(36));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn insert_new<Q: Serialize + ?Sized>(&self, key: &Q, value: &V) -> Result<bool>
    where
        K: Borrow<Q>,
    {
        let pair = [term_of(key)?, term_of(value)?];
        self.table.insert_new_object(&pair[..])
    }

    /// Sets the value of the key and returns the one that it had, in one atomic step.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let ages = owner.new_table("ages", &Options::set())?.typed::<String, u8>()?;
    /// assert_eq!(ages.replace("Ada", &35)?, None);
    /// assert_eq!(ages.replace("Ada", &36)?, Some(35));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn replace<Q: Serialize + ?Sized>(&self, key: &Q, value: &V) -> Result<Option<V>>
    where
        K: Borrow<Q>,
    {
        self.swap(&term_of(key)?, |old| Ok((Some(term_of(value)?), old)))
    }

    /// Removes the key and returns its value, in one atomic step.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let ages = owner.new_table("ages", &Options::set())?.typed::<String, u8>()?;
    /// ages.insert("Ada", &36)?;
    /// assert_eq!((ages.remove("Ada")?, ages.remove("Ada")?), (Some(36), None));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn remove<Q: Serialize + ?Sized>(&self, key: &Q) -> Result<Option<V>>
    where
        K: Borrow<Q>,
    {
        // Not by `take`: a value that cannot be read stays where it is.
        self.swap(&term_of(key)?, |old| Ok((None, old)))
    }

    /// Lets `f` make the new value of the key out of the one that it has; `None` removes it. Returns the new value. One
    /// atomic step, as [`Table::upsert`]: `f` runs outside of every lock, and again when another writer was faster.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// let words = owner.new_table("words", &Options::set())?.typed::<String, Vec<u32>>()?;
    /// for (line, word) in [(1, "to"), (1, "be"), (2, "to")] {
    ///     words.update(word, |lines| {
    ///         let mut lines = lines.unwrap_or_default();
    ///         lines.push(line);
    ///         Some(lines)
    ///     })?;
    /// }
    /// assert_eq!(words.get("to")?, Some(vec![1, 2]));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn update<Q: Serialize + ?Sized>(
        &self,
        key: &Q,
        mut f: impl FnMut(Option<V>) -> Option<V>,
    ) -> Result<Option<V>>
    where
        K: Borrow<Q>,
    {
        self.swap(&term_of(key)?, |old| {
            let new = f(old);
            Ok((new.as_ref().map(term_of).transpose()?, new))
        })
    }

    /// Lets `f` make the term of a new value of the key out of the old one, and puts it in; `None` removes.
    fn swap<R>(
        &self,
        key: &Term,
        mut f: impl FnMut(Option<V>) -> Result<(Option<Term>, R)>,
    ) -> Result<R> {
        self.table.swap(key, |seen, _| {
            let old = seen.map(|seen| value_of(&newest(seen, 1))).transpose()?;
            let (new, result) = f(old)?;
            let record = new.map(|value| record_of(&[key, &value][..], 1));
            Ok((record.transpose()?.into(), result))
        })
    }

    /// Returns an iterator over all pairs, in the order of keys in an `ordered_set`. Consistency as [`Table::iter`]:
    /// more than 512 pairs are those of one moment.
    ///
    /// Of an object that is not of the table's types comes an error in its place, and the others follow.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let ages = owner.new_table("ages", &Options::ordered_set())?.typed::<String, u8>()?;
    /// ages.insert("Bob", &7)?;
    /// ages.insert("Ada", &36)?;
    /// let pairs: Vec<(String, u8)> = ages.iter().collect::<Result<_, _>>()?;
    /// assert_eq!(pairs, [("Ada".to_owned(), 36), ("Bob".to_owned(), 7)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn iter(&self) -> TypedIter<K, V> {
        TypedIter::new(&self.table, Span::ALL, false)
    }

    /// Returns an iterator over the pairs whose keys lie in a range, in the order of terms ([`TypedTable`] says for
    /// which `K` that is the order of `Ord`). Consistency as [`Table::range`], at a moment of the first step.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let squares = owner.new_table("squares", &Options::ordered_set())?.typed::<i32, i64>()?;
    /// for n in -3..=3 {
    ///     squares.insert(&n, &i64::from(n * n))?;
    /// }
    /// let few = squares.range(-2..0)?.collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(few, [(-2, 4), (-1, 1)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::WrongType`] unless the table is an `ordered_set`.
    pub fn range(&self, range: impl RangeBounds<K>) -> Result<TypedIter<K, V>> {
        self.range_towards(range, false)
    }

    /// Returns an iterator as [`TypedTable::range`], in descending order; of all pairs by `..`.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let squares = owner.new_table("squares", &Options::ordered_set())?.typed::<i32, i64>()?;
    /// squares.insert(&-3, &9)?;
    /// squares.insert(&2, &4)?;
    /// assert_eq!(squares.range_back(..2)?.next().transpose()?, Some((-3, 9)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::WrongType`] unless the table is an `ordered_set`.
    pub fn range_back(&self, range: impl RangeBounds<K>) -> Result<TypedIter<K, V>> {
        self.range_towards(range, true)
    }

    fn range_towards(&self, range: impl RangeBounds<K>, back: bool) -> Result<TypedIter<K, V>> {
        self.table.check_order("range")?;
        let bounds = (bound_of(range.start_bound())?, bound_of(range.end_bound())?);
        Ok(TypedIter::new(&self.table, span_of::<Term>(&bounds), back))
    }
}

/// An iterator over the pairs of a [`TypedTable`].
///
/// ```
/// # use fyris::{Error, Options, Store, term};
/// # let owner = Store::new().owner();
/// let ages = owner.new_table("ages", &Options::ordered_set())?.typed::<String, u8>()?;
/// ages.table().insert_list(&[term!({"Ada", "thirty"}), term!({"Bob", 7})])?;
/// let mut iter = ages.iter();
/// let error = iter.next().expect("Ada").unwrap_err().to_string();
/// assert!(error.starts_with("the object of key <<\"Ada\">> is not of the table's types"));
/// assert_eq!(iter.next(), Some(Ok(("Bob".to_owned(), 7))));
/// # Ok::<(), Error>(())
/// ```
pub struct TypedIter<K, V>(ObjectIter<Result<(K, V)>>);

impl<K: DeserializeOwned, V: DeserializeOwned> TypedIter<K, V> {
    fn new(table: &Table, span: Span, back: bool) -> TypedIter<K, V> {
        TypedIter(ObjectIter::new(table.clone(), span, back, pair_of))
    }
}

impl<K, V> Iterator for TypedIter<K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Result<(K, V)>> {
        self.0.next().map(Result::flatten)
    }
}

fn term_of<T: Serialize + ?Sized>(value: &T) -> Result<Term> {
    to_term(value).map_err(|error| match error {
        SerdeError::Atom(error) => error.into(),
        other => Error::BadArgument(other.to_string()),
    })
}

fn bound_of<T: Serialize>(bound: Bound<&T>) -> Result<Bound<Term>> {
    Ok(match bound {
        Bound::Included(key) => Bound::Included(term_of(key)?),
        Bound::Excluded(key) => Bound::Excluded(term_of(key)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

/// Returns the value of a pair. The key is not looked at.
#[inline]
fn value_of<V: DeserializeOwned>(object: &Object<'_>) -> Result<V> {
    let read = match object.element(2) {
        Some(value) if object.arity() == 2 => from_term_owned(value),
        _ => Err(arity(object)),
    };
    read.map_err(|why| other(object, why))
}

fn pair_of<K: DeserializeOwned, V: DeserializeOwned>(object: &Object<'_>) -> Result<(K, V)> {
    let key = from_term_owned(object.key()).map_err(|why| other(object, why))?;
    Ok((key, value_of(object)?))
}

#[cold]
fn arity(object: &Object<'_>) -> SerdeError {
    let (expected, found) = (2, object.arity());
    ConvertError::Arity { expected, found }.into()
}

#[cold]
fn other(object: &Object<'_>, why: SerdeError) -> Error {
    let (key, why) = (brief(&object.key()), Box::new(why));
    Error::OtherObject { key, why }
}
