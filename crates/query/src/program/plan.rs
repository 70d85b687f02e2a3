//! Plans as data: the keys to read.

use std::ops::Bound;
use std::sync::Arc;

use fyris_term::Term;
use fyris_term::key::KeyBuf;

use crate::program::key_ranges::{Cut, Range, Ranges};

/// The order in which a table finds its keys.
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
    /// Several keys, or none if no object can match.
    Points,
    /// The keys with one prefix.
    Prefix,
    /// One range of keys or several.
    Range,
    /// Every object.
    FullScan,
}

impl PlanKind {
    /// Returns the kind of a plan of `points` keys.
    pub(crate) fn of_points(points: usize) -> PlanKind {
        if points == 1 {
            PlanKind::Point
        } else {
            PlanKind::Points
        }
    }

    /// Returns `point`, `points`, `prefix`, `range` or `full_scan`.
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
    /// The lower end: order bytes ([`KeyBuf::order`]), or a prefix of order bytes.
    pub lower: Bound<Vec<u8>>,
    /// The upper end, of the same form.
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    /// Returns the order bytes of the key, if the range holds one key only.
    pub fn as_point(&self) -> Option<&[u8]> {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) if lower == upper => Some(lower),
            _ => None,
        }
    }

    /// Returns whether a key with these order bytes is in the range.
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

/// The keys that a specification can match: made by [`MatchSpec::plan`](crate::MatchSpec::plan).
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) kind: PlanKind,
    pub(crate) ranges: Vec<KeyRange>,
    pub(crate) points: Vec<KeyBuf>,
    pub(crate) made_of: MadeOf,
}

/// The source of [`Plan::bounds`].
#[derive(Debug, Clone)]
pub(crate) enum MadeOf {
    Everything,
    Keys(Vec<Term>),
    Ranges(Ranges),
}

impl Plan {
    /// Returns a full scan.
    pub(crate) fn full_scan(ranges: Vec<KeyRange>) -> Plan {
        Plan {
            kind: PlanKind::FullScan,
            ranges,
            points: Vec::new(),
            made_of: MadeOf::Everything,
        }
    }

    /// Returns the kind of the plan.
    pub fn kind(&self) -> PlanKind {
        self.kind
    }

    /// Returns, for an ordered table, the ranges that hold every matching object, ascending and without overlap. A
    /// full scan is one range without bounds. Empty for a hash table.
    pub fn ranges(&self) -> &[KeyRange] {
        &self.ranges
    }

    /// Returns, for a hash table, the keys that matching objects can have, without repeats. Empty for a full scan,
    /// and for an ordered table.
    pub fn points(&self) -> &[KeyBuf] {
        &self.points
    }

    /// Returns the ranges or keys as terms, in their order: `{key, Key}`, `{prefix, Pattern}` or `{range, Lower,
    /// Upper}` with bounds `{'>=', Key}`, `{'>', Key}`, `{'<', Key}`, `{'=<', Key}` or `unbounded`; a bound on a part
    /// of the key is a pattern such as `{a, 5, '_'}`. Empty for a full scan.
    pub fn bounds(&self) -> Vec<Term> {
        match &self.made_of {
            MadeOf::Everything => Vec::new(),
            MadeOf::Keys(keys) => keys.iter().cloned().map(shown_key).collect(),
            MadeOf::Ranges(ranges) => ranges.iter().map(shown_range).collect(),
        }
    }

    /// Returns the plan as a term, for `explain`: `#{access => Kind, bounds => Bounds}`.
    pub fn describe(&self) -> Term {
        let pairs = [
            (Term::atom("access"), Term::atom(self.kind.name())),
            (Term::atom("bounds"), Term::list(self.bounds())),
        ];
        pairs.into_iter().collect::<fyris_term::Map>().into()
    }
}

/// A plan, and the shape of the tables it is for.
#[derive(Debug)]
pub(crate) struct KeptPlan {
    pub(crate) keypos: usize,
    pub(crate) order: TableOrder,
    pub(crate) plan: Arc<Plan>,
}

fn shown_key(key: Term) -> Term {
    Term::tuple(vec![Term::atom("key"), key])
}

fn shown_range(range: &Range) -> Term {
    let bound = |cut: &Option<Cut>, names: [&str; 2]| match cut {
        None => Term::atom("unbounded"),
        Some(cut) => {
            let name = names[usize::from(cut.label.below_label)];
            Term::tuple(vec![Term::atom(name), cut.label.term.clone()])
        }
    };
    match &range.lower {
        Some(cut) if range.is_point() => shown_key(cut.label.term.clone()),
        Some(cut) if range.is_prefix() => {
            Term::tuple(vec![Term::atom("prefix"), cut.label.term.clone()])
        }
        _ => Term::tuple(vec![
            Term::atom("range"),
            bound(&range.lower, [">", ">="]),
            bound(&range.upper, ["=<", "<"]),
        ]),
    }
}
