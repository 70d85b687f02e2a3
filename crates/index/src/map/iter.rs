//! Iterators over a map.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::iter::FusedIterator;

use fyris_sync::reclaim::Pin;

use super::node::NodeRef;
use crate::hash::Entries;

/// All entries of a map. See [`ConcurrentMap::iter`](super::ConcurrentMap::iter).
pub struct Iter<'g, K: 'static, V: 'static, S, P> {
    nodes: Entries<'g, NodeRef<K, V>, S, P>,
}

/// The keys of a map. See [`ConcurrentMap::keys`](super::ConcurrentMap::keys).
pub struct Keys<'g, K: 'static, V: 'static, S, P>(Iter<'g, K, V, S, P>);

/// The values of a map. See [`ConcurrentMap::values`](super::ConcurrentMap::values).
pub struct Values<'g, K: 'static, V: 'static, S, P>(Iter<'g, K, V, S, P>);

impl<'g, K, V, S, P: Pin> Iter<'g, K, V, S, P> {
    pub(super) fn new(nodes: Entries<'g, NodeRef<K, V>, S, P>) -> Self {
        Self { nodes }
    }
}

impl<'g, K, V, S, P> Keys<'g, K, V, S, P> {
    pub(super) fn new(iter: Iter<'g, K, V, S, P>) -> Self {
        Self(iter)
    }
}

impl<'g, K, V, S, P> Values<'g, K, V, S, P> {
    pub(super) fn new(iter: Iter<'g, K, V, S, P>) -> Self {
        Self(iter)
    }
}

impl<'g, K, V, S, P: Pin> Iterator for Iter<'g, K, V, S, P>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher,
{
    type Item = (&'g K, &'g V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: met under the pin, which `'g` does not outlast; nor does it the map (R).
        self.nodes.next().map(|node| unsafe { node.pair() })
    }
}

impl<'g, K, V, S, P: Pin> Iterator for Keys<'g, K, V, S, P>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher,
{
    type Item = &'g K;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, _)| key)
    }
}

impl<'g, K, V, S, P: Pin> Iterator for Values<'g, K, V, S, P>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher,
{
    type Item = &'g V;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(_, value)| value)
    }
}

macro_rules! common {
    ($($name:ident),*) => {$(
        impl<'g, K, V, S, P: Pin> FusedIterator for $name<'g, K, V, S, P>
        where
            K: Hash + Eq + Send + Sync + 'static,
            V: Send + Sync + 'static,
            S: BuildHasher,
        {
        }

        impl<K, V, S, P> fmt::Debug for $name<'_, K, V, S, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}
common!(Iter, Keys, Values);
