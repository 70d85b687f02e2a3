use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fyris_index::HashIndex;
use fyris_sync::reclaim::{LocalGuard, pin};
use fyris_term::key::KeyBuf;
use fyris_term::{Blob, Term};

use super::*;
use crate::chain;
use crate::commits::{CommitLog, Undo};
use crate::ids::TableType;
use crate::key_kind::Exact;
use crate::native_terms::record_of;
use crate::ops::List;

type Hashed = TableData<Exact, HashIndex<Slot<Exact>>>;

fn record(key: i64, value: i64) -> NewRecord {
    let object = Term::tuple(vec![Term::Int(key), Term::Int(value)]);
    record_of(&object, 1).expect("a record")
}

/// A commit stopped half-way.
struct HalfWay {
    data: Hashed,
    work: Writes,
    commit: Commit,
    placed: Placed,
    placing: Result<Outcome>,
    pin: LocalGuard,
}

/// Pairs of key and value.
type Pairs<'p> = &'p [(i64, i64)];

impl HalfWay {
    /// Makes an insertion of `list` into a table that holds `there`, stopped before the decision.
    fn new(kind: TableType, there: Pairs<'_>, list: Pairs<'_>, only_new: bool) -> HalfWay {
        let (data, pin) = (table(kind, there), pin());
        let object = |&(key, value): &(i64, i64)| record(key, value);
        match data.list(list.iter().map(object).collect(), only_new, false) {
            List::Several(work) => HalfWay::of(data, work, Vec::new(), pin),
            List::One { .. } => panic!("a list of several keys"),
        }
    }

