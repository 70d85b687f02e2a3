//! Runs a program over an object: prefilter, head, guards, body.

pub(crate) mod context;
pub(crate) mod eval;
pub(crate) mod head;
pub(crate) mod irrefutable;
pub(crate) mod machine;
pub(crate) mod object;
pub(crate) mod prefilter;
mod rest;
pub(crate) mod test;
pub(crate) mod value;

use crate::program::{Clause, Program};
use context::{EvalContext, Run};
use eval::Evaluation;
use head::{Bindings, Matcher};
use machine::Machine;

/// Finds the first clause that matches, and returns the result of `found` for it.
#[inline(always)]
pub(crate) fn first_match<'a, R>(
    program: &'a Program,
    run: &'a Run<'a>,
    machine: &'a Machine,
    found: impl FnOnce(&Evaluation<'_, 'a>) -> R,
) -> Option<R> {
    let context = EvalContext::new(run);
    let mut bindings = Bindings::new();
    for clause in &program.clauses {
        if !matches_head(program, context, clause, &mut bindings) {
            continue;
        }
        let mut eval = Evaluation {
            program,
            machine,
            context,
            clause,
            bindings: &bindings,
            in_body: false,
        };
        if eval.guards_hold() {
            eval.in_body = true;
            return Some(found(&eval));
        }
    }
    None
}

/// Returns whether the subject matches the head of a clause and passes its early tests. If so, the variables are
/// bound, or the head is lazy.
#[inline(always)]
fn matches_head<'a>(
    program: &'a Program,
    context: EvalContext<'a>,
    clause: &'a Clause,
    bindings: &mut Bindings<'a>,
) -> bool {
    // Most objects are rejected here.
    if let Some(head) = &clause.irrefutable {
        if !context.passes_early_tests(program, clause, head.size) {
            return false;
        }
        if head.is_lazy {
            return true;
        }
    }
    bindings.clear();
    let mut matcher = Matcher {
        program,
        context,
        bindings,
        tested: clause.irrefutable.is_some(),
    };
    matcher.head(clause)
}
