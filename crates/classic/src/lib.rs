#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! A module for each index. `sequential` has the search trees that `locked` and `ca` put under locks, `list` the lists
//! that `split_ordered` and `michael_hash` have; `levels` and `place` serve several. [`register`] has their names.

mod bounds;
pub mod btree;
pub mod ca;
mod levels;
pub mod linear_hash;
pub mod list;
pub mod locked;
pub mod michael_hash;
#[cfg(all(test, not(any(loom, shuttle))))]
mod odd_keys;
mod place;
pub mod relaxed_avl;
pub mod sequential;
pub mod skip_list;
pub mod split_ordered;

pub use btree::LockedBTree;
pub use ca::{CaTree, SharedCaTree};
pub use linear_hash::LinearHash;
pub use locked::Locked;
pub use michael_hash::MichaelHash;
pub use relaxed_avl::RelaxedAvl;
pub use skip_list::SkipList;
pub use split_ordered::SplitOrdered;

use fyris_index::plug::Registry;

use sequential::{Avl, Treap};

/// Makes the indexes of this crate known: `avl`, `btree`, `ca_avl`, `ca_treap`, `linear_hash`, `michael_hash`,
/// `relaxed_avl`, `skip_list`, `split_ordered`, `treap`.
///
/// # Errors
///
/// The first name that the registry refuses, because it has it.
pub fn register<R: Registry>(registry: &mut R) -> Result<(), R::Error> {
    registry.add("avl", locked::LockedTrees::<Avl>::new())?;
    registry.add("btree", btree::LockedBTrees)?;
    registry.add("ca_avl", ca::CaTrees::<Avl>::new())?;
    registry.add("ca_treap", ca::CaTrees::<Treap>::new())?;
    registry.add("linear_hash", linear_hash::LinearHashes)?;
    registry.add("michael_hash", michael_hash::MichaelHashes)?;
    registry.add("relaxed_avl", relaxed_avl::RelaxedAvlTrees)?;
    registry.add("skip_list", skip_list::SkipLists)?;
    registry.add("split_ordered", split_ordered::SplitOrderedLists)?;
    registry.add("treap", locked::LockedTrees::<Treap>::new())
}
