//! Secondary indexes: which objects have a value, other than the key, that is asked for.
//!
//! # Why
//!
//! A program that looks objects up by something else than their key keeps a second table of `{{Value, Key}}` by hand,
//! and has to keep it in step: through crashes between two writes, beside other writers, and in what a snapshot shows.
//! Here the table does that.
//!
//! # How
//!
//! A secondary index is an ordered set of *entries*, each the bytes of a value and behind them those of a key. It has
//! no versions and takes no part in commits. It names *candidates*: a reader takes the keys of a value's entries, looks
//! each up in the table by the view that it reads by, and hands out the objects that have the value there. So all views
//! share the entries: the live table, snapshots, transactions.
//!
//! An entry counts the objects that have its value under its key and that any reader may reach: live ones, those that a
//! commit under way is going to put in, and old ones that snapshots see. It goes with the last of them.
//!
//! # Invariants
//!
//! * **ENTERED**: an object is counted in its entries before it can be reached by a slot, and until it is retired. So
//!   the entries of a value name every key that has it, at any moment that a reader may read by.
//! * **HANDED_OVER**: where a write to a table that is not versioned puts an object in the place of one with the same
//!   value, the count of the old one becomes that of the new one. A reader that still has the old one has found its key
//!   before.
//! * **DEAD**: an entry whose count has come to zero never counts again. Who wants to count there puts a new one in its
//!   place, and who has brought it to zero takes it out, if it is there still.

mod change;
mod definition;
mod entries;
mod lookup;
mod maintenance;
#[cfg(all(test, not(loom)))]
mod tests;
mod unique;

pub use definition::SecondaryIndex;
pub(crate) use definition::{Definition, check};
pub(crate) use entries::{ByValue, Candidates, KeyBytes, Secondaries, Secondary};
pub(crate) use maintenance::HandedOver;
pub(crate) use unique::{Claims, Unclaimed};
