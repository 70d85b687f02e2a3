//! The commands, grouped by subject, over `session`; on these the list of all of them (`verbs`, with `help`), whose
//! rows are of `verb`.

mod browse;
mod change;
mod export;
#[cfg(test)]
mod export_tests;
mod files;
mod help;
pub(crate) mod load;
mod meta;
mod options;
mod patterns;
mod ranges;
pub(crate) mod select;
mod snapshots;
mod tables;
mod transactions;
pub(crate) mod verb;
pub(crate) mod verbs;
mod watch;
