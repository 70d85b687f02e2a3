//! Why bytes are not a value.

/// Why bytes are not a value, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("value bytes, offset {offset}: {kind}")]
pub struct ValueError {
    /// Counted from the start of the value.
    pub offset: usize,
    /// The kind of error.
    pub kind: ValueErrorKind,
}

/// Kinds of errors in value bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueErrorKind {
    /// The bytes end inside a term.
    #[error("the bytes end inside a term")]
    Truncated,
    /// A byte that starts no term.
    #[error("the tag {0:#04x} stands for no type")]
    UnknownTag(u8),
    /// An atom's number that was never given out.
    #[error("no atom has the number {0}")]
    UnknownAtom(u32),
    /// A place beyond the list of blobs.
    #[error("there is no blob number {0}")]
    NoBlob(u64),
    /// A length of more than 64 bits, a float that is no number, a map out of order, a bitstring with too many bits.
    #[error("malformed {0}")]
    Malformed(&'static str),
}
