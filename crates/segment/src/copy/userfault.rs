//! Tracking by userfaultfd: the kernel notes first writes itself, no handler runs.
//!
//! WP_ASYNC resolves a write fault by clearing the page's protection bit; PAGEMAP_SCAN finds the pages
//! without the bit, and sets it again in the same call. A write is therefore seen by the scan that
//! protects its page, or by a later one; none is lost.
//!
//! Hot pages must stay unprotected, but the scan protects all it finds. So with hot pages about, a
//! scan that only looks comes first. Most often it finds nothing else, and that is all. A few others
//! are protected by one call for each run; if that would cost more than the faults of the hot pages
//! taken anew, everything is protected.
//!
//! The first write to a protected page is a page fault of the process that writes. So a process that counts its faults
//! ([`Faults`]) need not scan again what it has scanned since the last one: what was written there was known then. A
//! write of another process is a fault of that one, and is seen by the next scan.
//!
//! After a fault all of the segment is scanned, at some 2 ns a page: the kernel counts faults, but does not say where
//! they were. To end a scan when as many pages are found as there were faults would at best halve it where any page may
//! be the next one. And it would be wrong where one fault makes several pages writable, as those of huge pages do, or
//! where pages that an earlier look has found are still unprotected: their writes take no fault.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

use linux_raw_sys::general::{
    PAGE_IS_WRITTEN, PM_SCAN_CHECK_WPASYNC, PM_SCAN_WP_MATCHING, UFFD_FEATURE_WP_ASYNC,
    UFFD_FEATURE_WP_HUGETLBFS_SHMEM, UFFDIO_REGISTER_MODE_WP, page_region, pm_scan_arg, uffdio_api,
    uffdio_range, uffdio_register, uffdio_writeprotect,
};
use linux_raw_sys::ioctl::{UFFDIO_API, UFFDIO_REGISTER, UFFDIO_WRITEPROTECT};
use rustix::io::Errno;
use rustix::mm::UserfaultfdFlags;

use super::span::spans_of;
use super::{PageSet, Span};
use crate::descriptors::aside;
use crate::error::{Error, Result};
use crate::map::{ForkMark, Mapping};

/// `_IOWR('f', 16, struct pm_scan_arg)`; linux-raw-sys has the types but not the number.
const PAGEMAP_SCAN: u32 =
    3 << 30 | (size_of::<pm_scan_arg>() as u32) << 16 | (b'f' as u32) << 8 | 16;
/// `UFFD_API`, the version of the interface.
const API: u64 = 0xaa;
/// `UFFDIO_WRITEPROTECT_MODE_WP`.
const MODE_WP: u64 = 1;
/// Regions that one scan call returns. The kernel makes room for as many in each call: beyond 8 KiB from its page
/// allocator, which takes a fifth of a small scan's time.
const REGIONS: usize = 256;
/// The cost of a fault, and of a call that protects one run, in the same unit (a scanned page is 1).
const FAULT: usize = 16;
const CALL: usize = 7;

/// A tracked view.
#[derive(Debug)]
pub(super) struct Userfault {
    uffd: OwnedFd,
    pagemap: File,
    regions: Vec<page_region>,
    written: Vec<u32>,
    faults: Option<Faults>,
}

/// The last scan that found out what was written, for a process that counts its faults.
#[derive(Debug, Default)]
struct Faults {
    /// The faults that were taken when the scan began: by the process, or by the one thread that writes.
    count: u64,
    one_writer: bool,
    spans: Vec<Span>,
}

impl Faults {
    /// Returns the page faults so far.
    fn now(&self) -> u64 {
        let whose = match self.one_writer {
            true => libc::RUSAGE_THREAD,
            false => libc::RUSAGE_SELF,
        };
        // SAFETY: zeros are valid, and the call fills them.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(whose, &mut usage);
            (usage.ru_minflt + usage.ru_majflt) as u64
        }
    }

    /// Returns whether the kernel tells how many there are: a sandbox may not let it.
    fn are_told(&self) -> bool {
        let before = self.now();
        // The first write to a page of its own is one.
        ForkMark::new().is_ok() && self.now() != before
    }

    /// Returns whether nothing can have been written in `spans` that the last scan has not seen. If it can, this is the
    /// scan that sees it.
    fn none_since(&mut self, spans: &[Span]) -> bool {
        let now = self.now();
        let within = |span: &Span| {
            let mut seen = self.spans.iter();
            cfg!(fyris_mutant = "segment_ranges_unseen") || seen.any(|seen| seen.holds(span))
        };
        if now == self.count && spans.iter().all(within) {
            return true;
        }
        // The count of before the scan: a fault meanwhile makes the next one scan again.
        self.count = now;
        self.spans.clear();
        self.spans.extend_from_slice(spans);
        false
    }
}

