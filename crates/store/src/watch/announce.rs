//! What writes and commits say to the subscriptions of their tables.

use std::iter::once;
use std::sync::Arc;

use fyris_index::{Entry, Index};
use smallvec::SmallVec;

use super::difference::{Difference, of_cell, of_write};
use super::queue::{Announced, Told, ToldChange, ToldChanges};
use super::watchers::{Interest, Queues, each_once};
use crate::displaced::{Change, Decide};
use crate::ids::TableId;
use crate::key_kind::KeyKind;
use crate::pending::{CommitPart, Decision};
use crate::record::RecordPtr;
use crate::slot::Slot;
use crate::table_data::TableData;
use crate::writer::Writer;

/// An event that has its place in queues. It is told when it is dropped, if it was not before (TOLD).
pub(crate) struct Announcement {
    event: Arc<Announced>,
    queues: Queues,
    /// Whether a queue had room for it.
    is_kept: bool,
}

impl Announcement {
    /// `keys` are those that it is about; none of an event that is about a whole table.
    pub(super) fn new<'k>(
        queues: Queues,
        weight: usize,
        keys: impl Iterator<Item = (TableId, &'k [u8])> + Clone,
    ) -> Announcement {
        let event = Arc::new(Announced::new(weight));
        let mut is_kept = false;
        for queue in &queues {
            is_kept |= queue.announce(&event, keys.clone());
        }
        Announcement {
            event,
            queues,
            is_kept,
        }
    }

    /// Says what the event was, which takes copies of objects, if a queue has it. Outside of all slots: it wakes who
    /// waits for it.
    pub(super) fn tell(self, told: impl FnOnce() -> Told) {
        if self.is_kept {
            self.event.tell(told());
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.event.tell(Told::Nothing);
        self.queues.iter().for_each(|queue| queue.wake());
    }
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Writes as [`TableData::write`] does, to a key that is watched, and tells of it.
    #[inline(never)]
    pub(crate) fn write_watched(
        &self,
        interest: &Interest<'_>,
        key: &K::Key,
        writer: &Writer<'_>,
        f: Decide<'_>,
    ) {
        // With the slot protected, so that events of a key come in its order. What `f` has decided on is going to be.
        let announce = |old, change: &Change| {
            let difference = of_write(old, change);
            let queues = match difference.is_empty() {
                true => Queues::new(),
                false => interest.in_change(K::bytes(key), &difference),
            };
            (!queues.is_empty()).then(|| WrittenChange {
                announcement: Some(Announcement::new(
                    queues,
                    difference.len(),
                    once((interest.watchers.table, K::bytes(key))),
                )),
                table: interest.watchers.table,
                difference,
                writer,
            })
        };
        let mut announced = None;
        self.write_now(key, writer, |old| {
            let change = f(old);
            announced = announce(old, &change);
            (change, ())
        });
        drop(announced);
    }

    /// Adds the part of a commit that is going to be decided in a section of the table to what is told of it.
    pub(crate) fn watch_part<'c>(
        &self,
        part: &'c CommitPart,
        writer: &Writer<'_>,
        watch: &mut CommitWatch<'c>,
    ) {
        if let Some(watchers) = writer.watchers {
            watch.parts.push((watchers.table, part, bytes_of::<K>));
            watch.weight += part.cells().len();
            let keys = part.cells().iter().map(|cell| self.bytes_of(cell.key()));
            watchers.of_keys(keys, writer.pin, &mut watch.queues);
        }
    }
}

/// The change of a write, which is told when this is dropped: also if it panics at what it has displaced (TOLD).
struct WrittenChange<'w> {
    announcement: Option<Announcement>,
    table: TableId,
    difference: Difference,
    writer: &'w Writer<'w>,
}

impl Drop for WrittenChange<'_> {
    fn drop(&mut self) {
        if let Some(announcement) = self.announcement.take() {
            // Also if nobody is told: what the next write leaves has another.
            let stamp = self.writer.take_stamp();
            announcement.tell(|| Told::Changes {
                stamp,
                changes: told(&self.difference, self.table).collect(),
            });
        }
    }
}

fn told(difference: &Difference, table: TableId) -> impl Iterator<Item = ToldChange> {
    difference.iter().map(move |change| change.told(table))
}

/// Tables, the parts of a commit in them, and what their keys are told apart by.
type WatchedParts<'c> = SmallVec<[(TableId, &'c CommitPart, fn(RecordPtr) -> &'c [u8]); 1]>;

/// Returns the bytes of the key of a cell's record, under the pin of its commit.
fn bytes_of<'c, K: KeyKind>(record: RecordPtr) -> &'c [u8] {
    // SAFETY: the record is not freed while that pin lives.
    unsafe { K::part(record) }
}

/// What a commit over one or several tables is going to tell.
#[derive(Default)]
pub(crate) struct CommitWatch<'c> {
    /// The parts in watched tables.
    parts: WatchedParts<'c>,
    queues: Queues,
    weight: usize,
}

impl<'c> CommitWatch<'c> {
    /// Gives the commit, which is sealed, its place in the queues of who is to be told.
    pub(crate) fn announce(mut self) -> Option<CommitAnnouncement<'c>> {
        if self.queues.is_empty() {
            return None;
        }
        each_once(&mut self.queues);
        let keys = self.parts.iter().flat_map(|&(table, part, bytes)| {
            part.cells()
                .iter()
                .map(move |cell| (table, bytes(cell.key())))
        });
        Some(CommitAnnouncement {
            announcement: Announcement::new(self.queues, self.weight, keys),
            parts: self.parts,
        })
    }
}

/// A commit that has its place in queues.
pub(crate) struct CommitAnnouncement<'c> {
    parts: WatchedParts<'c>,
    announcement: Announcement,
}

impl CommitAnnouncement<'_> {
    /// Tells what the commit has changed, which is in the log. The caller has been pinned since before.
    pub(crate) fn tell(self, decision: &Decision) {
        let CommitAnnouncement {
            parts,
            announcement,
        } = self;
        announcement.tell(|| {
            let mut ranked = SmallVec::<[(u64, ToldChange); 4]>::new();
            for (table, part, _) in parts {
                for (cell, at) in part.cells().iter().zip(0..) {
                    let changes = of_cell(cell);
                    ranked.extend(told(&changes, table).map(|change| (part.rank(at), change)));
                }
            }
            // In the order of writing; of one key in the order that they have.
            ranked.sort_by_key(|(rank, _)| *rank);
            let changes: ToldChanges = ranked.into_iter().map(|(_, change)| change).collect();
            Told::Changes {
                stamp: decision.version(),
                changes,
            }
        });
    }
}
