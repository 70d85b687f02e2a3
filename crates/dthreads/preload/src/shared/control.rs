//! The memory that all processes of a program share: who is there, who has the token, who waits for what.
//!
//! Invariant **TOKEN**: but for the few words named as signals between two processes, this memory is read and changed
//! by the holder of the token alone. Passing the token is a Release store that the taker's Acquire load sees
//! (`token.rs`), so plain numbers do. What it holds is a function of the program's input and the order of the token;
//! times and process ids, which are not, decide nothing that the program can see.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use fyris_dthreads_tools::record::{Header, Number, THREADS};
use fyris_sync::atomic::AtomicU32;

use crate::shared::variables::WORDS;
use crate::system::{LOCAL, sys};

/// Keys of thread-specific data, as many as glibc has.
pub(crate) const KEYS: usize = 1024;
/// Places of the program for which pages are remembered.
pub(crate) const PLACES: usize = 1024;
/// Words of numbers that `random` begins with, as many as libc has.
pub(crate) const NUMBERS: usize = 16;
/// Mappings of one thread that are remembered.
pub(crate) const OWN_MAPS: usize = 64;
/// Parts of the heap that may have other rights than usual.
pub(crate) const RIGHTS: usize = 512;
/// Signals that the kernel knows, and 0.
pub(crate) const SIGNALS: usize = 65;
/// Runs of free pages that are remembered.
pub(crate) const RUNS: usize = 4096;
/// Locks that may be held at once.
pub(crate) const HELD: usize = 4096;

/// The states of a slot.
pub(crate) mod state {
    pub(crate) const FREE: u64 = 0;
    /// In the ring: it runs, or waits for the token.
    pub(crate) const RING: u64 = 1;
    /// Waits for another thread.
    pub(crate) const ASLEEP: u64 = 2;
    /// Has ended, and was not joined yet.
    pub(crate) const DONE: u64 = 3;
    /// In a system call that may last (`outside.rs`).
    pub(crate) const OUTSIDE: u64 = 4;
}

/// No deadline.
pub(crate) const NEVER: u64 = u64::MAX;

/// One thread. The process for it stays when it ends, for the next thread in this slot.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// A signal: 0, the token was given (1), or the process sleeps for it (2).
    pub(crate) go: AtomicU32,
    /// A signal to the process without a thread: 0, begin (1), end (2), it sleeps (3).
    pub(crate) assigned: AtomicU32,
    /// A signal to the creator: the new thread has the memory of its creation (1), or the creator sleeps for it (2).
    pub(crate) begun: AtomicU32,
    /// Where it is with a system call that may last: see `outside.rs`.
    pub(crate) outside: AtomicU32,
    /// A signal to the first of a round: this thread is at a synchronization point (`fence.rs`); the round of its last
    /// turn.
    pub(crate) arrived: AtomicU32,
    pub(crate) round: Number,
    /// Signals that end this call, those that it holds back otherwise, and the one that has called it back.
    pub(crate) accepts: Number,
    pub(crate) mask: Number,
    pub(crate) signal: Number,
    /// The process; 0 if there is none.
    pub(crate) pid: Number,
    pub(crate) state: Number,
    pub(crate) next: Number,
    pub(crate) previous: Number,
    /// Rounds in which the token passes it by (invariant SKIP).
    pub(crate) rounds: Number,
    /// Threads that had this slot before.
    pub(crate) generation: Number,
    pub(crate) detached: Number,
    /// The slot of the thread that joins it, and one.
    pub(crate) joiner: Number,
    pub(crate) result: Number,
    pub(crate) function: Number,
    pub(crate) argument: Number,
    /// Its stack, where the closed part of that ends (`stacks.rs`), and the lowest address in use when it last had the
    /// token.
    pub(crate) stack: Number,
    pub(crate) stack_len: Number,
    pub(crate) closed: Number,
    pub(crate) stack_low: Number,
    /// The object that it waits for, and how (an [`Operation`](fyris_dthreads_tools::record::Operation)).
    pub(crate) waits: Number,
    pub(crate) how: Number,
    /// What the word of memory is that it waits for, if it waits for one to change.
    pub(crate) expected: Number,
    /// The number of its wait: the first to wait is the first to be woken.
    pub(crate) order: Number,
    pub(crate) deadline: Number,
    pub(crate) timed_out: Number,
    /// The process that forked its process, and the changes which that one had seen.
    pub(crate) parent: Number,
    pub(crate) parent_changes: Number,
    /// Its process has changes of its own: no other thread can have it.
    pub(crate) spoilt: Number,
    /// The heap's: its arena, and blocks of it that others have freed.
    pub(crate) arena: Number,
    pub(crate) inbox: Number,
    pub(crate) name: [Number; 2],
}

