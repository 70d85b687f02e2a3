//! Changes that happen only if the key holds what was expected.
//!
//! Content is immutable (IMMUTABLE, PERSISTENT), so the word that names it stands for all that is in it: while the pin
//! lives under which it was read, no other content has the same word. (An inline object is its word: it may have gone
//! and come back meanwhile, which is as good as if it had stayed.)

use fyris_index::{Entry, Index};
use fyris_sync::reclaim::Guard;
use fyris_term::key::KeyBuf;

use crate::displaced::Change;
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
    /// Puts `new` in the place of the one object of its key if that is there and `accepts` it.
    pub(crate) fn replace_if(
        &self,
        new: NewRecord,
        accepts: impl Fn(RecordPtr) -> bool,
        writer: &Writer<'_>,
    ) -> bool {
        let record = new.ptr();
        new.publish_by(|new| {
            self.write(self.key_of(record), writer, |old| match old {
                Some(content) if accepts(content.newest()) => (Change::Put(new), true),
                _ => (Change::Keep, false),
            })
        })
    }

    /// Puts `new` in if its key holds exactly what `seen` says, read under the same pin.
    pub(crate) fn put_if(
        &self,
        new: NewRecord,
        seen: Option<Content>,
        writer: &Writer<'_>,
    ) -> bool {
        let record = new.ptr();
        new.publish_by(|new| {
            self.write(self.key_of(record), writer, |old| {
                if old == seen {
                    (Change::Put(new), true)
                } else {
                    (Change::Keep, false)
                }
            })
        })
    }

    /// Removes what the key holds if that is exactly what `seen` says, read under the same pin.
    pub(crate) fn remove_if(
        &self,
        key: &K::Key,
        seen: Option<Content>,
        writer: &Writer<'_>,
    ) -> bool {
        self.write(key, writer, |old| match old {
            Some(_) if old == seen => (Change::Remove, true),
            _ => (Change::Keep, old == seen),
        })
    }

    /// Says that these keys are going to be looked up.
    pub(crate) fn prefetch_read(&self, keys: &[KeyBuf], pin: &impl Guard) {
        keys.iter()
            .for_each(|key| self.index.prefetch_read(self.key(key), pin));
    }
}
