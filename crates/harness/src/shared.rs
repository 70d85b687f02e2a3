//! Plain shared memory by name: what two processes have without version control.

use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::BenchError;

/// A mapping that other processes see, zero at first.
pub struct SharedMap {
    start: *mut u8,
    len: usize,
}

// SAFETY: the mapping belongs to the process and not to a thread, so another thread may use and unmap it. Access is by
// `bytes` and `bytes_mut`, whose callers promise that it does not conflict, or by raw pointer.
unsafe impl Send for SharedMap {}

impl SharedMap {
    /// Makes shared memory of `len` bytes under a name that is new.
    ///
    /// # Errors
    ///
    /// [`BenchError::Io`] if there is no memory or the name is taken.
    pub fn make(name: &str, len: usize) -> Result<Self, BenchError> {
        Self::open(name, len, OFlags::CREATE | OFlags::EXCL)
    }

    /// Maps what [`SharedMap::make`] made.
    ///
    /// # Errors
    ///
    /// [`BenchError::Io`] if there is no such name.
    pub fn join(name: &str, len: usize) -> Result<Self, BenchError> {
        Self::open(name, len, OFlags::empty())
    }

    /// Takes the name away; the memory stays until no process maps it.
    ///
    /// # Errors
    ///
    /// [`BenchError::Io`] if there is no such name.
    pub fn unlink(name: &str) -> Result<(), BenchError> {
        Ok(std::fs::remove_file(path(name))?)
    }

    fn open(name: &str, len: usize, how: OFlags) -> Result<Self, BenchError> {
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::open(path(name), how | OFlags::RDWR | OFlags::CLOEXEC, mode)
            .map_err(std::io::Error::from)?;
        rustix::fs::ftruncate(&file, len as u64).map_err(std::io::Error::from)?;
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice, of a file as long as the mapping.
        let start = unsafe { mmap(std::ptr::null_mut(), len, prot, flags, &file, 0) }
            .map_err(std::io::Error::from)?
            .cast();
        Ok(Self { start, len })
    }

    /// Returns the memory's first byte. Page-aligned.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Returns the memory.
    ///
    /// # Safety
    ///
    /// No thread writes to it, in any process, and no other slice of it is written through, as long as this one is
    /// used.
    pub unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: mapped as long as `self` lives; no thread writes, says the caller.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// Returns the memory, to write to.
    ///
    /// # Safety
    ///
    /// No other thread uses it, in any process, as long as this slice is used.
    pub unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: mapped as long as `self` lives; it is the caller's alone, says the caller.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for SharedMap {
    fn drop(&mut self) {
        // SAFETY: mapped by `open` at that place and length, and `self` is the only one to unmap it.
        // A mapping that cannot be undone goes with the process.
        let _ = unsafe { munmap(self.start.cast(), self.len) };
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from("/dev/shm").join(name)
}
