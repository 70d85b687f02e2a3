//! Changing an entry, putting nodes in and taking them out.

use std::cmp::Ordering;
use std::hash::BuildHasher;

use fyris_index::key::TreeKey;
use fyris_index::{Action, Entry};
use fyris_sync::lock::Backoff;
use fyris_sync::reclaim::Guard;

use crate::place::{ByKey, Keyed, Place};

use super::find::walk;
use super::node::{LockedSkipNode, SkipNodeRef};
use super::{HEIGHT, SkipList};

/// Nodes before a key, one for each level: places to begin at.
struct LevelPath<'g>([SkipNodeRef<'g>; HEIGHT]);

/// The place of a key on a level: the last node before it, locked, and the one behind that.
struct LevelFront<'g> {
    last: LockedSkipNode<'g>,
    next: Option<SkipNodeRef<'g>>,
}

impl<E: Entry, S: BuildHasher> SkipList<E, S>
where
    E::Key: TreeKey,
{
    /// Runs `f` on the entry of the key, or on its absence, with that locked; does as it says, and returns its second
    /// result.
    pub(super) fn change<R>(
        &self,
        key: &E::Key,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        let place = ByKey::new(key);
        let mut path = LevelPath([self.head(); HEIGHT]);
        let mut backoff = Backoff::new();
        loop {
            // * There is a node of the key, and it is alive when it is locked: it is the slot.
            // * It is dead: another thread is taking it out. No lock is held while that is waited for (DESCENDING);
            //   again.
            // * There is none: the node before the place is locked. If none has come there meanwhile, the key is absent
            //   and stays so while that node is locked (LINKED); else again, to find the one that has come.
            if let Some(node) = self.find_path(&place, &mut path) {
                if let Some(locked) = node.lock() {
                    return self.change_node(locked, &place, &mut path, pin, f);
                }
                backoff.wait();
                continue;
            }
            let front = self.lock_front(0, &place, &mut path);
            let is_there = |next| Place::<E>::side(&place, next) == Ordering::Equal;
            if !front.next.is_some_and(is_there) {
                return self.fill_gap(front, &place, &mut path, f);
            }
        }
    }

    /// Runs the closure for a key that is there, in a node that this thread has locked.
    fn change_node<'g, R>(
        &'g self,
        mut locked: LockedSkipNode<'g>,
        place: &ByKey<'_, E::Key>,
        path: &mut LevelPath<'g>,
        pin: &'g impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        let (action, result) = f(Some(locked.node.any_entry()));
        match action {
            Action::Keep => {}
            Action::Put(new) => locked.put(new),
            Action::Remove => {
                let removal = Removal {
                    list: self,
                    left: locked.node.height(),
                    node: locked.kill(),
                    pin,
                };
                removal.unlink(place, path);
            }
        }
        result
    }

    /// Runs the closure for a key that is absent, and stays so while the node before its place is locked.
    fn fill_gap<'g, R>(
        &'g self,
        front: LevelFront<'g>,
        place: &ByKey<'_, E::Key>,
        path: &mut LevelPath<'g>,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        let (action, result) = f(None);
        if let Action::Put(new) = action {
            let node = LockedSkipNode::fresh(self.count_new(place.prefix), place.prefix, new);
            self.bytes.add(node.node.bytes() as i64);
            self.link(&node, front, place, path);
        }
        result
    }

    /// Puts a node in, level by level from the lowest, whose front is locked (ALL_LEVELS).
    fn link<'g>(
        &'g self,
        node: &LockedSkipNode<'g>,
        front: LevelFront<'g>,
        place: &ByKey<'_, E::Key>,
        path: &mut LevelPath<'g>,
    ) {
        let height = node.node.height();
        // First, so that a writer that waits for this node finds the way to it anew on each of its levels.
        self.raise(height);
        front.put(node, 0);
        for level in 1..height {
            self.lock_front(level, place, path).put(node, level);
        }
    }

    /// Locks the last node before a key on a level.
    fn lock_front<'g>(
        &'g self,
        level: usize,
        place: &ByKey<'_, E::Key>,
        path: &mut LevelPath<'g>,
    ) -> LevelFront<'g> {
        let mut backoff = Backoff::new();
        loop {
            // From the node that was noted on this level to the last one before the place, which
            // * is dead: its way out may wait for nodes before it, so pause, and find the whole way anew;
            // * is locked, and leads to the place or past it: the front, which holds as long as the lock does (LINKED);
            // * is locked, but nodes have come behind it: on from there, without the lock.
            let (last, _) = walk::<E>(path.0[level], level, place);
            path.0[level] = last;
            let Some(last) = last.lock() else {
                backoff.wait();
                self.find_path(place, path);
                continue;
            };
            let next = last.node.next(level);
            let is_before = |next| Place::<E>::side(place, next) == Ordering::Less;
            if !next.is_some_and(is_before) || cfg!(fyris_mutant = "skip_unvalidated") {
                return LevelFront { last, next };
            }
        }
    }

    /// Returns the node of a key, dead or not, and notes the way there.
    #[inline]
    fn find_path<'g>(
        &'g self,
        place: &ByKey<'_, E::Key>,
        path: &mut LevelPath<'g>,
    ) -> Option<SkipNodeRef<'g>> {
        let mut lowest = HEIGHT;
        let (at, found) = self.descend(0, place, |level, at| {
            path.0[level] = at;
            lowest = level;
        });
        // A node before the key on a level is one on the levels below.
        path.0[..lowest.min(HEIGHT)].fill(at);
        found
    }
}

