//! Bytes an entry: what the allocator has handed out, and what the kernel says.
//!
//! # How
//!
//! The program starts itself as a child process for each subject and kind of keys. The child fills one table
//! from keys made on the fly, and prints two differences between before and after:
//!
//! * *allocated*: the size of all live blocks of the process, by mimalloc's own account of its pages,
//!   each block at the size of its size class: so the allocator's rounding counts, and its free
//!   space does not. mimalloc is the global allocator of both programs, so everything that goes through Rust's
//!   allocator is there, and everything that `fyris_sync::alloc` takes from mimalloc directly, too; what that one
//!   has given back to the kernel, of arrays that are being kept for reuse, it counts itself, and it is subtracted.
//! * *resident*: the growth of the resident set (`/proc/self/statm`), which also counts pages taken
//!   and not yet filled, and memory mapped past the allocator. It guards the first against
//!   blind spots: the two should be close for a table of a million.
//!
//! What a table has retired and not yet reclaimed counts as the table's: it is memory in use.

use std::ffi::c_void;
use std::process::Stdio;

use libmimalloc_sys as mi;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use super::keys::{KeyKind, Rng};
use super::subject::Contender;
use crate::bench::args::BenchArgs;
use crate::bench::{BenchError, process};

/// The memory of one subject.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Live blocks of the allocator, at their size class, per entry.
    pub bytes_per_entry: f64,
    /// Growth of the resident set per entry.
    pub rss_per_entry: f64,
}

/// mimalloc's `mi_option_purge_delay`: milliseconds until free pages go back to the kernel; -1: never.
const PURGE_DELAY: mi::mi_option_t = 15;

unsafe extern "C" {
    /// The heap that all threads of the process allocate from (mimalloc 3).
    safe fn mi_heap_main() -> *mut mi::mi_heap_t;

    /// Gives the allocator memory to use before it asks the kernel (mimalloc 3).
    fn mi_manage_os_memory(
        start: *mut c_void,
        size: usize,
        committed: bool,
        pinned: bool,
        zero: bool,
        numa_node: i32,
    ) -> bool;
}

/// Gives the allocator `bytes` that the kernel has already backed, and tells it to keep what
/// is freed: so that page faults, which cost as much as a hundred operations and hit whoever comes first, stay
/// out of the times. For all subjects alike.
pub(in crate::bench) fn make_ready(bytes: usize) {
    let (prot, flags) = (
        ProtFlags::READ | ProtFlags::WRITE,
        MapFlags::PRIVATE | MapFlags::POPULATE,
    );
    // SAFETY: an anonymous mapping at an address of the kernel's choice; it is never unmapped, and
    // nobody but mimalloc is told of it.
    unsafe {
        mi::mi_option_set(PURGE_DELAY, -1);
        if let Ok(start) = mmap_anonymous(std::ptr::null_mut(), bytes, prot, flags) {
            mi_manage_os_memory(start, bytes, true, true, true, -1);
        }
    }
}

/// Bytes in live blocks of the process, each at its size class, less what `fyris_sync::alloc::Pages` gave back.
pub fn allocated() -> usize {
    unsafe extern "C" fn visit(
        _heap: *const mi::mi_heap_t,
        area: *const mi::mi_heap_area_t,
        _block: *mut c_void,
        _block_size: usize,
        total: *mut c_void,
    ) -> bool {
        // SAFETY: mimalloc passes a valid area, and `total` is the pointer handed in below.
        unsafe { *total.cast::<usize>() += (*area).used * (*area).full_block_size };
        true
    }
    let mut total = 0usize;
    let to = (&raw mut total).cast();
    // SAFETY: no other thread allocates or frees while the child measures; `visit` keeps `to` to itself.
    unsafe {
        mi::mi_collect(true);
        mi::mi_heap_visit_blocks(mi_heap_main(), false, Some(visit), to);
    }
    total - fyris_sync::alloc::given_back()
}

/// Bytes resident, by the kernel's account; 0 where there is no `/proc`.
pub fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = statm
        .split_whitespace()
        .nth(1)
        .and_then(|field| field.parse().ok())
        .unwrap_or(0);
    pages * rustix::param::page_size()
}

/// In the child: fills the contender's table and measures it.
pub(super) fn measure<K>(contender: &Contender<K>, kind: &KeyKind<K>, entries: usize) -> Memory {
    let indexes = indexes(kind, entries);
    let (blocks, pages) = (allocated(), resident());
    let table = (contender.fill)(&mut indexes.iter().map(|&i| (kind.make)(u64::from(i))));
    let per_entry = |after: usize, before: usize| (after as f64 - before as f64) / entries as f64;
    let memory = Memory {
        rss_per_entry: per_entry(resident(), pages),
        bytes_per_entry: per_entry(allocated(), blocks),
    };
    drop(table);
    memory
}

fn indexes<K>(kind: &KeyKind<K>, entries: usize) -> Vec<u32> {
    if kind.dense {
        return (0..entries as u32).collect();
    }
    let mut indexes: Vec<u32> = (0..2 * entries as u32).collect();
    Rng::new(1).shuffle(&mut indexes);
    indexes.truncate(entries);
    indexes.shrink_to_fit();
    indexes
}

/// In the parent: has a child measure the contender.
///
/// # Errors
///
/// [`BenchError::Io`] if the child cannot be started, [`BenchError::Child`] if it fails or prints nonsense.
pub(super) fn in_child<K>(
    contender: &Contender<K>,
    kind: &KeyKind<K>,
    args: &BenchArgs,
) -> Result<Memory, BenchError> {
    let output = process::command(args, &contender.label())?
        .args(["--keys", kind.name])
        .args(["--entries", &args.entry_count().to_string()])
        .stdin(Stdio::null())
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut numbers = printed.split_whitespace().map(str::parse::<f64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(bytes_per_entry)), Some(Ok(rss_per_entry))) if output.status.success() => {
            Ok(Memory {
                bytes_per_entry,
                rss_per_entry,
            })
        }
        _ => Err(BenchError::Child(format!(
            "{} with keys {}: {}",
            contender.label(),
            kind.name,
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}
