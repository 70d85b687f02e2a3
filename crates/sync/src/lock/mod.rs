//! Locks, and the waiting of a writer for another writer.
//!
//! The structures above lock a bucket or a leaf for some tens of nanoseconds and never block while
//! they hold it, so a waiter spins a little and then gives its time slice away: the holder may
//! have been taken off the processor. No waiter parks, so a lock costs no more than a bit. A thread that may hold a
//! lock for longer takes one of [`rw`].
//!
//! * [`Backoff`] is the waiting itself.
//! * [`lock_bit`] makes a lock of one bit of a word that also says other things; [`unlock`] unlocks it.
//! * [`Mutex`] is the standard library's, or the model checker's, for what is locked seldom.
//! * [`SpinLock`] is a value behind a lock that spins, which a forked child can take over.
//! * [`rw`] has the reader-writer locks of ERTS, on which threads park.
//! * [`StatLock`] is a word that counts how often it was waited for, and that is closed when its node is dead;
//!   [`StatRwLock`] is the same over a reader-writer lock.

#[cfg(loom)]
pub use loom::sync::{Mutex, MutexGuard};
#[cfg(shuttle)]
pub use shuttle::sync::{Mutex, MutexGuard};
#[cfg(not(any(loom, shuttle)))]
pub use std::sync::{Mutex, MutexGuard};

mod backoff;
mod bit;
pub mod rw;
mod spin;
mod stat;
mod stat_rw;

pub use backoff::Backoff;
pub use bit::{lock_bit, unlock};
pub use spin::SpinLock;
pub use stat::{Kept, StatGuard, StatLock, StatWord};
pub use stat_rw::{StatReading, StatRwLock};
