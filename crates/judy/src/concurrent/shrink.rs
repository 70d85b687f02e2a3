//! What a writer does after its change: counts go up, and branches that have become small go.

use fyris_sync::reclaim::{LocalGuard, pin};
use smallvec::SmallVec;

use super::leaf::{self, Leaf};
use super::link::{Kind, Link};
use super::node::SharedBranch;
use super::tree::{SharedPath, SharedTree, children_of, lock_both, replace, small, smaller_kind};

/// What becomes one leaf: all under their locks.
#[derive(Default)]
struct Gathered {
    pairs: SmallVec<[(u64, u64); 64]>,
    branches: SmallVec<[SharedBranch; 8]>,
    leaves: SmallVec<[Link; 16]>,
}

impl SharedTree {
    /// Makes the branches above the last one of a path count its keys, one after the other (PASSED_ON).
    pub(super) fn settle(&self, path: &mut SharedPath, key: u64) {
        if cfg!(fyris_mutant = "judy_shared_count_stays_below") {
            return;
        }
        while let [.., parent, branch] = path[..] {
            if self.pass_on(parent, branch, key) {
                path.pop();
            } else {
                // Another branch has taken the place of one of the two, or was put between them.
                *path = self.path(key);
            }
        }
    }

    /// Makes a parent count what it has not of a branch's keys; returns false if it is not its parent any more.
    fn pass_on(&self, parent: SharedBranch, branch: SharedBranch, key: u64) -> bool {
        let digit = parent.digit(key);
        let is_child = || parent.get(digit) == Some(branch.0.0);
        if parent == self.root() {
            // Nothing is counted here. A branch that was put above this one before its keys changed is seen, as that
            // was done under its lock.
            return is_child();
        }
        if !parent.lock() {
            return false;
        }
        let is_child = is_child();
        if is_child {
            let (keys, passed) = (branch.keys(), branch.passed());
            parent.count(digit, keys as i64 - passed as i64);
            branch.pass(keys);
        }
        parent.unlock();
        is_child
    }

    /// Replaces branches on the way to a key that have become small, from below: by a leaf, by their only child, or by
    /// a smaller branch.
    #[cold]
    pub(super) fn thin(&self, key: u64, pin: &LocalGuard) {
        let mut path = self.path(key);
        let mut is_changed = false;
        while let [.., parent, branch] = path[..] {
            if !lock_both(parent, branch, key) {
                path = self.path(key);
                continue;
            }
            let is_thinner = thin_one(parent, branch, key, pin);
            parent.unlock();
            if !is_thinner {
                break;
            }
            is_changed = true;
            path.pop();
        }
        if is_changed {
            // What a leaf has more or less than was counted of its branches.
            self.settle(&mut self.path(key), key);
        }
    }

    /// Takes everything out: at one moment, for those who look.
    pub(super) fn clear(&self) {
        let pin = pin();
        let root = self.root();
        // The place of the root is never left.
        root.lock();
        let link = Link(root.get(0).unwrap_or(0));
        root.set(0, 0);
        root.unlock();
        // Writers that are in there still are as if they had come before. None comes any more.
        // SAFETY: no link leads there.
        unsafe { put_all_away(link, Some(&pin)) };
    }

    /// Returns the bytes of all nodes. O(nodes).
    pub(super) fn memory(&self) -> usize {
        let _pin = pin();
        bytes_below(Link(self.root().get(0).unwrap_or(0)))
    }
}

impl Drop for SharedTree {
    fn drop(&mut self) {
        // SAFETY: the tree is this thread's alone.
        unsafe { put_all_away(Link(self.root().get(0).unwrap_or(0)), None) }
    }
}

/// Replaces a branch if it is small. Both are locked; the branch is unlocked or left.
fn thin_one(parent: SharedBranch, branch: SharedBranch, key: u64, pin: &LocalGuard) -> bool {
    if branch.keys() <= small(parent) && collapse(parent, branch, key, pin) {
        return true;
    }
    let has_one = branch.0.kind().form().is_some() && branch.children() == 1;
    let smaller = smaller_kind(branch);
    if !has_one && smaller.is_none() {
        branch.unlock();
        return false;
    }
    let children = children_of(branch);
    if let Some(kind) = smaller.filter(|_| !has_one) {
        replace(parent, branch, kind, &children, key, pin);
        return true;
    }
    let only = Link(children[0].1);
    if !only.is_branch() {
        // A leaf of fewer bytes a key would have to become one of more.
        branch.unlock();
        return false;
    }
    // The branch has counted of its child what the child has passed on. So that the parent has counted the same it
    // counts now what the branch has not passed on; those who would have done so go on at the parent (PASSED_ON).
    let digit = parent.digit(key);
    if cfg!(fyris_mutant = "judy_shared_only_child_takes_note") {
        SharedBranch(only).pass(branch.passed());
    } else {
        parent.count(digit, branch.keys() as i64 - branch.passed() as i64);
    }
    parent.set(digit, only.0);
    branch.leave();
    // SAFETY: the store took it out of the tree, and this thread alone has done so (LOCKED).
    unsafe { branch.put_away(Some(pin)) };
    true
}

