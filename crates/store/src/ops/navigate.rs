//! First, next, last, previous, and the slots.
//!
//! Hash tables have an order too, that of hashes, and it is a property of keys alone: from a key
//! that is there, or was while the table was fixed, the next one is found without any cursor. Scans
//! and slots have the same order.

use std::ops::Bound;

use fyris_index::{Batch, Entry, Index, OrderedIndex, Range};
use fyris_sync::reclaim::Guard;

use super::scan::precedes;
use crate::error::{Error, Result};
use crate::key_kind::{Exact, KeyKind, Order};
use crate::slot::{Content, Moment, Now, Slot};
use crate::table_data::TableData;

/// Moving about in a table, in the way its type does.
pub(crate) trait Navigate<K: KeyKind> {
    /// Returns the content of the first key.
    fn first(&self, moment: impl Moment, pin: &impl Guard) -> Option<Content>;

    /// Returns the content of the last key; in tables without an order the same as [`Navigate::first`].
    fn last(&self, moment: impl Moment, pin: &impl Guard) -> Option<Content>;

    /// Returns the content of the key after this one. Where the key must be there, `known` may vouch for one that
    /// is not.
    fn next(
        &self,
        key: &K::Key,
        known: impl FnOnce() -> bool,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Result<Option<Content>>;

    /// Returns the content of the key before this one; in tables without an order the same as [`Navigate::next`].
    fn prev(
        &self,
        key: &K::Key,
        known: impl FnOnce() -> bool,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Result<Option<Content>>;

    /// Appends the entries of slot `slot`; `false` one past the last slot.
    fn slot(&self, slot: usize, pin: &impl Guard, out: &mut Batch<Slot<K>>) -> Result<bool>;

    /// Appends the entries of a range in the index's order (with `back` from the end, where keys have an order), at
    /// least `want` if there are that many, up to a key to go on behind; returns whether there may be more.
    fn scan(
        &self,
        range: Range<'_, K::Key>,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<Slot<K>>,
    ) -> bool;

    /// Appends entries, fewer than `parts`, whose keys cut the index into parts of about the same size.
    fn split(&self, parts: usize, pin: &impl Guard, out: &mut Batch<Slot<K>>);

    /// Returns about which part of the keys lies in a range; all of them where there is no order.
    fn estimated_share(&self, range: Range<'_, K::Key>, pin: &impl Guard) -> f64;

    /// Returns whether the index counts: [`Navigate::nth`] and [`Navigate::count`].
    fn counts(&self) -> bool;

    /// Returns the content of the `n`-th key from 0, or of the next one if that is not there yet; `None` if there are
    /// no more than `n`, or the index does not count.
    fn nth(&self, n: usize, pin: &impl Guard) -> Option<Content>;

    /// Returns the number of keys in a range; `None` if the index does not count.
    fn count(&self, range: Range<'_, K::Key>, pin: &impl Guard) -> Option<usize>;
}

impl<I: Index<Slot<Exact>>> Navigate<Exact> for TableData<Exact, I> {
    fn first(&self, moment: impl Moment, pin: &impl Guard) -> Option<Content> {
        self.after(None, moment, pin)
    }

    fn last(&self, moment: impl Moment, pin: &impl Guard) -> Option<Content> {
        self.after(None, moment, pin)
    }

    fn next(
        &self,
        key: &<Exact as KeyKind>::Key,
        known: impl FnOnce() -> bool,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Result<Option<Content>> {
        if self.get_at(key, moment, pin).is_none() && !known() {
            return Err(Error::NoSuchKey);
        }
        Ok(self.after(Some(key), moment, pin))
    }

    fn prev(
        &self,
        key: &<Exact as KeyKind>::Key,
        known: impl FnOnce() -> bool,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Result<Option<Content>> {
        self.next(key, known, moment, pin)
    }

    fn slot(&self, slot: usize, pin: &impl Guard, out: &mut Batch<Slot<Exact>>) -> Result<bool> {
        let slots = self.index.slots();
        if slot >= slots {
            return if slot == slots {
                Ok(false)
            } else {
                Err(Error::BadSlot { slot, slots })
            };
        }
        self.index.slot(slot, pin, out);
        Ok(true)
    }

    fn scan(
        &self,
        range: Range<'_, <Exact as KeyKind>::Key>,
        _: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<Slot<Exact>>,
    ) -> bool {
        self.index.scan(range, want, pin, out)
    }

    fn split(&self, parts: usize, pin: &impl Guard, out: &mut Batch<Slot<Exact>>) {
        self.index.split(parts, pin, out);
    }

    fn estimated_share(&self, _: Range<'_, <Exact as KeyKind>::Key>, _: &impl Guard) -> f64 {
        1.0
    }

    fn counts(&self) -> bool {
        false
    }

    fn nth(&self, _: usize, _: &impl Guard) -> Option<Content> {
        None
    }

    fn count(&self, _: Range<'_, <Exact as KeyKind>::Key>, _: &impl Guard) -> Option<usize> {
        None
    }
}

impl<I: Index<Slot<Exact>>> TableData<Exact, I> {
    /// Returns the content of the first key behind `key` that has one.
    fn after(
        &self,
        key: Option<&<Exact as KeyKind>::Key>,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Option<Content> {
        let mut entry = self.index.next_entry(key, pin)?;
        loop {
            if let Some(content) = moment.read(entry) {
                return Some(content);
            }
            // A key of another moment, or one that a commit under way will put in: go on behind it.
            entry = self.index.next_entry(Some(entry.key()), pin)?;
        }
    }
}

type OrderKey = <Order as KeyKind>::Key;

impl<I: OrderedIndex<Slot<Order>>> Navigate<Order> for TableData<Order, I> {
    fn first(&self, moment: impl Moment, pin: &impl Guard) -> Option<Content> {
        self.above(Bound::Unbounded, moment, pin)
    }

    fn last(&self, moment: impl Moment, pin: &impl Guard) -> Option<Content> {
        self.below(Bound::Unbounded, moment, pin)
    }

    fn next(
        &self,
        key: &OrderKey,
        _: impl FnOnce() -> bool,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Result<Option<Content>> {
        Ok(self.above(Bound::Excluded(key), moment, pin))
    }

    fn prev(
        &self,
        key: &OrderKey,
        _: impl FnOnce() -> bool,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Result<Option<Content>> {
        Ok(self.below(Bound::Excluded(key), moment, pin))
    }

    fn slot(&self, slot: usize, pin: &impl Guard, out: &mut Batch<Slot<Order>>) -> Result<bool> {
        self.index.slot(slot, pin, out);
        if out.is_empty() {
            let slots = self.index.len();
            return if slot <= slots {
                Ok(false)
            } else {
                Err(Error::BadSlot { slot, slots })
            };
        }
        Ok(true)
    }

    fn scan(
        &self,
        range: Range<'_, OrderKey>,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<Slot<Order>>,
    ) -> bool {
        if back {
            self.index.scan_back(range, want, pin, out)
        } else {
            self.index.scan(range, want, pin, out)
        }
    }

    fn split(&self, parts: usize, pin: &impl Guard, out: &mut Batch<Slot<Order>>) {
        self.index.split(parts, pin, out);
    }

    fn estimated_share(&self, (from, to): Range<'_, OrderKey>, pin: &impl Guard) -> f64 {
        let end = match to {
            // The keys at or below the bound are the keys below the place behind it.
            Bound::Included(key) => self.index.estimated_rank(Bound::Excluded(key), pin),
            Bound::Excluded(key) => self.index.estimated_rank(Bound::Included(key), pin),
            Bound::Unbounded => 1.0,
        };
        (end - self.index.estimated_rank(from, pin)).clamp(0.0, 1.0)
    }

    fn counts(&self) -> bool {
        self.index.counts()
    }

    fn nth(&self, n: usize, pin: &impl Guard) -> Option<Content> {
        let entry = self.index.nth(n, pin)?;
        match entry.read() {
            Some(content) => Some(content),
            // A key that a commit under way will put in: go on behind it.
            None => self.above(Bound::Excluded(entry.key()), Now, pin),
        }
    }

    fn count(&self, range: Range<'_, OrderKey>, pin: &impl Guard) -> Option<usize> {
        self.index.count(range, pin)
    }
}

impl<I: OrderedIndex<Slot<Order>>> TableData<Order, I> {
    /// Returns the first content from a bound on.
    pub(super) fn above(
        &self,
        from: Bound<&OrderKey>,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Option<Content> {
        self.nearest(from, false, moment, pin)
    }

    /// Returns the last content up to a bound.
    fn below(
        &self,
        from: Bound<&OrderKey>,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Option<Content> {
        self.nearest(from, true, moment, pin)
    }

    #[inline]
    fn nearest(
        &self,
        from: Bound<&OrderKey>,
        back: bool,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Option<Content> {
        let (mut passed, mut horizon): (Option<Slot<Order>>, Option<Slot<Order>>) = (None, None);
        loop {
            let from = passed
                .as_ref()
                .map_or(from, |slot| Bound::Excluded(slot.key()));
            let in_sight = |slot: &Slot<Order>| {
                horizon.is_none_or(|end| !precedes(end.key(), slot.key(), back))
            };
            let found = seek(&self.index, from, back, pin).filter(in_sight);
            let graves = self.graves_at(moment);
            // After the index (BURIED), and no further than that has led.
            let is_before = |slot: &Slot<Order>| match found {
                None => in_sight(slot),
                Some(found) => precedes(slot.key(), found.key(), back),
            };
            let buried =
                graves.and_then(|graves| first_buried(graves, from, back, is_before, moment, pin));
            if buried.is_some() {
                return buried;
            }
            let slot = found?;
            let same = || moment.read(graves?.get(slot.key(), pin)?);
            if let Some(content) = moment.read(slot).or_else(same) {
                return Some(content);
            }
            // A key of another moment, or one that a commit under way will put in: go on behind it, but not after a
            // writer that puts in ever higher keys (ever lower ones, going back).
            passed = Some(slot);
            if graves.is_some() && horizon.is_none() {
                let all = (Bound::Unbounded, Bound::Unbounded);
                horizon = self.last_entry(all, back, moment, pin);
            }
        }
    }
}

/// Returns what the first key holds at a moment that has a grave from a bound on, as far as graves are wanted.
fn first_buried(
    graves: &impl OrderedIndex<Slot<Order>>,
    from: Bound<&OrderKey>,
    back: bool,
    is_wanted: impl Fn(&Slot<Order>) -> bool,
    moment: impl Moment,
    pin: &impl Guard,
) -> Option<Content> {
    let mut slot = seek(graves, from, back, pin)?;
    while is_wanted(&slot) {
        if let Some(content) = moment.read(slot) {
            return Some(content);
        }
        slot = seek(graves, Bound::Excluded(slot.key()), back, pin)?;
    }
    None
}

/// Returns the first entry from a bound on; back: the last one up to it.
#[inline]
fn seek(
    index: &impl OrderedIndex<Slot<Order>>,
    from: Bound<&OrderKey>,
    back: bool,
    pin: &impl Guard,
) -> Option<Slot<Order>> {
    match back {
        true => index.seek_back(from, pin),
        false => index.seek(from, pin),
    }
}
