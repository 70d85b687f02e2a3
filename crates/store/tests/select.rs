//! Match and select, each against what the specification makes of the list of all objects.

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{float, int, key_of, tuple};
use fyris::{
    Chunk, Error, Machine, MatchSpec, Options, Owner, Protection, Store, Table, TableType,
    match_spec_run,
};
use fyris_query::Wanted;
use fyris_term::Term;

const KINDS: [TableType; 4] = [
    TableType::Set,
    TableType::OrderedSet,
    TableType::Bag,
    TableType::DuplicateBag,
];

fn term(text: &str) -> Term {
    Term::parse(text).expect("a term")
}

fn spec(text: &str) -> MatchSpec {
    MatchSpec::new(&term(text)).expect("a specification")
}

fn owner() -> Owner {
    Store::new().owner()
}

/// Returns objects of many shapes, and in the bags several of a key.
fn objects(count: i64) -> Vec<Term> {
    let mut objects = Vec::new();
    for n in 0..count {
        let key = match n % 5 {
            0 => tuple([Term::atom("user"), int(n / 20), int(n)]),
            1 => float(n as f64),
            2 => Term::binary(format!("key{n}").into_bytes()),
            _ => int(n),
        };
        objects.push(tuple([
            key.clone(),
            int(n % 7),
            Term::binary(vec![1; n as usize % 400]),
        ]));
        objects.push(tuple([key.clone(), int(n % 3)]));
        objects.push(tuple([key, int(n % 3)]));
    }
    objects
}

fn filled(owner: &Owner, kind: TableType, count: i64) -> Table {
    let table = owner.new_table("t", &Options::new(kind).public()).unwrap();
    table.insert_many(objects(count)).unwrap();
    table
}

/// Returns results in the order of an `ordered_set`; elsewhere sorted, since keys that a specification names come in
/// another order than that of the table.
fn in_order(table: &Table, mut results: Vec<Term>) -> Vec<Term> {
    if table.table_type() != TableType::OrderedSet {
        results.sort_by(Term::cmp_exact);
    }
    results
}

fn expected(table: &Table, spec: &MatchSpec) -> Vec<Term> {
    in_order(table, match_spec_run(&table.tab2list().unwrap(), spec))
}

const SPECS: [&str; 18] = [
    "[]",
    "[{'_',[],['$_']}]",
    "[{'$1',[],['$1']}]",
    "[{{'$1','$2'},[],[{{'$2','$1'}}]}]",
    "[{{'$1','$2'},[{'>','$2',1}],['$1']}]",
    "[{{'$1','$2','_'},[{'==','$2',3}],['$$']}]",
    "[{{'_','_'},[],[true]},{{'_','_','_'},[],[false]}]",
    "[{{13,'_'},[],['$_']}]",
    "[{{13.0,'_'},[],['$_']}]",
    "[{{11,'_'},[],['$_']}]",
    "[{{11.0,'_'},[],['$_']}]",
    "[{{{user,3,'_'},'$1'},[],['$_']}]",
    "[{{{user,'$1','_'},'_'},[{'<','$1',3}],['$_']}]",
    "[{{'$1','_'},[{'>=','$1',20},{'<','$1',40}],['$1']}]",
    "[{{'$1','_'},[{'orelse',{'==','$1',3},{'==','$1',48}}],['$1']}]",
    "[{{'$1','$2'},[],[{'+','$1','$2'}]}]",
    "[{{3,'_'},[],['$_']},{{4,'_'},[],['$_']},{{{user,0,5},'_'},[],[x]}]",
    "[{{'$1','$2'},[{'==',{'rem','$2',2},0}],[true]}]",
];

#[test]
fn selecting_is_running_the_specification_over_all_objects() {
    let owner = owner();
    for kind in KINDS {
        let table = filled(&owner, kind, 200);
        for text in SPECS {
            let spec = spec(text);
            let want = expected(&table, &spec);
            let found = in_order(&table, table.select(&spec).unwrap());
            assert_eq!(found, want, "{kind:?} {text}");
            let trues = want.iter().filter(|t| **t == Term::atom("true")).count();
            assert_eq!(table.select_count(&spec), Ok(trues), "{kind:?} {text}");
            let mut back = table.select_reverse(&spec).unwrap();
            if kind == TableType::OrderedSet {
                back.reverse();
            }
            assert_eq!(in_order(&table, back), want, "{kind:?} {text} reversed");
            for threads in [2, 3] {
                let mut query = table.query(&spec).threads(threads);
                query.run().unwrap();
                assert_eq!(in_order(&table, query.take()), want, "{threads} threads");
            }
        }
    }
}

