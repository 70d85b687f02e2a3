//! What a subscription wants to know of.

use std::ops::{Bound, RangeBounds};

use fyris_query::{MatchSpec, Wanted};
use fyris_sync::reclaim::pin;
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::difference::{Difference, ObjectDiff};
use super::initial::VisitedObjects;
use crate::error::{Error, Result};
use crate::ids::Right;
use crate::ops::Span;
use crate::query::{machine_or_default, rejects};
use crate::record::newest;
use crate::slot::Content;
use crate::table::{ObjectIter, Table, span_of};
use crate::table_data::with_data;

/// What a subscription is told of: see [`Store::subscribe`](crate::Store::subscribe).
///
/// ```
/// use fyris::{WatchFilter, term};
///
/// let of_one = WatchFilter::key(term!(:total));
/// let errors = WatchFilter::pattern(&term!({:"_", :error, :"_"}))?;
/// let of_today = WatchFilter::range(term!({20261129, 0})..term!({20261130, 0}));
/// # let _ = (of_one, errors, of_today);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WatchFilter(Wish);

#[derive(Clone, Debug)]
enum Wish {
    All,
    Key(Term),
    Range(Bound<Term>, Bound<Term>),
    Matching(MatchSpec),
}

impl WatchFilter {
    /// Asks for all changes.
    ///
    /// ```
    /// use fyris::{Options, Store, SubscribeOptions, WatchFilter, WatchKind, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// let mut changes = table.subscribe(&WatchFilter::all(), &SubscribeOptions::new())?;
    /// table.delete_all_objects()?;
    /// let event = changes.try_next().expect("it has returned");
    /// assert_eq!(event.kind, WatchKind::Cleared { table: table.reference(), objects: 0 });
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn all() -> WatchFilter {
        WatchFilter(Wish::All)
    }

    /// Asks for the changes of one key, as the table tells keys apart. What writes other keys pays one lookup,
    /// however many subscriptions ask for keys.
    ///
    /// ```
    /// use fyris::{Options, Store, SubscribeOptions, WatchFilter, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::ordered_set())?;
    /// let mut changes = table.subscribe(&WatchFilter::key(term!(1)), &SubscribeOptions::new())?;
    /// table.insert(&term!({2}))?;
    /// assert!(changes.try_next().is_none());
    /// table.insert(&term!({1.0}))?; // the same key, in this type of table
    /// assert!(changes.try_next().is_some());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn key(key: Term) -> WatchFilter {
        WatchFilter(Wish::Key(key))
    }

    /// Asks for the changes of a range of keys of an `ordered_set`, as [`Table::range`] does.
    ///
    /// ```
    /// use fyris::{Options, Store, SubscribeOptions, WatchFilter, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::ordered_set())?;
    /// let low = WatchFilter::range(..term!(10));
    /// let mut changes = table.subscribe(&low, &SubscribeOptions::new())?;
    /// table.insert_many((5..15).map(|n| term!({n})))?;
    /// assert_eq!(std::iter::from_fn(|| changes.try_next()).count(), 5);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn range(range: impl RangeBounds<Term>) -> WatchFilter {
        let (from, to) = (range.start_bound().cloned(), range.end_bound().cloned());
        WatchFilter(Wish::Range(from, to))
    }

    /// Asks for the changes of objects for which the value of a match specification is exactly `true`, as
    /// [`Table::select_count`] does: before the change, or after it.
    ///
    /// ```
    /// use fyris::{MatchSpec, Options, Store, SubscribeOptions, WatchFilter, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// let high = MatchSpec::new(&term!([{{:"_", :"$1"}, [{:">", :"$1", 10}], [true]}]))?;
    /// let mut changes = table.subscribe(&WatchFilter::matching(high), &SubscribeOptions::new())?;
    /// table.insert(&term!({:a, 5}))?;
    /// assert!(changes.try_next().is_none());
    /// table.insert(&term!({:a, 15}))?;
    /// table.insert(&term!({:a, 6}))?; // it did match
    /// assert_eq!(std::iter::from_fn(|| changes.try_next()).count(), 2);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn matching(spec: MatchSpec) -> WatchFilter {
        WatchFilter(Wish::Matching(spec))
    }

    /// Asks for the changes of objects that match a pattern, before the change or after it.
    ///
    /// ```
    /// use fyris::{Options, Store, SubscribeOptions, WatchFilter, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::bag())?;
    /// let pattern = WatchFilter::pattern(&term!({:"_", :new}))?;
    /// let mut changes = table.subscribe(&pattern, &SubscribeOptions::new())?;
    /// table.insert_list(&[term!({1, :new}), term!({1, :old})])?;
    /// let event = changes.try_next().expect("one");
    /// assert_eq!(event.changes()[0].new, Some(term!({1, :new})));
    /// assert_eq!(event.changes().len(), 1);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadMatchSpec`].
    pub fn pattern(pattern: &Term) -> Result<WatchFilter> {
        let spec = MatchSpec::pattern(pattern, Wanted::True).map_err(Error::BadMatchSpec)?;
        Ok(WatchFilter::matching(spec))
    }

    /// Returns the filter for a table.
    pub(super) fn of(&self, table: &Table) -> Result<KeyFilter> {
        Ok(match &self.0 {
            Wish::All => KeyFilter::All,
            Wish::Key(key) => {
                let (buf, pin) = (KeyBuf::encode(key), pin());
                let data = table.live(Right::Read, &pin)?;
                KeyFilter::Key(with_data!(data, data => data.key_bytes(&buf).into()))
            }
            Wish::Range(from, to) => {
                table.check_order("a range")?;
                KeyFilter::Range(span_of(&(from.clone(), to.clone())))
            }
            Wish::Matching(spec) => KeyFilter::Matching(spec.clone()),
        })
    }
}

