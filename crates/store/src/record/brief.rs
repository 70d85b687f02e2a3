//! Terms in error messages.

use fyris_term::Term;

/// Returns a term for an error message: its beginning only, in bounded time, as an error may be made while a slot is
/// protected.
pub(crate) fn brief(term: &Term) -> String {
    term.brief(60)
}
