//! Errors between serde and terms.

use crate::{AtomError, ConvertError};

/// Why a value does not become a term, or a term not that value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SerdeError {
    /// The error of the type's own `Serialize` or `Deserialize`.
    #[error("{0}")]
    Custom(String),
    /// The term is not of the type that is wanted.
    #[error("expected {expected}, found {found}")]
    Type {
        /// The type expected.
        expected: &'static str,
        /// The term's type, and the term if it is short.
        found: String,
    },
    /// A number without place in the other world.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A name that cannot be an atom.
    #[error(transparent)]
    Atom(#[from] AtomError),
}

impl serde::ser::Error for SerdeError {
    fn custom<T: std::fmt::Display>(message: T) -> SerdeError {
        SerdeError::Custom(message.to_string())
    }
}

impl serde::de::Error for SerdeError {
    fn custom<T: std::fmt::Display>(message: T) -> SerdeError {
        SerdeError::Custom(message.to_string())
    }
}
