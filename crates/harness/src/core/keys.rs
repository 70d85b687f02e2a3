//! The keys: numbers below the range, turned into each key type.
//!
//! A key is made from its *index*, a number below the range, by a function that never gives two
//! indexes the same key. A table of `n` entries holds a random half of the indexes below `2 n`.

use crate::rng::scramble;

/// A family of keys of type `K`.
#[derive(Clone, Copy)]
pub struct KeyKind<K> {
    /// The name in the vocabulary.
    pub name: &'static str,
    /// The key of an index.
    pub make: fn(u64) -> K,
    /// True if a run without `--keys` times this kind.
    pub usual: bool,
    /// True if memory is measured for all of `0..n` filled in ascending order, instead of a
    /// random half of `0..2n` in random order.
    pub dense: bool,
}

/// Twenty bytes.
pub type Bytes20 = [u8; 20];

/// The kinds of `u64` keys: `u64` is the index itself, `u64_spread` the same spread over 2^64,
/// `u64_dense` (for memory) every number from 0 up, ascending.
pub const U64: [KeyKind<u64>; 3] = [
    KeyKind {
        name: "u64",
        make: |i| i,
        usual: true,
        dense: false,
    },
    KeyKind {
        name: "u64_spread",
        make: scramble,
        usual: false,
        dense: false,
    },
    KeyKind {
        name: "u64_dense",
        make: |i| i,
        usual: false,
        dense: true,
    },
];

/// The kinds of 20-byte keys: `bytes20` is random bytes, `bytes20_prefix` is twelve bytes that all keys
/// share and eight decimal digits.
pub const BYTES20: [KeyKind<Bytes20>; 2] = [
    KeyKind {
        name: "bytes20",
        make: random_bytes20,
        usual: true,
        dense: false,
    },
    KeyKind {
        name: "bytes20_prefix",
        make: prefixed_bytes20,
        usual: false,
        dense: false,
    },
];

/// Integer keys of the store's tables.
pub const TERM_INT: [KeyKind<u64>; 1] = [usual("term_int", |i| i)];

/// Binaries as keys of the store's tables.
pub const TERM_BIN20: [KeyKind<Bytes20>; 1] = [usual("term_bin20", random_bytes20)];

const fn usual<K>(name: &'static str, make: fn(u64) -> K) -> KeyKind<K> {
    KeyKind {
        name,
        make,
        usual: true,
        dense: false,
    }
}

/// Returns twenty random-looking bytes; the first eight already differ between any two indexes.
pub fn random_bytes20(index: u64) -> Bytes20 {
    let mut key = [0; 20];
    key[..8].copy_from_slice(&scramble(index).to_be_bytes());
    key[8..16].copy_from_slice(&scramble(index ^ 0x5555_0000_0000_0000).to_be_bytes());
    key[16..].copy_from_slice(&(scramble(!index) as u32).to_be_bytes());
    key
}

/// Returns `fyris/users/` and eight decimal digits.
pub fn prefixed_bytes20(index: u64) -> Bytes20 {
    let mut key = *b"fyris/users/00000000";
    let mut rest = index;
    for digit in key[12..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_indexes_share_a_key() {
        let n = 10_000;
        for kind in U64 {
            assert_eq!(
                (0..n).map(kind.make).collect::<HashSet<_>>().len(),
                n as usize
            );
        }
        for kind in BYTES20 {
            assert_eq!(
                (0..n).map(kind.make).collect::<HashSet<_>>().len(),
                n as usize
            );
        }
    }
}
