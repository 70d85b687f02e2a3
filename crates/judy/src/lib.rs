#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! [`JudyMap`]: a Judy array from words to words, in the order of keys; [`JudyBytes`], one of byte strings; and the sets of
//! entries that tables are made on, [`JudyEntries`] and [`JudyHashes`].
//!
//! # Why
//!
//! Fritchie's study of ETS tables (2003) finds tables over Judy arrays the fastest of four kinds once they no longer
//! fit into the cache, and wishes for keys whose order is that of their bytes (section 7.6), which Fyris has. A Judy
//! array is a digital tree: a lookup takes a step for each byte of the key that tells keys apart, compares no keys on
//! the way, and knows how many keys are below each branch, so that the `n`-th key and the number of keys between two
//! are as cheap as a lookup. Section 4 of the study describes what it can do. This is an implementation of its own,
//! after the published description of the design, and in another layout.
//!
//! # How
//!
//! A key is eight digits of one byte, the highest first. A *branch* of level `L` decodes the `L`-th digit from below,
//! so its children are of level `L - 1`; what ends at level `L` stores the lower `L` bytes of its keys. Nodes change
//! their form with their content (`limits` has the numbers): a child is a key in the pointer, then a leaf, then a
//! branch, and the same backwards when keys are removed, a little later, so that a key that comes and goes does not
//! rebuild a node each time.
//!
//! * `digits`, `set`, `limits`, `keys`, `leaf`: what both forms of the array are made of, this one and the [one that
//!   threads share](concurrent): digits of keys, bitmaps, the numbers at which nodes change, sorted keys.
//! * `jp`: the pointer of two words, its kinds and its place. `tree`: lookup, insertion, removal. `change`: from one
//!   form to another.
//! * `bits`: bitmap leaves. `linear`, `bitmap`, `uncompressed`: branches, which `branch` puts into one. `part`: the
//!   arrays of bitmap leaves and branches. `words`: what is below a pointer, and how many keys its words stand for.
//! * `order`: neighbours, ranks, gaps. `cursor` and `iter`: the way from key to key. `class`: sizes of blocks. `gap`:
//!   arrays that get an item more or less.
//! * `map`: the public type, which knows what keys and values are. All below deals in words.
//! * `strings`: arrays of byte strings, a tree for each word of a key. On it `bytes` (with `tail`, the short-cut leaves,
//!   and `zeroless`, the strings without zeros that stand for any) and `entries`, the indexes `judysl` and `judyesl`.
//!   `hashes`: the index `judyeh`, over a tree of hash values.
//! * `locked`: `judysl`, `judyesl` and `judyeh` as tables have them, and their names ([`register`]).
//!
//! # Layouts
//!
//! The pointer, 16 bytes. Its second word says what the first leads to, and has the digits of the subtree's keys that
//! are above the node:
//!
//! ```text
//! bytes 0 to 7     the node's address; or the value of one key; or the address of the values of several
//! byte  8          keys of a leaf, less one        the keys that are in
//! bytes 8 to 14    decoded bytes of the prefix     the pointer, if any
//! byte  15         kind, and level or number of keys
//! ```
//!
//! | kind | what | keys in the pointer |
//! |---|---|---|
//! | one | a key (its lower seven bytes) and its value | 1 |
//! | few | 7 keys of one byte, 3 of two or 2 of three; a block has their values | 2 to 7 |
//! | leaf of level 1 to 8 | sorted keys, a byte for each level, and their values | |
//! | bitmap leaf | a bit for each of 256 keys | |
//! | linear, bitmap, uncompressed branch of level 2 to 8 | pointers | |
//!
//! A leaf of level `L`, in a block of one of twelve sizes from 16 to 512 bytes:
//!
//! ```text
//! bytes 0 to L * most - 1          keys, packed, ascending     most: as many as the block's size has room for
//! from the next word on            values
//! ```
//!
//! It has up to 28 keys at level 1, then 51, 46, 42, 39, 36, 34, and 32 at level 8.
//!
//! A bitmap leaf, 64 bytes, and an array for each quarter that has keys:
//!
//! ```text
//! byte 16 * q       address of the values of those that are there, 2 to 64 words
//! byte 16 * q + 8   bitmap of keys 64 * q to 64 * q + 63
//! ```
//!
//! A linear branch, 128 bytes, has up to seven children:
//!
//! ```text
//! bytes 0 to 6    digits, ascending          byte 7    their number
//! bytes 8 to 15   keys below the branch
//! from 16 on      pointers
//! ```
//!
//! A bitmap branch, 192 bytes, and an array for each eighth that has children; and an uncompressed branch, 4160 bytes:
//!
//! ```text
//! byte 16 * e       address of the pointers of digits 32 * e to 32 * e + 31     bytes 0 to 4095    pointers
//! byte 16 * e + 8   bitmap of the digits that are there                         from 4096 on       counts
//! from 128 on       keys below each eighth
//! ```
//!
//! # Invariants
//!
//! **NODES**: every node has one pointer, from its parent or from the tree, and lives for as long as this pointer names
//! it. A block's size follows from the pointer and the node. So what a pointer says of its node is true, and each node
//! is freed once. Values belong to the owner of the tree: nodes move them, and never drop one. A tree is changed
//! through `&mut` alone. The places of pointers (`jp`), branches (`branch`) and views of leaves (`leaf`) are made of a
//! tree only, or of another such, and used no longer than what they name lives; given that, their functions are safe.
//!
//! **DECODED**: the pointer to a node of level `L` has bytes `L` to 6 of its subtree's keys: all of them, those that
//! branches above have decoded as well. So a lookup compares nothing on its way: at the leaf one comparison tells
//! whether all digits that were decoded or skipped were the key's. Pointers with several keys have no room for that;
//! they are never narrow, and the pointer above has what is above them. The highest byte is decoded by a branch of
//! level 8, or else the tree has it beside its root.
//!
//! **NARROW**: a pointer may lead to a node of a lower level than its place: then all keys of the place share the
//! digits between. A key that does not share them is put in by a branch above the node (`change::part`), of the level
//! of the first digit that differs.
//!
//! **COUNTED**: the keys below a branch (words, or what these stand for) are counted in the branch: in all (linear), or
//! for each 32 digits (the others). An insertion or a removal adds to the counts of the branches on its way after it
//! has succeeded. Counts lie on other lines than what a lookup reads (in a linear branch, beside it), and never in a
//! pointer: so lookups by other threads, once there are such, need not look again because a key was counted.
//!
//! # Bytes
//!
//! Blocks have the sizes that mimalloc has too, so that nothing is lost between the two; `NodeBytes` is what was asked
//! for, exactly. A leaf block is the least that holds its pairs.

