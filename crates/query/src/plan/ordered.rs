//! Plans for ordered tables: ranges of keys.

use std::ops::Bound;

use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::clause::{ClauseTerm, key_operand};
use super::key_constraints::{KeySets, Operand, constrain, known_value};
use crate::program::key_ranges::{ABOVE_TERMS, Cut, Label, Range, Ranges};
use crate::program::plan::{KeyRange, MadeOf, Plan, PlanKind};
use crate::syntax::atoms::variable;
use crate::syntax::function::Comparison;
use crate::syntax::key_shape::{self, Prefix, Shape};

/// Returns the plan whose ranges hold every key that one of the clauses can match.
pub(super) fn plan<'t>(clauses: impl Iterator<Item = ClauseTerm<'t>>, keypos: usize) -> Plan {
    let set = Ranges::union(clauses.map(|clause| ordered_keys(clause, keypos)));
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

fn ordered_kind(set: &Ranges, ranges: &[KeyRange]) -> PlanKind {
    if set.iter().all(Range::is_point) {
        return PlanKind::of_points(ranges.len());
    }
    match ranges {
        [one] if one.lower == Bound::Unbounded && one.upper == Bound::Unbounded => {
            PlanKind::FullScan
        }
        [_] if set.iter().all(Range::is_prefix) => PlanKind::Prefix,
        _ => PlanKind::Range,
    }
}

struct OrderedKeys<'t> {
    clause: ClauseTerm<'t>,
    keypos: usize,
    prefix: Option<Prefix>,
}

fn ordered_keys(clause: ClauseTerm<'_>, keypos: usize) -> Ranges {
    let substitution = |number| known_value(clause.guards, number, false);
    let (base, prefix) = match key_shape::of_head(clause.head, keypos, &substitution) {
        Shape::Nothing => return Ranges::none(),
        Shape::Any => (Ranges::all(), None),
        Shape::Literal(key) => (comparison_range(Comparison::Equal, &key), None),
        Shape::Prefix(prefix) => (prefix_range(&prefix), Some(prefix)),
    };
    let sets = OrderedKeys {
        clause,
        keypos,
        prefix,
    };
    let guards = clause
        .guards
        .iter()
        .map(|guard| constrain(&sets, guard, true));
    guards.fold(base, Ranges::intersect)
}

impl KeySets for OrderedKeys<'_> {
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

/// Returns whether a comparison with a literal can hold for keys below it, equal to it and above it.
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

/// Returns the keys for which a comparison with a literal can hold, given the cuts below and above the literal.
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

/// Returns the keys for which `key comparison literal` can hold.
fn comparison_range(comparison: Comparison, literal: &Term) -> Ranges {
    let key = KeyBuf::encode(literal);
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

/// Returns the cuts around the keys that start with `bytes`, which are whole terms, and continue with another term.
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

/// Returns the keys of a prefix for whose next part `part comparison literal` can hold.
fn next_range(prefix: &Prefix, comparison: Comparison, literal: &Term) -> Ranges {
    let key = KeyBuf::encode(literal);
    let bytes = [&prefix.bytes, key.order()].concat();
    let [below, above] = between(&bytes, &prefix.label(Some(literal)));
    around(comparison, below, above)
}
