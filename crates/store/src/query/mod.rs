//! Queries: `select` and `match` in all their forms, in slices, in chunks, on several threads.
//!
//! # From a specification to its results
//!
//! | step | where | what |
//! |---|---|---|
//! | compile | `fyris-query` | a term becomes a [`MatchSpec`](crate::MatchSpec), once |
//! | plan | `fyris-query`, [`plan`] | which keys can match: points, spans of keys in an `ordered_set`, or all |
//! | scan | [`scan`] | what is left to visit; a step reads a batch of records and shows them to the specification |
//! | view | [`view`](crate::view) | where batches come from: the live content, with list inserts seen whole, or a snapshot |
//! | verb | [`work`], [`change`] | what becomes of what matches: a value, a count, a deletion, a replacement |
//!
//! A plan only narrows what is visited. Each object visited is matched as a whole, so that a plan that is too wide
//! costs time and no answer; the property test `tests/plans.rs` looks for one that is too narrow.
//!
//! # What a query sees
//!
//! Where the view is the live table, each batch (up to 256 keys; in an `ordered_set` each leaf of it) is what is there
//! when it is read. Between batches a scan holds keys and nothing else, and goes on behind the last of them, in
//! the order of keys or of hashes, which no change of the table moves. So:
//!
//! * **VISIT**: an object that is there throughout a query is visited exactly once, however many slices, threads or
//!   chunks the query has, and however the table grows, shrinks or is emptied meanwhile;
//! * one that comes, goes or is replaced meanwhile may be visited or not, in its old form or its new one;
//! * all objects of one key in a bag are visited together, as they were at one moment, unless they are very many (a
//!   thousand more than a step is to visit): then those left wait, by their addresses, and are visited in a later step
//!   if they are still there;
//! * a select or a count without a limit shows one moment, if it visits more than a few hundred objects: it reads a
//!   [snapshot](crate::Snapshot) from its first step to its last, however many steps and threads it takes. So does a
//!   chunk that needs more than a step;
//! * where the live table is read, the objects that one `insert/2` of a list put in are seen all or not at all by a
//!   step: the [reader](crate::view) undoes lists that come after it began. Between two steps such a list may come.
//!
//! Invariant **ADDRESS**: an object that stays in a bag stays where it is, whatever happens to others of its key. An
//! address may become that of another object of the key: one that has come meanwhile, which may be visited or not.
//!
//! Fixing the table is not needed for any of it.
//!
//! # Slices
//!
//! [`Query::step`] visits about as many objects as asked for, under one pin, and returns. Nothing of the table is held
//! until the next step but the snapshot, if there is one; dropping the query is cancelling it. [`Query::run`] is a loop
//! of steps, so that memory freed behind a long query comes back meanwhile.
//!
//! # Chunks
//!
//! A query with a limit stops when it has as many results. In an `ordered_set` it stops behind the very object; in
//! other tables a bucket is read as a whole, and the few results beyond the limit wait in the [`Continuation`], as
//! they do in ETS. So every chunk but the last has exactly `limit` results, in every type of table.
//!
//! # Changes
//!
//! `select_delete` and `select_replace` judge what a batch shows, and act if the slot still holds that; otherwise they
//! judge what it holds now, until one of both is settled (`ops::edit`). So each object is judged and changed in one
//! atomic step, and no specification ever runs while a slot is held.
//!
//! # Threads
//!
//! The index names keys that cut it into even pieces; each piece is a scan of its own ([`parallel`]). The results are
//! put together in the order of the pieces.

mod change;
mod continuation;
mod list;
pub(crate) mod parallel;
mod plan;
#[expect(
    clippy::module_inception,
    reason = "the folder is named for what it holds"
)]
mod query;
pub(crate) mod scan;
mod select;
mod work;

pub(crate) use change::delete_of_key;
pub use continuation::{Chunk, Continuation};
pub use list::match_spec_run;
pub use plan::Explanation;
pub use query::Query;
pub(crate) use work::{machine_or_default, rejects};
