//! Snapshots against copies of a model, on every index.
#![allow(missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use common::{int, tuple};
use fyris::{Error, MatchSpec, Object, Options, Snapshot, Store, Table, TableType, Term};
use fyris_term::key::KeyBuf;
use rand::prelude::*;

/// The values of each key, in insertion order.
type Model = BTreeMap<i64, Vec<i64>>;

const KEYS: i64 = 12;
const VALUES: i64 = 30;

/// Keys and values of which some are inline and some are not.
fn key(k: i64) -> Term {
    match k % 3 {
        0 => int(k),
        1 => int(k << 50),
        _ => tuple([Term::atom("key"), int(k)]),
    }
}

fn object(k: i64, v: i64) -> Term {
    let value = match v % 3 {
        0 => int(v),
        1 => Term::from(format!("a value of some length, {v}").as_str()),
        _ => tuple([int(v), int(v)]),
    };
    tuple([key(k), value])
}

fn objects(model: &Model) -> Vec<Term> {
    let pairs = model
        .iter()
        .flat_map(|(&k, values)| values.iter().map(move |&v| (k, v)));
    pairs.map(|(k, v)| object(k, v)).collect()
}

/// Checks that everything that reads answers as the model does.
fn check(table: &Table, model: &Model) {
    let sorted = |mut terms: Vec<Term>| {
        terms.sort_by(|a, b| a.cmp_order(b));
        terms
    };
    let all = sorted(objects(model));
    assert_eq!(sorted(table.tab2list().expect("reads")), all);
    assert_eq!(table.len(), all.len());
    for k in 0..KEYS {
        let here: Vec<Term> = match model.get(&k) {
            Some(values) => values.iter().map(|&v| object(k, v)).collect(),
            None => Vec::new(),
        };
        assert_eq!(table.lookup(&key(k)).expect("reads"), here);
        assert_eq!(table.member(&key(k)).expect("reads"), !here.is_empty());
    }
    let spec = MatchSpec::new(&Term::parse("[{'_',[],['$_']}]").expect("a term"));
    let selected = table.select(&spec.expect("a specification"));
    assert_eq!(sorted(selected.expect("reads")), all);
    let iterated: Result<Vec<_>, _> = table.iter_back().collect();
    assert_eq!(sorted(iterated.expect("reads")), all);
    walk(table, model);
}

fn walk(table: &Table, model: &Model) {
    let (mut at, mut keys) = (table.first().expect("reads"), Vec::new());
    while let Some(key) = at {
        at = table.next(&key).expect("reads");
        keys.push(key);
    }
    if table.table_type() != TableType::OrderedSet {
        keys.sort_by(|a, b| a.cmp_order(b));
    }
    let mut wanted: Vec<Term> = model.keys().map(|&k| key(k)).collect();
    wanted.sort_by(|a, b| a.cmp_order(b));
    assert_eq!(keys, wanted);
    if table.table_type() == TableType::OrderedSet {
        let slots = (0..).map_while(|slot| table.slot(slot).expect("reads"));
        assert_eq!(slots.flatten().count(), table.len());
    }
    // Where the index counts.
    if table.nth(0).is_ok() {
        let nth = |n| table.nth(n).expect("it counts");
        let counted: Vec<Term> = (0..).map_while(nth).collect();
        assert_eq!(counted, wanted);
        assert_eq!(table.count_between(&(..)), Ok(wanted.len()));
    }
}

/// Returns tables of every type, on all indexes.
fn tables(store: &Store) -> Vec<Table> {
    let owner = store.owner();
    let kinds = [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
    ];
    let mut tables: Vec<Table> = Vec::new();
    for kind in kinds {
        tables.extend(owner.new_table("t", &kind.clone().public()));
        for index in store.index_names() {
            tables.extend(owner.new_table("t", &kind.clone().public().index(index)));
        }
    }
    std::mem::forget(owner);
    tables
}

/// Puts an object into the model as `insert` does.
fn put(model: &mut Model, kind: TableType, k: i64, v: i64) {
    let values = model.entry(k).or_default();
    match kind {
        TableType::Bag if values.contains(&v) => {}
        TableType::Bag | TableType::DuplicateBag => values.push(v),
        _ => *values = vec![v],
    }
}

fn remove_values(model: &mut Model, goes: impl Fn(i64, i64) -> bool) {
    for (&k, values) in model.iter_mut() {
        values.retain(|&v| !goes(k, v));
    }
    model.retain(|_, values| !values.is_empty());
}

