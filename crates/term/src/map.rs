//! Maps: sorted vectors of pairs.
//!
//! Invariant **SORTED_KEYS**: the keys are strictly ascending in the exact order ([`Term::cmp_exact`]), so a map has
//! one form, `==` compares two maps pair by pair, and iteration is in the order Erlang compares by.

use std::slice;

use crate::Term;

/// A map: pairs in the exact key order, without repeated keys.
///
/// Looking up costs O(log n) comparisons; inserting and removing also move the pairs behind. Build a large map with
/// [`Map::new`], in O(n log n).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Map {
    pub(crate) pairs: Vec<(Term, Term)>,
}

impl Map {
    /// Returns the map of these pairs; the last of several equal (`=:=`) keys wins.
    pub fn new(pairs: impl Into<Vec<(Term, Term)>>) -> Map {
        let mut pairs = pairs.into();
        // Stable, so of equal keys the last is the last of its run.
        pairs.sort_by(|(a, _), (b, _)| a.cmp_exact(b));
        pairs.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        Map { pairs }
    }

    /// Returns the map of pairs that are already in strictly ascending exact key order; `None` if they are not. O(n).
    pub fn from_sorted(pairs: Vec<(Term, Term)>) -> Option<Map> {
        pairs
            .is_sorted_by(|(a, _), (b, _)| a.cmp_exact(b).is_lt())
            .then_some(Map { pairs })
    }

    fn find(&self, key: &Term) -> Result<usize, usize> {
        self.pairs.binary_search_by(|(k, _)| k.cmp_exact(key))
    }

    /// Returns the value of `key` (`=:=`).
    pub fn get(&self, key: &Term) -> Option<&Term> {
        self.find(key).ok().map(|at| &self.pairs[at].1)
    }

    /// Returns the value of `key` (`=:=`), to be changed.
    pub fn get_mut(&mut self, key: &Term) -> Option<&mut Term> {
        self.find(key).ok().map(|at| &mut self.pairs[at].1)
    }

    /// Returns whether there is such a key (`=:=`).
    pub fn contains_key(&self, key: &Term) -> bool {
        self.find(key).is_ok()
    }

    /// Sets the value of `key`; returns the one it had.
    pub fn insert(&mut self, key: Term, value: Term) -> Option<Term> {
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.pairs[at].1, value)),
            Err(at) => {
                self.pairs.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes `key`; returns the value it had.
    pub fn remove(&mut self, key: &Term) -> Option<Term> {
        self.find(key).ok().map(|at| self.pairs.remove(at).1)
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns whether this is `#{}`.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns the pairs in exact key order.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (&Term, &Term)> + DoubleEndedIterator + Clone {
        self.pairs.iter().map(|(key, value)| (key, value))
    }

    /// Returns the pairs in exact key order, as they are stored.
    pub fn pairs(&self) -> &[(Term, Term)] {
        &self.pairs
    }

    /// Returns the pairs in exact key order, given away.
    pub fn into_pairs(mut self) -> Vec<(Term, Term)> {
        std::mem::take(&mut self.pairs)
    }
}

impl From<Map> for Term {
    fn from(map: Map) -> Term {
        Term::Map(map)
    }
}

impl FromIterator<(Term, Term)> for Map {
    fn from_iter<I: IntoIterator<Item = (Term, Term)>>(pairs: I) -> Map {
        Map::new(pairs.into_iter().collect::<Vec<_>>())
    }
}

impl IntoIterator for Map {
    type Item = (Term, Term);
    type IntoIter = std::vec::IntoIter<(Term, Term)>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_pairs().into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a (Term, Term);
    type IntoIter = slice::Iter<'a, (Term, Term)>;

    fn into_iter(self) -> Self::IntoIter {
        self.pairs.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: i64, value: i64) -> (Term, Term) {
        (Term::Int(key), Term::Int(value))
    }

    #[test]
    fn the_last_of_equal_keys_wins() {
        let map = Map::new([pair(2, 1), pair(1, 1), pair(2, 2), pair(1, 2), pair(2, 3)]);
        assert!(map.pairs == [pair(1, 2), pair(2, 3)]);
    }

    #[test]
    fn keys_are_exact() {
        let one = Term::Float(crate::Float::new(1.0).unwrap());
        let mut map = Map::new([(one.clone(), Term::Int(1)), pair(5, 5)]);
        assert!(map.get(&Term::Int(1)).is_none());
        assert!(map.insert(Term::Int(1), Term::Int(2)).is_none());
        assert_eq!(map.len(), 3);
        assert!(map.pairs[2].0 == one, "floats sort behind integers");
        assert!(map.remove(&one) == Some(Term::Int(1)));
    }

    #[test]
    fn sorted_pairs_are_checked() {
        assert!(Map::from_sorted(vec![pair(1, 1), pair(2, 1)]).is_some());
        assert!(Map::from_sorted(vec![pair(1, 1), pair(1, 1)]).is_none());
        assert!(Map::from_sorted(vec![pair(2, 1), pair(1, 1)]).is_none());
    }
}
