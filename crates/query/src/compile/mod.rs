//! Compiles terms to programs, and reports every problem with its place.

mod clause;
mod compiler;
pub(crate) mod error;
mod expressions;
mod irrefutable;
pub(crate) mod key_preservation;
mod patterns;
mod prefilter;

use fyris_term::Term;

use crate::program::{Constant, Program};
use compiler::Compiler;
use error::{Place, Problem, ProblemKind, SpecError, brief};
use prefilter::prefilter;

/// Compiles a whole specification, which the program keeps as its source.
pub(crate) fn specification(source: Term) -> Result<Program, SpecError> {
    let mut compiler = Compiler::new();
    for (i, clause) in clauses(&source)?.iter().enumerate() {
        compiler.clause(clause, i + 1);
    }
    finish(compiler, source)
}

/// Returns the clauses of a specification, if it is a list.
fn clauses(source: &Term) -> Result<&[Term], SpecError> {
    match source {
        Term::List(clauses) => Ok(clauses),
        other => Err(bad(Place::Spec, ProblemKind::NotAList(brief(other)))),
    }
}

/// Compiles a pattern into one clause without guards.
pub(crate) fn pattern(pattern: Term, body: Term) -> Result<Program, SpecError> {
    let clause = Term::tuple(vec![pattern, Term::list([]), body]);
    let mut compiler = Compiler::new();
    compiler.clause(&clause, 1);
    finish(compiler, Term::list(vec![clause]))
}

/// Returns the error for a specification without clauses.
pub(crate) fn no_clause() -> SpecError {
    bad(Place::Spec, ProblemKind::NoClause)
}

/// Returns an error with one problem.
fn bad(place: Place, kind: ProblemKind) -> SpecError {
    SpecError::Bad(vec![Problem { place, kind }])
}

/// Returns the program of a source, or the problems that were found.
fn finish(compiler: Compiler, source: Term) -> Result<Program, SpecError> {
    if !compiler.problems.is_empty() {
        return Err(SpecError::Bad(compiler.problems));
    }
    let mut program = compiler.program;
    program.source = source;
    program.constants = compiler.constants.into_iter().map(Constant::new).collect();
    program.prefilter = prefilter(
        &program.clauses,
        &program.patterns,
        &program.constants,
        &program.nodes,
    );
    Ok(program)
}