fn write(table: &Table, model: &mut Model, rng: &mut impl Rng) {
    let (k, v) = (rng.random_range(0..KEYS), rng.random_range(0..VALUES));
    match rng.random_range(0..13) {
        0..4 => {
            table.insert(&object(k, v)).expect("inserts");
            put(model, table.table_type(), k, v);
        }
        4 => {
            let new = table.insert_new(&object(k, v)).expect("inserts");
            assert_eq!(new, !model.contains_key(&k));
            model.entry(k).or_insert(vec![v]);
        }
        5 => {
            table.delete_key(&key(k)).expect("deletes");
            model.remove(&k);
        }
        6 | 7 => {
            table.delete_object(&object(k, v)).expect("deletes");
            remove_values(model, |key, value| (key, value) == (k, v));
        }
        8 => {
            table.take(&key(k)).expect("takes");
            model.remove(&k);
        }
        9 | 10 => {
            let keys: Vec<i64> = (0..KEYS).filter(|_| rng.random_bool(0.3)).collect();
            let list: Vec<Term> = keys.iter().map(|&k| object(k, v)).collect();
            table.insert_list(&list).expect("inserts");
            for k in keys {
                put(model, table.table_type(), k, v);
            }
        }
        11 if rng.random_bool(0.1) => {
            table.delete_all_objects().expect("empties");
            model.clear();
        }
        _ => {
            let spec = "[{{'_','$1'},[{is_tuple,'$1'}],[true]}]";
            let spec = MatchSpec::new(&Term::parse(spec).expect("a term"));
            table
                .select_delete(&spec.expect("a specification"))
                .expect("deletes");
            remove_values(model, |_, value| value % 3 == 2);
        }
    }
}

#[test]
fn snapshots_answer_as_copies() {
    let store = common::store();
    for (seed, table) in tables(&store).into_iter().enumerate() {
        let mut rng = SmallRng::seed_from_u64(seed as u64);
        let (mut model, mut taken) = (Model::new(), Vec::<(Snapshot, Model)>::new());
        for _ in 0..1500 {
            match rng.random_range(0..20) {
                0 if taken.len() < 6 => {
                    taken.push((table.snapshot().expect("a snapshot"), model.clone()));
                }
                1 if !taken.is_empty() => {
                    let (snapshot, model) = taken.swap_remove(rng.random_range(0..taken.len()));
                    check(&snapshot, &model);
                }
                2 => check(&table, &model),
                3 if !taken.is_empty() => {
                    let (snapshot, model) = &taken[rng.random_range(0..taken.len())];
                    check(snapshot, model);
                }
                _ => write(&table, &mut model, &mut rng),
            }
        }
        table.delete().expect("deletes");
        for (snapshot, model) in &taken {
            check(snapshot, model);
        }
    }
}

#[test]
fn a_snapshot_is_read_only_and_ends() {
    let owner = Store::new().owner();
    let table = owner
        .new_table("t", &Options::set().public())
        .expect("a table");
    table.insert(&object(0, 0)).expect("inserts");
    let snapshot = table.snapshot().expect("a snapshot");
    assert_eq!(snapshot.insert(&object(1, 1)), Err(Error::ReadOnly));
    assert_eq!(snapshot.delete(), Err(Error::ReadOnly));
    assert!(matches!(snapshot.snapshot(), Err(Error::ReadOnly)));
    let handle = Table::clone(&snapshot);
    snapshot.release();
    assert_eq!(handle.lookup(&key(0)), Err(Error::Released));
    assert_eq!(handle.tab2list(), Err(Error::Released));
    assert_eq!(table.len(), 1);
}

/// The first snapshot of a table comes after a write that has not seen that the table is versioned.
#[test]
fn the_first_snapshot_waits_for_the_write_under_way() {
    let owner = Store::new().owner();
    let table = owner.new_table("t", &Options::set()).expect("a table");
    table.insert(&object(0, 0)).expect("inserts");
    let (begun, released) = (Barrier::new(2), Barrier::new(2));
    let slow = |_: Object<'_>| {
        begun.wait();
        released.wait();
        true
    };
    std::thread::scope(|s| {
        let writer = s.spawn(|| table.delete_of_key(&KeyBuf::from_int(0), &[], slow));
        begun.wait();
        let taker = s.spawn(|| {
            let snapshot = table.snapshot().expect("a snapshot");
            (snapshot.lookup(&key(0)).expect("reads"), snapshot)
        });
        std::thread::sleep(Duration::from_millis(30));
        released.wait();
        assert_eq!(writer.join().expect("deletes"), Ok(1));
        let (seen, snapshot) = taker.join().expect("reads");
        assert_eq!(snapshot.lookup(&key(0)), Ok(seen));
    });
}

