//! Places in the order of keys, on the indexes that count.

use std::ops::RangeBounds;

use fyris_sync::reclaim::LocalGuard;
use fyris_term::Term;

use super::Table;
use super::range::span_of;
use crate::error::{Error, Result};
use crate::ops::Span;
use crate::slot::Content;
use crate::view::View;

/// # Places in the order of keys
///
/// The Judy arrays of strings, `judysl` and `judyesl` of the crate `fyris-judy`, know how many keys are before a key
/// ([`Options::index`](crate::Options::index)). On a table on another index these calls fail with
/// [`Error::LacksFeature`], as it would have to look at all keys.
///
/// Each takes O(bytes of the key) steps, whatever the number of objects, under the table's lock. Each is linearizable
/// with operations on one key. A key of a list that is being inserted may be counted before the list is seen, as in
/// `info(T, size)`.
impl Table {
    /// `nth/2`: returns the `n`-th key in term order, from 0; `None` if there are no more than `n`.
    ///
    /// Beside a snapshot a key counts until the call that deletes it has returned, here and below.
    ///
    /// ```
    /// # use fyris::{Error, Options, Store, Term};
    /// # let mut store = Store::new();
    /// fyris_judy::register(&mut store)?;
    /// # let owner = store.owner();
    /// let table = owner.new_table("scores", &Options::ordered_set().index("judyesl"))?;
    /// for score in [70, 20, 50, 90] {
    ///     table.insert(&Term::tuple(vec![Term::Int(score)]))?;
    /// }
    /// assert_eq!(table.nth(1)?, Some(Term::Int(50)));
    /// assert_eq!(table.rank(&Term::Int(70))?, 2);
    /// assert_eq!(table.count_between(&(Term::Int(50)..=Term::Int(80)))?, 2);
    /// let other = owner.new_table("other", &Options::ordered_set())?;
    /// assert!(matches!(other.nth(1), Err(Error::LacksFeature { .. })));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LacksFeature`] if the table's index does not count; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn nth(&self, n: usize) -> Result<Option<Term>> {
        self.read(|view, pin| {
            let content = self.content_of_nth(n, &view, pin)?;
            Ok(content.map(|content| crate::record::newest(content, self.keypos()).key()))
        })
    }

    /// `rank/2`: returns the number of keys below this one, which need not be there.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let mut store = Store::new();
    /// # fyris_judy::register(&mut store)?;
    /// # let owner = store.owner();
    /// let table = owner.new_table("scores", &Options::ordered_set().index("judyesl"))?;
    /// table.insert_list(&[term!({20}), term!({70})])?;
    /// assert_eq!(table.rank(&term!(50))?, 1); // 50 is not there
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LacksFeature`] if the table's index does not count; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn rank(&self, key: &Term) -> Result<usize> {
        self.count_span("rank", &span_of(&(..key.clone())))
    }

    /// `count_between/3`: returns the number of keys in a range; none if it ends before it begins.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let mut store = Store::new();
    /// # fyris_judy::register(&mut store)?;
    /// # let owner = store.owner();
    /// let table = owner.new_table("scores", &Options::ordered_set().index("judyesl"))?;
    /// table.insert_list(&[term!({20}), term!({70})])?;
    /// assert_eq!(table.count_between(&(term!(20)..term!(70)))?, 1);
    /// assert_eq!(table.count_between(&(term!(70)..term!(20)))?, 0);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LacksFeature`] if the table's index does not count; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn count_between(&self, range: &impl RangeBounds<Term>) -> Result<usize> {
        self.count_span("count_between", &span_of(range))
    }

    /// Returns what a view holds at the `n`-th key.
    pub(crate) fn content_of_nth(
        &self,
        n: usize,
        view: &impl View,
        pin: &LocalGuard,
    ) -> Result<Option<Content>> {
        match view.counts() {
            true => Ok(view.nth(n, pin)),
            false => Err(self.does_not_count("nth")),
        }
    }

    pub(super) fn count_span(&self, operation: &'static str, span: &Span) -> Result<usize> {
        self.read(|view, pin| {
            let count = view.count(span, pin);
            count.ok_or_else(|| self.does_not_count(operation))
        })
    }

    fn does_not_count(&self, operation: &'static str) -> Error {
        Error::LacksFeature {
            index: self.shared.settings.index.name(),
            feature: "counts of keys (judysl and judyesl of an ordered_set have them)",
            operation,
        }
    }
}
