//! Makes the prefilter of a program.

use crate::program::{
    Clause, Constant, IrrefutableHead, Node, Pattern, Prefilter, PrefilterValue, Test,
};
use crate::syntax::function::Comparison;

/// The number of leading elements in which a prefilter may stand: to read one, those before it are skipped.
const REACH: u32 = 4;

/// Returns the prefilter of a program of one clause, if its first early test or its head has a small integer.
pub(super) fn prefilter(
    clauses: &[Clause],
    patterns: &[Pattern],
    constants: &[Constant],
    nodes: &[Node],
) -> Option<Prefilter> {
    let [clause] = clauses else {
        return None;
    };
    let Some(head) = &clause.irrefutable else {
        return of_head(clause, patterns, constants);
    };
    let &(element, Test::Compare(comparison, constant)) = clause.early.first()? else {
        return None;
    };
    if element >= REACH {
        return None;
    }
    let is_all = clause.early.len() == 1 && clause.late.len == 0
        || cfg!(fyris_mutant = "query_prefilter_is_all");
    Some(Prefilter {
        size: head.size,
        element,
        int: constants[constant as usize].int?,
        orders: comparison.orders(),
        value: match is_all {
            true => value_of(clause, head, nodes),
            false => PrefilterValue::Unknown,
        },
    })
}

/// Returns the prefilter of a head in which an element is a small integer.
fn of_head(clause: &Clause, patterns: &[Pattern], constants: &[Constant]) -> Option<Prefilter> {
    let Pattern::Tuple { elements, .. } = clause.head else {
        return None;
    };
    let elements = elements.of(patterns);
    let int_of = |(at, element): (u32, &Pattern)| match element {
        Pattern::Constant(id) => Some((at, constants[*id as usize].int?)),
        _ => None,
    };
    let (element, int) = (0..REACH).zip(elements).find_map(int_of)?;
    Some(Prefilter {
        size: elements.len(),
        element,
        int,
        orders: Comparison::Exact.orders(),
        value: PrefilterValue::Unknown,
    })
}

/// Returns the value of an object that passes, if it is `true` or an element within reach.
fn value_of(clause: &Clause, head: &IrrefutableHead, nodes: &[Node]) -> PrefilterValue {
    match nodes[clause.body as usize] {
        _ if clause.is_true => PrefilterValue::True,
        Node::Variable(slot) if head.elements[slot as usize] < REACH => {
            PrefilterValue::Element(head.elements[slot as usize])
        }
        _ => PrefilterValue::Unknown,
    }
}
