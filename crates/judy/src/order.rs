//! Questions of order: the nearest key, the `n`-th key, the number of keys below, the nearest gap.

use std::cmp::Ordering;
use std::ops::Bound;

use super::branch::Branch;
use super::digits::{above, beside, digit};
use super::jp::{At, Place, Slot};
use super::tree::Tree;
use super::words::{Below, Weigh, Words, keys_of};

/// A key and the place of its value.
pub(super) type Found = (u64, *mut Slot);

/// Returns the number of keys in a range, given that of all keys, and the number of those below a key, or at it if that
/// counts.
pub(super) fn count_between<K: ?Sized>(
    from: Bound<&K>,
    to: Bound<&K>,
    all: usize,
    rank: impl Fn(&K, bool) -> usize,
) -> usize {
    let below = match from {
        Bound::Included(key) => rank(key, false),
        Bound::Excluded(key) => rank(key, true),
        Bound::Unbounded => 0,
    };
    let end = match to {
        Bound::Included(key) => rank(key, true),
        Bound::Excluded(key) => rank(key, false),
        Bound::Unbounded => all,
    };
    end.saturating_sub(below)
}

impl Tree {
    /// Returns the first key at or above `key`, upwards; the last at or below it, downwards.
    pub(super) fn nearest(&self, key: u64, up: bool) -> Option<Found> {
        let (root, place) = self.root();
        if up {
            nearest::<true>(root, place, key)
        } else {
            nearest::<false>(root, place, key)
        }
    }

    /// Returns the number of keys behind words below `key`.
    pub(super) fn rank<W: Weigh>(&self, key: u64) -> usize {
        let ((mut at, mut place), mut below) = (self.root(), 0);
        loop {
            let here = place.of_node(at.meta());
            match here.cmp(key) {
                Ordering::Less => return below,
                Ordering::Greater => return below + keys_of::<W>(at),
                Ordering::Equal => {}
            }
            let (branch, level) = match Below::of(at) {
                Below::Branch(branch, level) => (branch, level),
                leaf => {
                    let before = |words: Words<'_>| words.keys_before::<W>(words.search(key).0);
                    return below + leaf.words().map_or(0, before);
                }
            };
            let digit = digit(key, level);
            below += branch.keys_below::<W>(digit);
            let Some(child) = branch.child(digit) else {
                return below;
            };
            (at, place) = (child, here.child(digit));
        }
    }

    /// Returns the word that has the `n`-th key, from 0, and the number of keys before it there.
    pub(super) fn nth<W: Weigh>(&self, mut n: usize) -> Option<(Found, usize)> {
        if n >= self.len {
            return None;
        }
        let (mut at, mut place) = self.root();
        loop {
            let here = place.of_node(at.meta());
            match Below::of(at) {
                // By COUNTED the `n`-th key is below the child that the branch names.
                Below::Branch(branch, _) => {
                    let (digit, child, rest) = branch.nth::<W>(n);
                    (place, at, n) = (here.child(digit), child, rest);
                }
                leaf => {
                    let words = leaf.words()?;
                    let (word, rest) = words.word_of::<W>(n);
                    return Some((in_leaf(&words, here, word)?, rest));
                }
            }
        }
    }

    /// Returns the number nearest to `key` that is not a key: the first at or above it, upwards; the last at or below
    /// it, downwards.
    pub(super) fn gap(&self, key: u64, up: bool) -> Option<u64> {
        let (root, place) = self.root();
        gap(root, place, key, up)
    }
}

/// Returns the `n`-th word of a leaf or a pointer, which is here.
fn in_leaf(words: &Words<'_>, here: Place, n: usize) -> Option<Found> {
    let (low, slot) = words.nth(n)?;
    Some((here.prefix & above(words.width()) | low, slot))
}

/// Returns the first or the last key below a pointer.
fn end<const UP: bool>(mut at: At, mut place: Place) -> Option<Found> {
    loop {
        let here = place.of_node(at.meta());
        let below = Below::of(at);
        let Below::Branch(branch, _) = below else {
            let words = below.words()?;
            let n = if UP { 0 } else { words.len() - 1 };
            return in_leaf(&words, here, n);
        };
        let (digit, child) = branch.near(if UP { 0 } else { 255 }, UP)?;
        (at, place) = (child, here.child(digit));
    }
}

/// Returns the key nearest to `key` in a direction, itself included, below a pointer.
fn nearest<const UP: bool>(at: At, place: Place, key: u64) -> Option<Found> {
    let here = place.of_node(at.meta());
    match here.cmp(key) {
        Ordering::Equal => {}
        // The key is before all keys here, or behind all, as the direction sees it.
        order if order.is_lt() == UP => return end::<UP>(at, place),
        _ => return None,
    }
    let below = Below::of(at);
    if let Below::Branch(branch, level) = below {
        let digit = digit(key, level);
        if let Some(child) = branch.child(digit)
            && let Some(found) = nearest::<UP>(child, here.child(digit), key)
        {
            return Some(found);
        }
        let (digit, child) = branch.near(beside(digit, UP)?, UP)?;
        return end::<UP>(child, here.child(digit));
    }
    let words = below.words()?;
    let (rank, found) = words.search(key);
    let n = if UP || found {
        rank
    } else {
        rank.checked_sub(1)?
    };
    (n < words.len()).then(|| in_leaf(&words, here, n))?
}

/// Returns the number nearest to `key` in a direction, itself included, that is not a key, of those that can be below a
/// pointer. `key` is one of these.
fn gap(at: At, place: Place, key: u64, up: bool) -> Option<u64> {
    let here = place.of_node(at.meta());
    if here.cmp(key).is_ne() {
        return Some(key);
    }
    let within = match Below::of(at) {
        Below::Branch(branch, level) if is_full(branch, level) => None,
        Below::Branch(branch, _) => gap_in_branch(branch, here, key, up),
        leaf => match leaf.words() {
            Some(words) => gap_in_leaf(&words, here, key, up),
            None => return Some(key),
        },
    };
    // Beyond the node there is nothing at this place (NARROW).
    let end = here.last(up);
    within.or_else(|| (end != place.last(up)).then(|| next_number(end, up)))
}

/// Returns the number beside another one.
fn next_number(number: u64, up: bool) -> u64 {
    number.wrapping_add_signed(if up { 1 } else { -1 })
}

/// Returns whether a branch has all keys that it can have.
fn is_full(branch: Branch, level: usize) -> bool {
    // All keys of level 8 are more than can be counted.
    level < 8 && branch.keys() as u64 == 1 << (8 * level)
}

/// Returns the gap nearest to a key that is below a branch.
fn gap_in_branch(branch: Branch, here: Place, key: u64, up: bool) -> Option<u64> {
    let (mut digit, mut from) = (digit(key, here.level), key);
    loop {
        let Some(child) = branch.child(digit) else {
            return Some(from);
        };
        if let Some(found) = gap(child, here.child(digit), from, up) {
            return Some(found);
        }
        digit = beside(digit, up)?;
        from = here.child(digit).last(!up);
    }
}

/// Returns the gap nearest to a key in a leaf or a pointer.
fn gap_in_leaf(words: &Words<'_>, here: Place, key: u64, up: bool) -> Option<u64> {
    let mut candidate = key;
    while words.search(candidate).1 {
        if candidate == here.last(up) {
            return None;
        }
        candidate = next_number(candidate, up);
    }
    Some(candidate)
}
