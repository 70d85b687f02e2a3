//! Plans: which keys a specification can match at all, known before any object is looked at.
//!
//! | in the clause | gives |
//! |---|---|
//! | a key without variables, `'_'` or maps | that key |
//! | a tuple or list key whose first parts are known | the keys that start so |
//! | a guard that compares the key with a literal | a range, or a key |
//! | a guard that compares the first open part of such a tuple or list | a range within the prefix |
//! | several guards, `and`, `andalso` | what all allow |
//! | `or`, `orelse`, several clauses | what any allows |
//! | `not` | what the opposite allows |
//! | anything else | every key |
//!
//! The key is the variable in its place in the head, or `{element, KeyPos, '$_'}`. A variable that a guard sets equal to
//! a literal counts as known.
//!
//! Hash tables compare keys by `=:=` and have no ranges: there a plan is a list of keys or a full scan, and `==` says
//! nothing where a number is near. Ordered tables compare by `==`, so a plan for `1` finds `1.0` as well; the
//! specification itself, which is run on everything the plan lets through, tells them apart.
//!
//! - Invariant **superset**: every object that the specification matches has a key in the plan. So a plan can be slow but
//!   never wrong.

mod bounds;
mod key_constraints;

use std::ops::Bound;
use std::sync::Arc;

use fyris_term::Term;
use fyris_term::key::KeyBuf;

use crate::plan::bounds::{ABOVE_TERMS, Cut, Label, Range, Ranges};
use crate::plan::key_constraints::{
    Operand, Site, holds_number, is_key_element, is_key_variable, narrow, pinned,
};
use crate::program::{KeptPlan, Pattern};
use crate::spec::MatchSpec;
use crate::syntax::atoms::variable;
use crate::syntax::function::Comparison;
use crate::syntax::key_shape::{self, Prefix, Shape};

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

/// Which keys to look at; see the module's table.
#[derive(Debug, Clone)]
pub struct Plan {
    kind: PlanKind,
    ranges: Vec<KeyRange>,
    points: Vec<KeyBuf>,
    made_of: MadeOf,
}

/// What the bounds are told from, when somebody asks.
#[derive(Debug, Clone)]
enum MadeOf {
    Everything,
    Keys(Vec<Term>),
    Ranges(Ranges),
}

impl Plan {
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

impl MatchSpec {
    /// Which keys of a table can match. O(size of the specification), but for the sorting of many ranges; the first
    /// plan is kept, and given again for tables of the same shape.
    pub fn plan(&self, keypos: usize, order: TableOrder) -> Arc<Plan> {
        let kept = self.program.plan.get_or_init(|| KeptPlan {
            keypos,
            order,
            plan: Arc::new(self.make_plan(keypos, order)),
        });
        if (kept.keypos, kept.order) == (keypos, order) {
            return Arc::clone(&kept.plan);
        }
        Arc::new(self.make_plan(keypos, order))
    }

    /// The bytes of the one key that all matching objects have, if the head names it: order bytes for an ordered table,
    /// exact ones for a hash table. O(1); a [`MatchSpec::plan`] of the same key is dearer than the lookup. `None` does not
    /// mean that there is no such key.
    #[inline]
    pub fn point(&self, keypos: usize, order: TableOrder) -> Option<&[u8]> {
        let [clause] = &self.program.clauses[..] else {
            return None;
        };
        let Pattern::Tuple { elements, .. } = clause.head else {
            return None;
        };
        let elements = elements.of(&self.program.patterns);
        let Pattern::Constant(key) = *elements.get(keypos.checked_sub(1)?)? else {
            return None;
        };
        let key = self.program.constant(key);
        Some(match order {
            TableOrder::Hash => &key.key,
            TableOrder::Ordered => key.key_order(),
        })
    }

    fn make_plan(&self, keypos: usize, order: TableOrder) -> Plan {
        match order {
            TableOrder::Hash => self.plan_hash(keypos),
            TableOrder::Ordered => self.plan_ordered(keypos),
        }
    }

    fn plan_hash(&self, keypos: usize) -> Plan {
        let mut points: Vec<Term> = Vec::new();
        for clause in self.clauses() {
            match hash_keys(clause, keypos) {
                Some(keys) => points.extend(keys),
                None => return Plan::full_scan(Vec::new()),
            }
        }
        points.sort_by(Term::cmp_exact);
        points.dedup();
        Plan {
            kind: points_kind(points.len()),
            ranges: Vec::new(),
            points: points.iter().map(KeyBuf::encode).collect(),
            made_of: MadeOf::Keys(points),
        }
    }

