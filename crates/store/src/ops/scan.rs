//! Scans of ranges of keys, in large steps.

use std::ops::ControlFlow::{self, Break, Continue};
use std::ops::{Bound, RangeBounds};

use fyris_index::{Batch, Entry, Index, Ordered, OrderedIndex, Range};
use fyris_sync::reclaim::Guard;

use super::Navigate;
use crate::chain;
use crate::commits::Undo;
use crate::error::{Error, Result};
use crate::key_kind::KeyKind;
use crate::slot::{Content, Moment, Now, Slot};
use crate::table_data::TableData;

/// Keys that are visited in one step where they are not handed out.
pub(crate) const EACH: usize = 256;

/// The number of keys by which the cells of versions are prefetched ahead.
const AHEAD: usize = 16;

/// A range of a table's keys, each bound as the bytes that the table tells keys apart by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: Bound<Vec<u8>>,
    pub(crate) to: Bound<Vec<u8>>,
    horizon: Horizon,
}

/// The end of a scan of several steps in a table in order, which would run for ever behind a writer that puts ever
/// higher keys in as fast as it goes (or ever lower ones, where it goes down).
///
/// Invariant **HORIZON**: an object that is there throughout lies in the span up to its horizon, because that is a key
/// at or behind the last one of the span at some moment of the scan.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Horizon {
    /// The end of the span: of a first step, which many scans end with.
    Open,
    /// The key that the next step finds to be the last.
    Wanted,
    /// This key.
    Key(Vec<u8>),
}

impl Span {
    /// The whole table.
    pub(crate) const ALL: Span = Span::new(Bound::Unbounded, Bound::Unbounded);

    /// Returns the span between two bounds, of which nothing is visited yet.
    pub(crate) const fn new(from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Span {
        Span {
            from,
            to,
            horizon: Horizon::Open,
        }
    }

    /// Returns its bounds.
    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (
            self.from.as_ref().map(Vec::as_slice),
            self.to.as_ref().map(Vec::as_slice),
        )
    }

    /// Returns whether no key can be in it, in a table in the order of keys.
    pub(crate) fn is_void(&self) -> bool {
        use Bound::{Excluded, Included};
        match (&self.from, &self.to) {
            (Included(from), Included(to)) => from > to,
            (Included(from) | Excluded(from), Included(to) | Excluded(to)) => from >= to,
            _ => false,
        }
    }

    /// Returns it as if nothing of it was visited.
    pub(crate) fn plain(self) -> Span {
        Span::new(self.from, self.to)
    }

    /// Returns whether all of another one is in it.
    pub(crate) fn contains(&self, other: &Span) -> bool {
        use Bound::{Excluded, Included, Unbounded};
        let (from, to) = self.bounds();
        let begins_before = match (from, other.bounds().0) {
            (Unbounded, _) => true,
            (_, Unbounded) => false,
            (Excluded(mine), Included(its)) => mine < its,
            (Included(mine) | Excluded(mine), Included(its) | Excluded(its)) => mine <= its,
        };
        let ends_behind = match (to, other.bounds().1) {
            (Unbounded, _) => true,
            (_, Unbounded) => false,
            (Excluded(mine), Included(its)) => mine > its,
            (Included(mine) | Excluded(mine), Included(its) | Excluded(its)) => mine >= its,
        };
        begins_before && ends_behind
    }

    /// Returns whether a key is in it.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        self.bounds().contains(key)
    }

    /// Takes the horizon away: a scan that goes on later shows what came meanwhile.
    pub(crate) fn widen(&mut self) {
        self.horizon = Horizon::Open;
    }

    /// Leaves the rest of the span behind a key that the scan has come to.
    pub(crate) fn leave(&mut self, key: &[u8], back: bool) {
        let end = if back { &mut self.to } else { &mut self.from };
        match end {
            Bound::Excluded(bytes) | Bound::Included(bytes) => {
                let mut bytes = std::mem::take(bytes);
                bytes.clear();
                bytes.extend_from_slice(key);
                *end = Bound::Excluded(bytes);
            }
            Bound::Unbounded => *end = Bound::Excluded(key.to_vec()),
        }
        if self.horizon == Horizon::Open && !cfg!(fyris_mutant = "store_scan_has_no_horizon") {
            self.horizon = Horizon::Wanted;
        }
    }

    fn range<K: KeyKind>(&self) -> Range<'_, K::Key> {
        (key_bound::<K>(&self.from), key_bound::<K>(&self.to))
    }

    /// Returns the range up to the horizon.
    fn in_sight<K: KeyKind>(&self, back: bool) -> Range<'_, K::Key> {
        let (from, to) = self.range::<K>();
        match &self.horizon {
            Horizon::Key(key) if back => (Bound::Included(K::from_bytes(key)), to),
            Horizon::Key(key) => (from, Bound::Included(K::from_bytes(key))),
            _ => (from, to),
        }
    }
}