/// Returns the results of all chunks; asserts that each chunk but the last is full.
fn chunks(first: Chunk, limit: usize) -> Vec<Term> {
    let mut all = Vec::new();
    let mut chunk = first;
    loop {
        assert!(chunk.results.len() <= limit);
        all.append(&mut chunk.results);
        let Some(next) = chunk.next else { return all };
        assert_eq!(all.len() % limit, 0, "a chunk that is not the last is full");
        chunk = next.next().unwrap();
    }
}

#[test]
fn chunks_make_up_the_whole() {
    let owner = owner();
    for kind in KINDS {
        let table = filled(&owner, kind, 120);
        for text in SPECS {
            let spec = spec(text);
            let want = expected(&table, &spec);
            for limit in [1, 2, 7, 100, 1000] {
                let found = chunks(table.select_limit(&spec, limit).unwrap(), limit);
                assert_eq!(in_order(&table, found), want, "{kind:?} {text} by {limit}");
                let mut back = chunks(table.select_reverse_limit(&spec, limit).unwrap(), limit);
                if kind == TableType::OrderedSet {
                    back.reverse();
                }
                assert_eq!(
                    in_order(&table, back),
                    want,
                    "{kind:?} {text} by {limit}, back"
                );
            }
        }
        assert!(table.select_limit(&spec("[]"), 10).unwrap().is_end());
        assert!(matches!(
            table.select_limit(&spec("[]"), 0),
            Err(Error::BadArgument(_))
        ));
    }
}

/// Returns the objects of each key, from key to key.
fn walked(table: &Table) -> Vec<Term> {
    let mut objects = Vec::new();
    let mut at = table.first_lookup().unwrap();
    while let Some((key, found)) = at {
        objects.extend(found);
        at = table.next_lookup(&key).unwrap();
    }
    objects
}

#[test]
fn all_traversals_have_one_order() {
    let whole = spec("[{'$1', [], ['$1']}]");
    let owner = owner();
    for kind in KINDS {
        for count in [1, 7, 100, 1500] {
            let table = filled(&owner, kind, count);
            let (all, all_by) = (walked(&table), |query: fyris::Query| {
                let mut query = query;
                query.run().unwrap();
                query.take()
            });
            assert_eq!(table.tab2list().unwrap(), all, "{kind:?} of {count}");
            assert_eq!(table.select(&whole).unwrap(), all);
            assert_eq!(all_by(table.query(&whole).threads(2)), all);
            let iterated: Result<Vec<Term>, Error> = table.iter().collect();
            assert_eq!(iterated.unwrap(), all);
            let slots = (0..).map_while(|slot| table.slot(slot).unwrap());
            assert_eq!(slots.flatten().collect::<Vec<_>>(), all);
            for limit in [1, 10, 999] {
                let first = table.select_limit(&whole, limit).unwrap();
                assert_eq!(chunks(first, limit), all);
            }
            // From a bag, the keys in the same order, and of each the newest object first.
            let newest_first = all.chunk_by(|a, b| key_of(a, 1) == key_of(b, 1));
            let newest_first = newest_first.flat_map(|of_key| of_key.iter().rev().cloned());
            let found = all_by(table.query(&whole).newest_first());
            assert_eq!(found, newest_first.collect::<Vec<_>>());
        }
    }
}

/// Returns all objects of a table in several ways, each in the order of `walked`.
fn traversals(table: &Table, whole: &MatchSpec, limit: usize) -> [Vec<Term>; 5] {
    let mut query = table.query(whole).threads(2);
    query.run().unwrap();
    let iterated: Result<Vec<Term>, Error> = table.iter().collect();
    [
        walked(table),
        table.tab2list().unwrap(),
        query.take(),
        iterated.unwrap(),
        chunks(table.select_limit(whole, limit).unwrap(), limit),
    ]
}