impl WatchFilter {
    /// Returns the objects of a table that are wanted, with `None` for each that is visited and not wanted.
    pub(super) fn objects_of(&self, table: Table) -> VisitedObjects {
        let all = |span| {
            let objects = ObjectIter::new(table.clone(), span, false, |object| object.to_term());
            objects.map(|object| object.map(Some))
        };
        match &self.0 {
            Wish::All => Box::new(all(Span::ALL)),
            Wish::Range(from, to) => Box::new(all(span_of(&(from.clone(), to.clone())))),
            Wish::Key(key) => {
                let mut objects = match table.lookup(key) {
                    Ok(objects) => objects.into_iter().map(|object| Ok(Some(object))).collect(),
                    Err(error) => vec![Err(error)],
                }
                .into_iter();
                Box::new(std::iter::from_fn(move || {
                    // With the snapshot goes what the objects refer to outside.
                    let _held = &table;
                    objects.next()
                }))
            }
            Wish::Matching(spec) => {
                let spec = spec.clone();
                let is_true = move |object: &Term| {
                    spec.run_term(object, machine_or_default(&None)) == Some(Term::atom("true"))
                };
                Box::new(all(Span::ALL).map(move |object| Ok(object?.filter(&is_true))))
            }
        }
    }
}

/// What a subscription wants to know of one table.
#[derive(Clone, Debug)]
pub(super) enum KeyFilter {
    All,
    /// The bytes of a key.
    Key(Box<[u8]>),
    Range(Span),
    Matching(MatchSpec),
}

impl KeyFilter {
    /// Returns whether a change of a key may be wanted.
    pub(super) fn may_want(&self, key: &[u8]) -> bool {
        match self {
            KeyFilter::All | KeyFilter::Matching(_) => true,
            KeyFilter::Key(wanted) => **wanted == *key,
            KeyFilter::Range(span) => span.has(key),
        }
    }

    /// Returns whether a change of a key is wanted. Runs with a slot protected.
    pub(super) fn wants(&self, key: &[u8], difference: &Difference, keypos: usize) -> bool {
        match self {
            KeyFilter::Matching(spec) => {
                let matches = |content: Content| is_true(spec, content, keypos);
                let has =
                    |one: &ObjectDiff| one.old.is_some_and(matches) || one.new.is_some_and(matches);
                difference.iter().any(has)
            }
            _ => self.may_want(key),
        }
    }
}

fn is_true(spec: &MatchSpec, content: Content, keypos: usize) -> bool {
    let object = newest(content, keypos);
    !rejects(spec, &object) && spec.matches_true(&object.view(), machine_or_default(&None))
}
