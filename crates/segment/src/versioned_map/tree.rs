//! Ways through the tree: from the root to an entry, and on to its neighbours.

use super::header::Header;
use super::layout::{MAX_LEVEL, corrupt, place};
use super::node::{Cell, LONG, Node};
use super::{MapError, MapResult};

/// An entry: key and value, in the region.
pub(super) type Entry<'a> = (&'a [u8], &'a [u8]);

/// A node on the way down, and where the way goes on: a child of an inner node, a slot of a leaf.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub page: u32,
    pub pos: usize,
}

/// The way from the root to a place in a leaf.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    steps: [Step; MAX_LEVEL + 1],
    root_level: u32,
}

impl Path {
    /// Makes a way that begins at the header's root and has no steps yet.
    fn new(header: &Header) -> Path {
        Path {
            steps: [Step::default(); MAX_LEVEL + 1],
            root_level: header.level,
        }
    }

    /// Returns the level of the node the way begins with.
    pub(super) fn root_level(&self) -> u32 {
        self.root_level
    }

    /// Returns the step at a level.
    pub(super) fn step(&self, level: u32) -> Step {
        self.steps[level as usize]
    }

    pub(super) fn leaf(&self) -> Step {
        self.steps[0]
    }

    fn set(&mut self, level: u32, page: u32, pos: usize) {
        self.steps[level as usize] = Step { page, pos };
    }
}

/// The result of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position<'a> {
    pub leaf: Node<'a>,
    pub pos: usize,
    pub exact: bool,
}

/// Finds the leaf responsible for a key, and the key's place in it. The hot path of every read.
pub(super) fn find<'a>(bytes: &'a [u8], header: &Header, key: &[u8]) -> MapResult<Position<'a>> {
    let mut node = Node::load(bytes, header.root, header.level)?;
    for level in (0..header.level).rev() {
        node = Node::load(bytes, node.child(node.child_for(key)?)?, level)?;
    }
    let found = node.find(key)?;
    Ok(Position {
        leaf: node,
        pos: found.pos,
        exact: found.exact,
    })
}

/// Finds the leaf responsible for a key, the way to it, and the key's place in it.
pub(super) fn find_path<'a>(
    bytes: &'a [u8],
    header: &Header,
    key: &[u8],
) -> MapResult<(Path, Position<'a>)> {
    let mut path = Path::new(header);
    let mut page = header.root;
    for level in (1..=header.level).rev() {
        let node = Node::load(bytes, page, level)?;
        let index = node.child_for(key)?;
        path.set(level, page, index);
        page = node.child(index)?;
    }
    let leaf = Node::load(bytes, page, 0)?;
    let found = leaf.find(key)?;
    path.set(0, page, found.pos);
    Ok((
        path,
        Position {
            leaf,
            pos: found.pos,
            exact: found.exact,
        },
    ))
}

/// Returns the value of a leaf's cell, wherever it is.
pub(super) fn value<'a>(bytes: &'a [u8], leaf: &Node<'a>, cell: &Cell<'a>) -> MapResult<&'a [u8]> {
    let Some((page, _)) = cell.extent() else {
        return Ok(cell.tail);
    };
    let at = place(page);
    let len = (cell.word & !LONG) as usize;
    bytes
        .get(at..at.saturating_add(len))
        .ok_or_else(|| corrupt(leaf.at(), "a value outside the map"))
}

/// A place between entries or on one, which moves along the tree.
///
/// A hostile tree may lead to one node twice; no walk visits more nodes than the map has
/// pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    path: Path,
    leaf: Node<'a>,
    budget: u32,
}

/// Whether a walk goes up or down the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    First,
    Last,
}

impl<'a> Walk<'a> {
    /// Stands on `key`, or in front of the first larger one. Says whether it is there.
    pub(super) fn seek(
        bytes: &'a [u8],
        header: &Header,
        key: &[u8],
    ) -> MapResult<(Walk<'a>, bool)> {
        let (path, position) = find_path(bytes, header, key)?;
        let walk = Walk {
            bytes,
            path,
            leaf: position.leaf,
            budget: header.pages,
        };
        Ok((walk, position.exact))
    }

