//! Traversal by batches.

use fyris_index::{Batch, Entry, Index};
use fyris_sync::reclaim::Pin;

use super::Navigate;
use crate::body::Body;
use crate::chain;
use crate::keys::KeyKind;
use crate::record::RecordPtr;
use crate::slot::{Kind, Slot};

/// One step of a traversal: records, and where to go on.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) records: Vec<RecordPtr>,
    /// The bytes of the last key seen; the step after it begins behind it.
    pub(crate) last: Vec<u8>,
}

impl<K, I> Body<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
    Self: Navigate<K>,
{
    /// Appends the objects of the next few keys behind `found.last` (from the start if `first`), in
    /// descending order with `back`. `false` when there are no more keys.
    ///
    /// A key's objects come together, in insertion order. A batch may hold no object although more
    /// follow.
    pub(crate) fn batch(&self, first: bool, back: bool, found: &mut Found, pin: &impl Pin) -> bool {
        let mut entries: Batch<Slot<K>> = Vec::new();
        let from = (!first).then(|| K::from_bytes(&found.last));
        if back {
            self.previous_batch(from, pin, &mut entries);
        } else {
            self.index.next_batch(from, pin, &mut entries);
        }
        let Some(last) = entries.last() else {
            return false;
        };
        found.last.clear();
        found.last.extend_from_slice(K::bytes(last.key()));
        for content in entries.into_iter().filter_map(Slot::read) {
            match content.kind() {
                Kind::One(record) => found.records.push(record),
                Kind::Many(_) => found.records.extend(chain::oldest_first(content)),
            }
        }
        true
    }
}