/// The pages that a thread changes from a place of the program to its next turn.
#[repr(C)]
pub(crate) struct Forecast {
    pub(crate) place: Number,
    pub(crate) pages: Number,
}

/// A lock that is held.
#[repr(C)]
pub(crate) struct Held {
    pub(crate) address: Number,
    /// The slot of the holder; readers are counted instead.
    pub(crate) owner: Number,
    pub(crate) count: Number,
    pub(crate) readers: Number,
}

#[repr(C)]
pub(crate) struct Key {
    /// 0 if free; odd.
    pub(crate) used: Number,
    pub(crate) destructor: Number,
}

#[repr(C)]
pub(crate) struct Control {
    /// How the program ends, once that is known: a status and `STATUS`, or a signal and `SIGNAL`.
    pub(crate) ending: AtomicU32,
    /// The process that has decided so.
    pub(crate) ender: Number,
    /// The watchdog has spoken.
    pub(crate) warned: AtomicU32,
    /// Races were told of.
    pub(crate) told: AtomicU32,
    pub(crate) main_pid: Number,
    pub(crate) began: Number,
    /// The lowest number that a descriptor of the library has.
    pub(crate) descriptors: Number,
    /// Most threads alive at once.
    pub(crate) limit: Number,
    /// The calls of a turn (`--turn`).
    pub(crate) points: Number,
    /// Pages that all threads have published.
    pub(crate) published: Number,
    /// Threads that have not ended, and those in the ring.
    pub(crate) live: Number,
    pub(crate) running: Number,
    /// Threads that wait for a word of memory to change.
    pub(crate) futexes: Number,
    /// Threads that have rounds to be skipped.
    pub(crate) skipped: Number,
    /// Slots that were ever used.
    pub(crate) slots: Number,
    /// Threads in system calls that may last; whether any of them wants to come back; whether the token waits for one.
    pub(crate) outside: Number,
    pub(crate) arrivals: AtomicU32,
    pub(crate) parked: AtomicU32,
    /// The round, and the one whose turns are under way (`fence.rs`).
    pub(crate) round: AtomicU32,
    pub(crate) serial: Number,
    /// Signals to the program that no thread would take yet.
    pub(crate) pending: Number,
    /// The thread that has the token, or is to take it.
    pub(crate) turn: Number,
    pub(crate) order: Number,
    pub(crate) time: Number,
    /// No sleeper has an earlier deadline.
    pub(crate) earliest: Number,
    /// Bytes of the heap that were given to arenas and to stacks; those of stacks; the most that others may have.
    pub(crate) heap: Number,
    pub(crate) stacks: Number,
    pub(crate) heap_limit: Number,
    /// Bytes of the segment that globals of libraries have which the program has loaded itself.
    pub(crate) later: Number,
    /// Free pages of the heap, in the order of their addresses, where they begin and end; how many runs.
    pub(crate) runs: [[Number; 2]; RUNS],
    pub(crate) run_count: Number,
    /// What threads have mapped for themselves: where it begins and ends, the slot, and a number for the library, if it
    /// is one; how often they did.
    pub(crate) own_maps: [[Number; 4]; OWN_MAPS],
    pub(crate) own_map_count: AtomicU32,
    /// Parts of the heap with other rights than usual: where they begin and end, and the rights; how many there are,
    /// and how many changes there were.
    pub(crate) rights: [[Number; 3]; RIGHTS],
    pub(crate) rights_count: Number,
    pub(crate) rights_version: Number,
    /// What is done at signals: handler, flags, mask, and the change that it was; how many changes there were.
    pub(crate) actions: [[Number; 4]; SIGNALS],
    pub(crate) actions_version: Number,
    /// Bytes of the stack of a thread without attributes, if the program has set them.
    pub(crate) stack_wished: Number,
    /// Stacks that were made or opened so far.
    pub(crate) stack_changes: AtomicU32,
    /// What is to be done at the program's end: the address of the last.
    pub(crate) exits: Number,
    /// Generators of random numbers: the states of `random`, with the numbers that it begins with, and of `drand48`.
    pub(crate) random: [Number; 6],
    pub(crate) random_numbers: [Number; NUMBERS],
    pub(crate) drand48: [Number; 3],
    /// The variables of libc that threads share, and their last change.
    pub(crate) variables: [Number; WORDS],
    pub(crate) variables_version: Number,
    pub(crate) held: Number,
    pub(crate) holds: [Held; HELD],
    pub(crate) keys: [Key; KEYS],
    pub(crate) forecasts: [Forecast; PLACES],
    pub(crate) threads: [Thread; THREADS],
}

