//! Reading a node.
//!
//! | bytes | content |
//! |---|---|
//! | 0 | `N` |
//! | 1 | level; 0 is a leaf |
//! | 2..4 | number of slots, *n* |
//! | 4..6 | where the cells begin; they fill the node from its end downwards |
//! | 6..8 | bytes of dead cells |
//! | 8..10 | skip: the number of first bytes that are the same in all keys |
//! | 10..12 | 0 |
//! | 12..16 | inner node: the page of the first child; leaf: 0 |
//! | 16..16+8*n* | slots, sorted: head of the key (4), length of the key (2), place of the cell (2) |
//!
//! A head is the four bytes of the key behind the skip, as a big-endian number, zeros where the key ends: heads
//! never contradict the order of keys, and most comparisons end with them, inside the slots.
//!
//! | a cell in | bytes |
//! |---|---|
//! | an inner node | page of the child (4), key: the child's keys are not below it |
//! | a leaf, short value | length of the value (4), key, value |
//! | a leaf, long value | length of the value with the top bit set (4), key, first page (4) |

use std::cmp::Ordering;

use super::MapResult;
use super::layout::{NODE, NODE_HEAD, SLOT, corrupt, page, place, u16_at, u32_at, u64_at};

/// The bit of a leaf cell's first word that says that the value lies elsewhere.
pub(super) const LONG: u32 = 1 << 31;

/// A node, its first bytes checked: the slots are inside, the level is the expected one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    bytes: &'a [u8; NODE],
    at: usize,
    count: usize,
}

/// A cell, its bytes checked to be inside the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell<'a> {
    /// Child page, or length of the value.
    pub word: u32,
    pub key: &'a [u8],
    /// The value, or its page number; empty in inner nodes.
    pub tail: &'a [u8],
}

impl Cell<'_> {
    /// Returns the number of bytes of the cell, without its slot.
    pub(super) fn size(&self) -> usize {
        4 + self.key.len() + self.tail.len()
    }

    /// Returns the pages of a value that lies elsewhere: first page and number.
    pub(super) fn extent(&self) -> Option<(u32, u32)> {
        (self.word & LONG != 0 && self.tail.len() == 4).then(|| {
            let len = (self.word & !LONG) as usize;
            (u32_at(self.tail, 0), super::layout::pages_of(len))
        })
    }
}

/// The position of a key in a node, present or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub pos: usize,
    pub exact: bool,
}

impl<'a> Node<'a> {
    /// Returns the node at a page, which must have this level: levels fall on the way down, so no chain of nodes is
    /// longer than the root's level.
    pub(super) fn load(bytes: &'a [u8], number: u32, level: u32) -> MapResult<Node<'a>> {
        let bytes = page(bytes, number)?;
        let at = place(number);
        let count = u16_at(bytes, 2);
        match () {
            () if bytes[0] != b'N' => Err(corrupt(at, "not a node")),
            () if u32::from(bytes[1]) != level => Err(corrupt(at + 1, "a node of another level")),
            () if NODE_HEAD + count * SLOT > NODE => Err(corrupt(at + 2, "too many slots")),
            () => Ok(Node { bytes, at, count }),
        }
    }

    /// Returns the number of slots.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the offset of the node, in bytes.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn bytes(&self) -> &'a [u8; NODE] {
        self.bytes
    }

    pub(super) fn is_leaf(&self) -> bool {
        self.bytes[1] == 0
    }

    /// Checks that the fields that a correct program leaves zero are zero.
    pub(super) fn reserved(&self) -> MapResult<()> {
        let end = if self.is_leaf() { NODE_HEAD } else { 12 };
        match self.bytes[10..end].iter().all(|&byte| byte == 0) {
            true => Ok(()),
            false => Err(corrupt(self.at + 10, "reserved bytes that are not zero")),
        }
    }

    /// Returns the offset of the cells.
    pub(super) fn heap(&self) -> usize {
        u16_at(self.bytes, 4)
    }

    /// Returns the number of bytes of dead cells.
    pub(super) fn dead(&self) -> usize {
        u16_at(self.bytes, 6)
    }

    /// Returns the number of bytes that all keys begin with.
    pub(super) fn skip(&self) -> usize {
        u16_at(self.bytes, 8)
    }

    /// Returns the number of bytes that slots and living cells fill. Meaningless, but not above [`NODE`], in a corrupt
    /// node.
    pub(super) fn filled(&self) -> usize {
        let cells = NODE.saturating_sub(self.heap()).saturating_sub(self.dead());
        (cells + self.count * SLOT).min(NODE)
    }

    fn slot(&self, pos: usize) -> u64 {
        u64_at(self.bytes, NODE_HEAD + pos * SLOT)
    }

    /// Returns the head in a slot.
    pub(super) fn head(&self, pos: usize) -> u32 {
        (self.slot(pos) >> 32) as u32
    }

