//! A clause as planning reads it.

use fyris_term::Term;

use super::key_constraints::{Operand, is_key_element, is_key_variable};

/// The head and the guards of a clause, from which its keys are planned.
#[derive(Clone, Copy)]
pub(super) struct ClauseTerm<'t> {
    pub(super) head: &'t Term,
    pub(super) guards: &'t [Term],
}

/// Returns [`Operand::Key`] if the term is the key of the object, in any kind of table.
pub(super) fn key_operand(clause: ClauseTerm<'_>, keypos: usize, term: &Term) -> Option<Operand> {
    let is_key =
        is_key_variable(term, keypos, clause.head) || is_key_element(term, keypos, clause.head);
    is_key.then_some(Operand::Key)
}
