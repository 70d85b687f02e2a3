//! Plans for hash tables: lists of keys.

use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::clause::{ClauseTerm, key_operand};
use super::key_constraints::{KeySets, Operand, constrain, holds_number, known_value};
use crate::program::plan::{MadeOf, Plan, PlanKind};
use crate::syntax::function::Comparison;
use crate::syntax::key_shape::{self, Shape};

/// Returns the plan with the keys that the clauses name; a full scan if one of them names none.
pub(super) fn plan<'t>(clauses: impl Iterator<Item = ClauseTerm<'t>>, keypos: usize) -> Plan {
    let mut points: Vec<Term> = Vec::new();
    for clause in clauses {
        match hash_keys(clause, keypos) {
            Some(keys) => points.extend(keys),
            None => return Plan::full_scan(Vec::new()),
        }
    }
    points.sort_by(Term::cmp_exact);
    points.dedup();
    Plan {
        kind: PlanKind::of_points(points.len()),
        ranges: Vec::new(),
        points: points.iter().map(KeyBuf::encode).collect(),
        made_of: MadeOf::Keys(points),
    }
}

struct HashKeys<'t> {
    clause: ClauseTerm<'t>,
    keypos: usize,
}

/// Returns the keys that a clause can match; `None` if it can match any.
fn hash_keys(clause: ClauseTerm<'_>, keypos: usize) -> Option<Vec<Term>> {
    let substitution = |number| known_value(clause.guards, number, true);
    let base = match key_shape::of_head(clause.head, keypos, &substitution) {
        Shape::Nothing => return Some(Vec::new()),
        Shape::Literal(key) => Some(vec![key]),
        Shape::Any | Shape::Prefix(_) => None,
    };
    let sets = HashKeys { clause, keypos };
    let guards = clause
        .guards
        .iter()
        .map(|guard| constrain(&sets, guard, true));
    guards.fold(base, |all, one| sets.intersect(all, one))
}

impl KeySets for HashKeys<'_> {
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
