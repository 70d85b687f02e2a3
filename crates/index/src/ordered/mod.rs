//! The `ordered` index: a contention adapting tree over dense sorted leaves, with lock-free reads.
//!
//! # Why
//!
//! Contention adapting trees are described in `catree`. Here a base node is a *leaf* of at most 15 entries in four
//! cache lines, so that the same split and join also keep the tree dense, and readers do not lock at all: a tree far
//! larger than the cache answers in two dependent misses, one for the leaf and one for the entry, where a binary tree
//! takes twenty.
//!
//! # How
//!
//! * `leaf`: slots are written once and named by one atomic *permutation word*; a reader loads the word once. A
//!   replaced entry takes a fresh slot. When slots run out, the live entries move to a new leaf, or to two.
//! * `base`: leaves as the base nodes of `catree`, split and joined. `word`: further fields of their lock word.
//! * `load` builds a tree of entries that come in order.
//! * `read` and `write` look up and change one entry, `run` several entries of one leaf at once; `cursor` goes from
//!   leaf to leaf.
//!
//! # Invariants
//!
//! **WRITTEN_ONCE**: a slot of a leaf is written before a permutation word that names it is published, by the holder of
//! the leaf's lock, and never again. Words are published with `Release` and read with `PROTECT`. Hence plain reads of
//! slots that a loaded word names race with nothing, and a loaded word shows the leaf as it was at one moment: the
//! moment of the load.
//!
//! FROZEN_NODE, LOCK_ORDER and SEPARATOR are those of `catree`. Leaves are read without their lock, so by FROZEN_NODE a
//! read of a living leaf takes effect at the load of its word, and a read of a dead leaf at the leaf's death.
//!
//! # Dependent misses of a hit
//!
//! A tree of a million entries has some 90,000 leaves (24 MB) and 2 MB of inner nodes, of which those near the leaves
//! are in the second or third level cache. A descent reads one inner node a level and of it three lines: the first,
//! which names the line of key prefixes to look at, that one, and one of child pointers. All that may be wanted are
//! asked for together. Then the leaf: its four lines are asked for as soon as its address is known, so they cost *one*
//! miss of memory together. The entry behind a handle, and a boxed pair, are the *second*. Values that lie in the leaf
//! end at one. Comparing key prefixes rather than keys is what keeps other entries out of this count: only an equal key
//! prefix has its entry looked at, which for most keys is the entry sought.
//!
//! # Adapting
//!
//! A leaf that is full splits although no thread waits for it, and one that is nearly empty joins a neighbour if they
//! fit together, as in any B-tree.

mod base;
pub(crate) mod cursor;
mod index;
pub(crate) mod item;
mod leaf;
pub(crate) mod load;
mod perm;
mod read;
mod run;
mod scan;
pub(crate) mod storage;
mod word;
mod write;

pub use crate::catree::Stats;
pub use crate::key;
pub use crate::key::{ArrayElement, ByteKey, FixedSep, Opaque, PrefixKey, Separator, TreeKey};
pub use index::Ordered;

use crate::catree::{self, BaseRef};
use leaf::Leaf;

/// Entries in a leaf.
const SLOTS: usize = if cfg!(fyris_small) { 3 } else { 15 };

/// The tree itself, generic over the content of a slot. See the module.
///
/// An item is a handle or a value that its owner (`Ordered`, `TreeMap`) may share between threads: they bound their
/// `Send` and `Sync`.
pub(crate) type LeafTree<I> = catree::Tree<Leaf<I>>;

/// The leaf at which a descent ended.
type LeafRef<'p, I> = BaseRef<'p, Leaf<I>>;
