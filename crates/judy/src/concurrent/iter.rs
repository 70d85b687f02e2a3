//! Iterators over a [`ConcurrentJudy`](super::ConcurrentJudy).

use std::collections::VecDeque;
use std::fmt;
use std::iter::FusedIterator;

use fyris_index::inline::Word;
use fyris_index::key::PrefixKey;

use super::map::ConcurrentJudy;
use super::order::Pair;

/// Pairs that the first look brings, and the most that a later one does.
const FIRST: usize = 8;
const MOST: usize = 128;

/// The pairs of a [`ConcurrentJudy`] in a range, in the order of keys, from either end. See
/// [`ConcurrentJudy::range`].
pub struct ConcurrentRange<'a, K, V> {
    map: &'a ConcurrentJudy<K, V>,
    /// The first and the last word of what is left, if anything may be.
    left: Option<(u64, u64)>,
    front: End,
    back: End,
}

/// All pairs of a [`ConcurrentJudy`]. See [`ConcurrentJudy::iter`].
pub type ConcurrentIter<'a, K, V> = ConcurrentRange<'a, K, V>;

/// Pairs that were read beforehand at one end.
struct End {
    pairs: VecDeque<Pair>,
    next_look: usize,
}

impl End {
    fn new() -> Self {
        Self {
            pairs: VecDeque::new(),
            next_look: FIRST,
        }
    }
}

impl<'a, K: PrefixKey, V: Word> ConcurrentRange<'a, K, V> {
    pub(super) fn new(map: &'a ConcurrentJudy<K, V>, words: Option<(u64, u64)>) -> Self {
        Self {
            map,
            left: words,
            front: End::new(),
            back: End::new(),
        }
    }

    /// Takes the next pair of one end.
    #[inline]
    fn step(&mut self, up: bool) -> Option<(K, V)> {
        let (first, last) = self.left.take()?;
        let (end, from, to) = if up {
            (&mut self.front, first, last)
        } else {
            (&mut self.back, last, first)
        };
        if end.pairs.is_empty() {
            let (look, pairs) = (end.next_look, &mut end.pairs);
            end.next_look = (2 * look).min(MOST);
            let tree = self.map.tree();
            tree.walk(from, to, look, |pair| pairs.push_back(pair));
        }
        let pair = end.pairs.pop_front()?;
        let key = pair.0;
        // Pairs that were read beforehand may have been met from the other end.
        if !(first..=last).contains(&key) {
            return None;
        }
        if key != to {
            self.left = Some(if up {
                (key + 1, last)
            } else {
                (first, key - 1)
            });
        }
        Some(ConcurrentJudy::pair(pair))
    }
}

impl<K: PrefixKey, V: Word> Iterator for ConcurrentRange<'_, K, V> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<(K, V)> {
        self.step(true)
    }
}

impl<K: PrefixKey, V: Word> DoubleEndedIterator for ConcurrentRange<'_, K, V> {
    #[inline]
    fn next_back(&mut self) -> Option<(K, V)> {
        self.step(false)
    }
}

impl<K: PrefixKey, V: Word> FusedIterator for ConcurrentRange<'_, K, V> {}

impl<K, V> fmt::Debug for ConcurrentRange<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").finish_non_exhaustive()
    }
}
