//! The record of a run: memory that all processes of a program share, and that a file keeps if one is asked for.
//!
//! It outlives the program, so a run that ends by a signal can be looked at too.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | header | [`size_of::<Header>`](Header) | magic, number of synchronization points, hash of the schedule, a row for each thread, conflicts, names |
//! | events | [`size_of::<Event>`](Event) each | the first [`EVENTS`] synchronization points, if there is a file |
//!
//! Numbers are in the machine's order; times in nanoseconds since the program began.

use fyris_sync::atomic::{AtomicU64, Ordering};

/// Threads that may be alive at once, main included.
pub const THREADS: usize = 128;
/// Synchronization points that a file keeps; later ones are in the hash only.
pub const EVENTS: usize = 1 << 20;
/// Regions with different names that a record keeps.
pub const REGIONS: usize = 256;
/// The bytes of a region's name.
pub const NAME: usize = 32;
/// Different conflicts that a record keeps.
pub const CONFLICTS: usize = 1024;
/// Modules (the program and its libraries) that a record keeps.
pub const MODULES: usize = 64;
/// The bytes of a module's path.
pub const PATH: usize = 256;
/// The first eight bytes: `FYDTHRD5`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"FYDTHRD5");
/// The environment variable that names the file.
pub const FILE_VARIABLE: &str = "FYRIS_DTHREADS_RECORD";

/// A number that changes while other processes may look at it.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Number(AtomicU64);

impl Number {
    /// Returns the number.
    #[inline]
    pub fn get(&self) -> u64 {
        // Relaxed: ordered by the token (invariant TOKEN), or looked at after the program has ended.
        self.0.load(Ordering::Relaxed)
    }

    /// Stores a number.
    #[inline]
    pub fn set(&self, value: u64) {
        // Relaxed: as in `get`.
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds to the number. Not atomic: each is changed by one process at a time.
    #[inline]
    pub fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }
}

/// The beginning of the record.
#[derive(Debug)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`], once the library has begun.
    pub magic: Number,
    /// Synchronization points so far.
    pub count: Number,
    /// The hash of (thread, operation, object) of each, in order.
    pub hash: Number,
    /// The most threads that were alive at once.
    pub most: Number,
    /// Threads that were created, main included.
    pub created: Number,
    /// Processes that were forked for them.
    pub forked: Number,
    /// The time that the program took; 0 if it ended by a signal.
    pub took: Number,
    /// Bytes in a row that two threads wrote at once, counted each time.
    pub races: Number,
    /// Bytes that two threads have changed since a common base, counted each time.
    pub clashes: Number,
    /// Of the first of them that was looked for: the address, the thread that came second, and the place in the program
    /// where it found out. Zeros if none was.
    pub first_clash: [Number; 3],
    /// Rows in use of `conflicts`.
    pub conflict_rows: Number,
    /// Rows in use of `modules`.
    pub module_rows: Number,
    /// Rows in use of `names`.
    pub regions: Number,
    /// For each slot of threads.
    pub threads: [Row; THREADS],
    /// The first conflicts that differ.
    pub conflicts: [ConflictRecord; CONFLICTS],
    /// The program and its libraries.
    pub modules: [ModuleRecord; MODULES],
    /// The names of regions: the first has number 1.
    pub names: [[Number; NAME / 8]; REGIONS],
}

/// A module that the loader has put into memory.
#[derive(Debug)]
#[repr(C)]
pub struct ModuleRecord {
    /// The lowest address.
    pub start: Number,
    /// The address behind the highest.
    pub end: Number,
    /// An address in memory minus that in the file.
    pub bias: Number,
    /// The file, ended by zeros; empty if the name is too long.
    pub path: [Number; PATH / 8],
}

/// Bytes that two threads wrote, neither of them knowing of the other's.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ConflictRecord {
    /// The first byte.
    pub address: Number,
    /// The number of bytes.
    pub len: Number,
    /// The thread that committed first.
    pub first: Number,
    /// The place in the program where that thread committed.
    pub first_site: Number,
    /// The thread whose bytes stayed.
    pub second: Number,
    /// The place in the program where that thread found out.
    pub second_site: Number,
    /// The times that this was found.
    pub count: Number,
}

/// Totals of the threads that had a slot one after the other.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Row {
    /// Nanoseconds spent waiting for the token, sleeping for other reasons not counted.
    pub token: Number,
    /// Nanoseconds spent waiting at the fence.
    pub fence: Number,
    /// Nanoseconds in updates.
    pub update: Number,
    /// Nanoseconds in commits.
    pub commit: Number,
    /// Synchronization points.
    pub points: Number,
    /// Commits: the paper's transactions.
    pub transactions: Number,
    /// Pages that commits published.
    pub published: Number,
    /// Pages that updates changed.
    pub updated: Number,
    /// Page faults, of the operating system's count.
    pub faults: Number,
}

/// One synchronization point.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Event {
    /// Thread (low 16 bits), operation (the next 16), and the region's number, or 0 (the next 16).
    pub what: Number,
    /// The address of the object, or the number of a thread.
    pub object: Number,
    /// The time at which the thread arrived.
    pub arrived: Number,
    /// The time at which it had the token.
    pub began: Number,
    /// The time at which it passed the token on, or kept it and went on.
    pub ended: Number,
    /// The place in the program that the call returns to; 0 if the library does this by itself.
    pub site: Number,
    /// Pages that the thread committed, by then.
    pub pages: Number,
}