pub(crate) const STATUS: u32 = 1 << 31;
pub(crate) const SIGNAL: u32 = 1 << 30;

static CONTROL: AtomicPtr<Control> = AtomicPtr::new(ptr::null_mut());
static RECORD: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());

/// Returns the shared memory, which is made by the first call.
#[inline]
pub(crate) fn control() -> &'static Control {
    // Relaxed: stored once, by this process or by the one that forked it.
    let known = CONTROL.load(Ordering::Relaxed);
    let known = if known.is_null() { make() } else { known };
    // SAFETY: mapped for ever, zeros are valid, and all in it are atomics.
    unsafe { &*known }
}

#[cold]
fn make() -> *mut Control {
    let fresh: *mut Control = sys::map_shared(size_of::<Control>()).cast();
    if fresh.is_null() {
        sys::say(format_args!("no memory for {} bytes", size_of::<Control>()));
        sys::exit_now(sys::REFUSED);
    }
    // Relaxed: as above.
    CONTROL.store(fresh, Ordering::Relaxed);
    fresh
}

/// Returns the record of the run.
pub(crate) fn record() -> &'static Header {
    // Relaxed: stored once, before the program begins.
    let known = RECORD.load(Ordering::Relaxed);
    // SAFETY: mapped for ever by `keep_record`, zeros are valid, and all in it are atomics.
    unsafe { &*known }
}

/// Keeps the record there: at least a header's bytes of zeros, shared, for ever.
pub(crate) fn keep_record(at: *mut u8) {
    // Relaxed: as above.
    RECORD.store(at.cast(), Ordering::Relaxed);
}

impl Control {
    /// Returns the thread in a slot.
    #[inline]
    pub(crate) fn thread(&self, slot: usize) -> &Thread {
        &self.threads[slot]
    }

    /// Returns the threads in slots that were ever used.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, &Thread)> {
        self.threads[..self.slots.get() as usize].iter().enumerate()
    }
}

/// Returns the process of the thread in a slot; never 0, which names this process, or a group of them.
pub(crate) fn process_of(slot: usize) -> Option<i32> {
    let pid = match slot {
        slot if slot == LOCAL.me.get() => sys::pid(),
        0 => control().main_pid.get() as i32,
        slot => control().thread(slot).pid.get() as i32,
    };
    (pid > 0).then_some(pid)
}

/// Says that this process's own memory differs from what it was forked with (invariant IMAGE).
pub(crate) fn changed() {
    LOCAL.changes.set(LOCAL.changes.get() + 1);
    if LOCAL.on() && LOCAL.me.get() != 0 {
        control().thread(LOCAL.me.get()).spoilt.set(1);
    }
}
