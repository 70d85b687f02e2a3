//! A change under way: the region, and the header as it will be.

use std::ops::Range;

use super::MapResult;
use super::header::{Header, is_blank, pages_in};
use super::layout::{FIRST, NODE, Region, corrupt, page_mut, pages_of, place};
use super::node::{Cell, Node};
use super::{MapError, edit, pages, seal};

/// Changes one map. Pages are taken and given back here; the header is written at the end.
pub(super) struct Editor<'r, R> {
    pub region: &'r mut R,
    pub header: Header,
}

impl<'r, R: Region> Editor<'r, R> {
    /// Opens a map for one change.
    pub(super) fn open(region: &'r mut R) -> MapResult<Self> {
        let header = Header::read(region.bytes())?;
        Ok(Editor { region, header })
    }

    /// Lays out an empty map over the whole region.
    pub(super) fn create(region: &'r mut R) -> MapResult<()> {
        if !is_blank(region.bytes()) {
            return Err(MapError::NotEmpty);
        }
        let pages = pages_in(region.bytes().len())?;
        seal::stamp(region)?;
        Self::lay_out(region, pages)
    }

    /// Makes the map empty: whatever was in it is overwritten or free.
    pub(super) fn clear(self) -> MapResult<()> {
        Self::lay_out(self.region, self.header.pages)
    }

    fn lay_out(region: &'r mut R, pages: u32) -> MapResult<()> {
        let free = pages::format(region, 0..pages)?;
        let root = FIRST + 1;
        let header = Header {
            pages,
            root,
            level: 0,
            free,
            hint: root,
            len: 0,
        };
        let mut editor = Editor { region, header };
        editor.header.root = editor.take(1)?;
        edit::format(page_mut(editor.region, editor.header.root)?, 0, 0);
        editor.close()
    }

    /// Takes the bytes that the region has gained into the map.
    pub(super) fn adopt(mut self) -> MapResult<bool> {
        let pages = pages_in(self.region.bytes().len())?;
        let old = self.header.pages;
        if pages <= old {
            return Ok(false);
        }
        self.header.free += pages::format(self.region, old..pages)?;
        self.header.pages = pages;
        self.close()?;
        Ok(true)
    }

    /// Writes the header.
    pub(super) fn close(self) -> MapResult<()> {
        self.header.write(self.region)
    }

    /// Returns the node at a page.
    pub(super) fn node(&self, page: u32, level: u32) -> MapResult<Node<'_>> {
        Node::load(self.region.bytes(), page, level)
    }

    /// Takes `count` free pages in one piece.
    pub(super) fn take(&mut self, count: u32) -> MapResult<u32> {
        let Header {
            hint, pages, free, ..
        } = self.header;
        let found = pages::find_run(self.region.bytes(), hint..pages, count)?;
        let (Some(start), Some(left)) = (found, free.checked_sub(count)) else {
            return Err(pages::full(count, free));
        };
        pages::mark(self.region, start..start + count, true)?;
        self.header.free = left;
        if count == 1 {
            self.header.hint = start + 1;
        }
        Ok(start)
    }

    /// Gives pages back.
    pub(super) fn give(&mut self, start: u32, count: u32) -> MapResult<()> {
        let range = start..start.saturating_add(count);
        let inside = range.end <= self.header.pages && range.start > FIRST;
        if !inside || range.clone().any(pages::is_system) {
            return Err(corrupt(place(start), "a page that cannot be given back"));
        }
        pages::mark(self.region, range, false)?;
        self.header.free = self.header.free.saturating_add(count);
        self.header.hint = self.header.hint.min(start);
        Ok(())
    }

    /// Demands `count` free pages, before a change that could not be taken back begins.
    pub(super) fn demand(&self, count: u32) -> MapResult<()> {
        match self.header.free >= count || cfg!(fyris_mutant = "map_full_in_the_middle") {
            true => Ok(()),
            false => Err(pages::full(count, self.header.free)),
        }
    }

    /// Writes a value to pages of its own.
    pub(super) fn store(&mut self, value: &[u8]) -> MapResult<u32> {
        let start = self.take(pages_of(value.len()))?;
        self.bytes(place(start)..place(start) + value.len())?
            .copy_from_slice(value);
        Ok(start)
    }

    /// Returns the bytes of a range, about to be written.
    pub(super) fn bytes(&mut self, range: Range<usize>) -> MapResult<&mut [u8]> {
        self.region.edit(range)
    }

    /// Gives the pages of a cell's value back, if it has any.
    pub(super) fn give_extent(&mut self, extent: Option<(u32, u32)>) -> MapResult<()> {
        match extent {
            Some((start, count)) => self.give(start, count),
            None => Ok(()),
        }
    }

    /// Builds a node of these cells, which must not lie in the region.
    pub(super) fn rebuild(
        &mut self,
        page: u32,
        level: u32,
        left: u32,
        cells: &[Cell<'_>],
    ) -> MapResult<()> {
        edit::build(page_mut(self.region, page)?, level, left, cells)
            .ok_or_else(|| corrupt(place(page), "cells that do not fit their node"))
    }

    /// Takes a slot out of a node.
    pub(super) fn erase(&mut self, page: u32, level: u32, pos: usize) -> MapResult<()> {
        let node = self.node(page, level)?;
        if pos >= node.count() {
            return Err(corrupt(place(page), "a node that changed under its parent"));
        }
        let shape = edit::NodeShape::from(&node);
        let (at, size) = (node.cell_at(pos), node.cell(pos)?.size());
        edit::erase(page_mut(self.region, page)?, shape, pos, at, size)
            .ok_or_else(|| corrupt(place(page), "a node whose sizes contradict each other"))
    }
}

/// A copy of a node, so that its cells can be read while the region is written.
pub(super) struct Snapshot([u8; NODE]);

impl Snapshot {
    pub(super) fn of(node: &Node<'_>) -> Snapshot {
        Snapshot(*node.bytes())
    }

    /// Returns all cells, in order.
    pub(super) fn cells(&self, level: u32) -> MapResult<Vec<Cell<'_>>> {
        let node = Node::load(&self.0, 0, level)?;
        (0..node.count()).map(|pos| node.cell(pos)).collect()
    }

    /// Returns the first child of an inner node.
    pub(super) fn left(&self) -> u32 {
        super::layout::u32_at(&self.0, 12)
    }
}
