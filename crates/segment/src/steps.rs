//! Dying on purpose, for the tests: a point at each step of each shared protocol.
//!
//! `step!("name")` marks a point between two instructions where a process may be killed. In builds
//! with debug assertions a test child can ask to die there; in others the mark is nothing.

/// See the module.
macro_rules! step {
    ($name:literal) => {
        #[cfg(debug_assertions)]
        $crate::steps::pass($name);
    };
}
pub(crate) use step;

#[cfg(debug_assertions)]
pub use armed::{arm, passed};

#[cfg(debug_assertions)]
pub(crate) use armed::pass;

#[cfg(debug_assertions)]
mod armed {
    use std::sync::atomic::{AtomicU64, Ordering};

    // Relaxed everywhere: a count of one thread's own steps.
    static PASSED: AtomicU64 = AtomicU64::new(0);
    static DEADLY: AtomicU64 = AtomicU64::new(u64::MAX);

    /// Kills this process (SIGKILL) at its `n`-th step from now on, counting from 1.
    pub fn arm(n: u64) {
        let at = PASSED.load(Ordering::Relaxed).saturating_add(n);
        DEADLY.store(at, Ordering::Relaxed);
    }

    /// Steps that this process has passed.
    pub fn passed() -> u64 {
        PASSED.load(Ordering::Relaxed)
    }

    /// One step.
    pub(crate) fn pass(_name: &str) {
        let passed = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
        if passed == DEADLY.load(Ordering::Relaxed) {
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
        }
    }
}
