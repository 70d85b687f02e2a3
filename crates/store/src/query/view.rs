//! What a scan reads: the seam where a snapshot will go.

use fyris_sync::reclaim::Pin;

use crate::ops::Span;
use crate::reader::Reader;
use crate::slot::Content;

/// Something that can be asked for objects by key and by stretches of keys.
///
/// What a view hands out stays readable while the pin lives. Between two batches a scan holds nothing of it.
pub(crate) trait View {
    /// Appends the objects of at least `want` keys of a span, and takes those keys out of it: see
    /// `Body::walk`. `false` when that was all.
    fn walk(
        &mut self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Pin,
        out: &mut Vec<Content>,
    ) -> bool;

    /// Hands out the objects with a key, in insertion order.
    fn get(&mut self, key: &[u8], pin: &impl Pin, out: impl FnMut(Content));
}

/// The content as it is at the moment of each batch, but for list inserts.
impl View for Reader<'_, '_> {
    fn walk(
        &mut self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Pin,
        out: &mut Vec<Content>,
    ) -> bool {
        Reader::walk(self, span, back, want, pin, out)
    }

    fn get(&mut self, key: &[u8], pin: &impl Pin, out: impl FnMut(Content)) {
        Reader::get(self, key, pin, out);
    }
}
