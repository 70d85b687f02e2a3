//! Iterators over a [`JudyMap`](super::JudyMap).

use std::marker::PhantomData;

use fyris_index::key::PrefixKey;

use super::cursor::Cursor;
use super::order::Found;
use super::tree::Tree;

/// The pairs of a range, from either end.
struct Walk {
    tree: *const Tree,
    /// The first and the last word of the range.
    words: (u64, u64),
    /// What is left between the two ends: so neither has to know where the other is.
    left: usize,
    front: Option<Cursor>,
    back: Option<Cursor>,
}

impl Walk {
    fn new(tree: *const Tree, words: Option<(u64, u64)>, left: usize) -> Self {
        Self {
            tree,
            words: words.unwrap_or((0, 0)),
            left,
            front: None,
            back: None,
        }
    }

    #[inline(always)]
    fn step(&mut self, up: bool) -> Option<Found> {
        self.left = self.left.checked_sub(1)?;
        let (cursor, word) = if up {
            (&mut self.front, self.words.0)
        } else {
            (&mut self.back, self.words.1)
        };
        let tree = self.tree;
        let cursor = cursor.get_or_insert_with(|| {
            // SAFETY: the iterator borrows the tree.
            Cursor::at(unsafe { &*tree }, word, up)
        });
        cursor.next(up)
    }
}

/// The pairs of a [`JudyMap`](super::JudyMap) in a range, in the order of keys, from either end. See
/// [`JudyMap::range`](super::JudyMap::range).
pub struct Range<'a, K, V> {
    walk: Walk,
    pairs: PhantomData<(K, &'a V)>,
}

/// All pairs of a [`JudyMap`](super::JudyMap). See [`JudyMap::iter`](super::JudyMap::iter).
pub type Iter<'a, K, V> = Range<'a, K, V>;

/// All pairs of a [`JudyMap`](super::JudyMap), with values that can be changed. See
/// [`JudyMap::iter_mut`](super::JudyMap::iter_mut).
pub struct IterMut<'a, K, V> {
    walk: Walk,
    pairs: PhantomData<(K, &'a mut V)>,
}

/// The keys of a [`JudyMap`](super::JudyMap). See [`JudyMap::keys`](super::JudyMap::keys).
pub struct Keys<'a, K, V>(Range<'a, K, V>);

/// The values of a [`JudyMap`](super::JudyMap). See [`JudyMap::values`](super::JudyMap::values).
pub struct Values<'a, K, V>(Range<'a, K, V>);

impl<'a, K, V> Range<'a, K, V> {
    pub(super) fn new(tree: &'a Tree, words: Option<(u64, u64)>, left: usize) -> Self {
        Self {
            walk: Walk::new(tree, words, left),
            pairs: PhantomData,
        }
    }
}

impl<'a, K, V> IterMut<'a, K, V> {
    pub(super) fn new(tree: &'a mut Tree) -> Self {
        let left = tree.len;
        Self {
            walk: Walk::new(tree, Some((0, u64::MAX)), left),
            pairs: PhantomData,
        }
    }
}

impl<'a, K, V> Keys<'a, K, V> {
    pub(super) fn new(pairs: Range<'a, K, V>) -> Self {
        Self(pairs)
    }
}

impl<'a, K, V> Values<'a, K, V> {
    pub(super) fn new(pairs: Range<'a, K, V>) -> Self {
        Self(pairs)
    }
}

// SAFETY: as a shared reference to the map.
unsafe impl<K: Sync, V: Sync> Send for Range<'_, K, V> {}
// SAFETY: as above.
unsafe impl<K: Sync, V: Sync> Sync for Range<'_, K, V> {}
// SAFETY: as a unique reference to the map.
unsafe impl<K: Send, V: Send> Send for IterMut<'_, K, V> {}
// SAFETY: as above; a shared iterator lends nothing.
unsafe impl<K: Sync, V: Sync> Sync for IterMut<'_, K, V> {}

impl<K, V> Clone for Range<'_, K, V> {
    fn clone(&self) -> Self {
        Self {
            walk: Walk { ..self.walk },
            pairs: PhantomData,
        }
    }
}

/// Implements the traits of iterators for a type that has what steps from both ends, and says how many steps are left.
macro_rules! iterator {
    (
        [$($k:ident: $bound:ident)?] $name:ident, $item:ty,
        $this:ident => $steps:expr, $found:ident => $make:expr
    ) => {
        impl<'a, $($k: $bound,)? V> Iterator for $name<'a, $($k,)? V> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let $this = self;
                let $found = $steps.step(true)?;
                Some($make)
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                let $this = self;
                ($steps.left, Some($steps.left))
            }
        }

        impl<'a, $($k: $bound,)? V> DoubleEndedIterator for $name<'a, $($k,)? V> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let $this = self;
                let $found = $steps.step(false)?;
                Some($make)
            }
        }

        impl<$($k: $bound,)? V> ExactSizeIterator for $name<'_, $($k,)? V> {}
        impl<$($k: $bound,)? V> std::iter::FusedIterator for $name<'_, $($k,)? V> {}

        impl<$($k,)? V> std::fmt::Debug for $name<'_, $($k,)? V> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                f.debug_struct(stringify!($name))
                    .field("left", &$steps.left)
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(super) use iterator;

iterator!([K: PrefixKey] Range, (K, &'a V), range => range.walk, found => {
    // SAFETY: the place of a value of the map, which is borrowed for as long.
    (K::from_key_prefix(found.0), unsafe { &*found.1.cast::<V>() })
});
iterator!([K: PrefixKey] IterMut, (K, &'a mut V), range => range.walk, found => {
    // SAFETY: as above; each place is lent once, as what is left is between the two ends.
    (K::from_key_prefix(found.0), unsafe { &mut *found.1.cast::<V>() })
});
iterator!([K: PrefixKey] Keys, K, keys => keys.0.walk, found => K::from_key_prefix(found.0));
iterator!([K: PrefixKey] Values, &'a V, values => values.0.walk, found => {
    // SAFETY: as for `Range`.
    unsafe { &*found.1.cast::<V>() }
});
