//! `michael_hash`: a lock-free hash table of fixed size, for tables whose size is known, such as those of names.
//!
//! An array of buckets, each a [list](crate::list) of its own (Michael, reference 11 of the 2013 paper on the
//! scalability of ETS, section 4.2.1). The number of buckets is that of the entries which the index is made for,
//! rounded up to a power of two, or [`DEFAULT_BUCKETS`], and stays: operations take O(entries / buckets).
//!
//! Without growth there is nothing to prepare or to look up on the way: a lookup is bucket, node, entry.
//!
//! # Progress
//!
//! That of [`list`](crate::list#progress): reads and scans are lock-free and write nothing; `upsert` waits for closures
//! that run for the same key.
//!
//! # Sizes
//!
//! 8 bytes a bucket; a node is 24 bytes, for which the allocator takes 32.

use fyris_index::hash::RandomState;
use fyris_index::plug::{DynIndex, Features, IndexFactory, PlugEntry};
use fyris_index::{Build, IndexOptions};

use crate::list::{Buckets, Link, ListTable};

/// Buckets of an index that is not told for how many entries it is.
pub const DEFAULT_BUCKETS: usize = if cfg!(any(fyris_small, loom, shuttle)) {
    2
} else {
    1024
};

/// The buckets, in the order of hashes.
pub struct Fixed {
    /// By how much an order is shifted down to be a bucket's number.
    shift: u32,
    buckets: Box<[Link]>,
}

/// A hash table with a fixed number of buckets. See the [module](self).
pub type MichaelHash<E, S = RandomState> = ListTable<E, Fixed, S>;

impl Fixed {
    #[inline]
    fn bucket(&self, order: u64) -> usize {
        (order >> self.shift) as usize
    }
}

impl Buckets for Fixed {
    fn with_capacity(capacity: usize) -> Self {
        let wanted = if capacity == 0 {
            DEFAULT_BUCKETS
        } else {
            capacity.clamp(2, 1 << 40)
        };
        let buckets: Box<[Link]> = (0..wanted.next_power_of_two())
            .map(|_| Link::default())
            .collect();
        Self {
            shift: 64 - buckets.len().ilog2(),
            buckets,
        }
    }

    fn count(&self) -> usize {
        self.buckets.len()
    }

    fn memory(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    #[inline]
    fn before(&self, order: u64) -> &Link {
        &self.buckets[self.bucket(order)]
    }

    fn next_list(&self, order: u64) -> Option<u64> {
        let next = self.bucket(order) + 1;
        (next < self.buckets.len()).then_some((next as u64) << self.shift)
    }
}

/// Makes [`MichaelHash`] indexes, for tables without an order of keys.
pub struct MichaelHashes;

// SAFETY: as `list` says: an entry is found only in a node that is alive, or was during the operation (OUT_FIRST), for
// its own key (ONE_KEY); the index disposes of those that are in it when it is dropped.
unsafe impl IndexFactory for MichaelHashes {
    fn features(&self) -> Features {
        Features::ALL.without_lock_options()
    }

    fn build<E: PlugEntry>(&self, options: &IndexOptions) -> Option<Box<dyn DynIndex<E>>> {
        Some(Box::new(MichaelHash::<E>::build(options)))
    }
}
