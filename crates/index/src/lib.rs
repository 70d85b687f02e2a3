//! Concurrent indexes, generic over the entry.
//!
//! An index holds *entries*: small handles of immutable things that live until they are retired.
//! Two traits are all that the layers above know: [`Index`] and [`OrderedIndex`]. In their object-safe form ([`plug`])
//! an index of another crate serves as well.

mod as_key;
mod bounds;
pub mod btree;
mod bytes_entry;
pub mod ca;
mod capacity;
mod catree;
#[cfg(all(feature = "conformance", not(any(loom, shuttle))))]
pub mod conformance;
pub mod entry;
mod figures;
pub mod hash;
pub mod inline;
pub mod into_iter;
pub mod judy;
pub mod key;
mod levels;
pub mod library;
pub mod linear_hash;
pub mod list;
pub mod locked;
mod made;
pub mod map;
pub mod michael_hash;
#[cfg(all(test, not(any(loom, shuttle))))]
mod odd_keys;
pub mod ordered;
pub mod plug;
pub mod prefetch;
mod progress;
pub mod relaxed_avl;
mod retired;
pub mod sequential;
#[cfg(feature = "serde")]
mod serde;
mod simd;
pub mod skip_list;
pub mod split_ordered;
mod table_lock;
pub mod traits;
pub mod tree;

pub use as_key::AsKey;
pub use btree::LockedBTree;
pub use ca::{CaTree, SharedCaTree};
pub use capacity::CapacityError;
pub use entry::Entry;
pub use figures::{Figure, Figures};
pub use fyris_sync::reclaim;
pub use hash::HashIndex;
pub use inline::InlineMap;
pub use judy::{ConcurrentJudy, JudyBytes, JudyMap};
pub use library::LibraryIndex;
pub use linear_hash::LinearHash;
pub use locked::Locked;
pub use map::{BytesMap, ConcurrentMap, CopyMap};
pub use michael_hash::MichaelHash;
pub use ordered::Ordered;
pub use relaxed_avl::RelaxedAvl;
pub use skip_list::SkipList;
pub use split_ordered::SplitOrdered;
pub use traits::{Action, Batch, BucketLocks, Build, Index, IndexOptions, OrderedIndex, Range};
pub use tree::{BytesTree, ConcurrentTree, CopyTree, InlineTree};

/// The README's example, run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
