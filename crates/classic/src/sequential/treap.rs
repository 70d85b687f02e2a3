//! Treaps: search trees by key, heaps by a priority that has nothing to do with the key (Aragon and Seidel; the base
//! nodes of one of the two contention adapting trees of the 2014 paper, section 4).
//!
//! The priority of a node is its address, mixed: it takes no memory, no two nodes have the same, and it is the same
//! in whichever tree the node is. So the shape depends on the nodes that are in a tree and not on how they came there,
//! and a search visits 1.39 log n nodes on average.

use fyris_index::Entry;
use fyris_index::key::TreeKey;

use super::balance::{Balance, below, rotated, turns};
use super::node::{ChildLink, HIGH, LOW, Path, SearchKey};

/// The balance of treaps.
pub enum Treap {}

/// The nodes of the highest priorities among which the middle is looked for.
const SAMPLE: usize = 15;

/// Returns a node's priority: the finalizer of MurmurHash3, which maps no two addresses to the same number.
#[inline]
fn priority<E>(node: ChildLink<E>) -> u64 {
    let mut word = node.addr() as u64;
    for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53] {
        word = (word ^ word >> 33).wrapping_mul(factor);
    }
    word ^ word >> 33
}

// SAFETY: each function moves links of nodes that it does not forget; `unlink` returns the one that it leaves out.
unsafe impl Balance for Treap {
    const LEAF: u16 = 0;

    #[inline]
    unsafe fn added<E: Entry>(path: &mut Path<E>, mut link: *mut ChildLink<E>) {
        while let Some(above) = path.pop() {
            // SAFETY: the links of a path lie in living nodes or in the tree itself, and are not null; rotating the
            // nodes behind `above` does not move that link.
            unsafe {
                if priority(*above) > priority(*link) {
                    return;
                }
                let up = usize::from((**above).children[HIGH] == *link);
                *above = rotated(*above, up);
            }
            link = above;
        }
    }

    unsafe fn unlink<E: Entry>(_: &mut Path<E>, link: *mut ChildLink<E>) -> ChildLink<E> {
        // SAFETY: the nodes live (invariant ONE_LINK), and no reference to them is held.
        unsafe {
            let node = *link;
            let [low, high] = (*node).children;
            *link = Self::join(low, high);
            node
        }
    }

    /// Returns the median of the nodes of the highest priorities, which are a random sample of all.
    unsafe fn middle<E: Entry<Key: TreeKey>>(root: ChildLink<E>) -> ChildLink<E> {
        let (mut ahead, mut sample) = (vec![root], Vec::with_capacity(SAMPLE));
        while sample.len() < SAMPLE {
            let Some(at) = (0..ahead.len()).max_by_key(|&at| priority(ahead[at])) else {
                break;
            };
            let node = ahead.swap_remove(at);
            sample.push(node);
            // SAFETY: the node lives (invariant ONE_LINK).
            let children = unsafe { (*node).children };
            ahead.extend(children.into_iter().filter(|child| !child.is_null()));
        }
        // SAFETY: as above.
        sample.sort_unstable_by(|&a, &b| unsafe { (*a).entry().key().cmp((*b).entry().key()) });
        sample[sample.len() / 2]
    }

    unsafe fn join<E: Entry>(mut low: ChildLink<E>, mut high: ChildLink<E>) -> ChildLink<E> {
        let mut root = std::ptr::null_mut();
        let mut end = &raw mut root;
        // SAFETY: the nodes live (invariant ONE_LINK); `end` is a link of the last node taken, or `root`.
        unsafe {
            while !low.is_null() && !high.is_null() {
                if priority(low) > priority(high) {
                    *end = low;
                    end = below(low, HIGH);
                    low = *end;
                } else {
                    *end = high;
                    end = below(high, LOW);
                    high = *end;
                }
            }
            *end = if low.is_null() { high } else { low };
        }
        root
    }

    unsafe fn split<E: Entry<Key: TreeKey>>(
        root: ChildLink<E>,
        target: &SearchKey<'_, E::Key>,
    ) -> [ChildLink<E>; 2] {
        let mut parts = [std::ptr::null_mut(); 2];
        let mut ends = parts.each_mut().map(std::ptr::from_mut);
        // SAFETY: the nodes live (invariant ONE_LINK); the ends are links of the last nodes taken, or `parts`.
        unsafe {
            for (node, side) in turns(root, target) {
                // A node below the target goes to the low part, and the search on among those above it.
                let part = HIGH - side;
                *ends[part] = node;
                ends[part] = below(node, side);
            }
            for end in ends {
                *end = std::ptr::null_mut();
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
        for child in unsafe { (*root).children } {
            assert!(child.is_null() || priority(child) < priority(root));
            // SAFETY: as above.
            unsafe { Self::check(child) };
        }
    }
}
