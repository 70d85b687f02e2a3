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

mod clause;
mod hash;
mod key_constraints;
mod ordered;

use std::sync::Arc;

use fyris_term::Term;

use crate::program::plan::{KeptPlan, Plan, TableOrder};
use crate::program::{Pattern, Program};
use clause::ClauseTerm;

/// The plan of a program, kept with the program if it is the first that was asked for.
pub(crate) fn plan(program: &Program, keypos: usize, order: TableOrder) -> Arc<Plan> {
    let kept = program.plan.get_or_init(|| KeptPlan {
        keypos,
        order,
        plan: Arc::new(make_plan(&program.source, keypos, order)),
    });
    if (kept.keypos, kept.order) == (keypos, order) {
        return Arc::clone(&kept.plan);
    }
    Arc::new(make_plan(&program.source, keypos, order))
}

/// The bytes of the one key that all matching objects have, if the head names it.
#[inline]
pub(crate) fn point(program: &Program, keypos: usize, order: TableOrder) -> Option<&[u8]> {
    let [clause] = &program.clauses[..] else {
        return None;
    };
    let Pattern::Tuple { elements, .. } = clause.head else {
        return None;
    };
    let elements = elements.of(&program.patterns);
    let Pattern::Constant(key) = *elements.get(keypos.checked_sub(1)?)? else {
        return None;
    };
    let key = program.constant(key);
    Some(match order {
        TableOrder::Hash => &key.key,
        TableOrder::Ordered => key.key_order(),
    })
}

fn make_plan(source: &Term, keypos: usize, order: TableOrder) -> Plan {
    match order {
        TableOrder::Hash => hash::plan(clauses(source), keypos),
        TableOrder::Ordered => ordered::plan(clauses(source), keypos),
    }
}

fn clauses(source: &Term) -> impl Iterator<Item = ClauseTerm<'_>> {
    let clauses = source.as_list().unwrap_or(&[]).iter();
    clauses.filter_map(|clause| match clause.as_tuple()? {
        [head, guards, _] => Some(ClauseTerm {
            head,
            guards: guards.as_list()?,
        }),
        _ => None,
    })
}
