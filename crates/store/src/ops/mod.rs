//! The operations, written once over the index traits.
//!
//! Each file adds methods to [`TableData`](crate::table_data::TableData). They know keys and records, but neither
//! rights nor names: [`crate::table`] checks those and then comes here, under a pin.

mod commit;
mod counter;
mod edit;
mod list;
#[cfg(all(test, loom))]
mod model;
mod navigate;
mod read;
mod scan;
mod swap;
mod update;
mod validate;
mod write;

pub(crate) use commit::{Admission, Outcome, Patience, Placed, Writes};
pub(crate) use counter::counter_reply;
pub use counter::{CounterOp, SmallOp};
pub(crate) use edit::ChangedObjects;
#[cfg(test)]
pub(crate) use list::List;
pub(crate) use navigate::Navigate;
pub(crate) use read::terms;
pub(crate) use scan::{EACH, Span, append};
pub(crate) use update::{check_position, edits_of};
