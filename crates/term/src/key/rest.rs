//! The rest: the parts that decoding needs and equality must not see.
//!
//! Two closures are `=:=` no matter which process made them, and two references are `=:=` however many zero words
//! follow the significant ones. The parts left out of order part and trailer for that are kept behind them:
//!
//! ```text
//! +------+-------------------------------------------------------------------------+
//! | F5   | for each reference and each closure, in the order of their bytes:       |
//! |      |   reference   zero words 2                                              |
//! |      |   closure     arity 1, MD5 16, OldIndex 8, then its creator:           |
//! |      |               id 4, serial 4, creation 4, length of the node 2, node     |
//! +------+-------------------------------------------------------------------------+
//! ```
//!
//! It is there only if a closure is, or a reference that ends in zero words (no node makes such).
//!
//! Invariant **FOLLOW**: no trailer byte is as high as the mark `F5`, so stored bytes equal a key's identity exactly
//! when they start with it and then end or go on with `F5`: [`is_same`].

use smallvec::SmallVec;

use crate::{LocalFun, Pid};

/// Starts the rest.
pub(super) const MARK: u8 = 0xF5;

/// More zero words than that no reference has: the external format counts words in 16 bits.
pub(super) const MOST_ZERO_WORDS: usize = 0xFFFF;

/// The rest of a key that is being written; without the mark.
#[derive(Default)]
pub(super) struct KeyRest {
    bytes: SmallVec<[u8; 8]>,
    /// Whether anything in it is not what a decoder would assume.
    needed: bool,
}

impl KeyRest {
    /// Notes the number of zero words at the end of a reference.
    pub(super) fn reference(&mut self, zero_words: usize) {
        let zero_words = zero_words.min(MOST_ZERO_WORDS) as u16;
        self.needed |= zero_words > 0;
        self.bytes.extend_from_slice(&zero_words.to_be_bytes());
    }

    /// Writes all of a closure that its identity does not hold.
    pub(super) fn closure(&mut self, fun: &LocalFun) {
        self.needed = true;
        self.bytes.push(fun.arity);
        self.bytes.extend_from_slice(&fun.uniq);
        self.bytes.extend_from_slice(&fun.old_index.to_be_bytes());
        let Pid {
            node,
            id,
            serial,
            creation,
        } = &fun.creator;
        for number in [id, serial, creation] {
            self.bytes.extend_from_slice(&number.to_be_bytes());
        }
        let name = node.as_str();
        self.bytes
            .extend_from_slice(&(name.len() as u16).to_be_bytes());
        self.bytes.extend_from_slice(name.as_bytes());
    }

    /// Returns the number of bytes written.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets all but the first `len` bytes, which it hands out.
    pub(super) fn split_off(&mut self, len: usize) -> Vec<u8> {
        self.bytes.drain(len..).collect()
    }

    /// Appends what was split off.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the bytes to append to the key, behind [`MARK`]; mostly none.
    #[inline]
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        self.needed.then_some(&self.bytes)
    }
}

/// Returns whether `stored` ([`KeyBuf::stored`](super::KeyBuf::stored) of some key) is the key whose identity
/// ([`KeyBuf::bytes`](super::KeyBuf::bytes)) is `identity`: `=:=` of the terms. One `memcmp`.
#[inline]
pub fn is_same(stored: &[u8], identity: &[u8]) -> bool {
    match stored.split_at_checked(identity.len()) {
        Some((start, after)) => start == identity && after.first().is_none_or(|&byte| byte == MARK),
        None => false,
    }
}

/// Returns the number of bytes at the start of `tail` (the bytes stored behind the order part) that are the trailer;
/// the rest follows.
#[inline]
pub fn trailer_len(tail: &[u8]) -> usize {
    memchr::memchr(MARK, tail).unwrap_or(tail.len())
}