/// Transfers by list inserts over three tables, by several threads: every snapshot sums to the same, and has what was
/// written before.
#[test]
fn every_snapshot_sums_to_the_same() {
    const ACCOUNTS: i64 = 30;
    let store = common::store();
    let owner = store.owner();
    let options = [
        Options::set(),
        Options::ordered_set(),
        Options::ordered_set().index("ca_avl"),
    ];
    let tables = options.map(|o| owner.new_table("t", &o.public()).expect("a table"));
    let account = |n: i64, money: i64| tuple([int(n), int(money << 40)]);
    for table in &tables {
        for n in 0..ACCOUNTS {
            table.insert(&account(n, 100)).expect("inserts");
        }
    }
    let (over, turn) = (AtomicBool::new(false), std::sync::Mutex::new(()));
    let money = |table: &Table, n: i64| match &table.lookup(&int(n)).expect("reads")[0] {
        Term::Tuple(elements) => match elements[1] {
            Term::Int(money) => money >> 40,
            _ => panic!(),
        },
        _ => panic!(),
    };
    std::thread::scope(|s| {
        for thread in 0..2 {
            let (tables, over, turn) = (&tables, &over, &turn);
            s.spawn(move || {
                let mut rng = SmallRng::seed_from_u64(thread);
                while !over.load(Ordering::Relaxed) {
                    let table = &tables[rng.random_range(0..3)];
                    let (a, b) = (rng.random_range(0..ACCOUNTS), rng.random_range(0..ACCOUNTS));
                    if a == b {
                        continue;
                    }
                    let _turn = turn.lock().unwrap();
                    let (x, y) = (money(table, a), money(table, b));
                    table
                        .insert_list(&[account(a, x - 1), account(b, y + 1)])
                        .expect("inserts");
                }
            });
        }
        let handles: Vec<&Table> = tables.iter().collect();
        for round in 0..300 {
            tables[0]
                .insert(&tuple([Term::atom("round"), int(round)]))
                .expect("inserts");
            let taken = store.snapshots(&handles).expect("snapshots");
            let round_seen = taken[0].lookup(&Term::atom("round")).expect("reads");
            assert_eq!(round_seen, [tuple([Term::atom("round"), int(round)])]);
            let sum: i64 = taken
                .iter()
                .flat_map(|table| (0..ACCOUNTS).map(move |n| money(table, n)))
                .sum();
            assert_eq!(sum, 3 * ACCOUNTS * 100);
        }
        over.store(true, Ordering::Relaxed);
    });
}

/// Returns what `info(T, snapshots)` says of an item.
fn info(table: &Table, item: &str) -> Term {
    match table.info_item("snapshots") {
        Ok(Some(fyris::InfoValue::Term(Term::Map(map)))) => {
            let of_item = map.iter().find(|(key, _)| **key == Term::atom(item));
            of_item.expect("an item").1.clone()
        }
        other => panic!("{other:?}"),
    }
}

/// What is retained is at most a version an object, whatever the number of writes, and goes with the last snapshot that
/// sees it; then all memory is as before.
#[test]
fn little_is_retained_and_all_of_it_goes() {
    const COUNT: i64 = 1000;
    let store = common::store();
    for table in tables(&store) {
        let fill = |round: i64| {
            for k in 0..COUNT {
                // In a bag each round changes all objects.
                if table.table_type().is_bag() {
                    table.delete_key(&key(k)).expect("deletes");
                }
                table.insert(&object(k, round * 3 + 1)).expect("inserts");
            }
        };
        fill(0);
        store.collect();
        let before = table.memory_by_kind().objects;
        let first = table.snapshot().expect("a snapshot");
        (1..4).for_each(fill);
        assert_eq!(info(&table, "retained"), int(COUNT));
        // As much as the objects had, a cell of 32 bytes over each, and its place in a list.
        let bytes = info(&table, "bytes").as_int().expect("an integer") - 40 * COUNT;
        assert!(
            table.table_type().is_bag() || bytes == before as i64,
            "{bytes}"
        );
        let second = table.snapshot().expect("a snapshot");
        (4..6).for_each(fill);
        assert_eq!(info(&table, "alive"), int(2));
        first.release();
        store.collect();
        assert_eq!(info(&table, "retained"), int(COUNT));
        assert_eq!(second.lookup(&key(7)).expect("reads"), [object(7, 10)]);
        drop(second);
        store.collect();
        assert_eq!(info(&table, "retained"), int(0));
        assert_eq!(info(&table, "bytes"), int(0));
        fill(0);
        assert_eq!(table.memory_by_kind().objects, before);
        let third = table.snapshot().expect("a snapshot");
        table.delete_all_objects().expect("deletes");
        assert_eq!(info(&table, "bytes"), int(0));
        assert!(info(&third, "bytes").as_int() >= Some(before as i64));
        table.delete().expect("deletes");
        assert!(info(&third, "bytes").as_int() >= Some(before as i64));
    }
}

