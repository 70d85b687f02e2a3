//! Mappings that unmap themselves.

use fyris_sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::mem::ManuallyDrop;
use std::os::fd::BorrowedFd;
use std::ptr;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mprotect, munmap};

use crate::error::{Error, Result};
use crate::options::Placement;

/// A shared mapping of a whole file, gone in forked children. Invariant **FORK**: no memory of a segment is ever shared
/// between a process and its fork, which is told so ([`Error::Forked`]).
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
        Mapping { start, len }.settled()
    }

    /// Maps the pages of `file` that a program wants at an address of its choice.
    pub(crate) fn placed(
        file: BorrowedFd<'_>,
        place: &Placement,
        writable: bool,
    ) -> Result<Mapping> {
        let mut prot = ProtFlags::READ;
        prot.set(ProtFlags::WRITE, writable);
        let (len, address) = (place.range.len(), place.address);
        let flags = match place.replace {
            true => MapFlags::FIXED,
            false => MapFlags::FIXED_NOREPLACE,
        };
        let wanted = ptr::without_provenance_mut(address);
        // SAFETY: where nothing is mapped, or by the promise of `Options::replace` nothing that is needed.
        let start = unsafe {
            let offset = place.range.start as u64;
            mmap(wanted, len, prot, MapFlags::SHARED | flags, file, offset)
        };
        let start = match start {
            Ok(start) => start.cast::<u8>(),
            Err(Errno::EXIST) => return Err(Error::AddressInUse(address)),
            Err(error) => return Err(Error::os("mapping a segment at an address")(error)),
        };
        let mapping = Mapping { start, len };
        // A kernel that does not know the flag takes the address for a hint.
        match mapping.start as usize == address {
            true => mapping.settled(),
            false => Err(Error::AddressInUse(address)),
        }
    }

    /// Sets the properties that every mapping here has.
    fn settled(self) -> Result<Mapping> {
        let (start, len) = (self.start, self.len);
        // SAFETY: the mapping just made; a child without it holds no pointers into it that it uses.
        unsafe { madvise(start.cast(), len, Advice::LinuxDontFork) }
            .map_err(Error::os("keeping a segment from forks"))?;
        // Huge pages would make one write dirty 512 pages. A kernel without them has nothing to refuse.
        // SAFETY: advice on the mapping just made, without effect on its content.
        let _ = unsafe { madvise(start.cast(), len, Advice::LinuxNoHugepage) };
        Ok(self)
    }

    /// Returns the address of the first byte, a multiple of the page size.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Maps `len` bytes of `file`, from `from` on, at `offset` of this mapping, to be read only.
    pub(crate) fn show(
        &self,
        offset: usize,
        file: BorrowedFd<'_>,
        from: usize,
        len: usize,
    ) -> Result<()> {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.len));
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: within the mapping, in which no thread writes; no reference into it outlives the call which borrows
        // the segment mutably.
        unsafe {
            let at = self.start.add(offset).cast();
            mmap(at, len, ProtFlags::READ, flags, file, from as u64)
                .map_err(Error::os("mapping pages of a segment"))?;
            // The new piece has no advice of the old one.
            madvise(at, len, Advice::LinuxDontFork)
                .map_err(Error::os("keeping a segment from forks"))
        }
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

    /// Populates the page table for a range, for writing. Where the kernel cannot, each page is a fault as before.
    pub(crate) fn populate(&self, offset: usize, len: usize) {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: advice on a part of this mapping, without effect on its content.
        let _ = unsafe {
            madvise(
                self.start.add(offset).cast(),
                len,
                Advice::LinuxPopulateWrite,
            )
        };
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
            // SAFETY: the mapping of `shared`; no other code unmaps it, and pointers into it are only made by values
            // that own it.
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
    /// Makes a mark for this process.
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

    /// Returns whether this is a child of the process that made the mark.
    #[inline]
    pub(crate) fn forked(&self) -> bool {
        // SAFETY: the mark is here.
        unsafe { self.probe().forked() }
    }

    /// Returns a probe that asks the mark without a reference to it.
    pub(crate) fn probe(&self) -> ForkProbe {
        ForkProbe(self.0)
    }
}

/// The address of a [`ForkMark`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForkProbe(*const u8);

// SAFETY: an address of memory that is only read.
unsafe impl Send for ForkProbe {}
// SAFETY: as above.
unsafe impl Sync for ForkProbe {}

impl ForkProbe {
    /// Returns whether this is a forked child of the process that made the mark.
    ///
    /// # Safety
    ///
    /// The mark is still there.
    #[inline]
    pub(crate) unsafe fn forked(self) -> bool {
        // SAFETY: mapped by `new`, readable in every child. Volatile: a fork changes it unseen.
        unsafe { self.0.read_volatile() == 0 }
    }
}

/// Returns the id of this process, without a system call as a rule: kept in a page that the kernel wipes in children.
pub(crate) fn this_process() -> u32 {
    static PAGE: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());
    // Acquire: pairs with the Release of the exchange below.
    let mut page = PAGE.load(Ordering::Acquire);
    if page.is_null() {
        let Ok(mark) = ForkMark::new() else {
            return std::process::id();
        };
        // It stays as long as the process. No lock here: a fork could leave it held.
        let fresh: *mut AtomicU32 = ManuallyDrop::new(mark).0.cast();
        // Relaxed: published by the Release below. SAFETY: the page just made, wiped in children and otherwise this
        // function's own.
        unsafe { (*fresh).store(0, Ordering::Relaxed) };
        // Release: pairs with the Acquire above: the page is ready. Acquire: pairs with this Release in a thread that
        // was quicker and has made a page as good; ours is then a page too many.
        let set = PAGE.compare_exchange(page, fresh, Ordering::Release, Ordering::Acquire);
        page = set.map_or_else(|other| other, |_| fresh);
    }
    // SAFETY: a page that is never unmapped, accessed as an atomic only.
    let known = unsafe { &*page };
    // Relaxed twice: every thread that finds 0 stores the same number.
    match known.load(Ordering::Relaxed) {
        0 => {
            let id = std::process::id();
            known.store(id, Ordering::Relaxed);
            id
        }
        id => id,
    }
}

impl Drop for ForkMark {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` and owned by this value; children inherited it.
        let _ = unsafe { munmap(self.0.cast(), crate::PAGE) };
    }
}
