//! Removing, and joining nodes of which little is left.

use super::MapResult;
use super::editor::{Editor, Snapshot};
use super::insert::filled;
use super::layout::{ROOM, Region};
use super::node::{Cell, Node};
use super::tree::{Path, find_path};

/// Removes a key; whether it was there.
pub(super) fn remove<R: Region>(region: &mut R, key: &[u8]) -> MapResult<bool> {
    let mut editor = Editor::open(region)?;
    let (path, position) = find_path(editor.region.bytes(), &editor.header, key)?;
    if !position.exact {
        return Ok(false);
    }
    let extent = position.leaf.cell(position.pos)?.extent();
    let step = path.leaf();
    editor.erase(step.page, 0, step.pos)?;
    editor.give_extent(extent)?;
    editor.join_upwards(&path)?;
    editor.lower_root()?;
    editor.header.len = editor.header.len.saturating_sub(1);
    editor.close()?;
    Ok(true)
}

impl<R: Region> Editor<'_, R> {
    /// Joins the node that lost an entry with a neighbour if both fit well, then looks at its parent.
    /// A sparse node whose neighbours are too full stays; so may an empty one.
    fn join_upwards(&mut self, path: &Path) -> MapResult<()> {
        for level in 0..path.root_level() {
            if !self.node(path.step(level).page, level)?.is_sparse() {
                return Ok(());
            }
            let above = path.step(level + 1);
            let parent = self.node(above.page, level + 1)?;
            let (index, children) = (above.pos, parent.count() + 1);
            let joined = index + 1 < children && self.join(above.page, level, index)?;
            if !joined && index > 0 {
                self.join(above.page, level, index - 1)?;
            }
        }
        Ok(())
    }

    /// Joins the children `index` and `index + 1` of a node, if they fit one page with some air.
    fn join(&mut self, parent: u32, level: u32, index: usize) -> MapResult<bool> {
        let above = self.node(parent, level + 1)?;
        let (left, right) = (above.child(index)?, above.child(index + 1)?);
        let separator = above.key(index)?.to_vec();
        let (l, r) = (self.node(left, level)?, self.node(right, level)?);
        if !worth_joining(&l, &r, &separator, level) {
            return Ok(false);
        }
        let (l, r) = (Snapshot::of(&l), Snapshot::of(&r));
        let mut cells = l.cells(level)?;
        if level > 0 && !cfg!(fyris_mutant = "map_join_loses_child") {
            cells.push(Cell {
                word: r.left(),
                key: &separator,
                tail: &[],
            });
        }
        cells.extend(r.cells(level)?);
        if filled(&cells) > ROOM {
            return Ok(false);
        }
        self.rebuild(left, level, l.left(), &cells)?;
        self.erase(parent, level + 1, index)?;
        self.give(right, 1)?;
        Ok(true)
    }

    /// Makes the only child the root, as long as the root has one child only.
    fn lower_root(&mut self) -> MapResult<()> {
        while self.header.level > 0 {
            let root = self.node(self.header.root, self.header.level)?;
            if root.count() > 0 {
                return Ok(());
            }
            let child = root.child(0)?;
            self.give(self.header.root, 1)?;
            self.header.root = child;
            self.header.level -= 1;
        }
        Ok(())
    }
}

/// Returns whether two nodes are to be joined. An empty node joins any other; others must leave a quarter free, so that
/// the next few entries do not split the node again.
fn worth_joining(left: &Node<'_>, right: &Node<'_>, separator: &[u8], level: u32) -> bool {
    let middle = if level > 0 { 12 + separator.len() } else { 0 };
    let sum = left.filled() + right.filled() + middle;
    let one_empty = left.count() == 0 || right.count() == 0;
    sum <= if one_empty { ROOM } else { ROOM / 4 * 3 }
}
