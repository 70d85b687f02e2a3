//! A table as it was when a snapshot was taken.

use fyris_sync::reclaim::Guard;
use fyris_term::key::KeyBuf;

use super::live::{go, look_up};
use super::{ReadMany, Step, View};
use crate::error::Result;
use crate::keys::AsKey;
use crate::ops::{Navigate, Span};
use crate::secondary::Secondaries;
use crate::slot::{Before, Content};
use crate::table_data::{AnyTableData, with_data};

/// Reads a content as it was just before a place of the log, where a living snapshot is.
#[derive(Clone, Copy)]
pub(crate) struct Past<'d> {
    pub(crate) data: &'d AnyTableData,
    pub(crate) place: u64,
}

impl Past<'_> {
    fn moment(self) -> Before {
        Before(self.place)
    }
}

impl<'d> View for Past<'d> {
    type Reader<'g> = Past<'d>;

    #[cold]
    fn get(&self, key: &(impl AsKey + ?Sized), pin: &impl Guard) -> Option<Content> {
        look_up(self.data, key, self.moment(), pin)
    }

    fn get_bytes(&self, key: &[u8], pin: &impl Guard) -> Option<Content> {
        with_data!(self.data, data => data.get_bytes(key, self.moment(), pin))
    }

    fn prefetch(&self, keys: &[KeyBuf], pin: &impl Guard) {
        with_data!(self.data, data => data.prefetch_read(keys, pin));
    }

    #[cold]
    fn step(
        &self,
        step: Step<'_>,
        known: impl Fn(&KeyBuf) -> bool,
        pin: &impl Guard,
    ) -> Result<Option<Content>> {
        go(self.data, step, known, self.moment(), pin)
    }

    fn slot(&self, slot: usize, pin: &impl Guard) -> Result<Option<Vec<Content>>> {
        with_data!(self.data, data => data.objects_of_slot_at(slot, self.moment(), pin))
    }

    fn cuts(&self, parts: usize, pin: &impl Guard) -> Vec<Vec<u8>> {
        with_data!(self.data, data => data.cuts(parts, pin))
    }

    fn share_of_span(&self, span: &Span, pin: &impl Guard) -> f64 {
        with_data!(self.data, data => data.share_of_span(span, pin))
    }

    fn counts(&self) -> bool {
        with_data!(self.data, data => Navigate::counts(data))
    }

    fn nth(&self, n: usize, pin: &impl Guard) -> Option<Content> {
        with_data!(self.data, data => data.nth_at(n, self.moment(), pin))
    }

    fn count(&self, span: &Span, pin: &impl Guard) -> Option<usize> {
        self.counts()
            .then(|| with_data!(self.data, data => data.count_at(span, self.moment(), pin)))
    }

    /// Counts them: O(n).
    fn len(&self) -> usize {
        let pin = fyris_sync::reclaim::pin();
        with_data!(self.data, data => data.objects_at(self.moment(), &pin))
    }

    /// As many as there are at present and were changed or deleted since.
    fn about(&self) -> usize {
        self.data.len() + self.data.snapshots().retained().0
    }

    fn secondaries(&self) -> &Secondaries {
        self.data.secondaries()
    }

    fn read_many<'g>(&self, _: &'g impl Guard) -> Past<'d> {
        *self
    }
}

impl ReadMany for Past<'_> {
    type View = Self;

    fn view(&self) -> Self {
        *self
    }

    fn scan(
        &mut self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<Content>,
    ) -> bool {
        let moment = self.moment();
        with_data!(self.data, data => data.scan_span_at(span, back, want, moment, pin, out))
    }
}
