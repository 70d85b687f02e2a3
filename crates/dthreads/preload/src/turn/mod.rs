//! The one order of all synchronization points, from below: `ring`, who takes part in it; `wait`, for another process,
//! with the `watchdog` of it; `fence` and `skip`, whose turn is next; `outside`, who is in a system call meanwhile;
//! `held`, what is locked; `log`, the record, with `region`; on these `token`: a turn, from its taking to its passing.
//! Uses `shared`, since memory changes in turns.

pub(crate) mod fence;
pub(crate) mod held;
pub(crate) mod log;
pub(crate) mod outside;
pub(crate) mod region;
pub(crate) mod ring;
pub(crate) mod skip;
pub(crate) mod token;
pub(crate) mod wait;
mod watchdog;

pub(crate) use token::{Turn, in_turn, take, waiters, word_at};
