//! Iterators over a tree.
//!
//! A range is gone over by two cursors, one from each end. Each ends where the bounds say, or at what the other has
//! handed out last: the tree may change between two steps, but not the order of keys.
//!
//! A cursor finds that place once for each leaf, and when the direction changes: what it may hand out until then is its
//! run. Invariant **TURNS**: of two cursors at most one has a run that is not empty. So a step need not look at the
//! other end. Each cursor is made by the first step from its end.

use std::borrow::Borrow;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds, RangeFull};

use fyris_sync::reclaim::{Guard, LocalGuard};

use super::Storage;
use crate::ordered::cursor::{Cursor, Run};
use crate::ordered::item::Item;
use crate::ordered::{LeafTree, TreeKey};

/// The pairs of a range, in order, from either end. See [`TreeMap::range`](super::TreeMap::range).
///
/// ```
/// let tree = fyris_index::ConcurrentTree::from([(1, 'a'), (2, 'b'), (3, 'c')]);
/// let pinned = tree.pin();
/// let mut range = pinned.range(2..);
/// assert_eq!(range.next_back(), Some((&3, &'c')));
/// pinned.remove(&2); // writers are not held up, and are seen
/// assert_eq!(range.next(), None);
/// ```
pub struct TreeRange<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P, R, Q: ?Sized> {
    tree: &'g LeafTree<S::Item>,
    pin: &'g P,
    bounds: R,
    front: Side<'g, S::Item, P>,
    back: Side<'g, S::Item, P>,
    /// Everything has been handed out.
    done: bool,
    key: PhantomData<fn(&Q)>,
}

/// One end of a range.
struct Side<'g, I: Item, P> {
    /// The position in its leaf; none before it has been asked.
    cursor: Option<Cursor<'g, I, P>>,
    run: Run<'g, I>,
}

impl<'g, I: Item, P: Guard> Side<'g, I, P> {
    #[inline]
    fn new() -> Self {
        Self {
            cursor: None,
            run: Run::empty(),
        }
    }

    /// Returns the last pair that the front has handed out.
    fn given_up(&self) -> Option<(u64, &'g I)> {
        let cursor = self.cursor.as_ref()?;
        let given = self.run.from() > cursor.pos();
        given.then(|| cursor.entry(self.run.from() - 1))
    }

    /// Returns the last pair that the back has handed out.
    fn given_down(&self) -> Option<(u64, &'g I)> {
        let cursor = self.cursor.as_ref()?;
        let given = self.run.to() < cursor.pos();
        given.then(|| cursor.entry(self.run.to()))
    }
}

