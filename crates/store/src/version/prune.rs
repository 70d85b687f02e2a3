//! What becomes of a content that a write has displaced, and of the cells that held it.

use fyris_index::{Action, Entry, Index};
use fyris_sync::reclaim::LocalGuard;
use smallvec::SmallVec;

use super::cell::VersionPtr;
use super::graves::{Grave, bury};
use super::live_snapshots::{DeadItem, DeadList, KeyWaits, LiveSnapshot};
use crate::key_kind::KeyKind;
use crate::pending::{CommitState, PendingPtr};
use crate::record::RecordPtr;
use crate::slot::{Held, Slot};
use crate::table_data::TableData;

impl Cut {
    /// # Safety
    ///
    /// No slot holds a chain with these cells any more, nor do the graves.
    unsafe fn retire(&self, pin: &LocalGuard) {
        for &cell in &self.cells {
            // SAFETY: the caller's promise.
            unsafe { cell.retire(pin) };
        }
        if let Grave::Replaced(cell) = self.grave {
            // SAFETY: the caller's promise.
            unsafe { cell.retire_chain(pin) };
        }
    }
}

/// Items that are worked off under one pin.
const BATCH: usize = 64;

/// Cells that are out of their chain.
#[derive(Default)]
struct Cut {
    cells: SmallVec<[VersionPtr; 4]>,
    /// The cell of a commit that is out of its slot.
    decided: Option<PendingPtr>,
    /// What the key has in the graves beside what was looked at.
    grave: Grave,
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Lets what a key held go, in whose place another version is, with this stamp, or nothing: what it owned alone is
    /// kept for the snapshots that see it, or retired together with its cell. `key` is a record with the key.
    pub(crate) fn supersede(
        &self,
        older: Option<Held>,
        owned: DeadItem,
        (died, is_gone): (u64, bool),
        key: RecordPtr,
        pin: &LocalGuard,
    ) {
        // A key that is not in the index may have been deleted since the last snapshot: then none sees that it was
        // absent.
        let grave = || {
            self.graves
                .as_ref()?
                .get(self.key_of(key), pin)?
                .as_version()
        };
        let older = older.or_else(|| grave().map(Held::version));
        let born = self.born(older, &owned);
        let mut owned = owned;
        loop {
            let Some((snapshot, unseen)) = self.snapshots.seeing(born, died, pin) else {
                // Out of the chain first (AFTER_STORE).
                self.prune(self.key_of(key), pin);
                // SAFETY: OWNERSHIP: it was the slot's, this thread has displaced it, and no cell that a thread can
                // reach from now on has it.
                unsafe { self.retire_item(owned, 0, pin) };
                return;
            };
            if cfg!(fyris_mutant = "store_seen_retired") {
                // SAFETY: none: the mutant is to be caught.
                return unsafe { owned.retire(pin) };
            }
            if let DeadItem::Nothing = owned {
                match self.keep_key(snapshot, unseen, key, pin) {
                    true => return,
                    // It has ended.
                    false => continue,
                }
            }
            if cfg!(fyris_mutant = "store_entries_left_early") {
                self.leave_item(&owned, 0, pin);
            }
            let bytes = owned.bytes();
            // Before it can go.
            self.snapshots.add_retained(bytes);
            let Some(again) = snapshot.keep(owned, unseen) else {
                if is_gone && self.graves.is_some() {
                    self.prune(self.key_of(key), pin);
                }
                return;
            };
            // The snapshot has ended since, and is out of the list. Again, by what that says now.
            self.snapshots.sub_retained(1, bytes);
            owned = again;
        }
    }

    /// Lets a key under which nothing was displaced wait for the end of a snapshot. Returns `false` if that has ended.
    fn keep_key(
        &self,
        snapshot: &LiveSnapshot,
        unseen: u64,
        key: RecordPtr,
        pin: &LocalGuard,
    ) -> bool {
        let key = self.bytes_of(key);
        let bytes = LiveSnapshot::bytes_of_key(key);
        let has_history = |key: &[u8]| {
            let (key, graves) = (K::from_bytes(key), self.graves.as_ref());
            self.index.get(key, pin).is_some()
                || graves.is_some_and(|graves| graves.get(key, pin).is_some())
        };
        // Before it can go.
        self.snapshots.add_retained(bytes);
        match snapshot.keep_key(key, unseen, has_history) {
            KeyWaits::Newly { gone, bytes } => self.snapshots.sub_retained(gone, bytes),
            KeyWaits::Already => self.snapshots.sub_retained(1, bytes),
            KeyWaits::Not => {
                self.snapshots.sub_retained(1, bytes);
                return false;
            }
        }
        true
    }

    /// Returns since when keys have held what a version owned alone: in a bag the versions below may have it too.
    fn born(&self, older: Option<Held>, owned: &DeadItem) -> u64 {
        let (mut born, mut next) = (older.map_or(0, Held::stamp), older);
        while let Some(below) = next.and_then(Held::as_version).and_then(VersionPtr::older)
            && self.kind.is_bag()
            && below.now().is_some_and(|content| owned.is_in(content))
        {
            (born, next) = (below.stamp(), Some(below));
        }
        born
    }

