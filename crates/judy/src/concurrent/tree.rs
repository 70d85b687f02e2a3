//! [`SharedTree`]: words to words. Lookup, and what writers do in one node.

use fyris_index::Action;
use fyris_sync::atomic::Ordering;
use fyris_sync::reclaim::{LocalGuard, pin};
use smallvec::SmallVec;

use super::super::digits::{above, digit, level_apart};
use super::super::limits::{BITS_AGAIN, SHARED};
use super::leaf::{self, Leaf};
use super::link::{Kind, Link};
use super::make::{self, Child};
use super::node::{Root, SharedBranch};

/// A Judy array that threads share.
pub(super) struct SharedTree {
    root: Root,
}

/// The branches from the place of the root to the lowest one that a key belongs below.
pub(super) type SharedPath = SmallVec<[SharedBranch; 10]>;

/// How a writer goes on.
enum WriteStep {
    /// It is done: the value that it saw, and what it adds to the number of keys of its node.
    Done(Option<u64>, i64),
    /// The key belongs below a branch that is there by now.
    Below,
    /// The branch has no room for a child more.
    Full,
}

/// Looks a key up below a branch.
///
/// The link that is followed at each step is that of a node in the tree, or of one that is FROZEN_BRANCH: so the answer
/// was true at a moment of the lookup.
#[inline]
fn find(mut branch: SharedBranch, key: u64) -> Option<u64> {
    loop {
        let word = branch.get(branch.digit(key))?;
        if branch.is_bits() {
            return Some(word);
        }
        let link = Link(word);
        if link.is_branch() {
            let below = SharedBranch(link);
            if !below.has_prefix_of(key, branch.level() - 1) {
                return None;
            }
            branch = below;
            continue;
        }
        if link.is_empty() {
            return None;
        }
        // SAFETY: a leaf that was reachable under the pin (RECLAIM).
        let leaf = unsafe { Leaf::of(link) };
        let (i, found) = leaf.search(key);
        // Acquire: pairs with the Release store of a writer that replaced the value.
        return found.then(|| leaf.value(i).load(Ordering::Acquire));
    }
}

impl SharedTree {
    pub(super) fn new() -> Self {
        Self { root: Root::new() }
    }

    /// Returns the place of the root. The caller is pinned for as long as it follows what is there.
    pub(super) fn root(&self) -> SharedBranch {
        SharedBranch::root(&self.root)
    }

    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        let _pin = pin();
        find(self.root(), key)
    }

    /// Returns the number of keys: those that the root's node has counted.
    pub(super) fn len(&self) -> usize {
        let _pin = pin();
        self.root().get(0).map_or(0, |word| keys_of(Link(word)))
    }

    /// Returns the branches that a key belongs below.
    pub(super) fn path(&self, key: u64) -> SharedPath {
        let mut path = SharedPath::new();
        path.push(self.root());
        descend(&mut path, key);
        path
    }

    /// Runs `f` on the value of a key under its node's lock, does as it says, and returns the old value. `f` neither
    /// blocks nor panics; it may be called again.
    pub(super) fn change(&self, key: u64, f: impl Fn(Option<u64>) -> Action<u64>) -> Option<u64> {
        let pin = pin();
        let mut path = SharedPath::new();
        path.push(self.root());
        loop {
            // Down like a reader, to the lowest branch that the key belongs below, which is locked and looked at again.
            // It
            // * has left the tree: another has taken its place, found from the root (GONE);
            // * is a bitmap leaf, or has a leaf or nothing where the key goes, and there is room: `f` decides, and one
            //   store does it (LOCKED). It is the same where the branch below does not have the key's prefix: one store
            //   puts a new branch above that (PREFIXED). Then the counts go up (`settle`, PASSED_ON), and after a
            //   removal branches that have become small go (`thin`);
            // * leads to a branch there by now, put there by another thread, or by this one for a leaf that was full:
            //   on to that;
            // * has no room for a child: a copy of a larger form takes its place, under its parent's lock too
            //   (`widen`), unless another thread was faster; again from the root.
            descend(&mut path, key);
            let branch = path[path.len() - 1];
            if !branch.lock() {
                path.truncate(1);
                continue;
            }
            match change_locked(branch, key, &f, &pin) {
                WriteStep::Done(seen, more) => {
                    let small = more < 0 && is_small(&path);
                    branch.unlock();
                    if more != 0 {
                        self.settle(&mut path, key);
                    }
                    if small {
                        self.thin(key, &pin);
                    }
                    return seen;
                }
                WriteStep::Below => branch.unlock(),
                WriteStep::Full => {
                    branch.unlock();
                    widen(&path, key, &pin);
                    path.truncate(1);
                }
            }
        }
    }
}

/// Extends a path to the lowest branch that the key belongs below.
fn descend(path: &mut SharedPath, key: u64) {
    let mut branch = path[path.len() - 1];
    while !branch.is_bits() {
        let link = Link(branch.get(branch.digit(key)).unwrap_or(0));
        if !link.is_branch() || !SharedBranch(link).has_prefix_of(key, branch.level() - 1) {
            return;
        }
        branch = SharedBranch(link);
        path.push(branch);
    }
}

