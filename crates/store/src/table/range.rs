//! Ranges, prefixes and the nearest key: what only a table in order can answer.

use std::ops::{Bound, RangeBounds};

use fyris_sync::reclaim::{Guard, pin};
use fyris_term::Term;

use super::{FEW, Prefix, Table};
use crate::error::{Error, Result};
use crate::ids::{Right, TableType};
use crate::keys::AsKey;
use crate::ops::Span;
use crate::record::{Object, newest};
use crate::slot::Content;
use crate::view::{ReadMany, View};

/// Objects fetched in one step of a range.
pub(super) const STEP: usize = 256;

/// The part of a range that is wanted, and its form.
///
/// ```
/// # use fyris::RangeOptions;
/// let newest_ten_keys = RangeOptions::new().reverse().limit(10).keys_only();
/// # let _ = newest_ten_keys;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeOptions {
    pub(super) limit: Option<usize>,
    pub(super) reverse: bool,
    pub(super) keys_only: bool,
}

impl RangeOptions {
    /// Makes the options for a whole range, as objects, in ascending order.
    ///
    /// ```
    /// # use fyris::{Options, RangeOptions, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1, "one"}), term!({2, "two"})])?;
    /// assert_eq!(table.range(.., RangeOptions::new())?, table.tab2list()?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn new() -> RangeOptions {
        RangeOptions::default()
    }

    /// Limits the result to `limit` objects or keys, counted from the end that the range is read from.
    ///
    /// ```
    /// # use fyris::{Options, RangeOptions, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({2}), term!({3})])?;
    /// let last = table.range(.., RangeOptions::new().reverse().limit(1))?; // from the end
    /// assert_eq!(last, [term!({3})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn limit(self, limit: usize) -> RangeOptions {
        RangeOptions {
            limit: Some(limit),
            ..self
        }
    }

    /// Asks for descending order, from the end.
    ///
    /// ```
    /// # use fyris::{Options, RangeOptions, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({2}), term!({3})])?;
    /// let low = table.range(..term!(3), RangeOptions::new().reverse())?; // bounds stay as they are
    /// assert_eq!(low, [term!({2}), term!({1})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn reverse(self) -> RangeOptions {
        RangeOptions {
            reverse: true,
            ..self
        }
    }

    /// Asks for keys instead of objects.
    ///
    /// ```
    /// # use fyris::{Options, RangeOptions, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// assert_eq!(table.range(.., RangeOptions::new().keys_only())?, [term!(1)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn keys_only(self) -> RangeOptions {
        RangeOptions {
            keys_only: true,
            ..self
        }
    }

    pub(super) fn form(self, object: &Object<'_>) -> Term {
        if self.keys_only {
            object.key()
        } else {
            object.to_term()
        }
    }
}

/// A range of an `ordered_set` that is read bit by bit.
///
/// Between its steps it holds no pin and no lock, only keys; it survives any change of the table, belongs to
/// no thread, and may be dropped at any time.
///
/// # Consistency
///
/// An object that is there throughout comes up exactly once. One that comes or goes meanwhile may or may not; after the
/// second batch none that comes behind the last key of then, so that writers of ever higher keys (of ever lower ones,
/// in descending order) cannot keep it from its end. A batch sees all of a list that is inserted at once or nothing;
/// between two batches such a list may come.
///
/// ```
/// # use fyris::{Options, RangeOptions, Store, pin, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::ordered_set())?;
/// table.insert_list(&[term!({1}), term!({2}), term!({3})])?;
/// let mut cursor = table.range_cursor(term!(2).., RangeOptions::new())?;
/// table.delete_key(&2)?; // the cursor remembers keys only
/// let (pin, mut objects) = (pin(), Vec::new());
/// cursor.next_batch(&table, 10, &pin, &mut objects)?;
/// assert_eq!(objects[0].key(), term!(3));
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RangeCursor {
    span: Span,
    back: bool,
    pub(super) ended: bool,
}

