//! The conformance suite for the tables of lists, bare and behind a pointer as a table of a store has them.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use std::hash::{BuildHasherDefault, Hasher};

use fyris_classic::{MichaelHash, SplitOrdered};
use fyris_index::conformance::{self, Object, suite};
use fyris_index::plug::{DynIndex, Features, Plugged};
use fyris_index::{Build, Index, IndexOptions, reclaim::pin};

mod split_ordered {
    use super::*;
    suite!(SplitOrdered::<Object>::default());
}

mod michael_hash {
    use super::*;
    suite!(MichaelHash::<Object>::default());
}

fn plugged(index: impl DynIndex<Object> + 'static) -> Plugged<dyn DynIndex<Object>> {
    Plugged::new(Box::new(index), Features::ALL)
}

mod plugged_split_ordered {
    use super::*;
    suite!(plugged(SplitOrdered::<Object>::default()));
}

mod plugged_michael_hash {
    use super::*;
    suite!(plugged(MichaelHash::<Object>::default()));
}

/// Hashes that few keys have to themselves: most entries are in runs.
#[derive(Default)]
struct Few(u64);

impl Hasher for Few {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.iter().map(|&b| u64::from(b % 5)).sum::<u64>();
    }
}

type FewHashes = BuildHasherDefault<Few>;

mod runs_in_one_list {
    use super::*;
    suite!(SplitOrdered::<Object, FewHashes>::default());
}

mod runs_in_buckets {
    use super::*;
    suite!(MichaelHash::<Object, FewHashes>::default());
}

#[test]
fn memory_grows_with_entries_and_capacity() {
    let census = conformance::Census::new();
    let small = SplitOrdered::<Object>::default();
    let large = SplitOrdered::<Object>::build(&IndexOptions::with_capacity(10_000));
    assert!(large.memory() >= small.memory() + 16 * 10_000);
    assert_eq!(large.slots(), 1 << 14);
    for key in 0..10_000 {
        conformance::put(&small, &census, key, key, &pin());
        conformance::put(&large, &census, key, key, &pin());
    }
    assert!((48 * 10_000..80 * 10_000).contains(&small.memory()));
    assert_eq!(large.slots(), 1 << 14, "there was room");
    let fixed = MichaelHash::<Object>::build(&IndexOptions::with_capacity(1000));
    assert_eq!(fixed.slots(), 1024);
    drop((small, large, fixed));
    census.assert_all_freed();
}
