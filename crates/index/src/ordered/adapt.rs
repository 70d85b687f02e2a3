//! Splitting and joining: of leaves, by size and by contention, and of the inner nodes above.
//!
//! Every change of the tree's shape is one store of a child pointer (or of the root pointer) in a
//! living node whose lock is held; see [`Tree::replace`]. The nodes that are replaced are locked
//! from before their content is copied, unlinked by that store, marked dead as they are unlocked,
//! and then retired (invariants FROZEN and LOCK_ORDER).

use fyris_sync::reclaim::{Guard, Retire};

use super::draft::{Draft, Sep};
use super::inner::{Inner, Node};
use super::item::Item;
use super::key::{Separator, TreeKey};
use super::leaf::{Leaf, Parts};
use super::lock::{LockGuard, MAX_SKIP, Word};
use super::probe::{Fence, Probe};
use super::read::{LeafRef, Position};
use super::stats::generation;
use super::{FANOUT, SLOTS, Tree, as_node};

/// A leaf splits above this statistic, and joins below the negative of it (ETS's figures).
const LIMIT: i64 = if cfg!(fyris_small) { 200 } else { 1000 };
/// A leaf with fewer entries than this looks for a neighbour to join.
const FEW: usize = SLOTS.div_ceil(4);
/// Two leaves join if they have no more entries than this together.
const JOIN_MAX: usize = SLOTS - SLOTS / 3;
/// An inner node with fewer children looks for a neighbour to join.
const FEW_CHILDREN: usize = FANOUT / 4 + 1;
/// Two inner nodes join if they have no more children than this together.
const JOIN_CHILDREN: usize = FANOUT - FANOUT / 4;

/// Why a leaf changes its shape.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// Its slots have run out; `appended` if by a new last entry.
    Full { appended: bool },
    /// Writers wait for each other.
    Contended,
    /// Writers have stopped waiting for each other.
    Calm,
    /// It is nearly empty.
    Few,
}

/// Whether a leaf that has `len` entries left, if one was removed, should change its shape.
#[inline]
pub(super) fn reason(stat: i64, left: Option<usize>, word: Word) -> Option<Why> {
    if !(-LIMIT..=LIMIT).contains(&stat) {
        return Some(if stat > 0 { Why::Contended } else { Why::Calm });
    }
    left.is_some_and(|len| len < FEW && !word.is_forced())
        .then_some(Why::Few)
}

/// What takes the place of a child.
enum Edit<K: TreeKey + ?Sized> {
    One(*mut Node),
    Two(*mut Node, Sep<K>, *mut Node),
}

