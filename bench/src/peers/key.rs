//! A key as the peers store it and as they look it up.

use std::borrow::Borrow;
use std::hash::Hash;

use ferntree::OptimisticRead;
use fyris_harness::keys::Bytes20;

/// A key of the workload, as peers need it.
pub trait PeerKey: Copy + Send + Sync + 'static {
    /// The owned form of the key.
    type Stored: Borrow<Self::Look> + Hash + Ord + Clone + Send + Sync + 'static;
    /// The same for `ferntree`, which takes no boxed slices.
    type Optimistic: Borrow<Self::Look> + Ord + Clone + Send + Sync + OptimisticRead + 'static;
    /// The borrowed form, for lookups.
    type Look: ?Sized + Hash + Ord;

    /// Returns the key to give away; allocates if keys of the kind do.
    fn stored(&self) -> Self::Stored;
    /// Returns the key to give to `ferntree`.
    fn optimistic(&self) -> Self::Optimistic;
    /// Returns the key to look up.
    fn look(&self) -> &Self::Look;
    /// Returns the key as bytes in order.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;
}

impl PeerKey for u64 {
    type Stored = u64;
    type Optimistic = u64;
    type Look = u64;

    #[inline]
    fn stored(&self) -> u64 {
        *self
    }
    #[inline]
    fn optimistic(&self) -> u64 {
        *self
    }
    #[inline]
    fn look(&self) -> &u64 {
        self
    }
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.to_be_bytes())
    }
}

impl PeerKey for Bytes20 {
    type Stored = Box<[u8]>;
    type Optimistic = Vec<u8>;
    type Look = [u8];

    #[inline]
    fn stored(&self) -> Box<[u8]> {
        Box::from(&self[..])
    }
    #[inline]
    fn optimistic(&self) -> Vec<u8> {
        self.to_vec()
    }
    #[inline]
    fn look(&self) -> &[u8] {
        self
    }
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}