    /// Works off a list of what no snapshot sees any more.
    pub(crate) fn free_dead(&self, mut list: DeadList) {
        let mut keys = list.take_keys().peekable();
        while keys.peek().is_some() {
            let pin = fyris_sync::reclaim::pin();
            for (key, bytes) in keys.by_ref().take(BATCH) {
                self.prune(K::from_bytes(&key), &pin);
                self.snapshots.sub_retained(1, bytes);
            }
        }
        let mut items = list.into_items().peekable();
        while items.peek().is_some() {
            let pin = fyris_sync::reclaim::pin();
            for item in items.by_ref().take(BATCH) {
                if let Some(key) = item.key() {
                    self.prune(self.key_of(key), &pin);
                }
                self.snapshots.sub_retained(1, item.bytes());
                // SAFETY: RETAINED: the list's own, and out of the chain.
                unsafe { self.retire_item(item, 0, &pin) };
            }
        }
    }

    /// Takes out of the chain of a key what no snapshot sees; where nothing but the present is left, the key holds that
    /// without a cell, or is no more. In a table in the order of keys a key that holds nothing is buried.
    pub(crate) fn prune(&self, key: &K::Key, pin: &LocalGuard) {
        loop {
            let mut cut = Cut::default();
            self.index.upsert(key, pin, |slot| {
                let action = self.prune_slot(slot, &mut cut, pin);
                self.prune_grave(key, &mut cut, pin);
                (action, ())
            });
            // SAFETY: CHAINED: out of the chains that the slot and the grave have now.
            unsafe { cut.retire(pin) };
            match cut.decided {
                None => return,
                Some(cell) => self.retire_loser(cell, true, pin),
            }
        }
    }

    /// Does so in the grave of a key, with its slot in the index protected (UNMOVED).
    fn prune_grave(&self, key: &K::Key, cut: &mut Cut, pin: &LocalGuard) {
        let (Some(graves), Grave::Below) = (&self.graves, &cut.grave) else {
            return;
        };
        if graves.get(key, pin).is_none() {
            return;
        }
        graves.upsert(key, pin, |slot| {
            let history = slot.and_then(Slot::as_version);
            let left = history.and_then(|history| self.pruned(history, cut, pin));
            (left.map_or(Action::Keep, |_| Action::Remove), ())
        });
    }

    fn prune_slot(
        &self,
        slot: Option<Slot<K>>,
        cut: &mut Cut,
        pin: &LocalGuard,
    ) -> Action<Slot<K>> {
        let Some(slot) = slot else {
            return Action::Keep;
        };
        if let Some(top) = slot.as_version() {
            return match (self.pruned(top, cut, pin), &self.graves) {
                // It has its stamp now (BURIED).
                (None, Some(graves)) if top.content().is_none() => {
                    cut.grave = bury(graves, slot.key(), top, pin);
                    Action::Remove
                }
                (None, _) => Action::Keep,
                (Some(Some(held)), _) => Action::Put(Slot::held(held)),
                (Some(None), _) => Action::Remove,
            };
        }
        let Some(cell) = slot.as_pending() else {
            return Action::Keep;
        };
        if cell.get().state() != CommitState::Undecided {
            // The commit's place goes into a cell of its own, and all begins again.
            cut.decided = Some(cell);
            let held = cell.get().held_with_history();
            return held.map_or(Action::Remove, |held| Action::Put(Slot::held(held)));
        }
        let top = cell.get().held_before().and_then(Held::as_version);
        if let Some(held) = top.and_then(|top| self.pruned(top, cut, pin)) {
            cell.get().set_before(held);
        }
        Action::Keep
    }

    /// Takes cells out of a chain, and returns what the key holds then, if that is not its first cell any more. With
    /// the slot protected.
    fn pruned(&self, top: VersionPtr, cut: &mut Cut, pin: &LocalGuard) -> Option<Option<Held>> {
        let mut kept: SmallVec<[Held; 4]> = SmallVec::new();
        kept.push(Held::version(top));
        let (mut died, mut next) = (top.stamp(), top.older());
        while let Some(held) = next {
            // Each one below was displaced by the one above it that stays: between the two no snapshot is.
            let version = held.as_version();
            let born = held.stamp();
            next = version.and_then(VersionPtr::older);
            let is_seen = match () {
                _ if cfg!(fyris_mutant = "store_nothing_pruned") => true,
                _ if cfg!(fyris_mutant = "store_pruned_below") && !cut.cells.is_empty() => false,
                _ => self.snapshots.sees(born, died, pin),
            };
            if is_seen {
                kept.push(held);
                died = born;
            } else {
                cut.cells.extend(version);
            }
        }
        let content = |held: &Held| {
            held.as_version()
                .map_or(Some(*held), |cell| cell.content().map(Held::content))
        };
        // A key that never was there, for all who may ask: the links stay for those that are on their way.
        let Some(named) = kept.iter().find_map(content) else {
            cut.cells
                .extend(kept.iter().filter_map(|held| held.as_version()));
            return Some(None);
        };
        for (at, held) in kept.iter().enumerate() {
            let below = kept.get(at + 1).copied();
            if let Some(cell) = held.as_version()
                && cell.older() != below
            {
                cell.set_older(below);
            }
        }
        let Some(present) = top.content() else {
            top.set_key(named.with_key());
            return None;
        };
        let is_last = kept.len() == 1;
        if !is_last
            || (self.snapshots.sees(0, died, pin) && !cfg!(fyris_mutant = "store_unwraps_unasked"))
        {
            return None;
        }
        cut.cells.push(top);
        Some(Some(Held::content(present)))
    }
}
