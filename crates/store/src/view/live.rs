//! The table as it is: the view that is always there.
//!
//! [`crate::commits`] says how a reader of several keys sees list inserts whole.

use fyris_index::{Figures, Index};
use fyris_sync::reclaim::Guard;
use fyris_term::key::KeyBuf;

use super::{ReadMany, Step, View};
use crate::chain::{self, Fingerprints};
use crate::commits::Undo;
use crate::error::Result;
use crate::keys::{AsKey, ShortKey};
use crate::ops::{Navigate, Span};
use crate::secondary::Secondaries;
use crate::slot::{Content, Moment, Now, Slot};
use crate::table_data::{AnyTableData, with_data};

/// Reads a content at the moment of each call.
#[derive(Clone, Copy)]
pub(crate) struct Live<'d>(pub(crate) &'d AnyTableData);

impl Live<'_> {
    /// Returns the figures of the index.
    pub(crate) fn describe(self, pin: &impl Guard) -> Figures {
        with_data!(self.0, data => data.index.describe(pin))
    }

    /// Adds the lengths of buckets, if there are buckets.
    pub(crate) fn lengths(self, figures: Figures, pin: &impl Guard) -> Figures {
        with_data!(self.0, data => figures.lengths(&data.index, pin))
    }

    /// Returns the bytes that are allocated for objects, their keys and the index.
    pub(crate) fn memory(self) -> usize {
        self.0.memory()
    }

    /// Returns how many of these bytes are for objects with their keys.
    pub(crate) fn objects_memory(self) -> usize {
        with_data!(self.0, data => data.objects_memory())
    }
}

/// Returns the content of a key at a moment. Short keys in a hash table, which are most, are hashed and compared in a
/// register.
#[inline]
pub(super) fn look_up(
    data: &AnyTableData,
    key: &(impl AsKey + ?Sized),
    moment: impl Moment,
    pin: &impl Guard,
) -> Option<Content> {
    match (data, key.word()) {
        (AnyTableData::Hash(data), Some((word, len))) => {
            let key = ShortKey { word, len };
            let has_key = |slot: &Slot<_>| slot.has_short_key(key);
            moment.read(data.index.get_by(&key, has_key, pin)?)
        }
        _ => key.with(|buf| look_up_encoded(data, buf, moment, pin)),
    }
}

fn look_up_encoded(
    data: &AnyTableData,
    key: &KeyBuf,
    moment: impl Moment,
    pin: &impl Guard,
) -> Option<Content> {
    with_data!(data, data => data.get_at(data.key(key), moment, pin))
}

/// Returns the content of the key that a step leads to at a moment.
#[inline]
pub(super) fn go(
    data: &AnyTableData,
    step: Step<'_>,
    known: impl Fn(&KeyBuf) -> bool,
    moment: impl Moment,
    pin: &impl Guard,
) -> Result<Option<Content>> {
    with_data!(data, data => match step {
        Step::First => Ok(data.first(moment, pin)),
        Step::Last => Ok(data.last(moment, pin)),
        Step::Next(key) => data.next(data.key(key), || known(key), moment, pin),
        Step::Prev(key) => data.prev(data.key(key), || known(key), moment, pin),
    })
}

impl<'d> View for Live<'d> {
    type Reader<'g> = LiveReader<'d, 'g>;

    #[inline]
    fn get(&self, key: &(impl AsKey + ?Sized), pin: &impl Guard) -> Option<Content> {
        look_up(self.0, key, Now, pin)
    }

    fn get_bytes(&self, key: &[u8], pin: &impl Guard) -> Option<Content> {
        with_data!(self.0, data => data.get_bytes(key, Now, pin))
    }

    fn prefetch(&self, keys: &[KeyBuf], pin: &impl Guard) {
        with_data!(self.0, data => data.prefetch_read(keys, pin));
    }

    #[inline]
    fn step(
        &self,
        step: Step<'_>,
        known: impl Fn(&KeyBuf) -> bool,
        pin: &impl Guard,
    ) -> Result<Option<Content>> {
        go(self.0, step, known, Now, pin)
    }

    fn slot(&self, slot: usize, pin: &impl Guard) -> Result<Option<Vec<Content>>> {
        with_data!(self.0, data => data.objects_of_slot(slot, pin))
    }

    fn cuts(&self, parts: usize, pin: &impl Guard) -> Vec<Vec<u8>> {
        with_data!(self.0, data => data.cuts(parts, pin))
    }

    fn share_of_span(&self, span: &Span, pin: &impl Guard) -> f64 {
        with_data!(self.0, data => data.share_of_span(span, pin))
    }

    fn counts(&self) -> bool {
        with_data!(self.0, data => Navigate::counts(data))
    }

    fn nth(&self, n: usize, pin: &impl Guard) -> Option<Content> {
        with_data!(self.0, data => data.nth(n, pin))
    }

    fn count(&self, span: &Span, pin: &impl Guard) -> Option<usize> {
        with_data!(self.0, data => data.count_span(span, pin))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn about(&self) -> usize {
        self.0.len()
    }

    fn secondaries(&self) -> &Secondaries {
        self.0.secondaries()
    }

    #[inline]
    fn read_many<'g>(&self, pin: &'g impl Guard) -> LiveReader<'d, 'g> {
        LiveReader {
            data: self.0,
            undo: with_data!(self.0, data => Undo::new(&data.commits, data.kind, pin)),
        }
    }
}

/// Reads a content, each key at the moment when it is read; list inserts that come after the reader are undone in what
/// it hands out.
pub(crate) struct LiveReader<'d, 'g> {
    data: &'d AnyTableData,
    undo: Undo<'g>,
}

impl<'d> ReadMany for LiveReader<'d, '_> {
    type View = Live<'d>;

    fn view(&self) -> Live<'d> {
        Live(self.data)
    }

    #[inline]
    fn scan(
        &mut self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<Content>,
    ) -> bool {
        with_data!(self.data, data => data.scan_span(span, back, want, &mut self.undo, pin, out))
    }

    fn get(
        &mut self,
        key: &[u8],
        alike: &Fingerprints,
        pin: &impl Guard,
        out: impl FnMut(Content),
    ) {
        let found = with_data!(self.data, data => {
            let found = data.get_bytes(key, Now, pin);
            match self.undo.is_due(&data.commits) {
                true => self.undo.before(&data.commits, key).unwrap_or(found),
                false => found,
            }
        });
        if let Some(content) = found {
            chain::each_alike(content, alike, out);
        }
    }

    #[inline]
    fn is_due(&self) -> bool {
        with_data!(self.data, data => self.undo.is_due(&data.commits))
    }

    #[cold]
    fn before(&mut self, key: &KeyBuf) -> Option<Option<Content>> {
        with_data!(self.data, data => self.undo.before(&data.commits, data.key_bytes(key)))
    }
}
