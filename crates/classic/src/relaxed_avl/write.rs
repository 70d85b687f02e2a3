//! Changing an entry, putting nodes in and taking them out.

use fyris_index::key::TreeKey;
use fyris_index::{Action, Entry};
use fyris_sync::lock::Backoff;
use fyris_sync::reclaim::Guard;
use smallvec::SmallVec;

use crate::place::ByKey;

use super::RelaxedAvl;
use super::find::{At, find_own};
use super::node::{AvlNodeRef, HIGH, LOW, LockedAvlNode, Side};
use super::repair::{Work, repair};

/// The locked nodes from the higher child of a node down to the next node in the order of keys.
type Spine<'g> = SmallVec<[LockedAvlNode<'g>; 8]>;

impl<E: Entry<Key: TreeKey>, const SNAPSHOTS: bool> RelaxedAvl<E, SNAPSHOTS> {
    /// Runs `f` on the entry of the key, or on its absence, with that locked; does as it says, and returns its second
    /// result.
    pub(super) fn change<R>(
        &self,
        key: &E::Key,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        let place = ByKey::new(key);
        let mut backoff = Backoff::new();
        loop {
            // * There is a node of the key, and when it is locked it still has its entry: it is the slot.
            // * There is a gap, and when the node above it is locked it has not shrunk, and has no child there: the key
            //   is absent, and stays so while that node is locked, as nobody else makes it shrink or links a child to
            //   it.
            // * Another thread has put a node in, or is taking this one out: again from the root.
            match find_own::<E>(self.holder(), &place, pin) {
                Ok(node) => {
                    if let Some(locked) = node.lock()
                        && let Some(old) = node.entry()
                    {
                        return self.change_node(locked, old, pin, f);
                    }
                }
                Err(gap) => {
                    if let Some(locked) = gap.lock() {
                        return self.fill_gap(locked, gap, place.prefix, pin, f);
                    }
                }
            }
            backoff.wait();
        }
    }

    /// Runs the closure for a key that is there, in a node that this thread has locked.
    fn change_node<R>(
        &self,
        locked: LockedAvlNode<'_>,
        old: E,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        let (action, result) = f(Some(old));
        match action {
            Action::Keep => {}
            Action::Put(new) => locked.set_entry(new),
            Action::Remove => {
                let node = locked.node;
                locked.kill();
                drop(locked);
                take_out(node, pin);
                self.entries.add(-1);
            }
        }
        result
    }

    /// Runs the closure for a key that is absent, and stays so while the node above its gap is locked.
    fn fill_gap<R>(
        &self,
        mut above: LockedAvlNode<'_>,
        gap: At<'_>,
        prefix: u64,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        let (action, result) = f(None);
        if let Action::Put(new) = action {
            self.count_new();
            let leaf = LockedAvlNode::leaf(prefix, new);
            above.set_child(gap.side, Some(leaf.node));
            drop(leaf);
            let mut work = Work::new();
            work.measure(&mut above);
            drop(above);
            repair(work, pin);
        }
        result
    }
}

/// Takes a dead node out of the tree. Compares no keys. When this returns, no link leads to the node.
fn take_out(node: AvlNodeRef<'_>, pin: &impl Guard) {
    let mut backoff = Backoff::new();
    // Another thread takes the node out if it needs its place.
    while !node.is_out() {
        let mut work = Work::new();
        let is_done = try_take_out(node, pin, &mut work).is_some();
        repair(work, pin);
        if is_done {
            return;
        }
        backoff.wait();
    }
}

/// Takes a dead node out, with its parent locked, unless another thread has changed the place of the node meanwhile:
/// * it has one child at most: that takes its place;
/// * it has two, and the next node is alive when it and all on the way to it are locked: a twin of that one takes the
///   place, and both go;
/// * the next node is dead: that one is taken out first, and this one stays for another try.
fn try_take_out<'g>(node: AvlNodeRef<'g>, pin: &impl Guard, work: &mut Work<'g>) -> Option<()> {
    let parent = node.parent()?.lock()?;
    let side = parent.node.side_of(node)?;
    let locked = node.lock()?;
    work.check(parent.node);
    match [LOW, HIGH].map(|side| node.child(side)) {
        [Some(_), Some(_)] => {
            let spine = lock_spine(&locked, pin)?;
            if spine.last()?.node.is_dead() {
                clear_spine(&locked, spine, pin, work);
                return None;
            }
            replace(&parent, side, locked, spine, pin, work);
        }
        [low, high] => splice(&parent, side, locked, low.or(high), pin),
    }
    Some(())
}

/// Takes a node with one child at most out of the tree.
fn splice(
    parent: &LockedAvlNode<'_>,
    side: Side,
    mut locked: LockedAvlNode<'_>,
    child: Option<AvlNodeRef<'_>>,
    pin: &impl Guard,
) {
    locked.unlink();
    parent.set_child(side, child);
    discard(locked, pin);
}

/// Locks the nodes from the higher child of a node, which is locked, down to the next node.
fn lock_spine<'g>(top: &LockedAvlNode<'g>, pin: &impl Guard) -> Option<Spine<'g>> {
    let mut spine = Spine::new();
    let mut next = top.own_child(HIGH, pin);
    while let Some(node) = next {
        let locked = node.lock()?;
        next = locked.own_child(LOW, pin);
        spine.push(locked);
    }
    Some(spine)
}

/// Takes the last node of a spine, which is dead, out of the tree.
fn clear_spine<'g>(
    above: &LockedAvlNode<'g>,
    mut spine: Spine<'g>,
    pin: &impl Guard,
    work: &mut Work<'g>,
) {
    if let Some(dead) = spine.pop() {
        let (above, side) = spine.last().map_or((above, HIGH), |last| (last, LOW));
        let rest = dead.node.child(HIGH);
        splice(above, side, dead, rest, pin);
        work.check(above.node);
    }
}

/// Takes a node with two children out of the tree, and puts a twin of the next node into its place: that one, the last
/// of the spine, is taken out too, so the keys between the two do not belong to the spine any more.
fn replace<'g>(
    parent: &LockedAvlNode<'g>,
    side: Side,
    mut locked: LockedAvlNode<'g>,
    mut spine: Spine<'g>,
    pin: &impl Guard,
    work: &mut Work<'g>,
) {
    let Some(mut next) = spine.pop() else { return };
    locked.unlink();
    next.unlink();
    spine.iter_mut().for_each(LockedAvlNode::shrink);
    let mut twin = next.twin();
    twin.set_child(LOW, locked.node.child(LOW));
    let rest = next.node.child(HIGH);
    twin.set_child(HIGH, spine.first().map_or(rest, |first| Some(first.node)));
    parent.set_child(side, Some(twin.node));
    work.measure(&mut twin);
    if let Some(last) = spine.last_mut() {
        last.set_child(LOW, rest);
        work.measure(last);
    }
    discard(locked, pin);
    discard(next, pin);
}

/// Unlocks a node that is out of the tree, and retires it.
fn discard(locked: LockedAvlNode<'_>, pin: &impl Guard) {
    let node = locked.node;
    drop(locked);
    // SAFETY: no link leads to the node any more; the thread that has marked it as unlinked is alone in doing so.
    unsafe { pin.retire(node.as_ptr()) };
}
