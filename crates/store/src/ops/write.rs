//! Inserting, taking and deleting by key.

use fyris_index::{Entry, Index};
use smallvec::SmallVec;

use super::ChangedObjects;
use crate::chain::{self, Member};
use crate::displaced::Change;
use crate::ids::TableType;
use crate::key_kind::KeyKind;
use crate::record::{NewRecord, RecordPtr};
use crate::slot::{Content, Slot};
use crate::table_data::{AnyTableData, TableData, with_data};
use crate::writer::Writer;

impl AnyTableData {
    /// Puts one object in.
    #[inline]
    pub(crate) fn insert_one(&self, new: NewRecord, writer: &Writer<'_>) {
        match (self, new.content().short_key()) {
            (AnyTableData::Hash(data), Some(key)) if !data.kind.is_bag() => {
                new.publish_by(|content| {
                    data.write_short(key, writer, |old| unless_equal(old, content))
                });
            }
            _ => with_data!(self, data => data.insert_one(new, writer)),
        }
    }

    /// Puts one object in if its key is not there, and returns whether it did.
    pub(crate) fn insert_new_one(&self, new: NewRecord, writer: &Writer<'_>) -> bool {
        match (self, new.content().short_key()) {
            (AnyTableData::Hash(data), Some(key)) if !data.kind.is_bag() => {
                new.publish_by(|content| data.write_short(key, writer, |old| absent(old, content)))
            }
            _ => with_data!(self, data => data.insert_new_one(new, writer)),
        }
    }
}

/// Puts `new` in the place of `old`, unless it is the same object, and returns whether it did.
#[inline]
fn unless_equal(old: Option<Content>, new: Content) -> (Change, bool) {
    match old {
        Some(now) if now.has_same_bytes(new) => (Change::Keep, false),
        _ => (Change::Put(new), true),
    }
}

/// Puts `new` where nothing is, and returns whether that was so.
#[inline]
fn absent(old: Option<Content>, new: Content) -> (Change, bool) {
    match old {
        Some(_) => (Change::Keep, false),
        None => (Change::Put(new), true),
    }
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Puts one object in.
    #[inline]
    pub(crate) fn insert_one(&self, new: NewRecord, writer: &Writer<'_>) {
        if self.kind.is_bag() {
            self.insert_in_bag(new, false, writer);
            return;
        }
        let record = new.ptr();
        new.publish_by(|content| {
            self.write(self.key_of(record), writer, |old| {
                unless_equal(old, content)
            })
        });
    }

    /// Puts one object in if its key is not there.
    pub(crate) fn insert_new_one(&self, new: NewRecord, writer: &Writer<'_>) -> bool {
        if self.kind.is_bag() {
            return self.insert_in_bag(new, true, writer);
        }
        let record = new.ptr();
        new.publish_by(|content| {
            self.write(self.key_of(record), writer, |old| absent(old, content))
        })
    }

    /// Adds an object to those of its key; says whether it did.
    fn insert_in_bag(&self, new: NewRecord, only_new: bool, writer: &Writer<'_>) -> bool {
        let new = new.into_block();
        let record = new.ptr();
        new.publish_by(|_| {
            self.write(self.key_of(record), writer, |old| {
                if (only_new && old.is_some()) || self.is_repeated(record, old) {
                    return (Change::Keep, false);
                }
                (Change::Push(chain::push(record, old)), true)
            })
        })
    }

    /// Returns whether a bag has this very object already.
    pub(crate) fn is_repeated(&self, record: RecordPtr, content: Option<Content>) -> bool {
        self.kind == TableType::Bag && chain::has(content, record)
    }

    /// Takes everything with the key out; what that was, to be looked at while the pin lives.
    pub(crate) fn remove(&self, key: &K::Key, writer: &Writer<'_>) -> Option<Content> {
        self.write(key, writer, |old| match old {
            None => (Change::Keep, None),
            Some(_) => (Change::Remove, old),
        })
    }

    /// Takes out the objects exactly equal to `like`.
    pub(crate) fn delete_object(&self, like: &NewRecord, writer: &Writer<'_>) {
        let like = like.ptr();
        let most = match self.kind {
            TableType::DuplicateBag => usize::MAX,
            _ => 1,
        };
        let find = |old| chain::like(old, like).take(most).collect();
        self.remove_objects(self.key_of(like), find, writer);
    }

    /// Takes the objects out of a key that `find` finds, the newest first; returns them, the oldest first.
    pub(crate) fn remove_objects(
        &self,
        key: &K::Key,
        find: impl Fn(Content) -> SmallVec<[Member; 1]>,
        writer: &Writer<'_>,
    ) -> ChangedObjects {
        self.write(key, writer, |old| {
            let Some(edited) = old.and_then(|old| chain::without(old, find(old))) else {
                return (Change::Keep, ChangedObjects::new());
            };
            let removed = edited.gone.iter().rev();
            let removed = removed.map(|object| object.record).collect();
            let change = match edited.new {
                // Of a single object the content goes, as it is: it need not have a record that outlives the pin.
                None => Change::Remove,
                Some(_) => Change::Edit(edited),
            };
            (change, removed)
        })
    }

    /// Returns the bytes of the key of a record; as [`TableData::key_of`].
    pub(crate) fn bytes_of<'k>(&self, record: RecordPtr) -> &'k [u8] {
        K::bytes(self.key_of(record))
    }

    /// Returns the key of a record; the caller is pinned, or owns the record, for as long as it uses it.
    #[inline]
    pub(crate) fn key_of<'k>(&self, record: RecordPtr) -> &'k K::Key {
        // SAFETY: the caller's promise.
        K::from_bytes(unsafe { K::part(record) })
    }
}