/// Returns the bytes of a record with `events` events.
pub const fn bytes(events: usize) -> usize {
    size_of::<Header>() + events * size_of::<Event>()
}

/// Returns `hash` with one more synchronization point in it (FNV-1a by words).
#[inline]
pub fn mix(hash: u64, thread: usize, operation: Operation, object: u64) -> u64 {
    let what = thread as u64 | (operation as u64) << 16;
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = step(step(hash, what), object);
    hash ^ hash >> 29
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The kinds of synchronization points.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Operation { $($(#[$doc])* $name,)* }

        impl Operation {
            const ALL: &[Operation] = &[$(Operation::$name,)*];

            /// Returns the name of the function.
            pub fn name(self) -> &'static str {
                match self { $(Operation::$name => $text,)* }
            }

            /// Returns the operation of a number; [`Operation::Unknown`] if there is none.
            pub fn of(number: u16) -> Operation {
                Operation::ALL.get(usize::from(number)).copied().unwrap_or(Operation::Unknown)
            }
        }
    };
}

operations! {
    /// Of another version of this crate.
    Unknown = "?",
    /// A thread begins.
    Begin = "(begin)",
    /// A thread ends.
    End = "(end)",
    /// Woken after a wait.
    Wake = "(woken)",
    /// More memory for the heap.
    Heap = "malloc",
    /// The program ends.
    Exit = "exit",
    /// `pthread_create`.
    Create = "pthread_create",
    /// `pthread_join` and its kin.
    Join = "pthread_join",
    /// `pthread_detach`.
    Detach = "pthread_detach",
    /// `pthread_mutex_lock` and its kin.
    Lock = "pthread_mutex_lock",
    /// `pthread_mutex_trylock`.
    TryLock = "pthread_mutex_trylock",
    /// `pthread_mutex_unlock`.
    Unlock = "pthread_mutex_unlock",
    /// `pthread_cond_wait` and its kin.
    Wait = "pthread_cond_wait",
    /// `pthread_cond_signal`.
    Signal = "pthread_cond_signal",
    /// `pthread_cond_broadcast`.
    Broadcast = "pthread_cond_broadcast",
    /// `pthread_barrier_wait`.
    Barrier = "pthread_barrier_wait",
    /// `pthread_rwlock_rdlock` and its kin.
    ReadLock = "pthread_rwlock_rdlock",
    /// `pthread_rwlock_wrlock` and its kin.
    WriteLock = "pthread_rwlock_wrlock",
    /// `pthread_rwlock_unlock`.
    RwUnlock = "pthread_rwlock_unlock",
    /// `pthread_spin_lock` and `pthread_spin_trylock`.
    Spin = "pthread_spin_lock",
    /// `pthread_spin_unlock`.
    SpinUnlock = "pthread_spin_unlock",
    /// `pthread_once`.
    Once = "pthread_once",
    /// `sem_wait` and its kin.
    SemWait = "sem_wait",
    /// `sem_post`.
    SemPost = "sem_post",
    /// `pthread_key_create` and `pthread_key_delete`.
    Key = "pthread_key_create",
    /// `pthread_setname_np` and `pthread_getname_np`.
    Name = "pthread_setname_np",
    /// `sched_yield`.
    Yield = "sched_yield",
    /// `nanosleep` and its kin.
    Sleep = "nanosleep",
    /// `pthread_kill` and `kill`.
    Kill = "pthread_kill",
    /// `sigwait` and its kin.
    SigWait = "sigwait",
    /// `sigsuspend` and `pause`.
    SigSuspend = "sigsuspend",
    /// `sigaction` and `signal`.
    Handler = "sigaction",
    /// `setuid` and its kin.
    Rights = "setuid",
    /// `read` and its kin, of what is not ready.
    Read = "read",
    /// `accept` and its kin.
    Accept = "accept",
    /// `poll` and its kin.
    Poll = "poll",
    /// `waitpid` and its kin.
    WaitPid = "waitpid",
    /// `syscall(SYS_futex)`: a wait.
    FutexWait = "futex",
    /// `syscall(SYS_futex)`: a wake.
    FutexWake = "futex (wake)",
    /// An atomic operation.
    Instruction = "(atomic)",
    /// `fyris_dthreads_atomic_begin`.
    Atomic = "atomic_begin",
    /// `fyris_dthreads_atomic_end`.
    AtomicEnd = "atomic_end",
    /// `flockfile`, and a call of stdio, which locks its stream.
    Stream = "flockfile",
    /// `funlockfile`, and the end of a call of stdio.
    StreamEnd = "funlockfile",
    /// `setenv` and its kin.
    Environment = "setenv",
    /// The end of a call of `setenv` or its kin.
    EnvironmentEnd = "(setenv)",
    /// `atexit` and its kin.
    AtExit = "atexit",
    /// `random`, `rand`, `drand48` and their kin.
    Random = "random",
    /// Back from a system call.
    Back = "(back)",
}
