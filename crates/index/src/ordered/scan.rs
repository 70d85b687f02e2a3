//! Scans: one cursor over many leaves.

use std::ops::Bound;

use fyris_sync::reclaim::Guard;

use super::LeafTree;
use super::cursor::Cursor;
use super::index::Ordered;
use super::item::{Handle, Item};
use super::leaf::Leaf;
use crate::catree::{Inner, Node};
use crate::key::TreeKey;
use crate::key::probe::{ByBound, End, Probe};
use crate::{Batch, Entry, Range};

/// Entries at the beginning of a scan that are prefetched at once, since they are looked at first.
const FIRST: usize = 24;

impl<E: Entry> Ordered<E>
where
    E::Key: TreeKey,
{
    /// Appends the entries of a range upwards, each leaf as it was at one moment, until there are `want` of them;
    /// returns whether there may be more.
    pub(super) fn scan_leaves(
        &self,
        (from, to): Range<'_, E::Key>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        if self.tree.is_bare() {
            return false;
        }
        let (already, enough) = (out.len(), out.len() + want.max(1));
        let mut cursor = Cursor::before(&self.tree, from, pin);
        loop {
            let stop = cursor.below_end(to);
            let start = out.len();
            while let Some((_, item)) = cursor.next_below(stop) {
                out.push(item.0);
            }
            if start - already < FIRST {
                out[start..].iter().for_each(|&e| Handle(e).prefetch());
            }
            if stop < cursor.leaf_len() {
                return false;
            }
            if out.len() >= enough {
                return true;
            }
            if !cursor.next_leaf_alone() {
                return false;
            }
        }
    }

    /// Appends the first entries of leaves that cut the tree into `parts` of about the same number of nodes. O(parts),
    /// plus inner nodes.
    pub(super) fn split_at_nodes(&self, parts: usize, pin: &impl Guard, out: &mut Batch<E>) {
        let nodes = self.tree.row(parts, pin);
        for part in 1..parts {
            let at = part * nodes.len() / parts;
            if at > (part - 1) * nodes.len() / parts {
                out.extend(nodes[at].first().map(|item: &Handle<E>| item.0));
            }
        }
    }

    /// Appends the entries of a range downwards, each leaf as it was at one moment, until there are `want` of them;
    /// returns whether there may be more.
    pub(super) fn scan_leaves_back(
        &self,
        (from, to): Range<'_, E::Key>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        if self.tree.is_bare() {
            return false;
        }
        let (already, enough) = (out.len(), out.len() + want.max(1));
        let mut cursor = Cursor::behind(&self.tree, to, pin);
        loop {
            let stop = cursor.below_start(from);
            let start = out.len();
            while let Some((_, item)) = cursor.prev_above(stop) {
                out.push(item.0);
            }
            if start - already < FIRST {
                out[start..].iter().for_each(|&e| Handle(e).prefetch());
            }
            if stop > 0 {
                return false;
            }
            if out.len() >= enough {
                return true;
            }
            if !cursor.prev_leaf_alone() {
                return false;
            }
        }
    }

    /// Returns about which part of the entries lies below the bound: a guess from one descent, that takes the children
    /// of a node to be equally full.
    pub(super) fn rank(&self, bound: Bound<&E::Key>, pin: &impl Guard) -> f64 {
        match bound {
            Bound::Unbounded => self.tree.estimated_rank(&End::First, false, pin),
            Bound::Included(key) => self.tree.estimated_rank(&ByBound(key), false, pin),
            Bound::Excluded(key) => self.tree.estimated_rank(&ByBound(key), true, pin),
        }
    }
}

/// Nodes of a level for each part that a tree is cut into: the more, the more even the parts.
const GRAIN: usize = 16;

/// A node of any level.
enum Piece<'p, I: Item> {
    Inner(&'p Inner<I::Key>),
    Leaf(&'p Leaf<I>),
}

impl<'p, I: Item> Piece<'p, I> {
    /// Returns the child `at` of a node.
    fn child(parent: &Inner<I::Key>, at: usize) -> Self {
        let child: *const Node = parent.child(at);
        // SAFETY: (RECLAIM) a node of level 1 has leaves as children, one above it inner nodes; the child was in the
        // tree at a moment since the thread was pinned (invariant FROZEN_NODE).
        unsafe {
            if parent.level() == 1 {
                Piece::Leaf(&*child.cast::<Leaf<I>>())
            } else {
                Piece::Inner(&*child.cast::<Inner<I::Key>>())
            }
        }
    }

    /// Returns the lowest entry, if the leaf where it would be has one.
    fn first(&self) -> Option<&'p I> {
        match self {
            Piece::Leaf(leaf) => {
                let view = leaf.view();
                (view.len() > 0).then(|| view.item(0))
            }
            Piece::Inner(node) => Piece::<'p, I>::child(node, 0).first(),
        }
    }
}

impl<I: Item> LeafTree<I> {
    /// Returns the nodes of the highest level that has enough of them to cut the tree into parts.
    fn row<'p>(&'p self, parts: usize, pin: &'p impl Guard) -> Vec<Piece<'p, I>> {
        let mut row = vec![Piece::Inner(self.planted().root(pin))];
        while row.len() < parts.saturating_mul(GRAIN) {
            let below: Vec<_> = row.iter().flat_map(children).collect();
            if below.is_empty() {
                break;
            }
            row = below;
        }
        row
    }

    /// Returns about which part of the entries lies below the probe; with `past`, the entry at the probe counts as
    /// below.
    fn estimated_rank(&self, probe: &impl Probe<I::Key>, past: bool, pin: &impl Guard) -> f64 {
        let mut piece = Piece::<I>::Inner(self.planted().root(pin));
        // The shares below the piece's ends: what is behind everything is at 1.0, whatever is rounded on the way.
        let (mut low, mut high) = (0.0, 1.0);
        loop {
            let node = match piece {
                Piece::Inner(node) => node,
                Piece::Leaf(leaf) => {
                    let view = leaf.view();
                    let (at, found) = view.search(probe);
                    return part(low, high, at + usize::from(past && found), view.len());
                }
            };
            let at = node.find(probe);
            (low, high) = (
                part(low, high, at, node.len()),
                part(low, high, at + 1, node.len()),
            );
            piece = Piece::child(node, at);
        }
    }
}

/// Returns the place `at` of `len` equal steps from `low` to `high`; `low` if there are none.
fn part(low: f64, high: f64, at: usize, len: usize) -> f64 {
    if at > 0 && at == len {
        return high;
    }
    low + (high - low) * at as f64 / len.max(1) as f64
}

/// Returns the children of an inner node; a leaf has none.
fn children<'p, I: Item>(piece: &Piece<'p, I>) -> Vec<Piece<'p, I>> {
    match piece {
        Piece::Leaf(_) => Vec::new(),
        Piece::Inner(node) => (0..node.len()).map(|at| Piece::child(node, at)).collect(),
    }
}
