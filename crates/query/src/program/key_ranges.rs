//! Sets of keys as ranges of their order bytes.
//!
//! A *cut* is a position between two neighbours in the order of byte strings: directly below some bytes, or directly
//! above them. A range is the keys between two cuts, and a set is a list of ranges.
//!
//! Invariant **DISJOINT**: the ranges of a set are not empty, ascend, and do not overlap.

use std::cmp::Ordering;
use std::ops::Bound;

use fyris_term::Term;

/// A position between byte strings, and the term it was made of.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    pub(crate) bytes: Vec<u8>,
    /// Whether it is above the bytes, not below.
    pub(crate) above: bool,
    /// The key, or the pattern of the keys with one prefix, to print.
    pub(crate) label: Label,
}

/// A cut as it is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) term: Term,
    /// Whether the keys of the label are above the cut.
    pub(crate) below_label: bool,
}

impl Cut {
    fn place(&self) -> (&[u8], bool) {
        (&self.bytes, self.above)
    }

    fn compare(&self, other: &Cut) -> Ordering {
        self.place().cmp(&other.place())
    }
}

/// The keys between two cuts; a missing cut is the end of the key space.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    pub(crate) lower: Option<Cut>,
    pub(crate) upper: Option<Cut>,
}

impl Range {
    pub(crate) fn all() -> Range {
        Range {
            lower: None,
            upper: None,
        }
    }

    fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Some(lower), Some(upper)) => lower.compare(upper).is_ge(),
            _ => false,
        }
    }

    pub(crate) fn lower_bound(&self) -> Bound<Vec<u8>> {
        match &self.lower {
            None => Bound::Unbounded,
            Some(cut) if cut.above => Bound::Excluded(cut.bytes.clone()),
            Some(cut) => Bound::Included(cut.bytes.clone()),
        }
    }

    pub(crate) fn upper_bound(&self) -> Bound<Vec<u8>> {
        match &self.upper {
            None => Bound::Unbounded,
            Some(cut) if cut.above => Bound::Included(cut.bytes.clone()),
            Some(cut) => Bound::Excluded(cut.bytes.clone()),
        }
    }

    /// Returns whether it holds exactly the keys with one sequence of order bytes.
    pub(crate) fn is_point(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Some(lower), Some(upper)) => lower.bytes == upper.bytes && !lower.above && upper.above,
            _ => false,
        }
    }

    /// Returns whether it holds exactly the keys with one prefix.
    pub(crate) fn is_prefix(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Some(lower), Some(upper)) => {
                !lower.above
                    && !upper.above
                    && upper.bytes.strip_suffix(&[ABOVE_TERMS]) == Some(&lower.bytes)
            }
            _ => false,
        }
    }
}

/// Appended to a prefix of whole terms, it makes a bound above every key that continues the prefix with another term.
pub(crate) const ABOVE_TERMS: u8 = 0xF0;

/// A set of keys.
#[derive(Debug, Clone)]
pub(crate) struct Ranges(Vec<Range>);

impl Ranges {
    pub(crate) fn all() -> Ranges {
        Ranges(vec![Range::all()])
    }

    pub(crate) fn none() -> Ranges {
        Ranges(Vec::new())
    }

    pub(crate) fn one(range: Range) -> Ranges {
        if range.is_empty() {
            return Ranges::none();
        }
        Ranges(vec![range])
    }

