//! Mappings that unmap themselves.

use std::os::fd::BorrowedFd;
use std::ptr;

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mprotect, munmap};

use crate::error::{Error, Result};

/// A shared mapping of a whole file, gone in forked children (invariant **F**: no memory of a
/// segment is ever shared between a process and its fork).
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut u8,
    len: usize,
}

// SAFETY: a mapping belongs to the process, and the value that owns it may go to any thread of it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `len` bytes of `file`.
    pub(crate) fn shared(file: BorrowedFd<'_>, len: usize, writable: bool) -> Result<Mapping> {
        let mut prot = ProtFlags::READ;
        prot.set(ProtFlags::WRITE, writable);
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { mmap(ptr::null_mut(), len, prot, MapFlags::SHARED, file, 0) };
        let start = start.map_err(Error::os("mapping a segment"))?.cast::<u8>();
        let mapping = Mapping { start, len };
        // SAFETY: the mapping just made; a child without it holds no pointers into it that it uses.
        unsafe { madvise(start.cast(), len, Advice::LinuxDontFork) }
            .map_err(Error::os("keeping a segment from forks"))?;
        // Huge pages would make one write dirty 512 pages. A kernel without them has nothing to refuse.
        // SAFETY: advice on the mapping just made, without effect on its content.
        let _ = unsafe { madvise(start.cast(), len, Advice::LinuxNoHugepage) };
        Ok(mapping)
    }

    /// The first byte, at a multiple of the page size.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Lets `len` bytes from `offset` be read, and written if `writable`.
    pub(crate) fn protect(&self, offset: usize, len: usize, writable: bool) -> Result<()> {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.len));
        let mut flags = MprotectFlags::READ;
        flags.set(MprotectFlags::WRITE, writable);
        // SAFETY: within the mapping; no reference to it is alive in this crate.
        unsafe { mprotect(self.start.add(offset).cast(), len, flags) }
            .map_err(Error::os("protecting pages"))
    }

    /// Forgets the mapping without unmapping: in a forked child it is not there, and something else
    /// may be at its place.
    pub(crate) fn forget(&mut self) {
        self.len = 0;
    }
}

// SAFETY: a shared reference gives the address only, and mprotect, which any thread may call.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: the mapping of `shared`; nobody else unmaps it, and pointers into it are only
            // made by values that own it.
            let _ = unsafe { munmap(self.start.cast(), self.len) };
        }
    }
}

/// Knows whether the process has forked since it was made, without a system call: a page that the
/// kernel wipes in children.
#[derive(Debug)]
pub(crate) struct ForkMark(*mut u8);

// SAFETY: the page is owned by the mark, and only read once it is made; nothing about it depends on the thread.
unsafe impl Send for ForkMark {}
// SAFETY: as above.
unsafe impl Sync for ForkMark {}

impl ForkMark {
    /// A mark for this process.
    pub(crate) fn new() -> Result<ForkMark> {
        // SAFETY: a new anonymous mapping touches no memory of ours.
        let page = unsafe {
            rustix::mm::mmap_anonymous(
                ptr::null_mut(),
                crate::PAGE,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let mark = ForkMark(page.map_err(Error::os("mapping a mark"))?.cast());
        // SAFETY: the page just mapped.
        unsafe { madvise(mark.0.cast(), crate::PAGE, Advice::LinuxWipeOnFork) }
            .map_err(Error::os("marking a page for forks"))?;
        // SAFETY: as above.
        unsafe { mark.0.write_volatile(1) };
        Ok(mark)
    }

    /// Whether this is a child of the process that made the mark.
    #[inline]
    pub(crate) fn forked(&self) -> bool {
        // SAFETY: mapped by `new`, readable in every child. Volatile: a fork changes it unseen.
        unsafe { self.0.read_volatile() == 0 }
    }
}

impl Drop for ForkMark {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` and owned by this value; children inherited it.
        let _ = unsafe { munmap(self.0.cast(), crate::PAGE) };
    }
}
