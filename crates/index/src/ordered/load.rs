//! Building a tree of entries that come in order, from the bottom.
//!
//! # Why
//!
//! An insert goes down to its leaf, locks it and publishes. Of entries that come in order each goes behind the one
//! before, and nobody looks at the tree yet: so leaves are filled one after the other, and the inner nodes above them
//! as in any bulk load of a B-tree. A leaf waits until the first key of the next one is known, so that it knows both of
//! its bounds, and skips what its keys share.

use std::cmp::Ordering as Order;
use std::mem::needs_drop;

use super::base::{better_skip, separator};
use super::item::Item;
use super::leaf::{Leaf, Parts};
use super::word::word;
use super::{LeafTree, SLOTS};
use crate::catree::{Bounds, Grower, Learnt, Sep};
use crate::key::TreeKey;
use crate::made::for_all;

/// A tree under construction.
pub(crate) struct Load<I: Item> {
    /// The leaves that are complete.
    grower: Grower<Leaf<I>>,
    /// The separator below the leaf that is being filled: none below the first.
    low: Option<Sep<I::Key>>,
    /// The entries of that leaf, none skipping anything.
    parts: Parts<I>,
    entries: usize,
}

/// The place of an entry among those that came before.
pub(crate) enum Placed<I> {
    /// Behind all of them.
    Last,
    /// In the place of the last one, this, which has the same key.
    Instead(I),
    /// Before the last one: it has not been put.
    Before,
}

impl<I: Item> Load<I> {
    pub(crate) fn new() -> Self {
        Self {
            grower: Grower::new(),
            low: None,
            parts: Parts::new(),
            entries: 0,
        }
    }

    /// Puts an entry, unless it belongs before one that is there. If a comparison panics it is not put.
    #[inline]
    pub(crate) fn put(&mut self, key_prefix: u64, item: I) -> Placed<I> {
        match self.compare(key_prefix, &item) {
            Order::Less => return Placed::Before,
            Order::Equal => return Placed::Instead(self.parts.replace_last(item)),
            Order::Greater => {}
        }
        if self.parts.len() == SLOTS {
            self.complete(key_prefix, &item);
        }
        self.parts.push(key_prefix, item);
        self.entries += 1;
        Placed::Last
    }

    /// Compares an entry with the last one.
    #[inline]
    fn compare(&self, key_prefix: u64, item: &I) -> Order {
        let Some(last) = self.parts.len().checked_sub(1) else {
            return Order::Greater;
        };
        let order = key_prefix.cmp(&self.parts.key_prefix(last));
        if I::Key::EXACT {
            return order;
        }
        order.then_with(|| item.key().cmp(self.parts.item(last).key()))
    }

    /// Completes the leaf, behind which this entry comes.
    fn complete(&mut self, key_prefix: u64, item: &I) {
        let last = self.parts.item(self.parts.len() - 1);
        let high = separator(last, (key_prefix, item));
        self.add_leaf(Some(&high));
        self.low = Some(high);
    }

    fn add_leaf(&mut self, high: Option<&Sep<I::Key>>) {
        let bounds = Bounds {
            low: self.low.as_ref().map(Sep::fence),
            high: high.map(Sep::fence),
        };
        let skip = better_skip(&self.parts, 0, &bounds);
        if skip > 0 {
            self.parts.rehead(skip);
        }
        let word = word(skip, Learnt::default());
        let leaf = Leaf::alloc(word, &self.parts, 0, self.parts.len());
        self.parts.clear();
        // SAFETY: just allocated, ours alone.
        unsafe { self.grower.push(leaf, self.low.take()) };
    }

    /// Returns the tree.
    pub(crate) fn finish(mut self) -> LeafTree<I> {
        if self.parts.len() > 0 {
            self.add_leaf(None);
        }
        self.grower.finish(self.entries)
    }
}

impl<I: Item> Drop for Load<I> {
    fn drop(&mut self) {
        if needs_drop::<<I::Key as TreeKey>::Sep>()
            && let Some(low) = self.low.take()
        {
            low.dispose();
        }
        // SAFETY: they are in no leaf, and nobody else has seen them. The leaves go with the grower.
        for_all(0..self.parts.len(), |at| unsafe {
            self.parts.item(at).dispose()
        });
    }
}
