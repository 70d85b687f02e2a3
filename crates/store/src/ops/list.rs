//! Inserting several objects in one atomic and isolated step.
//!
//! Objects are grouped by key and the groups sorted (ASCENDING); [`super::commit`] does the rest. One group needs no
//! commit: one write of one slot is atomic by itself.

use std::collections::HashMap;

use fyris_index::{Entry, Index};
use fyris_sync::reclaim::Guard;
use smallvec::{SmallVec, smallvec};

use super::commit::{Admission, Outcome, Patience, Writes};
use crate::chain;
use crate::displaced::Change;
use crate::error::Result;
use crate::key_kind::KeyKind;
use crate::pending::Terms;
use crate::record::{NewRecord, RecordPtr};
use crate::slot::{Content, Slot};
use crate::table_data::TableData;

/// Records of one key: most often one.
type Records = SmallVec<[NewRecord; 1]>;

/// A list of objects that is to be inserted.
pub(crate) enum List {
    /// The objects of one key, or of none.
    One {
        records: Records,
        only_new: bool,
    },
    Several(Writes),
}

impl List {
    /// Retires the objects of a list that was not inserted: others may have seen them in cells.
    pub(crate) fn retire(self, pin: &impl Guard) {
        if let List::Several(work) = self {
            work.retire(pin);
        }
    }
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Returns the list of these objects, that is to be inserted in this content, or in another of its table. With
    /// `only_new` it fails if the key of any is there; if it is `watched` subscriptions are told of the objects in this
    /// order. O(n log n) in the number of objects.
    pub(crate) fn list(&self, records: Vec<NewRecord>, only_new: bool, watched: bool) -> List {
        let (groups, ranks) = self.grouped(records, watched);
        if groups.len() > 1 {
            return List::Several(self.writes(groups, only_new, ranks));
        }
        let only = groups.into_iter().next();
        let records = only.map_or_else(Records::new, |(_, records)| records);
        List::One { records, only_new }
    }

    /// Inserts a list, all of it or nothing; readers see all of it or none. Another list with one of the keys waits for
    /// the decision, a writer of one key does not.
    pub(crate) fn insert_list(
        &self,
        list: &mut List,
        patience: Patience,
        admission: &impl Admission,
    ) -> Result<Outcome> {
        let (records, only_new) = match list {
            List::Several(work) => return self.commit(work, patience, admission),
            List::One { records, only_new } => (records, *only_new),
        };
        let done = admission.step(|writer| {
            let Some(last) = records.last().map(NewRecord::ptr) else {
                return true;
            };
            let mut offered = None;
            let done = self.write(self.key_of(last), writer, |old| {
                if only_new && old.is_some() {
                    return (Change::Keep, false);
                }
                (self.merged(old, records, &mut offered), true)
            });
            if !done {
                offered.map(NewRecord::unplaced);
            }
            done
        })?;
        Ok(match done {
            Some(true) => Outcome::Committed,
            Some(false) => Outcome::Failed,
            None => Outcome::Moved,
        })
    }

    /// Returns the objects by key, in ascending order of keys, each with the last one's record, where the key is read;
    /// those of one key in list order; and for those who watch where in the list the last one of each is.
    fn grouped(
        &self,
        records: Vec<NewRecord>,
        watched: bool,
    ) -> (Vec<(RecordPtr, Records)>, Vec<u64>) {
        // Inline objects are materialized once here, and not with every comparison.
        let with_key = |record: NewRecord| (record.ptr(), record);
        let mut records: Vec<_> = records.into_iter().map(with_key).collect();
        let order: HashMap<u64, u64> = match watched {
            true => records.iter().map(|(key, _)| key.bits()).zip(0..).collect(),
            false => HashMap::new(),
        };
        // Stable: objects of one key stay in list order.
        records.sort_by(|a, b| self.key_of(a.0).cmp(self.key_of(b.0)));
        let mut groups: Vec<(RecordPtr, Records)> = Vec::with_capacity(records.len());
        for (key, record) in records {
            match groups.last_mut() {
                Some((last, same)) if self.key_of(*last) == self.key_of(key) => {
                    same.push(record);
                    *last = key;
                }
                _ => groups.push((key, smallvec![record])),
            }
        }
        let place = |(last, _): &(RecordPtr, Records)| order.get(&last.bits()).copied();
        let ranks = groups.iter().map_while(place).collect();
        (groups, ranks)
    }

    /// Returns the change of a key that puts the records of a group in; records that are not needed stay in the group.
    /// What it offered the last time it offers again.
    fn merged(
        &self,
        old: Option<Content>,
        records: &mut Records,
        offered: &mut Option<Content>,
    ) -> Change {
        if !self.kind.is_bag() {
            let last = || records.pop().expect("a group has a record").publish();
            return Change::Put(*offered.get_or_insert_with(last));
        }
        let mut content = old;
        for record in std::mem::take(records) {
            if self.is_repeated(record.ptr(), content) {
                records.push(record);
            } else {
                content = Some(chain::push(record.publish_block(), content));
            }
        }
        match content {
            Some(new) if content != old => Change::Push(new),
            _ => Change::Keep,
        }
    }

    /// Returns the writes of several groups.
    fn writes(&self, groups: Vec<(RecordPtr, Records)>, only_new: bool, ranks: Vec<u64>) -> Writes {
        let mut work = Writes {
            keys: groups.iter().map(|(key, _)| *key).collect(),
            terms: smallvec![match (only_new, self.kind.is_bag()) {
                (true, _) => Terms::New,
                (false, true) => Terms::Add,
                (false, false) => Terms::Replace,
            }],
            contents: Vec::with_capacity(if self.kind.is_bag() { 0 } else { groups.len() }),
            records: Vec::new(),
            ends: Vec::new(),
            ranks,
        };
        for (_, mut records) in groups {
            if self.kind.is_bag() {
                work.records
                    .extend(records.into_iter().map(NewRecord::publish_block));
                work.ends.push(work.records.len());
            } else {
                let last = records.pop().expect("a group has a record");
                work.contents.push(Some(last.publish()));
            }
        }
        work
    }
}
