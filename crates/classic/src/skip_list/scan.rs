//! Walks along levels: scans in both directions, cuts and ranks.

use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::iter::successors;
use std::ops::Bound;

use fyris_index::key::TreeKey;
use fyris_index::{Batch, Entry, Range};

use crate::place::{Cut, Keyed, Place};

use super::node::SkipNodeRef;
use super::{BRANCHING, SkipList};

/// Nodes of a level that are enough to tell ranks from: they are wrong by 3 % of the entries or so.
const RANKS: usize = if cfg!(fyris_small) { 8 } else { 256 };

/// Nodes of a level to choose from for each cut.
const CHOICE: usize = 64;

impl<E: Entry, S: BuildHasher> SkipList<E, S>
where
    E::Key: TreeKey,
{
    /// Returns the last node before a place on a level; the head if there is none.
    fn last_before<'g>(&'g self, place: &Cut<'_, E::Key>, level: usize) -> SkipNodeRef<'g> {
        self.descend(level, place, |_, _| ()).0
    }

    /// Returns the nodes of a level from behind `at` on.
    fn behind(at: SkipNodeRef<'_>, level: usize) -> impl Iterator<Item = SkipNodeRef<'_>> {
        successors(at.next(level), move |node| node.next(level))
    }

    /// Returns the nodes from a place on.
    fn nodes_from<'g>(&'g self, begin: Cut<'g, E::Key>) -> impl Iterator<Item = SkipNodeRef<'g>> {
        let before = self.last_before(&begin, 0);
        // Nodes have come behind that one since, and not all of them behind the place.
        let has_come = move |node: &SkipNodeRef<'g>| {
            Place::<E>::side(&begin, *node) == Ordering::Less
                && !cfg!(fyris_mutant = "skip_newcomers_pass")
        };
        Self::behind(before, 0).skip_while(has_come)
    }

    /// Returns the first live entry at or above the bound (above for `Excluded`).
    pub(super) fn first_behind(&self, from: Bound<&E::Key>) -> Option<E> {
        self.nodes_from(Cut::begin(from))
            .find_map(SkipNodeRef::entry)
    }

    /// Appends the live entries of a range upwards until there are `want` of them; returns whether there may be more.
    pub(super) fn scan_up(
        &self,
        (from, to): Range<'_, E::Key>,
        want: usize,
        out: &mut Batch<E>,
    ) -> bool {
        let full = out.len().saturating_add(want.max(1));
        let end = Cut::end(to);
        for node in self.nodes_from(Cut::begin(from)) {
            if Place::<E>::side(&end, node) == Ordering::Greater {
                return false;
            }
            if out.len() >= full {
                return true;
            }
            node.prefetch_next();
            out.extend(node.entry::<E>().inspect(E::prefetch));
        }
        false
    }

    /// Appends the entries of a range downwards: run by run, each from a node of a level upwards, turned round. Returns
    /// whether there may be more.
    pub(super) fn scan_down(
        &self,
        (from, to): Range<'_, E::Key>,
        want: usize,
        out: &mut Batch<E>,
    ) -> bool {
        let full = out.len().saturating_add(want.max(1));
        let level = self.level_of_runs(want);
        let begin = Cut::begin(from);
        let is_within =
            |node: &SkipNodeRef<'_>| Place::<E>::side(&begin, *node) == Ordering::Greater;
        let mut met: Option<E> = None;
        loop {
            let below = met.as_ref().map(|entry| Bound::Excluded(entry.key()));
            let end = Cut::end(below.unwrap_or(to));
            let first = self.last_before(&end, level);
            let is_last = first == self.head() || !is_within(&first);
            let run = out.len();
            if !is_last && !cfg!(fyris_mutant = "skip_run_begins_late") {
                out.extend(first.entry::<E>());
            }
            let is_before_end =
                |node: &SkipNodeRef<'_>| Place::<E>::side(&end, *node) == Ordering::Less;
            let rest = Self::behind(first, 0).take_while(is_before_end);
            out.extend(rest.filter(is_within).filter_map(SkipNodeRef::entry::<E>));
            out[run..].reverse();
            if out.len() >= full {
                let more = !is_last || out.len() > full;
                out.truncate(full);
                return more;
            }
            if is_last {
                return false;
            }
            met = Some(first.any_entry());
        }
    }

    /// Returns a level of which a node in about every `want`th node is.
    fn level_of_runs(&self, want: usize) -> usize {
        let level = want.max(1).ilog2().div_ceil(BRANCHING.ilog2()) as usize;
        level.min(self.levels() - 1)
    }

    /// Returns the highest level with `least` nodes, or the lowest.
    fn level_with(&self, least: usize) -> usize {
        let has_least = |level: &usize| Self::behind(self.head(), *level).nth(least).is_some();
        (0..self.levels()).rev().find(has_least).unwrap_or(0)
    }

    /// Appends `parts - 1` entries at most to cut a scan at: at equal distances on a level that has enough nodes.
    pub(super) fn cut(&self, parts: usize, out: &mut Batch<E>) {
        let level = self.level_with(parts.saturating_mul(CHOICE));
        let nodes = Self::behind(self.head(), level);
        let entries: Vec<E> = nodes.filter_map(SkipNodeRef::entry).collect();
        if entries.len() >= parts {
            out.extend((1..parts).map(|part| entries[part * entries.len() / parts]));
        }
    }

    /// Returns about which part of the entries lies below the bound: the part of the nodes of a level.
    pub(super) fn rank(&self, bound: Bound<&E::Key>) -> f64 {
        let place = Cut::begin(bound);
        let is_before = |node: &SkipNodeRef<'_>| Place::<E>::side(&place, *node) == Ordering::Less;
        let level = self.level_with(RANKS);
        let (mut before, mut all) = (0, 0);
        for node in Self::behind(self.head(), level) {
            all += 1;
            before += u32::from(is_before(&node));
        }
        f64::from(before) / f64::from(all.max(1))
    }
}
