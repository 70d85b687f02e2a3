//! Taking many objects out: ranges, and all of a table.
//!
//! A range is deleted key by key, each under the protection of its slot; whatever is under the key at
//! that moment goes. Nothing is lost between the table and what is returned, and nothing comes out twice.

use std::ops::RangeBounds;

use fyris_sync::reclaim::pin;
use fyris_term::Term;

use super::range::{STEP, span_of};
use super::{Prefix, RangeCursor, RangeOptions, Table};
use crate::error::Result;
use crate::ops::Span;
use crate::record::{Object, RecordPtr, object};
use crate::table_data::{AnyTableData, with_data};
use crate::view::View;
use crate::writer::Writer;

impl RangeCursor {
    /// Takes out what is under the next `want` keys, and a few more, and shows each object to `f`: so that a caller may
    /// stop between two batches. `false` when the range is at its end, and nothing was taken.
    ///
    /// # Consistency
    ///
    /// Each object is taken atomically, the batch as a whole is not. Objects that are inserted meanwhile may or may not
    /// be taken.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..1000).map(|n| term!({n})))?;
    /// let (mut cursor, mut taken) = (table.drain_cursor(), 0);
    /// cursor.take_batch(&table, 10, |_| taken += 1)?;
    /// assert_eq!(table.len() + taken, 1000);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::WrongType`] if `table` has no order; [`crate::Error::NoSuchTable`]; [`crate::Error::NoAccess`]
    /// without the right to write. Nothing was taken by this call then.
    pub fn take_batch(
        &mut self,
        table: &Table,
        want: usize,
        mut f: impl FnMut(Object<'_>),
    ) -> Result<bool> {
        let mut all = usize::MAX;
        table.take_step(self, want, &mut all, &mut f)
    }
}

impl Table {
    /// Deletes the objects whose keys lie in a range; how many there were.
    ///
    /// # Consistency
    ///
    /// Each object is deleted atomically, the range as a whole is not. Objects that are inserted meanwhile may or
    /// may not be deleted.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..10).map(|n| term!({n})))?;
    /// assert_eq!(table.delete_range(term!(2)..term!(5))?, 3);
    /// assert_eq!(table.delete_range(term!(5)..term!(2))?, 0);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::WrongType`] unless the table is an `ordered_set`; [`crate::Error::NoSuchTable`];
    /// [`crate::Error::NoAccess`] without the right to write. What was deleted before stays deleted.
    pub fn delete_range(&self, range: impl RangeBounds<Term>) -> Result<usize> {
        self.check_order("delete_range")?;
        let mut count = 0;
        self.take_span(span_of(&range), RangeOptions::new(), |_| count += 1)?;
        Ok(count)
    }

    /// Deletes the objects whose keys begin alike; how many there were. Each object is deleted atomically, all together
    /// are not.
    ///
    /// ```
    /// # use fyris::{Options, Prefix, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({{:ada, 1}}), term!({{:ada, 2}}), term!({{:bob, 1}})])?;
    /// let ada = Prefix::Tuple { elements: vec![term!(:ada)], arity: 2 };
    /// assert_eq!((table.delete_prefix(&ada)?, table.len()), (2, 1));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::delete_range`]; [`crate::Error::BadArgument`] for more elements than the arity has room for.
    pub fn delete_prefix(&self, prefix: &Prefix) -> Result<usize> {
        self.check_order("delete_prefix")?;
        let mut count = 0;
        self.take_span(prefix.span()?, RangeOptions::new(), |_| count += 1)?;
        Ok(count)
    }

    /// Takes objects out of a range and returns them in order: with [`RangeOptions::limit`], the first few, such as
    /// those that are due of a queue. Of several callers at once each object goes to one.
    ///
    /// # Consistency
    ///
    /// Each object is taken atomically, the range as a whole is not. If the table goes away half-way, or the right to
    /// write to it, what was taken until then is returned: it is nowhere else (invariant TAKEN). The next call says
    /// what is wrong.
    ///
    /// ```
    /// # use fyris::{Options, RangeOptions, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({10, "wash"}), term!({20, "cook"}), term!({30, "eat"})])?;
    /// let due = table.take_range(..=term!(20), RangeOptions::new().limit(1))?;
    /// assert_eq!(due, [term!({10, "wash"})]);
    /// assert_eq!(table.len(), 2);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::WrongType`] unless the table is an `ordered_set`; [`crate::Error::NoSuchTable`];
    /// [`crate::Error::NoAccess`] without the right to write. Nothing was taken then.
    pub fn take_range(
        &self,
        range: impl RangeBounds<Term>,
        options: RangeOptions,
    ) -> Result<Vec<Term>> {
        self.check_order("take_range")?;
        self.taken(span_of(&range), options, |object| options.form(object))
    }

    /// Takes all objects out and returns them; in order, from an `ordered_set`. For every type of table.
    ///
    /// # Consistency
    ///
    /// Key by key: an object that is there when the call begins is returned, or was deleted or taken by another;
    /// one that is inserted meanwhile is returned or stays. No object is lost and none comes out twice. (Swapping
    /// the whole content for an empty one, as `delete_all_objects` does, would lose what a writer under way puts
    /// into the old.) If the table goes away half-way, what was taken until then is returned.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({2}), term!({1})])?;
    /// assert_eq!(table.drain()?, [term!({1}), term!({2})]);
    /// assert!(table.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`]; nothing was taken then.
    pub fn drain(&self) -> Result<Vec<Term>> {
        self.taken(Span::ALL, RangeOptions::new(), |object| object.to_term())
    }

