//! Inserting several objects in one atomic and isolated step.
//!
//! The protocol and its invariants are in [`crate::pending`]. Here are the steps: objects are
//! grouped by key, the groups sorted (ASCENDING), a cell put in every slot, the commit decided (DECISION), the
//! cells replaced. One group needs no commit: one write of one slot is atomic by itself.

use fyris_index::{Action, Entry, Index};
use smallvec::{SmallVec, smallvec};

use crate::chain;
use crate::displaced::{Change, Displaced};
use crate::key_kind::KeyKind;
use crate::pending::{Commit, PendingPtr, Terms};
use crate::record::{NewRecord, RecordPtr};
use crate::slot::{Content, Settled, Slot};
use crate::table_data::TableData;
use crate::writer::Writer;

/// Records of one key: most often one.
type Records = SmallVec<[NewRecord; 1]>;

/// Cells that one step has taken out of slots: about as many as neighbours lie together.
type Cells = SmallVec<[PendingPtr; 32]>;

/// The number of keys, from the one that is being written, whose memory is asked for ahead.
const AHEAD: usize = 8;

/// Objects by key, in ascending order of keys (ASCENDING).
struct Groups {
    /// The last record of each key, from which the key is read: of all its records it is the one needed to the end.
    keys: Vec<RecordPtr>,
    /// The records of each key that no slot has yet, in list order.
    records: Vec<Records>,
}

/// The reaction to another list with one of the keys that is being inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Wait until that is done, however long the other list is.
    Waits,
    /// Wait about as long as a short list takes, and then insert nothing.
    GivesUp,
}

/// A list that is being inserted.
struct ListInsert {
    /// A record of each key, where the key is read.
    keys: Vec<RecordPtr>,
    /// The contents that the keys will hold, in a table with one object a key.
    contents: Vec<Content>,
    commit: Commit,
    patience: Patience,
}

/// The number of keys that have a cell in their slot, and the numbers of objects and bytes that these add.
#[derive(Default)]
struct Placed {
    keys: usize,
    objects: i64,
    bytes: i64,
    /// Another list has the next key.
    gave_up: bool,
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Puts all objects in, or, with `only_new`, none if the key of any is there. Says whether it did; `None` if it
    /// gave up.
    ///
    /// Readers see all of them or none. O(n log n) in their number. Another list with one of the keys waits for the
    /// decision, a writer of one key does not.
    pub(crate) fn insert_all(
        &self,
        records: Vec<NewRecord>,
        only_new: bool,
        patience: Patience,
        writer: &Writer<'_>,
    ) -> Option<bool> {
        let mut groups = self.grouped(records);
        match groups.keys.len() {
            0 => Some(true),
            1 => Some(self.insert_group(&mut groups, only_new, writer)),
            _ => self.commit(groups, only_new, patience, writer),
        }
    }

    /// Returns the objects by key.
    fn grouped(&self, records: Vec<NewRecord>) -> Groups {
        // Inline objects are materialized once here, and not with every comparison.
        let with_key = |record: NewRecord| (record.ptr(), record);
        let mut records: Vec<_> = records.into_iter().map(with_key).collect();
        // Stable: objects of one key stay in list order.
        records.sort_by(|a, b| self.key_of(a.0).cmp(self.key_of(b.0)));
        let mut groups = Groups {
            keys: Vec::with_capacity(records.len()),
            records: Vec::with_capacity(records.len()),
        };
        for (key, record) in records {
            match (groups.keys.last_mut(), groups.records.last_mut()) {
                (Some(last), Some(same)) if self.key_of(*last) == self.key_of(key) => {
                    same.push(record);
                    *last = key;
                }
                _ => {
                    groups.keys.push(key);
                    groups.records.push(smallvec![record]);
                }
            }
        }
        groups
    }

    /// Inserts the only group, the objects of one key; returns whether it did.
    fn insert_group(&self, groups: &mut Groups, only_new: bool, writer: &Writer<'_>) -> bool {
        let records = &mut groups.records[0];
        self.write(self.key_of(groups.keys[0]), writer, |old| {
            if only_new && old.is_some() {
                return (Change::Keep, false);
            }
            (self.merged(old, records), true)
        })
    }

