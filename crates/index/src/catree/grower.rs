//! Inner nodes above base nodes that come in order.

use std::ptr::NonNull;

use fyris_sync::atomic::AtomicPtr;

use super::base::Base;
use super::draft::{Draft, Sep};
use super::inner::Node;
use super::{FANOUT, Tree};

/// Children of a node before the next one begins: as an ascending load leaves them, with some room for later splits.
const CHILDREN: usize = FANOUT - FANOUT / 8;

/// A tree that grows at its end, and that nobody sees before it is finished.
pub(crate) struct Grower<B: Base> {
    tree: Tree<B>,
    /// The rightmost node of each level, from the bottom up.
    levels: Vec<Option<Rightmost<B>>>,
}

/// A node that more children may come to.
struct Rightmost<B: Base> {
    draft: Draft<B::Key>,
    /// The separator between the node and the one to its left, if there is one.
    before: Option<Sep<B::Key>>,
}

impl<B: Base> Grower<B> {
    pub(crate) fn new() -> Self {
        Self {
            tree: Tree::bare(),
            levels: Vec::new(),
        }
    }

    /// Adds a base node at the end, with the separator between it and the one before, if there is one.
    ///
    /// # Safety
    ///
    /// Only the caller can reach the node, which is the tree's from here on.
    pub(crate) unsafe fn push(&mut self, base: NonNull<B>, before: Option<Sep<B::Key>>) {
        self.tree.counters.base_came();
        self.add(0, base.as_ptr().cast(), before);
    }

    fn add(&mut self, level: usize, node: *mut Node, before: Option<Sep<B::Key>>) {
        if level == self.levels.len() {
            self.levels.push(None);
        }
        let place = &mut self.levels[level];
        match (place, before) {
            (Some(Rightmost { draft, .. }), Some(before)) if draft.len() < CHILDREN => {
                draft.push(before, node);
            }
            (place, before) => {
                let draft = Draft::single(level + 1, node);
                if let Some(full) = place.replace(Rightmost { draft, before }) {
                    self.close(level, &full.draft, full.before);
                }
            }
        }
    }

    /// Makes a node, and adds it to the level above.
    fn close(&mut self, level: usize, draft: &Draft<B::Key>, before: Option<Sep<B::Key>>) {
        let node = self.tree.new_inner(draft, 0, draft.len());
        self.add(level + 1, node, before);
    }

    /// Gives the tree its root.
    fn plant(&mut self) {
        let mut level = 0;
        while let Some(Rightmost { draft, before }) =
            self.levels.get_mut(level).and_then(Option::take)
        {
            level += 1;
            if level == self.levels.len() {
                let root = self.tree.new_inner(&draft, 0, draft.len());
                self.tree.root = AtomicPtr::new(root.cast());
                return;
            }
            self.close(level - 1, &draft, before);
        }
    }

    /// Returns the tree, with this many entries; there is nothing left then.
    pub(crate) fn finish(&mut self, entries: usize) -> Tree<B> {
        self.plant();
        let tree = std::mem::replace(&mut self.tree, Tree::bare());
        tree.counters.entries.add(entries as i64);
        tree
    }
}

/// What has been added goes with the tree.
impl<B: Base> Drop for Grower<B> {
    fn drop(&mut self) {
        self.plant();
    }
}
