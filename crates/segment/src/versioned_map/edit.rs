//! Changing a node: one slot in place, or the whole node built anew.

use super::layout::{NODE, NODE_HEAD, SLOT, put_u16, put_u32};
use super::node::{Cell, Node, head, shared};

/// Returns whether `cell` should go into the gap between slots and cells as the node stands: there is space, the
/// key begins like the others, and the heads still tell keys apart.
pub(super) fn goes_in_place(node: &Node<'_>, pos: usize, cell: &Cell<'_>) -> bool {
    let end = NODE_HEAD + (node.count() + 1) * SLOT + cell.size();
    let space = end <= node.heap() && node.heap() <= NODE;
    space
        && (node.count() == 0
            || begins_alike(node, cell.key) && !skips_too_little(node, pos, cell.key))
}

fn begins_alike(node: &Node<'_>, key: &[u8]) -> bool {
    let skip = node.skip();
    let first = node.key(0).unwrap_or_default();
    skip == 0 || (key.len() >= skip && first.len() >= skip && key[..skip] == first[..skip])
}

/// Returns whether the head of a new key equals its neighbour's although the node could skip more: all keys share
/// more bytes than when it was built.
fn skips_too_little(node: &Node<'_>, pos: usize, key: &[u8]) -> bool {
    let (skip, count) = (node.skip(), node.count());
    let head = head(&key[skip..]);
    let same_head =
        (pos > 0 && node.head(pos - 1) == head) || (pos < count && node.head(pos) == head);
    if !same_head {
        return false;
    }
    let at = |pos| node.key(pos).unwrap_or_default();
    let first = if pos == 0 { key } else { at(0) };
    let last = if pos == count { key } else { at(count - 1) };
    shared(first, last) > skip
}

/// Makes a page an empty node.
pub(super) fn format(bytes: &mut [u8; NODE], level: u32, left: u32) {
    bytes[..NODE_HEAD].fill(0);
    bytes[0] = b'N';
    bytes[1] = level as u8;
    put_u16(bytes, 4, NODE);
    put_u32(bytes, 12, left);
}

/// The numbers of the node that in-place edits need, read from it beforehand.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeShape {
    count: usize,
    heap: usize,
    dead: usize,
    skip: usize,
}

impl From<&Node<'_>> for NodeShape {
    fn from(node: &Node<'_>) -> NodeShape {
        NodeShape {
            count: node.count(),
            heap: node.heap(),
            dead: node.dead(),
            skip: node.skip(),
        }
    }
}

/// Puts a cell at `pos`; [`goes_in_place`] has said yes.
pub(super) fn insert(bytes: &mut [u8; NODE], shape: NodeShape, pos: usize, cell: &Cell<'_>) {
    let NodeShape { count, heap, .. } = shape;
    let skip = if count == 0 { 0 } else { shape.skip };
    let at = heap - cell.size();
    write_cell(&mut bytes[at..heap], cell);
    let slot = NODE_HEAD + pos * SLOT;
    bytes.copy_within(slot..NODE_HEAD + count * SLOT, slot + SLOT);
    write_slot(&mut bytes[slot..slot + SLOT], cell.key, skip, at);
    put_u16(bytes, 2, count + 1);
    put_u16(bytes, 4, at);
    put_u16(bytes, 8, skip);
}

/// Takes the slot at `pos` out; its cell, of `size` bytes at `at`, is dead. `None` if the numbers
/// contradict each other, and nothing is done.
pub(super) fn erase(
    bytes: &mut [u8; NODE],
    shape: NodeShape,
    pos: usize,
    at: usize,
    size: usize,
) -> Option<()> {
    let NodeShape {
        count, heap, dead, ..
    } = shape;
    let (heap, dead) = match () {
        () if count == 1 => (NODE, 0),
        () if at == heap => (heap + size, dead),
        () => (heap, dead + size),
    };
    if heap > NODE || dead > NODE - heap {
        return None;
    }
    let slot = NODE_HEAD + pos * SLOT;
    bytes.copy_within(slot + SLOT..NODE_HEAD + count * SLOT, slot);
    put_u16(bytes, 2, count - 1);
    put_u16(bytes, 4, heap);
    put_u16(bytes, 6, dead);
    Some(())
}

/// Builds a node of these cells, which are sorted. `None` if they do not fit.
pub(super) fn build(
    bytes: &mut [u8; NODE],
    level: u32,
    left: u32,
    cells: &[Cell<'_>],
) -> Option<()> {
    let filled: usize = cells.iter().map(|cell| cell.size() + SLOT).sum();
    if NODE_HEAD + filled > NODE {
        return None;
    }
    format(bytes, level, left);
    let skip = match cells {
        [first, .., last] => shared(first.key, last.key),
        _ => 0,
    };
    // Sorted cells share what the first and the last share; of those from a hostile region, only what they do share.
    let skip = cells
        .iter()
        .fold(skip, |skip, cell| skip.min(cell.key.len()));
    let mut heap = NODE;
    for (pos, cell) in cells.iter().enumerate() {
        let at = heap - cell.size();
        write_cell(&mut bytes[at..heap], cell);
        let slot = NODE_HEAD + pos * SLOT;
        write_slot(&mut bytes[slot..slot + SLOT], cell.key, skip, at);
        heap = at;
    }
    put_u16(bytes, 2, cells.len());
    put_u16(bytes, 4, heap);
    put_u16(bytes, 8, skip);
    Some(())
}

fn write_cell(bytes: &mut [u8], cell: &Cell<'_>) {
    let (word, rest) = bytes.split_at_mut(4);
    let (key, tail) = rest.split_at_mut(cell.key.len());
    word.copy_from_slice(&cell.word.to_le_bytes());
    key.copy_from_slice(cell.key);
    tail.copy_from_slice(cell.tail);
}

fn write_slot(slot: &mut [u8], key: &[u8], skip: usize, at: usize) {
    let word = u64::from(head(&key[skip..])) << 32 | (key.len() as u64) << 16 | at as u64;
    slot.copy_from_slice(&word.to_le_bytes());
}
