//! The one door to parking: a word on which a thread sleeps until it changes.
//!
//! A [`Word`] is an atomic number with two more operations, those of futex(2): [`Word::wait`] sleeps while the word has
//! a value, and [`Waker::wake`] wakes the thread that sleeps on it. A wake-up may come too early, and the sleeper looks
//! again; it is never lost: the value is compared and the sleep begun as one step.
//!
//! The waker is made from the word before the change that tells the sleeper to go, because the sleeper may go at once
//! and take the word with it. So a [`Waker`] names the word without touching it.
//!
//! | build | how |
//! |---|---|
//! | Linux | `futex(2)` on the word itself. No table of sleeping threads: a child of a fork would inherit it with entries of threads that it does not have |
//! | elsewhere, and under a sanitizer | `parking_lot_core`, with the word's address as the key |
//! | loom, shuttle | a mutex and a condition variable of the model checker |

use std::time::Instant;

#[cfg(all(not(any(loom, shuttle)), any(not(target_os = "linux"), fyris_sanitize)))]
use keyed as scheme;
#[cfg(any(loom, shuttle))]
use modelled as scheme;
#[cfg(all(not(any(loom, shuttle)), target_os = "linux", not(fyris_sanitize)))]
use system as scheme;

pub use scheme::{Waker, Word};

#[cfg(not(any(loom, shuttle)))]
mod plain {
    use crate::atomic::{AtomicU32, Ordering};

    /// A number that one thread may sleep on.
    #[derive(Debug)]
    #[repr(transparent)]
    pub struct Word(pub(super) AtomicU32);

    impl Word {
        /// Makes a word with a value.
        #[inline]
        pub const fn new(value: u32) -> Self {
            Self(AtomicU32::new(value))
        }

        /// Returns the value. Acquire: pairs with the Release in [`Word::swap`].
        #[inline]
        pub fn load(&self) -> u32 {
            self.0.load(Ordering::Acquire)
        }

        /// Puts another value in, and returns the one before. Release: pairs with the Acquire in [`Word::load`].
        #[inline]
        pub fn swap(&self, value: u32) -> u32 {
            self.0.swap(value, Ordering::Release)
        }

        /// Puts `new` in place of `old`, and returns whether `old` was there.
        #[inline]
        pub fn replace(&self, old: u32, new: u32) -> bool {
            // Relaxed, both: what is read because of the new value is read after a `load`.
            (self.0)
                .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        }
    }
}

#[cfg(all(not(any(loom, shuttle)), target_os = "linux", not(fyris_sanitize)))]
mod system {
    use std::ptr;
    use std::time::Instant;

    pub use super::plain::Word;

    /// Names a word on which a thread may sleep.
    #[derive(Clone, Copy, Debug)]
    pub struct Waker(*const u32);

    impl Word {
        /// Sleeps while the word has the value `while_is`, until `deadline` if there is one. May return early.
        pub fn wait(&self, while_is: u32, deadline: Option<Instant>) {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let left = left.map(|left| libc::timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(libc::time_t::MAX),
                tv_nsec: left.subsec_nanos().into(),
            });
            let left = left.as_ref().map_or(ptr::null(), ptr::from_ref);
            let flags = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: the word and the time live while the call lasts. Its errors are reasons to look again.
            unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), flags, while_is, left) };
        }

        /// Returns what wakes the thread that sleeps on the word.
        #[inline]
        pub fn waker(&self) -> Waker {
            Waker(self.0.as_ptr())
        }
    }

    impl Waker {
        /// Wakes the thread that sleeps on the word, if one does. The word may be gone.
        pub fn wake(self) {
            let flags = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: the call looks up the address among those of sleeping threads and does not follow it. Another
            // thread that sleeps there by now wakes up too early, which `Word::wait` allows for.
            unsafe { libc::syscall(libc::SYS_futex, self.0, flags, 1) };
        }
    }
}

#[cfg(all(not(any(loom, shuttle)), any(not(target_os = "linux"), fyris_sanitize)))]
mod keyed {
    use std::time::Instant;

    use parking_lot_core::{DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN};

