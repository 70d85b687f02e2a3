//! The words of the language, as terms: atoms that mean something, functions, and what a pattern says of the key.

pub(crate) mod atoms;
pub(crate) mod function;
pub(crate) mod key_shape;
