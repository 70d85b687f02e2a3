//! Failpoints: dying and stopping on purpose, for the tests, at each step of each shared protocol.
//!
//! `failpoint!("name")` marks a point between two instructions where a process may be killed. In builds
//! with debug assertions a test child can ask to die or to be stopped there, and to lose patience sooner; in others
//! the mark is nothing.

use std::time::Duration;

#[cfg(not(debug_assertions))]
use crate::Tracking;

/// The longest wait for a living holder of the commit lock, or for a process that opens the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// See the module.
macro_rules! failpoint {
    ($name:literal) => {
        #[cfg(debug_assertions)]
        $crate::failpoints::pass($name);
    };
}
pub(crate) use failpoint;

#[cfg(debug_assertions)]
pub use armed::{arm, arm_stop_at, at_each, hurry, passed};

#[cfg(debug_assertions)]
pub(crate) use armed::{pass, patience, tracking};

/// Returns the longest wait for a living process that keeps something locked.
#[cfg(not(debug_assertions))]
pub(crate) fn patience() -> Duration {
    PATIENCE
}

/// Returns the way in which writes are noticed where a program leaves the choice open.
#[cfg(not(debug_assertions))]
pub(crate) fn tracking() -> Tracking {
    Tracking::Auto
}

#[cfg(debug_assertions)]
mod armed {
    use fyris_sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Mutex, OnceLock};
    use std::time::Duration;

    use crate::Tracking;

    use rustix::process::{Signal, getpid, kill_process};

    // Relaxed, every access in this module: a count of the failpoints that one thread passed, and flags that a test
    // sets before it goes on; nothing is read because of them but NAME, which its lock orders.
    static PASSED: AtomicU64 = AtomicU64::new(0);
    static ARMED: AtomicU64 = AtomicU64::new(u64::MAX);
    static HURRY: AtomicU64 = AtomicU64::new(0);
    static NAMED: AtomicBool = AtomicBool::new(false);
    static NAME: Mutex<&str> = Mutex::new("");
    static HOOK: Mutex<Option<Hook>> = Mutex::new(None);

    /// A failpoint's name, and what is done there.
    type Hook = (&'static str, Box<dyn FnMut() + Send>);

    /// Kills this process (`SIGKILL`) at the `n`-th failpoint from now on, counting from 1.
    pub fn arm(n: u64) {
        let at = PASSED.load(Ordering::Relaxed).saturating_add(n);
        ARMED.store(at, Ordering::Relaxed);
    }

    /// Stops this process (`SIGSTOP`) at the next failpoint of this name, once.
    pub fn arm_stop_at(name: &'static str) {
        if let Ok(mut armed) = NAME.lock() {
            *armed = name;
        }
        NAMED.store(true, Ordering::Relaxed);
    }

    /// Returns the number of failpoints that this process has passed.
    pub fn passed() -> u64 {
        PASSED.load(Ordering::Relaxed)
    }

    /// Does something at each failpoint of this name from now on, but not within itself.
    pub fn at_each(name: &'static str, act: impl FnMut() + Send + 'static) {
        if let Ok(mut hook) = HOOK.lock() {
            *hook = Some((name, Box::new(act)));
        }
        NAMED.store(true, Ordering::Relaxed);
    }

    /// Makes this process wait this many milliseconds at most for locks.
    pub fn hurry(millis: u64) {
        HURRY.store(millis, Ordering::Relaxed);
    }

    pub(crate) fn patience() -> Duration {
        match HURRY.load(Ordering::Relaxed) {
            0 => super::PATIENCE,
            millis => Duration::from_millis(millis),
        }
    }

    /// Returns the way in which writes are noticed where a program leaves the choice open: `FYRIS_TRACKING`, so that
    /// the whole test suite can run with each.
    pub(crate) fn tracking() -> Tracking {
        static CHOICE: OnceLock<Tracking> = OnceLock::new();
        *CHOICE.get_or_init(|| match std::env::var("FYRIS_TRACKING").as_deref() {
            Ok("userfault") => Tracking::Userfault,
            Ok("signal") => Tracking::Signal,
            _ => Tracking::Auto,
        })
    }

    /// Passes one failpoint.
    pub(crate) fn pass(name: &str) {
        let passed = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
        if NAMED.load(Ordering::Relaxed) {
            pass_named(name);
        }
        if passed == ARMED.load(Ordering::Relaxed) {
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }

    fn pass_named(name: &str) {
        if NAME.lock().is_ok_and(|armed| *armed == name) {
            NAMED.store(false, Ordering::Relaxed);
            stop();
        }
        if let Ok(mut hook) = HOOK.try_lock()
            && let Some((at, act)) = &mut *hook
            && *at == name
        {
            act();
        }
    }

    /// Stops this thread here. A signal to the process would let the thread run a few instructions more.
    fn stop() {
        // SAFETY: this thread is there.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGSTOP) };
    }
}
