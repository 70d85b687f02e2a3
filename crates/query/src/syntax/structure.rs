//! Structures: the expressions that build tuples, lists and maps of other expressions.

use fyris_term::walk::Parts;
use fyris_term::{Map, Term, Terms};

/// `[]`.
pub(crate) static NIL: Term = Term::List(Terms::new());

/// The term that a structure builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structure {
    Tuple,
    List,
    /// Of elements, then the tail.
    Improper,
    /// Of keys and values in turn.
    Map,
}

impl Structure {
    /// Returns the structure that an expression is, and the expressions of its parts; `None` for other expressions.
    pub(crate) fn of(expression: &Term) -> Option<(Structure, Parts<'_>)> {
        match expression {
            Term::Tuple(elements) => match &elements[..] {
                [Term::Tuple(inner)] => Some((Structure::Tuple, Parts::Terms(inner))),
                _ => None,
            },
            Term::List(elements) if !elements.is_empty() => {
                Some((Structure::List, Parts::Terms(elements)))
            }
            Term::Improper(elements, tail) => {
                Some((Structure::Improper, Parts::Cells(elements, tail)))
            }
            Term::Map(map) => Some((Structure::Map, Parts::Pairs(map.pairs()))),
            _ => None,
        }
    }

    /// Builds the term; of equal keys of a map the last counts.
    #[inline]
    pub(crate) fn build(self, mut parts: Vec<Term>) -> Term {
        match self {
            Structure::Tuple => Term::tuple(parts),
            Structure::List => Term::list(parts),
            Structure::Improper => match parts.pop() {
                Some(tail) => Term::improper(parts, tail),
                None => Term::list(parts),
            },
            Structure::Map => {
                let mut pairs = Vec::with_capacity(parts.len() / 2);
                let mut parts = parts.into_iter();
                while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                    pairs.push((key, value));
                }
                Term::Map(Map::new(pairs))
            }
        }
    }
}
