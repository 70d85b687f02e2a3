//! `split_ordered`: a lock-free hash table that grows without moving anything.
//!
//! All entries are in one [list](crate::list) in the order of their hashes, and a bucket is a place to begin in it: a
//! head, which stands in the list before all nodes of the bucket. When the table doubles, each bucket gets a second
//! head in its middle; no entry moves, and no operation waits (split-ordered lists of Shalev and Shavit, reference 16
//! of the 2013 paper on the scalability of ETS, which describes them in its section 4.2.1, and finds that such tables
//! need no fixation).
//!
//! # Differences from the papers
//!
//! There the bucket is the low bits of the hash, and the list is in the order of the reversed bits. Here the bucket is
//! the top of the hash, which makes the list's order that of hashes, and the array of heads is laid out by levels
//! instead ([`Segments`]); it comes to the same. And the heads are not nodes that an array points to: the array
//! consists of them, which spares a lookup one of the misses that it has to wait for.
//!
//! # A lookup
//!
//! Number of buckets, segment (both in cache), then three misses in a large table: head, node, entry; and one more for
//! each node of the bucket that stands before the one looked for, 0.4 on average.
//!
//! # Progress
//!
//! That of [`list`](crate::list#progress): reads and scans are lock-free and write nothing; `upsert` waits for closures
//! that run for the same key. A head is put in by the first writer that needs it, or by writers that add entries, two
//! heads each; others do not wait for it, but begin at the head before. A new segment is made by a thread that finds
//! the table full, beside others that go on.
//!
//! # Sizes
//!
//! A head is 16 bytes and a node 24, for which the allocator takes 32. The table doubles when it has more entries than
//! buckets: 48 to 64 bytes an entry. It does not shrink: what it has grown to is freed with the index. The smallest
//! table has eight buckets.

mod segments;

pub use segments::Segments;

use fyris_index::hash::RandomState;
use fyris_index::plug::{DynIndex, Features, IndexFactory, PlugEntry};
use fyris_index::{Build, IndexOptions};

use crate::list::ListTable;

/// A split-ordered list. See the [module](self).
pub type SplitOrdered<E, S = RandomState> = ListTable<E, Segments, S>;

/// Makes [`SplitOrdered`] indexes, for tables without an order of keys.
pub struct SplitOrderedLists;

// SAFETY: as `list` says: an entry is found only in a node that is alive, or was during the operation (OUT_FIRST), for
// its own key (ONE_KEY); the index disposes of those that are in it when it is dropped.
unsafe impl IndexFactory for SplitOrderedLists {
    fn features(&self) -> Features {
        Features::ALL.without_lock_options()
    }

    fn build<E: PlugEntry>(&self, options: &IndexOptions) -> Option<Box<dyn DynIndex<E>>> {
        Some(Box::new(SplitOrdered::<E>::build(options)))
    }
}
