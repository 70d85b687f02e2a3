//! Changing the inner nodes: replacing a child, and splitting and joining what is above it.
//!
//! Every change of the tree's shape is one store of a child pointer (or of the root pointer) in a living node whose
//! lock is held; see [`Tree::replace`]. The nodes that are replaced are locked from before their content is copied,
//! unlinked by that store, marked dead as they are unlocked, and then retired (invariants FROZEN_NODE and LOCK_ORDER).

use fyris_sync::lock::StatGuard;
use fyris_sync::reclaim::{Guard, Retire};

use super::base::Base;
use super::draft::{Draft, Sep};
use super::inner::{Inner, Node};
use super::{FANOUT, Tree, as_node};
use crate::key::TreeKey;
use crate::key::probe::Probe;

/// An inner node with fewer children looks for a neighbour to join.
pub(super) const FEW_CHILDREN: usize = FANOUT / 4 + 1;
/// Two inner nodes join if they have no more children than this together.
const JOIN_CHILDREN: usize = FANOUT - FANOUT / 4;

/// One or two nodes that take the place of a child.
pub(super) enum Edit<K: TreeKey + ?Sized> {
    One(*mut Node),
    Two(*mut Node, Sep<K>, *mut Node),
}

impl<B: Base> Tree<B> {
    /// Puts `edit` in the place of the child `old` of level `level`, which the caller has locked and which is alive;
    /// the caller marks it dead and retires it afterwards.
    ///
    /// Goes up as far as nodes have to be replaced, and holds the lock of each parent on the way (LOCK_ORDER):
    /// * `old` is the root: what takes its place becomes the root, two nodes below a new one;
    /// * one node for `old`: one store in the parent, which lives on;
    /// * two nodes: the parent gains a separator, which it cannot in place. So a copy with one child more is to take
    ///   the parent's place, or two copies if one would grow too large: the same again, a level higher.
    ///
    /// The store with which this ends shows everything at once. Then, on the way back, each parent that was copied is
    /// marked dead and retired: it has not changed since it was locked (FROZEN_NODE).
    pub(super) fn replace<'p>(
        &'p self,
        probe: &impl Probe<B::Key>,
        level: usize,
        old: *mut Node,
        edit: Edit<B::Key>,
        hint: Option<&'p Inner<B::Key>>,
        pin: &'p impl Guard,
    ) {
        let Some((parent, at, held)) = self.lock_parent(probe, level, old, hint, pin) else {
            return self.set_root(match edit {
                Edit::One(node) => node.cast(),
                Edit::Two(left, sep, right) => {
                    let mut draft = Draft::single(level + 1, old);
                    draft.split(0, left, sep, right);
                    self.new_inner(&draft, 0, 2).cast()
                }
            });
        };
        let (left, sep, right) = match edit {
            Edit::One(node) => return parent.set_child(at, node),
            Edit::Two(left, sep, right) => (left, sep, right),
        };
        if cfg!(fyris_mutant = "ordered_lost_split") && at == 3 {
            return parent.set_child(at, left);
        }
        let mut draft = Draft::of(parent);
        draft.split(at, left, sep, right);
        let edit = self.finish(&draft, at);
        self.replace(probe, level + 1, as_node(parent), edit, None, pin);
        self.retire(parent, held, pin);
    }

    /// Makes one node of a draft whose child `at` has just been split, or two if it is too large.
    fn finish(&self, draft: &Draft<B::Key>, at: usize) -> Edit<B::Key> {
        let len = draft.len();
        if len <= FANOUT {
            return Edit::One(self.new_inner(draft, 0, len));
        }
        // As in leaves: where the last child has split, an ascending load is likely.
        let mid = if at + 2 == len {
            len - len / 8 - 1
        } else {
            len / 2
        };
        let left = self.new_inner(draft, 0, mid);
        Edit::Two(left, draft.sep(mid - 1), self.new_inner(draft, mid, len))
    }

    /// Locks and returns the living node that has `old` as a child; `None` if `old` is the root.
    ///
    /// `old` is locked and alive, so no other thread can replace it, but its parent may be replaced: then the new
    /// parent is found from the root.
    fn lock_parent<'p>(
        &'p self,
        probe: &impl Probe<B::Key>,
        level: usize,
        old: *mut Node,
        mut hint: Option<&'p Inner<B::Key>>,
        pin: &'p impl Guard,
    ) -> Option<(&'p Inner<B::Key>, usize, StatGuard<'p>)> {
        loop {
            let parent = match hint.take() {
                Some(parent) => parent,
                None => self.ancestor(probe, level + 1, pin)?,
            };
            if let Some(held) = parent.lock.lock() {
                let at = parent.find(probe);
                if parent.child(at) == old {
                    return Some((parent, at, held));
                }
            }
        }
    }

    /// Makes a node that will be published, and counts it.
    pub(super) fn new_inner(&self, draft: &Draft<B::Key>, from: usize, to: usize) -> *mut Node {
        let node = Inner::alloc(draft, from, to);
        // SAFETY: just allocated, ours alone.
        self.counters.inner_came(unsafe { node.as_ref() });
        node.as_ptr().cast()
    }

    /// Marks an unlinked inner node dead, unlocks and retires it. Its separators have moved.
    pub(super) fn retire<'p>(
        &self,
        node: &'p Inner<B::Key>,
        held: StatGuard<'p>,
        pin: &impl Guard,
    ) {
        self.counters.inner_went(node);
        held.mark_dead();
        // SAFETY: (RECLAIM) the caller has unlinked it, and the thread that unlinks retires.
        unsafe { pin.retire(std::ptr::from_ref(node).cast_mut()) };
    }

    /// Joins the inner node of `level` above the probe with a neighbour while it has few children, and so on upwards.
    /// Gives up where another thread holds a lock that it needs.
    pub(super) fn thin<'p>(
        &'p self,
        probe: &impl Probe<B::Key>,
        mut level: usize,
        pin: &'p impl Guard,
    ) {
        loop {
            self.lower(pin);
            let Some(parent) = self.ancestor(probe, level + 1, pin) else {
                return;
            };
            if parent.len() > 1 {
                match self.join_inner(probe, level, parent, pin) {
                    Some(children) if children < FEW_CHILDREN => {}
                    _ => return,
                }
            }
            level += 1;
        }
    }

    /// Takes away a root that has one child, which is an inner node.
    fn lower<'p>(&'p self, pin: &'p impl Guard) {
        let root = self.root(pin);
        if root.level() == 1 || root.len() > 1 {
            return;
        }
        // A living node that has been the root is the root: replacing it kills it.
        if let Some(held) = root.lock.lock() {
            self.set_root(root.child(0).cast());
            self.retire(root, held, pin);
        }
    }

    /// Joins a child of `parent` with a neighbour; returns how many children `parent` has left.
    fn join_inner<'p>(
        &'p self,
        probe: &impl Probe<B::Key>,
        level: usize,
        parent: &'p Inner<B::Key>,
        pin: &'p impl Guard,
    ) -> Option<usize> {
        let at = parent.find(probe);
        let sides = [at.checked_sub(1), Some(at)].into_iter().flatten();
        sides
            .filter(|left_at| left_at + 1 < parent.len())
            .find_map(|left_at| self.join_inner_pair(probe, level, parent, (at, left_at), pin))
    }

    /// Joins the children `left_at` and `left_at + 1` of `parent`; `at`, one of them, is the one with few children.
    fn join_inner_pair<'p>(
        &'p self,
        probe: &impl Probe<B::Key>,
        level: usize,
        parent: &'p Inner<B::Key>,
        (at, left_at): (usize, usize),
        pin: &'p impl Guard,
    ) -> Option<usize> {
        let (left, right) = (
            Self::below(parent, left_at),
            Self::below(parent, left_at + 1),
        );
        let (node, other) = if at == left_at {
            (left, right)
        } else {
            (right, left)
        };
        if node.len() >= FEW_CHILDREN || left.len() + right.len() > JOIN_CHILDREN {
            return None;
        }
        let node_held = node.lock.lock()?;
        let other_held = other.lock.try_lock()?;
        let parent_held = parent.lock.lock()?;
        let mut above = Draft::of(parent);
        let mut draft = Draft::of(left);
        draft.join(above.sep(left_at), right);
        let joined = self.new_inner(&draft, 0, draft.len());
        // The separator has moved down into `joined`.
        above.unsplit(left_at, joined);
        let children = above.len();
        let new = self.new_inner(&above, 0, children);
        self.replace(probe, level + 1, as_node(parent), Edit::One(new), None, pin);
        self.retire(parent, parent_held, pin);
        self.retire(node, node_held, pin);
        self.retire(other, other_held, pin);
        Some(children)
    }
}

/// A separator that a join has taken out.
struct GoneSep<S>(S);

impl<S: 'static> Retire for GoneSep<S> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: from `Box::into_raw` in `retire_sep`.
        drop(unsafe { Box::from_raw(ptr) });
    }
}

/// # Safety
///
/// The separator is in no living node any more, and is retired once (invariant SEPARATOR).
pub(super) unsafe fn retire_sep<K: TreeKey + ?Sized>(sep: Sep<K>, pin: &impl Guard) {
    if std::mem::needs_drop::<K::Sep>() {
        // SAFETY: separators in nodes are initialised.
        let gone = Box::new(GoneSep(unsafe { sep.sep.assume_init() }));
        // SAFETY: (RECLAIM) the caller's contract.
        unsafe { pin.retire(Box::into_raw(gone)) };
    }
}
