//! Deleting and replacing objects that a scan has found.
//!
//! An object that a scan has found may have been replaced before its slot is taken. In a table with one object a key
//! the change is made only if the slot still holds the object that was judged; otherwise the present object is judged
//! anew. So no judgement runs under a slot's protection, and no outdated judgement is acted upon. In a bag objects come
//! and go but do not change, so the objects that were judged, and are still there, are changed; a few of one key, whose
//! judgement is a comparison of bytes, are judged and deleted in one step.

use std::borrow::Cow;
use std::cell::Cell;
use std::mem::ManuallyDrop;

use fyris_index::{Entry, Index};
use smallvec::SmallVec;

use crate::chain::{self, Fingerprints, Member};
use crate::displaced::Change;
use crate::error::Result;
use crate::key_kind::KeyKind;
use crate::record::{NewRecord, RecordPtr};
use crate::slot::{Content, Slot};
use crate::table_data::TableData;
use crate::writer::Writer;

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Returns what a key holds for a writer.
    fn seen_by(&self, key: &K::Key, writer: &Writer<'_>) -> Option<Content> {
        match writer.within {
            None => self.get(key, writer.pin),
            Some(_) => self.write(key, writer, |old| (Change::Keep, old)),
        }
    }

    /// Returns the objects of a key of a bag that a writer has found, as it may change them.
    pub(crate) fn adopted<'r>(
        &self,
        these: &'r [RecordPtr],
        writer: &Writer<'_>,
    ) -> Cow<'r, [RecordPtr]> {
        match writer.within {
            None => Cow::Borrowed(these),
            Some(part) => Cow::Owned(self.adopt(part, these, writer.pin)),
        }
    }

    /// Deletes a found object, or what has taken its place, if it is `doomed` (as the found one was); returns what it
    /// deleted. One object a key.
    pub(crate) fn delete_found(
        &self,
        found: RecordPtr,
        doomed: impl Fn(RecordPtr) -> bool,
        writer: &Writer<'_>,
    ) -> Option<RecordPtr> {
        // The record of an inline object is made anew each time that it is asked for.
        let (mut seen, mut record) = (Content::one(found), found);
        while !self.remove_if(self.key_of(found), Some(seen), writer) {
            seen = self.seen_by(self.key_of(found), writer)?;
            record = seen.newest();
            if !doomed(record) || cfg!(fyris_mutant = "query_no_second_look") {
                return None;
            }
        }
        Some(record)
    }

    /// Puts what `replacement` makes of a found object, or of what has taken its place, where that is; `None` leaves
    /// it. Returns what it replaced. One object a key.
    pub(crate) fn replace_found(
        &self,
        found: RecordPtr,
        replacement: impl Fn(RecordPtr) -> Result<Option<NewRecord>>,
        writer: &Writer<'_>,
    ) -> Result<Option<RecordPtr>> {
        let (mut seen, mut record) = (Content::one(found), found);
        while let Some(new) = replacement(record)? {
            if self.put_if(new, Some(seen), writer) {
                return Ok(Some(record));
            }
            match self.seen_by(self.key_of(found), writer) {
                Some(now) if !cfg!(fyris_mutant = "query_no_second_look") => {
                    (seen, record) = (now, now.newest());
                }
                _ => break,
            }
        }
        Ok(None)
    }

    /// Deletes those of the objects of one key that are still there; returns them. For the bags. O(n log n) in the
    /// objects of the key; for one object O(log² n).
    pub(crate) fn delete_these(&self, these: &[RecordPtr], writer: &Writer<'_>) -> ChangedObjects {
        let Some(&first) = these.first() else {
            return ChangedObjects::new();
        };
        let mut words: SmallVec<[u64; 8]> = these.iter().map(|record| record.bits()).collect();
        words.sort_unstable();
        let gone = |object: &Member| words.binary_search(&object.record.bits()).is_ok();
        let fingerprints = match these {
            [one] => one.fingerprints(),
            _ => chain::ANY,
        };
        let find = |old| {
            let found = chain::search(old, fingerprints.clone()).filter(gone);
            found.take(words.len()).collect()
        };
        self.remove_objects(self.key_of(first), find, writer)
    }

    /// Deletes the objects of a key that are doomed, of those with fingerprints in a range, and returns them. `None`,
    /// and none is deleted, if more than 64 would have to be judged with the slot protected. For the bags.
    pub(crate) fn delete_alike(
        &self,
        key: &K::Key,
        fingerprints: &Fingerprints,
        doomed: impl Fn(RecordPtr) -> bool,
        writer: &Writer<'_>,
    ) -> Option<ChangedObjects> {
        let too_many = Cell::new(false);
        let find = |old| {
            let mut found = chain::search(old, fingerprints.clone());
            let judged = found.by_ref().take(JUDGED);
            let doomed = judged.filter(|object| doomed(object.record)).collect();
            too_many.set(found.next().is_some());
            match too_many.get() {
                true => SmallVec::new(),
                false => doomed,
            }
        };
        let deleted = self.remove_objects(key, find, writer);
        (!too_many.get()).then_some(deleted)
    }

    /// Puts new objects in the places of those old ones of one key that are still there, given as pairs of old and new.
    /// Returns those old ones. For `duplicate_bag`. O(n log n) in the objects of the key.
    pub(crate) fn replace_these(
        &self,
        pairs: Vec<(RecordPtr, NewRecord)>,
        writer: &Writer<'_>,
    ) -> ChangedObjects {
        // Not freed by a panic, as in `NewRecord::publish_by`.
        let block = |(old, new): (_, NewRecord)| (old, ManuallyDrop::new(new.into_block()));
        let mut pairs: Vec<_> = pairs.into_iter().map(block).collect();
        let Some(&(first, _)) = pairs.first() else {
            return ChangedObjects::new();
        };
        let key = self.key_of(first);
        pairs.sort_unstable_by_key(|(old, _)| old.bits());
        let at = |old: RecordPtr| pairs.binary_search_by_key(&old.bits(), |(old, _)| old.bits());
        let new_of = |old| at(old).ok().map(|i| pairs[i].1.ptr());
        let mut placed = self.write(key, writer, |old| {
            let Some(edited) = old.and_then(|old| chain::with_others(old, new_of)) else {
                return (Change::Keep, Vec::new());
            };
            let placed = edited.gone.iter().filter_map(|old| at(old.record).ok());
            let placed = placed.collect();
            (Change::Edit(edited), placed)
        });
        let replaced = placed.iter().rev().map(|&i| pairs[i].0).collect();
        placed.sort_unstable();
        for &i in placed.iter().rev() {
            pairs.swap_remove(i);
        }
        for (_, left) in pairs {
            drop(ManuallyDrop::into_inner(left));
        }
        replaced
    }
}

