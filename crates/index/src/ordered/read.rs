//! Reading one entry.

use fyris_sync::reclaim::Guard;

use super::LeafTree;
use super::item::Item;
use super::leaf::View;
use crate::key::probe::Probe;
use crate::simd::{self, Lanes, Vectors, Words};

impl<I: Item> LeafTree<I> {
    /// Returns the item at the probe, with its key prefix.
    #[inline]
    pub(crate) fn find<'p>(
        &'p self,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> Option<(u64, &'p I)> {
        if self.is_bare() {
            return None;
        }
        if simd::wide() {
            self.find_by::<Vectors>(probe, pin)
        } else {
            self.find_by::<Words>(probe, pin)
        }
    }

    /// Returns the item at the probe, with its key prefix, found by comparisons of `L`.
    #[inline(always)]
    fn find_by<'p, L: Lanes>(
        &'p self,
        probe: &impl Probe<I::Key>,
        pin: &'p impl Guard,
    ) -> Option<(u64, &'p I)> {
        let view: View<'p, I> = self.find_base_by::<L>(probe, pin).base.view();
        view.lookup::<L>(probe)
    }
}
