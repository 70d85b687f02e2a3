//! Inserting several objects in one atomic and isolated step.
//!
//! The protocol and its invariants are in [`crate::pending`]. Here are the steps: objects are
//! grouped by key, the groups sorted (G), a cell put in every slot, the commit decided (D), the
//! cells replaced. One group needs no commit: one write of one slot is atomic by itself.

use fyris_index::{Action, Entry, Index};
use fyris_sync::reclaim::Pin;
use smallvec::{SmallVec, smallvec};

use crate::body::{Body, Change};
use crate::chain;
use crate::keys::KeyKind;
use crate::pending::{Commit, PendingPtr};
use crate::record::{NewRecord, RecordPtr};
use crate::slot::{Content, Slot};

/// Records of one key: most often one.
type Records = SmallVec<[NewRecord; 1]>;

/// How many keys ahead of the one that is being written memory is asked for.
const AHEAD: usize = 8;

/// The objects of one key, in list order.
struct Group {
    /// Any of their records: where the key is read.
    key: RecordPtr,
    /// Those that no slot has yet.
    records: Records,
}

/// What a step adds: objects and bytes.
#[derive(Default)]
struct Gain(i64, i64);

impl<K, I> Body<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Puts all objects in, or, with `only_new`, none if the key of any is there. Says whether it did.
    ///
    /// Readers see all of them or none. O(n log n) in their number; writers of the same keys wait.
    pub(crate) fn insert_all(
        &self,
        records: Vec<NewRecord>,
        only_new: bool,
        pin: &impl Pin,
    ) -> bool {
        let mut groups = self.grouped(records);
        match &mut groups[..] {
            [] => true,
            [group] => self.insert_group(group, only_new, pin),
            _ => self.commit(&mut groups, only_new, pin),
        }
    }

    /// The objects by key, in ascending order of keys (G).
    fn grouped(&self, mut records: Vec<NewRecord>) -> Vec<Group> {
        // Stable: objects of one key stay in list order.
        records.sort_by(|a, b| self.key_of(a.ptr()).cmp(self.key_of(b.ptr())));
        let mut groups: Vec<Group> = Vec::with_capacity(records.len());
        for record in records {
            let key = record.ptr();
            match groups.last_mut() {
                Some(group) if self.key_of(group.key) == self.key_of(key) => {
                    group.records.push(record);
                }
                _ => groups.push(Group {
                    key,
                    records: smallvec![record],
                }),
            }
        }
        groups
    }

    fn insert_group(&self, group: &mut Group, only_new: bool, pin: &impl Pin) -> bool {
        let records = &mut group.records;
        let done = self.write(self.key_of(group.key), pin, |old| {
            if only_new && old.is_some() {
                return (Change::Keep, None);
            }
            let new = self.merged(old, records);
            (Change::Put(new), Some((old, new)))
        });
        let Some((old, new)) = done else { return false };
        let gain = self.gain(old, new);
        self.account(gain.0, gain.1);
        if let Some(old) = old.filter(|_| !self.kind.is_bag()) {
            // SAFETY: displaced from its slot, by this thread (O).
            unsafe { old.retire(pin) };
        }
        true
    }

    /// What a key holds with the records of a group put in; those that are not needed stay in it.
    fn merged(&self, old: Option<Content>, records: &mut Records) -> Content {
        if !self.kind.is_bag() {
            let last = records.pop().expect("a group has a record");
            return last.publish();
        }
        let mut content = old;
        for record in std::mem::take(records) {
            if self.is_repeated(record.ptr(), content) {
                records.push(record);
            } else {
                content = Some(chain::push(record.publish_block(), content));
            }
        }
        content.expect("the first of a group is no repeat of nothing")
    }

    fn gain(&self, old: Option<Content>, new: Content) -> Gain {
        let objects = new.count() as i64 - old.map_or(0, |c| c.count() as i64);
        let bytes = match old {
            Some(old) if !self.kind.is_bag() => new.size() as i64 - old.size() as i64,
            _ => chain::size_above(new, old) as i64,
        };
        Gain(objects, bytes)
    }

    fn commit(&self, groups: &mut [Group], only_new: bool, pin: &impl Pin) -> bool {
        let commit = Commit::new(groups.len());
        let mut gain = Gain::default();
        let mut placed = 0;
        for i in 0..groups.len() {
            if let Some(later) = groups.get(i + AHEAD) {
                self.index.prefetch(self.key_of(later.key), pin);
            }
            let group = &mut groups[i];
            if !self.place(group, commit.cell(i), only_new, &mut gain, pin) {
                break;
            }
            placed = i + 1;
            if cfg!(fyris_mutant = "store_commit_early") {
                commit.decide(true);
            }
        }
        let done = placed == groups.len();
        commit.decide(done);
        if done {
            self.account(gain.0, gain.1);
        }
        for (i, group) in groups[..placed].iter().enumerate() {
            self.unfold(group.key, commit.cell(i), pin);
        }
        // SAFETY: `unfold` has seen to it that no slot holds a cell of it.
        unsafe { commit.finish(pin) };
        done
    }

    /// Puts a pending cell in the slot of a group's key; `false` if the key must be new and is not.
    fn place(
        &self,
        group: &mut Group,
        cell: PendingPtr,
        only_new: bool,
        gain: &mut Gain,
        pin: &impl Pin,
    ) -> bool {
        let records = &mut group.records;
        self.write_slot(self.key_of(group.key), pin, |old| {
            if only_new && old.is_some() {
                return (Action::Keep, false);
            }
            // Also when nothing changes for this key: the cell keeps it as it is until the decision (D).
            let new = self.merged(old, records);
            let Gain(objects, bytes) = self.gain(old, new);
            *gain = Gain(gain.0 + objects, gain.1 + bytes);
            cell.get().prepare(old, Some(new));
            (Action::Put(Slot::pending(cell)), true)
        })
    }

    /// Puts what won in the place of a decided cell, unless a writer has done so already.
    fn unfold(&self, key: RecordPtr, cell: PendingPtr, pin: &impl Pin) {
        let ours = self.index.upsert(self.key_of(key), pin, |slot| {
            if slot.and_then(Slot::as_pending) != Some(cell) {
                return (Action::Keep, false);
            }
            let winner = match cell.get().read() {
                Some(content) => Action::Put(Slot::content(content)),
                None => Action::Remove,
            };
            (winner, true)
        });
        if ours {
            self.retire_loser(cell, pin);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use fyris_index::HashIndex;
    use fyris_sync::reclaim::pin;
    use fyris_term::Term;
    use fyris_term::key::KeyBuf;

    use super::*;
    use crate::ids::TableType;
    use crate::keys::Exact;
    use crate::record::with_scratch;

    type Hashed = Body<Exact, HashIndex<Slot<Exact>>>;

    fn record(key: i64, value: i64) -> NewRecord {
        let object = Term::Tuple(vec![Term::Int(key), Term::Int(value)]);
        with_scratch(|s| s.record(&object, 1)).expect("a record")
    }

    fn value(body: &Hashed, key: i64) -> Option<Term> {
        let pin = pin();
        let content = body.get(Exact::of(&KeyBuf::from_int(key)), &pin)?;
        body.object(content.newest()).element(2)
    }

    /// Stops a commit half-way and looks at what others find.
    fn half_way(committed: bool) {
        let body = Hashed::new(HashIndex::default(), TableType::Set, 1);
        body.insert_one(record(1, 10), &pin());
        let outer = pin();
        let mut groups = body.grouped(vec![record(2, 21), record(1, 11)]);
        let commit = Commit::new(2);
        let mut gain = Gain::default();
        for (i, group) in groups.iter_mut().enumerate() {
            assert!(body.place(group, commit.cell(i), false, &mut gain, &outer));
        }
        assert_eq!(
            (value(&body, 1), value(&body, 2)),
            (Some(Term::Int(10)), None)
        );
        let decided = AtomicBool::new(false);
        thread::scope(|s| {
            let writer = s.spawn(|| {
                let new = body.insert_new_one(record(2, 22), &pin());
                assert!(
                    decided.load(Ordering::SeqCst),
                    "a writer waits for the decision"
                );
                new
            });
            thread::sleep(Duration::from_millis(30));
            decided.store(true, Ordering::SeqCst);
            commit.decide(committed);
            let new = writer.join().expect("the writer ends");
            assert_eq!(new, !committed, "and acts upon it");
        });
        let (one, two) = if committed { (11, 21) } else { (10, 22) };
        let found = || (value(&body, 1), value(&body, 2));
        assert_eq!(found(), (Some(Term::Int(one)), Some(Term::Int(two))));
        for (i, group) in groups.iter().enumerate() {
            body.unfold(group.key, commit.cell(i), &outer);
        }
        // SAFETY: `unfold` has taken both cells out.
        unsafe { commit.finish(&outer) };
        assert_eq!(found(), (Some(Term::Int(one)), Some(Term::Int(two))));
    }

    #[test]
    fn readers_see_and_writers_await_the_decision() {
        half_way(true);
        half_way(false);
    }
}
