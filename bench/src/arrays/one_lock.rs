//! One lock for the whole array, in plain shared memory: what most programs do, and the paper's CGL.
//!
//! The lock is a POSIX mutex, shared between processes and robust: a process that dies inside it stops no other, which
//! is what Fyris promises of a segment, so it is asked of the lock as well.
//!
//! | offset | what |
//! |---|---|
//! | 0 | the mutex |
//! | 4096 | the elements |

use std::io;

use fyris_harness::BenchError;
use fyris_harness::array_mix::{Array, SharedArray, greatest, sum};
use fyris_harness::shared::SharedMap;

/// The offset of the elements.
const ELEMENTS: usize = 4096;

/// Bytes of an element.
const WIDTH: usize = 8;

/// The array under its lock.
pub struct OneLock(SharedMap);

impl OneLock {
    fn mutex(&self) -> *mut libc::pthread_mutex_t {
        self.0.start().cast()
    }

    /// Returns the result of `then`, which has the elements to itself.
    #[inline]
    fn locked<T>(&mut self, then: impl FnOnce(&mut [u8]) -> T) -> Result<T, BenchError> {
        // SAFETY: `make` has initialised the mutex before it told the name to any process.
        result(match unsafe { libc::pthread_mutex_lock(self.mutex()) } {
            // A process died inside. A single word is written in one go, so there is nothing to mend.
            // SAFETY: the mutex is locked by this thread, whose predecessor has died.
            libc::EOWNERDEAD => unsafe { libc::pthread_mutex_consistent(self.mutex()) },
            code => code,
        })?;
        // SAFETY: the lock is held: no other process uses the elements; and the mutex is not among them.
        let out = then(&mut unsafe { self.0.bytes_mut() }[ELEMENTS..]);
        // SAFETY: locked above, by this thread.
        result(unsafe { libc::pthread_mutex_unlock(self.mutex()) })?;
        Ok(out)
    }
}

impl Array for OneLock {
    #[inline]
    fn lookup(&mut self, at: usize) -> Result<u64, BenchError> {
        self.locked(|bytes| u64::from_ne_bytes(bytes.as_chunks().0[at]))
    }

    #[inline]
    fn write(&mut self, at: usize) -> Result<(), BenchError> {
        self.locked(|bytes| {
            let word = &mut bytes.as_chunks_mut().0[at];
            *word = (u64::from_ne_bytes(*word) + 1).to_ne_bytes();
        })
    }

    fn query(&mut self) -> Result<Option<u64>, BenchError> {
        self.locked(|bytes| Some(greatest(bytes)))
    }

    fn total(&mut self) -> Result<u64, BenchError> {
        self.locked(|bytes| sum(bytes))
    }
}

impl SharedArray for OneLock {
    fn make(name: &str, elements: usize) -> Result<Self, BenchError> {
        let map = SharedMap::make(name, bytes(elements))?;
        let mut attributes = std::mem::MaybeUninit::uninit();
        let attributes = attributes.as_mut_ptr();
        // SAFETY: the attributes are initialised by the first call and destroyed by the last; the memory of the mutex
        // is mapped, large enough, page-aligned, and no other process knows of it yet.
        unsafe {
            result(libc::pthread_mutexattr_init(attributes))?;
            let shared = libc::PTHREAD_PROCESS_SHARED;
            result(libc::pthread_mutexattr_setpshared(attributes, shared))?;
            let robust = libc::PTHREAD_MUTEX_ROBUST;
            result(libc::pthread_mutexattr_setrobust(attributes, robust))?;
            result(libc::pthread_mutex_init(map.start().cast(), attributes))?;
            result(libc::pthread_mutexattr_destroy(attributes))?;
        }
        Ok(Self(map))
    }

    fn join(name: &str, elements: usize) -> Result<Self, BenchError> {
        SharedMap::join(name, bytes(elements)).map(Self)
    }

    fn unlink(name: &str) -> Result<(), BenchError> {
        SharedMap::unlink(name)
    }
}

/// Returns the number of bytes of the mapping.
fn bytes(elements: usize) -> usize {
    ELEMENTS + elements * WIDTH
}

/// Returns the answer of a function of pthreads as a result.
fn result(code: libc::c_int) -> Result<(), BenchError> {
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code).into()),
    }
}
