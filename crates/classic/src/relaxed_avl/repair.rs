//! Heights and rotations: what makes the tree an AVL tree again behind a change.

use fyris_sync::lock::Backoff;
use fyris_sync::reclaim::Guard;
use smallvec::SmallVec;

use super::node::{AvlNodeRef, HIGH, LOW, LockedAvlNode, Side, other};

/// The nodes that a thread is to look at before its operation ends (invariant REPAIRED), the next one last.
pub(super) struct Work<'g>(SmallVec<[Task<'g>; 16]>);

enum Task<'g> {
    /// The node.
    Check(AvlNodeRef<'g>),
    /// The parent that the node has when its turn comes.
    CheckAbove(AvlNodeRef<'g>),
}

impl<'g> Work<'g> {
    pub(super) fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Adds a node whose links have changed.
    #[inline]
    pub(super) fn check(&mut self, node: AvlNodeRef<'g>) {
        self.0.push(Task::Check(node));
    }

    /// Computes the height of a node whose links, or the heights of whose children, have changed; adds the node, and
    /// its parent if the height is another.
    #[inline]
    pub(super) fn measure(&mut self, locked: &mut LockedAvlNode<'g>) {
        if locked.measure() && !cfg!(fyris_mutant = "ravl_unrepaired") {
            self.0.push(Task::CheckAbove(locked.node));
        }
        self.check(locked.node);
    }
}

/// The shape of a node as the heights tell it.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// Of the right height, with children whose heights differ by one at most.
    Sound,
    /// Of a wrong height.
    Unmeasured,
    /// Too high on this side.
    Tilted(Side),
}

#[inline]
fn shape_of(node: AvlNodeRef<'_>) -> Shape {
    let version = node.version();
    let [low, high] = node.heights();
    if version.is_unlinked() {
        // The thread that has done so looks at what is left.
        Shape::Sound
    } else if low.abs_diff(high) > 1 {
        Shape::Tilted(if low > high { LOW } else { HIGH })
    } else if version.height() != low.max(high).saturating_add(1) {
        Shape::Unmeasured
    } else {
        Shape::Sound
    }
}

/// Makes the nodes sound, and those above them whose shape this changes. The thread has no lock. Compares no keys.
#[inline]
pub(super) fn repair(mut work: Work<'_>, pin: &impl Guard) {
    let mut backoff = Backoff::new();
    while let Some(task) = work.0.pop() {
        // The node that was added last comes first, so what lies below is put right before what lies above. It
        // * is sound, or unlinked (then the thread that did that sees to what is left): nothing is to be done;
        // * has a wrong height: it is measured, locked; if the height was wrong indeed, the parent is looked at later;
        // * is tilted: it is rotated, or first the child that would rise, if that is not sound. What the rotation has
        //   moved is looked at later.
        // Where another thread has changed the place of the node, it is looked at again after a pause. Each change adds
        // the nodes whose shape it may have spoilt, so none is left (REPAIRED).
        let node = match task {
            Task::Check(node) => Some(node),
            Task::CheckAbove(node) => node.parent(),
        };
        // The holder of the root has no parent, and no shape.
        let Some(node) = node.filter(|node| node.parent().is_some()) else {
            continue;
        };
        match shape_of(node) {
            Shape::Sound => {}
            Shape::Unmeasured => {
                if let Some(mut locked) = node.lock() {
                    work.measure(&mut locked);
                }
            }
            Shape::Tilted(_) => {
                if rotate(node, pin, &mut work).is_none() {
                    work.check(node);
                    backoff.wait();
                }
            }
        }
    }
}

/// Rotates a node that is tilted: its higher child rises into its place, or that one's inner child does. Those are made
/// sound first. `None` where another thread has changed the place of the node.
fn rotate<'g>(node: AvlNodeRef<'g>, pin: &impl Guard, work: &mut Work<'g>) -> Option<()> {
    let parent = node.parent()?.lock()?;
    let side = parent.node.side_of(node)?;
    let sinking = node.lock()?;
    let Shape::Tilted(up) = shape_of(node) else {
        // Repaired meanwhile, as far as the tilt goes.
        work.check(node);
        return Some(());
    };
    let rising = sinking.own_child(up, pin)?.lock()?;
    if shape_of(rising.node) != Shape::Sound {
        work.check(node);
        work.check(rising.node);
        return Some(());
    }
    let heights = rising.node.heights();
    if heights[other(up)] <= heights[up] {
        work.check(parent.node);
        turn(&parent, side, sinking, rising, up, work);
        return Some(());
    }
    let inner = rising.own_child(other(up), pin)?.lock()?;
    if shape_of(inner.node) != Shape::Sound {
        work.check(node);
        work.check(inner.node);
        return Some(());
    }
    work.check(parent.node);
    turn_twice(&parent, side, [sinking, rising, inner], up, work);
    Some(())
}

/// Puts the child on the side `up` of a node into its place. The node shrinks: the keys beyond those of the child
/// belong to the child alone.
fn turn<'g>(
    parent: &LockedAvlNode<'g>,
    side: Side,
    mut sinking: LockedAvlNode<'g>,
    mut rising: LockedAvlNode<'g>,
    up: Side,
    work: &mut Work<'g>,
) {
    let down = other(up);
    sinking.shrink();
    sinking.set_child(up, rising.node.child(down));
    rising.set_child(down, Some(sinking.node));
    parent.set_child(side, Some(rising.node));
    work.check(rising.node);
    work.check(sinking.node);
    sinking.measure();
    // Unlocked, it tells its height.
    drop(sinking);
    rising.measure();
}

/// Puts the inner child of the child on the side `up` of a node into its place. Both of these shrink.
fn turn_twice<'g>(
    parent: &LockedAvlNode<'g>,
    side: Side,
    [mut sinking, mut rising, mut inner]: [LockedAvlNode<'g>; 3],
    up: Side,
    work: &mut Work<'g>,
) {
    let down = other(up);
    sinking.shrink();
    rising.shrink();
    sinking.set_child(up, inner.node.child(down));
    rising.set_child(down, inner.node.child(up));
    inner.set_child(down, Some(sinking.node));
    inner.set_child(up, Some(rising.node));
    parent.set_child(side, Some(inner.node));
    for node in [inner.node, rising.node, sinking.node] {
        work.check(node);
    }
    sinking.measure();
    rising.measure();
    // Unlocked, they tell their heights.
    drop(sinking);
    drop(rising);
    inner.measure();
}
