//! What is left of a pattern that is being matched.

use fyris_term::value::Pairs;
use fyris_term::{Map, Term};

use crate::program::Pattern;

/// The parts of a tuple, a list or a map that are still to be matched.
pub(super) enum Rest<'a> {
    /// On values that stand one behind another.
    Values(&'a [Pattern]),
    /// Patterns of elements, then that of the tail, on a list of `left` values with a tail behind them if it is
    /// improper.
    Cells {
        parts: &'a [Pattern],
        left: u64,
        improper: bool,
    },
    /// Keys and the patterns of their values, on a map.
    Pairs {
        wanted: &'a [[Pattern; 2]],
        pairs: Pairs<'a>,
        /// Whether the value of the last pair was being matched: `pairs` stands before it.
        inside: bool,
    },
    Terms(&'a [Pattern], &'a [Term]),
    TermCells {
        parts: &'a [Pattern],
        terms: &'a [Term],
        /// The tail, if the list is improper.
        end: Option<&'a Term>,
    },
    TermPairs(&'a [[Pattern; 2]], &'a Map),
}

/// The next step of matching.
pub(super) enum Step<'a> {
    /// A part has parts: they come first.
    Into(Rest<'a>),
    /// This alone is left.
    Tail(Rest<'a>),
    End,
}
