//! The reader-writer locks of POSIX threads in glibc, with either preference.

use std::cell::UnsafeCell;

use crate::rwlock::contender::{Lock, LockContender};
use crate::rwlock::drive::Data;

/// Returns a lock of each preference.
pub(super) fn all() -> [LockContender; 2] {
    [
        LockContender::new::<Pthread<{ READERS_FIRST }>>("pthread readers first"),
        LockContender::new::<Pthread<{ WRITERS_FIRST }>>("pthread writers first"),
    ]
}

/// glibc's `PTHREAD_RWLOCK_PREFER_READER_NP`, its default.
const READERS_FIRST: libc::c_int = 0;
/// glibc's `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`; the one without `NONRECURSIVE` prefers readers all the same.
const WRITERS_FIRST: libc::c_int = 2;

unsafe extern "C" {
    fn pthread_rwlockattr_setkind_np(
        attributes: *mut libc::pthread_rwlockattr_t,
        preference: libc::c_int,
    ) -> libc::c_int;
}

/// The lock of POSIX threads with a preference. In a box: it must not move.
struct Pthread<const PREFERENCE: libc::c_int> {
    lock: Box<UnsafeCell<libc::pthread_rwlock_t>>,
    data: UnsafeCell<Data>,
}

// SAFETY: the lock may be used by several threads, and the data is looked at under it.
unsafe impl<const PREFERENCE: libc::c_int> Sync for Pthread<PREFERENCE> {}

/// Panics if a function of POSIX threads has failed.
#[inline]
fn done(status: libc::c_int) {
    assert_eq!(status, 0, "a call of POSIX threads failed");
}

impl<const PREFERENCE: libc::c_int> Lock for Pthread<PREFERENCE> {
    fn make() -> Self {
        let lock = Box::new(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER));
        // SAFETY: the attributes are initialised before they are used and destroyed after it; no thread has the lock.
        unsafe {
            let mut attributes = std::mem::MaybeUninit::uninit();
            done(libc::pthread_rwlockattr_init(attributes.as_mut_ptr()));
            done(pthread_rwlockattr_setkind_np(
                attributes.as_mut_ptr(),
                PREFERENCE,
            ));
            done(libc::pthread_rwlock_init(lock.get(), attributes.as_ptr()));
            done(libc::pthread_rwlockattr_destroy(attributes.as_mut_ptr()));
        }
        Self {
            lock,
            data: UnsafeCell::default(),
        }
    }

    #[inline]
    fn read<R>(&self, f: impl FnOnce(&Data) -> R) -> R {
        // SAFETY: initialised, not moved, unlocked by the thread that has locked it; readers only read.
        unsafe {
            done(libc::pthread_rwlock_rdlock(self.lock.get()));
            let out = f(&*self.data.get());
            done(libc::pthread_rwlock_unlock(self.lock.get()));
            out
        }
    }

    #[inline]
    fn write<R>(&self, f: impl FnOnce(&mut Data) -> R) -> R {
        // SAFETY: as above; a writer has the data alone.
        unsafe {
            done(libc::pthread_rwlock_wrlock(self.lock.get()));
            let out = f(&mut *self.data.get());
            done(libc::pthread_rwlock_unlock(self.lock.get()));
            out
        }
    }
}

impl<const PREFERENCE: libc::c_int> Drop for Pthread<PREFERENCE> {
    fn drop(&mut self) {
        // SAFETY: initialised by `make`; no thread has it.
        unsafe { done(libc::pthread_rwlock_destroy(self.lock.get())) };
    }
}