mod bitmap;
mod bits;
mod branch;
mod bytes;
mod bytes_iter;
mod change;
mod class;
pub mod concurrent;
mod cursor;
mod digits;
mod entries;
mod gap;
mod hashes;
mod iter;
mod jp;
mod keys;
mod leaf;
mod limits;
mod linear;
mod locked;
mod map;
mod order;
mod part;
mod set;
mod strings;
mod tail;
#[cfg(test)]
mod tests;
mod traits;
mod tree;
mod uncompressed;
mod words;
mod zeroless;

pub use bytes::JudyBytes;
pub use bytes_iter::{BytesIter, BytesKeys, BytesRange, BytesValues};
pub use concurrent::ConcurrentJudy;
pub use entries::JudyEntries;
pub use hashes::JudyHashes;
pub use iter::{Iter, IterMut, Keys, Range, Values};
pub use locked::{LockedHashes, LockedStrings};
pub use map::{JudyMap, NodeBytes};
pub use strings::{Measured, Padded, Split};

use fyris_index::plug::Registry;

/// Makes the indexes of this crate known: `judysl` and `judyesl`, for ordered tables, and `judyeh`, for others.
///
/// # Errors
///
/// The first name that the registry refuses, because it has it.
pub fn register<R: Registry>(registry: &mut R) -> Result<(), R::Error> {
    registry.add("judysl", LockedStrings::<Padded>::new())?;
    registry.add("judyesl", LockedStrings::<Measured>::new())?;
    registry.add("judyeh", LockedHashes)
}
