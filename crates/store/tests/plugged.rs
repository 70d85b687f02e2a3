//! Tables on indexes that are made by factories: every operation works on them, or says what the index lacks.
#![allow(missing_docs)]

mod common;

use std::ops::Bound;

use common::{int, tuple};
use fyris::index::IndexOptions;
use fyris::index::plug::{DynIndex, DynOrderedIndex, Features, IndexFactory, PlugEntry, Registry};
use fyris::{
    Cursor, Error, MatchSpec, Options, Owner, RangeOptions, Store, Table, TableType, Term, pin,
};
use fyris_classic::LockedBTree;
use fyris_classic::btree::LockedBTrees;

fn types() -> [Options; 4] {
    [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
    ]
}

fn object(key: i64, value: i64) -> Term {
    tuple([int(key), int(value)])
}

fn spec(text: &str) -> MatchSpec {
    MatchSpec::new(&Term::parse(text).expect("a term")).expect("a specification")
}

/// Returns the content of a table, by every way of reading it, which all agree.
fn content(table: &Table) -> Vec<Term> {
    let mut all = table.tab2list().expect("reads");
    let is_ordered = table.table_type() == TableType::OrderedSet;
    let sort = |terms: &mut Vec<Term>| {
        if !is_ordered {
            terms.sort_by_key(Term::to_string)
        }
    };
    sort(&mut all);
    let mut others = [
        table.iter().collect::<Result<Vec<_>, _>>().expect("reads"),
        table.select(&spec("[{'_',[],['$_']}]")).expect("reads"),
        (0..)
            .map_while(|slot| table.slot(slot).expect("a slot"))
            .flatten()
            .collect(),
    ];
    for other in &mut others {
        sort(other);
        assert_eq!(*other, all);
    }
    all
}

/// Returns whether an index serves a type of table.
fn serves(index: &str, table_type: TableType) -> bool {
    match index {
        "hash" | "judyeh" | "linear_hash" | "michael_hash" | "split_ordered" => {
            table_type != TableType::OrderedSet
        }
        "judyesl" | "judysl" => table_type == TableType::OrderedSet,
        _ => true,
    }
}

/// The same commands on a table of each type, on the default index and on another.
#[test]
fn every_index_answers_alike() {
    let store = common::store();
    let owner = store.owner();
    let each = |index| types().map(|options| (index, options));
    for (index, options) in store.index_names().into_iter().flat_map(each) {
        let default = owner.new_table("default", &options).expect("a table");
        let plugged = owner.new_table("plugged", &options.index(index));
        if !serves(index, default.table_type()) {
            assert!(matches!(plugged, Err(Error::BadIndex { .. })));
            continue;
        }
        let plugged = plugged.expect("a table");
        assert_eq!(plugged.info().expect("it lives").index, index);
        for table in [&default, &plugged] {
            for i in 0..2000i64 {
                table.insert(&object(i * 37 % 500, i)).expect("inserts");
            }
            table
                .insert_list(&[object(7, 7), object(600, 1), object(3, 3)])
                .expect("inserts");
            assert!(!table.insert_new(&object(600, 2)).expect("asks"));
            (0..100).for_each(|i| table.delete_key(&int(5 * i)).expect("deletes"));
            assert!(table.member(&int(7)).expect("asks"));
            let gone = table.select_delete(&spec("[{{'$1','$2'},[{'>','$2',1900}],[true]}]"));
            assert!(gone.expect("deletes") > 0);
        }
        assert_eq!(content(&plugged), content(&default));
        assert_eq!(plugged.len(), default.len());
        for key in 0..610 {
            assert_eq!(
                plugged.lookup(&int(key)).expect("reads"),
                default.lookup(&int(key)).expect("reads")
            );
        }
        plugged.delete_all_objects().expect("empties");
        assert!(plugged.is_empty() && content(&plugged).is_empty());
    }
}

/// An order of keys is that of the index.
#[test]
fn ordered_sets_are_in_order() {
    let store = common::store();
    for index in store.index_names() {
        if serves(index, TableType::OrderedSet) {
            is_in_order(&store.owner(), index);
        }
    }
}

