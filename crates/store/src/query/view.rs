//! What a scan reads: the seam where a snapshot will go.

use fyris_sync::reclaim::Guard;

use crate::ops::Span;
use crate::slot::Content;

/// Something that can be asked for objects by key and by stretches of keys.
///
/// The live content is one: [`Reader`](crate::reader::Reader). What a view hands out stays readable while the pin
/// lives. Between two batches a scan holds nothing of it.
pub(crate) trait View {
    /// Appends the objects of at least `want` keys of a span, and takes those keys out of it: see
    /// `TableData::scan_span`. `false` when that was all.
    fn scan(
        &mut self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<Content>,
    ) -> bool;

    /// Hands out the objects with a key, in insertion order.
    fn get(&mut self, key: &[u8], pin: &impl Guard, out: impl FnMut(Content));
}