#[test]
fn what_stays_keeps_its_order_while_a_table_grows_and_shrinks() {
    let whole = spec("[{'$1', [], ['$1']}]");
    let owner = owner();
    for kind in KINDS {
        let table = filled(&owner, kind, 60);
        let steady = walked(&table);
        let stays: HashSet<Term> = steady.iter().cloned().collect();
        // So that a walk goes on from a key that is gone.
        table.safe_fixtable(true).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                for _ in 0..4 {
                    let others = || (0..1500).map(|n| tuple([int(-1 - n), int(n)]));
                    others().for_each(|object| table.insert(&object).unwrap());
                    others()
                        .for_each(|object| table.delete_key(&key_of(&object, 1).unwrap()).unwrap());
                }
                // Relaxed: a flag; nothing is read because of it.
                stop.store(true, Ordering::Relaxed);
            });
            let mut limit = 1;
            // Relaxed: as above.
            while !stop.load(Ordering::Relaxed) || limit < 100 {
                for mut found in traversals(&table, &whole, limit) {
                    let keys: Vec<Term> = found.iter().filter_map(|o| key_of(o, 1)).collect();
                    let keys: Vec<Term> =
                        keys.chunk_by(|a, b| a == b).map(|k| k[0].clone()).collect();
                    let once: HashSet<&Term> = keys.iter().collect();
                    assert_eq!(once.len(), keys.len(), "no key twice");
                    found.retain(|object| stays.contains(object));
                    assert_eq!(found, steady, "{kind:?} by {limit}");
                }
                limit = limit * 7 % 1009;
            }
        });
        table.safe_fixtable(false).unwrap();
    }
}

#[test]
fn steps_of_any_size_make_up_the_whole() {
    let owner = owner();
    for kind in KINDS {
        let table = filled(&owner, kind, 100);
        let spec = spec("[{{'$1','_'},[],['$1']}]");
        for size in [1, 3, 50, 1000] {
            let mut query = table.query(&spec);
            let mut before = 0;
            while query.step(size).unwrap() {
                let visited = query.visited() - before;
                // To the end of a bucket, and here three objects a key.
                assert!(visited <= 3 * (size as u64 + 32), "{visited} for {size}");
                before = query.visited();
            }
            assert_eq!(query.visited(), table.len() as u64);
            let count = query.count();
            let found = query.take();
            assert_eq!(count, found.len());
            assert_eq!(in_order(&table, found), expected(&table, &spec));
        }
    }
}

#[test]
fn objects_are_shown_as_they_are() {
    let owner = owner();
    for kind in KINDS {
        let table = filled(&owner, kind, 60);
        for text in SPECS {
            let spec = spec(text);
            let (mut query, mut found) = (table.query(&spec), Vec::new());
            let mut step = |query: &mut fyris::Query| {
                query.step_with(10, |object, value| {
                    found.push(value.unwrap_or_else(|| object.to_term()));
                })
            };
            while step(&mut query).unwrap() {}
            assert_eq!(query.count(), found.len());
            assert_eq!(in_order(&table, found), expected(&table, &spec), "{text}");
        }
    }
}

#[test]
fn patterns_match_without_specifications() {
    let owner = owner();
    for kind in KINDS {
        let table = filled(&owner, kind, 60);
        let same = |found: fyris::Result<Vec<Term>>, text: &str| {
            assert_eq!(
                in_order(&table, found.unwrap()),
                expected(&table, &spec(text))
            );
        };
        same(
            table.match_pattern(&term("{'$2','$1'}")),
            "[{{'$2','$1'},[],['$$']}]",
        );
        same(
            table.match_object(&term("{'_',2,'_'}")),
            "[{{'_',2,'_'},[],['$_']}]",
        );
        same(table.match_object(&term("'_'")), "[{'_',[],['$_']}]");
        let found = chunks(table.match_object_limit(&term("{'_',1}"), 4).unwrap(), 4);
        same(Ok(found), "[{{'_',1},[],['$_']}]");
        let found = chunks(
            table.match_pattern_limit(&term("{'_','$1'}"), 4).unwrap(),
            4,
        );
        same(Ok(found), "[{{'_','$1'},[],['$$']}]");
        assert!(matches!(
            table.match_object(&term("{#{'$1' => 1}}")),
            Err(Error::BadMatchSpec(_))
        ));
        let all = table.tab2list().unwrap();
        let left: Vec<_> = all
            .iter()
            .filter(|o| key_of(o, 2) != Some(int(1)))
            .cloned()
            .collect();
        table.match_delete(&term("{'_',1}")).unwrap();
        table.match_delete(&term("{'_',1,'_'}")).unwrap();
        assert_eq!(
            in_order(&table, table.tab2list().unwrap()),
            in_order(&table, left)
        );
        table.match_delete(&term("'_'")).unwrap();
        assert!(table.is_empty());
    }
}

