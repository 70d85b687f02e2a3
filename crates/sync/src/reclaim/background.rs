//! A thread that frees what nobody should wait for, and gives the memory of a program that rests back to the machine.
//!
//! To free ten million objects takes seconds, and the thread that happens to do it may be one that must not be held up,
//! such as a scheduler of the Erlang machine. And mimalloc gives freed memory back after a second, but looks whether
//! that is over when a thread needs fresh memory: a program that empties a table and then rests would keep all of it.
//!
//! The thread starts with the first job, or when 4 MiB have been freed. 0.3 s later it flushes all bags and gives back
//! the memory that is free by then. It ends when less than that was freed since: a program at rest has no such thread.

use std::mem::take;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::gate;
use crate::lock::SpinLock;

/// Freed bytes for which memory is given back.
const MUCH: usize = 4 << 20;

/// The time between two collections. Memory that is given back and then used again costs a page fault for each page:
/// what is used again within this time costs nothing.
const PAUSE: Duration = Duration::from_millis(300);

/// Bytes freed since the last collection, approximately.
static FREED: AtomicUsize = AtomicUsize::new(0);

type Job = Box<dyn FnOnce() + Send>;

struct Background {
    jobs: Vec<Job>,
    /// There is a thread that will look at `jobs` again, or one is being started.
    works: bool,
    /// That thread, once it runs.
    thread: Option<Thread>,
}

static STATE: SpinLock<Background> = SpinLock::new(Background {
    jobs: Vec::new(),
    works: false,
    thread: None,
});

/// Runs a job in the background soon, or on this thread where the system refuses another one.
pub(super) fn later(job: Job) {
    start(Some(job));
}

/// Counts bytes as freed, approximately.
pub(super) fn freed(bytes: usize) {
    // Relaxed: a count, which orders nothing.
    let before = FREED.fetch_add(bytes, Ordering::Relaxed);
    if before.saturating_add(bytes) >= MUCH {
        start(None);
    }
}

fn start(job: Option<Job>) {
    let awake = STATE.with(|state| {
        let is_job = job.is_some();
        state.jobs.extend(job);
        let works = std::mem::replace(&mut state.works, true);
        // Only a job cannot wait for the next collection.
        works.then(|| state.thread.clone().filter(|_| is_job))
    });
    match awake {
        Some(thread) => thread.iter().for_each(Thread::unpark),
        None => make_thread(),
    }
}

#[cold]
fn make_thread() {
    let thread = thread::Builder::new().name("fyris-memory".to_owned());
    if thread.spawn(work).is_err() {
        let jobs = STATE.with(|state| {
            state.works = false;
            take(&mut state.jobs)
        });
        jobs.into_iter().for_each(|job| job());
    }
}

fn work() {
    block_signals();
    STATE.with(|state| state.thread = Some(thread::current()));
    loop {
        run_jobs_for(PAUSE);
        // Relaxed: as in `freed`.
        let freed = FREED.swap(0, Ordering::Relaxed);
        if !cfg!(fyris_mutant = "sync_keeps_memory") {
            super::scheme::flush();
            give_back();
        }
        if freed < MUCH && ends() {
            return;
        }
    }
}

/// Gives back what the allocator keeps, at no moment of which the process may be forked.
pub(super) fn give_back() {
    gate::inside(crate::alloc::give_back);
}

/// Returns whether there is nothing left to do: then the next job, or the next 4 MiB, start another thread.
fn ends() -> bool {
    STATE.with(|state| {
        // Relaxed: what was counted before `start` took the lock is seen under it.
        state.works = !state.jobs.is_empty() || FREED.load(Ordering::Relaxed) >= MUCH;
        if !state.works {
            state.thread = None;
        }
        !state.works
    })
}

/// Runs the jobs that are there or come within a time, and waits until it is over.
fn run_jobs_for(time: Duration) {
    let end = Instant::now() + time;
    loop {
        while let Some(job) = STATE.with(|state| state.jobs.pop()) {
            // The panic hook has told of a panic of a value's drop; the other jobs are done all the same.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

/// Leaves the signals of the process to the threads of the program.
fn block_signals() {
    #[cfg(unix)]
    // SAFETY: the set is filled before it is read.
    unsafe {
        let mut all = std::mem::MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// Takes the lock, before a fork.
#[cfg(unix)]
pub(super) fn lock() {
    STATE.acquire();
}

/// Gives it up, in both processes.
#[cfg(unix)]
pub(super) fn unlock() {
    STATE.release();
}

/// Forgets the thread and its work, which the child of a fork does not have: what it would free is never freed there.
///
/// # Safety
///
/// [`lock`] was called, and there is no other thread.
#[cfg(unix)]
pub(super) unsafe fn forget() {
    // SAFETY: the caller holds the lock.
    unsafe {
        STATE.with_acquired(|state| {
            std::mem::forget(take(&mut state.jobs));
            std::mem::forget(state.thread.take());
            state.works = false;
        });
    }
}
