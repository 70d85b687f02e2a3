//! Neighbours, walks, ranks.

use std::cmp::Ordering;
use std::ops::ControlFlow::{self, Break, Continue};

use fyris_sync::atomic::Ordering::Acquire;
use fyris_sync::reclaim::pin;

use super::super::digits::above;
use super::block::Cell;
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

/// Calls `f` with the pairs below a branch from a key on, in order or in falling order, until it breaks off.
fn walk<const UP: bool, B>(
    branch: SharedBranch,
    from: u64,
    f: &mut impl FnMut(Pair) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let (ours, theirs) = prefixes(branch, from);
    let first = match ours.cmp(&theirs) {
        Ordering::Equal => branch.digit(from),
        order if order.is_lt() == UP => return Continue(()),
        _ if UP => 0,
        _ => 255,
    };
    for (digit, word) in branch.iter_from::<UP>(first) {
        let (prefix, link) = (branch.prefix_at(digit), Link(word));
        if branch.is_bits() {
            f((prefix, word))?;
        } else if link.is_branch() {
            walk::<UP, B>(SharedBranch(link), from, f)?;
        } else {
            // SAFETY: a leaf that was reachable under the pin (RECLAIM).
            let leaf = unsafe { Leaf::of(link) };
            let (mut begin, mut end) = (0, leaf.len());
            if (prefix ^ from) & above(link.level()) == 0 {
                let (i, found) = leaf.search(from);
                if UP {
                    begin = i;
                } else {
                    end = i + usize::from(found);
                }
            }
            let mut pairs = leaf.between(begin, end);
            while let Some((low, value)) = if UP { pairs.next() } else { pairs.next_back() } {
                // Acquire: pairs with the Release store of a writer that replaced the value.
                f((prefix | low, value.load(Acquire)))?;
            }
        }
    }
    Continue(())
}

impl SharedTree {
    /// Returns the first pair at or above a key, upwards; the last at or below it, downwards.
    pub(super) fn nearest(&self, key: u64, up: bool) -> Option<Pair> {
        let _pin = pin();
        let found = if up {
            walk::<true, Pair>(self.root(), key, &mut Break)
        } else {
            walk::<false, Pair>(self.root(), key, &mut Break)
        };
        found.break_value()
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
            walk::<true, ()>(self.root(), from, &mut one)
        } else {
            walk::<false, ()>(self.root(), from, &mut one)
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
                && let Some((found, word)) = branch.near::<true>(at)
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
                Ordering::Less => return rank + branch.keys(),
                Ordering::Equal => {}
                Ordering::Greater => return rank,
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
                return self.nearest(end, false).or_else(|| self.nearest(end, true));
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
            // Acquire: as in `walk`.
            let pair = |(low, value): (u64, &Cell)| (prefix | low, value.load(Acquire));
            return leaf.between(i, i + 1).next().map(pair);
        }
    }
}

/// Returns the child with the `n`-th key of a branch, and makes `n` the number of keys before it there.
fn child_with(branch: SharedBranch, n: &mut usize) -> Option<(usize, u64)> {
    if branch.level() == 9 {
        return branch.near::<true>(0);
    }
    let group = branch.group_with(n)?;
    for (digit, word) in branch.iter_from::<true>(group) {
        let keys = if branch.is_bits() {
            1
        } else {
            keys_of(Link(word))
        };
        if *n < keys {
            return Some((digit, word));
        }
        *n -= keys;
    }
    None
}
