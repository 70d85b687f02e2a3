//! Ranges, prefixes, and the verbs that take objects out or change them if.

mod common;

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::atomic::{self, AtomicUsize};
use std::thread;

use common::{float, int, tuple};
use fyris::{
    Continuation, Cursor, Error, MatchSpec, Object, Options, Owner, Prefix, Query, RangeOptions,
    Store, Table, TableType,
};
use fyris_term::{Term, arbitrary};
use proptest::prelude::*;

fn owner() -> Owner {
    Store::new().owner()
}

fn ordered(owner: &Owner) -> Table {
    let options = Options::ordered_set().public();
    owner.new_table("t", &options).expect("a new table")
}

/// Returns keys as they are in an `ordered_set`: sorted, and one of those that are `==`.
fn sorted(mut keys: Vec<Term>) -> Vec<Term> {
    keys.sort_by(Term::cmp_order);
    keys.dedup_by(|a, b| a.eq_order(b));
    keys
}

fn filled(owner: &Owner, keys: &[Term]) -> Table {
    let table = ordered(owner);
    for key in keys {
        table.insert(&tuple([key.clone(), int(1)])).expect("fits");
    }
    table
}

fn is_within((from, to): (Bound<&Term>, Bound<&Term>), key: &Term) -> bool {
    let above = match from {
        Included(from) => key.cmp_order(from) != Ordering::Less,
        Excluded(from) => key.cmp_order(from) == Ordering::Greater,
        Unbounded => true,
    };
    above
        && match to {
            Included(to) => key.cmp_order(to) != Ordering::Greater,
            Excluded(to) => key.cmp_order(to) == Ordering::Less,
            Unbounded => true,
        }
}

fn bound() -> impl Strategy<Value = Bound<Term>> {
    prop_oneof![
        1 => Just(Unbounded),
        3 => arbitrary::plain_term().prop_map(Included),
        3 => arbitrary::plain_term().prop_map(Excluded),
    ]
}

/// Returns whether a key begins with a prefix, without using bytes.
fn begins(prefix: &Prefix, key: &Term) -> bool {
    let alike =
        |a: &[Term], b: &[Term]| a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| a.eq_order(b));
    match (prefix, key) {
        (Prefix::Tuple { elements, arity }, Term::Tuple(of)) => {
            of.len() == *arity && alike(elements, of)
        }
        (Prefix::List(elements), Term::List(of)) => !of.is_empty() && alike(elements, of),
        (Prefix::List(elements), Term::Improper(of, _)) => alike(elements, of),
        (Prefix::Binary(bytes), Term::Binary(of)) => of.starts_with(bytes),
        (Prefix::Binary(bytes), Term::Bits(of)) => {
            of.bytes()[..of.bytes().len() - 1].starts_with(bytes)
        }
        _ => false,
    }
}

