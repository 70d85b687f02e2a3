//! Plans as data: which keys to look at.

use std::ops::Bound;
use std::sync::Arc;

use fyris_term::Term;
use fyris_term::key::KeyBuf;

use crate::program::key_ranges::{Cut, Range, Ranges};

/// How a table finds its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableOrder {
    /// By their exact bytes (`=:=`); there are no ranges.
    Hash,
    /// In the order of terms (`==`).
    Ordered,
}

/// The kinds of plan, from the cheapest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanKind {
    /// One key.
    Point,
    /// Some keys; or none at all, when nothing can match.
    Points,
    /// The keys that start in one way.
    Prefix,
    /// Some ranges of keys.
    Range,
    /// Every object.
    FullScan,
}

impl PlanKind {
    /// The kind of a list of this many keys.
    pub(crate) fn of_points(points: usize) -> PlanKind {
        if points == 1 {
            PlanKind::Point
        } else {
            PlanKind::Points
        }
    }

    /// `point`, `points`, `prefix`, `range` or `full_scan`.
    pub fn name(self) -> &'static str {
        match self {
            PlanKind::Point => "point",
            PlanKind::Points => "points",
            PlanKind::Prefix => "prefix",
            PlanKind::Range => "range",
            PlanKind::FullScan => "full_scan",
        }
    }
}

/// A range of keys, in the order of their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// Order bytes ([`KeyBuf::order`]), or the beginning of some.
    pub lower: Bound<Vec<u8>>,
    /// As `lower`.
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    /// The order bytes of the one key that the range is, if it is one.
    pub fn as_point(&self) -> Option<&[u8]> {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) if lower == upper => Some(lower),
            _ => None,
        }
    }

    /// Whether a key with these order bytes is in the range.
    pub fn contains(&self, order: &[u8]) -> bool {
        let above = match &self.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => order >= &lower[..],
            Bound::Excluded(lower) => order > &lower[..],
        };
        above
            && match &self.upper {
                Bound::Unbounded => true,
                Bound::Included(upper) => order <= &upper[..],
                Bound::Excluded(upper) => order < &upper[..],
            }
    }
}

/// The keys to look at: made by [`MatchSpec::plan`](crate::MatchSpec::plan).
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) kind: PlanKind,
    pub(crate) ranges: Vec<KeyRange>,
    pub(crate) points: Vec<KeyBuf>,
    pub(crate) made_of: MadeOf,
}

/// What the bounds are told from, when somebody asks.
#[derive(Debug, Clone)]
pub(crate) enum MadeOf {
    Everything,
    Keys(Vec<Term>),
    Ranges(Ranges),
}

impl Plan {
    /// Every key.
    pub(crate) fn full_scan(ranges: Vec<KeyRange>) -> Plan {
        Plan {
            kind: PlanKind::FullScan,
            ranges,
            points: Vec::new(),
            made_of: MadeOf::Everything,
        }
    }

    /// What kind of plan it is.
    pub fn kind(&self) -> PlanKind {
        self.kind
    }

    /// Of an ordered table: the ranges in which all matching objects are, ascending, without overlap. A full scan is
    /// one range without bounds. Of a hash table: nothing.
    pub fn ranges(&self) -> &[KeyRange] {
        &self.ranges
    }

    /// Of a hash table: the keys that all matching objects have, without repeats; nothing if it is a full scan. Of an
    /// ordered table: nothing.
    pub fn points(&self) -> &[KeyBuf] {
        &self.points
    }

    /// The ranges or keys as terms, in their order: `{key, Key}`, `{prefix, Pattern}` or `{range, Lower, Upper}` with
    /// bounds `{'>=', Key}`, `{'>', Key}`, `{'<', Key}`, `{'=<', Key}` or `unbounded`; a bound on a part of the key is
    /// a pattern such as `{a, 5, '_'}`. Nothing for a full scan.
    pub fn bounds(&self) -> Vec<Term> {
        match &self.made_of {
            MadeOf::Everything => Vec::new(),
            MadeOf::Keys(keys) => keys.iter().cloned().map(shown_key).collect(),
            MadeOf::Ranges(ranges) => ranges.iter().map(shown_range).collect(),
        }
    }

    /// The plan as a term, for `explain`: `#{access => Kind, bounds => Bounds}`.
    pub fn describe(&self) -> Term {
        let pairs = [
            (Term::atom("access"), Term::atom(self.kind.name())),
            (Term::atom("bounds"), Term::List(self.bounds())),
        ];
        pairs.into_iter().collect::<fyris_term::Map>().into()
    }
}

/// A plan, and what it is for.
#[derive(Debug)]
pub(crate) struct KeptPlan {
    pub(crate) keypos: usize,
    pub(crate) order: TableOrder,
    pub(crate) plan: Arc<Plan>,
}

fn shown_key(key: Term) -> Term {
    Term::Tuple(vec![Term::atom("key"), key])
}

fn shown_range(range: &Range) -> Term {
    let bound = |cut: &Option<Cut>, names: [&str; 2]| match cut {
        None => Term::atom("unbounded"),
        Some(cut) => {
            let name = names[usize::from(cut.label.below_label)];
            Term::Tuple(vec![Term::atom(name), cut.label.term.clone()])
        }
    };
    match &range.lower {
        Some(cut) if range.is_point() => shown_key(cut.label.term.clone()),
        Some(cut) if range.is_prefix() => {
            Term::Tuple(vec![Term::atom("prefix"), cut.label.term.clone()])
        }
        _ => Term::Tuple(vec![
            Term::atom("range"),
            bound(&range.lower, [">", ">="]),
            bound(&range.upper, ["=<", "<"]),
        ]),
    }
}