    /// Returns the place and size that a slot gives to its key.
    fn key_span(&self, pos: usize) -> (usize, usize) {
        let slot = self.slot(pos);
        ((slot & 0xffff) as usize, (slot >> 16 & 0xffff) as usize)
    }

    /// Returns the offset of a slot's cell in the node; not checked.
    pub(super) fn cell_at(&self, pos: usize) -> usize {
        self.key_span(pos).0
    }

    /// Returns the key of a slot.
    pub(super) fn key(&self, pos: usize) -> MapResult<&'a [u8]> {
        let (at, len) = self.key_span(pos);
        self.bytes
            .get(at + 4..at + 4 + len)
            .ok_or_else(|| self.bad_cell(pos))
    }

    /// Returns the cell of a slot.
    pub(super) fn cell(&self, pos: usize) -> MapResult<Cell<'a>> {
        let key = self.key(pos)?;
        let at = self.cell_at(pos);
        let word = u32_at(self.bytes, at);
        let len = match () {
            () if !self.is_leaf() => 0,
            () if word & LONG != 0 => 4,
            () => word as usize,
        };
        let from = at + 4 + key.len();
        let tail = self
            .bytes
            .get(from..from.saturating_add(len))
            .ok_or_else(|| self.bad_cell(pos))?;
        Ok(Cell { word, key, tail })
    }

    #[cold]
    fn bad_cell(&self, pos: usize) -> super::MapError {
        let slot = self.at + NODE_HEAD + pos * SLOT;
        corrupt(slot, "a cell that reaches out of its node")
    }

    /// Returns the page of a child of an inner node, from 0 to `count` inclusive.
    pub(super) fn child(&self, index: usize) -> MapResult<u32> {
        match index.checked_sub(1) {
            None => Ok(u32_at(self.bytes, 12)),
            Some(pos) => Ok(self.cell(pos)?.word),
        }
    }

    /// Returns the position of `key`, or of the first slot with a larger key.
    pub(super) fn find(&self, key: &[u8]) -> MapResult<Found> {
        let skip = self.skip();
        let rest = if skip == 0 || self.count == 0 {
            key
        } else {
            let common = self.common()?;
            match key.get(..skip) {
                Some(start) if start == common => &key[skip..],
                _ if key < common => return Ok(Found::at(0)),
                _ => return Ok(Found::at(self.count)),
            }
        };
        let head = head(rest);
        let low = self.partition(0, self.count, |pos| Ok(self.head(pos) < head))?;
        if low == self.count || self.head(low) != head {
            return Ok(Found::at(low));
        }
        self.find_among_equals(key, low, head)
    }

    /// Returns the bytes that all keys begin with; `skip` is checked here.
    fn common(&self) -> MapResult<&'a [u8]> {
        self.key(0)?
            .get(..self.skip())
            .ok_or_else(|| corrupt(self.at + 8, "a skip longer than a key"))
    }

    fn find_among_equals(&self, key: &[u8], low: usize, head: u32) -> MapResult<Found> {
        match self.key(low)?.cmp(key) {
            Ordering::Equal => {
                return Ok(Found {
                    pos: low,
                    exact: true,
                });
            }
            Ordering::Greater => return Ok(Found::at(low)),
            Ordering::Less => {}
        }
        let pos = self.partition(low + 1, self.count, |pos| {
            Ok(self.head(pos) == head && self.key(pos)? < key)
        })?;
        let exact = pos < self.count && self.key(pos)? == key;
        Ok(Found { pos, exact })
    }

    /// Returns the first position from `low` on where `before` does not hold.
    fn partition(
        &self,
        mut low: usize,
        high: usize,
        before: impl Fn(usize) -> MapResult<bool>,
    ) -> MapResult<usize> {
        let mut left = high - low;
        while left > 0 {
            let half = left / 2;
            if before(low + half)? {
                low += half + 1;
                left -= half + 1;
            } else {
                left = half;
            }
        }
        Ok(low)
    }

    /// Returns the child of an inner node that is responsible for a key.
    pub(super) fn child_for(&self, key: &[u8]) -> MapResult<usize> {
        let found = self.find(key)?;
        Ok(found.pos + usize::from(found.exact))
    }
}

impl Found {
    fn at(pos: usize) -> Found {
        Found { pos, exact: false }
    }
}

/// Returns the head of a key whose skipped bytes are cut off.
pub(super) fn head(rest: &[u8]) -> u32 {
    match rest.first_chunk::<4>() {
        Some(first) => u32::from_be_bytes(*first),
        None => {
            let mut first = [0; 4];
            first[..rest.len()].copy_from_slice(rest);
            u32::from_be_bytes(first)
        }
    }
}

/// Returns the length of the common prefix of two keys.
pub(super) fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}
