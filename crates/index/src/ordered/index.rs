//! The tree as an index of entries.

use std::ops::Bound;

use fyris_sync::reclaim::Guard;

use super::LeafTree;
use super::cursor::Cursor;
use super::item::{Handle, Item};
use crate::catree::Stats;
use crate::key::TreeKey;
use crate::key::probe::ByKey;
use crate::{Action, Batch, Build, Entry, Figures, Index, IndexOptions, OrderedIndex, Range};

/// The `ordered` index. See the [module](super).
///
/// # Consistency
///
/// `get`, `upsert`, `seek` (where its answer lies in the leaf that covers the bound) and each leaf of a scan are
/// linearizable. Reads take no lock and write no shared line.
///
/// # Complexity
///
/// O(log n) for everything but scans, which add what they append, and `slot`, which is O(leaves).
pub struct Ordered<E: Entry>
where
    E::Key: TreeKey,
{
    pub(super) tree: LeafTree<Handle<E>>,
}

impl<E: Entry> Default for Ordered<E>
where
    E::Key: TreeKey,
{
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Entry> Ordered<E>
where
    E::Key: TreeKey,
{
    /// Makes an empty index. Allocates nothing before the first upsert, and then a few hundred bytes.
    pub fn new() -> Self {
        Self {
            tree: LeafTree::bare(),
        }
    }

    /// Returns the shape of the tree, and the adaptations that made it.
    pub fn stats(&self, pin: &impl Guard) -> Stats {
        self.tree.stats(pin)
    }
}

/// Returns the action on the handle of an entry.
fn of_handle<E: Entry>(action: Action<E>) -> Action<Handle<E>> {
    match action {
        Action::Keep => Action::Keep,
        Action::Put(entry) => Action::Put(Handle(entry)),
        Action::Remove => Action::Remove,
    }
}

impl<E: Entry> Build for Ordered<E>
where
    E::Key: TreeKey,
{
    fn build(_: &IndexOptions) -> Self {
        Self::new()
    }
}

impl<E: Entry + Send + Sync> Index<E> for Ordered<E>
where
    E::Key: TreeKey,
{
    #[inline]
    fn get(&self, key: &E::Key, pin: &impl Guard) -> Option<E> {
        self.tree.find(&ByKey(key), pin).map(|(_, item)| item.0)
    }

    #[inline]
    fn upsert<R>(
        &self,
        key: &E::Key,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        self.tree.upsert(key, pin, |old| {
            let (action, out) = f(old.map(|item| item.0));
            (of_handle(action), out)
        })
    }

    fn upsert_run<'k>(
        &self,
        keys: impl Fn(usize) -> Option<&'k E::Key>,
        pin: &impl Guard,
        mut f: impl FnMut(usize, Option<E>) -> Option<Action<E>>,
    ) -> usize
    where
        E::Key: 'k,
    {
        self.tree.upsert_run(keys, pin, |at, old| {
            f(at, old.map(|item| item.0)).map(of_handle)
        })
    }

    fn scan(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        self.scan_leaves(range, want, pin, out)
    }

    fn next_entry(&self, after: Option<&E::Key>, pin: &impl Guard) -> Option<E> {
        self.seek(after.map_or(Bound::Unbounded, Bound::Excluded), pin)
    }

    fn split(&self, parts: usize, pin: &impl Guard, out: &mut Batch<E>) {
        self.split_at_nodes(parts, pin, out);
    }

    fn len(&self) -> usize {
        self.tree.len()
    }

    fn describe(&self, pin: &impl Guard) -> Figures {
        Figures::new().adapting(&self.stats(pin))
    }

    fn memory(&self) -> usize {
        self.tree.memory()
    }

    fn slot(&self, slot: usize, pin: &impl Guard, out: &mut Batch<E>) {
        let mut cursor = Cursor::before::<E::Key>(&self.tree, Bound::Unbounded, pin);
        let mut before = slot;
        while before >= cursor.rest() {
            before -= cursor.rest();
            if !cursor.next_leaf() {
                return;
            }
        }
        out.extend(cursor.ahead().nth(before).map(|(_, item)| item.0));
    }
}

impl<E: Entry + Send + Sync> OrderedIndex<E> for Ordered<E>
where
    E::Key: TreeKey,
{
    fn seek(&self, from: Bound<&E::Key>, pin: &impl Guard) -> Option<E> {
        if self.tree.is_bare() {
            return None;
        }
        let mut cursor = Cursor::before(&self.tree, from, pin);
        let found = cursor.next().map(|(_, item)| item.0);
        // A caller that goes from key to key wants to see what this one names next.
        cursor.ahead().take(1).for_each(|(_, item)| item.prefetch());
        found
    }

    fn seek_back(&self, from: Bound<&E::Key>, pin: &impl Guard) -> Option<E> {
        if self.tree.is_bare() {
            return None;
        }
        let mut cursor = Cursor::behind(&self.tree, from, pin);
        let found = cursor.prev().map(|(_, item)| item.0);
        cursor.back().take(1).for_each(|(_, item)| item.prefetch());
        found
    }

    fn scan_back(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        self.scan_leaves_back(range, want, pin, out)
    }

    fn estimated_rank(&self, bound: Bound<&E::Key>, pin: &impl Guard) -> f64 {
        self.rank(bound, pin)
    }
}
