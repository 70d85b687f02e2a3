//! Iterators over a map.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::iter::FusedIterator;

use fyris_sync::reclaim::Guard;

use super::storage::MapStorage;
use crate::hash::{Entries, RandomState};

/// The pairs of a map. See [`Map::iter`](super::Map::iter).
///
/// ```
/// let map = fyris_index::ConcurrentMap::from([(1, 10), (2, 20)]);
/// let mut pairs: Vec<_> = map.pin().iter().map(|(key, value)| (*key, *value)).collect();
/// pairs.sort(); // they come in no order
/// assert_eq!(pairs, [(1, 10), (2, 20)]);
/// ```
pub struct MapIter<
    'g,
    K: ?Sized,
    V,
    S: MapStorage<K, V>,
    H = RandomState,
    P = crate::reclaim::LocalGuard,
> {
    entries: Entries<'g, S::Entry, H, P>,
}

/// The keys of a map. See [`Map::keys`](super::Map::keys).
///
/// ```
/// let map = fyris_index::ConcurrentMap::from([(1, 10), (2, 20)]);
/// assert_eq!(map.pin().keys().max(), Some(&2));
/// ```
pub struct MapKeys<
    'g,
    K: ?Sized,
    V,
    S: MapStorage<K, V>,
    H = RandomState,
    P = crate::reclaim::LocalGuard,
>(MapIter<'g, K, V, S, H, P>);

/// The values of a map. See [`Map::values`](super::Map::values).
///
/// ```
/// let map = fyris_index::ConcurrentMap::from([(1, 10), (2, 20)]);
/// assert_eq!(map.pin().values().max(), Some(&20));
/// ```
pub struct MapValues<
    'g,
    K: ?Sized,
    V,
    S: MapStorage<K, V>,
    H = RandomState,
    P = crate::reclaim::LocalGuard,
>(MapIter<'g, K, V, S, H, P>);

impl<'g, K: ?Sized, V, S: MapStorage<K, V>, H, P> MapIter<'g, K, V, S, H, P> {
    pub(super) fn new(entries: Entries<'g, S::Entry, H, P>) -> Self {
        Self { entries }
    }
}

impl<'g, K: ?Sized, V, S: MapStorage<K, V>, H, P> MapKeys<'g, K, V, S, H, P> {
    pub(super) fn new(iter: MapIter<'g, K, V, S, H, P>) -> Self {
        Self(iter)
    }
}

impl<'g, K: ?Sized, V, S: MapStorage<K, V>, H, P> MapValues<'g, K, V, S, H, P> {
    pub(super) fn new(iter: MapIter<'g, K, V, S, H, P>) -> Self {
        Self(iter)
    }
}

macro_rules! iterator {
    ($name:ident: $item:ty, |$this:ident| $next:expr) => {
        impl<'g, K, V: 'g, S, H, P> Iterator for $name<'g, K, V, S, H, P>
        where
            K: Hash + Eq + ?Sized + 'g,
            S: MapStorage<K, V>,
            H: BuildHasher,
            P: Guard,
        {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let $this = self;
                $next
            }
        }

        impl<'g, K, V: 'g, S, H, P> FusedIterator for $name<'g, K, V, S, H, P>
        where
            K: Hash + Eq + ?Sized + 'g,
            S: MapStorage<K, V>,
            H: BuildHasher,
            P: Guard,
        {
        }

        impl<K: ?Sized, V, S: MapStorage<K, V>, H, P> fmt::Debug for $name<'_, K, V, S, H, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}
iterator!(MapIter: (&'g K, &'g V), |this| {
    // SAFETY: met under the pin, which `'g` does not outlast; nor does it the map (RECLAIM).
    this.entries.next().map(|entry| unsafe { S::pair(entry) })
});
iterator!(MapKeys: &'g K, |this| this.0.next().map(|(key, _)| key));
iterator!(MapValues: &'g V, |this| this.0.next().map(|(_, value)| value));