/// Returns a bound of bytes as one of keys.
pub(crate) fn key_bound<K: KeyKind>(bound: &Bound<Vec<u8>>) -> Bound<&K::Key> {
    bound.as_ref().map(|bytes| K::from_bytes(bytes))
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
    Self: Navigate<K>,
{
    /// Returns the content of the key with these bytes at a moment.
    pub(crate) fn get_bytes(
        &self,
        key: &[u8],
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Option<Content> {
        self.get_at(K::from_bytes(key), moment, pin)
    }

    /// Returns keys that split the table into about `parts` equal parts, in the index's order.
    pub(crate) fn cuts(&self, parts: usize, pin: &impl Guard) -> Vec<Vec<u8>> {
        let mut entries: Batch<Slot<K>> = Vec::new();
        self.split(parts, pin, &mut entries);
        let bytes = |entry: &Slot<K>| K::bytes(entry.key()).to_vec();
        entries.iter().map(bytes).collect()
    }

    /// Returns the number of keys in a span; `None` if the index does not count.
    pub(crate) fn count_span(&self, span: &Span, pin: &impl Guard) -> Option<usize> {
        self.count(span.range::<K>(), pin)
    }

    /// Returns the estimated share of the keys that lies in a span, from 0 to 1.
    pub(crate) fn share_of_span(&self, span: &Span, pin: &impl Guard) -> f64 {
        self.estimated_share(span.range::<K>(), pin)
    }

    /// Appends the objects, each by itself, of at least `want` keys of a span (of all its keys, if it has fewer), from
    /// its beginning (with `back`, in an `ordered_set` from its end), and takes the visited keys out of the span.
    /// Returns `false` at the end of the span.
    ///
    /// They come in the table's order. A key's objects come together, in insertion order (with `back`, the newest
    /// first). There may be no objects although more follow. List inserts behind the place of `undo` are undone in
    /// them.
    pub(crate) fn scan_span(
        &self,
        span: &mut Span,
        back: bool,
        want: usize,
        undo: &mut Undo<'_>,
        pin: &impl Guard,
        out: &mut Vec<Content>,
    ) -> bool {
        let mut entries: Batch<Slot<K>> = Vec::with_capacity(want + want / 8);
        let more = self.visit(span, back, want, Now, pin, &mut entries);
        self.hand_out(&mut entries, back, undo, out);
        more
    }

    /// Does so for the contents of a moment.
    pub(crate) fn scan_span_at(
        &self,
        span: &mut Span,
        back: bool,
        want: usize,
        moment: impl Moment,
        pin: &impl Guard,
        out: &mut Vec<Content>,
    ) -> bool {
        let mut entries: Batch<Slot<K>> = Vec::with_capacity(want + want / 8);
        let more = self.visit(span, back, want, moment, pin, &mut entries);
        out.reserve(entries.len());
        if entries.iter().all(|slot| slot.resolved().is_some()) {
            let contents = entries.into_iter().filter_map(Slot::resolved);
            contents.for_each(|content| append(content, back, out));
            return more;
        }
        for (i, &slot) in entries.iter().enumerate() {
            if let Some(ahead) = entries.get(i + AHEAD) {
                ahead.prefetch();
            }
            if let Some(content) = moment.read(slot) {
                append(content, back, out);
            }
        }
        more
    }

    /// Appends the entries of at least `want` keys of a span, and takes these keys out of it. Returns `false` at its
    /// end.
    pub(super) fn visit(
        &self,
        span: &mut Span,
        back: bool,
        want: usize,
        moment: impl Moment,
        pin: &impl Guard,
        entries: &mut Batch<Slot<K>>,
    ) -> bool {
        if K::ORDERED && !self.set_horizon(span, back, moment, pin) {
            return false;
        }
        let range = span.in_sight::<K>(back);
        let mut more = self.scan(range, back, want, pin, entries);
        // After the index (BURIED).
        if let Some(graves) = self.graves_at(moment) {
            let mut buried = Batch::new();
            let range = up_to(range, entries.last().filter(|_| more), back);
            let more_buried = scan(graves, range, back, want, pin, &mut buried);
            if !buried.is_empty() {
                let live = std::mem::take(entries);
                merge(live, (buried, more_buried), back, moment, entries);
                more |= more_buried;
            }
        }
        if let Some(last) = entries.last().filter(|_| more) {
            span.leave(K::bytes(last.key()), back && K::ORDERED);
        }
        more
    }

    /// Returns the objects of slot `slot`, each by itself; `None` one past the last slot.
    pub(crate) fn objects_of_slot(
        &self,
        slot: usize,
        pin: &impl Guard,
    ) -> Result<Option<Vec<Content>>> {
        let mut undo = Undo::new(&self.commits, self.kind, pin);
        let (mut entries, mut contents) = (Vec::new(), Vec::new());
        let is_there = self.slot(slot, pin, &mut entries)?;
        self.hand_out(&mut entries, false, &mut undo, &mut contents);
        Ok(is_there.then_some(contents))
    }

    /// Returns those that the slot has at a moment.
    pub(crate) fn objects_of_slot_at(
        &self,
        slot: usize,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Result<Option<Vec<Content>>> {
        let (mut entries, mut contents) = (Vec::new(), Vec::new());
        if K::ORDERED {
            // One an object, in their order: not where the index has them now.
            if let Some(content) = self.nth_at(slot, moment, pin) {
                return Ok(Some(vec![content]));
            }
            let slots = self.objects_at(moment, pin);
            return match slot <= slots {
                true => Ok(None),
                false => Err(Error::BadSlot { slot, slots }),
            };
        }
        let is_there = self.slot(slot, pin, &mut entries)?;
        for content in entries.into_iter().filter_map(|slot| moment.read(slot)) {
            append(content, false, &mut contents);
        }
        Ok(is_there.then_some(contents))
    }

    /// Returns the content of the `n`-th key of a moment, from 0. O(keys).
    pub(crate) fn nth_at(
        &self,
        mut n: usize,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Option<Content> {
        self.each_at(&Span::ALL, moment, pin, |content| match n {
            0 => Break(content),
            _ => {
                n -= 1;
                Continue(())
            }
        })
    }

    /// Returns the number of keys of a span at a moment. O(keys).
    pub(crate) fn count_at(&self, span: &Span, moment: impl Moment, pin: &impl Guard) -> usize {
        self.sum_at(span, moment, pin, |_| 1)
    }

    /// Returns the number of objects at a moment. O(objects).
    pub(crate) fn objects_at(&self, moment: impl Moment, pin: &impl Guard) -> usize {
        self.sum_at(&Span::ALL, moment, pin, Content::count)
    }

    fn sum_at(
        &self,
        span: &Span,
        moment: impl Moment,
        pin: &impl Guard,
        of: fn(Content) -> usize,
    ) -> usize {
        let mut sum = 0;
        self.each_at(span, moment, pin, |content| {
            sum += of(content);
            Continue::<(), _>(())
        });
        sum
    }

    /// Shows `f` what the keys of a span hold at a moment, until it breaks with a result.
    fn each_at<R>(
        &self,
        span: &Span,
        moment: impl Moment,
        pin: &impl Guard,
        mut f: impl FnMut(Content) -> ControlFlow<R>,
    ) -> Option<R> {
        let (mut span, mut more) = (span.clone(), true);
        while more {
            let mut entries: Batch<Slot<K>> = Vec::new();
            more = self.visit(&mut span, false, EACH, moment, pin, &mut entries);
            let mut contents = entries.into_iter().filter_map(|slot| moment.read(slot));
            if let Break(found) = contents.try_for_each(&mut f) {
                return Some(found);
            }
        }
        None
    }

    /// Finds the horizon of a span if that is wanted now. Returns `false` if nothing is left in the span.
    fn set_horizon(
        &self,
        span: &mut Span,
        back: bool,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> bool {
        if span.horizon != Horizon::Wanted {
            return true;
        }
        let Some(last) = self.last_entry(span.range::<K>(), back, moment, pin) else {
            return false;
        };
        span.horizon = Horizon::Key(K::bytes(last.key()).to_vec());
        true
    }

    /// Returns the entry at the end of a range, back: at its beginning, buried ones as well at the moment of a
    /// snapshot.
    pub(super) fn last_entry(
        &self,
        range: Range<'_, K::Key>,
        back: bool,
        moment: impl Moment,
        pin: &impl Guard,
    ) -> Option<Slot<K>> {
        let (mut live, mut buried): (Batch<Slot<K>>, Batch<Slot<K>>) = Default::default();
        self.scan(range, !back, 1, pin, &mut live);
        // After the index (BURIED).
        if let Some(graves) = self.graves_at(moment) {
            scan(graves, range, !back, 1, pin, &mut buried);
        }
        match (live.first(), buried.first()) {
            (Some(live), Some(buried)) if precedes(live.key(), buried.key(), back) => Some(*buried),
            (live, buried) => live.or(buried).copied(),
        }
    }
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Appends the objects, each by itself, of entries that were read at one step; those of a key in insertion order,
    /// or the newest first.
    pub(super) fn hand_out(
        &self,
        entries: &mut [Slot<K>],
        newest_first: bool,
        undo: &mut Undo<'_>,
        out: &mut Vec<Content>,
    ) {
        let already = out.len();
        out.reserve(entries.len());
        for content in entries.iter_mut().filter_map(Slot::resolve) {
            append(content, newest_first, out);
        }
        if undo.is_due(&self.commits) {
            out.truncate(already);
            self.hand_out_before(entries, newest_first, undo, out);
        }
    }

    /// Hands out resolved entries, as they were before the commits that are to be undone.
    #[cold]
    fn hand_out_before(
        &self,
        entries: &[Slot<K>],
        newest_first: bool,
        undo: &mut Undo<'_>,
        out: &mut Vec<Content>,
    ) {
        for entry in entries {
            let before = undo.before(&self.commits, K::bytes(entry.key()));
            if let Some(content) = before.unwrap_or(entry.resolved()) {
                append(content, newest_first, out);
            }
        }
    }
}

/// Appends the entries of a range from its beginning, or back from its end.
fn scan<K: KeyKind>(
    graves: &Ordered<Slot<K>>,
    range: Range<'_, K::Key>,
    back: bool,
    want: usize,
    pin: &impl Guard,
    out: &mut Batch<Slot<K>>,
) -> bool
where
    Slot<K>: Entry<Key = K::Key>,
{
    match back {
        true => graves.scan_back(range, want, pin, out),
        false => graves.scan(range, want, pin, out),
    }
}

/// Returns the part of a range, of which entries were read from its beginning, back from its end, up to the last of
/// them.
fn up_to<'k, K: KeyKind>(
    (from, to): Range<'k, K::Key>,
    last: Option<&'k Slot<K>>,
    back: bool,
) -> Range<'k, K::Key>
where
    Slot<K>: Entry<Key = K::Key>,
{
    match last.map(|last| Bound::Included(last.key())) {
        Some(last) if back => (last, to),
        Some(last) => (from, last),
        None => (from, to),
    }
}

/// Appends the entries that were read of a range, and those of the graves; if these have more, up to the last of them.
/// Of a key that is in both, the entry that holds something at the moment.
fn merge<K: KeyKind>(
    live: Batch<Slot<K>>,
    (buried, more_buried): (Batch<Slot<K>>, bool),
    back: bool,
    moment: impl Moment,
    out: &mut Batch<Slot<K>>,
) where
    Slot<K>: Entry<Key = K::Key>,
{
    let mut buried = buried.into_iter().peekable();
    for slot in live {
        let is_before = |other: &Slot<K>| precedes(other.key(), slot.key(), back);
        while let Some(other) = buried.next_if(is_before) {
            out.push(other);
        }
        if more_buried && buried.peek().is_none() {
            // The rest is read again, behind the last of these.
            return;
        }
        let same = buried.next_if(|other| other.key() == slot.key());
        out.push(same.filter(|_| moment.read(slot).is_none()).unwrap_or(slot));
    }
    out.extend(buried);
}

/// Returns whether a key comes before another one, back: behind it.
#[inline]
pub(super) fn precedes<K: Ord + ?Sized>(key: &K, other: &K, back: bool) -> bool {
    match back {
        true => key > other,
        false => key < other,
    }
}

/// Appends the objects of a key, each by itself.
#[inline(always)]
pub(crate) fn append(content: Content, newest_first: bool, out: &mut Vec<Content>) {
    if !content.is_chain() {
        return out.push(content);
    }
    let already = out.len();
    chain::each(content, |object| out.push(object));
    if newest_first && !cfg!(fyris_mutant = "store_bag_back_forwards") {
        out[already..].reverse();
    }
}