/// Returns the number of keys below a link, as they are counted.
#[inline]
pub(super) fn keys_of(link: Link) -> usize {
    match link.kind() {
        Kind::Empty => 0,
        Kind::Leaf => link.len(),
        _ => SharedBranch(link).keys(),
    }
}

/// Returns how many of the keys below a link its branch has counted. Under the branch's lock.
fn share_of(link: Link) -> usize {
    match link.kind() {
        Kind::Empty => 0,
        Kind::Leaf => link.len(),
        _ => SharedBranch(link).passed(),
    }
}

/// Returns the children of a branch, or the values of a bitmap leaf, to make another of them. Under its lock.
pub(super) fn children_of(branch: SharedBranch) -> SmallVec<[Child; 8]> {
    let keys = |word| {
        if branch.is_bits() {
            1
        } else {
            share_of(Link(word))
        }
    };
    let child = |(digit, word)| (digit, word, keys(word));
    branch.iter().map(child).collect()
}

/// Does what `f` says in a locked branch, which the key belongs below.
#[inline]
fn change_locked(
    branch: SharedBranch,
    key: u64,
    f: &impl Fn(Option<u64>) -> Action<u64>,
    pin: &LocalGuard,
) -> WriteStep {
    if branch.is_bits() {
        return change_bits(branch, key, f, pin);
    }
    let digit = branch.digit(key);
    let link = Link(branch.get(digit).unwrap_or(0));
    match link.kind() {
        Kind::Empty => {
            let Action::Put(value) = f(None) else {
                return WriteStep::Done(None, 0);
            };
            if branch.slot(digit).is_none() && !branch.has_room() {
                return WriteStep::Full;
            }
            let new = leaf::make(&[(key, value)], branch.level() - 1);
            branch.add(digit, new.0, pin);
            branch.count(digit, 1);
            WriteStep::Done(None, 1)
        }
        Kind::Leaf => change_leaf(branch, link, key, f, pin),
        _ if SharedBranch(link).has_prefix_of(key, branch.level() - 1) => WriteStep::Below,
        _ => {
            if let Action::Put(value) = f(None) {
                part(branch, SharedBranch(link), key, value);
                return WriteStep::Done(None, 1);
            }
            WriteStep::Done(None, 0)
        }
    }
}

/// Does what `f` says in a locked bitmap leaf.
fn change_bits(
    bits: SharedBranch,
    key: u64,
    f: &impl Fn(Option<u64>) -> Action<u64>,
    pin: &LocalGuard,
) -> WriteStep {
    let digit = bits.digit(key);
    let seen = bits.get(digit);
    let more = match (f(seen), seen) {
        (Action::Put(value), Some(_)) => {
            bits.set(digit, value);
            0
        }
        (Action::Put(_), None) if !bits.has_room() => return WriteStep::Full,
        (Action::Put(value), None) => {
            bits.add(digit, value, pin);
            1
        }
        (Action::Remove, Some(_)) => {
            bits.take(digit, pin);
            -1
        }
        (Action::Remove, None) | (Action::Keep, _) => 0,
    };
    if more != 0 {
        bits.count(digit, more);
    }
    WriteStep::Done(seen, more)
}

/// Does what `f` says in a leaf, whose branch is locked.
fn change_leaf(
    branch: SharedBranch,
    link: Link,
    key: u64,
    f: &impl Fn(Option<u64>) -> Action<u64>,
    pin: &LocalGuard,
) -> WriteStep {
    let digit = branch.digit(key);
    // SAFETY: the branch is in the tree while it is locked (LOCKED), and so is its leaf.
    let leaf = unsafe { Leaf::of(link) };
    let (i, found) = leaf.search(key);
    // Acquire: pairs with the Release store below.
    let seen = found.then(|| leaf.value(i).load(Ordering::Acquire));
    let (new, more) = match (f(seen), found) {
        (Action::Put(value), true) => {
            // Release: pairs with the Acquire in `find`.
            leaf.value(i).store(value, Ordering::Release);
            return WriteStep::Done(seen, 0);
        }
        (Action::Put(value), false) if leaf.len() < SHARED.leaf_most[link.level()] => {
            (leaf.with(i, key, value), 1)
        }
        (Action::Put(_), false) => (cascade(leaf, key, link.level()), 0),
        (Action::Remove, true) => (leaf.without(i), -1),
        (Action::Remove, false) | (Action::Keep, _) => return WriteStep::Done(seen, 0),
    };
    let early = cfg!(fyris_mutant = "judy_shared_freed_early");
    if early {
        // SAFETY: not at all.
        unsafe { leaf::put_away(link, Some(&fyris_sync::reclaim::pin())) };
    }
    if new.is_empty() {
        branch.take(digit, pin);
    } else {
        branch.set(digit, new.0);
    }
    if !early {
        // SAFETY: the store took it out of the tree, and this thread alone has done so (LOCKED).
        unsafe { leaf::put_away(link, Some(pin)) };
    }
    if more == 0 {
        return WriteStep::Below;
    }
    branch.count(digit, more);
    WriteStep::Done(seen, more)
}

