//! [`ConcurrentJudy`]: the Judy array with readers that take no lock and writers that lock a node at a time.
//!
//! # Why
//!
//! The library that gave Judy arrays their name is for one thread, and so is [`JudyMap`](super::JudyMap), whose
//! pointers are two words that no processor replaces at once. Here a child is one word, a *link*, and a node is
//! replaced by one store of a link. A reader follows links and meets, at every node, either the old subtree or the new
//! one.
//!
//! Two ways were open. With *optimistic versions*, a reader looks at the version of each node before and after, and
//! begins anew where a writer was at work; nodes could be changed in place. With *copies*, a reader looks once and
//! never begins anew, and a writer pays an allocation and a copy. Leaves have at most 512 bytes, 200 on average, so a
//! copy costs less than the cache miss that found the leaf; and a read beside writers is wait-free. So leaves and the
//! arrays of bitmap nodes are copied; links, values and counts are replaced in place, each being a word. In bitmap
//! leaves with many keys, where those come and go most often, not even that is done (OPEN).
//!
//! # How
//!
//! Keys, levels and digits are those of the [sequential form](super), as are the layout of a leaf, the search in it and
//! the numbers at which nodes change their form. What differs:
//!
//! * No keys lie in a link, which has no room for them: one key is a leaf of 16 bytes.
//! * A leaf is of the level of its place, so its keys need no prefix. Branches and bitmap leaves may be narrow, and
//!   have their prefix in the node. A reader compares it where a link skips a level, and nowhere else.
//! * A bitmap has 16 groups, each in one word: 16 bits, and the address of an array with a slot for each bit that is
//!   set. So a slot comes or goes with one store, too.
//! * A bitmap leaf is a bitmap branch of level 1 whose slots are values. A group of it with many values is *open*: it
//!   has a slot for each of its 16 digits, so that keys come and go without a copy. A leaf with more than 112 values
//!   has the slots of all its groups in itself (`full`): the bit and the value are loaded in parallel, so a lookup
//!   waits for one cache miss less.
//!
//! `link`: links. `block`: memory. `group`: groups. `node`, `full`, `make`: branches and bitmap leaves. `leaf`: leaves.
//! `tree`: lookup, and what a writer does in a node. `shrink`: what it does afterwards. `order`: neighbours, ranks.
//! `map`, `iter`: the public types.
//!
//! # Layouts
//!
//! ```text
//! link     bits 0-47 address | 48-50 kind | 51-54 level | 55-60 keys of a leaf, less one
//! group    bits 0-47 address of the slots, bit 0 open | 48-63 which of 16 digits are there
//! header   lock | keys | passed | prefix                               8 bytes each
//! leaf     keys, a byte for each level, packed, ascending | values           16 to 512 bytes
//! linear   digits | 7 slots | header | 32 bytes to a line's end        128 bytes
//! bits     16 groups | header                                          160 bytes, and 8 a value; 128 an open group
//! full     256 bits | header | 256 slots                               2112 bytes
//! bitmap   16 groups | header | 16 counts                              288 bytes, and 8 a child
//! uncompressed   256 slots | header | 16 counts | children             2216 bytes
//! ```
//!
//! A lookup reads the first line of a linear branch, one word of the groups and one slot, or one slot. Locks and
//! counts, which writers below write, are on other lines, but in part for bitmaps; in a leaf that is `full` they share
//! the line of the bits.
//!
//! # Invariants
//!
//! A node is *in the tree* when links lead to it from the place of the root.
//!
//! **LOCKED**: the slots, groups, digits and counts of a branch, and the values of its leaves, change under the
//! branch's lock, while it is in the tree. A branch leaves the tree under its own lock and that of its parent, and a
//! leaf under that of its branch; so what a locked branch leads to stays in the tree.
//!
//! **GONE**: a branch that leaves the tree is marked so by the store that unlocks it, for good. A writer that finds the
//! mark begins anew at the root. So no change is lost in a branch of which a copy was made.
//!
//! **FROZEN_BRANCH**: what has left the tree does not change any more, nor do the keys of any leaf. It is freed when
//! the threads that were pinned have gone on (RECLAIM). So a reader in a node that has left sees what was there at that
//! moment, which lies within its operation, as it had come there before.
//!
//! **OPEN**: in an open group a value is stored before its bit is set, and stays when the bit is cleared, both under
//! the lock. So a reader that has seen the bit may find the value of a key that is about to come. It looks at the group
//! again: if the bit is clear the key is absent at that moment, and if not the value was there in between, as it was
//! stored before the bit was set, or before the slots left the tree, of which the same holds.
//!
//! **PREFIXED**: all keys below a branch have its prefix. A reader, and a writer, goes to a branch whose link skips a
//! level only with a key that has it; where it has not, the key is absent, and a writer puts a branch above. A node's
//! prefix and level never change. So a writer that has locked a branch which is in the tree has the right one.
//!
//! **PASSED_ON**: a branch has counted, of each leaf and each value below it, all keys, and of each branch below it as
//! many as that one has noted as *passed*; the note changes under the lock of the upper one. A writer whose change has
//! added to the keys of a branch goes up afterwards: under the parent's lock it adds what the parent has not counted
//! and notes it as passed. Where another branch has taken the place of one of the two it takes the way from the root
//! again. So what is not passed on has a thread under way that will do so, a change is counted all the way up when its
//! operation returns, and at rest all counts are exact. A copy of a branch takes over both numbers; a branch that is
//! put between two, under the locks of both, takes over the lower one's note, and has counted all of it; where a
//! subtree becomes a leaf its keys are known, and the note ends; where a branch gives way to its only child, the parent
//! counts what the branch has not passed on, as a thread that has yet to do so may have no key below that child.
//!
//! **BELOW**: a thread that has a lock waits for locks of branches below alone. So no threads wait in a circle.
//!
//! # Reading
//!
//! A lookup takes effect when it loads the word that decides: of a link in the tree that is the load itself, of a node
//! that has left the moment when it left (FROZEN_BRANCH). A value is a word that is replaced by one store; a leaf that
//! has left keeps the values of that moment. In an open group what decides is the bit (OPEN).
//!
//! A walk in order meets a key that is there throughout exactly once: a key changes its node only when that is copied,
//! and a walk that is in the old one stays in it.
//!
//! Ranks add up counts on the way of a key, and the `n`-th key is found by them. Beside writers they are of several
//! moments, and may lack what is not passed on yet. If the way ends where no key is, its neighbour is the answer.
//!
//! # Writing
//!
//! A writer goes down like a reader, locks the lowest branch that the key belongs below, and looks again. Its change is
//! one store, the linearization point: of a value; of a link to a leaf with one key more or less; of a group. If the
//! leaf is full, a branch of the highest digit in which its keys differ takes its place, and the writer goes on there.
//! If the branch has no room for a child, a copy in a larger form takes its place, under its parent's lock. After a
//! removal small branches become leaves, or smaller, or give way to their only child, the lower ones first.
//!
//! Clearing takes the link from the place of the root, which is its linearization point, and then leaves the branches
//! below from above. A writer that is still in there when its branch is not yet marked has come before the clearing:
//! none that begins later finds the way.
//!
//! Unlocking makes what was stored visible (VISIBLE, in `fyris_sync::lock`) before the operation returns.
//!
//! # Limits
//!
//! Every insertion and removal adds to a count in the root's node, under its lock. That is what the counts cost: many
//! threads that insert and remove meet there for some nanoseconds each, whatever their keys are. Updates of values and
//! lookups are not concerned.
//!
//! Addresses have 48 bits, as elsewhere in this crate.

mod block;
mod full;
mod group;
mod iter;
mod leaf;
mod link;
mod make;
mod map;
mod node;
mod order;
mod shrink;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod tree;

pub use iter::{ConcurrentIter, ConcurrentRange};
pub use map::ConcurrentJudy;
