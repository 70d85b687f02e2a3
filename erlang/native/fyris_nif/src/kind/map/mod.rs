//! Maps: their keys and the order of these; trees of many keys.

mod image;
pub(crate) mod keys;
pub(crate) mod order;
pub(crate) mod sets;
pub(crate) mod tree;
mod write;