#[test]
fn deleting_deletes_what_is_true_and_counts_it() {
    let owner = owner();
    for kind in KINDS {
        for text in SPECS {
            let table = filled(&owner, kind, 80);
            let spec = spec(text);
            let is_true =
                |o: &Term| spec.run_term(o, &Machine::default()) == Some(Term::atom("true"));
            let (gone, left): (Vec<_>, Vec<_>) =
                table.tab2list().unwrap().into_iter().partition(is_true);
            assert_eq!(
                table.select_delete(&spec),
                Ok(gone.len()),
                "{kind:?} {text}"
            );
            assert_eq!(table.len(), left.len());
            let now = table.tab2list().unwrap();
            assert_eq!(in_order(&table, now), in_order(&table, left));
            assert!(table.select_delete(&spec) == Ok(0));
            let rest = table.len();
            assert_eq!(
                table.select_delete(&self::spec("[{'_',[],[true]}]")),
                Ok(rest)
            );
            let fresh = owner.new_table("t", &Options::new(kind)).unwrap();
            assert_eq!((table.len(), table.memory()), (0, fresh.memory()));
        }
    }
}

#[test]
fn replacing_keeps_keys_and_places() {
    let owner = owner();
    for kind in [
        TableType::Set,
        TableType::OrderedSet,
        TableType::DuplicateBag,
    ] {
        let table = filled(&owner, kind, 80);
        let replace = spec("[{{'$1','$2'},[{'>','$2',0}],[{{'$1',{'+','$2',100},new}}]}]");
        let run = |o: &Term| replace.run_term(o, &Machine::default());
        let before = table.tab2list().unwrap();
        let want: Vec<_> = before
            .iter()
            .map(|o| run(o).unwrap_or_else(|| o.clone()))
            .collect();
        let changed = before.iter().filter(|o| run(o).is_some()).count();
        assert_eq!(table.select_replace(&replace), Ok(changed));
        assert_eq!(
            in_order(&table, table.tab2list().unwrap()),
            in_order(&table, want.clone())
        );
        for object in &want {
            let key = key_of(object, 1).unwrap();
            let of_key: Vec<_> = want
                .iter()
                .filter(|o| key_of(o, 1).as_ref() == Some(&key))
                .collect();
            assert_eq!(
                table.lookup(&key).unwrap().iter().collect::<Vec<_>>(),
                of_key,
                "in their order"
            );
        }
        table.drain().unwrap();
        let fresh = owner.new_table("t", &Options::new(kind)).unwrap();
        assert_eq!(table.len(), 0);
        assert!(
            table.memory() < fresh.memory() + (1 << 16),
            "sizes were accounted for"
        );
    }
}

#[test]
fn what_may_change_a_key_is_refused_before_anything_is_touched() {
    let owner = owner();
    let table = filled(&owner, TableType::Set, 20);
    let before = in_order(&table, table.tab2list().unwrap());
    let moving = spec("[{{'$1','$2'},[],[{{'$2','$1'}}]}]");
    assert!(matches!(
        table.select_replace(&moving),
        Err(Error::KeyChanges(_))
    ));
    assert_eq!(in_order(&table, table.tab2list().unwrap()), before);
    let bag = filled(&owner, TableType::Bag, 20);
    assert!(matches!(
        bag.select_replace(&spec("[{'_',[],['$_']}]")),
        Err(Error::WrongType { .. })
    ));
}

