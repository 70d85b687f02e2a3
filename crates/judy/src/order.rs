//! Questions of order: the nearest key, the `n`-th key, the number of keys below, the nearest gap.

use super::bits::Bits;
use super::branch::Branch;
use super::jp::{Jp, Meta, Node, Slot, above, digit};
use super::leaf::View;
use super::tree::{Place, Tree};
use super::weigh::{Weigh, keys_before, keys_of, word_of, words_in};

/// A key and the place of its value.
pub(super) type Found = (u64, *mut Slot);

/// A node on the way to a key, as the searches here need it.
struct Here {
    /// The bits of the node's keys above its level, or those above the pointer's place if it has no node.
    prefix: u64,
    /// The number of bytes below the prefix.
    level: usize,
}

impl Here {
    #[inline]
    fn new(meta: Meta, at: Place) -> Self {
        Self {
            prefix: meta.prefix(at.prefix),
            level: meta.level().unwrap_or(at.level),
        }
    }

    /// Compares the key's bits above the level with those of the node's keys.
    fn cmp(&self, key: u64) -> std::cmp::Ordering {
        (key & above(self.level)).cmp(&self.prefix)
    }

    /// Returns the place of a child.
    #[inline]
    fn child(&self, digit: usize) -> Place {
        Place {
            level: self.level - 1,
            prefix: self.prefix | (digit as u64) << (8 * (self.level - 1)),
            is_root: false,
        }
    }

    /// Returns the last key that can be below the node.
    fn last(&self) -> u64 {
        self.prefix | !above(self.level)
    }
}

impl Place {
    /// Returns the last key that can be at this place.
    fn last(self) -> u64 {
        self.prefix & above(self.level) | !above(self.level)
    }
}

/// The direction of a search: from the key upwards if `UP`, else downwards.
const UP: bool = true;
const DOWN: bool = false;

impl Tree {
    /// Returns the first key at or above `key`.
    pub(super) fn at_or_above(&self, key: u64) -> Option<Found> {
        let (root, at) = self.root();
        nearest::<UP>(root, at, key)
    }

    /// Returns the last key at or below `key`.
    pub(super) fn at_or_below(&self, key: u64) -> Option<Found> {
        let (root, at) = self.root();
        nearest::<DOWN>(root, at, key)
    }

    /// Returns the number of keys behind words below `key`.
    pub(super) fn rank<W: Weigh>(&self, key: u64) -> usize {
        let ((mut jp, mut at), mut below) = (self.root(), 0);
        loop {
            // SAFETY: pointers of a living tree (NODES), which nobody changes.
            let meta = unsafe { (*jp).meta };
            let here = Here::new(meta, at);
            match here.cmp(key) {
                std::cmp::Ordering::Less => return below,
                // SAFETY: as above.
                std::cmp::Ordering::Greater => return below + unsafe { keys_of::<W>(jp) },
                std::cmp::Ordering::Equal => {}
            }
            match meta.what() {
                Node::Empty => return below,
                Node::Branch { level, form } => {
                    // SAFETY: as above.
                    let (branch, digit) = (unsafe { Branch::of(jp, form) }, digit(key, level));
                    below += branch.keys_below::<W>(digit);
                    jp = branch.child(digit);
                    if jp.is_null() {
                        return below;
                    }
                    at = here.child(digit);
                }
                // SAFETY: what the pointer says.
                _ => unsafe {
                    let words = match View::of(jp) {
                        Some(view) => view.search(key).0,
                        None => Bits::of(jp).rank(key),
                    };
                    return below + keys_before::<W>(jp, words);
                },
            }
        }
    }

    /// Returns the word that has the `n`-th key, from 0, and the number of keys before it there.
    pub(super) fn nth<W: Weigh>(&self, mut n: usize) -> Option<(Found, usize)> {
        if n >= self.len {
            return None;
        }
        let (mut jp, mut at) = self.root();
        loop {
            // SAFETY: as in `rank`; by COUNTED the `n`-th key is below the child that the branch names.
            unsafe {
                let here = Here::new((*jp).meta, at);
                if let Node::Branch { form, .. } = (*jp).meta.what() {
                    let (digit, child, rest) = Branch::of(jp, form).nth::<W>(n);
                    (jp, n, at) = (child, rest, here.child(digit));
                } else {
                    let (word, rest) = word_of::<W>(jp, n);
                    return Some((in_leaf(jp, &here, word)?, rest));
                }
            }
        }
    }

    /// Returns the first number at or above `key` that is not a key.
    pub(super) fn gap_above(&self, key: u64) -> Option<u64> {
        let (root, at) = self.root();
        gap::<UP>(root, at, key)
    }

    /// Returns the last number at or below `key` that is not a key.
    pub(super) fn gap_below(&self, key: u64) -> Option<u64> {
        let (root, at) = self.root();
        gap::<DOWN>(root, at, key)
    }
}

/// Returns the `n`-th word of a leaf or a pointer.
///
/// # Safety
///
/// `jp` is a pointer of a living tree (NODES) to more than `n` words, and to no branch.
unsafe fn in_leaf(jp: *mut Jp, here: &Here, n: usize) -> Option<Found> {
    // SAFETY: the caller's contract.
    unsafe {
        match View::of(jp) {
            Some(view) => {
                let key = here.prefix & above(view.width) | view.key(n);
                Some((key, view.values.add(n)))
            }
            None => {
                let bits = Bits::of(jp);
                let low = bits.nth(n);
                Some((here.prefix | low, bits.get(low)))
            }
        }
    }
}

