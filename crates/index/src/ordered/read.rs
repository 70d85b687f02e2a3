//! Reading one entry.

use fyris_sync::reclaim::Guard;

use super::Tree;
use super::item::Item;
use super::leaf::View;
use super::word::generation_of;
use crate::Stamp;
use crate::key::probe::Probe;
use crate::simd::{self, Lanes, Vectors, Words};

impl<I: Item> Tree<I> {
    /// Returns the item at the probe, with its key prefix.
    #[inline]
    pub(crate) fn find<'p>(
        &'p self,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> Option<(u64, &'p I)> {
        if simd::wide() {
            self.find_by::<Vectors>(probe, pin)
        } else {
            self.find_by::<Words>(probe, pin)
        }
    }

    /// Works like [`Tree::find`].
    #[inline(always)]
    fn find_by<'p, L: Lanes>(
        &'p self,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> Option<(u64, &'p I)> {
        let view: View<'p, I> = self.find_base_by::<L>(probe, pin).base.view();
        view.lookup::<L>(probe)
    }

    /// Returns the version of the leaf that covers the probe: its generation, which no other leaf of the process has
    /// until 2^40 have been made, and its permutation word, which never returns to a value it had.
    pub(super) fn stamp(&self, probe: &impl Probe<I::Key>, pin: &impl Guard) -> Stamp {
        let view = self.find_base(probe, pin).base.view();
        Stamp(generation_of(view.leaf.lock.word()), view.perm.0)
    }
}
