//! The keys next to a key, and the `n`-th key.

use std::ops::Bound;

use smallvec::SmallVec;

use crate::order::Found;
use crate::tree::Tree;

use super::{
    Array, Behind, Content, KeyWeigher, Split, Strings, WordPlace, bytes_of, cmp_shared, rest,
};

/// Where keys are built as a search goes down; nothing if the content does not need them.
pub(crate) type Built = Vec<u8>;

impl<C: Content> Strings<C> {
    /// Returns the `n`-th key, from 0.
    pub(crate) fn nth(&self, mut n: usize, key: &mut Built) -> Option<WordPlace> {
        key.clear();
        let (mut tree, mut offset) = (&self.top, 0);
        loop {
            let ((word, slot), before) = tree.nth::<KeyWeigher<C>>(n)?;
            // SAFETY: a value of a living array.
            match unsafe { C::behind(word, *slot) } {
                Behind::Key => return Some(WordPlace { word, slot, offset }),
                // SAFETY: as above.
                Behind::Array(array) => unsafe {
                    n = before;
                    tree = Self::enter(word, array, &mut offset, key);
                },
            }
        }
    }

    /// Goes from a word into the array behind it.
    ///
    /// # Safety
    ///
    /// The array lives for as long as it is used.
    unsafe fn enter<'a>(
        word: u64,
        array: *mut Array,
        offset: &mut usize,
        key: &mut Built,
    ) -> &'a Tree {
        // SAFETY: the caller's contract.
        unsafe {
            let shared = Array::shared(array);
            if C::BUILDS_KEYS {
                bytes_of::<C::Split>(word, key);
                key.extend_from_slice(shared);
            }
            *offset += Self::STEP + shared.len();
            &(*array).tree
        }
    }

    /// Returns the first key behind a word, upwards; the last one downwards.
    fn end(
        (mut word, mut slot): Found,
        mut offset: usize,
        up: bool,
        key: &mut Built,
    ) -> Option<WordPlace> {
        loop {
            // SAFETY: a value of a living array.
            match unsafe { C::behind(word, *slot) } {
                Behind::Key => return Some(WordPlace { word, slot, offset }),
                // SAFETY: as above.
                Behind::Array(array) => unsafe {
                    let tree = Self::enter(word, array, &mut offset, key);
                    (word, slot) = tree.nearest(if up { 0 } else { u64::MAX }, up)?;
                },
            }
        }
    }

    /// Returns the nearest key at or above a bound, upwards, or at or below it, downwards; beyond it for `Excluded`.
    pub(crate) fn seek(
        &self,
        from: Bound<&[u8]>,
        up: bool,
        built: &mut Built,
    ) -> Option<WordPlace> {
        built.clear();
        let (key, meets) = match from {
            Bound::Unbounded => {
                let found = self.top.nearest(if up { 0 } else { u64::MAX }, up)?;
                return Self::end(found, 0, up, built);
            }
            Bound::Included(key) => (key, true),
            Bound::Excluded(key) => (key, false),
        };
        let (mut tree, mut offset) = (&self.top, 0);
        // Where to go on if all keys behind a word are on the wrong side: the tree, and what is built above it.
        let mut above: SmallVec<[(&Tree, u64, usize, usize); 4]> = SmallVec::new();
        loop {
            let word = C::Split::word(rest(key, offset));
            let Some(found) = tree.nearest(word, up) else {
                break;
            };
            if found.0 != word {
                return Self::end(found, offset, up, built);
            }
            above.push((tree, word, offset, built.len()));
            // SAFETY: a value of a living array.
            let order = unsafe {
                match C::behind(word, *found.1) {
                    Behind::Key => {
                        let order = C::cmp(word, *found.1, key, offset);
                        if order.is_eq() && !meets {
                            break;
                        }
                        order
                    }
                    Behind::Array(array) => {
                        let order =
                            cmp_shared(Array::shared(array), rest(key, offset + Self::STEP));
                        if order.is_eq() {
                            tree = Self::enter(word, array, &mut offset, built);
                            continue;
                        }
                        order
                    }
                }
            };
            if order.is_lt() == up && order.is_ne() {
                break;
            }
            return Self::end(found, offset, up, built);
        }
        while let Some((tree, word, offset, len)) = above.pop() {
            built.truncate(len);
            let beside = if up {
                word.checked_add(1)
            } else {
                word.checked_sub(1)
            };
            if let Some(found) = beside.and_then(|word| tree.nearest(word, up)) {
                return Self::end(found, offset, up, built);
            }
        }
        None
    }
}
