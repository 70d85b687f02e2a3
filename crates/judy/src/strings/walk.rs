//! The way from key to key.

use std::cmp::Ordering;
use std::ops::Bound;

use smallvec::SmallVec;

use crate::cursor::Cursor;
use crate::order::Found;
use crate::tree::Tree;

use super::nearest::Built;
use super::{Array, Behind, Content, Split, Strings, WordPlace, bytes_of, cmp_shared, rest};

/// How the words of a tree are to be compared with the end of a walk.
#[derive(Clone, Copy)]
enum Edge {
    /// All of them are before the end.
    Within,
    /// The end's word at this offset is among them.
    At(usize),
}

/// The words of one array on the way.
#[derive(Clone)]
struct Level {
    cursor: Cursor,
    edge: Edge,
    /// Where its words begin.
    offset: usize,
    /// Bytes that are built above it.
    built: usize,
}

/// A walk over keys in their order, upwards or downwards.
pub(crate) struct StringsWalk<'b, C> {
    up: bool,
    to: Bound<&'b [u8]>,
    levels: SmallVec<[Level; 1]>,
    /// The bytes above the words of the last level, if the content builds keys.
    pub(crate) built: Built,
    content: std::marker::PhantomData<C>,
}

impl<C> Clone for StringsWalk<'_, C> {
    fn clone(&self) -> Self {
        Self {
            levels: self.levels.clone(),
            built: self.built.clone(),
            ..*self
        }
    }
}

impl<'b, C: Content> StringsWalk<'b, C> {
    const STEP: usize = C::Split::STEP;

    /// Begins a walk from a bound to another one.
    pub(crate) fn new(
        strings: &Strings<C>,
        from: Bound<&[u8]>,
        to: Bound<&'b [u8]>,
        up: bool,
    ) -> Self {
        let mut walk = Self {
            up,
            to,
            levels: SmallVec::new(),
            built: Built::new(),
            content: std::marker::PhantomData,
        };
        let edge = match to {
            Bound::Unbounded => Edge::Within,
            _ => Edge::At(0),
        };
        match from {
            Bound::Unbounded => walk.push(&strings.top, walk.first_word(), edge, 0),
            Bound::Included(key) => walk.begin(&strings.top, edge, key, true),
            Bound::Excluded(key) => walk.begin(&strings.top, edge, key, false),
        }
        walk
    }

    fn first_word(&self) -> u64 {
        if self.up { 0 } else { u64::MAX }
    }

    fn push(&mut self, tree: &Tree, word: u64, edge: Edge, offset: usize) {
        self.levels.push(Level {
            cursor: Cursor::at(tree, word, self.up),
            edge,
            offset,
            built: self.built.len(),
        });
    }

    /// Goes to the first key at a bound, or behind it.
    fn begin(&mut self, mut tree: &Tree, mut edge: Edge, key: &[u8], meets: bool) {
        let mut offset = 0;
        loop {
            let word = C::Split::word(rest(key, offset));
            self.push(tree, word, edge, offset);
            let slot = tree.get(word);
            if slot.is_null() {
                return;
            }
            // SAFETY: a value of a living array.
            unsafe {
                let order = match C::behind(word, *slot) {
                    Behind::Key => {
                        let order = C::cmp(word, *slot, key, offset);
                        if order.is_eq() && meets {
                            return;
                        }
                        order
                    }
                    Behind::Array(array) => {
                        cmp_shared(Array::shared(array), rest(key, offset + Self::STEP))
                    }
                };
                if order.is_ne() && order.is_gt() == self.up {
                    return;
                }
                // What the word stands for is before the bound, or is the way to it.
                self.take();
                if let (Behind::Array(array), Ordering::Equal) = (C::behind(word, *slot), order) {
                    let Some(below) = self.edge_in(edge, word, array) else {
                        self.levels.clear();
                        return;
                    };
                    self.build(word, array);
                    offset += Self::STEP + Array::shared(array).len();
                    (tree, edge) = (&(*array).tree, below);
                    continue;
                }
            }
            return;
        }
    }

    /// Adds the bytes between a level and the one below.
    ///
    /// # Safety
    ///
    /// The array lives.
    unsafe fn build(&mut self, word: u64, array: *mut Array) {
        if C::BUILDS_KEYS {
            bytes_of::<C::Split>(word, &mut self.built);
            // SAFETY: the caller's contract.
            self.built
                .extend_from_slice(unsafe { Array::shared(array) });
        }
    }

    /// Takes the next word of the last level.
    #[inline(always)]
    fn take(&mut self) -> Option<Found> {
        self.levels.last_mut()?.cursor.next(self.up)
    }

    /// Returns how a place compares with the end, as the walk goes: `Less` if it is before it.
    fn seen(&self, order: Ordering) -> Ordering {
        if self.up { order } else { order.reverse() }
    }

    /// Returns the bytes of the end.
    fn end(&self) -> &'b [u8] {
        match self.to {
            Bound::Unbounded => &[],
            Bound::Included(key) | Bound::Excluded(key) => key,
        }
    }

    /// Returns the edge of the array behind a word; `None` if it is beyond the end.
    ///
    /// # Safety
    ///
    /// The array lives.
    unsafe fn edge_in(&self, edge: Edge, word: u64, array: *mut Array) -> Option<Edge> {
        let Edge::At(offset) = edge else {
            return Some(Edge::Within);
        };
        let end = self.end();
        match self.seen(word.cmp(&C::Split::word(rest(end, offset)))) {
            Ordering::Less => return Some(Edge::Within),
            Ordering::Greater => return None,
            Ordering::Equal => {}
        }
        // SAFETY: the caller's contract.
        let shared = unsafe { Array::shared(array) };
        let behind = offset + Self::STEP;
        match self.seen(cmp_shared(shared, rest(end, behind))) {
            Ordering::Less => Some(Edge::Within),
            Ordering::Greater => None,
            Ordering::Equal => Some(Edge::At(behind + shared.len())),
        }
    }

    /// Returns whether a key is before the end.
    fn is_before(&self, edge: Edge, word: u64, found: Found) -> bool {
        let Edge::At(offset) = edge else { return true };
        let end = self.end();
        let order = word.cmp(&C::Split::word(rest(end, offset)));
        // SAFETY: the value of a key of a living array, whose words agree with those of the end as far as this one.
        let order = order.then_with(|| unsafe { C::cmp(word, *found.1, end, offset) });
        match self.seen(order) {
            Ordering::Less => true,
            Ordering::Equal => matches!(self.to, Bound::Included(_)),
            Ordering::Greater => false,
        }
    }

    /// Takes the next key.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<WordPlace> {
        loop {
            let Some((word, slot)) = self.take() else {
                self.levels.pop()?;
                continue;
            };
            let last = self.levels.len() - 1;
            let (edge, offset) = (self.levels[last].edge, self.levels[last].offset);
            if C::BUILDS_KEYS {
                self.built.truncate(self.levels[last].built);
            }
            // SAFETY: a value of a living array.
            unsafe {
                match C::behind(word, *slot) {
                    Behind::Key if self.is_before(edge, word, (word, slot)) => {
                        return Some(WordPlace { word, slot, offset });
                    }
                    Behind::Key => self.levels.clear(),
                    Behind::Array(array) => match self.edge_in(edge, word, array) {
                        None => self.levels.clear(),
                        Some(below) => {
                            self.build(word, array);
                            let offset = offset + Self::STEP + Array::shared(array).len();
                            self.push(&(*array).tree, self.first_word(), below, offset);
                        }
                    },
                }
            }
        }
    }
}
