//! What a scan reads: the seam where a snapshot will go.

use fyris_sync::reclaim::Pin;

use crate::body::{AnyBody, with_body};
use crate::chain;
use crate::ops::Span;
use crate::slot::Content;

/// Something that can be asked for objects by key and by stretches of keys.
///
/// What a view hands out stays readable while the pin lives. Between two batches a scan holds nothing of it.
pub(crate) trait View: Sync {
    /// Appends the objects of at least `want` keys of a span, and takes those keys out of it: see
    /// `Body::walk`. `false` when that was all.
    fn walk(
        &self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Pin,
        out: &mut Vec<Content>,
    ) -> bool;

    /// Hands out the objects with a key, in insertion order.
    fn get(&self, key: &[u8], pin: &impl Pin, out: impl FnMut(Content));
}

/// The content as it is at the moment of each batch.
impl View for AnyBody {
    fn walk(
        &self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Pin,
        out: &mut Vec<Content>,
    ) -> bool {
        with_body!(self, body => body.walk(span, back, want, pin, out))
    }

    fn get(&self, key: &[u8], pin: &impl Pin, mut out: impl FnMut(Content)) {
        let Some(content) = with_body!(self, body => body.get_bytes(key, pin)) else {
            return;
        };
        if content.is_chain() {
            let records = chain::oldest_first(content).into_iter();
            records.map(Content::one).for_each(out);
        } else {
            out(content);
        }
    }
}