#[test]
fn one_object_is_compared_and_swapped() {
    let owner = owner();
    for kind in [TableType::Set, TableType::OrderedSet] {
        let table = owner.new_table("t", &Options::new(kind)).unwrap();
        table.insert(&term("{k,1}")).unwrap();
        let swap = spec("[{{k,1},[],[{const,{k,2}}]}]");
        assert_eq!(table.select_replace(&swap), Ok(1));
        assert_eq!(table.select_replace(&swap), Ok(0));
        assert_eq!(table.lookup(&Term::atom("k")), Ok(vec![term("{k,2}")]));
    }
}

#[test]
fn a_continuation_belongs_to_the_table_and_not_to_its_name() {
    let (store, all) = (Store::new(), spec("[{'_',[],['$_']}]"));
    let owner = store.owner();
    let table = owner
        .new_table("first", &Options::ordered_set().named())
        .unwrap();
    table.insert_many((0..10).map(|n| tuple([int(n)]))).unwrap();
    let chunk = table.select_limit(&all, 4).unwrap();
    let next = chunk.next.expect("more");
    let live = owner.new_table("live", &Options::ordered_set().consistent(false));
    let live = live.unwrap();
    live.insert_many((0..10).map(|n| tuple([int(n)]))).unwrap();
    let live_next = live.select_limit(&all, 4).unwrap().next.expect("more");
    table
        .rename(fyris_term::Atom::new("second").unwrap())
        .unwrap();
    let other = owner
        .new_table("first", &Options::ordered_set().named())
        .unwrap();
    assert_eq!(next.clone().next().unwrap().results[0], tuple([int(4)]));
    // The keys it stands between are gone, and so is where it stands.
    for (table, next, rest) in [(&table, &next, 4..8), (&live, &live_next, 6..10)] {
        table.delete_range(..int(6)).unwrap();
        let again = next.clone().next().unwrap();
        let rest: Vec<Term> = rest.map(|n| tuple([int(n)])).collect();
        assert_eq!(again.results, rest);
    }
    // Another process has the rights that it has.
    let stranger = store.owner();
    assert!(next.clone().for_caller(stranger.id()).next().is_ok());
    table
        .setopts(&[fyris::Setting::Protection(Protection::Private)])
        .unwrap();
    let refused = next.clone().for_caller(stranger.id()).next();
    assert!(matches!(refused, Err(Error::NoAccess { .. })));
    table.delete().unwrap();
    owner
        .new_table("second", &Options::ordered_set().named())
        .unwrap();
    assert!(matches!(next.next(), Err(Error::NoSuchTable(_))));
    drop(other);
}

#[test]
fn a_continuation_comes_back_from_its_term() {
    let owner = owner();
    for kind in KINDS {
        let table = filled(&owner, kind, 60);
        for text in SPECS {
            let spec = spec(text);
            let mut all = Vec::new();
            let mut chunk = table.select_reverse_limit(&spec, 3).unwrap();
            loop {
                all.append(&mut chunk.results);
                let Some(next) = chunk.next else { break };
                let written = next.to_term();
                let bytes = fyris_term::etf::encode(&written);
                let read = fyris_term::etf::decode(&bytes).unwrap();
                chunk = table
                    .repair_continuation(&read, &spec)
                    .unwrap()
                    .next()
                    .unwrap();
            }
            assert_eq!(
                in_order(&table, all),
                in_order(&table, table.select_reverse(&spec).unwrap()),
                "{text}"
            );
        }
        let bad = [
            "foo",
            "{}",
            "{fyris_continuation,1,2,3,4,5}",
            "{fyris_continuation,1,true,0,[],[]}",
        ];
        for text in bad {
            let repaired = table.repair_continuation(&term(text), &spec("[]"));
            assert!(matches!(repaired, Err(Error::BadArgument(_))), "{text}");
        }
    }
}

