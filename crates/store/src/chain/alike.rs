//! Objects that are compared as the bags do it: each as often as it is there, in any order.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::record::RecordPtr;

/// Objects of a key, by their fingerprints.
pub(crate) struct Alike(HashMap<u64, SmallVec<[RecordPtr; 1]>>);

impl Alike {
    pub(crate) fn of(records: impl IntoIterator<Item = RecordPtr>) -> Alike {
        let mut alike = Alike(HashMap::new());
        for record in records {
            alike
                .0
                .entry(record.fingerprint())
                .or_default()
                .push(record);
        }
        alike
    }

    /// Takes one that is the same object as a record out; returns whether there was one.
    pub(crate) fn take(&mut self, record: RecordPtr) -> bool {
        let Some(left) = self.0.get_mut(&record.fingerprint()) else {
            return false;
        };
        let at = left.iter().position(|one| one.same_object(record));
        at.map(|at| left.swap_remove(at)).is_some()
    }

    /// Returns whether this very record was not taken out.
    pub(crate) fn has(&self, record: RecordPtr) -> bool {
        let left = self.0.get(&record.fingerprint());
        left.is_some_and(|left| left.contains(&record))
    }
}
