//! The reader-writer locks of ERTS: no thread starves, neither of those that read nor of those that write.
//!
//! # Why
//!
//! A lock that prefers readers lets them starve writers, one that prefers writers the reverse, and a lock that prefers
//! neither but wakes threads to race for it promises nothing either. The locks here (2010 talk; section 3.3 of the 2013
//! paper) hand themselves over: the thread that unlocks gives the lock to the thread at the head of a queue, and if
//! that reads, to all readers in the queue. As long as no thread waits, locking and unlocking is one atomic operation
//! each.
//!
//! | lock | where readers are noted | for |
//! |---|---|---|
//! | [`FairRwLock`] | in the flag word | bucket locks, and whatever is written to often: 48 bytes |
//! | [`GroupRwLock`] | in counters of groups of threads | what is mostly read: readers do not write a common line |
//! | [`PointerRwLock`] | in a word of each thread, for all locks | the same, with no memory for each lock |
//! | `RawFair<`[`Chosen`]`>` | in the flag word or in groups | tables, whose options choose one of the first two |
//!
//! All are [`RawFair`] over another kind of [`Readers`], and one state machine.
//!
//! # The two steps of a writer
//!
//! A writer takes the *claim*, the bit WRITER in the flag word, which one thread has at a time and which turns away all
//! readers to come. Then it *drains*: it waits until the readers that were there are gone. A reader notes that it reads
//! and then looks at the flag word; if there is a claim or a queue it takes its note back. Each thread does that once
//! at most after a claim: one that waits is in the queue then, and one that only tries looks before it arrives.
//!
//! The talk lets a writer that finds readers count itself under "pending unlock", and readers abort it; a writer that
//! is interrupted often enough ends up in the queue. With the claim a writer looks at the groups once it can only get
//! better, so there is nothing to abort. What is left of the pending unlock is the bit DRAIN: a reader that departs and
//! sees it helps, as in the talk: it looks at all groups, and tells the writer when they are empty.
//!
//! ```text
//!                 claim               last reader departs
//!  free or read ────────▶ claimed (DRAIN) ────────▶ written
//!    ▲     ▲                  │ deadline               │ unlock
//!    │     └──────────────────┘                        ▼
//!    └──────────────────────────────────── head of the queue gets the lock
//! ```
//!
//! # How a thread waits
//!
//! It tries again a few times, each time after a longer pause, unless the queue is not empty. Then it enters the queue
//! under its latch, sets the bit QUEUED, and takes the lock at once if that has become free meanwhile. From here on it
//! depends on others: it looks at its own node only, in its own cache, for some microseconds, then it parks
//! ([`crate::park`]). A writer that has the claim waits in the same way, out of the queue.
//!
//! A reader goes to the readers in the queue if there are any, a writer to the end. So a reader waits for the writers
//! before the readers, and a writer for one group of readers and the writers before it.
//!
//! # Statistics
//!
//! [`Watched`] is any of these locks with counts of conflicts and waits, and of the longest queue. A lock that is not
//! wrapped counts nothing; who waits now can be asked of every lock ([`RawFair::waiting`]).
//!
//! # Invariants
//!
//! * **EXCLUSION**: a thread writes under the lock if it has the claim and has seen, since it took it, that no reader
//!   is noted, or was told so. A thread reads if it noted that at a moment when there was no claim.
//! * **ONE_SEES**: of a reader that notes itself and looks for the claim, and a writer that claims and looks for notes,
//!   at least one sees the other. The same holds for a reader that departs and looks for DRAIN, and a writer that sets
//!   DRAIN and looks for notes. (`readers.rs`)
//! * NOTED, GROUP and MARK (`readers.rs`, `groups.rs`, `pointers.rs`) say what it takes to see in the flag word, in the
//!   groups or in the words of threads that there is no reader.
//! * **QUEUE**: the bit QUEUED is set as long as the queue is not empty. It is changed under the latch, and while it is
//!   set only the holder of the latch sets WRITER and UPGRADER.
//! * **HEAD**: if the latch is free, the thread at the head may not have the lock: there is a claim, or it is no reader
//!   and there is an upgrader. Each operation that takes a claim or an upgrader away and sees QUEUED lets the head in;
//!   each that enters the queue or leaves it looks itself. So no thread sleeps that could go on.
//! * **GATHER**: all readers in the queue stand side by side. (`queue.rs`)
//! * **DRAIN**: the bit DRAIN is set as long as a drainer is named beside the queue. Both are changed under the latch.
//! * **SIGNAL**: a waiting thread's node is in the queue, or named as the drainer, or known to the one thread that will
//!   give its signal; and the thread stays until it has taken it out of the first two under the latch or got the
//!   signal.
//! * **OWN_PROCESS**: what is behind a latch belongs to one process. (`latch.rs`)
//!
//! # Giving up
//!
//! A thread whose deadline passes takes its node out under the latch and lets in the threads that waited for it only.
//! If it has been let in meanwhile, its signal is on the way, and it has the lock.
//!
//! # Panics, ends of threads, forks
//!
//! A guard of `lock_api` unlocks when it is dropped, also by a panic, and no lock is poisoned. A lock may be taken and
//! given up at any moment of a thread's life, in destructors of its thread-local values too. A lock that was forgotten
//! (`mem::forget`) stays locked.
//!
//! A child of a fork has one thread. What other threads of the parent had at the fork stays locked in the child, as
//! what is under it may be half changed; a try says so. What the forking thread had it can unlock. Threads that waited
//! are not told, since they are not there: the child drops the queue without following it. But a reader that was about
//! to be turned away at that moment has its note in the word or in a group for good. So a lock is sure to go on in the
//! child if no other thread was at work on it, but for waiting in the queue.
//!
//! # Cost and progress
//!
//! Locking and unlocking are a constant number of steps while no thread waits, and wait-free for a reader of
//! [`FairRwLock`] then; a writer of [`GroupRwLock`] looks at each group. A waiting thread waits for those before it.

mod api;
mod chosen;
mod groups;
mod latch;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
mod patience;
mod pointers;
mod queue;
mod raw;
mod readers;
mod signal;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod upgrade;
#[cfg(not(any(loom, shuttle)))]
mod watched;
mod word;

pub use chosen::Chosen;
pub use groups::Groups;
pub use pointers::Pointers;
pub use raw::{RawFair, Waiting};
pub use readers::{InWord, Indicated, ReadIndicator, Readers};
#[cfg(not(any(loom, shuttle)))]
pub use watched::{Statistics, Watched};

/// A value behind the ERTS reader-writer lock, with readers counted in its flag word. See the module.
#[cfg(not(any(loom, shuttle)))]
pub type FairRwLock<T> = lock_api::RwLock<RawFair<InWord>, T>;

/// A value behind the reader-optimised ERTS lock, with readers counted in groups. See the module.
#[cfg(not(any(loom, shuttle)))]
pub type GroupRwLock<T> = lock_api::RwLock<RawFair<Indicated<Groups>>, T>;

/// A value behind the lock whose readers say in words of their threads what they read. See the module. It must not be
/// moved while a thread has forgotten a guard.
#[cfg(not(any(loom, shuttle)))]
pub type PointerRwLock<T> = lock_api::RwLock<RawFair<Indicated<Pointers>>, T>;