/// The objects that a change has found and taken away, or replaced, the oldest first; the pin of the change holds them.
pub(crate) type ChangedObjects = SmallVec<[RecordPtr; 1]>;

/// Objects that are judged with a slot protected.
const JUDGED: usize = 64;

#[cfg(test)]
mod tests {
    use fyris_index::HashIndex;
    use fyris_sync::reclaim::{LocalGuard, pin};
    use fyris_term::Term;

    use super::*;
    use crate::commits::CommitLog;
    use crate::ids::TableType;
    use crate::key_kind::Exact;
    use crate::native_terms::record_of;
    use crate::record::object;

    type Hashed = TableData<Exact, HashIndex<Slot<Exact>>>;

    fn record(value: i64) -> NewRecord {
        let object = Term::tuple(vec![Term::Int(1), Term::Int(value)]);
        record_of(&object, 1).expect("a record")
    }

    fn value(record: RecordPtr) -> i64 {
        match object(record, 1).element(2) {
            Some(Term::Int(n)) => n,
            other => panic!("{other:?}"),
        }
    }

    /// A table of one object, as a scan has found it, while another writer waits for the first judgement to be
    /// under way.
    struct Race {
        data: Hashed,
        pin: LocalGuard,
        found: RecordPtr,
        first: Cell<bool>,
    }

    impl Race {
        fn new() -> Race {
            let (data, pin) = (
                Hashed::new(HashIndex::default(), TableType::Set, 1, &CommitLog::new()),
                pin(),
            );
            let new = record(10);
            let found = new.ptr();
            data.insert_one(new, &Writer::plain(&pin));
            Race {
                data,
                pin,
                found,
                first: Cell::new(true),
            }
        }

        /// Does the other writer's change, once.
        fn other(&self, write: impl FnOnce(&Hashed, &LocalGuard)) {
            if self.first.take() {
                write(&self.data, &self.pin);
            }
        }

        fn now(&self) -> Option<i64> {
            let content = self.data.get(self.data.key_of(self.found), &self.pin)?;
            Some(value(content.newest()))
        }
    }

    #[test]
    fn what_was_replaced_meanwhile_is_judged_anew() {
        let race = Race::new();
        let more = |old| {
            let new = record(value(old) + 1);
            race.other(|data, pin| data.insert_one(record(20), &Writer::plain(pin)));
            Ok(Some(new))
        };
        let replaced = race
            .data
            .replace_found(race.found, more, &Writer::plain(&race.pin));
        assert_eq!(
            replaced.map(|old| old.map(value)),
            Ok(Some(20)),
            "not what was found"
        );
        assert_eq!(race.now(), Some(21), "no increment is lost");
    }

    #[test]
    fn what_matches_no_more_is_left() {
        let race = Race::new();
        race.other(|data, pin| data.insert_one(record(20), &Writer::plain(pin)));
        let doomed = |record| value(record) < 15;
        let left = race
            .data
            .delete_found(race.found, doomed, &Writer::plain(&race.pin));
        assert!(left.is_none());
        assert_eq!(race.now(), Some(20));
        let gone = race.data.delete_found(
            race.found,
            |record| value(record) == 20,
            &Writer::plain(&race.pin),
        );
        assert_eq!(gone.map(value), Some(20), "not what was found");
        assert_eq!(race.now(), None);
        let gone = race.data.replace_found(
            race.found,
            |_| Ok(Some(record(1))),
            &Writer::plain(&race.pin),
        );
        assert!(matches!(gone, Ok(None)));
        assert_eq!(race.now(), None, "nothing comes back");
    }
}