    /// Stops a commit before the decision. `keys` are those of cells without content, `pin` that under which `work` was
    /// made: its keys may be materialized (VIEW).
    fn of(data: Hashed, work: Writes, keys: Vec<Option<NewRecord>>, pin: LocalGuard) -> HalfWay {
        let mut placed = Placed::default();
        let commit = Commit::new([data.plan(&work, keys)]);
        let waits = Patience::Waits;
        let placing = data.place_all(&work, &commit, 0, &mut placed, waits, &Writer::plain(&pin));
        HalfWay {
            data,
            work,
            commit,
            placed,
            placing,
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
            commit,
            placed,
            placing,
            pin,
        } = self;
        let outcome = data.end(&work, commit, &placed, placing, None, &Writer::plain(&pin));
        let done = outcome == Ok(Outcome::Committed);
        if !done {
            work.retire(&pin);
        }
        let other = table(data.kind, &[]);
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

/// Returns a table that holds this.
fn table(kind: TableType, there: Pairs<'_>) -> Hashed {
    let (data, pin) = (
        Hashed::new(HashIndex::default(), kind, 1, &CommitLog::new()),
        pin(),
    );
    for &(key, value) in there {
        data.insert_one(record(key, value), &Writer::plain(&pin));
    }
    data
}

fn values(data: &Hashed, key: i64, pin: &LocalGuard) -> Vec<i64> {
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
    let insert = |only_new| {
        let list = vec![record(1, BIG), record(3, BIG), record(4, BIG)];
        let mut list = half.data.list(list, only_new, false);
        let gives_up = Patience::GivesUp;
        let outcome = half
            .data
            .insert_list(&mut list, gives_up, &Writer::plain(&half.pin));
        list.retire(&half.pin);
        outcome
    };
    assert_eq!(insert(false), Ok(Outcome::GaveUp));
    assert_eq!(insert(true), Ok(Outcome::Failed));
    assert_eq!(half.values(1), [10]);
    half.remove(1);
    assert_eq!(insert(true), Ok(Outcome::GaveUp));
    assert_eq!((half.values(1), half.values(4)), (vec![], vec![]));
    assert!(half.finish().1);
}

/// Returns the key of a cell without content.
fn key_only(key: i64) -> Option<NewRecord> {
    Some(record_of(&Term::tuple(vec![Term::Int(key)]), 1).expect("a record"))
}

/// A commit of which nothing but its conditions and the contents afterwards is known: a key, and what is to hold.
fn half_way(data: Hashed, keys: &[(i64, Terms, Option<Content>)]) -> HalfWay {
    let pin = pin();
    let records: Vec<_> = keys.iter().map(|&(key, ..)| key_only(key)).collect();
    let ptr = |record: &Option<NewRecord>| record.as_ref().expect("a key").ptr();
    let mut keys: Vec<_> = keys.iter().zip(records).collect();
    keys.sort_by(|a, b| data.key_of(ptr(&a.1)).cmp(data.key_of(ptr(&b.1))));
    let work = Writes {
        keys: keys.iter().map(|(_, record)| ptr(record)).collect(),
        terms: keys.iter().map(|(of, _)| of.1).collect(),
        contents: keys.iter().map(|(of, _)| of.2).collect(),
        records: Vec::new(),
        ends: Vec::new(),
        ranks: Vec::new(),
    };
    let keys = keys.into_iter().map(|(_, record)| record).collect();
    HalfWay::of(data, work, keys, pin)
}

/// Cells without content: a key that goes, one that is not there and is to go, one that is not there and stays so.
#[test]
fn a_commit_removes_keys_that_are_there_and_that_are_not() {
    for kind in [TableType::Set, TableType::Bag] {
        let new = || {
            let remove = |key| (key, Terms::Replace, None);
            let keys = [remove(1), remove(2), remove(3), (4, Terms::Guarded, None)];
            let data = table(kind, &[(1, 10), (3, BIG)]);
            half_way(data, &[&keys[..], &[remove(5), remove(6)]].concat())
        };
        let all = |data: &Hashed| [1, 2, 3, 4].map(|key| values(data, key, &pin()));
        let half = new();
        assert_eq!(all(&half.data), [vec![10], vec![], vec![BIG], vec![]]);
        let (data, done) = half.finish();
        assert!(done);
        assert_eq!(all(&data), [const { vec![] }; 4]);
        // Writers of the keys come before it: what they put in goes, too.
        let half = new();
        half.insert(2, BIG);
        half.remove(3);
        half.remove(4);
        half.insert(1, BIG);
        assert_eq!((half.values(2), half.values(3)), (vec![BIG], vec![]));
        let (data, done) = half.finish();
        assert!(done);
        assert_eq!(all(&data), [const { vec![] }; 4]);
        let half = new();
        half.insert(2, 20);
        half.insert(4, 40);
        let (data, done) = half.finish();
        assert!(!done, "what was not there has come");
        assert_eq!(all(&data), [vec![10], vec![20], vec![BIG], vec![40]]);
    }
}

/// A key whose content was read is as it was, or the commit does not happen.
#[test]
fn who_writes_under_a_key_that_was_read_aborts_the_commit() {
    let there = [(1, 10), (2, BIG)];
    let new = || {
        let data = table(TableType::Set, &there);
        let put = |key, value| Some(record(key, value).publish());
        let keys = [
            (2, Terms::Guarded, put(2, 20)),
            (3, Terms::Replace, put(3, BIG)),
        ];
        half_way(data, &keys)
    };
    let (data, done) = new().finish();
    assert!(done);
    assert_eq!(
        (values(&data, 2, &pin()), values(&data, 3, &pin())),
        (vec![20], vec![BIG])
    );
    // Who writes what is there already changes nothing.
    let half = new();
    half.insert(2, BIG);
    half.insert(1, BIG);
    assert!(half.finish().1);
    for write in [
        |half: &HalfWay| half.insert(2, 5),
        |half: &HalfWay| half.remove(2),
    ] {
        let half = new();
        write(&half);
        let now = half.values(2);
        let (data, done) = half.finish();
        assert!(!done);
        assert_eq!(
            (values(&data, 2, &pin()), values(&data, 3, &pin())),
            (now, vec![])
        );
    }
}

/// Of a commit over two tables all cells turn together, and the readers of each undo what is theirs.
#[test]
fn one_decision_is_for_all_tables() {
    let (log, pin) = (CommitLog::new(), pin());
    let tables = [1, 2].map(|_| Hashed::new(HashIndex::default(), TableType::Set, 1, &log));
    let lists = tables.each_ref().map(|data| {
        match data.list(vec![record(1, BIG), record(2, BIG)], false, false) {
            List::Several(work) => work,
            List::One { .. } => panic!("two keys"),
        }
    });
    let plan = |i: usize| tables[i].plan(&lists[i], Vec::new());
    let commit = Commit::new([plan(0), plan(1)]);
    let mut placed = [Placed::default(), Placed::default()];
    let waits = Patience::Waits;
    for i in [0, 1] {
        let placing = tables[i].place_all(
            &lists[i],
            &commit,
            i,
            &mut placed[i],
            waits,
            &Writer::plain(&pin),
        );
        assert_eq!(placing, Ok(Outcome::Committed));
    }
    let mut undo = tables
        .each_ref()
        .map(|data| Undo::new(&data.commits, data.kind, &pin));
    let all = || tables.each_ref().map(|data| values(data, 2, &pin));
    assert_eq!(all(), [vec![], vec![]]);
    assert!(commit.seal());
    log.append(&commit, &pin);
    assert_eq!(all(), [vec![BIG], vec![BIG]]);
    for (undo, data) in undo.iter_mut().zip(&tables) {
        assert!(undo.is_due(&data.commits));
        let key = KeyBuf::from_int(2);
        let before = undo.before(&data.commits, data.key_bytes(&key));
        assert!(matches!(before, Some(None)));
    }
    for i in [0, 1] {
        tables[i].count_coming(&placed[i], commit.part(i));
        tables[i].count_gone(&placed[i], commit.part(i));
        tables[i].conclude(
            &lists[i],
            commit.part(i),
            &placed[i],
            true,
            &Writer::plain(&pin),
        );
    }
    // SAFETY: out of the slots now.
    unsafe { commit.finish(&pin) };
    // One over another table is no matter of this one's readers.
    let undo = Undo::new(&tables[0].commits, TableType::Set, &pin);
    let mut list = tables[1].list(vec![record(1, 5), record(2, 5)], false, false);
    assert_eq!(
        tables[1].insert_list(&mut list, waits, &Writer::plain(&pin)),
        Ok(Outcome::Committed)
    );
    assert!(!undo.is_due(&tables[0].commits));
}

/// A list whose table is emptied before the decision is put into the new content instead.
#[test]
fn a_list_that_lost_its_content_goes_into_the_next() {
    struct Emptied<'g>(&'g LocalGuard, Cell<usize>);
    impl Admission for Emptied<'_> {
        fn step<R>(&self, f: impl FnOnce(&Writer<'_>) -> R) -> Result<Option<R>> {
            let left = self.1.replace(self.1.get().saturating_sub(1));
            Ok((left > 0).then(|| self.tidy(f)))
        }

        fn tidy<R>(&self, f: impl FnOnce(&Writer<'_>) -> R) -> R {
            f(&Writer::plain(self.0))
        }
    }
    for (kind, steps) in [
        (TableType::Set, 0),
        (TableType::Set, 1),
        (TableType::Bag, 1),
    ] {
        let (old, new, pin) = (table(kind, &[(1, 10)]), table(kind, &[]), pin());
        let mut list = old.list(vec![record(1, 11), record(2, BIG)], false, false);
        let steps = if cfg!(fyris_small) { 2 * steps } else { steps };
        let emptied = Emptied(&pin, Cell::new(steps));
        let outcome = old.insert_list(&mut list, Patience::Waits, &emptied);
        assert_eq!(outcome, Ok(Outcome::Moved));
        assert_eq!(
            (values(&old, 1, &pin), values(&old, 2, &pin)),
            (vec![10], vec![])
        );
        let outcome = new.insert_list(&mut list, Patience::Waits, &Writer::plain(&pin));
        assert_eq!(outcome, Ok(Outcome::Committed));
        assert_eq!(
            (values(&new, 1, &pin), values(&new, 2, &pin)),
            (vec![11], vec![BIG])
        );
        assert_eq!((old.len(), new.len()), (1, 2));
    }
}

/// A writer that takes a decided cell out of its slot retires the side that lost, which nobody else will.
#[test]
fn who_replaces_a_decided_cell_retires_what_lost() {
    let data = table(TableType::Set, &[]);
    let blob = Blob::from(vec![7; 1000]);
    let old = Term::tuple(vec![Term::Int(1), Term::Binary(blob.clone())]);
    let new = record_of(&old, 1).expect("a record");
    data.insert_one(new, &Writer::plain(&pin()));
    drop(old);
    let held = pin();
    let List::Several(work) = data.list(vec![record(1, BIG), record(2, BIG)], false, false) else {
        panic!("two keys");
    };
    let HalfWay {
        data,
        work,
        commit,
        pin,
        ..
    } = HalfWay::of(data, work, Vec::new(), held);
    assert!(commit.seal());
    data.commits.log.append(&commit, &pin);
    data.insert_one(record(1, 5), &Writer::plain(&pin));
    data.unfold(&work.keys, commit.part(0), &Writer::plain(&pin));
    // SAFETY: out of the slots now.
    unsafe { commit.finish(&pin) };
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
    assert!(half.commit.seal());
    let decided = AtomicBool::new(false);
    thread::scope(|s| {
        let writer = s.spawn(|| {
            half.data.insert_one(record(2, 3), &Writer::plain(&pin()));
            assert!(decided.load(Ordering::SeqCst));
        });
        thread::sleep(Duration::from_millis(30));
        decided.store(true, Ordering::SeqCst);
        half.data.commits.log.append(&half.commit, &half.pin);
        writer.join().expect("the writer ends");
    });
    assert_eq!(half.values(2), [2, 3]);
    let HalfWay {
        data,
        work,
        commit,
        pin,
        ..
    } = half;
    data.unfold(&work.keys, commit.part(0), &Writer::plain(&pin));
    // SAFETY: out of the slots now.
    unsafe { commit.finish(&pin) };
}
