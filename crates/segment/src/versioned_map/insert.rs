//! Inserting: in place, or by building the node anew, or by splitting it.

use std::ops::Range;

use super::MapResult;
use super::editor::{Editor, Snapshot};
use super::layout::{
    MAX_CELL, MAX_KEY, MAX_LEVEL, MAX_VALUE, ROOM, Region, SLOT, corrupt, page_mut, pages_of, place,
};
use super::node::{Cell, LONG, Node, shared};
use super::tree::{Path, Position, find_path};
use super::{MapError, edit};

/// Maps `key` to `value`; whether the key was there before.
pub(super) fn insert<R: Region>(region: &mut R, key: &[u8], value: &[u8]) -> MapResult<bool> {
    check_sizes(key, value)?;
    let mut editor = Editor::open(region)?;
    let (path, position) = find_path(editor.region.bytes(), &editor.header, key)?;
    let plan = Plan::new(&path, &position, key, value)?;
    if let Some(place) = plan.overwrite {
        editor.bytes(place)?.copy_from_slice(value);
        return Ok(true);
    }
    editor.demand(plan.pages)?;
    let page;
    let (word, tail) = if plan.long {
        page = editor.store(value)?.to_le_bytes();
        (LONG | value.len() as u32, &page[..])
    } else {
        (value.len() as u32, value)
    };
    editor.put(&path, Cell { word, key, tail }, plan.replaces)?;
    editor.give_extent(plan.freed)?;
    editor.header.len = editor.header.len.saturating_add(u64::from(!plan.replaces));
    editor.close()?;
    Ok(plan.replaces)
}

/// The plan of an insert, made before anything is changed.
struct Plan {
    /// The key is there.
    replaces: bool,
    /// The new value has pages of its own.
    long: bool,
    /// The place of the old value, if the new one fits it exactly.
    overwrite: Option<Range<usize>>,
    /// The pages of the old value.
    freed: Option<(u32, u32)>,
    /// Free pages that may be needed.
    pages: u32,
}

impl Plan {
    fn new(path: &Path, position: &Position<'_>, key: &[u8], value: &[u8]) -> MapResult<Plan> {
        let old = position
            .exact
            .then(|| position.leaf.cell(position.pos))
            .transpose()?;
        let long = 4 + key.len() + value.len() + SLOT > MAX_CELL;
        let tail = if long { 4 } else { value.len() };
        let given_back = old.map_or(0, |cell| cell.size() + SLOT);
        let splits = position.leaf.filled() + 4 + key.len() + tail + SLOT > ROOM + given_back;
        if splits && path.root_level() as usize == MAX_LEVEL {
            return Err(corrupt(position.leaf.at(), "tree too high"));
        }
        let nodes = if splits { path.root_level() + 2 } else { 0 };
        let freed = old.and_then(|cell| cell.extent());
        let fits = |old: &Cell<'_>| !long && freed.is_none() && old.tail.len() == tail;
        let overwrite = old.filter(fits).map(|_| {
            let at = position.leaf.at() + position.leaf.cell_at(position.pos) + 4 + key.len();
            at..at + tail
        });
        Ok(Plan {
            replaces: position.exact,
            long,
            overwrite,
            freed,
            pages: nodes + if long { pages_of(value.len()) } else { 0 },
        })
    }
}

/// Refuses an entry that no map has room for.
pub(super) fn check_sizes(key: &[u8], value: &[u8]) -> MapResult<()> {
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
    fn put(&mut self, path: &Path, cell: Cell<'_>, replace: bool) -> MapResult<()> {
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
    ) -> MapResult<Option<Promoted>> {
        if replace {
            self.erase(page, level, pos)?;
        }
        let node = self.node(page, level)?;
        if pos > node.count() {
            return Err(corrupt(place(page), "a node that changed under its parent"));
        }
        if edit::goes_in_place(&node, pos, &cell) {
            let shape = edit::NodeShape::from(&node);
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
    ) -> MapResult<Promoted> {
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
    fn raise_root(&mut self, promoted: &Promoted) -> MapResult<()> {
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

/// Returns the number of bytes that cells and their slots fill.
pub(super) fn filled(cells: &[Cell<'_>]) -> usize {
    cells.iter().map(|cell| cell.size() + SLOT).sum()
}

/// Returns the position at which to split at least four cells: in the middle of their bytes, but near the end if the
/// new one came last, so that ascending insertion leaves full nodes behind. Both sides get at least one cell.
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

/// Returns the shortest key above `low` and not above `high`.
fn separator(low: &[u8], high: &[u8]) -> Vec<u8> {
    let len = shared(low, high) + 1;
    high[..len.min(high.len())].to_vec()
}

impl Node<'_> {
    /// Returns whether so little is left that the node should join a neighbour.
    pub(super) fn is_sparse(&self) -> bool {
        self.filled() < ROOM / 4
    }
}