/// Replaces a branch by a leaf, or by nothing, unless it has more keys than were counted. Both are locked; the branch
/// is left if it is replaced.
fn collapse(parent: SharedBranch, branch: SharedBranch, key: u64, pin: &LocalGuard) -> bool {
    let mut gathered = Gathered::default();
    let most = small(parent);
    if !gather(branch, most, &mut gathered) {
        // The first is the branch itself, which stays locked.
        gathered.branches[1..].iter().for_each(|b| b.unlock());
        return false;
    }
    let digit = parent.digit(key);
    if gathered.pairs.is_empty() {
        parent.take(digit, pin);
    } else {
        let new = leaf::make(&gathered.pairs, parent.level() - 1);
        parent.set(digit, new.0);
    }
    parent.count(digit, gathered.pairs.len() as i64 - branch.passed() as i64);
    for branch in gathered.branches {
        branch.leave();
        // SAFETY: the store took it out of the tree, and this thread alone has done so (LOCKED).
        unsafe { branch.put_away(Some(pin)) };
    }
    for link in gathered.leaves {
        // SAFETY: as above.
        unsafe { leaf::put_away(link, Some(pin)) };
    }
    true
}

/// Gathers all pairs below a locked branch, and locks the branches below; returns false if there are more than `most`.
fn gather(branch: SharedBranch, most: usize, to: &mut Gathered) -> bool {
    to.branches.push(branch);
    if branch.is_bits() {
        let prefix = branch.prefix();
        let pairs = branch
            .iter()
            .map(|(digit, value)| (prefix | digit as u64, value));
        to.pairs.extend(pairs);
        return to.pairs.len() <= most;
    }
    branch.iter().all(|(digit, word)| {
        let link = Link(word);
        if link.is_branch() {
            // A branch whose parent is locked stays in the tree.
            return SharedBranch(link).lock() && gather(SharedBranch(link), most, to);
        }
        to.leaves.push(link);
        // SAFETY: its branch is locked and in the tree.
        to.pairs
            .extend(unsafe { Leaf::of(link) }.pairs(branch.prefix_at(digit)));
        to.pairs.len() <= most
    })
}

/// Frees everything below a link, which no node has now: once no thread looks at it, or at once if there is
/// no pin.
///
/// # Safety
///
/// As said; without a pin it is the caller's alone. Called once.
unsafe fn put_all_away(link: Link, pin: Option<&LocalGuard>) {
    match link.kind() {
        Kind::Empty => {}
        // SAFETY: the caller's contract.
        Kind::Leaf => unsafe { leaf::put_away(link, pin) },
        _ => {
            let branch = SharedBranch(link);
            if pin.is_some() {
                if !branch.lock() {
                    return;
                }
                // At once, so that writers in there wait for nothing: the branch does not change any more
                // (FROZEN_BRANCH), and its children leave the tree under locks of branches that are marked (GONE).
                branch.leave();
            }
            if !branch.is_bits() {
                for (_, word) in branch.iter() {
                    // SAFETY: the branch has left, and its children go with it.
                    unsafe { put_all_away(Link(word), pin) };
                }
            }
            // SAFETY: the caller's contract.
            unsafe { branch.put_away(pin) };
        }
    }
}

fn bytes_below(link: Link) -> usize {
    match link.kind() {
        Kind::Empty => 0,
        Kind::Leaf => leaf::bytes(link),
        Kind::Bits | Kind::Full => SharedBranch(link).bytes(),
        _ => {
            let below: usize = SharedBranch(link)
                .iter()
                .map(|(_, word)| bytes_below(Link(word)))
                .sum();
            SharedBranch(link).bytes() + below
        }
    }
}