/// A key that goes and comes again and again retains what a snapshot sees of it.
#[test]
fn a_key_that_goes_and_comes_retains_what_it_was() {
    let store = common::store();
    for table in tables(&store) {
        table.insert(&object(1, 0)).expect("inserts");
        let snapshot = table.snapshot().expect("a snapshot");
        for v in 1..100 {
            table.delete_key(&key(1)).expect("deletes");
            table.insert(&object(1, v)).expect("inserts");
        }
        let retained = info(&table, "retained").as_int().expect("an integer");
        assert!(retained <= 2, "{retained}: {:?}", table.info());
        assert_eq!(snapshot.tab2list(), Ok(vec![object(1, 0)]));
        drop(snapshot);
        store.collect();
        assert_eq!(info(&table, "retained"), int(0));
        table.delete().expect("deletes");
    }
}

/// Inline objects that `delete_object` takes out are kept as they are: a record that is made of one to look at lasts no
/// longer than the call. The deletions of what is not there let the memory of such records be used again.
#[test]
fn deleted_inline_objects_outlive_their_call() {
    const COUNT: i64 = 1000;
    let store = common::store();
    let owner = store.owner();
    let table = owner.new_table("t", &Options::ordered_set());
    let table = table.expect("a table");
    let pair = |k: i64| tuple([int(k), int(k)]);
    (0..COUNT).for_each(|k| table.insert(&pair(k)).expect("inserts"));
    let snapshot = table.snapshot().expect("a snapshot");
    (0..COUNT).for_each(|k| table.delete_object(&pair(k)).expect("deletes"));
    for k in 0..30 * COUNT {
        table.delete_object(&pair(COUNT + k)).expect("deletes");
    }
    assert_eq!(snapshot.len(), COUNT as usize);
    drop(snapshot);
    store.collect();
    assert_eq!(info(&table, "retained"), int(0));
    // Not even an empty entry is left.
    assert_eq!(table.slot(0).expect("reads"), None);
}

/// For calls that take snapshots one after another.
#[test]
fn a_table_stays_versioned_for_a_moment() {
    let store = common::store();
    let owner = store.owner();
    let table = owner.new_table("t", &Options::set()).expect("a table");
    drop(table.snapshot().expect("a snapshot"));
    table.insert(&tuple([int(1)])).expect("inserts");
    assert_eq!(info(&table, "versioned"), Term::atom("true"));
    std::thread::sleep(Duration::from_millis(150));
    table.insert(&tuple([int(2)])).expect("inserts");
    assert_eq!(info(&table, "versioned"), Term::atom("false"));
    assert_eq!(table.len(), 2);
    // The next one begins as the first one did, and while it lives nothing ends that.
    let snapshot = table.snapshot().expect("a snapshot");
    std::thread::sleep(Duration::from_millis(150));
    for k in 1..=3 {
        table.insert(&tuple([int(k), int(k)])).expect("inserts");
        assert_eq!(info(&table, "versioned"), Term::atom("true"));
    }
    let before: Vec<_> = (1..=3)
        .map(|k| snapshot.lookup(&int(k)).expect("reads"))
        .collect();
    assert_eq!(
        before,
        [vec![tuple([int(1)])], vec![tuple([int(2)])], vec![]]
    );
}