impl<I: Item> Tree<I> {
    /// Changes the leaf's shape, or finds that it should stay, and unlocks it.
    #[cold]
    pub(super) fn adapt<'p>(
        &'p self,
        why: Why,
        leaf_ref: LeafRef<'p, I>,
        mut held: LockGuard<'p>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) {
        if why != Why::Few {
            held.word = held.word.with_stat(0);
        }
        if why != Why::Contended {
            return self.join(why, leaf_ref, held, probe, pin);
        }
        let view = leaf_ref.leaf.view();
        if view.len() < 2 {
            return;
        }
        let mut parts = Parts::new();
        parts.extend(view, 0, view.len());
        self.split(why, leaf_ref, held, parts, probe, pin);
    }

    /// Replaces a locked leaf by another one with the same range.
    pub(super) fn swap<'p>(
        &'p self,
        leaf_ref: &LeafRef<'p, I>,
        new: *mut Leaf<I>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) {
        let hint = Some(leaf_ref.parent);
        self.replace(
            probe,
            0,
            as_node(leaf_ref.leaf),
            Edit::One(new.cast()),
            hint,
            pin,
        );
    }

    /// Replaces a locked leaf by two that hold `parts`, no more than fit; returns the slot of the part that
    /// is `wanted`.
    pub(super) fn split<'p>(
        &'p self,
        why: Why,
        leaf_ref: LeafRef<'p, I>,
        held: LockGuard<'p>,
        mut parts: Parts<I>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> &'p I {
        let position = self.find_position(probe, pin);
        let at_edge = why == Why::Full { appended: true } && position.high().is_none();
        // An ascending load fills its leaves: the last leaf keeps all, and the next begins.
        let at = if at_edge {
            (parts.len() - 1).min(SLOTS)
        } else {
            parts.len() / 2
        };
        let sep = separator(&parts, at);
        // SAFETY: initialised by `separator`, or of no size. The tree owns it from the moment it is
        // published; until then it stays on this stack.
        let between = unsafe { sep.sep.assume_init_ref() };
        let between = Fence::<I::Key> {
            key_prefix: sep.key_prefix,
            sep: between,
        };
        let forced = why == Why::Contended;
        let word = |skip| Word::new(generation(), skip).forced(forced);
        let skip = better_skip(&parts, held.word.skip(), position.low(), Some(between));
        if skip != held.word.skip() {
            parts.rehead(skip);
        }
        let left = Leaf::alloc(word(skip), &parts, 0, at);
        let other = better_skip(&parts, held.word.skip(), Some(between), position.high());
        if other != skip {
            parts.rehead(other);
        }
        let right = Leaf::alloc(word(other), &parts, at, parts.len());
        // SAFETY: (RECLAIM) not published yet, and from then on protected by the pin.
        let (low, high) = unsafe { (left.as_ref().view(), right.as_ref().view()) };
        let of = parts.wanted;
        let slot = if of < at {
            low.item(of)
        } else {
            high.item(of - at)
        };
        let edit = Edit::Two(left.as_ptr().cast(), sep, right.as_ptr().cast());
        self.replace(
            probe,
            0,
            as_node(leaf_ref.leaf),
            edit,
            Some(leaf_ref.parent),
            pin,
        );
        self.counters.leaf_came();
        let splits = &self.counters;
        if forced {
            &splits.contention_splits
        } else {
            &splits.size_splits
        }
        .add(1);
        held.mark_dead();
        // SAFETY: (RECLAIM) `replace` has unlinked it, and whoever unlinks retires.
        unsafe { pin.retire(std::ptr::from_ref(leaf_ref.leaf).cast_mut()) };
        slot
    }

    /// Puts `edit` in the place of the child `old` of level `level`, which the caller has locked and
    /// which is alive; the caller marks it dead and retires it afterwards.
    ///
    /// Goes up as far as nodes have to be replaced: a node that gains a separator is replaced by a
    /// copy, one that would grow too large by two.
    fn replace<'p>(
        &'p self,
        probe: &impl Probe<I::Key>,
        level: usize,
        old: *mut Node,
        edit: Edit<I::Key>,
        hint: Option<&'p Inner<I::Key>>,
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
    fn finish(&self, draft: &Draft<I::Key>, at: usize) -> Edit<I::Key> {
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

    /// Locks the living node that has `old` as a child; none if `old` is the root.
    ///
    /// `old` is locked and alive, so nobody else can replace it, but its parent may be: then the new
    /// one is found from the root.
    fn lock_parent<'p>(
        &'p self,
        probe: &impl Probe<I::Key>,
        level: usize,
        old: *mut Node,
        mut hint: Option<&'p Inner<I::Key>>,
        pin: &'p impl Guard,
    ) -> Option<(&'p Inner<I::Key>, usize, LockGuard<'p>)> {
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
    fn new_inner(&self, draft: &Draft<I::Key>, from: usize, to: usize) -> *mut Node {
        let node = Inner::alloc(draft, from, to);
        // SAFETY: just allocated, ours alone.
        self.counters.inner_came(unsafe { node.as_ref() });
        node.as_ptr().cast()
    }

    /// Marks an unlinked inner node dead, unlocks and retires it. Its separators have moved.
    fn retire<'p>(&self, node: &'p Inner<I::Key>, held: LockGuard<'p>, pin: &impl Guard) {
        self.counters.inner_went(node);
        held.mark_dead();
        // SAFETY: (RECLAIM) the caller has unlinked it, and whoever unlinks retires.
        unsafe { pin.retire(std::ptr::from_ref(node).cast_mut()) };
    }

    /// Joins a locked leaf with a neighbour under the same parent if they fit together.
    fn join<'p>(
        &'p self,
        why: Why,
        leaf_ref: LeafRef<'p, I>,
        held: LockGuard<'p>,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) {
        let position = self.find_position(probe, pin);
        let at = position.leaf_ref.at;
        let mut held = Some(held);
        for left_at in [at.checked_sub(1), Some(at)].into_iter().flatten() {
            if left_at + 1 < position.leaf_ref.parent.len() {
                let pair = (position.sibling(left_at), position.sibling(left_at + 1));
                held = held.and_then(|held| self.join_pair(why, &leaf_ref, held, pair, probe, pin));
            }
        }
    }

    /// Joins two neighbours, one of them the leaf of `leaf_ref`, which is locked. Returns its lock if
    /// they stay apart.
    fn join_pair<'p>(
        &'p self,
        why: Why,
        leaf_ref: &LeafRef<'p, I>,
        held: LockGuard<'p>,
        (left, right): (Position<'p, I>, Position<'p, I>),
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> Option<LockGuard<'p>> {
        let (parent, left_at) = (left.leaf_ref.parent, left.leaf_ref.at);
        let is_left = std::ptr::eq(left.leaf_ref.leaf, leaf_ref.leaf);
        let other = if is_left {
            right.leaf_ref.leaf
        } else {
            left.leaf_ref.leaf
        };
        // Tried, not waited for (invariant LOCK_ORDER). Not free: somebody works there, leave it to them.
        let Some(other_held) = other.lock.try_lock() else {
            return Some(held);
        };
        // A neighbour that contention made small waits for its own calm.
        if why == Why::Few && other_held.word.is_forced() {
            return Some(held);
        }
        let (low, high) = (left.leaf_ref.leaf.view(), right.leaf_ref.leaf.view());
        if low.len() + high.len() > JOIN_MAX && low.len() * high.len() > 0 {
            return Some(held);
        }
        let Some(parent_held) = parent.lock.lock() else {
            return Some(held);
        };
        // Both leaves are alive and so is the parent, and the children of a living node with fixed
        // separators are replaced only by their own holders: they are still side by side.
        debug_assert_eq!(parent.child(left_at), as_node(left.leaf_ref.leaf));
        debug_assert_eq!(parent.child(left_at + 1), as_node(right.leaf_ref.leaf));
        let mut parts = Parts::new();
        let mut skip = joined_skip(left.low(), right.high());
        let skips = (low.leaf.skip(), high.leaf.skip());
        parts.extend(low, 0, low.len());
        parts.extend(high, 0, high.len());
        if skips.0 == skips.1 && skips.0 <= skip {
            // Key prefixes behind a shorter prefix are right too, and at hand.
            skip = skips.0;
        } else {
            parts.rehead(skip);
        }
        let stat = if why == Why::Few { held.word.stat() } else { 0 };
        let word = Word::new(generation(), skip).with_stat(stat);
        let joined = Leaf::alloc(word, &parts, 0, parts.len());
        let mut draft = Draft::of(parent);
        let sep = draft.unsplit(left_at, joined.as_ptr().cast());
        let children = draft.len();
        let node = self.new_inner(&draft, 0, children);
        self.replace(probe, 1, as_node(parent), Edit::One(node), None, pin);
        let counters = &self.counters;
        counters.leaves.add(-1);
        if why == Why::Few {
            &counters.size_joins
        } else {
            &counters.contention_joins
        }
        .add(1);
        self.retire(parent, parent_held, pin);
        other_held.mark_dead();
        held.mark_dead();
        // SAFETY: (RECLAIM, SEPARATOR) `replace` has unlinked both leaves and taken the separator out.
        unsafe {
            pin.retire(std::ptr::from_ref(other).cast_mut());
            pin.retire(std::ptr::from_ref(leaf_ref.leaf).cast_mut());
            retire_sep::<I::Key>(sep, pin);
        }
        if children < FEW_CHILDREN {
            self.thin(probe, 1, pin);
        }
        None
    }

    /// Joins the inner node of `level` above the probe with a neighbour while it has few children,
    /// and so on upwards. Gives up whenever somebody else is at work there.
    fn thin<'p>(&'p self, probe: &impl Probe<I::Key>, mut level: usize, pin: &'p impl Guard) {
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
        // A living node that has been the root is the root: what replaces it kills it.
        if let Some(held) = root.lock.lock() {
            self.set_root(root.child(0).cast());
            self.retire(root, held, pin);
        }
    }

    /// Joins a child of `parent` with a neighbour; returns how many children `parent` has left.
    fn join_inner<'p>(
        &'p self,
        probe: &impl Probe<I::Key>,
        level: usize,
        parent: &'p Inner<I::Key>,
        pin: &'p impl Guard,
    ) -> Option<usize> {
        let at = parent.find(probe);
        let sides = [at.checked_sub(1), Some(at)].into_iter().flatten();
        sides
            .filter(|left_at| left_at + 1 < parent.len())
            .find_map(|left_at| self.join_inner_pair(probe, level, parent, (at, left_at), pin))
    }

    /// Joins the children `left_at` and `left_at + 1` of `parent`; `at`, one of them, is the one with
    /// few children.
    fn join_inner_pair<'p>(
        &'p self,
        probe: &impl Probe<I::Key>,
        level: usize,
        parent: &'p Inner<I::Key>,
        (at, left_at): (usize, usize),
        pin: &'p impl Guard,
    ) -> Option<usize> {
        // SAFETY: (RECLAIM) children of a node above level 1 are inner nodes; in the tree since the pin.
        let (left, right) = unsafe {
            (
                &*parent.child(left_at).cast::<Inner<I::Key>>(),
                &*parent.child(left_at + 1).cast::<Inner<I::Key>>(),
            )
        };
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

/// What stands between the entries `at - 1` and `at`.
fn separator<I: Item>(parts: &Parts<I>, at: usize) -> Sep<I::Key> {
    let mut sep = Sep {
        key_prefix: parts.key_prefix(at),
        sep: std::mem::MaybeUninit::uninit(),
    };
    if !I::Key::EXACT {
        sep.sep.write(I::Key::separate(
            parts.item(at - 1).key(),
            parts.item(at).key(),
        ));
    }
    sep
}

/// The prefix to skip in a leaf between two fences: the old one, which still holds, unless its key prefixes
/// tell little and the fences know better.
fn better_skip<I: Item>(
    parts: &Parts<I>,
    old: usize,
    low: Option<Fence<'_, I::Key>>,
    high: Option<Fence<'_, I::Key>>,
) -> usize {
    let told = parts.key_prefix(0) ^ parts.key_prefix(parts.len() - 1);
    if told.leading_zeros() < 32 {
        return old;
    }
    old.max(joined_skip(low, high))
}

/// What all keys between two fences share.
fn joined_skip<K: TreeKey + ?Sized>(
    low: Option<Fence<'_, K>>,
    high: Option<Fence<'_, K>>,
) -> usize {
    match (low, high) {
        (Some(low), Some(high)) if !K::EXACT => low.sep.common(high.sep).min(MAX_SKIP),
        _ => 0,
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
unsafe fn retire_sep<K: TreeKey + ?Sized>(sep: Sep<K>, pin: &impl Guard) {
    if std::mem::needs_drop::<K::Sep>() {
        // SAFETY: separators in nodes are initialised.
        let gone = Box::new(GoneSep(unsafe { sep.sep.assume_init() }));
        // SAFETY: (RECLAIM) the caller's contract.
        unsafe { pin.retire(Box::into_raw(gone)) };
    }
}
