//! Memory of deleted objects is released as soon as no thread can be looking at it any more, but for 256 KiB a thread.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use fyris::{MatchSpec, Options, Owner, Store, Table, TableType};
use fyris_term::Term;

fn term(text: &str) -> Term {
    Term::parse(text).expect("a term")
}

/// Bytes of deleted objects that a thread gathers before it has them freed.
const WAITING: usize = 256 << 10;
/// An object that holds as many is freed at once.
const HEAVY: usize = 64 << 10;

/// Returns an object with a large binary, and a way to see whether that is still there.
fn heavy(key: i64) -> (Term, Weak<[u8]>) {
    with_binary(key, HEAVY)
}

fn with_binary(key: i64, bytes: usize) -> (Term, Weak<[u8]>) {
    let bytes: Arc<[u8]> = vec![7; bytes].into();
    let weak = Arc::downgrade(&bytes);
    let object = Term::tuple(vec![Term::Int(key), Term::from(bytes)]);
    (object, weak)
}

/// Other threads of this test program may be pinned for a moment.
fn assert_gone(weak: &Weak<[u8]>, what: &str) {
    let start = Instant::now();
    while weak.strong_count() > 0 {
        assert!(start.elapsed() < Duration::from_secs(5), "{what}: kept");
        std::thread::yield_now();
    }
}

type Remove = fn(&Table, &Owner);

const WAYS: [(&str, Remove); 12] = [
    ("delete", |t, _| t.delete_key(&Term::Int(1)).expect("works")),
    ("delete_object", |t, _| {
        let object = t.lookup(&Term::Int(1)).expect("works");
        t.delete_object(&object[0]).expect("works");
    }),
    ("take", |t, _| drop(t.take(&Term::Int(1)).expect("works"))),
    ("insert", |t, _| {
        // Into a bag this adds an object; then the first is taken out too.
        t.insert(&term("{1, small}")).expect("works");
        t.delete_key(&Term::Int(1)).expect("works");
    }),
    ("insert of a list", |t, _| {
        let small = [term("{1, small}"), term("{2, small}")];
        t.insert_list(&small).expect("works");
        t.delete_key(&Term::Int(1)).expect("works");
    }),
    ("update_element", |t, _| {
        if t.table_type().is_bag() {
            return t.delete_key(&Term::Int(1)).expect("works");
        }
        let edit = [(2, Term::Int(0))];
        assert!(t.update_element(&Term::Int(1), &edit).expect("works"));
    }),
    ("select_delete", |t, _| {
        let spec = MatchSpec::new(&term("[{{'$1', '_'}, [{'==', '$1', 1}], [true]}]"));
        assert_eq!(t.select_delete(&spec.expect("good")), Ok(1));
    }),
    ("drain", |t, _| drop(t.drain().expect("works"))),
    ("delete_all_objects", |t, _| {
        t.delete_all_objects().expect("works")
    }),
    ("delete of the table", |t, _| t.delete().expect("works")),
    ("the owner's end", |_, owner| {
        owner.store().ended(owner.id())
    }),
    ("select_delete of all", |t, _| {
        let spec = MatchSpec::new(&term("[{'_', [], [true]}]"));
        t.select_delete(&spec.expect("good")).expect("works");
    }),
];

fn check(owner: &Owner, kind: TableType, (what, remove): (&str, Remove)) {
    let options = Options::new(kind).public();
    let table = owner.new_table("t", &options).expect("a new table");
    let (object, weak) = heavy(1);
    table.insert(&object).expect("works");
    drop(object);
    assert_eq!(weak.strong_count(), 1, "the table holds it");
    remove(&table, owner);
    assert_gone(&weak, &format!("{kind:?}, {what}"));
}

#[test]
fn what_a_deleted_object_held_is_released_at_once() {
    for kind in [
        TableType::Set,
        TableType::OrderedSet,
        TableType::Bag,
        TableType::DuplicateBag,
    ] {
        for way in WAYS {
            check(&Store::new().owner(), kind, way);
        }
    }
}

#[test]
fn an_operation_under_way_keeps_it_and_releases_it_at_its_end() {
    let owner = Store::new().owner();
    let table = owner.new_table("t", &Options::set()).expect("a new table");
    let (object, weak) = heavy(1);
    table.insert(&object).expect("works");
    drop(object);
    let pin = fyris::pin();
    let found = table.get(&Term::Int(1), &pin).expect("works");
    table.delete_key(&Term::Int(1)).expect("works");
    assert_eq!(weak.strong_count(), 1, "somebody looks at it");
    assert_eq!(found.expect("was there").arity(), 2);
    drop(pin);
    assert_gone(&weak, "after the pin");
}

/// Less than 256 KiB of replaced binaries of any size stay.
#[test]
fn little_waits_at_rest() {
    let owner = Store::new().owner();
    let table = owner.new_table("t", &Options::set()).expect("a new table");
    for bytes in [100, 1000, 10_000] {
        let mut seen = Vec::new();
        for _ in 0..2000 {
            let (object, weak) = with_binary(1, bytes);
            table.insert(&object).expect("works");
            seen.push(weak);
        }
        let start = Instant::now();
        // One is in the table.
        while seen.iter().filter(|weak| weak.strong_count() > 0).count() > WAITING / bytes + 1 {
            assert!(
                start.elapsed() < Duration::from_secs(5),
                "binaries of {bytes} bytes: kept"
            );
            std::thread::yield_now();
        }
    }
}