    /// Iterates over the ranges, in ascending order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Range> {
        self.0.iter()
    }

    /// Returns the keys in both sets. O(ranges).
    pub(crate) fn intersect(self, other: Ranges) -> Ranges {
        let mut both = Vec::new();
        let (mut a, mut b) = (
            self.0.into_iter().peekable(),
            other.0.into_iter().peekable(),
        );
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let range = Range {
                lower: later(&x.lower, &y.lower).cloned(),
                upper: earlier(&x.upper, &y.upper).cloned(),
            };
            if !range.is_empty() {
                both.push(range);
            }
            // The range that ends first overlaps no further range of the other set.
            if ends_first(x, y) {
                a.next();
            } else {
                b.next();
            }
        }
        Ranges(both)
    }

    /// Returns the keys in any of the sets. O(ranges log ranges).
    pub(crate) fn union(sets: impl IntoIterator<Item = Ranges>) -> Ranges {
        let mut ranges: Vec<Range> = sets.into_iter().flat_map(|set| set.0).collect();
        ranges.sort_by(|a, b| compare_lower(&a.lower, &b.lower));
        let mut apart: Vec<Range> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match apart.last_mut() {
                Some(last) if touches(last, &range) => {
                    if last.upper.is_some() && ends_first(last, &range) {
                        last.upper = range.upper;
                    }
                }
                _ => apart.push(range),
            }
        }
        Ranges(apart)
    }
}

fn compare_lower(a: &Option<Cut>, b: &Option<Cut>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.compare(b),
        // A missing lower cut is the start of the key space, below every other cut.
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

fn later<'c>(a: &'c Option<Cut>, b: &'c Option<Cut>) -> Option<&'c Cut> {
    if compare_lower(a, b).is_ge() {
        a.as_ref()
    } else {
        b.as_ref()
    }
}

fn earlier<'c>(a: &'c Option<Cut>, b: &'c Option<Cut>) -> Option<&'c Cut> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.compare(b).is_le() { a } else { b }),
        (a, b) => a.as_ref().or(b.as_ref()),
    }
}

fn ends_first(a: &Range, b: &Range) -> bool {
    match (&a.upper, &b.upper) {
        (Some(a), Some(b)) => a.compare(b).is_lt(),
        (a, _) => a.is_some(),
    }
}

/// Returns whether there is no gap between range `a` and range `b`, which does not start before it.
fn touches(a: &Range, b: &Range) -> bool {
    match (&a.upper, &b.lower) {
        (Some(upper), Some(lower)) => lower.compare(upper).is_le(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(byte: u8, above: bool) -> Cut {
        let label = Label {
            term: Term::Int(0),
            below_label: !above,
        };
        Cut {
            bytes: vec![byte],
            above,
            label,
        }
    }

    /// Returns the bytes 0 to 9 that are in the set.
    fn members(set: &Ranges) -> Vec<u8> {
        let inside = |byte: &u8| {
            let probe = (&[*byte][..], false);
            let above = |cut: &Option<Cut>| cut.as_ref().is_none_or(|cut| cut.place() <= probe);
            let below = |cut: &Option<Cut>| cut.as_ref().is_none_or(|cut| cut.place() > probe);
            set.iter()
                .any(|range| above(&range.lower) && below(&range.upper))
        };
        (0..10).filter(inside).collect()
    }

    fn any_set() -> impl Strategy<Value = Ranges> {
        let end = || proptest::option::of((0u8..10, any::<bool>()));
        let range = (end(), end()).prop_map(|(lower, upper)| {
            Ranges::one(Range {
                lower: lower.map(|(byte, above)| cut(byte, above)),
                upper: upper.map(|(byte, above)| cut(byte, above)),
            })
        });
        proptest::collection::vec(range, 0..4).prop_map(Ranges::union)
    }

    proptest! {
        #[test]
        fn sets_behave_as_sets(a in any_set(), b in any_set()) {
            let (in_a, in_b) = (members(&a), members(&b));
            let either = Ranges::union([a.clone(), b.clone()]);
            let both = a.intersect(b);
            let expected_both: Vec<u8> =
                (0..10).filter(|byte| in_a.contains(byte) && in_b.contains(byte)).collect();
            let expected_either: Vec<u8> =
                (0..10).filter(|byte| in_a.contains(byte) || in_b.contains(byte)).collect();
            prop_assert_eq!(members(&both), expected_both);
            prop_assert_eq!(members(&either), expected_either);
            for set in [both, either] {
                let gaps = set.0.windows(2).all(|pair| !touches(&pair[0], &pair[1]));
                prop_assert!(gaps && set.iter().all(|range| !range.is_empty()));
            }
        }
    }
}