#[test]
fn rights_are_asked_for() {
    let store = Store::new();
    let (owner, stranger) = (store.owner(), store.owner());
    let all = spec("[{'_',[],[true]}]");
    let seen = |options: Options| {
        let table = owner.new_table("t", &options).unwrap();
        table.for_caller(stranger.id())
    };
    let table = seen(Options::set());
    assert_eq!(table.select_count(&all), Ok(0));
    assert!(matches!(
        table.select_delete(&all),
        Err(Error::NoAccess { .. })
    ));
    assert!(matches!(
        table.match_delete(&term("x")),
        Err(Error::NoAccess { .. })
    ));
    assert!(matches!(
        table.select_replace(&spec("[]")),
        Err(Error::NoAccess { .. })
    ));
    let table = seen(Options::set().private());
    assert!(matches!(
        table.select(&spec("[]")),
        Err(Error::NoAccess { .. })
    ));
    assert!(matches!(
        table.select_limit(&all, 1),
        Err(Error::NoAccess { .. })
    ));
    assert!(matches!(table.explain(&all), Err(Error::NoAccess { .. })));
    assert!(matches!(
        table.reduce(2, || 0, |n, _| n + 1, |a, b| a + b),
        Err(Error::NoAccess { .. })
    ));
}

#[test]
fn deleted_keys_are_remembered_while_the_table_is_fixed() {
    let owner = owner();
    for text in ["[{{'_','_'},[],[true]}]", "[{'_',[],[true]}]"] {
        let table = owner.new_table("t", &Options::set()).unwrap();
        table
            .insert_many((0..9).map(|n| tuple([int(n), int(n)])))
            .unwrap();
        table.safe_fixtable(true).unwrap();
        let first = table.first().unwrap().unwrap();
        assert_eq!(table.select_delete(&spec(text)), Ok(9));
        assert_eq!(table.next(&first), Ok(None));
        table.safe_fixtable(false).unwrap();
        assert_eq!(table.next(&first), Err(Error::NoSuchKey));
    }
}

#[test]
fn a_reduction_on_threads_is_that_on_one() {
    let owner = owner();
    for kind in KINDS {
        let table = filled(&owner, kind, 3000);
        let one = table.foldl(0u64, |_, n| n + 1).unwrap();
        for threads in [0, 1, 2, 5] {
            let count = table.reduce(threads, || 0u64, |n, _| n + 1, |a, b| a + b);
            assert_eq!(count, Ok(one));
        }
        let keys = table
            .reduce(
                3,
                Vec::new,
                |mut keys, object| {
                    keys.push(object.to_term());
                    keys
                },
                |mut a, b| {
                    a.extend(b);
                    a
                },
            )
            .unwrap();
        assert_eq!(
            in_order(&table, keys),
            in_order(&table, table.tab2list().unwrap())
        );
    }
}

#[test]
fn explaining_says_how_many() {
    let owner = owner();
    for kind in KINDS {
        let table = filled(&owner, kind, 100);
        let full = table.explain(&spec("[{'_',[],['$_']}]")).unwrap();
        assert_eq!(
            (full.kind.name(), full.estimated),
            ("full_scan", table.len())
        );
        assert_eq!(full.size, table.len());
        let text = format!(
            "#{{access => full_scan, bounds => [], estimated => {0}, size => {0}}}",
            full.size
        );
        assert_eq!(full.to_term(), term(&text));
    }
}

#[test]
fn tables_that_go_away_end_queries() {
    let owner = owner();
    let table = filled(&owner, TableType::Set, 100);
    let all = spec("[{'_',[],[true]}]");
    let mut count = table.query(&all).counting();
    assert!(count.step(1).unwrap());
    let delete = spec("[{{'_',1,'_'},[],[true]}]");
    let mut delete = table.query(&delete).deleting();
    assert!(delete.step(1).unwrap());
    let objects = table.len();
    table.delete().unwrap();
    assert!(matches!(delete.step(1), Err(Error::NoSuchTable(_))));
    assert!(matches!(delete.run(), Err(Error::NoSuchTable(_))));
    // But one that reads goes on by its snapshot, if it has begun.
    count.run().unwrap();
    assert_eq!(count.count(), objects + delete.count());
    let mut late = table.query(&all);
    assert!(matches!(late.run(), Err(Error::NoSuchTable(_))));
}