/// Returns a prefix of a term, if the term has any.
fn prefix_of(term: &Term, at: usize) -> Option<Prefix> {
    Some(match term {
        Term::Tuple(elements) => Prefix::Tuple {
            elements: elements[..at % (elements.len() + 1)].to_vec(),
            arity: elements.len(),
        },
        Term::List(elements) | Term::Improper(elements, _) => {
            Prefix::List(elements[..at % (elements.len() + 1)].to_vec())
        }
        Term::Binary(bytes) => Prefix::Binary(bytes[..at % (bytes.len() + 1)].to_vec()),
        Term::Bits(bits) => Prefix::Binary(bits.bytes().to_vec()),
        _ => return None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_range_is_what_lies_between(
        keys in proptest::collection::vec(arbitrary::plain_term(), 0..60),
        from in bound(),
        to in bound(),
        limit in prop_oneof![Just(usize::MAX), 0usize..6],
    ) {
        let (owner, keys) = (owner(), sorted(keys));
        let table = filled(&owner, &keys);
        let range = (from.as_ref(), to.as_ref());
        let mut want: Vec<_> = keys.iter().filter(|k| is_within(range, k)).cloned().collect();
        let options = RangeOptions::new().limit(limit).keys_only();
        let found = table.range(range, options).unwrap();
        prop_assert!(same(&found, &want[..limit.min(want.len())]), "{found:?} {want:?}");
        let back = table.range(range, options.reverse()).unwrap();
        want.reverse();
        prop_assert!(same(&back, &want[..limit.min(want.len())]));
        let taken = table.take_range(range, options).unwrap();
        prop_assert!(same(&taken, &found), "what is first is taken first");
        prop_assert_eq!(table.delete_range(range).unwrap(), want.len() - taken.len());
        let left: Vec<_> = keys.iter().filter(|k| !is_within(range, k)).cloned().collect();
        prop_assert!(same(&table.range(.., RangeOptions::new().keys_only()).unwrap(), &left));
    }

    #[test]
    fn a_prefix_is_what_begins_so(
        keys in proptest::collection::vec(arbitrary::plain_term(), 1..60),
        which in any::<prop::sample::Index>(),
        at in any::<usize>(),
        other in any::<bool>(),
    ) {
        let from = which.get(&keys).clone();
        let (owner, keys) = (owner(), sorted(keys));
        let table = filled(&owner, &keys);
        let mut prefixes: Vec<_> = prefix_of(&from, at).into_iter().collect();
        if other {
            prefixes.push(Prefix::Tuple { elements: vec![from.clone()], arity: 2 });
            prefixes.push(Prefix::List(vec![from]));
        }
        for prefix in prefixes {
            let found = table.prefix(&prefix, RangeOptions::new().keys_only()).unwrap();
            let want: Vec<_> = keys.iter().filter(|k| begins(&prefix, k)).cloned().collect();
            prop_assert!(same(&found, &want), "{prefix:?}: {found:?} {want:?}");
        }
    }

    #[test]
    fn the_nearest_is_found(
        keys in proptest::collection::vec(arbitrary::plain_term(), 0..40),
        near in arbitrary::plain_term(),
    ) {
        let (owner, keys) = (owner(), sorted(keys));
        let table = filled(&owner, &keys);
        let above = keys.iter().find(|k| k.cmp_order(&near) != Ordering::Less);
        let below = keys.iter().rfind(|k| k.cmp_order(&near) != Ordering::Greater);
        let key = |object: Option<Term>| object.and_then(|o| common::key_of(&o, 1));
        prop_assert!(key(table.seek(&near).unwrap()).as_ref().is_none_or(|k| above.is_some_and(|a| a.eq_order(k))));
        prop_assert!(key(table.seek_back(&near).unwrap()).as_ref().is_none_or(|k| below.is_some_and(|b| b.eq_order(k))));
        prop_assert_eq!(table.seek(&near).unwrap().is_some(), above.is_some());
        prop_assert_eq!(table.seek_back(&near).unwrap().is_some(), below.is_some());
    }
}

fn same(a: &[Term], b: &[Term]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.eq_order(b))
}

#[test]
fn prefixes_of_binaries_at_the_edges() {
    let owner = owner();
    let bits = |bytes: &[u8], n| Term::bits(bytes, n).expect("bits");
    let keys = sorted(vec![
        Term::binary(*b""),
        Term::binary(*b"\0"),
        Term::binary(*b"\0\0"),
        Term::binary(*b"\0\xFF"),
        Term::binary(*b"a"),
        Term::binary(*b"a\xFF"),
        Term::binary(*b"a\xFF\xFF"),
        Term::binary(*b"a\xFF\xFFb"),
        Term::binary(*b"b"),
        Term::binary(*b"\xFF"),
        Term::binary(*b"\xFF\xFF"),
        bits(b"\0", 3),
        bits(b"\0\0", 9),
        bits(b"a\xFE", 15),
        bits(b"`", 7),
        bits(b"\xFE", 7),
    ]);
    let table = filled(&owner, &keys);
    for bytes in [
        &b""[..],
        b"\0",
        b"\0\0",
        b"a",
        b"a\xFF",
        b"a\xFF\xFF",
        b"\xFF",
        b"`",
        b"\xFE",
    ] {
        let prefix = Prefix::Binary(bytes.to_vec());
        let found = table
            .prefix(&prefix, RangeOptions::new().keys_only())
            .unwrap();
        let mut want: Vec<_> = keys
            .iter()
            .filter(|k| begins(&prefix, k))
            .cloned()
            .collect();
        if bytes.is_empty() {
            want = keys.clone();
        }
        assert_eq!(found, want, "{bytes:?}");
    }
}

#[test]
fn tables_without_order_say_so() {
    let owner = owner();
    for kind in [TableType::Set, TableType::Bag, TableType::DuplicateBag] {
        let table = owner.new_table("t", &Options::new(kind)).unwrap();
        let all = RangeOptions::new();
        let wrong = |operation| Error::WrongType {
            operation,
            found: kind,
        };
        assert_eq!(table.range(.., all), Err(wrong("range")));
        assert_eq!(
            table.prefix(&Prefix::List(vec![]), all),
            Err(wrong("prefix"))
        );
        assert_eq!(table.seek(&int(1)), Err(wrong("seek")));
        assert_eq!(table.delete_range(..), Err(wrong("delete_range")));
        assert_eq!(table.take_range(.., all), Err(wrong("take_range")));
        assert!(table.range_cursor(.., all).is_err());
    }
    let long = Prefix::Tuple {
        elements: vec![int(1), int(2)],
        arity: 1,
    };
    assert!(matches!(
        ordered(&owner).prefix(&long, RangeOptions::new()),
        Err(Error::BadArgument(_))
    ));
}

#[test]
fn strangers_read_and_write_by_right() {
    let (store, none) = (Store::new(), RangeOptions::new());
    let (owner, other) = (store.owner(), store.owner());
    let table = owner.new_table("t", &Options::ordered_set()).unwrap();
    let seen = table.for_caller(other.id());
    assert_eq!(seen.range(.., none), Ok(vec![]));
    assert!(matches!(
        seen.take_range(.., none),
        Err(Error::NoAccess { .. })
    ));
    assert!(matches!(seen.drain(), Err(Error::NoAccess { .. })));
    assert!(matches!(
        seen.compare_and_swap(&tuple([int(1)]), &tuple([int(1)])),
        Err(Error::NoAccess { .. })
    ));
    table.delete().unwrap();
    assert!(matches!(seen.range(.., none), Err(Error::NoSuchTable(_))));
}

#[test]
fn a_cursor_goes_on_over_changes() {
    let owner = owner();
    let table = filled(&owner, &(0..1000).map(int).collect::<Vec<_>>());
    for reverse in [false, true] {
        let options = if reverse {
            RangeOptions::new().reverse()
        } else {
            RangeOptions::new()
        };
        let mut cursor = table.range_cursor(int(100)..int(900), options).unwrap();
        let mut keys = Vec::new();
        loop {
            let pin = fyris::pin();
            let mut objects: Vec<Object<'_>> = Vec::new();
            let more = cursor.next_batch(&table, 7, &pin, &mut objects).unwrap();
            keys.extend(objects.iter().map(Object::key));
            let Some(last) = keys.last().filter(|_| more) else {
                break;
            };
            // The very key the cursor stands on goes and comes.
            table.delete_key(last).unwrap();
            table.insert(&tuple([last.clone(), int(2)])).unwrap();
        }
        let mut want: Vec<_> = (100..900).map(int).collect();
        if reverse {
            want.reverse();
        }
        assert_eq!(keys, want);
    }
}

/// A scan in steps. Returns whether there is more to come.
type Step = Box<dyn FnMut(&Table) -> bool>;

fn spec(text: &str) -> MatchSpec {
    MatchSpec::new(&Term::parse(text).unwrap()).unwrap()
}

fn ranging(table: &Table, options: RangeOptions) -> Step {
    let mut cursor = table.range_cursor(int(-500_000).., options).unwrap();
    Box::new(move |table| {
        let (pin, mut out) = (fyris::pin(), Vec::new());
        cursor.next_batch(table, 10, &pin, &mut out).unwrap()
    })
}

fn querying(mut query: Query) -> Step {
    Box::new(move |_| query.step(10).unwrap())
}

fn draining(table: &Table) -> Step {
    let (mut cursor, mut taken) = (table.drain_cursor(), 0);
    Box::new(move |table| {
        assert_eq!(cursor.take_batch(table, 0, |_| unreachable!()), Ok(true));
        let more = cursor.take_batch(table, 10, |_| taken += 1).unwrap();
        assert!(more || taken >= 1000, "{taken}");
        more
    })
}

fn walking() -> Step {
    let mut cursor = Cursor::new();
    Box::new(move |table| {
        let pin = fyris::pin();
        cursor.next_batch(table, &pin, &mut Vec::new()).unwrap()
    })
}

fn looking_in_vain(table: &Table) -> Step {
    let query = table.query(&spec("[{{'_', 7}, [], [true]}]"));
    let mut place = Continuation::before(query, 1).unwrap();
    Box::new(move |_| place.step(10).unwrap())
}

/// A scan in steps ends, though before each step a writer puts in ahead of it more than a step visits; and shows all
/// that was there before it began.
#[test]
fn writers_do_not_keep_a_scan_from_its_end() {
    let (up, down) = (RangeOptions::new(), RangeOptions::new().reverse());
    let all = "[{{'_', '_'}, [], [true]}]";
    let some = "[{{'$1', 1}, [{'>', '$1', 0}], [true]}]";
    let same = "[{{'$1', '$2'}, [], [{{'$1', '$2'}}]}]";
    type Make<'a> = &'a dyn Fn(&Table) -> Step;
    let ways: [(i64, Make<'_>); 10] = [
        (1, &|table| ranging(table, up)),
        (-1, &|table| ranging(table, down)),
        (1, &|table| querying(table.query(&spec(all)))),
        (1, &|table| querying(table.query(&spec(some)).counting())),
        (-1, &|table| querying(table.query(&spec(all)).reverse())),
        (1, &|table| querying(table.query(&spec(some)).deleting())),
        (1, &|table| {
            querying(table.query(&spec(same)).replacing().unwrap())
        }),
        (1, &draining),
        (1, &|_| walking()),
        (1, &looking_in_vain),
    ];
    for (way, make) in ways {
        let owner = owner();
        let keys: Vec<Term> = (0..1000).map(int).collect();
        let table = filled(&owner, &keys);
        let mut step = make(&table);
        let mut ahead = if way > 0 { 1000 } else { -1 };
        let mut steps = 0;
        while step(&table) {
            for _ in 0..500 {
                table.insert(&tuple([int(ahead), int(1)])).unwrap();
                ahead += way;
            }
            steps += 1;
            assert!(steps < 1000, "it runs behind the writer");
        }
    }
}

/// Where a chunk ends the next one goes on: at the same moment, or of a live table with all that has come ahead of it
/// since.
#[test]
fn a_next_chunk_shows_what_has_come_of_a_live_table() {
    assert_eq!(found_in_chunks(&Options::ordered_set()), 1000);
    let live = Options::ordered_set().consistent(false);
    assert_eq!(found_in_chunks(&live), 2500);
}

fn found_in_chunks(options: &Options) -> i64 {
    let owner = owner();
    let table = owner.new_table("t", options).unwrap();
    let objects = (0..1000).map(|n| tuple([int(n), int(1)]));
    table.insert_many(objects).unwrap();
    let query = table.query(&spec("[{{'$1', '_'}, [], ['$1']}]"));
    let (mut place, mut found) = (Continuation::before(query, 400).unwrap(), 0);
    for more in 0..100 {
        let chunk = place.next().unwrap();
        found += chunk.results.len() as i64;
        if more < 5 {
            (0..300).for_each(|n| {
                let key = int(1000 + 300 * more + n);
                table.insert(&tuple([key, int(1)])).unwrap();
            });
        }
        let Some(next) = chunk.next else { break };
        place = next;
    }
    found
}

/// A queue: several threads take from the front.
#[test]
fn each_object_is_taken_by_one() {
    const COUNT: i64 = 20_000;
    let owner = owner();
    let table = ordered(&owner);
    let taken: Vec<Vec<Term>> = thread::scope(|s| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                s.spawn(|| {
                    let (mut mine, mut idle) = (Vec::new(), 0);
                    while idle < 3 {
                        let keys = RangeOptions::new().keys_only().limit(5);
                        let few = table.take_range(.., keys).unwrap();
                        assert!(few.len() <= 5);
                        idle = if few.is_empty() && table.is_empty() {
                            idle + 1
                        } else {
                            0
                        };
                        mine.extend(few);
                    }
                    mine
                })
            })
            .collect();
        (0..COUNT).for_each(|k| table.insert(&tuple([int(k)])).unwrap());
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let mut all: Vec<_> = taken.into_iter().flatten().collect();
    all.extend(
        table
            .drain()
            .unwrap()
            .iter()
            .filter_map(|o| common::key_of(o, 1)),
    );
    let set: HashSet<i64> = all.iter().map(number).collect();
    assert_eq!((all.len(), set.len()), (COUNT as usize, COUNT as usize));
}

fn number(term: &Term) -> i64 {
    match term {
        Term::Int(n) => *n,
        other => panic!("{other:?}"),
    }
}

/// Every type of table is emptied, of everything, in its order.
#[test]
fn draining_returns_everything_and_leaves_nothing() {
    let owner = owner();
    for kind in [
        TableType::Set,
        TableType::OrderedSet,
        TableType::Bag,
        TableType::DuplicateBag,
    ] {
        let table = owner.new_table("t", &Options::new(kind)).unwrap();
        for k in 0..500 {
            table.insert(&tuple([int(k % 100), int(k)])).unwrap();
            table.insert(&tuple([int(k % 100), int(k)])).unwrap();
        }
        let (count, all) = (table.len(), table.tab2list().unwrap());
        let drained = table.drain().unwrap();
        assert_eq!(drained.len(), count);
        let sort = |mut v: Vec<Term>| {
            v.sort_by(Term::cmp_order);
            v
        };
        if kind == TableType::OrderedSet {
            assert_eq!(drained, all);
        }
        assert_eq!(sort(drained), sort(all));
        assert_eq!((table.len(), table.tab2list().unwrap()), (0, vec![]));
    }
}

#[test]
fn nothing_is_lost_between_a_drain_and_the_table() {
    let owner = owner();
    for options in [Options::set(), Options::ordered_set(), Options::bag()] {
        let table = owner.new_table("t", &options.public()).unwrap();
        let left = AtomicUsize::new(2);
        let mut drained = Vec::new();
        thread::scope(|s| {
            for t in 0..2 {
                let (table, left) = (&table, &left);
                s.spawn(move || {
                    (0..5000).for_each(|k| table.insert(&tuple([int(2 * k + t)])).unwrap());
                    left.fetch_sub(1, atomic::Ordering::Release);
                });
            }
            while left.load(atomic::Ordering::Acquire) > 0 {
                drained.extend(table.drain().unwrap());
            }
        });
        drained.extend(table.drain().unwrap());
        let keys: HashSet<i64> = drained
            .iter()
            .map(|o| number(&common::key_of(o, 1).unwrap()))
            .collect();
        assert_eq!((drained.len(), keys.len()), (10_000, 10_000));
    }
}

#[test]
fn many_keys_are_looked_up_as_one_is() {
    let owner = owner();
    for kind in [TableType::Set, TableType::OrderedSet, TableType::Bag] {
        let table = owner.new_table("t", &Options::new(kind)).unwrap();
        for k in 0..100 {
            table.insert(&tuple([int(k % 60), int(k)])).unwrap();
        }
        let keys: Vec<_> = (0..70).map(int).chain([float(3.0)]).collect();
        let one_by_one: Vec<_> = keys.iter().map(|k| table.lookup(k).unwrap()).collect();
        assert_eq!(table.lookup_many(&keys).unwrap(), one_by_one);
        let pin = fyris::pin();
        let mut found = Vec::new();
        table.get_many(&keys, &pin, &mut found).unwrap();
        let newest: Vec<_> = found.iter().map(|o| o.map(|o| o.to_term())).collect();
        assert_eq!(
            newest,
            one_by_one
                .iter()
                .map(|l| l.last().cloned())
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn compare_and_swap_compares_exactly() {
    let owner = owner();
    for options in [Options::set(), Options::ordered_set()] {
        let table = owner.new_table("t", &options).unwrap();
        let pair = |k: Term, v: i64| tuple([k, int(v)]);
        assert_eq!(
            table.compare_and_swap(&pair(int(1), 1), &pair(int(1), 2)),
            Ok(false)
        );
        table.insert(&pair(int(1), 1)).unwrap();
        assert_eq!(
            table.compare_and_swap(&pair(int(1), 9), &pair(int(1), 2)),
            Ok(false)
        );
        assert_eq!(
            table.compare_and_swap(&pair(int(1), 1), &pair(int(1), 2)),
            Ok(true)
        );
        assert_eq!(table.tab2list().unwrap(), [pair(int(1), 2)]);
        assert_eq!(
            table.compare_and_swap(&pair(int(1), 2), &pair(int(2), 2)),
            Err(Error::KeyUpdate(1))
        );
        let float_key = table.compare_and_swap(&pair(float(1.0), 2), &pair(float(1.0), 3));
        assert_eq!(float_key, Ok(false), "the object there has the key 1");
        assert_eq!(table.len(), 1);
    }
    let bag = owner.new_table("t", &Options::bag()).unwrap();
    assert!(matches!(
        bag.compare_and_swap(&tuple([int(1)]), &tuple([int(1)])),
        Err(Error::WrongType { .. })
    ));
}

#[test]
fn increments_by_swapping_are_never_lost() {
    let owner = owner();
    for options in [Options::set(), Options::ordered_set()] {
        let table = owner.new_table("t", &options.public()).unwrap();
        let pair = |v: i64| tuple([int(1), int(v)]);
        table.insert(&pair(0)).unwrap();
        let value = |o: &Term| number(&common::key_of(o, 2).expect("two elements"));
        thread::scope(|s| {
            s.spawn(|| {
                for _ in 0..5000 {
                    loop {
                        let now = table.lookup(&int(1)).unwrap().remove(0);
                        if table
                            .compare_and_swap(&now, &pair(value(&now) + 1))
                            .unwrap()
                        {
                            break;
                        }
                    }
                }
            });
            s.spawn(|| {
                for _ in 0..5000 {
                    let more = |old: Option<Term>| old.map(|old| pair(value(&old) + 1));
                    table.upsert(&int(1), more).unwrap();
                }
            });
        });
        assert_eq!(table.lookup(&int(1)).unwrap(), [pair(10_000)]);
        // Too large for the index entry itself.
        table.insert(&pair(i64::MAX)).unwrap();
        let memory = table.memory();
        assert_eq!(table.upsert(&int(1), |_| None), Ok(None));
        assert!(table.is_empty() && table.memory() < memory);
        assert_eq!(
            table.upsert(&int(2), |old| old.or(Some(tuple([int(2)])))),
            Ok(Some(tuple([int(2)])))
        );
        assert_eq!(
            table.upsert(&int(2), |_| Some(pair(1))),
            Err(Error::KeyUpdate(1))
        );
        assert_eq!(table.len(), 1);
    }
}

/// A key taken while the table is fixed is a place to go on from.
#[test]
fn taken_keys_are_remembered_while_fixed() {
    let owner = owner();
    let table = owner.new_table("t", &Options::set()).unwrap();
    (0..10).for_each(|k| table.insert(&tuple([int(k)])).unwrap());
    table.safe_fixtable(true).unwrap();
    let first = table.first().unwrap().unwrap();
    table.drain().unwrap();
    assert_eq!(table.next(&first), Ok(None));
    assert_eq!(table.next(&int(99)), Err(Error::NoSuchKey));
}

/// Asserts that every part of a term is found by its path, and that other paths lead nowhere.
fn check_paths(object: &Object<'_>, whole: &Term, path: &mut Vec<Term>) {
    if !path.is_empty() {
        assert_eq!(object.get_in(path).as_ref(), Some(whole), "{path:?}");
    }
    let mut steps: Vec<(Term, &Term)> = Vec::new();
    match whole {
        Term::Tuple(parts) | Term::List(parts) | Term::Improper(parts, _) => {
            steps.extend((1..).map(int).zip(parts));
        }
        Term::Map(map) => steps.extend(map.iter().map(|(key, value)| (key.clone(), value))),
        _ => {}
    }
    for bad in [int(0), int(-1), int(1 << 40), Term::atom("no such key")] {
        if matches!(whole, Term::Map(map) if map.get(&bad).is_some()) {
            continue;
        }
        path.push(bad);
        assert_eq!(object.get_in(path), None, "{path:?}");
        path.pop();
    }
    for (step, part) in steps {
        path.push(step);
        check_paths(object, part, path);
        path.pop();
    }
}

proptest! {
    #[test]
    fn every_part_is_found_by_its_path(
        elements in proptest::collection::vec(arbitrary::term(), 1..4),
        keypos in 1usize..3,
    ) {
        let owner = owner();
        let table = owner.new_table("t", &Options::set().keypos(keypos)).unwrap();
        let whole = Term::tuple(elements);
        if table.insert(&whole).is_ok() {
            let key = common::key_of(&whole, keypos).unwrap();
            let pin = fyris::pin();
            let object = table.get(&key, &pin).unwrap().expect("just inserted");
            prop_assert_eq!(object.get_in(&[]), None);
            check_paths(&object, &whole, &mut Vec::new());
        }
    }
}