    /// Stands on the first entry, or on the last; if the leaf there is empty, on its end.
    pub(super) fn to_end(bytes: &'a [u8], header: &Header, side: Side) -> MapResult<Walk<'a>> {
        let path = Path::new(header);
        let leaf = Node::load(bytes, header.root, header.level)?;
        let mut walk = Walk {
            bytes,
            path,
            leaf,
            budget: header.pages,
        };
        walk.descend(header.root, header.level, side)?;
        Ok(walk)
    }

    /// Stands where a walk over the same bytes stood before.
    pub(super) fn resume(bytes: &'a [u8], header: &Header, path: Path) -> MapResult<Walk<'a>> {
        let leaf = Node::load(bytes, path.leaf().page, 0)?;
        Ok(Walk {
            bytes,
            path,
            leaf,
            budget: header.pages,
        })
    }

    pub(super) fn path(&self) -> Path {
        self.path
    }

    /// Returns the position of the walk. Two walks over one map stand at the same place if these are equal.
    pub(super) fn place(&self) -> Step {
        self.path.leaf()
    }

    /// Returns the entry that the walk stands on.
    pub(super) fn entry(&self) -> MapResult<Option<Entry<'a>>> {
        let pos = self.path.leaf().pos;
        if pos >= self.leaf.count() {
            return Ok(None);
        }
        let cell = self.leaf.cell(pos)?;
        Ok(Some((cell.key, value(self.bytes, &self.leaf, &cell)?)))
    }

    /// Returns the key of that entry.
    pub(super) fn key(&self) -> MapResult<Option<&'a [u8]>> {
        let pos = self.path.leaf().pos;
        match pos < self.leaf.count() {
            true => Ok(Some(self.leaf.cell(pos)?.key)),
            false => Ok(None),
        }
    }

    /// Returns the error for an entry whose key is on the wrong side of another.
    pub(super) fn disorder(&self) -> MapError {
        corrupt(self.leaf.at(), "keys that do not ascend")
    }

    /// Goes to the next entry; whether there is one.
    pub(super) fn forward(&mut self) -> MapResult<bool> {
        let pos = self.path.leaf().pos.saturating_add(1);
        self.path.steps[0].pos = pos;
        self.settle()
    }

    /// Goes from the end of a leaf to the first entry of the leaves behind it; returns whether there is one.
    pub(super) fn settle(&mut self) -> MapResult<bool> {
        while self.path.leaf().pos >= self.leaf.count() {
            if !self.hop(Side::First)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes to the entry before; whether there is one.
    pub(super) fn backward(&mut self) -> MapResult<bool> {
        while self.path.leaf().pos == 0 {
            if !self.hop(Side::Last)? {
                return Ok(false);
            }
            // Behind the last entry, so that an empty leaf is passed over too.
            self.path.steps[0].pos = self.leaf.count();
        }
        self.path.steps[0].pos -= 1;
        Ok(true)
    }

    /// Goes to the neighbouring leaf; stays where it is if there is none.
    fn hop(&mut self, side: Side) -> MapResult<bool> {
        for level in 1..=self.path.root_level {
            let Step { page, pos } = self.path.step(level);
            let node = Node::load(self.bytes, page, level)?;
            let next = match side {
                Side::First if pos < node.count() => pos + 1,
                Side::Last if pos > 0 => pos - 1,
                _ => continue,
            };
            self.path.set(level, page, next);
            self.descend(node.child(next)?, level - 1, side)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Goes down to the first or last place below a node.
    fn descend(&mut self, mut page: u32, level: u32, side: Side) -> MapResult<()> {
        for level in (1..=level).rev() {
            let node = self.visit(page, level)?;
            let index = match side {
                Side::First => 0,
                Side::Last => node.count(),
            };
            self.path.set(level, page, index);
            page = node.child(index)?;
        }
        self.leaf = self.visit(page, 0)?;
        let pos = match side {
            Side::First => 0,
            Side::Last => self.leaf.count().saturating_sub(1),
        };
        self.path.set(0, page, pos);
        Ok(())
    }

    fn visit(&mut self, page: u32, level: u32) -> MapResult<Node<'a>> {
        self.budget = self
            .budget
            .checked_sub(1)
            .ok_or_else(|| corrupt(place(page), "a tree that leads in circles"))?;
        Node::load(self.bytes, page, level)
    }
}