#[test]
fn of_many_objects_of_a_key_those_that_begin_as_the_head_says_are_visited() {
    const PLAIN: [&str; 5] = ["1", "\"text\"", "[1,2]", "{1,{2,x}}", "{b,a}"];
    const OTHERS: [&str; 3] = ["1.0", "#{a => 1}", "'$1'"];
    let owner = owner();
    for kind in [TableType::Bag, TableType::DuplicateBag] {
        let table = owner.new_table("t", &Options::new(kind)).unwrap();
        for n in 0..200 {
            for first in PLAIN.iter().chain(&OTHERS[..2]) {
                table
                    .insert(&term(&format!("{{key,{first},{n}}}")))
                    .unwrap();
            }
        }
        let all = table.tab2list().unwrap();
        for first in PLAIN.iter().chain(&OTHERS).chain(&["{1,{'_',x}}"]) {
            let spec = spec(&format!(
                "[{{{{key,{first},'$2'}},[{{'<','$2',150}}],['$2']}}]"
            ));
            let want = match_spec_run(&all, &spec);
            assert!(want.len() >= 150, "{first}");
            assert_eq!(table.select(&spec).unwrap(), want, "{first}");
            assert_eq!(chunks(table.select_limit(&spec, 100).unwrap(), 100), want);
            let mut query = table.query(&spec);
            query.run().unwrap();
            assert_eq!(query.take(), want, "{first}");
            let most = if PLAIN.contains(first) { 201 } else { 1400 };
            assert!(query.visited() <= most, "{first}: {}", query.visited());
        }
        let spec = MatchSpec::pattern(&term("{key,{b,a},'_'}"), Wanted::True).unwrap();
        assert_eq!(table.select_delete(&spec), Ok(200));
        assert_eq!(table.len(), all.len() - 200);
    }
}

/// What is taken or replaced and what is returned are the same objects, in the order of a select.
#[test]
fn changes_that_return_what_they_changed() {
    for kind in KINDS {
        let owner = owner();
        let table = filled(&owner, kind, 3000);
        let threes = spec("[{{'$1', 3, '_'}, [], ['$1']}, {{'$1', 2}, [], ['$_']}]");
        let (before, all) = (table.select(&threes).unwrap(), table.len());
        let taken = table.select_take(&threes).unwrap();
        assert_eq!(taken, before, "{kind:?}");
        assert_eq!(
            (table.len(), table.select(&threes).unwrap()),
            (all - taken.len(), vec![])
        );
        assert!(table.select_take(&threes).unwrap().is_empty());
        let more = spec("[{{'$1', '$2'}, [{'<', '$2', 2}], [{{'$1', {'+', '$2', 10}}}]}]");
        if kind == TableType::Bag {
            let refused = table.select_replace_returning(&more);
            assert!(matches!(refused, Err(Error::WrongType { .. })));
        } else {
            let new = table.select(&more).unwrap();
            assert_eq!(
                table.select_replace_returning(&more).unwrap(),
                new,
                "{kind:?}"
            );
            let found = table
                .select(&spec("[{{'_', '$1'}, [{'>=', '$1', 10}], ['$_']}]"))
                .unwrap();
            assert_eq!(found, new);
        }
        let rest = table.tab2list().unwrap();
        let everything = spec("[{'_', [], [true]}]");
        assert_eq!(table.select_take(&everything).unwrap().len(), rest.len());
        assert!(table.is_empty());
    }
}

/// Of takers at once each object goes to one.
#[test]
fn of_several_takers_each_object_goes_to_one() {
    const OBJECTS: i64 = 2000;
    for kind in KINDS {
        let owner = owner();
        let table = owner.new_table("t", &Options::new(kind).public()).unwrap();
        table
            .insert_many((0..OBJECTS).map(|n| tuple([int(n % 500), int(n)])))
            .unwrap();
        let there = table.len();
        let take = spec("[{{'_', '$1'}, [], ['$1']}]");
        let mut taken: Vec<Term> = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..3)
                .map(|_| scope.spawn(|| table.select_take(&take).unwrap()))
                .collect();
            takers
                .into_iter()
                .flat_map(|taker| taker.join().unwrap())
                .collect()
        });
        taken.sort_by(Term::cmp_exact);
        taken.dedup();
        assert_eq!((taken.len(), table.len()), (there, 0), "{kind:?}");
    }
}
