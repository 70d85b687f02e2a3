//! Walks over the entries of a search tree in their order, both ways.

use std::cmp::Ordering;
use std::ops::Bound;

use fyris_index::key::TreeKey;
use fyris_index::prefetch;
use fyris_index::{Batch, Entry, Range};
use smallvec::SmallVec;

use super::node::{ChildLink, ChildSide, HIGH, LOW, SearchKey, TreeNode};

/// A walk: upwards, or downwards if `BACK`.
pub(super) struct TreeWalk<'t, E, const BACK: bool> {
    /// The nodes that are still to be met and whose subtree the walk has entered, the next one last.
    ahead: SmallVec<[&'t TreeNode<E>; 48]>,
}

impl<'t, E: Entry<Key: TreeKey>, const BACK: bool> TreeWalk<'t, E, BACK> {
    /// The side that a walk comes to first.
    const NEAR: ChildSide = if BACK { HIGH } else { LOW };
    /// The order of a key and those that a walk meets before it.
    const BEHIND: Ordering = if BACK {
        Ordering::Less
    } else {
        Ordering::Greater
    };

    /// Begins a walk at a bound.
    ///
    /// # Safety
    ///
    /// No thread changes the tree during `'t`.
    pub(super) unsafe fn new(root: ChildLink<E>, from: Bound<&E::Key>) -> Self {
        let mut walk = Self {
            ahead: SmallVec::new(),
        };
        let (key, meets) = match from {
            Bound::Unbounded => {
                walk.enter(root);
                return walk;
            }
            Bound::Included(key) => (key, true),
            Bound::Excluded(key) => (key, false),
        };
        let (target, mut link) = (SearchKey::new(key), root);
        // SAFETY: the caller's contract: the nodes of the tree live and do not change (invariant ONE_LINK).
        while let Some(node) = unsafe { link.as_ref() } {
            let order = target.cmp(node);
            if order == Self::BEHIND || order == Ordering::Equal && !meets {
                link = node.children[HIGH - Self::NEAR];
                continue;
            }
            walk.ahead.push(node);
            if order == Ordering::Equal {
                break;
            }
            link = node.children[Self::NEAR];
        }
        walk
    }

    /// Enters a subtree of the tree that `new` was given.
    fn enter(&mut self, mut link: ChildLink<E>) {
        // SAFETY: as in `new`, whose caller's contract lasts for `'t`.
        while let Some(node) = unsafe { link.as_ref() } {
            prefetch::read(node.children[HIGH - Self::NEAR]);
            self.ahead.push(node);
            link = node.children[Self::NEAR];
        }
    }

    /// Appends `want` entries up to a bound, one at least; returns whether there are more.
    pub(super) fn append(mut self, to: Bound<&E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        let to = to.map(SearchKey::new);
        for left in (0..=want.max(1)).rev() {
            let Some(node) = self.next().filter(|node| Self::is_before(node, &to)) else {
                return false;
            };
            if left > 0 {
                out.push(node.entry());
            }
        }
        true
    }

    /// Returns whether a walk that ends at the bound meets the node.
    fn is_before(node: &TreeNode<E>, to: &Bound<SearchKey<'_, E::Key>>) -> bool {
        match to {
            Bound::Unbounded => true,
            Bound::Included(to) => to.cmp(node) != Self::BEHIND.reverse(),
            Bound::Excluded(to) => to.cmp(node) == Self::BEHIND,
        }
    }
}

impl<'t, E: Entry<Key: TreeKey>, const BACK: bool> Iterator for TreeWalk<'t, E, BACK> {
    type Item = &'t TreeNode<E>;

    fn next(&mut self) -> Option<&'t TreeNode<E>> {
        let node = self.ahead.pop()?;
        self.enter(node.children[HIGH - Self::NEAR]);
        Some(node)
    }
}

/// Appends the entries of a range upwards, at least `want` if there are that many; returns whether there may be more.
///
/// # Safety
///
/// No thread changes the tree.
pub(super) unsafe fn scan<E: Entry<Key: TreeKey>>(
    root: ChildLink<E>,
    (from, to): Range<'_, E::Key>,
    want: usize,
    out: &mut Batch<E>,
) -> bool {
    // SAFETY: the caller's contract.
    unsafe { TreeWalk::<E, false>::new(root, from) }.append(to, want, out)
}

/// Appends the entries of a range downwards, at least `want` if there are that many; returns whether there may be more.
///
/// # Safety
///
/// No thread changes the tree.
pub(super) unsafe fn scan_back<E: Entry<Key: TreeKey>>(
    root: ChildLink<E>,
    (from, to): Range<'_, E::Key>,
    want: usize,
    out: &mut Batch<E>,
) -> bool {
    // SAFETY: the caller's contract.
    unsafe { TreeWalk::<E, true>::new(root, to) }.append(from, want, out)
}
