//! The parts of a clause that a plan is made of.

use fyris_term::Term;

use super::key_constraints::{Operand, is_key_element, is_key_variable};

/// The parts of a clause that a plan is made of.
#[derive(Clone, Copy)]
pub(super) struct ClauseTerm<'t> {
    pub(super) head: &'t Term,
    pub(super) guards: &'t [Term],
}

/// What a guard's operand is, in any table.
pub(super) fn key_operand(clause: ClauseTerm<'_>, keypos: usize, term: &Term) -> Option<Operand> {
    let is_key =
        is_key_variable(term, keypos, clause.head) || is_key_element(term, keypos, clause.head);
    is_key.then_some(Operand::Key)
}
