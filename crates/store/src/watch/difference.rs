//! What objects a change of a key adds, replaces and takes away.

use smallvec::SmallVec;

use super::queue::ToldChange;
use crate::chain::{self, Alike};
use crate::displaced::Change;
use crate::ids::TableId;
use crate::pending::Pending;
use crate::record::{NewRecord, RecordPtr};
use crate::slot::Content;

/// The change of one object: single objects, never chains, of which one is there.
#[derive(Clone, Copy)]
pub(super) struct ObjectDiff {
    pub(super) old: Option<Content>,
    pub(super) new: Option<Content>,
}

impl ObjectDiff {
    fn came(record: RecordPtr) -> ObjectDiff {
        ObjectDiff {
            old: None,
            new: Some(Content::one(record)),
        }
    }

    fn went(record: RecordPtr) -> ObjectDiff {
        ObjectDiff {
            old: Some(Content::one(record)),
            new: None,
        }
    }

    /// Returns whether anything changes.
    pub(super) fn is_change(&self) -> bool {
        match (self.old, self.new) {
            (Some(old), Some(new)) => !is_same(old, new),
            (old, new) => old.or(new).is_some(),
        }
    }

    /// Returns a copy that lasts. The caller is pinned.
    pub(super) fn told(self, table: TableId) -> ToldChange {
        ToldChange {
            table,
            old: self.old.map(NewRecord::copy_of),
            new: self.new.map(NewRecord::copy_of),
        }
    }
}

impl ToldChange {
    pub(super) fn diff(&self) -> ObjectDiff {
        ObjectDiff {
            old: self.old.as_ref().map(NewRecord::content),
            new: self.new.as_ref().map(NewRecord::content),
        }
    }
}

/// The changes of the objects of a key: in a bag what goes, and then what comes, each in the order of insertion.
pub(super) type Difference = SmallVec<[ObjectDiff; 1]>;

/// Returns what a write changes.
pub(super) fn of_write(old: Option<Content>, change: &Change) -> Difference {
    match change {
        Change::Keep => Difference::new(),
        Change::Put(new) => {
            let mut difference = between(old, Some(*new));
            difference.retain(|one| one.is_change());
            difference
        }
        Change::Remove => between(old, None),
        Change::Push(new) => came(chain::above(Some(*new), old)),
        Change::Edit(edited) => {
            let mut difference = went(edited.gone.iter().map(|object| object.record));
            difference.extend(came(edited.came()));
            difference
        }
    }
}

/// Returns what a decided commit changes under one of its keys; of a table with one object a key, the object also where
/// it stays as it is.
pub(super) fn of_cell(cell: &Pending) -> Difference {
    let (old, new) = (cell.before(), cell.after());
    match cell.part().adds() {
        true => came(chain::above(new, old)),
        false => between(old, new),
    }
}

/// Returns what records came, given with the newest first.
fn came(records: impl IntoIterator<Item = RecordPtr>) -> Difference {
    let mut difference: Difference = records.into_iter().map(ObjectDiff::came).collect();
    difference.reverse();
    difference
}

/// Returns what records went, given with the newest first.
fn went(records: impl IntoIterator<Item = RecordPtr>) -> Difference {
    let mut difference: Difference = records.into_iter().map(ObjectDiff::went).collect();
    difference.reverse();
    difference
}

/// Returns what is different in any two contents of a key. An object that is in both has not changed, but is told where
/// it is the only one.
fn between(old: Option<Content>, new: Option<Content>) -> Difference {
    let is_chain = |content: Option<Content>| content.is_some_and(Content::is_chain);
    if is_chain(old) || is_chain(new) {
        return between_chains(old, new);
    }
    let one = old.or(new).map(|_| ObjectDiff { old, new });
    one.into_iter().collect()
}

/// Returns whether two contents of one object each are the same object.
fn is_same(old: Content, new: Content) -> bool {
    old == new || (!old.is_inline() || !new.is_inline()) && old.newest().same_object(new.newest())
}

/// Does so for bags: O(objects of the key).
fn between_chains(old: Option<Content>, new: Option<Content>) -> Difference {
    let mut left = Alike::of(chain::newest_first(new));
    let has_gone = |record: &RecordPtr| !left.take(*record);
    let gone: Vec<RecordPtr> = chain::newest_first(old).filter(has_gone).collect();
    let mut difference = went(gone);
    difference.extend(came(
        chain::newest_first(new).filter(|&record| left.has(record)),
    ));
    difference
}
