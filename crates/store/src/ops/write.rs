//! Inserting, taking and deleting by key.

use fyris_index::{Entry, Index};
use fyris_sync::reclaim::Pin;

use crate::body::{Body, Change};
use crate::chain;
use crate::ids::TableType;
use crate::keys::KeyKind;
use crate::record::{NewRecord, RecordPtr};
use crate::slot::{Content, Slot};

impl<K, I> Body<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Puts one object in.
    #[inline]
    pub(crate) fn insert_one(&self, new: NewRecord, pin: &impl Pin) {
        if self.kind.is_bag() {
            self.insert_in_bag(new, false, pin);
            return;
        }
        let record = new.publish();
        let old = self.write(self.key_of(record), pin, |old| {
            (Change::Put(Content::one(record)), old)
        });
        self.replaced(old, record, pin);
    }

    /// Puts one object in if its key is not there.
    pub(crate) fn insert_new_one(&self, new: NewRecord, pin: &impl Pin) -> bool {
        if self.kind.is_bag() {
            return self.insert_in_bag(new, true, pin);
        }
        let record = new.ptr();
        let done = self.write(self.key_of(record), pin, |old| match old {
            Some(_) => (Change::Keep, false),
            None => (Change::Put(Content::one(record)), true),
        });
        if done {
            self.account(1, new.publish().size() as i64);
        }
        done
    }

    /// Adds an object to those of its key; says whether it did.
    fn insert_in_bag(&self, new: NewRecord, only_new: bool, pin: &impl Pin) -> bool {
        let record = new.ptr();
        let added = self.write(self.key_of(record), pin, |old| {
            if (only_new && old.is_some()) || self.is_repeated(record, old) {
                return (Change::Keep, None);
            }
            let content = chain::push(record, old);
            (Change::Put(content), Some(chain::size_above(content, old)))
        });
        match added {
            None => false,
            Some(bytes) => {
                new.publish();
                self.account(1, bytes as i64);
                true
            }
        }
    }

    /// Whether a bag has this very object already.
    pub(crate) fn is_repeated(&self, record: RecordPtr, content: Option<Content>) -> bool {
        self.kind == TableType::Bag && chain::newest_first(content).any(|r| r.same_object(record))
    }

    /// Accounts for `record`, put in the place of `old`, and retires `old`.
    #[inline]
    pub(crate) fn replaced(&self, old: Option<Content>, record: RecordPtr, pin: &impl Pin) {
        let size = record.size() as i64;
        match old {
            None => self.account(1, size),
            Some(old) => {
                self.account(0, size - old.size() as i64);
                // SAFETY: displaced from its slot, by this thread (O).
                unsafe { old.retire(pin) };
            }
        }
    }

    /// Takes everything with the key out and hands it to `f` before it is retired.
    pub(crate) fn remove<R>(
        &self,
        key: &K::Key,
        pin: &impl Pin,
        f: impl FnOnce(Option<Content>) -> R,
    ) -> R {
        let old = self.write(key, pin, |old| match old {
            None => (Change::Keep, None),
            Some(content) => (Change::Remove, Some(content)),
        });
        let result = f(old);
        if let Some(old) = old {
            self.account(-(old.count() as i64), -(old.size() as i64));
            // SAFETY: taken out of its slot, by this thread (O).
            unsafe { old.retire(pin) };
        }
        result
    }

    /// Takes out the objects exactly equal to `like`; says whether the key is gone with them.
    pub(crate) fn delete_object(&self, like: &NewRecord, pin: &impl Pin) -> bool {
        let like = like.ptr();
        let gone = |record: RecordPtr| record.same_object(like);
        self.remove_objects(self.key_of(like), gone, pin).1
    }

    /// Takes the objects out of a key that are to be `gone`; how many, and whether the key is gone with them.
    pub(crate) fn remove_objects(
        &self,
        key: &K::Key,
        gone: impl Fn(RecordPtr) -> bool,
        pin: &impl Pin,
    ) -> (usize, bool) {
        let change = self.write(key, pin, |old| {
            let Some(old) = old else {
                return (Change::Keep, None);
            };
            let without = chain::without(old, &gone);
            let change = match without.rest {
                _ if without.removed == 0 => return (Change::Keep, None),
                None => Change::Remove,
                Some(rest) => Change::Put(rest),
            };
            (change, Some((old, without)))
        });
        let Some((old, without)) = change else {
            return (0, false);
        };
        let rest = without.rest.map_or(0, |rest| rest.size() as i64);
        self.account(-(without.removed as i64), rest - old.size() as i64);
        // SAFETY: what is left took the old chain's place.
        unsafe { chain::retire_removed(old, &without, gone, pin) };
        (without.removed, without.rest.is_none())
    }

    /// The key of a record; the caller is pinned, or owns the record, for as long as it uses it.
    #[inline]
    pub(crate) fn key_of<'k>(&self, record: RecordPtr) -> &'k K::Key {
        // SAFETY: the caller's promise.
        K::from_bytes(unsafe { K::part(record) })
    }
}