    /// Takes objects out of a span. Invariant **TAKEN**: an object that is out of the table is with the caller.
    fn taken(
        &self,
        span: Span,
        options: RangeOptions,
        mut form: impl FnMut(&Object<'_>) -> Term,
    ) -> Result<Vec<Term>> {
        let mut terms = Vec::new();
        let taken = |object: Object<'_>| terms.push(form(&object));
        match self.take_span(span, options, taken) {
            Err(error) if terms.is_empty() || cfg!(fyris_mutant = "store_take_forgets") => {
                Err(error)
            }
            _ => Ok(terms),
        }
    }

    /// Removes the keys of a span one by one and shows `f` what was under them. An error may come half-way.
    fn take_span(
        &self,
        span: Span,
        options: RangeOptions,
        mut f: impl FnMut(Object<'_>),
    ) -> Result<()> {
        let mut cursor = self.cursor_of(span, options.reverse);
        let mut left = options.limit.unwrap_or(usize::MAX);
        while left > 0 && self.take_step(&mut cursor, STEP, &mut left, &mut f)? {}
        Ok(())
    }

    /// Returns a cursor over the whole table, to be taken out bit by bit by [`RangeCursor::take_batch`]: as
    /// [`Table::drain`], for every type of table.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert_list(&[term!({1, 10}), term!({1, 20})])?;
    /// let (mut cursor, mut taken) = (table.drain_cursor(), Vec::new());
    /// while cursor.take_batch(&table, 1, |object| taken.push(object.to_term()))? {}
    /// assert_eq!(taken, [term!({1, 10}), term!({1, 20})]); // a key is taken as a whole
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn drain_cursor(&self) -> RangeCursor {
        self.cursor_of(Span::ALL, false)
    }

    /// Takes out the objects under the next `want` keys or so, and no more than `left`; returns `false` at the end of
    /// the span.
    fn take_step(
        &self,
        cursor: &mut RangeCursor,
        want: usize,
        left: &mut usize,
        f: &mut impl FnMut(Object<'_>),
    ) -> Result<bool> {
        self.check_iteration("a scan")?;
        let pin = pin();
        let mut taken = Vec::new();
        let more = self.write_under(&pin, |data, writer| {
            self.take_under(cursor, want, (data, writer), left, &mut taken)
        })?;
        // Not while others may wait for this write: `f` is the caller's.
        taken
            .into_iter()
            .for_each(|record| f(object(record, self.keypos())));
        Ok(more)
    }

    fn take_under(
        &self,
        cursor: &mut RangeCursor,
        want: usize,
        (data, writer): (&AnyTableData, &Writer<'_>),
        left: &mut usize,
        taken: &mut Vec<RecordPtr>,
    ) -> Result<bool> {
        let mut records = Vec::new();
        cursor.step(
            &mut writer.view(data)?.read_many(writer.pin),
            (*left).min(want),
            writer.pin,
            &mut records,
        );
        let more = want == 0 || !records.is_empty();
        records.dedup_by(|a, b| {
            // SAFETY: the records were found under the pin.
            unsafe { a.newest().exact() == b.newest().exact() }
        });
        for record in records {
            if *left == 0 {
                break;
            }
            *left -= usize::from(take_key(record.newest(), data, writer, taken));
        }
        Ok(more)
    }
}

/// Removes what is under the key of a record; whether there was anything.
fn take_key(
    record: RecordPtr,
    data: &AnyTableData,
    writer: &Writer<'_>,
    taken: &mut Vec<RecordPtr>,
) -> bool {
    let content = with_data!(data, b => b.remove(b.key_of(record), writer));
    let records = content.map(crate::chain::oldest_first).unwrap_or_default();
    let any = !records.is_empty();
    taken.extend(records);
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;
    use crate::error::Error;
    use crate::ids::Protection;
    use crate::{Options, Store};

    /// Objects taken before the right to them was lost are handed over; the rest is still there; then the error comes.
    #[test]
    fn an_end_half_way_loses_nothing() {
        const COUNT: i64 = 5000;
        let store = Store::new();
        let (owner, other) = (store.owner(), store.owner());
        for stop in [0, 1, 255, 256, 257, 3000] {
            let options = Options::ordered_set().public();
            let table = owner.new_table("t", &options).expect("a table");
            let object = |k| Term::tuple(vec![Term::Int(k)]);
            for k in 0..COUNT {
                table.insert(&object(k)).expect("inserts");
            }
            let guest = table.for_caller(other.id());
            let close = || {
                let private = Setting::Protection(Protection::Private);
                table.setopts(&[private]).expect("the owner may");
            };
            let mut seen = 0;
            let form = |object: &Object<'_>| {
                if seen == stop {
                    close();
                }
                seen += 1;
                object.to_term()
            };
            let taken = guest.taken(Span::ALL, RangeOptions::new(), form);
            let mut all = taken.expect("what was taken");
            assert!((1..COUNT as usize).contains(&all.len()));
            assert!(matches!(guest.drain(), Err(Error::NoAccess { .. })));
            let range = guest.take_range(.., RangeOptions::new());
            assert!(matches!(range, Err(Error::NoAccess { .. })));
            all.extend(table.drain().expect("the rest"));
            assert_eq!(all, (0..COUNT).map(object).collect::<Vec<_>>());
        }
    }
}
