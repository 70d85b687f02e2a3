//! `libfyris_dthreads.so`: POSIX threads that run the same in every run. The essay is in this file; the README of
//! `fyris-dthreads` says how to use it.
//!
//! # How
//!
//! The library is preloaded and takes the place of libc's threads, locks, heap and clocks. A thread is a process
//! (`threads`) with a working copy of one segment (`shared/memory.rs`), in which all memory is that threads share:
//! globals, heap, stacks. So a thread computes on memory that no other touches, at full speed, and what it sees changes
//! only at *synchronization points*, which have one order (`turn`). After Dthreads (Liu, Curtsinger, Berger, SOSP 2011)
//! as CONVERSION rebuilt it (section 5): since segments isolate, no fence is needed before commits.
//!
//! Each folder uses those above it only: `system`, a process by itself; `shared`, what all have in common; `turn`, the
//! order; then what programs call, in turns: `calls`, which are not about threads; `sync`, locks; `common`,
//! what libc keeps for the program as a whole; `threads`. On these
//! `c11`, the same under other names, `program`, calls about the program as a whole, and `refused`, what none may call;
//! `exports` has the calls that are turns as programs find them, and `start` is where the loader begins.
//!
//! # Why runs are the same
//!
//! 1. Between two synchronization points a thread reads and writes its own copy: what it does is a function of the copy
//!    (invariant ONE, and the limits below).
//! 2. The copy changes in turns only (TURN), by what was committed in the turns before, in their order.
//! 3. Whose turn is next is a function of the ring, and of the pages that threads have changed before and the words on
//!    their stacks when they called: the ring changes in turns only, the others by 1 (TOKEN_KEPT, SKIP, TOKEN).
//! 4. What the library adds is a function of these: addresses (HOME, and a loader that does not randomise), names of
//!    threads, the virtual time.
//!
//! By induction over the turns the order and all that is seen in it are the same, as long as the program's input is.
//!
//! # Limits
//!
//! * Plain memory that one thread polls for another's store does not synchronize, nor do atomic operations on AArch64:
//!   each sees its own copy. On x86-64 atomic operations are turns (`sync/instruction.rs`). The watchdog names a thread
//!   that computes for five seconds while another waits for its turn, once a run.
//! * The end of a process (a crash, `_exit`) and signals that arrive are no turns: what other threads
//!   have done by then is not decided. Nor is the order of what the program writes past stdio.
//! * A handler of the program for a signal from outside, or of a timer, changes pages and words of the stack, by which
//!   the next thread is chosen: so it changes the schedule.
//! * Memory mapped from files is each process's own after a thread was created; shared mappings of files are shared as
//!   ever. What libc keeps for itself is private to a process, but for streams and the environment.
//! * What comes from outside (files, sockets, random numbers, process ids) is the program's input.
//! * `fork`, `clone`, `pthread_cancel`, mutexes and semaphores shared between programs are refused by name. `daemon`
//!   and other shared objects are not noticed.

// The tests take nothing's place: what is exported has no use in them.
#![cfg_attr(test, allow(dead_code))]

mod c11;
mod calls;
mod common;
mod exports;
mod program;
mod refused;
mod shared;
mod start;
mod sync;
mod system;
mod threads;
mod turn;
