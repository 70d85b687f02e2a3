//! An inner node under construction: the children and separators of an old one, edited.

use std::mem::MaybeUninit;

use super::FANOUT;
use super::inner::{Inner, Node};
use super::key::{Separator, TreeKey};

/// Children a draft has room for: two nodes being joined, or one that is about to split.
const ROOM: usize = FANOUT + 2;

/// A separator on its way into a node: an owned value, and its head where that is all of it.
pub(super) struct Sep<K: TreeKey + ?Sized> {
    pub(super) head: u64,
    pub(super) sep: MaybeUninit<K::Sep>,
}

/// See the module. Does not own its separators: they are moved from and to nodes bitwise.
pub(super) struct Draft<K: TreeKey + ?Sized> {
    pub(super) level: u8,
    len: usize,
    children: [*mut Node; ROOM],
    heads: [u64; ROOM],
    seps: [MaybeUninit<K::Sep>; ROOM],
}

impl<K: TreeKey + ?Sized> Draft<K> {
    /// A node with one child.
    pub(super) fn single(level: usize, child: *mut Node) -> Self {
        let mut draft = Self {
            level: level as u8,
            len: 1,
            children: [std::ptr::null_mut(); ROOM],
            heads: [0; ROOM],
            seps: [const { MaybeUninit::uninit() }; ROOM],
        };
        draft.children[0] = child;
        draft
    }

    /// A copy of a node. The caller holds its lock and will retire it.
    pub(super) fn of(node: &Inner<K>) -> Self {
        let mut draft = Self::single(node.level(), node.child(0));
        draft.append(node);
        draft
    }

    /// Adds the separators of `node` and its children but the first, which the caller has added.
    fn append(&mut self, node: &Inner<K>) {
        for at in 1..node.len() {
            // SAFETY: a bitwise move: the node's copy is never dropped once the node is retired.
            let sep = unsafe { std::ptr::read(&raw const node.seps()[at - 1]) };
            let sep = Sep {
                head: node.heads()[at - 1],
                sep: MaybeUninit::new(sep),
            };
            self.push(sep, node.child(at));
        }
    }

    /// Adds a separator and all of another node behind it, as [`Draft::of`].
    pub(super) fn join(&mut self, sep: Sep<K>, node: &Inner<K>) {
        self.push(sep, node.child(0));
        self.append(node);
    }

    fn push(&mut self, sep: Sep<K>, child: *mut Node) {
        self.heads[self.len - 1] = sep.head;
        self.seps[self.len - 1] = sep.sep;
        self.children[self.len] = child;
        self.len += 1;
    }

    /// How many children.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn children(&self) -> &[*mut Node] {
        &self.children[..self.len]
    }

    /// The separators; the first `len - 1` are initialised.
    pub(super) fn seps(&self) -> &[MaybeUninit<K::Sep>] {
        &self.seps
    }

    /// Puts two children in the place of the one at `at`.
    pub(super) fn split(&mut self, at: usize, left: *mut Node, sep: Sep<K>, right: *mut Node) {
        self.heads[at..self.len].rotate_right(1);
        self.seps[at..self.len].rotate_right(1);
        self.children[at + 1..=self.len].rotate_right(1);
        self.heads[at] = sep.head;
        self.seps[at] = sep.sep;
        self.children[at] = left;
        self.children[at + 1] = right;
        self.len += 1;
    }

    /// Puts one child in the place of those at `at` and `at + 1`; returns what stood between them.
    pub(super) fn unsplit(&mut self, at: usize, child: *mut Node) -> Sep<K> {
        let sep = self.sep(at);
        self.heads[at..self.len - 1].rotate_left(1);
        self.seps[at..self.len - 1].rotate_left(1);
        self.children[at + 1..self.len].rotate_left(1);
        self.children[at] = child;
        self.len -= 1;
        sep
    }

    /// Moves out the separator to the right of child `at`.
    pub(super) fn sep(&self, at: usize) -> Sep<K> {
        assert!(at + 1 < self.len);
        // SAFETY: a bitwise move; drafts do not drop.
        let sep = unsafe { std::ptr::read(&raw const self.seps[at]) };
        Sep {
            head: self.heads[at],
            sep,
        }
    }

    /// The bytes shared by all separators between the children `from..to`.
    pub(super) fn prefix(&self, from: usize, to: usize) -> usize {
        assert!(from < to && to <= self.len);
        if K::EXACT || to - from < 2 {
            return 0;
        }
        // SAFETY: the separators below `len - 1` are initialised.
        let (first, last) = unsafe {
            (
                self.seps[from].assume_init_ref(),
                self.seps[to - 2].assume_init_ref(),
            )
        };
        first.common(last)
    }

    /// The head of the separator to the right of child `at`, behind `skip` bytes.
    pub(super) fn head(&self, at: usize, skip: usize) -> u64 {
        assert!(at + 1 < self.len);
        if K::EXACT {
            return self.heads[at];
        }
        // SAFETY: as in `prefix`.
        unsafe { self.seps[at].assume_init_ref() }.head(skip)
    }
}