    fn plan_ordered(&self, keypos: usize) -> Plan {
        let set = Ranges::union(self.clauses().map(|clause| ordered_keys(clause, keypos)));
        let range = |range: &Range| KeyRange {
            lower: range.lower_bound(),
            upper: range.upper_bound(),
        };
        let ranges: Vec<KeyRange> = set.iter().map(range).collect();
        let kind = ordered_kind(&set, &ranges);
        match kind {
            PlanKind::FullScan => Plan::full_scan(ranges),
            kind => Plan {
                kind,
                ranges,
                points: Vec::new(),
                made_of: MadeOf::Ranges(set),
            },
        }
    }

    fn clauses(&self) -> impl Iterator<Item = ClauseTerm<'_>> {
        let clauses = self.source().as_list().unwrap_or(&[]).iter();
        clauses.filter_map(|clause| match clause.as_tuple()? {
            [head, guards, _] => Some(ClauseTerm {
                head,
                guards: guards.as_list()?,
            }),
            _ => None,
        })
    }
}

impl Plan {
    fn full_scan(ranges: Vec<KeyRange>) -> Plan {
        Plan {
            kind: PlanKind::FullScan,
            ranges,
            points: Vec::new(),
            made_of: MadeOf::Everything,
        }
    }
}

fn points_kind(points: usize) -> PlanKind {
    if points == 1 {
        PlanKind::Point
    } else {
        PlanKind::Points
    }
}

fn ordered_kind(set: &Ranges, ranges: &[KeyRange]) -> PlanKind {
    if set.iter().all(Range::is_point) {
        return points_kind(ranges.len());
    }
    match ranges {
        [one] if one.lower == Bound::Unbounded && one.upper == Bound::Unbounded => {
            PlanKind::FullScan
        }
        [_] if set.iter().all(Range::is_prefix) => PlanKind::Prefix,
        _ => PlanKind::Range,
    }
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

/// The parts of a clause that a plan is made of.
#[derive(Clone, Copy)]
struct ClauseTerm<'t> {
    head: &'t Term,
    guards: &'t [Term],
}

/// What a guard's operand is, in any table.
fn key_operand(clause: ClauseTerm<'_>, keypos: usize, term: &Term) -> Option<Operand> {
    let is_key =
        is_key_variable(term, keypos, clause.head) || is_key_element(term, keypos, clause.head);
    is_key.then_some(Operand::Key)
}

// ---- ordered tables

struct OrderedSite<'t> {
    clause: ClauseTerm<'t>,
    keypos: usize,
    prefix: Option<Prefix>,
}

fn ordered_keys(clause: ClauseTerm<'_>, keypos: usize) -> Ranges {
    let pin = |number| pinned(clause.guards, number, false);
    let (base, prefix) = match key_shape::of_head(clause.head, keypos, &pin) {
        Shape::Nothing => return Ranges::none(),
        Shape::Any => (Ranges::all(), None),
        Shape::Literal(key) => (comparison_range(Comparison::Equal, &key), None),
        Shape::Prefix(prefix) => (prefix_range(&prefix), Some(prefix)),
    };
    let site = OrderedSite {
        clause,
        keypos,
        prefix,
    };
    let guards = clause.guards.iter().map(|guard| narrow(&site, guard, true));
    guards.fold(base, Ranges::intersect)
}

impl Site for OrderedSite<'_> {
    type Keys = Ranges;

    fn all(&self) -> Ranges {
        Ranges::all()
    }

    fn none(&self) -> Ranges {
        Ranges::none()
    }

    fn operand(&self, term: &Term) -> Option<Operand> {
        let next = || {
            let next = self.prefix.as_ref()?.next?;
            (variable(term) == Some(next)).then_some(Operand::Next)
        };
        key_operand(self.clause, self.keypos, term).or_else(next)
    }

    fn compare(&self, operand: Operand, comparison: Comparison, literal: &Term) -> Ranges {
        match (operand, &self.prefix) {
            (Operand::Key, _) => comparison_range(comparison, literal),
            (Operand::Next, Some(prefix)) => next_range(prefix, comparison, literal),
            (Operand::Next, None) => Ranges::all(),
        }
    }

    fn intersect(&self, a: Ranges, b: Ranges) -> Ranges {
        a.intersect(b)
    }

    fn union(&self, sets: Vec<Ranges>) -> Ranges {
        Ranges::union(sets)
    }
}