    pub use super::plain::Word;

    /// Names a word on which a thread may sleep.
    #[derive(Clone, Copy, Debug)]
    pub struct Waker(usize);

    impl Word {
        /// Sleeps while the word has the value `while_is`, until `deadline` if there is one. May return early.
        pub fn wait(&self, while_is: u32, deadline: Option<Instant>) {
            let same = || self.load() == while_is;
            // SAFETY: the closures call nothing of `parking_lot_core`, and do not panic.
            unsafe {
                parking_lot_core::park(
                    self.waker().0,
                    same,
                    || {},
                    |_, _| {},
                    DEFAULT_PARK_TOKEN,
                    deadline,
                )
            };
        }

        /// Returns what wakes the thread that sleeps on the word.
        #[inline]
        pub fn waker(&self) -> Waker {
            Waker(self.0.as_ptr().addr())
        }
    }

    impl Waker {
        /// Wakes the thread that sleeps on the word, if one does. The word may be gone.
        pub fn wake(self) {
            // SAFETY: the key is the address of a word, which only this module uses as one; the closure does nothing.
            unsafe { parking_lot_core::unpark_one(self.0, |_| DEFAULT_UNPARK_TOKEN) };
        }
    }
}

/// The door over the model checker's own blocking. A word is shared with its wakers, since a thread of the checker
/// that is in a call of it holds what it called.
#[cfg(any(loom, shuttle))]
mod modelled {
    use std::sync::Arc;
    use std::time::Instant;

    #[cfg(loom)]
    use loom::sync::{Condvar, Mutex};
    #[cfg(shuttle)]
    use shuttle::sync::{Condvar, Mutex};

    use crate::atomic::{AtomicU32, Ordering};

    #[derive(Debug)]
    struct Shared {
        value: AtomicU32,
        lock: Mutex<()>,
        bell: Condvar,
    }

    /// A number that one thread may sleep on.
    #[derive(Debug)]
    pub struct Word(Arc<Shared>);

    /// Names a word on which a thread may sleep.
    #[derive(Clone, Debug)]
    pub struct Waker(Arc<Shared>);

    impl Word {
        /// Makes a word with a value.
        pub fn new(value: u32) -> Self {
            Self(Arc::new(Shared {
                value: AtomicU32::new(value),
                lock: Mutex::new(()),
                bell: Condvar::new(),
            }))
        }

        /// Returns the value. Acquire: pairs with the Release in [`Word::swap`].
        pub fn load(&self) -> u32 {
            self.0.value.load(Ordering::Acquire)
        }

        /// Puts another value in, and returns the one before. Release: pairs with the Acquire in [`Word::load`].
        pub fn swap(&self, value: u32) -> u32 {
            // The word may be gone when the value is seen: this call keeps its own share.
            let shared = Arc::clone(&self.0);
            shared.value.swap(value, Ordering::Release)
        }

        /// Puts `new` in place of `old`, and returns whether `old` was there.
        pub fn replace(&self, old: u32, new: u32) -> bool {
            // Relaxed, both: as in the ordinary build.
            (self.0.value)
                .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        }

        /// Sleeps while the word has the value `while_is`. A model has no time: with a deadline it returns at once, as
        /// if that had passed.
        pub fn wait(&self, while_is: u32, deadline: Option<Instant>) {
            let held = self.0.lock.lock().expect("no model panics under it");
            if deadline.is_none() && self.load() == while_is {
                drop(self.0.bell.wait(held).expect("no model panics under it"));
            }
        }

        /// Returns what wakes the thread that sleeps on the word.
        pub fn waker(&self) -> Waker {
            Waker(Arc::clone(&self.0))
        }
    }

    impl Waker {
        /// Wakes the thread that sleeps on the word, if one does.
        pub fn wake(self) {
            let _held = self.0.lock.lock().expect("no model panics under it");
            self.0.bell.notify_one();
        }
    }
}

/// Returns whether the deadline has passed. In a model any deadline has.
pub(crate) fn has_passed(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|at| cfg!(any(loom, shuttle)) || Instant::now() >= at)
}