impl Userfault {
    /// Registers `views`. Fails where the kernel cannot do it.
    pub(super) fn new(views: &[&Mapping]) -> Result<Userfault> {
        let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
        // SAFETY: only reports faults of memory registered below.
        let uffd =
            unsafe { rustix::mm::userfaultfd(flags | UserfaultfdFlags::from_bits_retain(1)) }
                .map(aside)
                .map_err(Error::os("userfaultfd"))?;
        let pagemap = File::open("/proc/self/pagemap")
            .map(aside)
            .map_err(|source| Error::Os {
                what: "opening",
                path: Some("/proc/self/pagemap".into()),
                source,
            })?;
        let mut api = uffdio_api {
            api: API,
            features: u64::from(UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_HUGETLBFS_SHMEM),
            ioctls: 0,
        };
        ioctl(&uffd, UFFDIO_API, &mut api).map_err(Error::os("userfaultfd's WP_ASYNC"))?;
        let mut tracker = Userfault {
            uffd,
            pagemap,
            regions: Vec::with_capacity(REGIONS),
            written: Vec::new(),
            faults: None,
        };
        views.iter().try_for_each(|view| tracker.register(view))?;
        // Is PAGEMAP_SCAN there? Looking at one page tells.
        if let Some(view) = views.first() {
            let at = view.start() as usize;
            tracker.scan(&[Span { pages: 0..1, at }], false)?;
        }
        Ok(tracker)
    }

    /// Tracks another view.
    pub(super) fn register(&self, view: &Mapping) -> Result<()> {
        let mut register = uffdio_register {
            range: uffdio_range {
                start: view.start() as u64,
                len: view.len() as u64,
            },
            mode: u64::from(UFFDIO_REGISTER_MODE_WP),
            ioctls: 0,
        };
        ioctl(&self.uffd, UFFDIO_REGISTER, &mut register).map_err(Error::os("userfaultfd register"))
    }

    /// Protects pages, or lets them be written unseen.
    pub(super) fn protect(&mut self, span: &Span, on: bool) -> Result<()> {
        let mut arg = uffdio_writeprotect {
            range: uffdio_range {
                start: span.at as u64,
                len: (span.end() - span.at) as u64,
            },
            mode: if on { MODE_WP } else { 0 },
        };
        loop {
            match ioctl(&self.uffd, UFFDIO_WRITEPROTECT, &mut arg) {
                Ok(()) => return Ok(()),
                // The address space is being changed by another thread: again.
                Err(Errno::AGAIN | Errno::INTR) => (),
                Err(error) => return Err(Error::os("userfaultfd protect")(error)),
            }
        }
    }

    /// Adds the written pages of `tracked` to `dirty`.
    pub(super) fn look(&mut self, tracked: &[Span], dirty: &mut PageSet) -> Result<()> {
        self.scan(tracked, false)?;
        self.written
            .drain(..)
            .for_each(|page| dirty.insert(page as usize));
        Ok(())
    }

    /// Makes scans wait for a fault, if faults can be counted.
    pub(super) fn count_faults(&mut self, one_writer: bool) {
        let faults = Faults {
            one_writer,
            ..Faults::default()
        };
        let told = faults.are_told() || cfg!(fyris_mutant = "segment_faults_untold");
        self.faults = told.then_some(faults);
    }

    pub(super) fn counts_faults(&self) -> bool {
        self.faults.is_some()
    }

    /// Adds the written pages of `tracked` to `dirty` and protects all but the hot ones.
    pub(super) fn collect(
        &mut self,
        tracked: &[Span],
        hot: &PageSet,
        dirty: &mut PageSet,
    ) -> Result<()> {
        if let Some(faults) = &mut self.faults
            && faults.none_since(tracked)
        {
            return Ok(());
        }
        let collected = self.collect_all(tracked, hot, dirty);
        let again = !cfg!(fyris_mutant = "segment_failed_scan_counts");
        if let (Err(_), Some(faults), true) = (&collected, &mut self.faults, again) {
            // Not all was seen, or not all is protected again: the next call scans.
            faults.spans.clear();
        }
        collected
    }

    fn collect_all(&mut self, tracked: &[Span], hot: &PageSet, dirty: &mut PageSet) -> Result<()> {
        let protect = hot.len() == 0;
        let scanned = self.scan(tracked, protect);
        let mut fresh = std::mem::take(&mut self.written);
        let all = fresh.len();
        fresh.retain(|&page| !hot.has(page as usize));
        if cfg!(fyris_mutant = "segment_failed_scan_forgets") && scanned.is_err() {
            return scanned;
        }
        // Even after a failure: a page that was protected must be known as dirty.
        fresh.iter().for_each(|&page| dirty.insert(page as usize));
        scanned?;
        if !protect && !fresh.is_empty() {
            self.protect_fresh(tracked, &fresh, all, dirty)?;
        }
        fresh.clear();
        self.written = fresh;
        Ok(())
    }

    /// Protects `fresh`, by run or everything that is written (`all` pages).
    fn protect_fresh(
        &mut self,
        tracked: &[Span],
        fresh: &[u32],
        all: usize,
        dirty: &mut PageSet,
    ) -> Result<()> {
        let one_by_one = CALL * spans_of(tracked, fresh).count();
        let refaults = FAULT * (all - fresh.len()) + all;
        if one_by_one <= refaults {
            return spans_of(tracked, fresh).try_for_each(|span| self.protect(&span, true));
        }
        let scanned = self.scan(tracked, true);
        self.written
            .drain(..)
            .for_each(|page| dirty.insert(page as usize));
        scanned
    }

