//! Errors in the text of a query.

/// Something else stands where `expected` should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: expected {expected}, found {found}")]
pub(crate) struct SyntaxError {
    /// From 1, in characters of the command.
    pub(super) column: usize,
    pub(super) expected: String,
    pub(super) found: String,
    /// Could more text make it right?
    pub(crate) incomplete: bool,
}
