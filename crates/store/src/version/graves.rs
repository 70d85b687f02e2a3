//! The histories of keys that are no more.
//!
//! In a table in the order of keys, a key that was deleted and that a snapshot still sees must not stay in the index:
//! the first object of a queue would be behind all that were taken from it, and an index that counts would count it.
//! So its history moves to an ordered index of its own, the graves, which readers of the present never look at.
//!
//! # Invariants
//!
//! * **BURIED**: a delete puts a cell without content in the slot, and stamps it there, so that who misses the key agrees
//!   with snapshots about when it went (STAMPED in [`super`]). Then, with the slot protected, the history is put in the
//!   graves before it leaves the slot, and it never comes back. A reader of a snapshot looks in the index first and then
//!   in the graves: what it sees of a key is in one of the two all the time.
//! * **UNMOVED**: a grave changes with the slot of its key in the index protected, so that nothing is retired of a history
//!   that is in the grave already and in the slot still.
//! * **AS_BEFORE**: what a key has in the index is newer than what it has in the graves. A key that was put in and
//!   deleted again is buried on top of what it has there. Where the newer history ends with a content that is in no
//!   cell, no snapshot sees what is there, and its cells are retired.

use fyris_index::{Action, Entry, Index, Ordered};
use fyris_sync::reclaim::Guard;

use super::cell::VersionPtr;
use crate::key_kind::KeyKind;
use crate::slot::{Held, Slot};

/// What a key has in the graves beside a history that was looked at.
#[derive(Default)]
pub(super) enum Grave {
    /// An older history, perhaps.
    #[default]
    Below,
    /// Nothing.
    Empty,
    /// Nothing any more: the history is in the place of this one, which no snapshot sees.
    Replaced(VersionPtr),
}

/// Puts the history of a key into graves, with its slot in the index protected (AS_BEFORE).
pub(super) fn bury<K: KeyKind>(
    graves: &Ordered<Slot<K>>,
    key: &K::Key,
    history: VersionPtr,
    pin: &impl Guard,
) -> Grave
where
    Slot<K>: Entry<Key = K::Key>,
{
    graves.upsert(key, pin, |older| {
        let grave = match older.and_then(Slot::as_version) {
            None => Grave::Empty,
            Some(older)
                if !cfg!(fyris_mutant = "store_grave_robbed") && history.put_above(older) =>
            {
                Grave::Below
            }
            Some(older) => Grave::Replaced(older),
        };
        (Action::Put(Slot::held(Held::version(history))), grave)
    })
}
