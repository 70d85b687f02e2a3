//! Descending to a base node.

use fyris_sync::reclaim::{Guard, assert_not_reclaimed};

use super::Tree;
use super::base::{Base, BaseLock, Bounds, HeldBase};
use super::inner::Inner;
use crate::key::probe::{Fence, Probe};
use crate::simd::{self, Lanes, Vectors, Words};

/// The end of a descent: a base node, the node above it, and the index of the base node among the children of that.
pub struct BaseRef<'p, B: Base> {
    pub(crate) parent: &'p Inner<B::Key>,
    pub(crate) at: usize,
    /// The base node.
    pub base: &'p B,
}

/// A base node, and the fences of the node above it (none: an end of the tree).
pub struct Position<'p, B: Base> {
    /// The base node, and where it is.
    pub base_ref: BaseRef<'p, B>,
    low: Option<Fence<'p, B::Key>>,
    high: Option<Fence<'p, B::Key>>,
}

impl<'p, B: Base> BaseRef<'p, B> {
    /// Returns the base node that is child `at` of `parent`, which is of level 1.
    pub(crate) fn of(parent: &'p Inner<B::Key>, at: usize) -> Self {
        debug_assert_eq!(parent.level(), 1);
        let base = parent.child(at).cast::<B>();
        assert_not_reclaimed(base);
        B::prefetch(base);
        // SAFETY: (RECLAIM) a node of level 1 has base nodes as children, and this one was in the tree at a moment
        // since the thread was pinned (invariant FROZEN_NODE).
        let base = unsafe { &*base };
        Self { parent, at, base }
    }
}

impl<'p, B: Base> Position<'p, B> {
    /// Returns the separator to the left of the base node.
    pub fn low(&self) -> Option<Fence<'p, B::Key>> {
        let BaseRef { parent, at, .. } = self.base_ref;
        if at > 0 {
            Some(parent.fence(at - 1))
        } else {
            self.low
        }
    }

    /// Returns the separator to the right of the base node.
    pub fn high(&self) -> Option<Fence<'p, B::Key>> {
        let BaseRef { parent, at, .. } = self.base_ref;
        if at + 1 < parent.len() {
            Some(parent.fence(at))
        } else {
            self.high
        }
    }

    /// Returns both separators.
    pub(crate) fn bounds(&self) -> Bounds<'p, B::Key> {
        Bounds {
            low: self.low(),
            high: self.high(),
        }
    }

    /// Returns the position of the child `at` of the same parent.
    pub(super) fn sibling(&self, at: usize) -> Self {
        Self {
            base_ref: BaseRef::of(self.base_ref.parent, at),
            low: self.low,
            high: self.high,
        }
    }
}

impl<B: Base> Tree<B> {
    /// Returns the base node that covers the probe.
    #[inline]
    pub fn find_base<'p>(
        &'p self,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) -> BaseRef<'p, B> {
        if simd::wide() {
            self.find_base_by::<Vectors>(probe, pin)
        } else {
            self.find_base_by::<Words>(probe, pin)
        }
    }

    /// Returns the base node that covers the probe, found by comparisons of `L`.
    #[inline(always)]
    pub(crate) fn find_base_by<'p, L: Lanes>(
        &'p self,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) -> BaseRef<'p, B> {
        let mut node = self.root(pin);
        loop {
            let at = node.find_by::<L>(probe);
            if node.level() == 1 {
                return BaseRef::of(node, at);
            }
            node = Self::below(node, at);
        }
    }

    /// Returns the base node that covers the probe, with the separators on both sides of it.
    pub fn find_position<'p>(
        &'p self,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) -> Position<'p, B> {
        let mut node = self.root(pin);
        let (mut low, mut high) = (None, None);
        loop {
            let at = node.find(probe);
            if node.level() == 1 {
                return Position {
                    base_ref: BaseRef::of(node, at),
                    low,
                    high,
                };
            }
            if at > 0 {
                low = Some(node.fence(at - 1));
            }
            if at + 1 < node.len() {
                high = Some(node.fence(at));
            }
            node = Self::below(node, at);
        }
    }

    /// Returns the base node that covers the probe, locked, waiting if need be. To be given back to [`Tree::settle`].
    ///
    /// Inlined whatever the compiler thinks of it: a call takes 32 instructions more, of the 300 of a write.
    #[inline(always)]
    pub fn lock_base<'p>(
        &'p self,
        probe: &impl Probe<B::Key>,
        pin: &'p impl Guard,
    ) -> (BaseRef<'p, B>, HeldBase<'p, B>) {
        loop {
            // * The lock is got and the node lives: it is in the tree and covers the probe, as its range never changes
            //   (FROZEN_NODE). No other thread changes it or takes it out now.
            // * It is dead: another thread has put others in its place before it let go of the lock. They are found
            //   from the root. So each round has a split, a join or a rewrite by another thread behind it.
            let base_ref = self.find_base(probe, pin);
            if let Some(held) = self.lock(base_ref.base) {
                return (base_ref, held);
            }
        }
    }

    /// Takes the lock of a base node, waiting if need be; `None` if the node is dead.
    #[inline(always)]
    pub(crate) fn lock<'p>(&'p self, base: &'p B) -> Option<HeldBase<'p, B>> {
        match base.lock().try_lock() {
            Some(held) => Some(held),
            None => self.wait_for(base),
        }
    }

    #[cold]
    fn wait_for<'p>(&'p self, base: &'p B) -> Option<HeldBase<'p, B>> {
        let held = base.lock().wait()?;
        self.count_wait();
        Some(held)
    }

    /// Returns the inner node of this level that covers the probe; none if the tree is lower.
    pub(super) fn ancestor<'p>(
        &'p self,
        probe: &impl Probe<B::Key>,
        level: usize,
        pin: &'p impl Guard,
    ) -> Option<&'p Inner<B::Key>> {
        let mut node = self.root(pin);
        while node.level() > level {
            node = Self::below(node, node.find(probe));
        }
        (node.level() == level).then_some(node)
    }

    /// Returns the inner node that is child `at` of a node above level 1.
    #[inline]
    pub(super) fn below(node: &Inner<B::Key>, at: usize) -> &Inner<B::Key> {
        let child = node.child(at).cast::<Inner<B::Key>>();
        assert_not_reclaimed(child);
        Inner::prefetch(child);
        // SAFETY: (RECLAIM) a node above level 1 has inner nodes as children; in the tree since the pin (invariant
        // FROZEN_NODE).
        unsafe { &*child }
    }
}
