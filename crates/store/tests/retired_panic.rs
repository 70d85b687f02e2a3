//! A binding that panics when it is told of a record that goes: the write was done by then, and stands.
#![allow(missing_docs)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fyris::{
    MatchSpec, Options, ResourceRefs, Store, SubscribeOptions, Table, Term, WatchFilter,
    set_resource_refs,
};
use fyris_term::{Atom, Blob, Reference};

const KEEPER: &[u8] = b"keeper";

/// Whether to panic at the next record that goes.
static PANICS: AtomicBool = AtomicBool::new(false);
/// Keepers of records that went.
static GONE: AtomicUsize = AtomicUsize::new(0);

fn retire(_: &[u8]) -> bool {
    // Relaxed, as every access here: one thread.
    assert!(!PANICS.swap(false, Ordering::Relaxed), "the binding fails");
    GONE.fetch_add(1, Ordering::Relaxed);
    false
}

fn reference(n: u32) -> Term {
    Term::Reference(Box::new(Reference {
        node: Atom::new("nonode@nohost").expect("an atom"),
        creation: 1,
        ids: vec![n],
    }))
}

fn object(n: u32) -> Term {
    Term::tuple(vec![Term::Int(1), reference(n)])
}

/// Puts the second object in the place of the first by `write`, while the binding panics at what goes.
fn check(options: &Options, write: impl Fn(&Table)) {
    let owner = Store::new().owner();
    let table = owner.new_table("t", options).expect("a table");
    table.insert(&object(1)).expect("inserts");
    let told = table.subscribe(&WatchFilter::all(), &SubscribeOptions::new());
    let mut told = told.expect("a live table");
    PANICS.store(true, Ordering::Relaxed);
    catch_unwind(AssertUnwindSafe(|| write(&table))).expect_err("the binding fails");
    assert_eq!(table.lookup(&Term::Int(1)), Ok(vec![object(2)]));
    let event = told.try_next().expect("it is told");
    let news = event
        .changes()
        .iter()
        .filter_map(|change| change.new.clone());
    assert_eq!(news.collect::<Vec<_>>(), [object(2)]);
    drop((event, told));
    let before = GONE.load(Ordering::Relaxed);
    table.delete_key(&1).expect("deletes");
    assert_eq!(
        GONE.load(Ordering::Relaxed),
        before + 1,
        "not before it went"
    );
}

#[test]
fn what_was_put_in_stays_when_a_binding_panics_at_what_goes() {
    set_resource_refs(ResourceRefs {
        is_resource_ref: |bytes| bytes.starts_with(KEEPER),
        any: || true,
        find: |_| Some(Blob::from(KEEPER.to_vec())),
        again: |_| Some(Blob::from(KEEPER.to_vec())),
        retire,
        release: |_| {},
    });
    for options in [Options::set(), Options::ordered_set()] {
        check(&options, |table| table.insert(&object(2)).expect("inserts"));
        check(&options, |table| {
            table
                .compare_and_swap(&object(1), &object(2))
                .expect("replaces");
        });
        check(&options, |table| {
            let now = table.upsert(&Term::Int(1), |_| Some(object(2)));
            now.expect("replaces");
        });
    }
    let second = Term::tuple(vec![Term::atom("const"), reference(2)]);
    let body = Term::tuple(vec![Term::tuple(vec![Term::atom("$1"), second])]);
    let head = Term::tuple(vec![Term::atom("$1"), Term::atom("_")]);
    let clause = vec![head, Term::list(vec![]), Term::list(vec![body])];
    let spec = MatchSpec::new(&Term::list(vec![Term::tuple(clause)])).expect("a specification");
    check(&Options::duplicate_bag(), |table| {
        table.select_replace(&spec).expect("replaces");
    });
}
