//! Looking whether what a transaction has read is as it was: see [`crate::version::guards`].

use fyris_index::{Batch, Entry, Index};
use fyris_sync::atomic::{Ordering, fence};
use fyris_sync::reclaim::Guard;

use super::{EACH, Navigate, Span};
use crate::key_kind::KeyKind;
use crate::pending::{CommitPart, CommitState, Decision};
use crate::record::RecordPtr;
use crate::slot::{Before, Content, Held, Slot};
use crate::table_data::TableData;
use crate::version::VersionPtr;
use crate::version::guards::{Reads, contend};

/// The key that is not as it was, if a record of it is left.
pub(crate) type Changed = Option<RecordPtr>;

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Returns whether a commit, whose cells are in their slots, may take effect as far as others guard its keys; it
    /// aborts those that it comes before (UNPASSED, TICKETS).
    pub(crate) fn passes_guards(&self, part: &CommitPart, me: &Decision, pin: &impl Guard) -> bool {
        // SeqCst: pairs with the fence in `LiveSnapshots::guard` (GUARDED).
        if !cfg!(fyris_mutant = "store_commit_unfenced") {
            fence(Ordering::SeqCst);
        }
        if !self.snapshots.any_guard() || cfg!(fyris_mutant = "store_commit_passes_guards") {
            return true;
        }
        let mut others = part
            .cells()
            .iter()
            .flat_map(|cell| self.snapshots.guarding(cell.key(), pin));
        others.all(|other| std::ptr::eq(other, me) || contend(me, other))
    }
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
    Self: Navigate<K>,
{
    /// Looks whether all that was read just before a place still is so, for a commit whose guard stands over it.
    pub(crate) fn validate(
        &self,
        reads: &Reads,
        place: u64,
        me: &Decision,
        pin: &impl Guard,
    ) -> Result<(), Changed> {
        self.each_late(reads, place, pin, |key| {
            self.validate_key(key, place, me, pin)
        })
    }

    /// Returns whether all that was read just before a place is the same just before a later one.
    pub(crate) fn same_at(&self, reads: &Reads, place: u64, later: u64, pin: &impl Guard) -> bool {
        let at = |key: &K::Key, place| self.get_at(key, Before(place), pin);
        let same = |key: &K::Key| match at(key, place) == at(key, later) {
            true => Ok(()),
            false => Err(()),
        };
        self.each_late(reads, place, pin, same).is_ok()
    }

    /// Shows `f` the keys that were read, the candidates of the values by which keys were looked up, and of ranges the
    /// keys that may hold something else since the place, until it fails. A key that was there then is in the index or
    /// in the graves.
    pub(crate) fn each_late<E>(
        &self,
        reads: &Reads,
        place: u64,
        pin: &impl Guard,
        mut f: impl FnMut(&K::Key) -> Result<(), E>,
    ) -> Result<(), E> {
        for key in &reads.keys {
            f(K::from_bytes(key))?;
        }
        let values = match cfg!(fyris_mutant = "store_values_unvalidated") {
            true => &[][..],
            false => &reads.values,
        };
        for (index, value) in values {
            let (mut left, mut more) = (Span::ALL, true);
            while more {
                let mut keys = Vec::new();
                more = index.read(value, &mut left, false, EACH, pin, &mut keys);
                keys.iter().try_for_each(|key| f(K::from_bytes(key)))?;
            }
        }
        for span in &reads.spans {
            let (mut span, mut more) = (span.clone(), true);
            while more {
                let mut entries: Batch<Slot<K>> = Vec::new();
                more = self.visit(&mut span, false, EACH, Before(place), pin, &mut entries);
                let mut late = entries.iter().filter(|slot| !slot.is_before(place));
                late.try_for_each(|slot| f(slot.key()))?;
            }
        }
        Ok(())
    }

    fn validate_key(
        &self,
        key: &K::Key,
        place: u64,
        me: &Decision,
        pin: &impl Guard,
    ) -> Result<(), Changed> {
        let was = self.get_at(key, Before(place), pin);
        loop {
            // The slot has
            // * a cell of this commit: what matters is beneath it;
            // * one of another commit that is not decided: one of the two goes first. If that is this one, the other is
            //   decided then, and it is looked at again: it may have been sealed before;
            // * one of another that is decided: what has won;
            // * something that has no stamp yet, and will have a later one: it has changed;
            // * anything else: this.
            let slot = self.index.get(key, pin);
            let held = match slot.and_then(Slot::as_pending) {
                None => slot.and_then(Slot::as_held),
                Some(cell) if std::ptr::eq(cell.get().decision(), me) => cell.get().held_before(),
                Some(cell) if cell.get().state() == CommitState::Undecided => {
                    if cfg!(fyris_mutant = "store_foreign_cell_ignored") {
                        return Ok(());
                    }
                    match contend(me, cell.get().decision()) {
                        true => continue,
                        false => return Err(Some(cell.get().key())),
                    }
                }
                Some(cell) => cell.get().held(),
            };
            let is_stamped = |cell: VersionPtr| cell.stamped().is_some();
            let is_settled = held.and_then(Held::as_version).is_none_or(is_stamped);
            if is_settled && held.and_then(Held::now) == was {
                return Ok(());
            }
            return Err(held
                .map(|held| held.with_key().newest())
                .or(was.map(Content::newest)));
        }
    }
}

impl<K> Slot<K> {
    /// Returns whether it holds what it held just before a place, as far as that can be seen at once.
    fn is_before(&self, place: u64) -> bool {
        match self.as_version() {
            None => self.resolved().is_some(),
            Some(cell) => {
                cell.stamped().is_some_and(|stamp| stamp < place) && cell.content().is_some()
            }
        }
    }
}
