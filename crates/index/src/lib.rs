#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! Concurrent indexes, generic over the entry.
//!
//! An index holds *entries*: small handles of immutable things that live until they are retired.
//! Two traits are all that the layers above know: [`Index`] and [`OrderedIndex`]. In their object-safe form ([`plug`])
//! an index of another crate serves as well.

mod as_key;
mod bytes_entry;
mod capacity;
pub mod catree;
#[cfg(all(feature = "conformance", not(any(loom, shuttle))))]
pub mod conformance;
pub mod entry;
mod figures;
pub mod hash;
pub mod inline;
pub mod into_iter;
pub mod key;
mod key_bounds;
#[cfg(feature = "libraries")]
pub mod library;
mod made;
pub mod map;
mod once_box;
pub mod ordered;
mod pinned;
pub mod plug;
pub mod prefetch;
mod progress;
mod retired;
#[cfg(feature = "serde")]
mod serde;
mod simd;
pub mod table_lock;
pub mod traits;
pub mod tree;

pub use as_key::AsKey;
pub use capacity::CapacityError;
pub use entry::Entry;
pub use figures::{Figure, Figures};
pub use fyris_sync::reclaim;
pub use hash::HashIndex;
pub use inline::InlineMap;
pub use key::TotalFloat;
pub use key_bounds::{BytesRange, KeyBounds};
#[cfg(feature = "libraries")]
pub use library::LibraryIndex;
pub use map::{BytesMap, ConcurrentMap, CopyMap};
pub use ordered::Ordered;
pub use traits::{Action, Batch, BucketLocks, Build, Index, IndexOptions, OrderedIndex, Range};
pub use tree::{BytesTree, ConcurrentTree, CopyTree, InlineTree};