/// Which sides of `literal` a comparison leaves open: what is below it, itself, what is above.
fn sides(comparison: Comparison) -> [bool; 3] {
    match comparison {
        Comparison::Less => [true, false, false],
        Comparison::LessEqual => [true, true, false],
        Comparison::Equal | Comparison::Exact => [false, true, false],
        Comparison::GreaterEqual => [false, !cfg!(fyris_mutant = "query_plan_open_end"), true],
        Comparison::Greater => [false, false, true],
        // Not `=:=` may still be `==`.
        Comparison::NotEqual | Comparison::NotExact => [true, true, true],
    }
}

/// The range between two cuts around a literal, with what is below and above as far as the comparison allows.
fn around(comparison: Comparison, below: Cut, above: Cut) -> Ranges {
    let (lower, upper) = match sides(comparison) {
        [true, true, true] => (None, None),
        [true, true, _] => (None, Some(above)),
        [true, ..] => (None, Some(below)),
        [_, true, true] => (Some(below), None),
        [_, true, _] => (Some(below), Some(above)),
        [..] => (Some(above), None),
    };
    Ranges::one(Range { lower, upper })
}

/// The keys that compare so with a literal.
fn comparison_range(comparison: Comparison, literal: &Term) -> Ranges {
    let key = KeyBuf::encode(literal);
    if key.is_too_deep() {
        return Ranges::all();
    }
    let cut = |above| Cut {
        bytes: key.order().to_vec(),
        above,
        label: Label {
            term: literal.clone(),
            below_label: !above,
        },
    };
    around(comparison, cut(false), cut(true))
}

/// The keys that start with some bytes, made of whole terms and going on with another.
fn between(bytes: &[u8], label: &Term) -> [Cut; 2] {
    let cut = |bytes: Vec<u8>, below_label| Cut {
        bytes,
        above: false,
        label: Label {
            term: label.clone(),
            below_label,
        },
    };
    let end = [bytes, &[ABOVE_TERMS]].concat();
    [cut(bytes.to_vec(), true), cut(end, false)]
}

fn prefix_range(prefix: &Prefix) -> Ranges {
    let [lower, upper] = between(&prefix.bytes, &prefix.label(None));
    Ranges::one(Range {
        lower: Some(lower),
        upper: Some(upper),
    })
}

/// The keys of a prefix whose next part compares so with a literal.
fn next_range(prefix: &Prefix, comparison: Comparison, literal: &Term) -> Ranges {
    let key = KeyBuf::encode(literal);
    if key.is_too_deep() {
        return Ranges::all();
    }
    let bytes = [&prefix.bytes, key.order()].concat();
    let [below, above] = between(&bytes, &prefix.label(Some(literal)));
    around(comparison, below, above)
}

// ---- hash tables

struct HashSite<'t> {
    clause: ClauseTerm<'t>,
    keypos: usize,
}

/// The keys that a clause can match; `None` for any.
fn hash_keys(clause: ClauseTerm<'_>, keypos: usize) -> Option<Vec<Term>> {
    let pin = |number| pinned(clause.guards, number, true);
    let base = match key_shape::of_head(clause.head, keypos, &pin) {
        Shape::Nothing => return Some(Vec::new()),
        Shape::Literal(key) => Some(vec![key]),
        Shape::Any | Shape::Prefix(_) => None,
    };
    let site = HashSite { clause, keypos };
    let guards = clause.guards.iter().map(|guard| narrow(&site, guard, true));
    guards.fold(base, |all, one| site.intersect(all, one))
}

impl Site for HashSite<'_> {
    type Keys = Option<Vec<Term>>;

    fn all(&self) -> Self::Keys {
        None
    }

    fn none(&self) -> Self::Keys {
        Some(Vec::new())
    }

    fn operand(&self, term: &Term) -> Option<Operand> {
        key_operand(self.clause, self.keypos, term)
    }

    fn compare(&self, operand: Operand, comparison: Comparison, literal: &Term) -> Self::Keys {
        let is_it = match comparison {
            Comparison::Exact => true,
            Comparison::Equal => !holds_number(literal),
            _ => false,
        };
        (operand == Operand::Key && is_it).then(|| vec![literal.clone()])
    }

    fn intersect(&self, a: Self::Keys, b: Self::Keys) -> Self::Keys {
        match (a, b) {
            (Some(mut a), Some(b)) => {
                let b: std::collections::HashSet<Term> = b.into_iter().collect();
                a.retain(|key| b.contains(key));
                Some(a)
            }
            (a, b) => a.or(b),
        }
    }

    fn union(&self, sets: Vec<Self::Keys>) -> Self::Keys {
        let sets: Option<Vec<Vec<Term>>> = sets.into_iter().collect();
        sets.map(|sets| sets.into_iter().flatten().collect())
    }
}
