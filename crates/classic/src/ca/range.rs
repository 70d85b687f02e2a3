//! Operations over several base nodes: one after another, in the order of keys or against it.
//!
//! A base node covers a range of keys that never changes, and the next one that is locked covers the key where that
//! range ends, whatever has been split or joined meanwhile: so no key is passed over. It may cover keys before that,
//! too, where base nodes have been joined: so a scan goes on behind the last entry that it has appended, and meets none
//! twice.

use std::ops::Bound;

use fyris_index::key::probe::{ByBound, ByFence, End, Fence, Probe};
use fyris_index::{Batch, Entry, Range};
use fyris_sync::reclaim::Guard;

use crate::sequential::{KeyOf, SplitTree};

use super::Adapting;
use super::lock::ReadLock;

#[expect(private_bounds, reason = "there are two kinds of locks")]
impl<T: SplitTree, L: ReadLock> Adapting<T, L> {
    /// Runs `visit` on base nodes from the one that covers a bound on, upwards or, with `BACK`, downwards, until it
    /// returns false or there are no more. Each is locked for reading meanwhile; with it comes the end of its range
    /// that the walk goes to, if that is not an end of the tree.
    pub(super) fn each_base<const BACK: bool>(
        &self,
        from: Bound<&KeyOf<T>>,
        pin: &impl Guard,
        mut visit: impl FnMut(&T, Option<Fence<'_, KeyOf<T>>>) -> bool,
    ) {
        let first = match (from, BACK) {
            (Bound::Included(key) | Bound::Excluded(key), _) => {
                self.visit_base::<BACK>(&ByBound(key), true, pin, &mut visit)
            }
            (Bound::Unbounded, false) => {
                self.visit_base::<BACK>(&End::First, true, pin, &mut visit)
            }
            (Bound::Unbounded, true) => self.visit_base::<BACK>(&End::Last, true, pin, &mut visit),
        };
        let mut next = first;
        while let Some(fence) = next {
            let probe = ByFence { fence, below: BACK };
            next = self.visit_base::<BACK>(&probe, false, pin, &mut visit);
        }
    }

    /// Runs `visit` on the base node that covers the probe; returns where to go on.
    fn visit_base<'p, const BACK: bool>(
        &'p self,
        probe: &impl Probe<KeyOf<T>>,
        is_first: bool,
        pin: &'p impl Guard,
        visit: &mut impl FnMut(&T, Option<Fence<'_, KeyOf<T>>>) -> bool,
    ) -> Option<Fence<'p, KeyOf<T>>> {
        loop {
            let position = self.tree.find_position(probe, pin);
            let end = if BACK {
                position.low()
            } else {
                position.high()
            };
            let base_ref = position.base_ref;
            // A dead node has been replaced: its successor is found from the root.
            let Some(reading) = self.read_lock(base_ref.base) else {
                continue;
            };
            let skips = cfg!(fyris_mutant = "ca_scan_skips_base") && !is_first && end.is_some();
            // SAFETY: the lock is held for reading and the node alive; the reference ends before it is settled.
            let goes_on = skips || visit(unsafe { base_ref.base.read() }, end);
            let next = end.filter(|_| goes_on);
            let several = !is_first || next.is_some();
            self.settle_read(base_ref, reading, several, probe, pin);
            return next;
        }
    }

    /// Appends entries of a range, from its beginning or, with `BACK`, from its end. See [`Index::scan`].
    ///
    /// [`Index::scan`]: fyris_index::Index::scan
    pub(super) fn scan_bases<const BACK: bool>(
        &self,
        range: Range<'_, KeyOf<T>>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<T::Entry>,
    ) -> bool {
        let (already, enough) = (out.len(), out.len().saturating_add(want.max(1)));
        let from = if BACK { range.1 } else { range.0 };
        let mut more = false;
        self.each_base::<BACK>(from, pin, |tree, end| {
            let want = enough - out.len();
            // The node may have been joined with what lies before it, which has been appended.
            let last = out[already..].last().copied();
            let last = last.filter(|_| !cfg!(fyris_mutant = "ca_scan_meets_twice"));
            let met = last.as_ref().map(|entry| Bound::Excluded(entry.key()));
            more = if BACK {
                tree.scan_back((range.0, met.unwrap_or(range.1)), want, out)
            } else {
                tree.scan((met.unwrap_or(range.0), range.1), want, out)
            };
            let goes_on = !more && end.is_some_and(|end| reaches::<_, BACK>(range, &end));
            // What the range has behind this node is for the next scan.
            more |= goes_on && out.len() == enough;
            goes_on && !more
        });
        more
    }
}

/// Returns whether a range goes on behind a fence, on the side that a walk goes to.
fn reaches<K: fyris_index::key::TreeKey + ?Sized, const BACK: bool>(
    (from, to): Range<'_, K>,
    fence: &Fence<'_, K>,
) -> bool {
    match if BACK { from } else { to } {
        Bound::Unbounded => true,
        Bound::Included(key) | Bound::Excluded(key) => ByBound(key).is_below(fence) == BACK,
    }
}
