//! How a writer waits for another writer.
//!
//! The structures above lock a bucket or a leaf for some tens of nanoseconds and never block while
//! they hold it, so a waiter spins a little and then gives its time slice away: the holder may
//! have been taken off the processor. No waiter parks, so a lock costs no more than a bit.
//!
//! * [`Backoff`] is the waiting itself.
//! * [`lock_bit`] and friends make a lock of one bit of a word that also says other things.
//! * [`StatLock`] counts how often it was waited for.

mod backoff;
mod bit;
mod stat;

pub use backoff::Backoff;
pub use bit::lock_bit;
pub use stat::{StatGuard, StatLock};
