//! Planning: finds the keys that a specification can match before any object is read.
//!
//! | in the clause | gives |
//! |---|---|
//! | a key without variables, `'_'` or maps | that key; of a bag, the objects that begin as the head does |
//! | a tuple or list key whose first parts are known | the keys with that prefix |
//! | a guard that compares the key with a literal | a range, or a key |
//! | a guard that compares the first unknown part of such a tuple or list | a range within the prefix |
//! | several guards, `and`, `andalso` | the intersection |
//! | `or`, `orelse`, several clauses | the union |
//! | `not` | the keys for which the argument can be `false` |
//! | anything else | every key |
//!
//! The key is the variable in its place in the head, or `{element, KeyPos, '$_'}`. A variable that a guard sets equal
//! to a literal counts as known.
//!
//! Hash tables compare keys by `=:=` and have no ranges: a plan for one is a list of keys or a full scan, and `==`
//! with a literal that contains a number does not constrain it. Ordered tables compare by `==`, so a plan for `1`
//! finds `1.0` as well; the specification, which is run on every object of the plan, tells them apart.
//!
//! Invariant **SUPERSET**: every object that the specification matches has a key in the plan. A plan can be slow but
//! never wrong.

mod clause;
mod hash;
mod key_constraints;
mod ordered;

use std::sync::Arc;

use fyris_term::Term;
use fyris_term::value::ValueWriter;

use crate::program::plan::{KeptPlan, Plan, TableOrder};
use crate::program::{Pattern, Program};
use clause::ClauseTerm;

/// Returns the plan of a program, and keeps the first one with the program.
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

/// Returns the bytes of the one key that every matching object has, if the head names it.
#[inline]
pub(crate) fn point(program: &Program, keypos: usize, order: TableOrder) -> Option<&[u8]> {
    let elements = only_head(program)?;
    let Pattern::Constant(key) = *elements.get(keypos.checked_sub(1)?)? else {
        return None;
    };
    let key = program.constant(key);
    Some(match order {
        TableOrder::Hash => &key.key,
        TableOrder::Ordered => key.key_order(),
    })
}

/// Returns the elements of the head, if there is one alone and it is a tuple.
fn only_head(program: &Program) -> Option<&[Pattern]> {
    match &program.clauses[..] {
        [clause] => clause.head.elements(program),
        _ => None,
    }
}

/// Returns bytes that the values of every matching object begin with, in whole terms and headers of terms.
pub(crate) fn prefix(program: &Program, keypos: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let elements = only_head(program).unwrap_or(&[]).iter().enumerate();
    let mut values = elements.filter(|(place, _)| place + 1 != keypos);
    values.all(|(_, &pattern)| append(program, pattern, &mut bytes));
    bytes
}

/// Appends the bytes of a value that matches, up to the first part that may be one of several; whether there is none.
fn append(program: &Program, pattern: Pattern, bytes: &mut Vec<u8>) -> bool {
    match pattern {
        Pattern::Constant(id) if program.constant(id).plain => {
            bytes.extend_from_slice(&program.constant(id).value);
            true
        }
        Pattern::Tuple { elements, .. } => {
            ValueWriter::new(bytes, &mut Vec::new()).begin_tuple(elements.len as usize);
            let mut elements = elements.of(&program.patterns).iter();
            elements.all(|&element| append(program, element, bytes))
        }
        _ => false,
    }
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