    /// Returns the change of a key that puts the records of a group in; records that are not needed stay in the group.
    fn merged(&self, old: Option<Content>, records: &mut Records) -> Change {
        if !self.kind.is_bag() {
            let last = records.pop().expect("a group has a record");
            return Change::Put(last.publish());
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

    fn commit(
        &self,
        groups: Groups,
        only_new: bool,
        patience: Patience,
        writer: &Writer<'_>,
    ) -> Option<bool> {
        let work = self.prepared(groups, only_new, patience);
        if cfg!(fyris_mutant = "store_commit_early") {
            work.commit.appear();
        }
        let placed = self.place_all(&work, writer);
        let done = self.conclude(work, &placed, writer);
        (!placed.gave_up).then_some(done)
    }

    /// Returns the new contents of keys, where these do not depend on the present ones, and the commit that is to put
    /// them in.
    fn prepared(&self, groups: Groups, only_new: bool, patience: Patience) -> ListInsert {
        let Groups { keys, records } = groups;
        let terms = match (only_new, self.kind.is_bag()) {
            (true, _) => Terms::New,
            (false, true) => Terms::Add,
            (false, false) => Terms::Replace,
        };
        let (mut contents, mut all, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        if self.kind.is_bag() {
            for records in records {
                all.extend(records.into_iter().map(NewRecord::publish_block));
                ends.push(all.len());
            }
        } else {
            let last = |mut records: Records| records.pop().expect("a group has a record");
            contents.extend(records.into_iter().map(|r| last(r).publish()));
        }
        ListInsert {
            commit: Commit::new(keys.len(), terms, all, ends),
            keys,
            contents,
            patience,
        }
    }

    /// Decides, and clears up.
    fn conclude(&self, work: ListInsert, placed: &Placed, writer: &Writer<'_>) -> bool {
        let (keys, commit) = (&work.keys, &work.commit);
        let complete = placed.keys == keys.len();
        let counted = if complete { placed.objects } else { 0 };
        // Before they can be seen.
        self.account(counted, 0);
        let done = complete && commit.seal();
        if done {
            self.commits.append(commit, writer.pin);
        } else {
            commit.abort();
        }
        self.unfold(&keys[..placed.keys], commit, writer);
        // The changes that were written through the cells: each cell is out of its slot.
        let (more, fewer, bytes) = commit.drifted();
        if done {
            self.account(fewer, placed.bytes + bytes);
        } else {
            self.account(-(counted + more), 0);
        }
        self.retire_unused(&work, placed.keys, writer);
        let keys = keys.len();
        // SAFETY: `unfold` has seen to it that no slot holds a cell of it.
        unsafe { work.commit.finish(writer.pin) };
        if done {
            self.commits.trim(keys, writer.pin);
        }
        done
    }

    /// Returns the new content of the `at`-th key, whose present one is `old`.
    fn planned(&self, work: &ListInsert, at: usize, old: Option<Content>) -> Content {
        match work.contents.get(at) {
            Some(&content) => content,
            None => {
                let cell = work.commit.cell(at);
                let records = work.commit.block().records_of(cell.get());
                let new = self.with_records(old, records);
                new.expect("the first of a group is no repeat of nothing")
            }
        }
    }

    /// Puts pending cells in the slots of all keys; of fewer, if the commit is not to be.
    fn place_all(&self, work: &ListInsert, writer: &Writer<'_>) -> Placed {
        let mut placed = Placed::default();
        while placed.keys < work.keys.len() && !work.commit.is_aborted() {
            if let Some(&later) = work.keys.get(placed.keys + AHEAD) {
                self.index.prefetch_write(self.key_of(later), writer.pin);
            }
            match self.place(work, &mut placed, writer) {
                0 => break,
                more => placed.keys += more,
            }
        }
        placed
    }

    /// Puts pending cells in the slots of some keys behind those that have theirs; how many: none if the first must be
    /// new and is not, or another list has it and this one gives up.
    fn place(&self, work: &ListInsert, placed: &mut Placed, writer: &Writer<'_>) -> usize {
        let first = placed.keys;
        let key = |at: usize| work.keys.get(first + at).map(|&key| self.key_of(key));
        let only_new = work.commit.block().terms() == Terms::New;
        loop {
            let mut undecided = None;
            let mut displaced = Cells::new();
            let done = self.index.upsert_run(key, writer.pin, |at, slot| {
                let old = match slot.map(Slot::settled) {
                    None => None,
                    Some(Settled::Content(content)) => content,
                    Some(Settled::Undecided(cell)) => {
                        undecided = Some(cell);
                        return None;
                    }
                };
                if only_new && old.is_some() {
                    return None;
                }
                // Also when nothing changes for this key: the cell keeps it as it is until the decision (DECISION).
                let new = self.planned(work, first + at, old);
                let (objects, bytes) = self.gain(old, new);
                placed.objects += objects;
                placed.bytes += bytes;
                let cell = work.commit.cell(first + at);
                cell.get().prepare(old, Some(new));
                displaced.extend(slot.and_then(Slot::as_pending));
                Some(Action::Put(Slot::pending(cell)))
            });
            self.displaced_cells(displaced, writer);
            match undecided {
                // Another commit holds the key: it decides without needing anything of ours.
                Some(cell) if done == 0 => match work.patience {
                    Patience::Waits => cell.get().wait(),
                    Patience::GivesUp if cell.get().wait_a_little() => {}
                    Patience::GivesUp => {
                        placed.gave_up = true;
                        return 0;
                    }
                },
                _ => return done,
            }
        }
    }

    fn displaced_cells(&self, cells: Cells, writer: &Writer<'_>) {
        for cell in cells {
            self.displaced(Displaced::cell(cell), writer);
        }
    }

    /// Retires the objects that no slot got: repeats in a bag, and those behind the key at which the list ended.
    fn retire_unused(&self, work: &ListInsert, placed: usize, writer: &Writer<'_>) {
        for content in work.contents.iter().skip(placed) {
            // SAFETY: in no cell.
            unsafe { content.retire(writer.pin) };
        }
        if !self.kind.is_bag() {
            return;
        }
        for at in 0..work.keys.len() {
            let cell = work.commit.cell(at);
            let bottom = cell.get().before();
            let mut used = cell.get().after().filter(|_| at < placed);
            for &record in work.commit.block().records_of(cell.get()).iter().rev() {
                match used.filter(|_| used != bottom) {
                    Some(top) if top.newest() == record => used = chain::older(top),
                    // SAFETY: a block of this commit, in none of its chains.
                    _ => unsafe { record.retire(writer.pin) },
                }
            }
        }
    }

    /// Puts what won in the places of decided cells, of the first keys of the commit, unless a writer has done so
    /// already.
    fn unfold(&self, keys: &[RecordPtr], commit: &Commit, writer: &Writer<'_>) {
        let mut first = 0;
        while first < keys.len() {
            if let Some(&later) = keys.get(first + AHEAD) {
                self.index.prefetch_write(self.key_of(later), writer.pin);
            }
            let key = |at: usize| keys.get(first + at).map(|&key| self.key_of(key));
            let mut ours = Cells::new();
            first += self.index.upsert_run(key, writer.pin, |at, slot| {
                let cell = commit.cell(first + at);
                if slot.and_then(Slot::as_pending) != Some(cell) {
                    return Some(Action::Keep);
                }
                ours.push(cell);
                Some(match cell.get().read() {
                    Some(content) => Action::Put(Slot::content(content)),
                    None => Action::Remove,
                })
            });
            self.displaced_cells(ours, writer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use fyris_index::HashIndex;
    use fyris_sync::reclaim::pin;
    use fyris_term::key::KeyBuf;
    use fyris_term::{Blob, Term};

    use super::*;
    use crate::ids::TableType;
    use crate::key_kind::Exact;
    use crate::native_terms::record_of;

    type Hashed = TableData<Exact, HashIndex<Slot<Exact>>>;

    fn record(key: i64, value: i64) -> NewRecord {
        let object = Term::tuple(vec![Term::Int(key), Term::Int(value)]);
        record_of(&object, 1).expect("a record")
    }

    /// A list insert stopped half-way.
    struct HalfWay {
        data: Hashed,
        work: ListInsert,
        placed: Placed,
        pin: fyris_sync::reclaim::LocalGuard,
    }

    /// Pairs of key and value.
    type Pairs<'p> = &'p [(i64, i64)];

    impl HalfWay {
        /// Makes an insertion of `list` into a table that holds `there`, stopped before the decision.
        fn new(kind: TableType, there: Pairs<'_>, list: Pairs<'_>, only_new: bool) -> HalfWay {
            let pin = pin();
            let data = Hashed::new(HashIndex::default(), kind, 1);
            let object = |&(key, value): &(i64, i64)| record(key, value);
            for pair in there {
                data.insert_one(object(pair), &Writer::plain(&pin));
            }
            let groups = data.grouped(list.iter().map(object).collect());
            let work = data.prepared(groups, only_new, Patience::Waits);
            HalfWay {
                placed: data.place_all(&work, &Writer::plain(&pin)),
                data,
                work,
                pin,
            }
        }

        fn insert(&self, key: i64, value: i64) {
            self.data
                .insert_one(record(key, value), &Writer::plain(&self.pin));
        }

        fn remove(&self, key: i64) {
            let key = KeyBuf::from_int(key);
            self.data.remove(Exact::of(&key), &Writer::plain(&self.pin));
        }

        fn remove_object(&self, key: i64, value: i64) {
            self.data
                .delete_object(&record(key, value), &Writer::plain(&self.pin));
        }

        fn values(&self, key: i64) -> Vec<i64> {
            values(&self.data, key, &self.pin)
        }

        /// Goes on to the end. The size is that of the objects then; of bytes there are as many as a table that got
        /// them one by one has.
        fn finish(self) -> (Hashed, bool) {
            let HalfWay {
                data,
                work,
                placed,
                pin,
            } = self;
            let done = data.conclude(work, &placed, &Writer::plain(&pin));
            let other = Hashed::new(HashIndex::default(), data.kind, 1);
            for key in 0..10 {
                for value in values(&data, key, &pin) {
                    other.insert_one(record(key, value), &Writer::plain(&pin));
                }
            }
            assert_eq!(data.len(), other.len());
            assert_eq!(data.bytes.sum(), other.bytes.sum());
            (data, done)
        }
    }

    fn values(data: &Hashed, key: i64, pin: &fyris_sync::reclaim::LocalGuard) -> Vec<i64> {
        let value = |record| match data.object(record).element(2) {
            Some(Term::Int(value)) => value,
            other => panic!("{other:?}"),
        };
        let content = data.get(Exact::of(&KeyBuf::from_int(key)), pin);
        let records = content.map(chain::oldest_first).unwrap_or_default();
        records.into_iter().map(value).collect()
    }

    const BIG: i64 = 1 << 40;

    #[test]
    fn writers_of_a_key_get_through_a_list_that_replaces() {
        let there = [(1, 10), (2, BIG), (3, 30)];
        let half = HalfWay::new(
            TableType::Set,
            &there,
            &[(1, 11), (2, 22), (3, BIG), (4, 44)],
            false,
        );
        half.insert(1, BIG);
        half.remove(2);
        half.insert(4, 40);
        assert!(
            !half
                .data
                .insert_new_one(record(3, 0), &Writer::plain(&half.pin))
        );
        let all = |data: &Hashed| [1, 2, 3, 4].map(|key| values(data, key, &pin()));
        assert_eq!(all(&half.data), [vec![BIG], vec![], vec![30], vec![40]]);
        half.remove(4);
        half.insert(2, 20);
        assert_eq!(all(&half.data), [vec![BIG], vec![20], vec![30], vec![]]);
        let (data, done) = half.finish();
        assert!(done);
        assert_eq!(all(&data), [vec![11], vec![22], vec![BIG], vec![44]]);
    }

    #[test]
    fn who_writes_under_a_key_that_is_to_be_new_aborts_the_list() {
        for kind in [TableType::Set, TableType::Bag] {
            let list = [(1, BIG), (2, 22), (3, 33)];
            let half = HalfWay::new(kind, &[], &list, true);
            half.remove(1);
            half.remove_object(2, 22);
            assert!(half.finish().1, "nothing was there, and nothing is");
            let half = HalfWay::new(kind, &[(5, 50)], &list, true);
            half.insert(2, BIG + 2);
            half.insert(3, 30);
            assert_eq!(half.values(2), [BIG + 2]);
            let (data, done) = half.finish();
            assert!(!done);
            assert_eq!(values(&data, 1, &pin()), []);
            assert_eq!(values(&data, 2, &pin()), [BIG + 2]);
        }
    }

    #[test]
    fn writers_of_a_key_get_through_a_list_that_adds() {
        for kind in [TableType::Bag, TableType::DuplicateBag] {
            let repeats = usize::from(kind == TableType::DuplicateBag);
            let there = [(1, 1), (1, 2), (2, 7)];
            let list = [(1, 2), (1, 3), (2, 7), (3, BIG), (3, 5)];
            let half = HalfWay::new(kind, &there, &list, false);
            // An object that the list was to repeat goes, so that the list adds it after all.
            half.remove_object(1, 2);
            half.insert(1, 4);
            half.insert(1, 3);
            half.remove(2);
            half.insert(3, 5);
            assert_eq!(half.values(1), [1, 4, 3]);
            assert_eq!((half.values(2), half.values(3)), (vec![], vec![5]));
            let (data, done) = half.finish();
            assert!(done);
            let all = |key| values(&data, key, &pin());
            assert_eq!(all(1), [&[1, 4, 3, 2][..], &[3][..repeats]].concat());
            assert_eq!(all(2), [7]);
            assert_eq!(all(3), [&[5, BIG][..], &[5][..repeats]].concat());
        }
    }

    #[test]
    fn a_list_may_give_up_on_another() {
        let half = HalfWay::new(TableType::Set, &[(1, 10)], &[(2, 20), (3, 30)], false);
        let list = || vec![record(1, BIG), record(3, BIG), record(4, BIG)];
        for only_new in [false, true] {
            let gives_up = Patience::GivesUp;
            let done = half
                .data
                .insert_all(list(), only_new, gives_up, &Writer::plain(&half.pin));
            assert_eq!(done, if only_new { Some(false) } else { None });
            assert_eq!(half.values(1), [10]);
        }
        half.remove(1);
        let done = half
            .data
            .insert_all(list(), true, Patience::GivesUp, &Writer::plain(&half.pin));
        assert_eq!(
            (done, half.values(1), half.values(4)),
            (None, vec![], vec![])
        );
        assert!(half.finish().1);
    }

    /// A writer that takes a decided cell out of its slot retires the side that lost, which nobody else will.
    #[test]
    fn who_replaces_a_decided_cell_retires_what_lost() {
        let (data, pin) = (
            Hashed::new(HashIndex::default(), TableType::Set, 1),
            fyris_sync::reclaim::pin(),
        );
        let blob = Blob::from(vec![7; 1000]);
        let old = Term::tuple(vec![Term::Int(1), Term::Binary(blob.clone())]);
        data.insert_one(record_of(&old, 1).expect("a record"), &Writer::plain(&pin));
        drop(old);
        let groups = data.grouped(vec![record(1, BIG), record(2, BIG)]);
        let work = data.prepared(groups, false, Patience::Waits);
        data.place_all(&work, &Writer::plain(&pin));
        assert!(work.commit.seal());
        data.commits.append(&work.commit, &pin);
        data.insert_one(record(1, 5), &Writer::plain(&pin));
        data.unfold(&work.keys, &work.commit, &Writer::plain(&pin));
        // SAFETY: out of the slots now.
        unsafe { work.commit.finish(&pin) };
        drop(pin);
        let late = Instant::now() + Duration::from_secs(20);
        // Other tests may have pinned meanwhile.
        while blob.holders() > 1 {
            assert!(Instant::now() < late, "it is never freed");
            fyris_sync::reclaim::flush();
        }
    }

    /// A writer that comes when a commit is about to be decided waits for the decision.
    #[test]
    fn a_sealed_commit_is_awaited() {
        let half = HalfWay::new(TableType::Bag, &[(1, 1)], &[(1, 2), (2, 2)], false);
        assert!(half.work.commit.seal());
        let decided = AtomicBool::new(false);
        thread::scope(|s| {
            let writer = s.spawn(|| {
                half.data.insert_one(record(2, 3), &Writer::plain(&pin()));
                assert!(decided.load(Ordering::SeqCst));
            });
            thread::sleep(Duration::from_millis(30));
            decided.store(true, Ordering::SeqCst);
            half.data.commits.append(&half.work.commit, &half.pin);
            writer.join().expect("the writer ends");
        });
        assert_eq!(half.values(2), [2, 3]);
        let HalfWay {
            data, work, pin, ..
        } = half;
        data.unfold(&work.keys, &work.commit, &Writer::plain(&pin));
        // SAFETY: out of the slots now.
        unsafe { work.commit.finish(&pin) };
    }
}