/// Returns the values in the order of keys.
fn rounds(objects: Vec<Term>) -> Vec<i64> {
    let mut pairs: Vec<(i64, i64)> = objects
        .iter()
        .map(|object| {
            let part = |at: usize| match object {
                Term::Tuple(parts) => parts[at].as_int().expect("an integer"),
                other => panic!("{other:?}"),
            };
            (part(0), part(1))
        })
        .collect();
    pairs.sort_unstable();
    pairs.into_iter().map(|(_, round)| round).collect()
}

/// A writer goes round the keys in their order and puts the number of the round in each. So at one moment those up to
/// some key are of one round, and those behind of the round before; two moments show keys of a later round behind.
#[test]
fn calls_of_many_objects_show_one_moment() {
    const COUNT: i64 = 2000;
    let store = common::store();
    for table in tables(&store) {
        if table.table_type().is_bag() {
            table.delete().expect("deletes");
            continue;
        }
        let put = |round: i64| {
            (0..COUNT).for_each(|k| table.insert(&tuple([int(k), int(round)])).expect("inserts"));
        };
        put(0);
        let over = AtomicBool::new(false);
        let all = MatchSpec::new(&Term::parse("[{'_',[],['$_']}]").expect("a term"));
        let all = all.expect("a specification");
        let file = std::env::temp_dir().join(format!("fyris-moment-{}", std::process::id()));
        let reads: [(&str, &dyn Fn() -> Vec<Term>); 7] = [
            ("tab2list", &|| table.tab2list().expect("reads")),
            ("select", &|| table.select(&all).expect("reads")),
            ("iter", &|| {
                table.iter().collect::<Result<_, _>>().expect("reads")
            }),
            ("foldl", &|| {
                let add = |object, mut list: Vec<Term>| {
                    list.push(object);
                    list
                };
                table.foldl(Vec::new(), add).expect("reads")
            }),
            ("steps", &|| {
                let mut query = table.query(&all);
                while query.step(300).expect("reads") {}
                query.take()
            }),
            ("threads", &|| {
                let mut query = table.query(&all).threads(2);
                query.run().expect("reads");
                query.take()
            }),
            ("dump", &|| {
                table.tab2file(&file, &Default::default()).expect("saves");
                let (owner, options) = (store.owner(), fyris::dump::LoadOptions::verified());
                let loaded = owner.file2tab(&file, &options).expect("loads");
                loaded.table.tab2list().expect("reads")
            }),
        ];
        let faults: Vec<String> = std::thread::scope(|scope| {
            scope.spawn(|| {
                (1..)
                    .take_while(|_| !over.load(Ordering::Relaxed))
                    .for_each(put)
            });
            let reads = reads.iter().cycle().take(7 * 10);
            let faults = reads.filter_map(|(name, read)| {
                let rounds = rounds(read());
                let (first, last) = (rounds.first(), rounds.last());
                let is_moment = rounds.is_sorted_by(|a, b| a >= b)
                    && last.map(|last| last + 1) >= first.copied();
                let is_whole = rounds.len() == COUNT as usize;
                (!is_moment || !is_whole).then(|| format!("{name}: {rounds:?}"))
            });
            let faults = faults.collect();
            over.store(true, Ordering::Relaxed);
            faults
        });
        assert!(faults.is_empty(), "{:?}: {}", table.info(), faults[0]);
        let _ = std::fs::remove_file(&file);
        table.delete().expect("deletes");
    }
}

/// Returns the keys of an ordered table in several ways, which must be the same.
fn keys_in_all_ways(table: &Table) -> Vec<Term> {
    let key = |object: Term| match object {
        Term::Tuple(parts) => parts[0].clone(),
        other => panic!("{other:?}"),
    };
    let list = table.tab2list().expect("reads").into_iter().map(key);
    let keys: Vec<Term> = list.collect();
    let step = |step: fn(&Table, &Term) -> fyris::Result<Option<Term>>, from| {
        let next = |at: &Term| step(table, at).expect("reads");
        std::iter::successors(from, next).collect::<Vec<_>>()
    };
    let first = table.first().expect("reads");
    assert_eq!(step(|table, key| table.next(key), first), keys);
    let last = table.last().expect("reads");
    let mut back = step(|table, key| table.prev(key), last);
    back.reverse();
    assert_eq!(back, keys);
    let back: fyris::Result<Vec<Term>> = table.iter_back().collect();
    let mut back: Vec<Term> = back.expect("reads").into_iter().map(key).collect();
    back.reverse();
    assert_eq!(back, keys);
    assert!(keys.iter().all(|key| table.member(key).expect("reads")));
    keys
}

