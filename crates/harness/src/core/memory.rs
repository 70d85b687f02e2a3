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
//! Memory that a table has retired and not yet reclaimed counts as the table's: it is memory in use.

use super::contender::Contender;
use super::keys::KeyKind;
use crate::args::BenchArgs;
use crate::error::BenchError;
use crate::memory::{allocated, resident};
use crate::process;
use crate::report::Memory;
use crate::rng::Rng;

/// Fills the contender's table and measures it, in the child.
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

/// Makes a child measure the contender, from the parent.
///
/// # Errors
///
/// [`BenchError::Io`] if the child cannot be started, [`BenchError::Child`] if it fails or prints nonsense.
pub(super) fn in_child<K>(
    contender: &Contender<K>,
    kind: &KeyKind<K>,
    args: &BenchArgs,
) -> Result<Memory, BenchError> {
    let label = contender.label();
    let mut child = process::command(args, &label)?;
    child.args([
        "--keys",
        kind.name,
        "--entries",
        &args.entry_count().to_string(),
    ]);
    process::memory(&mut child, &format!("{label} with keys {}", kind.name))
}