/// Returns the first or the last key below a pointer.
fn end<const UPWARDS: bool>(mut jp: *mut Jp, mut at: Place) -> Option<Found> {
    loop {
        // SAFETY: pointers of a living tree (NODES), which nobody changes.
        unsafe {
            let here = Here::new((*jp).meta, at);
            match (*jp).meta.what() {
                Node::Branch { form, .. } => {
                    let branch = Branch::of(jp, form);
                    let (digit, child) = if UPWARDS {
                        branch.child_from(0)?
                    } else {
                        branch.child_to(255)?
                    };
                    (jp, at) = (child, here.child(digit));
                }
                Node::Empty => return None,
                _ if UPWARDS => return in_leaf(jp, &here, 0),
                _ => return in_leaf(jp, &here, words_in(jp) - 1),
            }
        }
    }
}

/// Returns the key nearest to `key` in a direction, itself included, below a pointer.
fn nearest<const UPWARDS: bool>(jp: *mut Jp, at: Place, key: u64) -> Option<Found> {
    // SAFETY: a pointer of a living tree (NODES), which nobody changes.
    let meta = unsafe { (*jp).meta };
    let here = Here::new(meta, at);
    match here.cmp(key) {
        std::cmp::Ordering::Equal => {}
        // The key is before all keys here, or behind all, as the direction sees it.
        order if order.is_lt() == UPWARDS => return end::<UPWARDS>(jp, at),
        _ => return None,
    }
    match meta.what() {
        Node::Empty => None,
        Node::Branch { level, form } => {
            // SAFETY: as above.
            let (branch, digit) = (unsafe { Branch::of(jp, form) }, digit(key, level));
            let child = branch.child(digit);
            if !child.is_null()
                && let Some(found) = nearest::<UPWARDS>(child, here.child(digit), key)
            {
                return Some(found);
            }
            let (digit, child) = if UPWARDS {
                (digit < 255).then(|| branch.child_from(digit + 1))??
            } else {
                branch.child_to(digit.checked_sub(1)?)?
            };
            end::<UPWARDS>(child, here.child(digit))
        }
        // SAFETY: what the pointer says; the index is checked.
        _ => unsafe {
            let (rank, found) = match View::of(jp) {
                Some(view) => view.search(key),
                None => (Bits::of(jp).rank(key), !Bits::of(jp).get(key).is_null()),
            };
            let n = match (UPWARDS, found) {
                (UP, _) | (DOWN, true) => rank,
                (DOWN, false) => rank.checked_sub(1)?,
            };
            (n < words_in(jp)).then(|| in_leaf(jp, &here, n))?
        },
    }
}

/// Returns the number nearest to `key` in a direction, itself included, that is not a key, of those that can be below a
/// pointer. `key` is one of these.
fn gap<const UPWARDS: bool>(jp: *mut Jp, at: Place, key: u64) -> Option<u64> {
    // SAFETY: a pointer of a living tree (NODES), which nobody changes.
    let meta = unsafe { (*jp).meta };
    let here = Here::new(meta, at);
    if here.cmp(key).is_ne() {
        return Some(key);
    }
    let within = match meta.what() {
        Node::Empty => return Some(key),
        Node::Branch { level, form } => {
            // SAFETY: as above.
            let branch = unsafe { Branch::of(jp, form) };
            if is_full(branch, level) {
                None
            } else {
                gap_in_branch::<UPWARDS>(branch, level, &here, key)
            }
        }
        // SAFETY: what the pointer says.
        _ => unsafe { gap_in_leaf::<UPWARDS>(jp, &here, key) },
    };
    // Beyond the node there is nothing at this place (NARROW).
    let last = if UPWARDS {
        at.last()
    } else {
        at.prefix & above(at.level)
    };
    let (end, next) = if UPWARDS {
        (here.last(), here.last().wrapping_add(1))
    } else {
        (here.prefix, here.prefix.wrapping_sub(1))
    };
    within.or((end != last).then_some(next))
}

/// Returns whether a branch has all keys that it can have.
fn is_full(branch: Branch, level: usize) -> bool {
    // All keys of level 8 are more than can be counted.
    level < 8 && branch.keys() as u64 == 1 << (8 * level)
}

/// Returns the gap nearest to a key that is below a branch.
fn gap_in_branch<const UPWARDS: bool>(
    branch: Branch,
    level: usize,
    here: &Here,
    key: u64,
) -> Option<u64> {
    let first = digit(key, level);
    let mut digit = first;
    loop {
        let (child, place) = (branch.child(digit), here.child(digit));
        let from = match (digit == first, UPWARDS) {
            (true, _) => key,
            (false, UP) => place.prefix,
            (false, DOWN) => place.last(),
        };
        if child.is_null() {
            return Some(from);
        }
        if let Some(found) = gap::<UPWARDS>(child, place, from) {
            return Some(found);
        }
        if digit == if UPWARDS { 255 } else { 0 } {
            return None;
        }
        digit = if UPWARDS { digit + 1 } else { digit - 1 };
    }
}

/// Returns the gap nearest to a key in a leaf or a pointer.
///
/// # Safety
///
/// `jp` is a pointer of a living tree (NODES) to keys, and to no branch.
unsafe fn gap_in_leaf<const UPWARDS: bool>(jp: *mut Jp, here: &Here, key: u64) -> Option<u64> {
    let end = if UPWARDS { here.last() } else { here.prefix };
    let mut candidate = key;
    loop {
        // SAFETY: the caller's contract.
        let found = unsafe {
            match View::of(jp) {
                Some(view) => view.search(candidate).1,
                None => !Bits::of(jp).get(candidate).is_null(),
            }
        };
        if !found {
            return Some(candidate);
        }
        if candidate == end {
            return None;
        }
        candidate = if UPWARDS {
            candidate + 1
        } else {
            candidate - 1
        };
    }
}
