//! Iterators over a tree.
//!
//! A range is gone over by two cursors, one from each end. Each ends where the bounds say, or at what the other has
//! handed out last: the tree may change between two steps, but not the order of keys.

use std::borrow::Borrow;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds, RangeFull};

use fyris_sync::reclaim::{Guard, Pin};

use super::Storage;
use crate::ordered::walk::Cursor;
use crate::ordered::{Tree, TreeKey};

/// The pairs of a range, in order, from either end. See [`TreeMap::range`](super::TreeMap::range).
pub struct Range<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P, R, Q: ?Sized> {
    bounds: R,
    /// Goes upwards from the start.
    front: Cursor<'g, S::Item, P>,
    /// Where it began: what it has gone over since is handed out.
    start: (usize, usize),
    /// How many items of its leaf it may go over; 0 where the back has handed something out since that was found.
    stop: usize,
    /// Goes downwards from the end, once that has been asked; what it has gone over is handed out.
    back: Option<Cursor<'g, S::Item, P>>,
    /// How many items of its leaf are before the start of the range.
    stop_back: usize,
    /// Everything has been handed out.
    done: bool,
    key: PhantomData<fn(&Q)>,
}

impl<'g, K, V, S, P, R, Q> Range<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized + 'g,
    V: 'g,
    S: Storage<K, V>,
    P: Pin,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
    #[inline]
    pub(super) fn new(tree: &'g Tree<S::Item>, bounds: R, pin: &'g P) -> Self {
        let front = Cursor::before(tree, bounds.start_bound(), pin);
        Self {
            start: front.position(),
            stop: front.below_end(bounds.end_bound()),
            front,
            back: None,
            stop_back: 0,
            bounds,
            done: false,
            key: PhantomData,
        }
    }

    /// How many items of the front's leaf are before the end of what it may hand out.
    fn front_stop(&self) -> usize {
        let stop = self.front.below_end(self.bounds.end_bound());
        let Some(back) = &self.back else { return stop };
        let (head, item) = back.peek_next();
        stop.min(
            self.front
                .below_end::<K>(Bound::Excluded(S::key(head, item).borrow())),
        )
    }

    /// How many items of the back's leaf are before the start of what it may hand out.
    #[inline]
    fn back_stop(&self, back: &Cursor<'g, S::Item, P>) -> usize {
        if self.front.position() == self.start {
            return self.stop_back;
        }
        let (head, item) = self.front.peek_prev();
        let handed_out = back.below_end::<K>(Bound::Included(S::key(head, item).borrow()));
        self.stop_back.max(handed_out)
    }

    /// Goes to where the front's next item is; returns whether there is one.
    #[inline(never)]
    fn advance(&mut self) -> bool {
        if self.done {
            return false;
        }
        if self.back.is_some() {
            self.stop = self.front_stop();
            if self.front.is_before(self.stop) {
                return true;
            }
        }
        // The end lies in this leaf, or there is another one.
        if self.stop < self.front.leaf_len() || !self.front.next_leaf() {
            self.done = true;
            return false;
        }
        self.stop = self.front_stop();
        true
    }

    /// Goes to the last leaf, or to the one before; returns whether there is one.
    #[inline(never)]
    fn advance_back(&mut self) -> bool {
        let back = match self.back.take() {
            None => self.front.behind_in_same_tree(self.bounds.end_bound()),
            Some(mut back) => {
                // The start lies in this leaf, or there is another one.
                if self.back_stop(&back) > 0 || !back.prev_leaf() {
                    (self.stop, self.done) = (0, true);
                    return false;
                }
                back
            }
        };
        self.stop_back = back.below_start(self.bounds.start_bound());
        self.back = Some(back);
        true
    }
}

impl<'g, K, V, S, P, R, Q> Iterator for Range<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized + 'g,
    V: 'g,
    S: Storage<K, V>,
    P: Pin,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
    type Item = (S::Key<'g>, &'g V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((head, item)) = self.front.next_below(self.stop) {
                return Some((S::key(head, item), S::value(item)));
            }
            if !self.advance() {
                return None;
            }
        }
    }
}

impl<'g, K, V, S, P, R, Q> DoubleEndedIterator for Range<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized + 'g,
    V: 'g,
    S: Storage<K, V>,
    P: Pin,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        while !self.done {
            if let Some(back) = &self.back {
                let stop = self.back_stop(back);
                if let Some((head, item)) = self.back.as_mut()?.prev_above(stop) {
                    self.stop = 0;
                    return Some((S::key(head, item), S::value(item)));
                }
            }
            self.advance_back();
        }
        None
    }
}

impl<'g, K, V, S, P, R, Q> FusedIterator for Range<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized + 'g,
    V: 'g,
    S: Storage<K, V>,
    P: Pin,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
}

impl<K: TreeKey + ?Sized, V, S: Storage<K, V>, P, R, Q: ?Sized> fmt::Debug
    for Range<'_, K, V, S, P, R, Q>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").finish_non_exhaustive()
    }
}

/// All pairs of a tree, in order, from either end. See [`TreeMap::iter`](super::TreeMap::iter).
pub struct Iter<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P = Guard>(
    Range<'g, K, V, S, P, RangeFull, K>,
);

/// The keys of a tree, in order, from either end. See [`TreeMap::keys`](super::TreeMap::keys).
pub struct Keys<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P = Guard>(Iter<'g, K, V, S, P>);

/// The values of a tree in the order of their keys, from either end. See [`TreeMap::values`](super::TreeMap::values).
pub struct Values<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P = Guard>(Iter<'g, K, V, S, P>);

impl<'g, K: TreeKey + ?Sized + 'g, V: 'g, S: Storage<K, V>, P: Pin> Iter<'g, K, V, S, P> {
    pub(super) fn new(tree: &'g Tree<S::Item>, pin: &'g P) -> Self {
        Self(Range::new(tree, .., pin))
    }
}

impl<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P> Keys<'g, K, V, S, P> {
    pub(super) fn new(iter: Iter<'g, K, V, S, P>) -> Self {
        Self(iter)
    }
}

impl<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P> Values<'g, K, V, S, P> {
    pub(super) fn new(iter: Iter<'g, K, V, S, P>) -> Self {
        Self(iter)
    }
}

macro_rules! iterator {
    ($name:ident: $item:ty, |$this:ident| $next:expr, $back:expr) => {
        impl<'g, K, V, S, P> Iterator for $name<'g, K, V, S, P>
        where
            K: TreeKey + ?Sized + 'g,
            V: 'g,
            S: Storage<K, V>,
            P: Pin,
        {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let $this = self;
                $next
            }
        }

        impl<'g, K, V, S, P> DoubleEndedIterator for $name<'g, K, V, S, P>
        where
            K: TreeKey + ?Sized + 'g,
            V: 'g,
            S: Storage<K, V>,
            P: Pin,
        {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let $this = self;
                $back
            }
        }

        impl<'g, K, V, S, P> FusedIterator for $name<'g, K, V, S, P>
        where
            K: TreeKey + ?Sized + 'g,
            V: 'g,
            S: Storage<K, V>,
            P: Pin,
        {
        }

        impl<K: TreeKey + ?Sized, V, S: Storage<K, V>, P> fmt::Debug for $name<'_, K, V, S, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}
iterator!(Iter: (S::Key<'g>, &'g V), |this| this.0.next(), this.0.next_back());
iterator!(Keys: S::Key<'g>, |this| this.0.next().map(|(key, _)| key), this.0.next_back().map(|(key, _)| key));
iterator!(Values: &'g V, |this| this.0.next().map(|(_, value)| value), this.0.next_back().map(|(_, value)| value));
