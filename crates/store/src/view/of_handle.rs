//! What a handle of a table reads by: the table as it is, as it was, or as a transaction sees it.

use fyris_sync::reclaim::Guard;
use fyris_term::key::KeyBuf;

use super::{Live, LiveReader, Past, ReadMany, Step, View, Within};
use crate::chain::Fingerprints;
use crate::error::Result;
use crate::keys::AsKey;
use crate::ops::Span;
use crate::secondary::{ByValue, KeyBytes, Secondaries};
use crate::slot::Content;

/// The view that a handle of a table reads by.
#[derive(Clone, Copy)]
pub(crate) enum TableView<'d> {
    Now(Live<'d>),
    Then(Past<'d>),
    Within(Within<'d>),
}

/// The reader of several keys that a handle of a table reads by.
pub(crate) enum TableReader<'d, 'g> {
    Now(LiveReader<'d, 'g>),
    Then(Past<'d>),
    Within(Within<'d>),
}

/// Runs an expression on the view or reader, whichever it is.
macro_rules! either {
    ($any:ident, $of:expr, $one:ident => $result:expr) => {
        match $of {
            $any::Now($one) => $result,
            $any::Then($one) => $result,
            $any::Within($one) => $result,
        }
    };
}

impl<'d> View for TableView<'d> {
    type Reader<'g> = TableReader<'d, 'g>;

    #[inline]
    fn get(&self, key: &(impl AsKey + ?Sized), pin: &impl Guard) -> Option<Content> {
        either!(TableView, self, view => view.get(key, pin))
    }

    fn get_bytes(&self, key: &[u8], pin: &impl Guard) -> Option<Content> {
        either!(TableView, self, view => view.get_bytes(key, pin))
    }

    fn prefetch(&self, keys: &[KeyBuf], pin: &impl Guard) {
        either!(TableView, self, view => view.prefetch(keys, pin));
    }

    #[inline]
    fn step(
        &self,
        step: Step<'_>,
        known: impl Fn(&KeyBuf) -> bool,
        pin: &impl Guard,
    ) -> Result<Option<Content>> {
        either!(TableView, self, view => view.step(step, known, pin))
    }

    fn slot(&self, slot: usize, pin: &impl Guard) -> Result<Option<Vec<Content>>> {
        either!(TableView, self, view => view.slot(slot, pin))
    }

    fn cuts(&self, parts: usize, pin: &impl Guard) -> Vec<Vec<u8>> {
        either!(TableView, self, view => view.cuts(parts, pin))
    }

    fn share_of_span(&self, span: &Span, pin: &impl Guard) -> f64 {
        either!(TableView, self, view => view.share_of_span(span, pin))
    }

    fn counts(&self) -> bool {
        either!(TableView, self, view => view.counts())
    }

    fn nth(&self, n: usize, pin: &impl Guard) -> Option<Content> {
        either!(TableView, self, view => view.nth(n, pin))
    }

    fn count(&self, span: &Span, pin: &impl Guard) -> Option<usize> {
        either!(TableView, self, view => view.count(span, pin))
    }

    fn len(&self) -> usize {
        either!(TableView, self, view => view.len())
    }

    fn about(&self) -> usize {
        either!(TableView, self, view => view.about())
    }

    fn secondaries(&self) -> &Secondaries {
        either!(TableView, self, view => view.secondaries())
    }

    #[inline]
    fn read_many<'g>(&self, pin: &'g impl Guard) -> TableReader<'d, 'g> {
        match self {
            TableView::Now(view) => TableReader::Now(view.read_many(pin)),
            TableView::Then(view) => TableReader::Then(view.read_many(pin)),
            TableView::Within(view) => TableReader::Within(view.read_many(pin)),
        }
    }
}

impl<'d> ReadMany for TableReader<'d, '_> {
    type View = TableView<'d>;

    fn view(&self) -> TableView<'d> {
        match self {
            TableReader::Now(reader) => TableView::Now(reader.view()),
            TableReader::Then(reader) => TableView::Then(reader.view()),
            TableReader::Within(reader) => TableView::Within(reader.view()),
        }
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
        either!(TableReader, self, reader => reader.scan(span, back, want, pin, out))
    }

    fn candidates(
        &mut self,
        by: ByValue<'_>,
        keys: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<KeyBytes>,
    ) -> Option<bool> {
        either!(TableReader, self, reader => reader.candidates(by, keys, back, want, pin, out))
    }

    fn get(
        &mut self,
        key: &[u8],
        alike: &Fingerprints,
        pin: &impl Guard,
        out: impl FnMut(Content),
    ) {
        match self {
            TableReader::Now(reader) => reader.get(key, alike, pin, out),
            TableReader::Then(reader) => ReadMany::get(reader, key, alike, pin, out),
            TableReader::Within(reader) => ReadMany::get(reader, key, alike, pin, out),
        }
    }

    fn is_due(&self) -> bool {
        either!(TableReader, self, reader => reader.is_due())
    }

    fn before(&mut self, key: &KeyBuf) -> Option<Option<Content>> {
        either!(TableReader, self, reader => reader.before(key))
    }
}
