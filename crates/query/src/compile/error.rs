//! Errors: the problems of a match specification and their places.

use std::fmt;

use fyris_term::Term;
use fyris_term::text::ParseError;

/// The reason why a match specification is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// It has problems: all of them, in reading order; at least one.
    #[error("bad match specification: {}", Lines(.0))]
    Bad(Vec<Problem>),
    /// It was given as text, which is no term. In a box: errors of the store carry this one, and are to be small.
    #[error("no match specification: {0}")]
    Text(Box<ParseError>),
}

impl SpecError {
    /// Returns the text of each problem, as `test_ms` does.
    pub fn texts(&self) -> Vec<String> {
        match self {
            SpecError::Bad(problems) => problems.iter().map(Problem::to_string).collect(),
            SpecError::Text(error) => vec![error.to_string()],
        }
    }
}

/// Problems on one line.
struct Lines<'a>(&'a [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if i > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

/// One problem of a match specification.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {kind}")]
pub struct Problem {
    /// The place of the problem.
    pub place: Place,
    /// The kind of problem.
    pub kind: ProblemKind,
}

/// A place in a match specification: clauses, guards and body expressions are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The whole.
    Spec,
    /// A clause as a whole.
    Clause(usize),
    /// The head of a clause.
    Head(usize),
    /// The guards of a clause, as a list.
    Guards(usize),
    /// One guard of a clause.
    Guard(usize, usize),
    /// The body of a clause, as a list.
    Body(usize),
    /// One expression in the body of a clause.
    Expression(usize, usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Spec => write!(f, "the specification"),
            Place::Clause(clause) => write!(f, "clause {clause}"),
            Place::Head(clause) => write!(f, "clause {clause}, head"),
            Place::Guards(clause) => write!(f, "clause {clause}, guards"),
            Place::Guard(clause, n) => write!(f, "clause {clause}, guard {n}"),
            Place::Body(clause) => write!(f, "clause {clause}, body"),
            Place::Expression(clause, n) => write!(f, "clause {clause}, body expression {n}"),
        }
    }
}

/// The kinds of problems. Terms are given as text, cut when long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The specification, the guards or the body is no proper list.
    #[error("expected a list, found {0}")]
    NotAList(String),
    /// A specification without clauses, where one is needed.
    #[error("there is no clause")]
    NoClause,
    /// A clause that is no tuple of three.
    #[error("expected {{Head, Guards, Body}}, found {0}")]
    NotAClause(String),
    /// An empty body.
    #[error("the body is empty, so it has no value")]
    EmptyBody,
    /// A variable that the head does not bind.
    #[error("the head does not bind the variable {0}")]
    Unbound(String),
    /// A variable, or `'_'`, as a key of a map in a head.
    #[error("a map's key in a pattern cannot be {0}: only its values can be matched")]
    VariableKey(String),
    /// A tuple that is no call.
    #[error("{0} is no call; to build a tuple write it in another pair of braces, {{{{...}}}}")]
    NotACall(String),
    /// No function of this name.
    #[error("there is no function {0} that a match specification may call")]
    UnknownFunction(String),
    /// A function that takes another number of arguments.
    #[error("{name} takes {expected}, not {found}")]
    Arity {
        /// The function.
        name: String,
        /// The number of arguments it takes.
        expected: &'static str,
        /// The number of arguments it was given.
        found: usize,
    },
    /// A function for tracing, not for tables.
    #[error("{0} is for tracing and means nothing in a table")]
    OnlyForTracing(String),
}

/// Returns the text of a term for a message, cut when long.
pub(crate) fn brief(term: &Term) -> String {
    term.brief(60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_terms_are_cut() {
        let long = Term::List((0..1000).map(Term::Int).collect());
        assert!(brief(&long).ends_with("..."));
        assert!(brief(&long).len() < 70);
        assert_eq!(brief(&Term::Int(5)), "5");
    }
}
