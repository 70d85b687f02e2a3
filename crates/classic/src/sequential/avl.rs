//! AVL trees: the heights of the children of a node differ by one at most.
//!
//! The tag of a node is its height. A tree of `n` entries is at most 1.44 log n high.

use fyris_index::Entry;
use fyris_index::key::TreeKey;

use super::balance::{Balance, below, rotated, turns};
use super::node::{ChildLink, HIGH, LOW, Path, SearchKey};

/// The balance of Adelson-Velskii and Landis.
pub enum Avl {}

/// Returns the height of a tree.
///
/// # Safety
///
/// No other thread changes the tree.
#[inline]
unsafe fn height<E: Entry>(root: ChildLink<E>) -> u16 {
    if root.is_null() {
        return 0;
    }
    // SAFETY: the node lives (invariant ONE_LINK).
    unsafe { (*root).tag() }
}

/// Computes the height of a node from those of its children.
///
/// # Safety
///
/// The caller has the tree alone; the node is not null.
unsafe fn measure<E: Entry>(node: ChildLink<E>) {
    // SAFETY: the node lives (invariant ONE_LINK), and no reference to it is held.
    unsafe {
        let [low, high] = (*node).children;
        (*node).set_tag(height(low).max(height(high)) + 1);
    }
}

/// Rotates a node whose children differ by two at most; returns the node in its place.
///
/// # Safety
///
/// As for `measure`.
unsafe fn balanced<E: Entry>(node: ChildLink<E>) -> ChildLink<E> {
    // SAFETY: nodes that are in the tree live (invariant ONE_LINK); a child that is higher than another is not null.
    unsafe {
        let [low, high] = (*node).children.map(|child| height(child));
        if low.abs_diff(high) < 2 {
            measure(node);
            return node;
        }
        let up = if high > low { HIGH } else { LOW };
        let child = (*node).children[up];
        let [low, high] = (*child).children.map(|child| height(child));
        if up == HIGH && low > high || up == LOW && high > low {
            (*node).children[up] = rotated(child, HIGH - up);
            measure(child);
        }
        let root = rotated(node, up);
        measure(node);
        measure(root);
        root
    }
}

/// Balances the nodes behind the links of a path, upwards, until one has its old height.
///
/// # Safety
///
/// The links are those of one tree, which the caller has alone.
unsafe fn rebalance<E: Entry>(path: &mut Path<E>) {
    while let Some(link) = path.pop() {
        // SAFETY: the links lie in living nodes or in the tree itself, and those of a path are not null.
        unsafe {
            let before = height(*link);
            *link = balanced(*link);
            if height(*link) == before {
                return;
            }
        }
    }
}

/// Makes one tree of two and a node between them. O(difference of the heights).
///
/// # Safety
///
/// The caller has both trees and the node alone; the node is not null.
unsafe fn join_by<E: Entry>(
    low: ChildLink<E>,
    node: ChildLink<E>,
    high: ChildLink<E>,
) -> ChildLink<E> {
    // SAFETY: the nodes live (invariant ONE_LINK); what is higher than another tree is not null.
    unsafe {
        let (mut root, lower, side) = if height(low) > height(high) {
            (low, high, HIGH)
        } else {
            (high, low, LOW)
        };
        let (mut path, mut link) = (Path::new(), &raw mut root);
        while height(*link) > height(lower) + 1 {
            path.push(link);
            link = below(*link, side);
        }
        (*node).children[side] = lower;
        (*node).children[HIGH - side] = *link;
        measure(node);
        *link = node;
        rebalance(&mut path);
        root
    }
}

// SAFETY: rotations and joins move links; `unlink` returns the node whose link it overwrites.
unsafe impl Balance for Avl {
    const LEAF: u16 = 1;

    unsafe fn depth<E: Entry>(root: ChildLink<E>) -> Option<usize> {
        // SAFETY: the caller's contract.
        Some(usize::from(unsafe { height(root) }))
    }

    #[inline]
    unsafe fn added<E: Entry>(path: &mut Path<E>, _: *mut ChildLink<E>) {
        // SAFETY: the caller's contract.
        unsafe { rebalance(path) }
    }

    unsafe fn unlink<E: Entry>(path: &mut Path<E>, link: *mut ChildLink<E>) -> ChildLink<E> {
        // SAFETY: the nodes live (invariant ONE_LINK), and no reference to them is held.
        unsafe {
            let node = *link;
            let [low, high] = (*node).children;
            let gone = if low.is_null() || high.is_null() {
                *link = if low.is_null() { high } else { low };
                node
            } else {
                path.push(link);
                let mut next = below(node, HIGH);
                while !(**next).children[LOW].is_null() {
                    path.push(next);
                    next = below(*next, LOW);
                }
                let next_node = *next;
                *next = (*next_node).children[HIGH];
                (*node).take_entry(&*next_node);
                next_node
            };
            rebalance(path);
            gone
        }
    }

    unsafe fn middle<E: Entry<Key: TreeKey>>(root: ChildLink<E>) -> ChildLink<E> {
        root
    }

    unsafe fn join<E: Entry>(low: ChildLink<E>, high: ChildLink<E>) -> ChildLink<E> {
        if high.is_null() {
            return low;
        }
        // SAFETY: the nodes live (invariant ONE_LINK).
        unsafe {
            let (mut rest, mut path) = (high, Path::new());
            let mut link = &raw mut rest;
            while !(**link).children[LOW].is_null() {
                path.push(link);
                link = below(*link, LOW);
            }
            let first = Self::unlink(&mut path, link);
            join_by(low, first, rest)
        }
    }

    unsafe fn split<E: Entry<Key: TreeKey>>(
        root: ChildLink<E>,
        target: &SearchKey<'_, E::Key>,
    ) -> [ChildLink<E>; 2] {
        let mut parts = [std::ptr::null_mut(); 2];
        // SAFETY: the nodes live (invariant ONE_LINK). Each node on the search path goes to one of the parts, with the
        // child that the search did not go to.
        unsafe {
            for (node, side) in turns(root, target).into_iter().rev() {
                parts[HIGH - side] = match side {
                    HIGH => join_by((*node).children[LOW], node, parts[LOW]),
                    _ => join_by(parts[HIGH], node, (*node).children[HIGH]),
                };
            }
        }
        parts
    }

    #[cfg(test)]
    unsafe fn check<E: Entry>(root: ChildLink<E>) {
        if root.is_null() {
            return;
        }
        // SAFETY: the nodes live (invariant ONE_LINK).
        unsafe {
            let [low, high] = (*root).children;
            let heights = (height(low), height(high));
            assert!(heights.0.abs_diff(heights.1) < 2, "{heights:?}");
            assert_eq!((*root).tag(), heights.0.max(heights.1) + 1);
            Self::check(low);
            Self::check(high);
        }
    }
}