#[cfg(test)]
mod tests {
    use fyris_index::HashIndex;
    use fyris_sync::reclaim::pin;
    use fyris_term::{Atom, Blob, Term};

    use super::*;
    use crate::commits::CommitLog;
    use crate::fix::Fixes;
    use crate::ids::{ProcessId, Protection};
    use crate::key_kind::Exact;
    use crate::life::Life;
    use crate::native_terms::record_of;

    type Hashed = TableData<Exact, HashIndex<Slot<Exact>>>;

    fn record(value: i64) -> NewRecord {
        let object = Term::tuple(vec![Term::Int(1), Term::Int(value)]);
        record_of(&object, 1).expect("a record")
    }

    #[test]
    fn an_equal_object_is_left_where_it_is() {
        let data = Hashed::new(HashIndex::default(), TableType::Set, 1, &CommitLog::new());
        let pin = pin();
        let stored = || {
            let key = record(0);
            data.write(data.key_of(key.ptr()), &Writer::plain(&pin), |now| {
                (Change::Keep, now)
            })
        };
        let put = |value: Term| {
            let object = Term::tuple(vec![Term::Int(1), value]);
            let new = record_of(&object, 1).expect("a record");
            data.insert_one(new, &Writer::plain(&pin));
            stored().map(Content::bits)
        };
        let first = put(Term::from("a value that is not inline"));
        assert_eq!(put(Term::from("a value that is not inline")), first);
        assert_ne!(put(Term::from("a value that is not Inline")), first);
        // The bytes of values are the same, but not the blobs that they refer to.
        let large = |byte| Term::binary(vec![byte; 1000]);
        let first = put(large(1));
        assert_ne!(put(large(2)), first);
        assert_eq!(data.len(), 1);
    }

    /// What no slot takes is freed at once.
    #[test]
    fn what_no_slot_takes_is_freed() {
        let data = Hashed::new(HashIndex::default(), TableType::Set, 1, &CommitLog::new());
        let (pin, blob) = (pin(), Blob::from(vec![7; 1000]));
        let object = Term::tuple(vec![Term::Int(1), Term::Binary(blob.clone())]);
        let new = || record_of(&object, 1).expect("a record");
        data.insert_one(new(), &Writer::plain(&pin));
        let there = blob.holders();
        assert!(!data.insert_new_one(new(), &Writer::plain(&pin)));
        assert!(!data.put_if(new(), None, &Writer::plain(&pin)));
        assert_eq!(blob.holders(), there);
    }

    /// A deleter looked first whether the key was there, told the fixes if so, and then removed it. A key that came
    /// between the two went untold, and a traversal of a fixed table that stood on it failed. Now the fixes are told
    /// where the key is removed: of each key that goes, and of no other.
    #[test]
    fn fixes_know_just_the_keys_that_went() {
        let data = Hashed::new(HashIndex::default(), TableType::Bag, 1, &CommitLog::new());
        let (pin, fixes, key) = (pin(), Fixes::default(), record(0));
        let life = Life::new(Atom::new("t").expect("an atom"), Protection::Public, None);
        let bytes = || data.key_of(key.ptr()).bytes();
        fixes.fix(&life, ProcessId(1), None);
        let writer = &Writer::fixed(&pin, &fixes);
        assert!(data.remove(data.key_of(key.ptr()), writer).is_none());
        data.delete_object(&record(1), writer);
        assert!(!fixes.knows(bytes()), "it never was there");
        data.insert_one(record(1), writer);
        data.insert_one(record(2), writer);
        data.delete_object(&record(1), writer);
        assert!(!fixes.knows(bytes()), "it still is");
        data.delete_object(&record(2), writer);
        assert!(fixes.knows(bytes()));
        fixes.end(&life, ProcessId(1));
        fixes.fix(&life, ProcessId(1), None);
        data.insert_one(record(3), writer);
        assert!(data.remove(data.key_of(key.ptr()), writer).is_some());
        assert!(fixes.knows(bytes()));
    }
}
