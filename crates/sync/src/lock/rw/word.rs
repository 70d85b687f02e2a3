//! The flag word.
//!
//! ```text
//! bits 63..4     3       2        1          0
//!      readers   drain   queued   upgrader   writer
//! ```

/// The exclusive claim: a thread has the lock for writing, or waits for the last readers to go.
pub(super) const WRITER: u64 = 1;
/// A thread has the lock for upgradable reading.
pub(super) const UPGRADER: u64 = 2;
/// The queue is not empty (invariant QUEUE).
pub(super) const QUEUED: u64 = 4;
/// The thread with the claim waits for a signal that the readers are gone (invariant DRAIN).
pub(super) const DRAIN: u64 = 8;
/// One reader, where readers are counted in the word; else that there may be readers.
pub(super) const READER: u64 = 16;
/// All bits that tell of readers.
pub(super) const READERS: u64 = !(READER - 1);

/// What keeps a reader out that has not waited yet.
pub(super) const NO_READ: u64 = WRITER | QUEUED;
/// What keeps a writer out that has not waited yet.
pub(super) const NO_CLAIM: u64 = WRITER | UPGRADER | QUEUED;
