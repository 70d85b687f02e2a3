//! Iterators over a map.

use std::fmt;
use std::hash::BuildHasher;
use std::iter::FusedIterator;

use fyris_sync::reclaim::Pin;

use crate::bytes_entry::BytesRef;
use crate::hash::Entries;

/// All entries of a map. See [`BytesMap::iter`](super::BytesMap::iter).
pub struct Iter<'g, V: 'static, S, P> {
    entries: Entries<'g, BytesRef<V>, S, P>,
}

/// The keys of a map. See [`BytesMap::keys`](super::BytesMap::keys).
pub struct Keys<'g, V: 'static, S, P>(Iter<'g, V, S, P>);

/// The values of a map. See [`BytesMap::values`](super::BytesMap::values).
pub struct Values<'g, V: 'static, S, P>(Iter<'g, V, S, P>);

impl<'g, V, S, P> Iter<'g, V, S, P> {
    pub(super) fn new(entries: Entries<'g, BytesRef<V>, S, P>) -> Self {
        Self { entries }
    }

    pub(super) fn keys(self) -> Keys<'g, V, S, P> {
        Keys(self)
    }

    pub(super) fn values(self) -> Values<'g, V, S, P> {
        Values(self)
    }
}

impl<'g, V, S: BuildHasher, P: Pin> Iterator for Iter<'g, V, S, P> {
    type Item = (&'g [u8], &'g V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: met under the pin, which `'g` does not outlast; nor does it the map (R).
        self.entries.next().map(|entry| unsafe { entry.pair() })
    }
}

impl<'g, V, S: BuildHasher, P: Pin> Iterator for Keys<'g, V, S, P> {
    type Item = &'g [u8];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, _)| key)
    }
}

impl<'g, V, S: BuildHasher, P: Pin> Iterator for Values<'g, V, S, P> {
    type Item = &'g V;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(_, value)| value)
    }
}

macro_rules! common {
    ($($name:ident),*) => {$(
        impl<V, S: BuildHasher, P: Pin> FusedIterator for $name<'_, V, S, P> {}

        impl<V, S, P> fmt::Debug for $name<'_, V, S, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}
common!(Iter, Keys, Values);