/// Moves a queue on, as far as it is let, until it is told to stop, beside keys below it that go and come again. Returns
/// by how much.
fn move_on(table: &Table, length: i64, far: &AtomicI64, over: &AtomicBool) -> i64 {
    let put = |k: i64| table.insert(&tuple([int(k), int(k)])).expect("inserts");
    let mut rng = rand::rng();
    let moving = |at: &i64| {
        while far.load(Ordering::Relaxed) <= *at && !over.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        !over.load(Ordering::Relaxed)
    };
    let moves = (0..).take_while(moving).map(|at| {
        let blinking = -1 - rng.random_range(0..5);
        if table.take(&int(blinking)).expect("takes").is_empty() {
            put(blinking);
        }
        put(at + length);
        table.delete_key(&int(at)).expect("deletes");
    });
    moves.count() as i64
}

/// Checks that what a snapshot shows of a moving queue is of one moment, and stays. Returns its keys.
fn check_queue(snapshot: &Snapshot, length: i64) -> Vec<Term> {
    let keys = keys_in_all_ways(snapshot);
    let queue = keys.iter().filter_map(Term::as_int).filter(|&k| k >= 0);
    let queue: Vec<i64> = queue.collect();
    assert!(queue.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert!((length..=length + 1).contains(&(queue.len() as i64)));
    assert_eq!(keys_in_all_ways(snapshot), keys);
    keys
}

/// Checks that a table with one key is as if there were no snapshots.
fn check_single(table: &Table, key: &Term) {
    let slot = table.slot(0).expect("reads");
    assert_eq!((table.len(), slot.map_or(0, |slot| slot.len())), (1, 1));
    assert_eq!(table.first(), Ok(Some(key.clone())));
    if table.nth(0).is_ok() {
        assert_eq!(table.nth(0), Ok(Some(key.clone())));
        assert_eq!(
            (table.rank(key), table.count_between(&(..))),
            (Ok(0), Ok(1))
        );
    }
}

/// Keys go from the front of a queue and come at its end, and others go and come again. A snapshot shows one moment of
/// that in whatever way it is read, and what has gone is in nobody's way.
#[test]
fn deleted_keys_are_seen_by_snapshots_alone() {
    const LENGTH: i64 = 300;
    let store = common::store();
    for table in tables(&store) {
        if table.table_type() != TableType::OrderedSet {
            table.delete().expect("deletes");
            continue;
        }
        let objects = (0..LENGTH).map(|k| tuple([int(k), int(k)]));
        table.insert_many(objects).expect("inserts");
        // A tree of tiny leaves keeps those that are empty, and each step would go over all that were left behind.
        let (far, over) = (AtomicI64::new(1), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(move_on(&table, LENGTH, &far, &over) > 0));
            let read = || {
                let mut older: Option<(Snapshot, Vec<Term>)> = None;
                for round in 0..40 {
                    far.fetch_add(2 * LENGTH, Ordering::Relaxed);
                    let snapshot = table.snapshot().expect("reads");
                    let keys = check_queue(&snapshot, LENGTH);
                    if let Some((older, keys)) = &older {
                        assert_eq!(keys_in_all_ways(older), *keys);
                    }
                    if round % 3 == 0 {
                        older = Some((snapshot, keys));
                    }
                }
            };
            let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
            over.store(true, Ordering::Relaxed);
            read.expect("it holds");
        });
        let kept = table.snapshot().expect("reads");
        let keys = check_queue(&kept, LENGTH);
        let (last, gone) = keys.split_last().expect("it has keys");
        for key in gone {
            table.delete_key(key).expect("deletes");
        }
        check_single(&table, last);
        assert_eq!(check_queue(&kept, LENGTH), keys);
        let all = table.snapshot().expect("reads");
        table.delete_key(last).expect("deletes");
        table
            .insert(&tuple([int(LENGTH / 2), int(0)]))
            .expect("inserts");
        assert_eq!(check_queue(&kept, LENGTH), keys);
        assert_eq!(keys_in_all_ways(&all), std::slice::from_ref(last));
        table.delete_all_objects().expect("deletes");
        table
            .insert(&tuple([last.clone(), int(0)]))
            .expect("inserts");
        kept.release();
        store.collect();
        assert_eq!(keys_in_all_ways(&table), std::slice::from_ref(last));
        check_single(&table, last);
        table.delete().expect("deletes");
    }
}

