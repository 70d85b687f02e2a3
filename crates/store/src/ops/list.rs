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
use crate::slot::{Content, Settled, Slot};

/// Records of one key: most often one.
type Records = SmallVec<[NewRecord; 1]>;

/// Cells that one step has taken out of slots: about as many as neighbours lie together.
type Cells = SmallVec<[PendingPtr; 32]>;

/// How many keys ahead of the one that is being written memory is asked for.
const AHEAD: usize = 8;

/// Objects by key, in ascending order of keys (G).
struct Groups {
    /// Any record of each key: where the key is read.
    keys: Vec<RecordPtr>,
    /// Those of each key that no slot has yet, in list order.
    records: Vec<Records>,
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
        match groups.keys.len() {
            0 => true,
            1 => self.insert_group(&mut groups, only_new, pin),
            _ => self.commit(&mut groups, only_new, pin),
        }
    }

    /// The objects by key.
    fn grouped(&self, records: Vec<NewRecord>) -> Groups {
        // Word objects are shown once here, and not with every comparison.
        let with_key = |record: NewRecord| (record.ptr(), record);
        let mut records: Vec<_> = records.into_iter().map(with_key).collect();
        // Stable: objects of one key stay in list order.
        records.sort_by(|a, b| self.key_of(a.0).cmp(self.key_of(b.0)));
        let mut groups = Groups {
            keys: Vec::with_capacity(records.len()),
            records: Vec::with_capacity(records.len()),
        };
        for (key, record) in records {
            match (groups.keys.last(), groups.records.last_mut()) {
                (Some(&last), Some(same)) if self.key_of(last) == self.key_of(key) => {
                    same.push(record);
                }
                _ => {
                    groups.keys.push(key);
                    groups.records.push(smallvec![record]);
                }
            }
        }
        groups
    }

    /// Of one key.
    fn insert_group(&self, groups: &mut Groups, only_new: bool, pin: &impl Pin) -> bool {
        let records = &mut groups.records[0];
        let done = self.write(self.key_of(groups.keys[0]), pin, |old| {
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

    fn commit(&self, groups: &mut Groups, only_new: bool, pin: &impl Pin) -> bool {
        let keys = groups.keys.len();
        let commit = Commit::new(keys);
        let mut gain = Gain::default();
        let mut placed = 0;
        if cfg!(fyris_mutant = "store_commit_early") {
            commit.decide(true);
        }
        while placed < keys {
            if let Some(&later) = groups.keys.get(placed + AHEAD) {
                self.index.prefetch(self.key_of(later), pin);
            }
            match self.place(groups, placed, &commit, only_new, &mut gain, pin) {
                0 => break,
                more => placed += more,
            }
        }
        let done = placed == keys;
        commit.decide(done);
        if done {
            self.account(gain.0, gain.1);
        }
        self.unfold(&groups.keys[..placed], &commit, pin);
        // SAFETY: `unfold` has seen to it that no slot holds a cell of it.
        unsafe { commit.finish(pin) };
        done
    }

    /// Puts pending cells in the slots of some keys from `first` on; how many: none if the first must be new and is not.
    fn place(
        &self,
        groups: &mut Groups,
        first: usize,
        commit: &Commit,
        only_new: bool,
        gain: &mut Gain,
        pin: &impl Pin,
    ) -> usize {
        let Groups { keys, records } = groups;
        let key = |at: usize| keys.get(first + at).map(|&key| self.key_of(key));
        loop {
            let mut undecided = None;
            let mut displaced = Cells::new();
            let placed = self.index.upsert_run(key, pin, |at, slot| {
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
                // Also when nothing changes for this key: the cell keeps it as it is until the decision (D).
                let new = self.merged(old, &mut records[first + at]);
                let Gain(objects, bytes) = self.gain(old, new);
                *gain = Gain(gain.0 + objects, gain.1 + bytes);
                let cell = commit.cell(first + at);
                cell.get().prepare(old, Some(new));
                displaced.extend(slot.and_then(Slot::as_pending));
                Some(Action::Put(Slot::pending(cell)))
            });
            displaced
                .iter()
                .for_each(|&cell| self.retire_loser(cell, pin));
            match undecided {
                // Another commit holds the key: it decides without needing anything of ours.
                Some(cell) if placed == 0 => cell.get().wait(),
                _ => return placed,
            }
        }
    }

    /// Puts what won in the places of decided cells, of the first keys of the commit, unless a writer has done so already.
    fn unfold(&self, keys: &[RecordPtr], commit: &Commit, pin: &impl Pin) {
        let mut first = 0;
        while first < keys.len() {
            if let Some(&later) = keys.get(first + AHEAD) {
                self.index.prefetch(self.key_of(later), pin);
            }
            let key = |at: usize| keys.get(first + at).map(|&key| self.key_of(key));
            let mut ours = Cells::new();
            first += self.index.upsert_run(key, pin, |at, slot| {
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
            ours.iter().for_each(|&cell| self.retire_loser(cell, pin));
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
        for i in 0..2 {
            assert_eq!(
                body.place(&mut groups, i, &commit, false, &mut gain, &outer),
                1
            );
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
        body.unfold(&groups.keys, &commit, &outer);
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