/// Makes what has room for one more than a full leaf has: a bitmap leaf, or a branch of the highest digit in which the
/// keys differ.
fn cascade(leaf: Leaf<'_>, key: u64, level: usize) -> Link {
    let pairs: SmallVec<[(u64, u64); 64]> = leaf.pairs(key & above(level)).collect();
    let (first, last) = (pairs[0].0, pairs[pairs.len() - 1].0);
    let apart = level_apart(first, last);
    if apart == 1 {
        return make::bits(&pairs).0;
    }
    let groups = pairs.chunk_by(|(a, _), (b, _)| digit(*a, apart) == digit(*b, apart));
    let child = |group: &[(u64, u64)]| {
        let of_group = if apart == 2 && group.len() > SHARED.leaf_most[1] {
            make::bits(group).0
        } else {
            leaf::make(group, apart - 1)
        };
        (digit(group[0].0, apart), of_group.0, group.len())
    };
    let children: SmallVec<[Child; 8]> = groups.map(child).collect();
    make::branch(&children, apart, first).0
}

/// Puts a branch above a narrow one, whose keys do not share with `key` all that its link skips, and a leaf with the
/// key beside it. `branch` is locked.
fn part(branch: SharedBranch, narrow: SharedBranch, key: u64, value: u64) {
    let prefix = narrow.prefix();
    let level = level_apart(prefix, key & above(narrow.level()));
    let leaf = leaf::make(&[(key, value)], level - 1);
    // A branch whose parent is locked stays in the tree. Locked, so that who adds to its keys later finds the new one.
    let is_locked = !cfg!(fyris_mutant = "judy_shared_parts_unlocked") && narrow.lock();
    let (counted, passed) = (narrow.keys(), narrow.passed());
    let mut children: [Child; 2] = [
        (digit(prefix, level), narrow.0.0, counted),
        (digit(key, level), leaf.0, 1),
    ];
    children.sort_unstable();
    let above = make::branch(&children, level, prefix);
    // What `branch` has counted of the narrow one's keys it has counted of this one's (PASSED_ON).
    above.pass(passed + 1);
    narrow.pass(counted);
    let digit = branch.digit(key);
    branch.set(digit, above.0.0);
    if is_locked {
        narrow.unlock();
    }
    branch.count(digit, 1);
}

/// Replaces a branch that has no room for a child of the key's digit by one that has.
#[cold]
fn widen(path: &SharedPath, key: u64, pin: &LocalGuard) {
    let [.., parent, branch] = path[..] else {
        return;
    };
    if !lock_both(parent, branch, key) {
        return;
    }
    if branch.slot(branch.digit(key)).is_some() || branch.has_room() {
        branch.unlock();
    } else {
        let children = children_of(branch);
        let kind = if branch.is_bits() {
            Kind::Full
        } else {
            SHARED.form(children.len() + 1).into()
        };
        replace(parent, branch, kind, &children, key, pin);
    }
    parent.unlock();
}

/// Locks a branch and its parent, unless they are no longer that.
pub(super) fn lock_both(parent: SharedBranch, branch: SharedBranch, key: u64) -> bool {
    if !parent.lock() {
        return false;
    }
    if parent.get(parent.digit(key)) == Some(branch.0.0) && branch.lock() {
        return true;
    }
    parent.unlock();
    false
}

/// Replaces a branch by one of another kind with the same children. Both are locked; the branch is left.
pub(super) fn replace(
    parent: SharedBranch,
    branch: SharedBranch,
    kind: Kind,
    children: &[Child],
    key: u64,
    pin: &LocalGuard,
) {
    let new = make::branch_as(kind, children, branch.level(), branch.prefix());
    debug_assert_eq!(new.keys(), branch.keys(), "PASSED_ON");
    new.pass(branch.passed());
    parent.set(parent.digit(key), new.0.0);
    branch.leave();
    // SAFETY: the store took it out of the tree, and this thread alone has done so (LOCKED).
    unsafe { branch.put_away(Some(pin)) };
}

/// Returns whether the last branch of a path, which has lost a key, may be one that `thin` makes smaller. Under its
/// lock.
fn is_small(path: &SharedPath) -> bool {
    let [.., parent, branch] = path[..] else {
        return false;
    };
    if branch.keys() <= small(parent) {
        return true;
    }
    smaller_kind(branch).is_some() || branch.0.kind() == Kind::Linear && branch.children() == 1
}

/// Returns the kind of node that a branch with so few children, or an uncompressed leaf with so few values, is to be,
/// if it is another. Under its lock.
pub(super) fn smaller_kind(branch: SharedBranch) -> Option<Kind> {
    match branch.0.kind() {
        Kind::Full => (branch.children() <= BITS_AGAIN).then_some(Kind::Bits),
        kind => {
            let smaller = SHARED.smaller(kind.form()?, branch.children());
            smaller.map(Kind::from)
        }
    }
}

/// Returns the number of keys with which a child of a branch becomes a leaf again.
pub(super) fn small(parent: SharedBranch) -> usize {
    SHARED.leaf_again(parent.level() - 1)
}
