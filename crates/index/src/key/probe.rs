//! Places to descend to: a key, an end of the tree, or a fence of a node met before.

use std::borrow::Borrow;
use std::cmp::Ordering;

use super::{Separator, TreeKey};

/// A place in the order of keys. If it equals a separator it lies to the right of it.
pub trait Probe<K: TreeKey + ?Sized> {
    /// Returns the first eight bytes of the place behind its first `skip`, as a big-endian number.
    fn key_prefix(&self, skip: usize) -> u64;
    /// Compares the place with a separator.
    fn cmp_sep(&self, sep: &K::Sep) -> Ordering;
    /// Compares the first `len` bytes of the place with those of the separator, which has at least `len`.
    fn cmp_prefix(&self, sep: &K::Sep, len: usize) -> Ordering;
    /// Compares the place with a key of the same key prefix.
    fn cmp_key(&self, key: &K) -> Ordering;

    /// Returns whether every key that shares the first `skip` bytes and the key prefix behind them is at this place.
    /// `false` where that is not known.
    #[inline]
    fn is_exact(&self, _skip: usize) -> bool {
        K::EXACT
    }

    /// Returns whether the place is at or above each separator that shares its first `skip` bytes and the key prefix
    /// behind them. `false` where that is not known.
    #[inline]
    fn is_above_equals(&self, _skip: usize) -> bool {
        K::EXACT
    }

    /// Returns whether the place is to the left of a fence.
    fn is_below(&self, fence: &Fence<'_, K>) -> bool {
        if K::EXACT {
            self.key_prefix(0) < fence.key_prefix
        } else {
            self.cmp_sep(fence.sep) == Ordering::Less
        }
    }
}

/// The place of a key, which may be in the tree or come into it.
pub struct ByKey<'a, Q: ?Sized>(pub &'a Q);

/// The place of a bound, which may be bytes that no key is: just below the first key that goes on with zeros, which it
/// [may be taken for](crate::ordered::ByteKey::PREFIX_FREE).
pub struct ByBound<'a, Q: ?Sized>(pub &'a Q);

macro_rules! probes {
    ($($probe:ident: $is_key:expr;)*) => {$(
        impl<K, Q> Probe<K> for $probe<'_, Q>
        where
            K: TreeKey + Borrow<Q> + ?Sized,
            Q: TreeKey<Sep = K::Sep> + ?Sized,
        {
            #[inline]
            fn key_prefix(&self, skip: usize) -> u64 {
                self.0.key_prefix(skip)
            }
            #[inline]
            fn cmp_sep(&self, sep: &K::Sep) -> Ordering {
                self.0.cmp_sep(sep)
            }
            #[inline]
            fn cmp_prefix(&self, sep: &K::Sep, len: usize) -> Ordering {
                self.0.cmp_prefix(sep, len)
            }
            #[inline]
            fn cmp_key(&self, key: &K) -> Ordering {
                self.0.cmp(key.borrow())
            }
            #[inline]
            fn is_exact(&self, skip: usize) -> bool {
                self.0.is_exact(skip)
            }
            #[inline]
            fn is_above_equals(&self, skip: usize) -> bool {
                K::EXACT || ($is_key && self.0.is_exact(skip))
            }
        }
    )*};
}

// A separator is the beginning of a key. If it had the key prefix of an exact key and were above that key, its own key
// would have that key prefix, too.
probes! {
    ByKey: true;
    ByBound: cfg!(fyris_mutant = "ordered_bound_as_key");
}

/// Before all keys, or behind them.
#[derive(Clone, Copy)]
pub enum End {
    /// Before all keys.
    First,
    /// Behind all keys.
    Last,
}

impl End {
    fn side(self) -> Ordering {
        match self {
            End::First => Ordering::Less,
            End::Last => Ordering::Greater,
        }
    }
}

impl<K: TreeKey + ?Sized> Probe<K> for End {
    fn key_prefix(&self, _: usize) -> u64 {
        match self {
            End::First => 0,
            End::Last => u64::MAX,
        }
    }
    fn cmp_sep(&self, _: &K::Sep) -> Ordering {
        self.side()
    }
    fn cmp_prefix(&self, _: &K::Sep, _: usize) -> Ordering {
        self.side()
    }
    fn cmp_key(&self, _: &K) -> Ordering {
        self.side()
    }
}

/// A bound of a node's key range: a separator of an inner node above it, which stays readable while the thread is
/// pinned (invariant RECLAIM), even when the node has been replaced.
pub struct Fence<'p, K: TreeKey + ?Sized> {
    /// The separator's key prefix; all there is where keys are [`TreeKey::EXACT`].
    pub key_prefix: u64,
    /// The separator.
    pub sep: &'p K::Sep,
}

impl<K: TreeKey + ?Sized> Fence<'_, K> {
    /// Returns the key prefix behind no prefix.
    pub(crate) fn key_prefix_at_start(&self) -> u64 {
        if K::EXACT {
            self.key_prefix
        } else {
            self.sep.key_prefix(0)
        }
    }
}

impl<K: TreeKey + ?Sized> Clone for Fence<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K: TreeKey + ?Sized> Copy for Fence<'_, K> {}

/// The place of a fence: at it, or just below it.
pub struct ByFence<'p, K: TreeKey + ?Sized> {
    /// The fence.
    pub fence: Fence<'p, K>,
    /// Just below it.
    pub below: bool,
}

impl<K: TreeKey + ?Sized> ByFence<'_, K> {
    /// Returns the order of this place, which is never equal to a fence that it lies below.
    fn side(&self, order: Ordering) -> Ordering {
        if self.below {
            order.then(Ordering::Less)
        } else {
            order
        }
    }
}

impl<K: TreeKey + ?Sized> Probe<K> for ByFence<'_, K> {
    fn key_prefix(&self, skip: usize) -> u64 {
        if K::EXACT {
            // A separator is above some key, so it is not zero.
            self.fence.key_prefix - u64::from(self.below)
        } else {
            self.fence.sep.key_prefix(skip)
        }
    }
    fn cmp_sep(&self, sep: &K::Sep) -> Ordering {
        self.side(self.fence.sep.cmp(sep))
    }
    fn cmp_prefix(&self, sep: &K::Sep, len: usize) -> Ordering {
        self.fence.sep.cmp_prefix(sep, len)
    }
    fn cmp_key(&self, key: &K) -> Ordering {
        self.side(key.cmp_sep(self.fence.sep).reverse())
    }
}
