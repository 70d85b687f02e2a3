//! The units M and C, which need no segment.

use std::hint::black_box;
use std::time::Instant;

use fyris_segment::PAGE;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::stage::{order, warm_ns};
use crate::error::BenchError;
use crate::stats::Samples;

/// Pages of the warm set.
pub(super) const PAGES: usize = 100;

/// Measures M: the copy of a page of the warm set onto another, half of the set onto the other half.
pub(super) fn memcpy_page() -> Result<f64, BenchError> {
    let mut set = vec![1u8; PAGES * PAGE];
    let (from, to) = set.split_at_mut(PAGES / 2 * PAGE);
    let mut samples = Samples::default();
    for _ in 0..400 {
        let start = Instant::now();
        for (from, to) in from.chunks_exact(PAGE).zip(to.chunks_exact_mut(PAGE)) {
            to.copy_from_slice(black_box(from));
        }
        samples.push(warm_ns(start) / (PAGES / 2) as f64);
        black_box(&to);
    }
    Ok(samples.median())
}

/// Pages of the mapping that is written to for C; how many of them are in a round; and how many between two looks at
/// the clock: few, so that being interrupted spoils few samples.
const MAPPED: usize = 4096;
const FAULTS: usize = 1000;
const BATCH: usize = 25;

/// Measures C: the first write to a page of a private mapping of a memfd, all of whose pages have been read.
pub(super) fn cow_fault() -> Result<f64, BenchError> {
    let file = memfd_create("fyris-harness", MemfdFlags::CLOEXEC).map_err(std::io::Error::from)?;
    ftruncate(&file, (MAPPED * PAGE) as u64).map_err(std::io::Error::from)?;
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    let map = |flags| {
        // SAFETY: a new mapping at an address of the kernel's choice, of a file as long as the mapping.
        unsafe { mmap(std::ptr::null_mut(), MAPPED * PAGE, prot, flags, &file, 0) }
            .map(<*mut _>::cast::<u8>)
            .map_err(std::io::Error::from)
    };
    let pages = order(MAPPED);
    let mut samples = Samples::default();
    // The file's own pages come into being with the shared mapping; the first round of faults warms the kernel's
    // lists.
    let shared = map(MapFlags::SHARED | MapFlags::POPULATE)?;
    for round in 0..6 {
        let private = map(MapFlags::PRIVATE)?;
        // SAFETY: inside the mapping, which no other thread knows.
        (0..MAPPED).for_each(|page| _ = unsafe { private.add(page * PAGE).read_volatile() });
        for batch in pages[..FAULTS].chunks(BATCH) {
            let start = Instant::now();
            for &page in batch {
                // SAFETY: as above.
                unsafe { private.add(page * PAGE).write_volatile(1) };
            }
            let ns = warm_ns(start) / batch.len() as f64;
            if round > 0 {
                samples.push(ns);
            }
        }
        // SAFETY: mapped above, used no more.
        unsafe { munmap(private.cast(), MAPPED * PAGE) }.map_err(std::io::Error::from)?;
    }
    // SAFETY: as above.
    unsafe { munmap(shared.cast(), MAPPED * PAGE) }.map_err(std::io::Error::from)?;
    Ok(samples.median())
}
