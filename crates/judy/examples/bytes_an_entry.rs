//! Prints the bytes that each index takes for an entry, by its own account ([`Index::memory`]), as the table in the
//! README has them. The entries are 47-bit numbers in the handle itself, so all of it is the index's.
//!
//! `cargo run --release -p fyris-judy --example bytes_an_entry`
#![allow(missing_docs)]

#[path = "../../classic/examples/number/mod.rs"]
mod number;

use fyris_classic::sequential::{Avl, SearchTree, Treap};
use fyris_classic::{
    CaTree, LinearHash, Locked, LockedBTree, MichaelHash, RelaxedAvl, SkipList, SplitOrdered,
};
use fyris_index::reclaim::pin;
use fyris_index::{Action, HashIndex, Index, Ordered};
use fyris_judy::{JudyEntries, JudyHashes, Measured, Padded};

use number::Number;

/// Numbers of entries.
const SIZES: [u64; 3] = [1_000, 100_000, 1_000_000];

/// Returns a key that looks random; different numbers have different keys.
fn key(n: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15) & ((1 << 47) - 1)
}

fn bytes<I: Index<Number> + Default>(entries: u64) -> f64 {
    let index = I::default();
    for n in 0..entries {
        let key = key(n);
        index.upsert(&key, &pin(), |_| (Action::Put(Number(key)), ()));
    }
    assert_eq!(index.len() as u64, entries);
    index.memory() as f64 / entries as f64
}

fn row<I: Index<Number> + Default>(name: &str) {
    let [few, more, many] = SIZES.map(bytes::<I>);
    println!("| `{name}` | {few:.1} | {more:.1} | {many:.1} |");
}

fn main() {
    println!("| index | 1,000 | 100,000 | 1,000,000 |\n|---|---|---|---|");
    row::<HashIndex<Number>>("hash");
    row::<Ordered<Number>>("ordered");
    row::<Locked<SearchTree<Number, Avl>>>("avl");
    row::<Locked<SearchTree<Number, Treap>>>("treap");
    row::<LockedBTree<Number>>("btree");
    row::<Locked<JudyEntries<Number, Padded>>>("judysl");
    row::<Locked<JudyEntries<Number, Measured>>>("judyesl");
    row::<Locked<JudyHashes<Number>>>("judyeh");
    row::<CaTree<SearchTree<Number, Avl>>>("ca_avl");
    row::<CaTree<SearchTree<Number, Treap>>>("ca_treap");
    row::<RelaxedAvl<Number>>("relaxed_avl");
    row::<SkipList<Number>>("skip_list");
    row::<LinearHash<Number>>("linear_hash");
    row::<SplitOrdered<Number>>("split_ordered");
    row::<MichaelHash<Number>>("michael_hash");
}
