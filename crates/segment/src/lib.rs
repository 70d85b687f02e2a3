#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! Version-controlled shared memory between processes.
//!
//! # Why
//!
//! Processes that share memory need locks around everything they read, or copies of everything they write. A
//! version-controlled segment is a third way, after CONVERSION (Merrifield and Eriksson, EuroSys 2013): each process
//! has a *working copy* that no other process touches, reads and writes it at the speed of memory, and says when to
//! publish ([`Segment::commit`]) and when to take in what others have published ([`Segment::update`], a three-way
//! merge). The paper changed the kernel for it; this crate is a library: no root, no module, and a process that dies at
//! any instruction harms no other.
//!
//! # Memory layout
//!
//! | memory | seen by | content |
//! |---|---|---|
//! | trunk | every process, one file mapped shared | header, slots, page heads, log, page frames (see `trunk/mod.rs`) |
//! | working copy | one process, a memfd mapped twice | the *view*, where writes are tracked, and the *alias*, where updates come in |
//! | base | one process | for each page the frame that the copy started from |
//!
//! The shared file, all numbers little-endian, every part at a multiple of 4096:
//!
//! | part | bytes | content |
//! |---|---|---|
//! | header | 4096 | 0: `FYRISSEG`; 8: format; 16: unit; 24: pages; 32: slots; 40: frames kept at most; 48: log entries; 56: frames; 64: file length; 72: sum of these. Then what changes: 128: position; 136: version; 144: size; 152: may have lost its name; 160: was read in place; 192: lock; 196: how often it was taken; 256: tail; 264: applied; 272: frames that have or had space; 280: free frames (a hint); 288: gate; 296: pid namespace; 304: slots ever used; 312: a process sleeps; 320: frames kept; 328: overruns; 336: evictions; 344..368: the table of kept frames: its top, a cursor, the sum of the snapshots it was gone through for; 368: holes (a hint); 376: the ring of the log; 384..544: the table of rings (see `trunk/ring.rs`) |
//! | slots | 64 each, and one for the doctor | 0: owner (process id and start time); 8: place; 16: commits; 24: base (see `trunk/slots.rs`) |
//! | page heads | 16 a page | 0: frame; 8: log position after its last change |
//! | log | 128 an entry | 0: page; 4: frame; 8: frame before; 12: its age; 16: version; the changed words: up to six with their values, or a mask of 512 bits (see `trunk/entry.rs`) |
//! | kept frames | 16 each | 0: frame; 4: age; 8: last position (see `trunk/kept.rs`) |
//! | states | 4 a frame | hole, free, in the trunk, or reserved by a slot |
//! | frames | 4096 each | pages, immutable while a process may read them |
//!
//! # Commit, step by step
//!
//! 1. Is the trunk where the copy is? Otherwise [`Error::Behind`].
//! 2. Find the pages written (one PAGEMAP_SCAN, or the marks of the signal handler; nothing for declared
//!    writes). Compare each with its base and copy it into a reserved frame, both in one pass. No lock is held. If
//!    we were evicted meanwhile the base may have been overwritten, and nothing that was compared counts. Where
//!    processes read in place some pages are moved beside (`segment/compact.rs`).
//! 3. Take the lock; look again whether the trunk has moved.
//! 4. Write the log entries above the trunk's position, where no process reads.
//! 5. **Store the new position.** This one store is the commit.
//! 6. Set page heads and frame states, then `applied`. If we die in here the next holder of the lock does it.
//! 7. Move the tail up to the slowest process that holds the log; the frames replaced before it are reserved for our
//!    next commit, but for those of snapshots, which are kept. Unlock.
//!
//! # Update, step by step
//!
//! 1. Load the trunk's position. Nothing new: done, no system call.
//! 2. Copy the log entries since our position into private memory, one change for each page. Nothing else is needed for
//!    a page with up to six changed words: the log has their values.
//! 3. Move our slot's place to the new position: one compare-and-swap, which fails if the log went on without us
//!    meanwhile; then the page heads say which pages differ. The frames that the slot keeps from now on, of both
//!    versions, are not written over.
//! 4. Of other pages copy the changed words of base and frame. Words that still equal the base become the frame's;
//!    others stay (or are asked about).
//! 5. Move our slot's base: the frames that only the former base needed may be reused.
//!
//! It never waits: not for the lock, not for a commit under way, not for a process that has stopped.
//!
//! # The cost of a process that stalls or lags
//!
//! It keeps the log, and the frames replaced since, up to the log's length: twice as many entries as the segment has
//! pages, rounded up to a power of two, and at least 1,024. Then the log goes on without it (it is *overrun*), and the
//! segment keeps the frames that its merge will need: the replaced pages that its copy started from, at most as many as
//! the segment has, and twice as many during an update. So changes of different units merge however far apart the
//! processes are; an update then compares page heads instead of reading the log. The frames kept for all laggards
//! together are bounded ([`Options::history`]): beyond that the one that is furthest behind is *evicted*, and pages
//! that were changed both here and in the trunk have no common base any more: [`Error::BaseLost`]. Hot pages, which are
//! not tracked, count as changed here, and pages that were moved count as changed in the trunk: a busy writer that is
//! evicted may be told so of pages it has just committed.
//! [`Segment::discard`] and trying again, as after a conflict, is the answer.
//!
//! # The memory of a working copy
//!
//! A full copy: as much memory as was ever written in the segment, beside the trunk's. A reader can do without
//! ([`Options::in_place`]): it shows the trunk's own pages, and copies those that change. A writer cannot: the kernel's
//! own copy-on-write (1.7 us a page, against 0.8 for a fault that only notes the write) puts the page where no second
//! mapping sees it, so an update, which writes through one (0.03 us a page), would need a system call for each page;
//! and copying at the first write by a handler takes 4 us, and makes `read(2)` into the copy fail.
//!
//! # The size of the file
//!
//! Header, slots, and the page heads and the log that belong to the segment's size have their space from the beginning,
//! or since the segment has grown; frames and the tables of them get it when they are needed. It is allocated before it
//! is written to or promised: a full file system is [`Error::NoSpace`], which says how much was needed, and no SIGBUS.
//! When more frames are free than in use (256 more at least) commits give the space of free frames back, a few hundred
//! at a time, until half as many are free. The file's length does not change: it is sparse.
//!
//! # Limits
//!
//! * A hostile process of the same user can destroy the content, hold the commit lock for ten seconds at a
//!   time ([`Error::LockTimeout`]), or shorten the file: touching a page that is gone raises SIGBUS, as for any mapped
//!   file. It cannot make this process read or write elsewhere.
//! * A process that calls `exec` without dropping its segments keeps its slots until it ends (the new program has
//!   the old one's id and start time), and the lock, if another of its threads held it.
//! * Whether a process is dead is asked of the kernel and read from `/proc`. A process that can open no file, or has no
//!   `/proc` in its root, takes those that it cannot look at for living: it waits longer, but harms no other.
//! * Processes in different pid namespaces cannot share a segment at the same time ([`Error::Namespace`]).
//! * `mlockall` (with `MCL_CURRENT`, without `MCL_ONFAULT`) touches all that is mapped: the file and the working copy
//!   then take their full size (file: some 13 times `max_size`), for good. Call it before the first checkout, or with
//!   `MCL_ONFAULT`, or lock what has to be by `mlock`.
//! * The working copy is ordinary memory: if the machine has none left, writing to it ends as writing to any
//!   untouched memory does.
//! * Commits publish in one order under one lock. They prepare side by side, also of different pages, so
//!   the lock is held for some ten nanoseconds a page; a *stopped* process that holds it stops commits (not
//!   updates) until it runs again.

// In a model there is nothing but what tests/loom.rs takes: the words lie in mapped memory, where loom's cannot.
#![cfg(not(loom))]

#[cfg(not(target_os = "linux"))]
compile_error!("fyris-segment needs Linux: memfd, futex, and userfaultfd or mprotect");

mod copy;
mod descriptors;
mod doctor;
mod error;
#[cfg_attr(not(debug_assertions), allow(unused_macros))]
#[doc(hidden)]
pub mod failpoints;
mod list;
mod map;
mod name;
mod options;
mod segment;
mod trunk;
pub mod versioned_map;
mod words;

pub use descriptors::keep_descriptors_from;
pub use doctor::{Attached, Doctor, Repaired, Report};
pub use error::{Error, Result};
pub use list::{Listed, Overview};
pub use options::{Options, Tracking};
#[doc(hidden)]
pub use segment::let_others_pass;
pub use segment::{
    Choice, Conflict, Inside, Origin, Reattach, Segment, Shared, Updated, Watcher, Words,
};
pub use versioned_map::{MapError, VersionedMap};

/// Bytes in a page, the grain of tracking and of commits.
pub const PAGE: usize = 4096;
