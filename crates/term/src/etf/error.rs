//! Errors in external bytes, with the offset.

use crate::AtomError;

/// Why bytes are not an external term.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {kind}")]
pub struct DecodeError {
    offset: usize,
    kind: DecodeErrorKind,
}

impl DecodeError {
    pub(super) fn new(offset: usize, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { offset, kind }
    }

    /// Returns the offset of the offending item in the input, in bytes; at most its length.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> &DecodeErrorKind {
        &self.kind
    }
}

/// Kinds of errors in external bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The input does not begin with the version byte.
    #[error("{found} where the version byte 131 of an external term was expected")]
    Version {
        /// The byte found.
        found: u8,
    },
    /// The input ends too early.
    #[error("{what} needs {needed} more bytes, but {left} are left")]
    Truncated {
        /// The item being read.
        what: &'static str,
        /// The least number of bytes that it needs.
        needed: u64,
        /// The number of bytes that there are for it.
        left: usize,
    },
    /// Bytes behind the term.
    #[error("{count} bytes behind the end of the term")]
    Trailing {
        /// The number of these bytes.
        count: usize,
    },
    /// No tag of the format.
    #[error("{tag} is no tag of the external term format")]
    UnknownTag {
        /// The byte.
        tag: u8,
    },
    /// A tag of the format that cannot be read here.
    #[error("{name} (tag {tag}) cannot be read: {why}")]
    Unsupported {
        /// The tag.
        tag: u8,
        /// Its name in the documentation of the format.
        name: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// A term of the wrong type in a place that allows but one.
    #[error("tag {tag} where {expected} was expected")]
    Unexpected {
        /// The item expected there.
        expected: &'static str,
        /// The tag found.
        tag: u8,
    },
    /// The bytes of an atom are not UTF-8.
    #[error("an atom that is not UTF-8")]
    NotUtf8,
    /// The name is no atom.
    #[error("{0}")]
    Atom(#[from] AtomError),
    /// A name that is no atom of this process yet, where none is to be made ([`decode_known`](super::decode_known)).
    #[error("{0:?} is no atom yet, and none is to be made")]
    UnknownAtom(String),
    /// An infinity or NaN.
    #[error("a float that is not finite (bits {bits:#018x})")]
    NotFinite {
        /// The eight bytes.
        bits: u64,
    },
    /// The text of a `FLOAT_EXT` is no float.
    #[error("the text of a FLOAT_EXT is not a finite float, ended by a zero byte")]
    FloatText,
    /// A count of bits in the last byte that the length does not allow.
    #[error("{bits} bits in the last byte of a bitstring of {bytes} bytes")]
    LastBits {
        /// The bits declared.
        bits: u8,
        /// The bytes declared.
        bytes: usize,
    },
    /// A number beyond what its place allows.
    #[error("{what} is {value}, and at most {max} is allowed")]
    OutOfRange {
        /// The meaning of the number.
        what: &'static str,
        /// The number.
        value: i64,
        /// The highest one allowed. The lowest is 0, or 1 for the words of a reference.
        max: i64,
    },
    /// A map with two equal keys.
    #[error("a map with the same key twice")]
    DuplicateKey,
    /// A native record with two fields of one name.
    #[error("a native record with the same field twice")]
    DuplicateField,
    /// A compressed term says it inflates to more than is allowed or possible.
    #[error("a compressed term declares {declared} bytes, and at most {max} are allowed here")]
    TooLarge {
        /// The bytes declared.
        declared: u64,
        /// The most allowed: [`MAX_INFLATED`](super::MAX_INFLATED), what this many compressed
        /// bytes can become, or what is left of an [`InflateBudget`](super::InflateBudget).
        max: u64,
    },
    /// A compressed term has more elements than its compressed bytes can be trusted with.
    #[error("more elements than a compressed term may have here")]
    TooManyElements,
    /// There is no memory for an item: the input is not to blame.
    #[error("no memory for {what} of {len}")]
    NoMemory {
        /// The item.
        what: &'static str,
        /// Its length, in bytes or elements.
        len: usize,
    },
    /// The compressed data are damaged, or of another length than declared.
    #[error("the compressed data are damaged: {why}")]
    Damaged {
        /// The observation.
        why: &'static str,
    },
    /// The compressed data are sound, but what they inflate to is no term.
    #[error("in the inflated data, {0}")]
    Inflated(Box<DecodeError>),
}
