//! What keeps the depth of a search tree logarithmic.

use fyris_index::Entry;
use fyris_index::key::TreeKey;
use smallvec::SmallVec;

use super::node::{ChildLink, ChildSide, HIGH, Path, SearchKey, side};

/// The rule by which a [`SearchTree`](super::SearchTree) chooses its shape.
///
/// # Safety
///
/// The functions keep invariant ONE_LINK: each node that they are given is in what they return, or behind the links
/// that they are given, once; but the one that `unlink` returns.
pub unsafe trait Balance: Send + Sync + 'static {
    /// The tag of a node without children.
    const LEAF: u16;

    /// Returns the number of levels of a tree, if the rule keeps it.
    ///
    /// # Safety
    ///
    /// No other thread changes the tree.
    unsafe fn depth<E: Entry>(_root: ChildLink<E>) -> Option<usize> {
        None
    }

    /// Restores the balance after a new node, which has no children, has been put behind `link`; `path` are the links
    /// that lead there.
    ///
    /// # Safety
    ///
    /// The links are those of one tree, which the caller has alone.
    unsafe fn added<E: Entry>(path: &mut Path<E>, link: *mut ChildLink<E>);

    /// Takes the entry of the node behind `link` out of the tree, and returns the node that is to be freed: that one,
    /// or the one from which it has taken another entry.
    ///
    /// # Safety
    ///
    /// As for `added`; the link is not null.
    unsafe fn unlink<E: Entry>(path: &mut Path<E>, link: *mut ChildLink<E>) -> ChildLink<E>;

    /// Returns a node that has about as many entries below as above it. `root` is not null.
    ///
    /// # Safety
    ///
    /// No other thread changes the tree.
    unsafe fn middle<E: Entry<Key: TreeKey>>(root: ChildLink<E>) -> ChildLink<E>;

    /// Makes one tree of two, whose nodes are all above those of the other.
    ///
    /// # Safety
    ///
    /// The caller has both trees alone.
    unsafe fn join<E: Entry>(below: ChildLink<E>, above: ChildLink<E>) -> ChildLink<E>;

    /// Makes two trees of one: the nodes below the target, and the others.
    ///
    /// # Safety
    ///
    /// The caller has the tree alone.
    unsafe fn split<E: Entry<Key: TreeKey>>(
        root: ChildLink<E>,
        target: &SearchKey<'_, E::Key>,
    ) -> [ChildLink<E>; 2];

    /// Panics if the shape is not what the rule asks for.
    ///
    /// # Safety
    ///
    /// No other thread changes the tree.
    #[cfg(test)]
    unsafe fn check<E: Entry>(root: ChildLink<E>);
}

/// Turns the edge between a node and its child on one side: the child comes up, and is returned.
///
/// # Safety
///
/// The caller has the tree alone; neither is null.
pub(super) unsafe fn rotated<E: Entry>(node: ChildLink<E>, up: ChildSide) -> ChildLink<E> {
    // SAFETY: both live (invariant ONE_LINK), and no reference to them is held.
    unsafe {
        let child = (*node).children[up];
        (*node).children[up] = (*child).children[HIGH - up];
        if cfg!(fyris_mutant = "sequential_rotation_loses") {
            (*node).children[up] = std::ptr::null_mut();
        }
        (*child).children[HIGH - up] = node;
        child
    }
}

/// Returns the link behind which a child lies.
///
/// # Safety
///
/// The caller has the tree alone; the node is not null.
#[inline]
pub(super) unsafe fn below<E>(node: ChildLink<E>, side: ChildSide) -> *mut ChildLink<E> {
    // SAFETY: the node lives (invariant ONE_LINK).
    unsafe { &raw mut (*node).children[side] }
}

/// A node on a search path, and the side on which it went on.
type Turn<E> = (ChildLink<E>, ChildSide);

/// Returns the nodes on the search path of the target, from the root to a node without a child where it would go
/// on.
///
/// # Safety
///
/// No other thread changes the tree.
pub(super) unsafe fn turns<E: Entry<Key: TreeKey>>(
    mut node: ChildLink<E>,
    target: &SearchKey<'_, E::Key>,
) -> SmallVec<[Turn<E>; 48]> {
    let mut turns = SmallVec::new();
    while !node.is_null() {
        // SAFETY: the node lives (invariant ONE_LINK).
        let side = unsafe { side(target.cmp(&*node)) };
        turns.push((node, side));
        // SAFETY: as above.
        node = unsafe { (*node).children[side] };
    }
    turns
}