impl LevelFront<'_> {
    /// Puts a node in between.
    fn put(self, node: &LockedSkipNode<'_>, level: usize) {
        node.set_next(level, self.next);
        self.last.set_next(level, Some(node.node));
    }
}

/// A dead node on its way out of the list, by the thread that has killed it. Where a comparison of keys panics, or they
/// are in no order, it leaves the levels that are left when this is dropped, without comparisons.
struct Removal<'g, E: Entry, S, G: Guard> {
    list: &'g SkipList<E, S>,
    node: SkipNodeRef<'g>,
    /// The levels that it is still in, from the lowest.
    left: usize,
    pin: &'g G,
}

impl<'g, E: Entry, S: BuildHasher, G: Guard> Removal<'g, E, S, G>
where
    E::Key: TreeKey,
{
    /// Takes the node out, level by level from the highest (TOP_DOWN).
    fn unlink(mut self, place: &ByKey<'_, E::Key>, path: &mut LevelPath<'g>) {
        let height = self.left;
        for nth in (0..height).rev() {
            let level = if cfg!(fyris_mutant = "skip_unlinks_bottom_up") {
                height - 1 - nth
            } else {
                nth
            };
            let front = self.list.lock_front(level, place, path);
            if front.next != Some(self.node) {
                // Not where its key says.
                return;
            }
            front.last.set_next(level, self.node.next(level));
            self.left = nth;
            let lower = level.saturating_sub(1);
            path.0[lower] = path.0[level];
        }
    }
}

impl<E: Entry, S, G: Guard> Drop for Removal<'_, E, S, G> {
    fn drop(&mut self) {
        for level in (0..self.left).rev() {
            unlink_by_links(self.list.head(), self.node, level);
        }
        self.list.entries.add(-1);
        self.list.bytes.add(-(self.node.bytes() as i64));
        // SAFETY: in no level any more, for good; a dead node is taken out by the thread that killed it alone.
        unsafe { self.pin.retire(self.node.as_ptr()) };
    }
}

/// Takes a dead node out of a level, if it is there: it was never put in where a comparison panicked. O(n).
#[cold]
fn unlink_by_links<'g>(head: SkipNodeRef<'g>, node: SkipNodeRef<'g>, level: usize) {
    let mut backoff = Backoff::new();
    let mut last = head;
    while let Some(next) = last.next(level) {
        if next != node {
            last = next;
            continue;
        }
        if let Some(locked) = last.lock()
            && locked.node.next(level) == Some(node)
        {
            return locked.set_next(level, node.next(level));
        }
        // Dead, or no longer the one before.
        backoff.wait();
        last = head;
    }
}
