//! Watching: subscriptions, that are told what changes in tables.
//!
//! # How
//!
//! A watched table has [`Watchers`]: who wants to know of which keys. A write of such a table looks, with the slot
//! protected, who wants to know of the change that it is about to make, and takes a place in the
//! [queue](queue::WatchQueue) of each; what the change was is said there afterwards ([`announce`]). A commit does so
//! for all of its keys at once, between its seal and its decision. So the order of a queue is
//!
//! * of changes of one key theirs, because the slot is protected;
//! * of calls of which one had ended before the other began, theirs;
//! * of a commit and a write of one of its keys theirs: who writes through the cell of a commit holds it (THROUGH in
//!   [`crate::pending`]), and so has its place before the commit.
//!
//! Changes of other keys that overlap in time may come in another order than somebody saw who looked them up meanwhile.
//!
//! # Invariants
//!
//! * **ANNOUNCED**: when a subscription begins, all writes under way see that the table is watched, and find it among
//!   the watchers: who subscribes waits for the sections of writes, and for who empties the table (see
//!   [`crate::life`]).
//! * **TOLD**: each event is told, when its change can be seen: also if the writer panics in between. Who tells an
//!   event wakes who waits for one in the same queue.
//! * **FROM**: a subscription that begins with a snapshot is announced first. Of the changes in its queue those are in
//!   the snapshot that have a stamp before it, and those without a stamp that were announced before it: writes leave
//!   stamps from before the snapshot until after its end (TURNED in [`crate::version`]).
//!
//! Writers never wait for subscriptions: a queue that is full loses what comes, and says so in that place.

mod announce;
mod difference;
mod event;
mod filter;
mod initial;
mod latest;
#[cfg(all(test, loom))]
mod model;
mod options;
mod queue;
mod subscription;
mod watchers;

pub(crate) use announce::{CommitAnnouncement, CommitWatch};
pub use event::{ObjectChange, WatchEvent, WatchKind};
pub use filter::WatchFilter;
pub use options::SubscribeOptions;
pub use subscription::Subscription;
pub(crate) use watchers::Watchers;
