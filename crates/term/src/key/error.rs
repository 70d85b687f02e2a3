//! Why bytes are not a key.

use crate::AtomError;

/// Why bytes are not a key, and where.
///
/// The offset counts from the start of the order part, and goes on through the trailer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("key bytes, offset {offset}: {kind}")]
pub struct KeyError {
    /// The byte in question; the length of the input when it ends too early.
    pub offset: usize,
    /// The kind of error.
    pub kind: KeyErrorKind,
}

/// Kinds of errors in key bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyErrorKind {
    /// The bytes end inside a term.
    #[error("the bytes end inside {0}")]
    Truncated(&'static str),
    /// A byte that starts no term.
    #[error("the tag {0:#04x} stands for no type")]
    UnknownTag(u8),
    /// A readable form that the encoder would not have written.
    #[error("{0} is not in the form the encoder writes")]
    NotCanonical(&'static str),
    /// An atom's name that is not UTF-8.
    #[error("the name of an atom is not UTF-8")]
    NotUtf8,
    /// A name that cannot be an atom.
    #[error("{0}")]
    Atom(AtomError),
    /// Bytes after the term.
    #[error("bytes follow the end of the term")]
    LeftOver,
    /// The trailer marks a number as what it cannot be, or marks a number that is not there.
    #[error("the exactness trailer does not fit the numbers of the order part")]
    Trailer,
}
