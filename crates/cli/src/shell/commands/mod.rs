//! The commands, grouped by subject.

pub(crate) mod browse;
pub(crate) mod change;
pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod meta;
pub(crate) mod patterns;
pub(crate) mod ranges;
pub(crate) mod select;
pub(crate) mod tables;
