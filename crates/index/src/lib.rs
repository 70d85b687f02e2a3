//! Concurrent indexes, generic over the entry.
//!
//! An index holds *entries*: small handles of immutable things that live until they are retired.
//! Two traits are all that the layers above know: [`Index`] and [`OrderedIndex`].

mod as_key;
mod bytes_entry;
pub mod entry;
pub mod hash;
pub mod inline;
mod lanes;
pub mod map;
pub mod ordered;
pub mod prefetch;
pub mod sweep;
pub mod traits;
pub mod tree;

pub use as_key::AsKey;
pub use entry::Entry;
pub use fyris_sync::reclaim;
pub use hash::HashIndex;
pub use inline::InlineMap;
pub use map::{BytesMap, ConcurrentMap, CopyMap};
pub use ordered::Ordered;
pub use sweep::{OrderedSweep, Stretch, Sweep};
pub use traits::{Action, Batch, Index, OrderedIndex, Stamp};
pub use tree::{BytesTree, ConcurrentTree, CopyTree, InlineTree};

/// The README's example, run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
