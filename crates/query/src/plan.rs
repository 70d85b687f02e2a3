//! Which keys a specification can match at all.

use std::ops::Bound;

use fyris_term::key::KeyBuf;
use fyris_term::{Term, term};

use crate::spec::MatchSpec;

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

/// Which keys to look at.
#[derive(Debug, Clone)]
pub struct Plan {
    kind: PlanKind,
    ranges: Vec<KeyRange>,
    points: Vec<KeyBuf>,
}

impl Plan {
    /// What kind of plan it is.
    pub fn kind(&self) -> PlanKind {
        self.kind
    }

    /// Of an ordered table: the ranges in which all matching objects are, ascending, without overlap.
    pub fn ranges(&self) -> &[KeyRange] {
        &self.ranges
    }

    /// Of a hash table, unless it is a full scan: the keys that all matching objects have, without repeats.
    pub fn points(&self) -> &[KeyBuf] {
        &self.points
    }

    /// The plan as a term, for `explain`.
    pub fn describe(&self) -> Term {
        term!(#{access => (Term::atom(self.kind.name())), keys => []})
    }
}

impl MatchSpec {
    /// Which keys of a table can match.
    pub fn plan(&self, _keypos: usize, _order: TableOrder) -> Plan {
        Plan {
            kind: PlanKind::FullScan,
            ranges: vec![KeyRange {
                lower: Bound::Unbounded,
                upper: Bound::Unbounded,
            }],
            points: Vec::new(),
        }
    }
}