fn is_in_order(owner: &Owner, index: &str) {
    let options = Options::ordered_set().index(index);
    let table = owner.new_table("t", &options).expect("a table");
    (0..1000).for_each(|i| table.insert(&object(i * 7 % 1000, i)).expect("inserts"));
    let keys = |options| table.range(int(10)..int(14), options).expect("reads");
    let up = RangeOptions::new().keys_only();
    assert_eq!(keys(up), [10, 11, 12, 13].map(int));
    assert_eq!(keys(up.reverse().limit(2)), [13, 12].map(int));
    assert_eq!(table.first().expect("reads"), Some(int(0)));
    assert_eq!(table.last().expect("reads"), Some(int(999)));
    assert_eq!(table.prev(&int(500)).expect("reads"), Some(int(499)));
    assert_eq!(table.seek(&int(2000)).expect("reads"), None);
    let mut back = table.iter_back().map(|object| object.expect("reads"));
    assert_eq!(back.next(), Some(object(999, 857)));
    assert_eq!(
        table
            .range((Bound::Excluded(int(9)), Bound::Unbounded), up)
            .expect("reads")
            .len(),
        990
    );
}

/// Makes trees that say that they cannot be scanned.
struct NoScans;

// SAFETY: as those of `LockedBTrees`.
unsafe impl IndexFactory for NoScans {
    fn features(&self) -> Features {
        Features::ALL
            .without_iteration()
            .without_concurrent_writers()
    }

    fn build<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynIndex<E>>> {
        Some(Box::new(LockedBTree::default()))
    }

    fn build_ordered<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynOrderedIndex<E>>> {
        None
    }
}

#[test]
fn what_an_index_lacks_is_named() {
    let mut store = Store::new();
    store.add("no_scans", NoScans).expect("a new name");
    let owner = store.owner();
    let options = Options::set().index("no_scans");
    let table = owner.new_table("t", &options).expect("a table");
    table
        .insert_list(&[object(1, 1), object(2, 2)])
        .expect("inserts");
    assert_eq!(table.lookup(&int(2)).expect("reads"), [object(2, 2)]);
    assert_eq!(
        table
            .select(&spec("[{{1,'$1'},[],['$1']}]"))
            .expect("names its key"),
        [int(1)]
    );
    let lacks = |error: Option<Error>| {
        let error = error.expect("an error");
        assert!(
            error
                .to_string()
                .starts_with("index no_scans lacks iteration"),
            "{error}"
        );
    };
    lacks(table.first().err());
    lacks(table.next(&int(1)).err());
    lacks(table.slot(0).err());
    lacks(table.tab2list().err());
    lacks(table.foldl(0, |_, n| n).err());
    lacks(table.iter().next().and_then(Result::err));
    lacks(table.drain().err());
    lacks(table.select(&spec("[{'_',[],['$_']}]")).err());
    lacks(table.select_delete(&spec("[{'_',[],[true]}]")).err());
    lacks(table.reduce(2, || 0, |n, _| n + 1, |a, b| a + b).err());
    lacks(
        Cursor::new()
            .next_batch(&table, &pin(), &mut Vec::new())
            .err(),
    );
    assert_eq!(table.len(), 2);
    let ordered = owner.new_table("t", &Options::ordered_set().index("no_scans"));
    assert!(matches!(ordered, Err(Error::BadIndex { .. })));
}

#[test]
fn a_name_is_taken_once() {
    let mut store = common::store();
    store.add("mine", LockedBTrees).expect("a new name");
    for name in store.index_names() {
        let again = store.add(name, LockedBTrees);
        assert!(matches!(again, Err(Error::NameTaken(_))));
    }
    assert!(store.add(&"x".repeat(256), LockedBTrees).is_err());
    let other = Store::new().owner();
    assert!(matches!(
        other.new_table("t", &Options::set().index("mine")),
        Err(Error::BadIndex { .. })
    ));
}
