//! Scans, in the order of (hash, key).

use std::hash::{BuildHasher, Hash};
use std::ops::{Bound, RangeInclusive};

use fyris_index::{Batch, Entry, Range};

use crate::bounds::{is_above, is_below};

use super::{Buckets, ListTable, nodes};

impl<E: Entry, B: Buckets, S: BuildHasher> ListTable<E, B, S>
where
    E::Key: Hash + Ord,
{
    /// Appends the entries between two bounds, by order and key, about `want` of them; returns whether there may be
    /// more. The caller is pinned.
    pub(super) fn scan_range(
        &self,
        (from, to): Range<'_, E::Key>,
        want: usize,
        out: &mut Batch<E>,
    ) -> bool {
        let (first, last) = (self.order_at(from), self.order_at(to));
        let orders = first.unwrap_or(0)..=last.unwrap_or(u64::MAX);
        let is_within = |order, entry: &E| {
            (Some(order) != first || is_above(from, entry.key()))
                && (Some(order) != last || is_below(to, entry.key()))
        };
        self.scan_orders(orders, is_within, want, out)
    }

    fn order_at(&self, bound: Bound<&E::Key>) -> Option<u64> {
        match bound {
            Bound::Included(key) | Bound::Excluded(key) => Some(self.order(key)),
            Bound::Unbounded => None,
        }
    }

    /// Appends the entries of a range of orders that `keep` accepts, by order and key, until there are `want` of them
    /// and an order is complete; returns whether there may be more. The caller is pinned.
    pub(super) fn scan_orders(
        &self,
        orders: RangeInclusive<u64>,
        keep: impl Fn(u64, &E) -> bool,
        want: usize,
        out: &mut Batch<E>,
    ) -> bool {
        let full = out.len().saturating_add(want.max(1));
        let mut begin = Some(*orders.start());
        while let Some(at) = begin.filter(|at| orders.contains(at)) {
            if out.len() >= full || self.scan_list(at, &orders, &keep, full, out) {
                return true;
            }
            begin = self.buckets.next_list(at);
        }
        false
    }

    /// Appends entries of the list that has the order `at`, from there on; returns whether it has ended with `full`
    /// entries before the end of the list or of the range.
    fn scan_list(
        &self,
        at: u64,
        orders: &RangeInclusive<u64>,
        keep: &impl Fn(u64, &E) -> bool,
        full: usize,
        out: &mut Batch<E>,
    ) -> bool {
        let (mut run, mut run_order) = (out.len(), at);
        let ahead = nodes(self.buckets.before(at).load()).skip_while(|(order, _)| *order < at);
        for (order, node) in ahead.take_while(|(order, _)| order <= orders.end()) {
            if order != run_order {
                sort(&mut out[run..]);
                if out.len() >= full {
                    return true;
                }
                (run, run_order) = (out.len(), order);
            }
            if let Some(entry) = node.entry().filter(|entry| keep(order, entry)) {
                out.push(entry);
            }
        }
        sort(&mut out[run..]);
        false
    }

    /// Appends the first entry from each of `parts - 1` evenly spaced orders on: places to cut a scan at. None if there
    /// are fewer entries than parts. The caller is pinned.
    pub(super) fn split_orders(&self, parts: usize, out: &mut Batch<E>) {
        if self.count() < parts {
            return;
        }
        let mut batch = Batch::new();
        for part in 1..parts as u64 {
            batch.clear();
            let from = u64::MAX / parts as u64 * part;
            self.scan_orders(from..=u64::MAX, |_, _| true, 1, &mut batch);
            let first = batch.first().map(|entry| entry.into_bits());
            if first.is_some() && first != out.last().map(|entry| entry.into_bits()) {
                out.extend(batch.first());
            }
        }
    }
}

/// Puts the entries of one run in the order of their keys.
#[inline]
fn sort<E: Entry<Key: Ord>>(run: &mut [E]) {
    if run.len() > 1 && !cfg!(fyris_mutant = "list_run_unsorted") {
        run.sort_unstable_by(|a, b| a.key().cmp(b.key()));
    }
}
