//! Iterators over a `ConcurrentTree`.

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use fyris_sync::reclaim::Pin;

use super::Storage;
use crate::ordered::walk::Cursor;
use crate::ordered::{Tree, TreeKey};

/// All pairs of a tree, in order. See [`super::ConcurrentTree::iter`].
pub struct Iter<'g, K: TreeKey + ?Sized, V: 'static, S: Storage<K, V>, P> {
    cursor: Cursor<'g, S::Item, P>,
}

impl<'g, K: TreeKey + ?Sized, V: 'static, S: Storage<K, V>, P: Pin> Iter<'g, K, V, S, P> {
    pub(super) fn new(tree: &'g Tree<S::Item>, pin: &'g P) -> Self {
        Self {
            cursor: Cursor::before::<K>(tree, std::ops::Bound::Unbounded, pin),
        }
    }
}

impl<'g, K: TreeKey + ?Sized, V: 'static, S: Storage<K, V>, P: Pin> Iterator
    for Iter<'g, K, V, S, P>
{
    type Item = (S::Key<'g>, &'g V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (head, item) = self.cursor.next()?;
        Some((S::key(head, item), S::value(item)))
    }
}

/// The pairs of a range, in order. See [`super::ConcurrentTree::range`].
pub struct Range<'g, K: TreeKey + ?Sized, V: 'static, S: Storage<K, V>, P, R, Q: ?Sized> {
    cursor: Cursor<'g, S::Item, P>,
    /// How many entries of the cursor's leaf are below the end.
    stop: usize,
    bounds: R,
    key: PhantomData<fn(&Q)>,
}

impl<'g, K, V, S, P, R, Q> Range<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized,
    V: 'static,
    S: Storage<K, V>,
    P: Pin,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
    pub(super) fn new(tree: &'g Tree<S::Item>, bounds: R, pin: &'g P) -> Self {
        let cursor = Cursor::before(tree, bounds.start_bound(), pin);
        let stop = cursor.below_end(bounds.end_bound());
        Self {
            cursor,
            stop,
            bounds,
            key: PhantomData,
        }
    }
}

impl<'g, K, V, S, P, R, Q> Iterator for Range<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized,
    V: 'static,
    S: Storage<K, V>,
    P: Pin,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
    type Item = (S::Key<'g>, &'g V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((head, item)) = self.cursor.next_below(self.stop) {
                return Some((S::key(head, item), S::value(item)));
            }
            // The end lies in this leaf, or there is another one.
            if self.stop < self.cursor.leaf_len() || !self.cursor.next_leaf() {
                return None;
            }
            self.stop = self.cursor.below_end(self.bounds.end_bound());
        }
    }
}

/// The pairs of a range, backwards. See [`super::ConcurrentTree::range_rev`].
pub struct RangeRev<'g, K: TreeKey + ?Sized, V: 'static, S: Storage<K, V>, P, R, Q: ?Sized> {
    cursor: Cursor<'g, S::Item, P>,
    /// How many entries of the cursor's leaf are below the start.
    stop: usize,
    bounds: R,
    key: PhantomData<fn(&Q)>,
}

impl<'g, K, V, S, P, R, Q> RangeRev<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized,
    V: 'static,
    S: Storage<K, V>,
    P: Pin,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
    pub(super) fn new(tree: &'g Tree<S::Item>, bounds: R, pin: &'g P) -> Self {
        let cursor = Cursor::behind(tree, bounds.end_bound(), pin);
        let stop = cursor.below_start(bounds.start_bound());
        Self {
            cursor,
            stop,
            bounds,
            key: PhantomData,
        }
    }
}

impl<'g, K, V, S, P, R, Q> Iterator for RangeRev<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized,
    V: 'static,
    S: Storage<K, V>,
    P: Pin,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
    type Item = (S::Key<'g>, &'g V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((head, item)) = self.cursor.prev_above(self.stop) {
                return Some((S::key(head, item), S::value(item)));
            }
            if self.stop > 0 || !self.cursor.prev_leaf() {
                return None;
            }
            self.stop = self.cursor.below_start(self.bounds.start_bound());
        }
    }
}
