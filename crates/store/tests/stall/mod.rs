//! Stalls: threads that stop at any instruction.
//!
//! A helper thread signals one of the threads that take part, at random, every 20 to 80 microseconds, and the handler
//! sleeps 100. So every thread stops at every instruction some day, and what others do meanwhile is what a scheduler
//! would let them do on a busy machine, only much more often.
//!
//! A thread is not signalled while it is stopped: between two handlers it would not execute an instruction, and the
//! last thread of a test would never end.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once};
use std::thread;
use std::time::Duration;

use rand::{Rng, SeedableRng};

thread_local! {
    /// Set when the thread is signalled, until its handler ends.
    static STOPPED: AtomicBool = const { AtomicBool::new(false) };
}

/// A thread that takes part, and its `STOPPED`.
#[derive(Clone, Copy)]
struct Thread(libc::pthread_t, *const AtomicBool);

// SAFETY: the pointer is followed under the lock of `THREADS`, in which the thread is only while it lives.
unsafe impl Send for Thread {}

static THREADS: Mutex<Vec<Thread>> = Mutex::new(Vec::new());

fn threads() -> MutexGuard<'static, Vec<Thread>> {
    THREADS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The thread is stalled now and then while this lives.
pub(crate) struct Stalled(libc::pthread_t);

/// Takes part with the current thread.
pub(crate) fn join() -> Stalled {
    // SAFETY: always allowed.
    let me = unsafe { libc::pthread_self() };
    threads().push(Thread(me, STOPPED.with(std::ptr::from_ref)));
    Stalled(me)
}

impl Drop for Stalled {
    fn drop(&mut self) {
        // A signal is sent under the lock, so none is on its way to a thread that has ended.
        let mut threads = threads();
        if let Some(at) = threads.iter().position(|t| t.0 == self.0) {
            threads.swap_remove(at);
        }
    }
}

extern "C" fn sleep(_: libc::c_int) {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 100_000,
    };
    // SAFETY: async-signal-safe; `errno` is put back, since the code that was stopped may be about to read it.
    unsafe {
        let errno = *libc::__errno_location();
        libc::nanosleep(&raw const time, std::ptr::null_mut());
        *libc::__errno_location() = errno;
    }
    // Relaxed: the flag orders nothing. It has no destructor, so it may be read in a handler.
    STOPPED.with(|stopped| stopped.store(false, Ordering::Relaxed));
}

/// The number of threads from which on each signal meets one. If every one did, the last thread of a test could sleep
/// for ever: a sleep that is interrupted begins again, and Linux adds to what is left of it the slack of its timer, 50
/// microseconds, each time.
const FEW: usize = 4;

/// Stops one of the threads that take part, unless it is stopped already.
fn stop_one(random: &mut impl Rng) {
    let threads = threads();
    let Some(&Thread(thread, stopped)) =
        threads.get(random.random_range(0..threads.len().max(FEW)))
    else {
        return;
    };
    // SAFETY: the thread lives: it leaves the list, under its lock, before it ends. Relaxed: as in the handler.
    unsafe {
        if !(*stopped).swap(true, Ordering::Relaxed) {
            libc::pthread_kill(thread, libc::SIGUSR1);
        }
    }
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let handler: extern "C" fn(libc::c_int) = sleep;
        // SAFETY: the handler makes only calls that are allowed in one.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            assert_eq!(
                libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()),
                0
            );
        }
    });
}

/// Runs `f` while the threads that take part are stalled.
pub(crate) fn with_stalls<R>(f: impl FnOnce() -> R) -> R {
    struct Halt<'a>(&'a AtomicBool);
    impl Drop for Halt<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    install();
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            let mut random = rand::rngs::SmallRng::seed_from_u64(1);
            while !stop.load(Ordering::Relaxed) {
                stop_one(&mut random);
                thread::sleep(Duration::from_micros(random.random_range(20..80)));
            }
        });
        let _halt = Halt(&stop);
        f()
    })
}