    /// Lists the written pages of `tracked` in `written`, and protects them if `protect`.
    fn scan(&mut self, tracked: &[Span], protect: bool) -> Result<()> {
        self.written.clear();
        for span in tracked {
            let (mut from, end) = (span.at as u64, span.end() as u64);
            while from < end {
                from = self.scan_some(from, end, protect)?;
                for region in &self.regions {
                    let first = span.page_at(region.start as usize);
                    let last = span.page_at(region.end as usize);
                    self.written.extend(first as u32..last as u32);
                }
            }
        }
        Ok(())
    }

    /// Scans as far as one system call goes; returns the address where the next call begins.
    fn scan_some(&mut self, from: u64, end: u64, protect: bool) -> Result<u64> {
        let flags = if protect {
            PM_SCAN_WP_MATCHING | PM_SCAN_CHECK_WPASYNC
        } else {
            0
        };
        let mut arg = pm_scan_arg {
            size: size_of::<pm_scan_arg>() as u64,
            flags: u64::from(flags),
            start: from,
            end,
            walk_end: 0,
            vec: self.regions.as_mut_ptr() as u64,
            vec_len: self.regions.capacity() as u64,
            max_pages: 0,
            category_inverted: 0,
            category_mask: u64::from(PAGE_IS_WRITTEN),
            category_anyof_mask: 0,
            return_mask: u64::from(PAGE_IS_WRITTEN),
        };
        self.regions.clear();
        // SAFETY: the argument is what the call expects, and `vec_len` regions are allocated.
        let found = unsafe { libc::ioctl(self.pagemap.as_raw_fd(), PAGEMAP_SCAN.into(), &mut arg) };
        let Ok(found) = usize::try_from(found) else {
            let error = std::io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EINTR) => Ok(from),
                _ => Err(Error::Os {
                    what: "PAGEMAP_SCAN",
                    path: None,
                    source: error,
                }),
            };
        };
        // SAFETY: the kernel has filled `found` regions.
        unsafe { self.regions.set_len(found) };
        Ok(arg.walk_end)
    }
}

/// Makes one ioctl of userfaultfd with its argument.
fn ioctl<T>(fd: &OwnedFd, number: u32, arg: &mut T) -> std::result::Result<(), Errno> {
    // SAFETY: each caller passes the argument type of its number.
    match unsafe { libc::ioctl(fd.as_raw_fd(), number.into(), std::ptr::from_mut(arg)) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::PAGE;

    const PAGES: usize = 8;

    /// Returns a view with all pages protected, its tracker, which counts faults, and its span; none where the kernel
    /// cannot do it.
    fn tracked() -> Option<(Mapping, Userfault, Span)> {
        let memory = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&memory, (PAGES * PAGE) as u64).unwrap();
        let view = Mapping::shared(memory.as_fd(), PAGES * PAGE, true).unwrap();
        let mut tracker = Userfault::new(&[&view]).ok()?;
        let span = Span {
            pages: 0..PAGES,
            at: view.start() as usize,
        };
        tracker.protect(&span, true).unwrap();
        tracker.count_faults(true);
        Some((view, tracker, span))
    }

    fn write(view: &Mapping, page: usize) {
        // SAFETY: a page of this test's own view.
        unsafe { view.start().add(page * PAGE).write_volatile(1) };
    }

    /// The page was written before the scan that fails: no fault comes after it.
    #[test]
    fn a_scan_that_fails_is_made_again() {
        let Some((view, mut tracker, span)) = tracked() else {
            return;
        };
        let (hot, mut dirty) = (PageSet::new(PAGES), PageSet::new(PAGES));
        let mut other = File::open("/dev/null").unwrap();
        for round in 0..20 {
            write(&view, round % PAGES);
            dirty.clear();
            std::mem::swap(&mut tracker.pagemap, &mut other);
            let failed = tracker.collect(std::slice::from_ref(&span), &hot, &mut dirty);
            std::mem::swap(&mut tracker.pagemap, &mut other);
            assert!(failed.is_err() && !dirty.has(round % PAGES));
            let again = tracker.collect(std::slice::from_ref(&span), &hot, &mut dirty);
            assert!(again.is_ok() && dirty.has(round % PAGES), "round {round}");
        }
    }

    /// What a scan has found and protected before it fails, the next finds no more.
    #[test]
    fn pages_found_before_a_failure_are_known() {
        let Some((view, mut tracker, span)) = tracked() else {
            return;
        };
        let (hot, mut dirty) = (PageSet::new(PAGES), PageSet::new(PAGES));
        write(&view, 5);
        let nowhere = Span {
            pages: PAGES..PAGES + 1,
            at: 1 << 63,
        };
        let failed = tracker.collect(&[span.clone(), nowhere], &hot, &mut dirty);
        assert!(failed.is_err() && dirty.has(5));
        dirty.clear();
        tracker.collect(&[span], &hot, &mut dirty).unwrap();
        assert!(!dirty.has(5));
    }
}