impl<'g, K, V, S, P, R, Q> TreeRange<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized + 'g,
    V: 'g,
    S: Storage<K, V>,
    P: Guard,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
    #[inline]
    pub(super) fn new(tree: &'g LeafTree<S::Item>, bounds: R, pin: &'g P) -> Self {
        Self {
            tree,
            pin,
            bounds,
            front: Side::new(),
            back: Side::new(),
            done: false,
            key: PhantomData,
        }
    }

    /// Gives the front a run: the rest of its leaf, or the next leaf. Returns false at the end.
    #[inline(never)]
    fn advance(&mut self) -> bool {
        if self.done {
            return false;
        }
        if self.back.cursor.is_some() && self.turn_up() {
            return true;
        }
        let Self { front, bounds, .. } = self;
        let leaf = match &mut front.cursor {
            None => {
                let cursor = Cursor::before(self.tree, bounds.start_bound(), self.pin);
                front.cursor.insert(cursor)
            }
            Some(leaf) => {
                // The end lies in this leaf, or there is another one.
                if front.run.to() < leaf.leaf_len() || !leaf.next_leaf() {
                    self.done = true;
                    return false;
                }
                leaf
            }
        };
        front.run = leaf.run(leaf.pos(), Self::end_in(leaf, &self.back, bounds));
        true
    }

    /// Takes the rest of the front's leaf from the back; returns whether there is anything.
    #[cold]
    #[inline(never)]
    fn turn_up(&mut self) -> bool {
        // (TURNS) What the back had left it asks for again.
        if !cfg!(fyris_mutant = "range_keeps_run") {
            self.back.run.begin_here();
        }
        if let Some(leaf) = &self.front.cursor {
            let to = Self::end_in(leaf, &self.back, &self.bounds);
            self.front.run = leaf.run(self.front.run.from(), to);
        }
        !self.front.run.is_empty()
    }

    /// Gives the back a run: the rest of its leaf, or the leaf before. Returns false at the end.
    #[inline(never)]
    fn advance_back(&mut self) -> bool {
        if self.done {
            return false;
        }
        if self.front.cursor.is_some() && self.turn_down() {
            return true;
        }
        let Self { back, bounds, .. } = self;
        let leaf = match &mut back.cursor {
            None => {
                let cursor = Cursor::behind(self.tree, bounds.end_bound(), self.pin);
                back.cursor.insert(cursor)
            }
            Some(leaf) => {
                // The start lies in this leaf, or there is another one.
                if back.run.from() > 0 || !leaf.prev_leaf() {
                    self.done = true;
                    return false;
                }
                leaf
            }
        };
        back.run = leaf.run(Self::start_in(leaf, &self.front, bounds), leaf.pos());
        true
    }

    /// Takes the rest of the back's leaf from the front; returns whether there is anything.
    #[cold]
    #[inline(never)]
    fn turn_down(&mut self) -> bool {
        // (TURNS) As in `turn_up`.
        self.front.run.end_here();
        if let Some(leaf) = &self.back.cursor {
            let from = Self::start_in(leaf, &self.front, &self.bounds);
            self.back.run = leaf.run(from, self.back.run.to());
        }
        !self.back.run.is_empty()
    }

    /// Returns the number of items of this leaf before the end of what the front may hand out.
    fn end_in(leaf: &Cursor<'g, S::Item, P>, back: &Side<'g, S::Item, P>, bounds: &R) -> usize {
        match back.given_down() {
            Some((key_prefix, item)) => {
                leaf.below_end::<K>(Bound::Excluded(S::key(key_prefix, item).borrow()))
            }
            None => leaf.below_end(bounds.end_bound()),
        }
    }

    /// Returns the number of items of this leaf before the start of what the back may hand out.
    fn start_in(leaf: &Cursor<'g, S::Item, P>, front: &Side<'g, S::Item, P>, bounds: &R) -> usize {
        match front.given_up() {
            Some((key_prefix, item)) => {
                leaf.below_start::<K>(Bound::Excluded(S::key(key_prefix, item).borrow()))
            }
            None => leaf.below_start(bounds.start_bound()),
        }
    }
}

impl<'g, K, V, S, P, R, Q> Iterator for TreeRange<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized + 'g,
    V: 'g,
    S: Storage<K, V>,
    P: Guard,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
    type Item = (S::Key<'g>, &'g V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key_prefix, item)) = self.front.run.next() {
                return Some((S::key(key_prefix, item), S::value(item)));
            }
            if !self.advance() {
                return None;
            }
        }
    }

    #[inline]
    fn fold<A, F: FnMut(A, Self::Item) -> A>(mut self, init: A, mut f: F) -> A {
        let mut acc = init;
        loop {
            let mut run = self.front.run;
            while let Some((key_prefix, item)) = run.next() {
                acc = f(acc, (S::key(key_prefix, item), S::value(item)));
            }
            self.front.run = run;
            if !self.advance() {
                return acc;
            }
        }
    }
}

impl<'g, K, V, S, P, R, Q> DoubleEndedIterator for TreeRange<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized + 'g,
    V: 'g,
    S: Storage<K, V>,
    P: Guard,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key_prefix, item)) = self.back.run.prev() {
                return Some((S::key(key_prefix, item), S::value(item)));
            }
            if !self.advance_back() {
                return None;
            }
        }
    }
}

