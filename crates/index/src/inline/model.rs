//! Arrays of buckets for model checkers, whose atomics are not bytes that could be mapped.

use super::bucket::InlineBucket;

/// An array of buckets with the methods of `fyris_sync::alloc::Pages`; what is discarded reads as zeros, as if given
/// back.
pub(super) struct Pages(Box<[InlineBucket]>);

impl Pages {
    /// Makes `bytes` of buckets that are not live.
    pub(super) fn try_zeroed(bytes: usize) -> Option<Self> {
        let buckets = bytes / size_of::<InlineBucket>();
        Some(Self(
            (0..buckets).map(|_| InlineBucket::default()).collect(),
        ))
    }

    /// Makes `bytes` of buckets that are not live: here, too, of zeros.
    pub(super) fn try_fresh(bytes: usize) -> Option<Self> {
        Self::try_zeroed(bytes)
    }

    pub(super) fn as_ptr(&self) -> *mut InlineBucket {
        self.0.as_ptr().cast_mut()
    }

    pub(super) fn size(&self) -> usize {
        size_of_val(&*self.0)
    }

    pub(super) fn gives_back(&self) -> bool {
        true
    }

    pub(super) fn reuse(&self) {}

    /// # Safety
    ///
    /// No thread relies on the content.
    pub(super) unsafe fn discard(&self) {
        self.0.iter().for_each(InlineBucket::zero);
    }
}
