//! What the commands do, by what they are about.

pub(crate) mod browse;
pub(crate) mod change;
pub(crate) mod files;
pub(crate) mod meta;
pub(crate) mod patterns;
pub(crate) mod ranges;
pub(crate) mod select;
pub(crate) mod tables;