impl<'g, K, V, S, P, R, Q> FusedIterator for TreeRange<'g, K, V, S, P, R, Q>
where
    K: TreeKey + Borrow<Q> + ?Sized + 'g,
    V: 'g,
    S: Storage<K, V>,
    P: Guard,
    R: RangeBounds<Q>,
    Q: TreeKey<Sep = K::Sep> + ?Sized,
{
}

impl<K: TreeKey + ?Sized, V, S: Storage<K, V>, P, R, Q: ?Sized> fmt::Debug
    for TreeRange<'_, K, V, S, P, R, Q>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").finish_non_exhaustive()
    }
}

/// All pairs of a tree, in order, from either end. See [`TreeMap::iter`](super::TreeMap::iter).
///
/// ```
/// let tree = fyris_index::ConcurrentTree::from([(2, 'b'), (1, 'a')]);
/// assert!(tree.pin().iter().eq([(&1, &'a'), (&2, &'b')]));
/// ```
pub struct TreeIter<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P = LocalGuard>(
    TreeRange<'g, K, V, S, P, RangeFull, K>,
);

/// The keys of a tree, in order, from either end. See [`TreeMap::keys`](super::TreeMap::keys).
///
/// ```
/// let tree = fyris_index::ConcurrentTree::from([(2, 'b'), (1, 'a')]);
/// assert!(tree.pin().keys().rev().eq(&[2, 1]));
/// ```
pub struct TreeKeys<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P = LocalGuard>(
    TreeIter<'g, K, V, S, P>,
);

/// The values of a tree in the order of their keys, from either end. See [`TreeMap::values`](super::TreeMap::values).
///
/// ```
/// let tree = fyris_index::ConcurrentTree::from([(2, 'b'), (1, 'a')]);
/// assert!(tree.pin().values().eq(&['a', 'b']));
/// ```
pub struct TreeValues<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P = LocalGuard>(
    TreeIter<'g, K, V, S, P>,
);

impl<'g, K: TreeKey + ?Sized + 'g, V: 'g, S: Storage<K, V>, P: Guard> TreeIter<'g, K, V, S, P> {
    pub(super) fn new(tree: &'g LeafTree<S::Item>, pin: &'g P) -> Self {
        Self(TreeRange::new(tree, .., pin))
    }
}

impl<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P> TreeKeys<'g, K, V, S, P> {
    pub(super) fn new(iter: TreeIter<'g, K, V, S, P>) -> Self {
        Self(iter)
    }
}

impl<'g, K: TreeKey + ?Sized, V, S: Storage<K, V>, P> TreeValues<'g, K, V, S, P> {
    pub(super) fn new(iter: TreeIter<'g, K, V, S, P>) -> Self {
        Self(iter)
    }
}

macro_rules! iterator {
    ($name:ident: $item:ty, |$pair:pat_param| $part:expr) => {
        impl<'g, K, V, S, P> Iterator for $name<'g, K, V, S, P>
        where
            K: TreeKey + ?Sized + 'g,
            V: 'g,
            S: Storage<K, V>,
            P: Guard,
        {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.0.next().map(|$pair| $part)
            }

            #[inline]
            fn fold<A, F: FnMut(A, Self::Item) -> A>(self, init: A, mut f: F) -> A {
                self.0.fold(init, |acc, $pair| f(acc, $part))
            }
        }

        impl<'g, K, V, S, P> DoubleEndedIterator for $name<'g, K, V, S, P>
        where
            K: TreeKey + ?Sized + 'g,
            V: 'g,
            S: Storage<K, V>,
            P: Guard,
        {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                self.0.next_back().map(|$pair| $part)
            }
        }

        impl<'g, K, V, S, P> FusedIterator for $name<'g, K, V, S, P>
        where
            K: TreeKey + ?Sized + 'g,
            V: 'g,
            S: Storage<K, V>,
            P: Guard,
        {
        }

        impl<K: TreeKey + ?Sized, V, S: Storage<K, V>, P> fmt::Debug for $name<'_, K, V, S, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}
iterator!(TreeIter: (S::Key<'g>, &'g V), |pair| pair);
iterator!(TreeKeys: S::Key<'g>, |(key, _)| key);
iterator!(TreeValues: &'g V, |(_, value)| value);
