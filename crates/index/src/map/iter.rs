//! Iterators over a map.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::iter::FusedIterator;
use std::marker::PhantomData;

use fyris_sync::reclaim::Pin;

use super::ConcurrentMap;
use super::node::NodeRef;

/// Entries fetched at a time: enough for their cache misses to overlap.
const AHEAD: usize = 32;

/// All entries of a map. See [`ConcurrentMap::iter`].
pub struct Iter<'g, K: 'static, V: 'static, S, P> {
    nodes: Nodes<'g, K, V, S, P>,
}

/// The keys of a map. See [`ConcurrentMap::keys`].
pub struct Keys<'g, K: 'static, V: 'static, S, P>(Iter<'g, K, V, S, P>);

/// The values of a map. See [`ConcurrentMap::values`].
pub struct Values<'g, K: 'static, V: 'static, S, P>(Iter<'g, K, V, S, P>);

/// The nodes behind an iterator.
pub(super) struct Nodes<'g, K: 'static, V: 'static, S, P> {
    map: &'g ConcurrentMap<K, V, S>,
    /// Nodes are used under this pin.
    pin: PhantomData<&'g P>,
    /// Where in hash order the next bucket begins; `None` after the last.
    from: Option<u64>,
    ahead: Vec<NodeRef<K, V>>,
    at: usize,
}

impl<'g, K, V, S, P: Pin> Iter<'g, K, V, S, P> {
    pub(super) fn new(map: &'g ConcurrentMap<K, V, S>, _: &'g P) -> Self {
        let nodes = Nodes {
            map,
            pin: PhantomData,
            from: Some(0),
            ahead: Vec::new(),
            at: 0,
        };
        Self { nodes }
    }

    pub(super) fn nodes(self) -> Nodes<'g, K, V, S, P> {
        self.nodes
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

impl<K, V, S, P> Nodes<'_, K, V, S, P>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher,
{
    #[cold]
    fn refill(&mut self) -> Option<()> {
        self.ahead.clear();
        self.at = 0;
        while self.ahead.len() < AHEAD {
            let Some(from) = self.from else { break };
            self.from = self.map.index.bucket_batch(from, &mut self.ahead);
        }
        self.ahead.iter().for_each(|node| node.prefetch());
        (!self.ahead.is_empty()).then_some(())
    }
}

impl<K, V, S, P> Iterator for Nodes<'_, K, V, S, P>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher,
{
    type Item = NodeRef<K, V>;

    #[inline]
    fn next(&mut self) -> Option<NodeRef<K, V>> {
        if self.at == self.ahead.len() {
            self.refill()?;
        }
        self.at += 1;
        Some(self.ahead[self.at - 1])
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
