//! The binary search tree.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Bound;

use fyris_index::key::TreeKey;
use fyris_index::{Action, Batch, Entry, Range};

use super::balance::{Balance, below, rotated};
use super::node::{ChildLink, HIGH, LOW, Path, SearchKey, TreeNode, side};
use super::walk::{self, TreeWalk};
use super::{SequentialTree, SplitTree};

/// A binary search tree, kept in shape by `B`. See the [module](super).
pub struct SearchTree<E: Entry, B> {
    pub(super) root: ChildLink<E>,
    balance: PhantomData<fn() -> B>,
}

// SAFETY: the nodes belong to the tree (invariant ONE_LINK), and the entries go where the tree goes.
unsafe impl<E: Entry + Send, B> Send for SearchTree<E, B> {}
// SAFETY: `&` only reads, and hands out copies of entries.
unsafe impl<E: Entry + Send + Sync, B> Sync for SearchTree<E, B> {}

impl<E: Entry, B> SearchTree<E, B> {
    fn of(root: ChildLink<E>) -> Self {
        Self {
            root,
            balance: PhantomData,
        }
    }

    /// Gives up the nodes.
    fn into_root(mut self) -> ChildLink<E> {
        std::mem::replace(&mut self.root, std::ptr::null_mut())
    }
}

impl<E: Entry, B> Default for SearchTree<E, B> {
    fn default() -> Self {
        Self::of(std::ptr::null_mut())
    }
}

impl<E: Entry<Key: TreeKey>, B: Balance> SequentialTree for SearchTree<E, B> {
    type Entry = E;

    fn memory(&self, entries: usize) -> usize {
        Self::memory_of(entries)
    }

    fn depth(&self) -> Option<usize> {
        // SAFETY: `&self` keeps other threads from changing the tree.
        unsafe { B::depth(self.root) }
    }

    #[inline]
    fn get(&self, key: &E::Key) -> Option<E> {
        let (target, mut link) = (SearchKey::new(key), self.root);
        // SAFETY: the nodes live and do not change while `&self` lasts (invariant ONE_LINK).
        while let Some(node) = unsafe { link.as_ref() } {
            match target.cmp(node) {
                Ordering::Equal => return Some(node.entry()),
                order => link = node.children[side(order)],
            }
        }
        None
    }

    #[inline]
    fn upsert<R>(&mut self, key: &E::Key, f: impl FnOnce(Option<E>) -> (Action<E>, R)) -> (R, i64) {
        let (target, mut path) = (SearchKey::new(key), Path::new());
        let mut link = &raw mut self.root;
        // SAFETY: the nodes live, and `&mut self` makes this the only thread that looks at them (invariant ONE_LINK).
        // No reference to a node is held across a change.
        unsafe {
            while let Some(node) = (*link).as_ref() {
                let order = target.cmp(node);
                if order == Ordering::Equal {
                    break;
                }
                path.push(link);
                link = below(*link, side(order));
            }
            let (action, out) = f((*link).as_ref().map(TreeNode::entry));
            let change = match action {
                Action::Put(entry) if (*link).is_null() => {
                    *link = TreeNode::alloc(target.key_prefix, entry, B::LEAF);
                    B::added(&mut path, link);
                    1
                }
                Action::Put(entry) => {
                    (**link).set_entry(entry);
                    0
                }
                Action::Remove if !(*link).is_null() => {
                    TreeNode::free(B::unlink(&mut path, link));
                    -1
                }
                Action::Remove | Action::Keep => 0,
            };
            (out, change)
        }
    }

    fn seek(&self, from: Bound<&E::Key>) -> Option<E> {
        // SAFETY: `&self` keeps writers out.
        let mut walk = unsafe { TreeWalk::<E, false>::new(self.root, from) };
        walk.next().map(TreeNode::entry)
    }

    fn seek_back(&self, from: Bound<&E::Key>) -> Option<E> {
        // SAFETY: `&self` keeps writers out.
        let mut walk = unsafe { TreeWalk::<E, true>::new(self.root, from) };
        walk.next().map(TreeNode::entry)
    }

    fn scan(&self, range: Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        // SAFETY: `&self` keeps writers out.
        unsafe { walk::scan(self.root, range, want, out) }
    }

    fn scan_back(&self, range: Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        // SAFETY: `&self` keeps writers out.
        unsafe { walk::scan_back(self.root, range, want, out) }
    }
}

impl<E: Entry<Key: TreeKey>, B: Balance> SplitTree for SearchTree<E, B> {
    fn memory_of(entries: usize) -> usize {
        entries * size_of::<TreeNode<E>>()
    }

    fn middle(&self) -> Option<(E, E)> {
        if self.root.is_null() {
            return None;
        }
        // SAFETY: `&self` keeps writers out, and the root is not null.
        let middle = unsafe { (*B::middle(self.root)).entry() };
        let beside = Bound::Excluded(middle.key());
        match self.seek_back(beside) {
            Some(below) => Some((below, middle)),
            None => Some((middle, self.seek(beside)?)),
        }
    }

    fn split_off(&mut self, key: &E::Key) -> Self {
        // SAFETY: `&mut self` has the tree alone, and both parts go to trees.
        let [low, high] = unsafe { B::split(self.root, &SearchKey::new(key)) };
        self.root = low;
        Self::of(high)
    }

    fn join(&mut self, above: Self) {
        // SAFETY: both trees are this thread's alone.
        self.root = unsafe { B::join(self.root, above.into_root()) };
    }
}

impl<E: Entry, B> Drop for SearchTree<E, B> {
    fn drop(&mut self) {
        // SAFETY: the tree is being dropped, so only this thread can reach its nodes and entries; each is unlinked, and
        // freed once. Rotations bring the lowest node to the root, without a stack.
        unsafe {
            while !self.root.is_null() {
                let node = self.root;
                if !(*node).children[LOW].is_null() {
                    self.root = rotated(node, LOW);
                    continue;
                }
                self.root = (*node).children[HIGH];
                (*node).entry().dispose();
                TreeNode::free(node);
            }
        }
    }
}