#[test]
fn what_reads_a_snapshot_lets_it_go_at_its_end() {
    let store = common::store();
    let owner = store.owner();
    let table = owner.new_table("t", &Options::ordered_set());
    let table = table.expect("a table");
    let alive = || info(&table, "alive").as_int();
    (0..2000).for_each(|k| table.insert(&tuple([int(k)])).expect("inserts"));
    let mut iter = table.iter();
    assert!(iter.next().is_some());
    assert_eq!(alive(), Some(1));
    assert_eq!(iter.by_ref().count(), 1999);
    assert_eq!(alive(), Some(0));
    assert!(iter.next().is_none());
    let all = MatchSpec::new(&Term::parse("[{'_',[],['$_']}]").expect("a term"));
    let mut query = table.query(&all.expect("a specification"));
    query.step(1).expect("reads");
    assert_eq!(alive(), Some(1));
    // Chunks are of the same moment, and those behind the last of a step as well.
    let chunk = fyris::Continuation::before(query, 10).expect("a continuation");
    let mut chunk = chunk.next().expect("reads");
    let mut found = chunk.results;
    while let Some(next) = chunk.next {
        table.insert(&tuple([int(1000), int(1)])).expect("inserts");
        table.delete_key(&int(1999)).expect("deletes");
        chunk = next.next().expect("reads");
        found.extend(chunk.results);
    }
    let whole: Vec<Term> = (0..2000).map(|k| tuple([int(k)])).collect();
    assert!(whole.ends_with(&found) && found.len() > 1000);
    assert_eq!(alive(), Some(0));
    // While nothing is written calls share a snapshot; releasing it is for none of them.
    let mut iters = [table.iter(), table.iter()];
    assert!(iters.iter_mut().all(|iter| iter.next().is_some()));
    let shared = table.for_steps().expect("reads");
    shared.as_snapshot().expect("it is one").release();
    assert_eq!(alive(), Some(1));
    table.insert(&tuple([int(-1)])).expect("inserts");
    let newer = table.for_steps().expect("reads");
    assert_eq!((alive(), newer.len()), (Some(2), shared.len() + 1));
    table.delete_all_objects().expect("empties");
    assert!(table.for_steps().expect("reads").is_empty());
    assert!(
        iters
            .into_iter()
            .all(|iter| iter.count() == shared.len() - 1)
    );
    drop((shared, newer));
    assert_eq!(alive(), Some(0));
    // Few objects are read at once.
    table.delete_all_objects().expect("empties");
    table.insert(&tuple([int(1)])).expect("inserts");
    let mut iter = table.iter();
    assert!(iter.next().is_some());
    table.delete().expect("deletes");
    assert!(iter.next().is_none());
}

/// A writer keeps neighbouring keys, of which there are about as many as a call reads of the live table. More than that
/// many are a stretch without gaps, however the table grows while the call looks.
#[test]
fn what_turns_out_to_be_many_is_of_one_moment() {
    let few = if cfg!(fyris_small) { 4 } else { 512 };
    let store = common::store();
    let owner = store.owner();
    for kind in [TableType::Set, TableType::DuplicateBag] {
        let table = owner.new_table("t", &Options::new(kind));
        let table = table.expect("a table");
        let over = AtomicBool::new(false);
        let found: Vec<Vec<i64>> = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut from, mut to) = (0, 0);
                while !over.load(Ordering::Relaxed) {
                    while to - from < few + 20 {
                        let _ = table.insert(&tuple([int(to), int(0)]));
                        to += 1;
                    }
                    while to - from > (few - 20).max(1) {
                        let _ = table.delete_key(&from);
                        from += 1;
                    }
                }
            });
            let lists = (0..4000).map(|_| table.tab2list().unwrap_or_default());
            let keys = lists.map(|list| {
                let keys = list
                    .iter()
                    .map(|object| object.as_tuple().and_then(|t| t[0].as_int()));
                let mut keys: Vec<i64> = keys.flatten().collect();
                keys.sort_unstable();
                keys
            });
            let found = keys.filter(|keys| keys.len() as i64 > few).collect();
            over.store(true, Ordering::Relaxed);
            found
        });
        for keys in found {
            assert!(keys.windows(2).all(|two| two[0] + 1 == two[1]), "{keys:?}");
        }
        table.delete().expect("deletes");
    }
}
