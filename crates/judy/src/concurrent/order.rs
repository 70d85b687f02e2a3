//! Neighbours, walks, ranks.

use std::ops::ControlFlow::{self, Break, Continue};

use fyris_sync::atomic::Ordering;
use fyris_sync::reclaim::pin;

use super::super::jp::above;
use super::leaf::Leaf;
use super::link::{Kind, Link};
use super::node::SharedBranch;
use super::tree::{SharedTree, keys_of};

/// A key and its value.
pub(super) type Pair = (u64, u64);

/// Returns the bits above a branch's level, of all keys below and of this one.
fn prefixes(branch: SharedBranch, key: u64) -> (u64, u64) {
    // The place of the root has none.
    let level = branch.level().min(8);
    (branch.prefix() & above(level), key & above(level))
}

/// Calls `f` with the pairs below a branch from a key on, in order, until it breaks off.
fn walk_up<B>(
    branch: SharedBranch,
    from: u64,
    f: &mut impl FnMut(Pair) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let (ours, theirs) = prefixes(branch, from);
    let mut at = match ours.cmp(&theirs) {
        std::cmp::Ordering::Less => return Continue(()),
        std::cmp::Ordering::Equal => branch.digit(from),
        std::cmp::Ordering::Greater => 0,
    };
    while let Some((digit, word)) = branch.next(at) {
        let (prefix, link) = (branch.prefix_at(digit), Link(word));
        if branch.is_bits() {
            f((prefix, word))?;
        } else if link.is_branch() {
            walk_up(SharedBranch(link), from, f)?;
        } else {
            // SAFETY: a leaf that was reachable under the pin (RECLAIM).
            let leaf = unsafe { Leaf::of(link) };
            let first = if prefix >= from {
                0
            } else {
                leaf.search(from).0
            };
            for i in first..leaf.len() {
                // Acquire: pairs with the Release store of a writer that replaced the value.
                f((prefix | leaf.key(i), leaf.value(i).load(Ordering::Acquire)))?;
            }
        }
        at = digit + 1;
    }
    Continue(())
}

/// Calls `f` with the pairs below a branch from a key down, in falling order, until it breaks off.
fn walk_down<B>(
    branch: SharedBranch,
    from: u64,
    f: &mut impl FnMut(Pair) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let (ours, theirs) = prefixes(branch, from);
    let mut at = match ours.cmp(&theirs) {
        std::cmp::Ordering::Less => Some(255),
        std::cmp::Ordering::Equal => Some(branch.digit(from)),
        std::cmp::Ordering::Greater => None,
    };
    while let Some((digit, word)) = at.and_then(|at| branch.prev(at)) {
        let (prefix, link) = (branch.prefix_at(digit), Link(word));
        if branch.is_bits() {
            f((prefix, word))?;
        } else if link.is_branch() {
            walk_down(SharedBranch(link), from, f)?;
        } else {
            // SAFETY: a leaf that was reachable under the pin (RECLAIM).
            let leaf = unsafe { Leaf::of(link) };
            let end = if (prefix ^ from) & above(link.level()) != 0 {
                leaf.len()
            } else {
                let (i, found) = leaf.search(from);
                i + usize::from(found)
            };
            for i in (0..end).rev() {
                // Acquire: as in `walk_up`.
                f((prefix | leaf.key(i), leaf.value(i).load(Ordering::Acquire)))?;
            }
        }
        at = digit.checked_sub(1);
    }
    Continue(())
}

impl SharedTree {
    /// Returns the first pair at or above a key.
    pub(super) fn at_or_above(&self, key: u64) -> Option<Pair> {
        let _pin = pin();
        match walk_up(self.root(), key, &mut Break) {
            Break(pair) => Some(pair),
            Continue(()) => None,
        }
    }

    /// Returns the last pair at or below a key.
    pub(super) fn at_or_below(&self, key: u64) -> Option<Pair> {
        let _pin = pin();
        match walk_down(self.root(), key, &mut Break) {
            Break(pair) => Some(pair),
            Continue(()) => None,
        }
    }

    /// Calls `f` with at most `most` pairs from one key to another, in order; downwards if the first is the higher.
    pub(super) fn walk(&self, from: u64, to: u64, most: usize, mut f: impl FnMut(Pair)) {
        let _pin = pin();
        let mut left = most;
        let mut one = |pair: Pair| {
            let is_beyond = if from <= to { pair.0 > to } else { pair.0 < to };
            if is_beyond {
                return Break(());
            }
            f(pair);
            left -= 1;
            if left == 0 { Break(()) } else { Continue(()) }
        };
        _ = if from <= to {
            walk_up(self.root(), from, &mut one)
        } else {
            walk_down(self.root(), from, &mut one)
        };
    }

    /// Returns the number of keys below this one, as they are counted.
    pub(super) fn rank(&self, key: u64) -> usize {
        let _pin = pin();
        let (mut branch, mut rank) = (self.root(), 0);
        loop {
            let digit = branch.digit(key);
            if branch.is_bits() {
                return rank + branch.values_before(digit);
            }
            let (before, first) = branch.keys_before_group(digit);
            rank += before;
            let mut at = first;
            while at < digit
                && let Some((found, word)) = branch.next(at)
                && found < digit
            {
                rank += keys_of(Link(word));
                at = found + 1;
            }
            let link = Link(branch.get(digit).unwrap_or(0));
            match link.kind() {
                Kind::Empty => return rank,
                // SAFETY: a leaf that was reachable under the pin (RECLAIM).
                Kind::Leaf => return rank + unsafe { Leaf::of(link) }.search(key).0,
                _ => branch = SharedBranch(link),
            }
            let (ours, theirs) = prefixes(branch, key);
            match ours.cmp(&theirs) {
                std::cmp::Ordering::Less => return rank + branch.keys(),
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => return rank,
            }
        }
    }

    /// Returns the pair that has `n` keys before it, as they are counted.
    pub(super) fn nth(&self, n: usize) -> Option<Pair> {
        let _pin = pin();
        if n >= self.len() {
            return None;
        }
        let (mut branch, mut left) = (self.root(), n);
        loop {
            let Some((digit, word)) = child_with(branch, &mut left) else {
                // Counts have changed beside this thread: what is there in place of it.
                let end = if branch.level() == 9 {
                    u64::MAX
                } else {
                    branch.prefix() | !above(branch.level())
                };
                return self.at_or_below(end).or_else(|| self.at_or_above(end));
            };
            let (prefix, link) = (branch.prefix_at(digit), Link(word));
            if branch.is_bits() {
                return Some((prefix, word));
            }
            if link.is_branch() {
                branch = SharedBranch(link);
                continue;
            }
            // SAFETY: a leaf that was reachable under the pin (RECLAIM).
            let leaf = unsafe { Leaf::of(link) };
            let i = left.min(leaf.len() - 1);
            // Acquire: as in `walk_up`.
            return Some((prefix | leaf.key(i), leaf.value(i).load(Ordering::Acquire)));
        }
    }
}

/// Returns the child with the `n`-th key of a branch, and makes `n` the number of keys before it there.
fn child_with(branch: SharedBranch, n: &mut usize) -> Option<(usize, u64)> {
    if branch.level() == 9 {
        return branch.next(0);
    }
    let mut at = branch.group_with(n);
    while let Some((digit, word)) = branch.next(at) {
        let keys = if branch.is_bits() {
            1
        } else {
            keys_of(Link(word))
        };
        if *n < keys {
            return Some((digit, word));
        }
        *n -= keys;
        at = digit + 1;
    }
    None
}
