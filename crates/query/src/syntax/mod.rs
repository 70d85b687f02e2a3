//! The language as terms: its special atoms, its functions, its structures, and the shape that a pattern gives the key.

pub(crate) mod atoms;
pub(crate) mod function;
pub(crate) mod key_shape;
pub(crate) mod structure;
