//! The view of reads: the table as it is, a snapshot of it, or what a transaction sees of it.
//!
//! Each operation that reads asks a view, and nothing else, for what a table holds; writes work on the content itself
//! ([`TableData`](crate::table_data::TableData)). Two traits, for two ways to read:
//!
//! | trait | asks for | in the live table | in a snapshot |
//! |---|---|---|---|
//! | [`View`] | one key, the next key, a slot, counts, cuts | the content at the moment of the call: linearizable | at its moment |
//! | [`ReadMany`] | several keys and ranges of keys | each key at the moment when it is read, but list inserts whole | at its moment |
//!
//! A view is asked for its reader of several keys by [`View::read_many`], which takes a place in the order of list
//! inserts; the live one is in [`live`], that of snapshots in [`past`], that of transactions in [`within`]. A call of
//! several steps takes a snapshot, and unpins between two steps.
//!
//! The contents that a view hands out stay readable while the pin lives. Between two steps a caller keeps keys, nothing
//! of a view.
//!
//! [`TableView`] and [`TableReader`] are what [`Table::read`](crate::table::Table::read) hands to all operations: one
//! of the three, as the handle says. The tests of this module plug in another view, a copy of the table, beneath scans,
//! their pieces and steps.

mod live;
mod of_handle;
mod past;
#[cfg(test)]
mod tests;
mod within;

use fyris_sync::reclaim::Guard;
use fyris_term::key::KeyBuf;

use crate::chain::{self, Fingerprints};
use crate::error::Result;
use crate::keys::AsKey;
use crate::ops::Span;
use crate::secondary::{ByValue, KeyBytes, Secondaries};
use crate::slot::Content;

pub(crate) use live::{Live, LiveReader};
pub(crate) use of_handle::{TableReader, TableView};
pub(crate) use past::Past;
pub(crate) use within::Within;

/// A step from key to key.
#[derive(Clone, Copy, Debug)]
pub enum Step<'k> {
    /// To the first key.
    First,
    /// To the last key; the same as the first except in an `ordered_set`.
    Last,
    /// To the key after this one.
    Next(&'k KeyBuf),
    /// To the key before this one.
    Prev(&'k KeyBuf),
}

/// The content of a table, one key at a time, and its counts.
pub(crate) trait View {
    /// Reads several keys: see [`View::read_many`].
    type Reader<'g>: ReadMany;

    /// Returns what a key holds; never waits.
    fn get(&self, key: &(impl AsKey + ?Sized), pin: &impl Guard) -> Option<Content>;

    /// Returns what the key with these bytes holds.
    fn get_bytes(&self, key: &[u8], pin: &impl Guard) -> Option<Content>;

    /// Asks for the memory of keys that are about to be read.
    fn prefetch(&self, keys: &[KeyBuf], pin: &impl Guard);

    /// Returns what the key holds that is a step away. Where a step needs a key that is there, `known` may vouch for
    /// one that is not.
    ///
    /// # Errors
    ///
    /// [`NoSuchKey`](crate::Error::NoSuchKey), in tables without an order.
    fn step(
        &self,
        step: Step<'_>,
        known: impl Fn(&KeyBuf) -> bool,
        pin: &impl Guard,
    ) -> Result<Option<Content>>;

    /// Returns the objects of slot `slot`, each by itself; `None` one past the last slot.
    ///
    /// # Errors
    ///
    /// [`BadSlot`](crate::Error::BadSlot) further beyond.
    fn slot(&self, slot: usize, pin: &impl Guard) -> Result<Option<Vec<Content>>>;

    /// Returns keys that cut the table into about `parts` equal parts, in the order of scans.
    fn cuts(&self, parts: usize, pin: &impl Guard) -> Vec<Vec<u8>>;

    /// Returns about which share of the keys lies in a span, from 0 to 1.
    fn share_of_span(&self, span: &Span, pin: &impl Guard) -> f64;

    /// Returns whether the index counts: [`View::nth`] and [`View::count`].
    fn counts(&self) -> bool;

    /// Returns what the `n`-th key holds, from 0; `None` if there are no more than `n`, or the index does not count.
    fn nth(&self, n: usize, pin: &impl Guard) -> Option<Content>;

    /// Returns the number of keys in a span; `None` if the index does not count.
    fn count(&self, span: &Span, pin: &impl Guard) -> Option<usize>;

    /// Returns the number of objects, exact with respect to finished operations. O(objects) of a snapshot.
    fn len(&self) -> usize;

    /// Returns about the number of objects. O(1).
    fn about(&self) -> usize;

    /// Returns the secondary indexes.
    fn secondaries(&self) -> &Secondaries;

    /// Returns a reader of several keys, at a place in the order of list inserts: here and now, or where the view is.
    fn read_many<'g>(&self, pin: &'g impl Guard) -> Self::Reader<'g>;
}

/// Reads several keys, of which every list insert is seen whole: it was made before the reader, or it is not seen.
pub(crate) trait ReadMany {
    /// Reads one key: see [`ReadMany::view`].
    type View: View;

    /// Returns the view beside the reader.
    fn view(&self) -> Self::View;

    /// Appends the objects of at least `want` keys of a span, each by itself, and takes these keys out of the span.
    /// Returns whether there may be more.
    ///
    /// From the span's beginning; with `back`, where there is an order of keys, from its end. The objects of a key come
    /// together, in insertion order, with `back` the newest first. There may be none although more follow.
    fn scan(
        &mut self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<Content>,
    ) -> bool;

    /// Appends up to `want` of the keys that a secondary index has under a value, in the order of keys, back: from the
    /// last one, and takes them out of `keys`. Returns whether there may be more; `None` if there is no such index.
    fn candidates(
        &mut self,
        by: ByValue<'_>,
        keys: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<KeyBytes>,
    ) -> Option<bool> {
        let view = self.view();
        let index = view.secondaries().of(by.of)?;
        Some(index.read(by.value, keys, back, want, pin, out))
    }

    /// Hands out the objects with a key, in insertion order; of many it may leave out those with other fingerprints.
    fn get(
        &mut self,
        key: &[u8],
        alike: &Fingerprints,
        pin: &impl Guard,
        out: impl FnMut(Content),
    ) {
        if let Some(content) = self.view().get_bytes(key, pin) {
            chain::each_alike(content, alike, out);
        }
    }

    /// Returns whether keys that were read by the view beside the reader may hold something else for the reader: see
    /// [`ReadMany::before`]. Only of a view whose contents change.
    fn is_due(&self) -> bool {
        false
    }

    /// Returns what a key holds for the reader, if that is not what the view had found before the call.
    fn before(&mut self, _key: &KeyBuf) -> Option<Option<Content>> {
        None
    }
}
