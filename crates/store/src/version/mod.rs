//! Versions: what keys held before, for the snapshots that see it.
//!
//! # Why
//!
//! A snapshot shows what its tables held at one moment, however they are written to meanwhile. Nobody copies a table
//! for that, and no writer waits: a write leaves what it displaces where the snapshot finds it.
//!
//! # How
//!
//! The clock is the number of the last commit in the [log](crate::commits) of the store, and a snapshot is an empty
//! commit in it. While a table is *versioned*, a write puts a [cell](cell) in the slot, with the new content, room for
//! a stamp, and the way to what the key held before. Only *then* it reads the clock and stamps the cell: at this moment
//! the write takes effect. A snapshot sees what is stamped with less than its own place. A delete leaves a cell without
//! content: a tombstone. What is in no cell counts as stamped with 0.
//!
//! (To read the clock first and publish then would not do: a writer that is slow between the two is passed by a
//! snapshot, and by a write that a reader sees without it; then it publishes, and the snapshot sees it after all.)
//!
//! # Invariants
//!
//! * **STAMPED**: a cell is stamped after it was put in its slot, and before anyone answers by it: by its writer, or by
//!   a reader or writer that meets it. So a snapshot and all who answer agree which of two came first.
//! * **TURNED**: when a snapshot of a table takes its place, all writes under way see that the table is versioned. Who
//!   turns it waits for the sections of writes (see [`crate::life`]), since a write that saw it plain publishes a
//!   content without a cell. Readers go by the word in the slot, never by the mode.
//! * **LISTED**: a snapshot is in the [list](live_snapshots) of a content before it takes its place, in the order of
//!   places, and has noted its place before anyone gets a stamp from there on. A writer that has stamped its cell and
//!   then looks at the list finds each snapshot that sees what it has displaced; and what no snapshot sees then, none
//!   ever will.
//! * **STILL**: the log knows of a stamp before a version has it. So if it knows of none at the place of a snapshot or
//!   behind it, and of no commit behind it, the snapshot shows the present of whoever asks, and may serve again.
//! * **RETAINED**: the content of the first cell of a chain is the slot's; that of a cell below, or of the end of the
//!   chain, belongs to the thread that has displaced it, and from it goes to the list of a snapshot that sees it. It is
//!   freed when no snapshot does, and no chain has it. Where nothing goes (a key was not there, or an object was added
//!   to those of a bag) the key is kept, once. What goes of a chain of a bag may be in older
//!   versions as well: it is kept for all snapshots before.
//! * **CHAINED**: cells belong to the chain. The links between them change under the protection of the slot, and the
//!   thread that takes a cell out retires it. What a snapshot sees stays in the chain, below all that is newer.
//! * **NAMED**: the key of a cell without content is in another content of its chain, or the cell is in no slot. A
//!   chain without any content is taken out of its slot as it is.
//!
//! # What is freed when
//!
//! A displaced content that no snapshot sees is retired at once, and its cell is taken out of the chain: the slot is
//! protected a second time for that. One that a snapshot sees hangs on the newest one that does, until that ends
//! ([`live_snapshots`]). Then a thread in the background works off what no other snapshot sees. A chain of one cell
//! that all snapshots see becomes the content itself again. Nobody walks a table.
//!
//! A deleted key that a snapshot sees stays in the index, with a cell that says so; in tables in the order of keys it
//! moves to the [graves].

mod cell;
mod graves;
pub(crate) mod guards;
mod live_snapshots;
mod mode;
#[cfg(all(test, loom))]
pub(crate) mod model;
mod prune;
#[cfg(all(test, not(loom)))]
mod tests;

pub(crate) use cell::VersionPtr;
pub(crate) use live_snapshots::{DeadItem, DeadList, LiveSnapshot, LiveSnapshots};
pub(crate) use mode::Versioned;