impl RangeCursor {
    /// Appends at least `want` more objects, or all if fewer are left, and perhaps a few more; builds no terms.
    /// Returns `false` when the range is at its end.
    ///
    /// ```
    /// # use fyris::{Options, RangeOptions, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({2})])?;
    /// let mut cursor = table.range_cursor(.., RangeOptions::new())?;
    /// let (pin, mut objects) = (pin(), Vec::new());
    /// while cursor.next_batch(&table, 1, &pin, &mut objects)? {}
    /// assert_eq!(objects.len(), 2); // `false` may come with objects
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`]; [`Error::WrongType`] if `table` has no order.
    pub fn next_batch<'g>(
        &mut self,
        table: &Table,
        want: usize,
        pin: &'g impl Guard,
        out: &mut Vec<Object<'g>>,
    ) -> Result<bool> {
        table.check_order("range")?;
        table.check_iteration("range")?;
        let mut records = Vec::new();
        table.read_under(pin, |view, pin| {
            self.step(&mut view.read_many(pin), want, pin, &mut records);
            Ok(())
        })?;
        out.extend(records.into_iter().map(|r| newest(r, table.keypos())));
        Ok(!self.ended)
    }

    pub(super) fn step(
        &mut self,
        reader: &mut impl ReadMany,
        want: usize,
        pin: &impl Guard,
        records: &mut Vec<Content>,
    ) {
        let (span, back) = (&mut self.span, self.back);
        let enough = records.len() + want;
        while records.len() < enough && !self.ended {
            let missing = (enough - records.len()).min(STEP);
            let already = records.len();
            self.ended = !reader.scan(span, back, missing, pin, records);
            records[already..]
                .iter()
                .for_each(|record| record.prefetch());
        }
    }
}

impl Table {
    /// Returns the objects whose keys lie in a range, in order; bounds are inclusive, exclusive or open, as Rust's
    /// ranges are. Keys compare as in the table: `1` and `1.0` are the same bound. A range that ends before it begins
    /// is empty.
    ///
    /// ```
    /// # use fyris::{Options, RangeOptions, Store, Term};
    /// # let store = Store::new();
    /// # let owner = store.owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// for n in 0..100 {
    ///     table.insert(&Term::tuple(vec![Term::Int(n)]))?;
    /// }
    /// let keys = RangeOptions::new().keys_only();
    /// let few = table.range(Term::Int(7)..Term::Int(9), keys)?;
    /// assert_eq!(few, [Term::Int(7), Term::Int(8)]);
    /// let last = table.range(.., keys.reverse().limit(1))?;
    /// assert_eq!(last, [Term::Int(99)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// O(log n) and what is returned. Consistency as [`Table::tab2list`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongType`] unless the table is an `ordered_set`; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn range(&self, range: impl RangeBounds<Term>, options: RangeOptions) -> Result<Vec<Term>> {
        self.span_terms("range", span_of(&range), options)
    }

    /// Returns the objects whose keys begin alike, in order: a range, found from the prefix. O(log n) and what is
    /// returned. Consistency as [`Table::tab2list`].
    ///
    /// ```
    /// # use fyris::{Options, Prefix, RangeOptions, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({"car"}), term!({"cart"}), term!({"cat"})])?;
    /// let found = table.prefix(&Prefix::Binary(b"car".to_vec()), RangeOptions::new())?;
    /// assert_eq!(found, [term!({"car"}), term!({"cart"})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::WrongType`] unless the table is an `ordered_set`; [`Error::BadArgument`] for more elements than the
    /// arity has room for; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn prefix(&self, prefix: &Prefix, options: RangeOptions) -> Result<Vec<Term>> {
        self.span_terms("prefix", prefix.span()?, options)
    }

    /// Returns a range to be read bit by bit, or as borrowed objects. Of the options only the direction counts.
    ///
    /// ```
    /// # use fyris::{Options, RangeOptions, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..1000).map(|n| term!({n})))?;
    /// let mut cursor = table.range_cursor(..=term!(500), RangeOptions::new().reverse())?;
    /// let (pin, mut some) = (pin(), Vec::new());
    /// cursor.next_batch(&table, 10, &pin, &mut some)?;
    /// assert_eq!(some[0].key(), term!(500));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::WrongType`] unless the table is an `ordered_set`.
    pub fn range_cursor(
        &self,
        range: impl RangeBounds<Term>,
        options: RangeOptions,
    ) -> Result<RangeCursor> {
        self.check_order("range")?;
        Ok(self.cursor_of(span_of(&range), options.reverse))
    }

    /// Returns the range of the keys that begin alike, to be read bit by bit, or as borrowed objects. Of the options
    /// only the direction counts.
    ///
    /// ```
    /// # use fyris::{Options, Prefix, RangeOptions, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({[1, 2]}), term!({[2]})])?;
    /// let mut cursor = table.prefix_cursor(&Prefix::List(vec![term!(1)]), RangeOptions::new())?;
    /// let (pin, mut some) = (pin(), Vec::new());
    /// cursor.next_batch(&table, 10, &pin, &mut some)?;
    /// assert_eq!(some.len(), 1);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::WrongType`] unless the table is an `ordered_set`; [`Error::BadArgument`] for more elements than the
    /// arity has room for.
    pub fn prefix_cursor(&self, prefix: &Prefix, options: RangeOptions) -> Result<RangeCursor> {
        self.check_order("prefix")?;
        Ok(self.cursor_of(prefix.span()?, options.reverse))
    }

    /// Returns the object with the lowest key at or above this one. O(log n). It may miss a key that comes while it
    /// looks.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1, "one"}), term!({5, "five"})])?;
    /// assert_eq!(table.seek(&term!(2))?, Some(term!({5, "five"})));
    /// assert_eq!(table.seek(&term!(5))?, Some(term!({5, "five"}))); // where `next` goes on
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::WrongType`] unless the table is an `ordered_set`; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn seek(&self, key: &Term) -> Result<Option<Term>> {
        let pin = pin();
        let found = self.seek_object(Bound::Included(key), false, &pin)?;
        Ok(found.map(|object| object.to_term()))
    }

    /// Returns the object with the highest key at or below this one. O(log n). It may miss a key that
    /// comes while it looks.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1, "one"}), term!({5, "five"})])?;
    /// assert_eq!(table.seek_back(&term!(4))?, Some(term!({1, "one"})));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::WrongType`] unless the table is an `ordered_set`; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn seek_back(&self, key: &Term) -> Result<Option<Term>> {
        let pin = pin();
        let found = self.seek_object(Bound::Included(key), true, &pin)?;
        Ok(found.map(|object| object.to_term()))
    }

    /// Returns the nearest object above a bound, or below it with `back`, without building terms.
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// use std::ops::Bound;
    /// table.insert_list(&[term!({1, 10}), term!({5, 50})])?;
    /// let pin = pin();
    /// let above = table.seek_object(Bound::Excluded(&1), false, &pin)?.expect("5 is above");
    /// assert_eq!(above.element(2), Some(term!(50)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::WrongType`] unless the table is an `ordered_set`; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn seek_object<'g>(
        &self,
        from: Bound<&(impl AsKey + ?Sized)>,
        back: bool,
        pin: &'g impl Guard,
    ) -> Result<Option<Object<'g>>> {
        self.check_order("seek")?;
        let near = from.map(|key| key.with(|buf| buf.order().to_vec()));
        let (from, to) = if back {
            (Bound::Unbounded, near)
        } else {
            (near, Bound::Unbounded)
        };
        self.check_iteration("seek")?;
        let mut cursor = self.cursor_of(Span::new(from, to), back);
        let mut records = Vec::new();
        self.read_under(pin, |view, pin| {
            cursor.step(&mut view.read_many(pin), 1, pin, &mut records);
            Ok(())
        })?;
        Ok(records.first().map(|&record| newest(record, self.keypos())))
    }

    pub(super) fn cursor_of(&self, span: Span, back: bool) -> RangeCursor {
        RangeCursor {
            span,
            back,
            ended: false,
        }
    }

    fn span_terms(
        &self,
        operation: &'static str,
        span: Span,
        options: RangeOptions,
    ) -> Result<Vec<Term>> {
        self.check_order(operation)?;
        self.terms_of(span, options)
    }

    /// Returns the objects, or keys, of a span of any table: see [`Table::each_batch`].
    pub(super) fn terms_of(&self, span: Span, options: RangeOptions) -> Result<Vec<Term>> {
        let limit = options.limit.unwrap_or(usize::MAX);
        let mut terms = Vec::new();
        self.each_batch(self.cursor_of(span, options.reverse), limit, |records| {
            let objects = records.iter().map(|&record| newest(record, self.keypos()));
            terms.extend(objects.map(|object| options.form(&object)));
        })?;
        Ok(terms)
    }

    /// Shows `f` the objects that a cursor reads, up to a limit, each batch under a pin and outside of every lock. If
    /// they are few, they are one batch of the live table; else all are as they were at one moment.
    pub(super) fn each_batch(
        &self,
        mut cursor: RangeCursor,
        limit: usize,
        mut f: impl FnMut(&[Content]),
    ) -> Result<()> {
        self.check_iteration("a scan")?;
        if self.one_batch(cursor.clone(), limit, &mut f)? {
            return Ok(());
        }
        let table = self.at_one_moment()?;
        let (mut left, mut records) = (limit, Vec::new());
        while left > 0 && !cursor.ended {
            table.read(|view, pin| {
                records.clear();
                cursor.step(&mut view.read_many(pin), left.min(FEW), pin, &mut records);
                records.truncate(left);
                table.check_right(Right::Read)?;
                f(&records);
                left -= records.len();
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns the objects that a cursor reads of the live table, in some form, if they are few.
    pub(super) fn few<T>(
        &self,
        cursor: RangeCursor,
        form: fn(&Object<'_>) -> T,
    ) -> Result<Option<Vec<T>>> {
        self.check_iteration("a scan")?;
        let mut few = Vec::new();
        let is_all = self.one_batch(cursor, usize::MAX, &mut |records| {
            let objects = records.iter().map(|&record| newest(record, self.keypos()));
            few.extend(objects.map(|object| form(&object)));
        })?;
        Ok(is_all.then_some(few))
    }

    /// Shows `f` what a cursor reads up to a limit, if that is few objects of the live table; else returns `false`.
    fn one_batch(
        &self,
        mut cursor: RangeCursor,
        limit: usize,
        f: &mut impl FnMut(&[Content]),
    ) -> Result<bool> {
        if !self.is_live() {
            return Ok(false);
        }
        self.read(|view, pin| {
            // Where the number of objects tells, nothing is read to throw it away.
            if cursor.span == Span::ALL && limit > FEW && view.about() > FEW {
                return Ok(false);
            }
            let mut records = Vec::new();
            cursor.step(
                &mut view.read_many(pin),
                limit.min(FEW + 1),
                pin,
                &mut records,
            );
            records.truncate(limit);
            let is_all = records.len() <= FEW && (cursor.ended || records.len() == limit);
            if is_all {
                // Objects that were read without the right to it are not handed out.
                self.check_right(Right::Read)?;
                f(&records);
            }
            Ok(is_all)
        })
    }

    /// Refuses an operation that visits keys when the table's index cannot.
    pub(crate) fn check_iteration(&self, operation: &'static str) -> Result<()> {
        let index = &self.shared.settings.index;
        match index.features().iteration {
            true => Ok(()),
            false => Err(Error::LacksFeature {
                index: index.name(),
                feature: "iteration",
                operation,
            }),
        }
    }

    /// Refuses an operation that needs the order of keys.
    pub(crate) fn check_order(&self, operation: &'static str) -> Result<()> {
        match self.table_type() {
            TableType::OrderedSet => Ok(()),
            found => Err(Error::WrongType { operation, found }),
        }
    }
}

/// Returns the span of a range of keys.
pub(crate) fn span_of<K: AsKey>(range: &impl RangeBounds<K>) -> Span {
    let bytes = |bound: Bound<&K>| bound.map(|key| key.with(|buf| buf.order().to_vec()));
    Span::new(bytes(range.start_bound()), bytes(range.end_bound()))
}
