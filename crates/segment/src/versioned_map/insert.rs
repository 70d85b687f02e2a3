//! Inserting: in place, or by building the node anew, or by splitting it.

use super::Result;
use super::editor::{Editor, Snapshot};
use super::layout::{
    MAX_CELL, MAX_KEY, MAX_LEVEL, MAX_VALUE, ROOM, Region, SLOT, corrupt, page_mut, pages_of, place,
};
use super::node::{Cell, LONG, Node, shared};
use super::tree::{Path, find_path};
use super::{MapError, edit};

/// Maps `key` to `value`; whether the key was there before.
pub(super) fn insert<R: Region>(region: &mut R, key: &[u8], value: &[u8]) -> Result<bool> {
    check_sizes(key, value)?;
    let mut editor = Editor::open(region)?;
    let (path, spot) = find_path(editor.region.bytes(), &editor.header, key)?;
    let (exact, leaf, pos) = (spot.exact, spot.leaf, spot.pos);
    let old = exact.then(|| leaf.cell(pos)).transpose()?;
    let long = 4 + key.len() + value.len() + SLOT > MAX_CELL;
    let tail = if long { 4 } else { value.len() };
    if let Some(cell) = old
        && !long
        && cell.extent().is_none()
        && cell.tail.len() == tail
    {
        let at = leaf.at() + leaf.cell_at(pos) + 4 + key.len();
        editor.bytes(at..at + tail)?.copy_from_slice(value);
        return Ok(true);
    }
    let freed = old.map_or(0, |cell| cell.size() + SLOT);
    let splits = leaf.filled() + 4 + key.len() + tail + SLOT > ROOM + freed;
    let extent = old.and_then(|cell| cell.extent());
    let extra = if long { pages_of(value.len()) } else { 0 };
    editor.demand(extra + if splits { path.root_level() + 2 } else { 0 })?;
    if splits && path.root_level() as usize == MAX_LEVEL {
        return Err(corrupt(place(path.leaf().page), "tree too high"));
    }
    let page;
    let cell = if long {
        page = editor.store(value)?.to_le_bytes();
        Cell {
            word: LONG | value.len() as u32,
            key,
            tail: &page,
        }
    } else {
        Cell {
            word: value.len() as u32,
            key,
            tail: value,
        }
    };
    editor.put(&path, cell, exact)?;
    editor.give_extent(extent)?;
    editor.header.len = editor.header.len.saturating_add(u64::from(!exact));
    editor.close()?;
    Ok(exact)
}

fn check_sizes(key: &[u8], value: &[u8]) -> Result<()> {
    match () {
        () if key.len() > MAX_KEY => Err(MapError::KeyTooLong(key.len())),
        () if value.len() > MAX_VALUE => Err(MapError::ValueTooLong(value.len())),
        () => Ok(()),
    }
}

/// A separator that goes into a parent, and the child to its right.
struct Promoted {
    key: Vec<u8>,
    child: u32,
}

impl<R: Region> Editor<'_, R> {
    /// Puts a cell where the path leads, in place of the one there if `replace`; splits what must be
    /// split, up to the root.
    fn put(&mut self, path: &Path, cell: Cell<'_>, replace: bool) -> Result<()> {
        let step = path.leaf();
        let mut promoted = self.put_in_node(step.page, 0, step.pos, cell, replace)?;
        for level in 1..=path.root_level() {
            let Some(Promoted { key, child }) = promoted else {
                return Ok(());
            };
            let step = path.step(level);
            let cell = Cell {
                word: child,
                key: &key,
                tail: &[],
            };
            promoted = self.put_in_node(step.page, level, step.pos, cell, false)?;
        }
        match promoted {
            Some(promoted) => self.raise_root(&promoted),
            None => Ok(()),
        }
    }

    fn put_in_node(
        &mut self,
        page: u32,
        level: u32,
        pos: usize,
        cell: Cell<'_>,
        replace: bool,
    ) -> Result<Option<Promoted>> {
        if replace {
            self.erase(page, level, pos)?;
        }
        let node = self.node(page, level)?;
        if pos > node.count() {
            return Err(corrupt(place(page), "a node that changed under its parent"));
        }
        if edit::goes_in_place(&node, pos, &cell) {
            let shape = edit::Shape::from(&node);
            edit::insert(page_mut(self.region, page)?, shape, pos, &cell);
            return Ok(None);
        }
        let old = Snapshot::of(&node);
        let mut cells = old.cells(level)?;
        cells.insert(pos, cell);
        if filled(&cells) <= ROOM {
            self.rebuild(page, level, old.left(), &cells)?;
            return Ok(None);
        }
        let appended = pos + 1 == cells.len();
        self.split(page, level, old.left(), &cells, appended)
            .map(Some)
    }

    /// Splits cells over a node and a new one to its right.
    fn split(
        &mut self,
        page: u32,
        level: u32,
        left: u32,
        cells: &[Cell<'_>],
        appended: bool,
    ) -> Result<Promoted> {
        let cut = cut(cells, level, appended);
        let right = self.take(1)?;
        if level == 0 {
            self.rebuild(page, 0, 0, &cells[..cut])?;
            self.rebuild(right, 0, 0, &cells[cut..])?;
            let key = separator(cells[cut - 1].key, cells[cut].key);
            return Ok(Promoted { key, child: right });
        }
        // The middle key moves up, and its child becomes the first one of the new node.
        let middle = cells[cut];
        self.rebuild(page, level, left, &cells[..cut])?;
        self.rebuild(right, level, middle.word, &cells[cut + 1..])?;
        Ok(Promoted {
            key: middle.key.to_vec(),
            child: right,
        })
    }

    /// Puts a new root above the old one, which has been split.
    fn raise_root(&mut self, promoted: &Promoted) -> Result<()> {
        let root = self.take(1)?;
        let (left, level) = (self.header.root, self.header.level + 1);
        let cell = Cell {
            word: promoted.child,
            key: &promoted.key,
            tail: &[],
        };
        self.rebuild(root, level, left, &[cell])?;
        self.header.root = root;
        self.header.level = level;
        Ok(())
    }
}

/// Bytes that cells and their slots fill.
pub(super) fn filled(cells: &[Cell<'_>]) -> usize {
    cells.iter().map(|cell| cell.size() + SLOT).sum()
}

/// Where to split at least four cells: in the middle of their bytes, but near the end if the new one
/// came last, so that ascending insertion leaves full nodes behind. Both sides get at least one cell.
fn cut(cells: &[Cell<'_>], level: u32, appended: bool) -> usize {
    let last = cells
        .len()
        .saturating_sub(if level == 0 { 1 } else { 2 })
        .max(1);
    if appended {
        return last;
    }
    let half = filled(cells) / 2;
    let mut sum = 0;
    let middle = cells.iter().position(|cell| {
        sum += cell.size() + SLOT;
        sum >= half
    });
    middle.unwrap_or(last).clamp(1, last)
}

/// The shortest key above `low` and not above `high`.
fn separator(low: &[u8], high: &[u8]) -> Vec<u8> {
    let len = shared(low, high) + 1;
    high[..len.min(high.len())].to_vec()
}

impl Node<'_> {
    /// Whether so little is left that the node should join a neighbour.
    pub(super) fn is_sparse(&self) -> bool {
        self.filled() < ROOM / 4
    }
}
