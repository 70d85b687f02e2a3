//! Taking many objects out: ranges, and all of a table.
//!
//! A range is deleted key by key, each under the protection of its slot; whatever is under the key at
//! that moment goes. Nothing is lost between the table and what is returned, and nothing comes out twice.

use std::ops::RangeBounds;

use fyris_sync::reclaim::Guard;
use fyris_term::Term;

use super::range::{STEP, span_of};
use super::{Prefix, RangeCursor, RangeOptions, Table};
use crate::body::{AnyBody, with_body};
use crate::error::Result;
use crate::ops::Span;
use crate::record::{Object, RecordPtr, object};

impl RangeCursor {
    /// Takes out what is under the next `want` keys, and a few more, and shows each object to `f`: so that a caller may
    /// stop between two batches. `false` when the range is at its end, and nothing was taken.
    ///
    /// # Consistency
    ///
    /// As [`Table::delete_range`].
    ///
    /// # Errors
    ///
    /// As [`RangeCursor::next_batch`], for writing.
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
    /// # Errors
    ///
    /// As [`Table::range`], for writing.
    pub fn delete_range(&self, range: impl RangeBounds<Term>) -> Result<usize> {
        self.check_order("delete_range")?;
        let mut count = 0;
        self.take_span(span_of(&range), RangeOptions::new(), |_| count += 1)?;
        Ok(count)
    }

    /// As [`Table::delete_range`], for keys that begin alike.
    ///
    /// # Errors
    ///
    /// As [`Table::prefix`], for writing.
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
    /// As [`Table::delete_range`].
    ///
    /// # Errors
    ///
    /// As [`Table::range`], for writing.
    pub fn take_range(
        &self,
        range: impl RangeBounds<Term>,
        options: RangeOptions,
    ) -> Result<Vec<Term>> {
        self.check_order("take_range")?;
        let mut terms = Vec::new();
        let taken = |object: Object<'_>| terms.push(options.form(&object));
        self.take_span(span_of(&range), options, taken)?;
        Ok(terms)
    }

    /// Takes all objects out and returns them; in order, from an `ordered_set`. For every type of table.
    ///
    /// # Consistency
    ///
    /// Key by key: an object that is there when the call begins is returned, or was deleted or taken by another;
    /// one that is inserted meanwhile is returned or stays. No object is lost and none comes out twice. (Swapping
    /// the whole content for an empty one, as `delete_all_objects` does, would lose what a writer under way puts
    /// into the old.)
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`].
    pub fn drain(&self) -> Result<Vec<Term>> {
        let mut terms = Vec::new();
        self.take_span(Span::ALL, RangeOptions::new(), |object| {
            terms.push(object.to_term());
        })?;
        Ok(terms)
    }

    /// Removes the keys of a span one by one and shows `f` what was under them.
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

    /// Everything, to be taken out bit by bit by [`RangeCursor::take_batch`]: as [`Table::drain`], for every type of
    /// table.
    pub fn drain_cursor(&self) -> RangeCursor {
        self.cursor_of(Span::ALL, false)
    }

    /// Takes out what is under the next `want` keys or so, and no more than `left`: `false` at the end of the span.
    fn take_step(
        &self,
        cursor: &mut RangeCursor,
        want: usize,
        left: &mut usize,
        f: &mut impl FnMut(Object<'_>),
    ) -> Result<bool> {
        self.write(|body, pin| Ok(self.take_under(cursor, want, (body, pin), left, f)))
    }

    fn take_under(
        &self,
        cursor: &mut RangeCursor,
        want: usize,
        (body, pin): (&AnyBody, &Guard),
        left: &mut usize,
        f: &mut impl FnMut(Object<'_>),
    ) -> bool {
        let mut records = Vec::new();
        cursor.step(body, (*left).min(want), pin, &mut records);
        let more = !records.is_empty();
        records.dedup_by(|a, b| {
            // SAFETY: the records were found under `pin`.
            unsafe { a.exact() == b.exact() }
        });
        for record in records {
            if *left == 0 {
                break;
            }
            *left -= usize::from(self.take_key(record, body, pin, f));
        }
        more
    }

    /// Removes what is under the key of a record; whether there was anything.
    fn take_key(
        &self,
        record: RecordPtr,
        body: &AnyBody,
        pin: &Guard,
        f: &mut impl FnMut(Object<'_>),
    ) -> bool {
        let fixes = &self.core.fixes;
        let taken = with_body!(body, b => b.remove(b.key_of(record), fixes, pin));
        let records = taken.map(crate::chain::oldest_first).unwrap_or_default();
        let any = !records.is_empty();
        records
            .into_iter()
            .for_each(|record| f(object(record, self.keypos())));
        any
    }
}
