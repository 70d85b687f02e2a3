//! Writing to a key for a transaction: the same operations as on a table, on what the transaction sees.

use fyris_index::{Entry, Index};
use fyris_sync::reclaim::Guard;

use super::TransactionPart;
use super::part::{OwnWrite, PartState};
use crate::chain;
use crate::displaced::{Change, Decide};
use crate::key_kind::KeyKind;
use crate::record::{RecordPtr, edited};
use crate::slot::{Before, Content, Slot};
use crate::table_data::TableData;
use crate::writer::Writer;

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Lets `f` decide on what a key holds for a transaction, and notes the change. As [`TableData::write`], but nobody
    /// sees it. If the transaction has ended it comes to nothing.
    pub(crate) fn write_within(
        &self,
        part: &TransactionPart,
        key: &K::Key,
        writer: &Writer<'_>,
        f: Decide<'_>,
    ) {
        let bytes = K::bytes(key);
        part.take_hold(|reads| reads.note_key(bytes));
        let (mut state, pin) = (part.state(), writer.pin);
        if state.has_ended() {
            writer.note_late();
        }
        if let Some(failure) = &state.failure {
            writer.refuse(failure.clone());
        }
        state.reads.note_key(bytes);
        let is_bag = self.kind.is_bag();
        let is_first = !state.writes.contains_key(bytes);
        let old = match is_bag {
            true => self.own_chain(&mut state, key, pin),
            false => self.held_within(&state, key, pin),
        };
        let change = f(old);
        if let Change::Keep = change {
            // A chain that was copied for this is not to be committed.
            if is_bag
                && is_first
                && let Some(unused) = state.writes.remove(bytes).and_then(|own| own.content)
            {
                // SAFETY: the transaction's own, and in none of what it has now.
                unsafe { unused.retire(pin) };
            }
            return;
        }
        let own = state.writes.get(bytes).copied();
        let is_kept = !is_bag && state.save(bytes, own);
        let new = match change {
            Change::Keep => old,
            Change::Put(new) | Change::Push(new) => Some(new),
            Change::Edit(ref edited) => edited.new,
            Change::Remove => None,
        };
        let rank = part.next_rank();
        state
            .writes
            .insert(bytes.into(), OwnWrite { content: new, rank });
        match change {
            Change::Put(_) | Change::Remove => {
                let own = own.filter(|_| !is_kept || cfg!(fyris_mutant = "store_saved_retired"));
                if let Some(old) = own.and_then(|own| own.content) {
                    // SAFETY: the transaction's own, and not in what it has now.
                    unsafe { old.retire(pin) };
                }
            }
            // SAFETY: as above.
            Change::Edit(edited) => unsafe { edited.retire(pin) },
            Change::Keep | Change::Push(_) => {}
        }
    }

    /// Returns what a key holds for a transaction.
    fn held_within(&self, state: &PartState, key: &K::Key, pin: &impl Guard) -> Option<Content> {
        let own = state.writes.get(K::bytes(key)).map(|own| own.content);
        own.unwrap_or_else(|| self.get_at(key, Before(state.place), pin))
    }

    /// Returns what a key of a bag holds, as a chain that the transaction may change: chains are made one of another,
    /// so those of others, and of the transaction around a nested one, are copied first.
    fn own_chain(&self, state: &mut PartState, key: &K::Key, pin: &impl Guard) -> Option<Content> {
        let bytes = K::bytes(key);
        let old = self.held_within(state, key, pin);
        let own = state.writes.get(bytes).copied();
        if !state.save(bytes, own) && own.is_some() {
            return old;
        }
        let copy = |older, record: &RecordPtr| {
            let copy = edited(*record, self.keypos, &[]).expect("an object that is stored");
            Some(chain::push(copy.publish_block(), older))
        };
        let records = old.map(chain::oldest_first).unwrap_or_default();
        let copied = records.iter().fold(None, copy);
        // A key that is not there is not written by being looked at.
        if copied.is_some() || own.is_some() {
            // It has not been written yet: its place is that of the write which is about to come.
            let rank = own.map_or(u64::MAX, |own| own.rank);
            let copied = OwnWrite {
                content: copied,
                rank,
            };
            state.writes.insert(bytes.into(), copied);
        }
        copied
    }

    /// Returns the objects of a bag's key that a transaction has in the places of these, which it has found by its
    /// view.
    pub(crate) fn adopt(
        &self,
        part: &TransactionPart,
        these: &[RecordPtr],
        pin: &impl Guard,
    ) -> Vec<RecordPtr> {
        let (key, mut state) = (self.key_of(these[0]), part.state());
        state.reads.note_key(K::bytes(key));
        let old = self.held_within(&state, key, pin);
        let own = self.own_chain(&mut state, key, pin);
        let mut words: Vec<u64> = these.iter().map(|record| record.bits()).collect();
        words.sort_unstable();
        let pairs = chain::newest_first(old).zip(chain::newest_first(own));
        let found = pairs.filter(|(old, _)| words.binary_search(&old.bits()).is_ok());
        found.map(|(_, own)| own).collect()
    }
}
