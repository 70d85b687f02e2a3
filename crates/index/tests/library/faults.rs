//! Libraries at fault.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use fyris_index::conformance::{Census, Object, put, remove};
use fyris_index::library::{Fault, Library, LibraryIndex};
use fyris_index::reclaim::pin;
use fyris_index::{Entry, Index, IndexOptions, OrderedIndex};

use crate::{build, load};

/// What is wrong when a library is loaded.
#[test]
fn a_library_that_cannot_serve_is_refused() {
    let fault = |definition| load(&build::sorted(&[definition])).expect_err("it cannot serve");
    assert_eq!(fault("FAULT_VERSION"), Fault::Version(2));
    assert_eq!(fault("FAULT_SIZE"), Fault::Size(24));
    assert_eq!(fault("FAULT_CAPABILITIES"), Fault::Capabilities(0x100));
    assert_eq!(fault("FAULT_SYMBOL"), Fault::NoSymbol);
    assert_eq!(fault("FAULT_FUNCTIONS"), Fault::NoFunctions);
    assert_eq!(fault("FAULT_FUNCTION"), Fault::NoFunction("get"));
    assert_eq!(fault("FAULT_ABOVE"), Fault::NoFunction("above"));
    assert_eq!(fault("FAULT_BELOW"), Fault::NoFunction("below"));
    let undefined = fault("FAULT_UNDEFINED");
    assert!(
        matches!(&undefined, Fault::NotLoaded(why) if why.contains("fyris_nowhere")),
        "{undefined:?}"
    );
    // SAFETY: there is none.
    let missing = unsafe { Library::load("/no/such/library.so") };
    assert!(matches!(missing, Err(Fault::NoFile(_))));
    // A file that the system's folders have is not looked for there.
    // SAFETY: as above.
    let missing = unsafe { Library::load("libc.so.6") };
    assert!(matches!(missing, Err(Fault::NoFile(_))));
    // SAFETY: a text.
    let text = unsafe { Library::load(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")) };
    assert!(matches!(text, Err(Fault::NotLoaded(_))));
}

#[test]
fn a_library_that_makes_no_table_is_refused() {
    let library = load(&build::sorted(&["FAULT_CREATE"])).expect("it can be loaded");
    let index = library.index::<Object>(&IndexOptions::default());
    assert_eq!(index.err(), Some(Fault::NotCreated));
}

#[test]
fn an_ordered_index_needs_an_order() {
    let by_hash = load(&build::sorted(&["BY_HASH"])).expect("without fault");
    let options = IndexOptions::default();
    let index = by_hash.ordered_index::<Object>(&options);
    assert_eq!(index.err(), Some(Fault::NoOrder));
    assert!(by_hash.features().iteration && !by_hash.is_ordered());
    if let Some(unordered) = build::example("unordered_map") {
        let unordered = load(&unordered).expect("without fault");
        assert!(!unordered.features().iteration && !unordered.is_ordered());
        let index = unordered.ordered_index::<Object>(&options);
        assert_eq!(index.err(), Some(Fault::NoOrder));
    }
}

/// An index beside a model of it.
struct Pair {
    index: LibraryIndex<Object>,
    model: BTreeMap<u64, u64>,
    census: Arc<Census>,
}

impl Pair {
    fn new(definitions: &[&str]) -> Pair {
        let library = load(&build::sorted(definitions)).expect("it can be loaded");
        Pair {
            index: library.index(&IndexOptions::default()).expect("a table"),
            model: BTreeMap::new(),
            census: Census::new(),
        }
    }

    fn put(&mut self, key: u64, value: u64) {
        let old = put(&self.index, &self.census, key, value, &pin());
        assert_eq!(old, self.model.insert(key, value));
    }

    fn remove(&mut self, key: u64) {
        assert_eq!(remove(&self.index, key, &pin()), self.model.remove(&key));
    }

    /// Compares every answer of the index with that of the model.
    fn check(&self) {
        let (index, pin) = (&self.index, pin());
        for key in 0..12 {
            let found = index.get(&key, &pin).map(|object| object.value());
            assert_eq!(found, self.model.get(&key).copied());
            let above = index.seek(Excluded(&key), &pin).map(|e| *e.key());
            let expected = self.model.range((Excluded(key), Unbounded)).next();
            assert_eq!(above, expected.map(|(key, _)| *key));
        }
        let everything = (Unbounded, Unbounded);
        let (mut up, mut down) = (Vec::new(), Vec::new());
        assert!(!index.scan(everything, 100, &pin, &mut up));
        assert!(!index.scan_back(everything, 100, &pin, &mut down));
        down.reverse();
        let keys = |found: &[Object]| found.iter().map(|e| *e.key()).collect::<Vec<_>>();
        assert_eq!(keys(&up), self.model.keys().copied().collect::<Vec<_>>());
        assert_eq!(keys(&down), keys(&up));
        assert_eq!(index.len(), self.model.len());
        assert!(index.memory() > 0);
    }
}

/// Puts in and takes out until the library has done it, and looks that every answer was right, before and after.
fn finds(definitions: &[&str], is_it: impl Fn(&Fault) -> bool) {
    let mut pair = Pair::new(&[definitions, &["NOT_DESTROYED"]].concat());
    let (status, census) = (pair.index.status(), pair.census.clone());
    for round in 0..3 {
        for key in [4, 9, 1, 6, 2] {
            pair.put(key, 10 * round + key);
        }
        pair.check();
        for key in [9, 4, 2] {
            pair.remove(key);
        }
        pair.check();
    }
    let fault = status.fault();
    assert!(
        fault.is_some_and(is_it),
        "{definitions:?} was taken for {fault:?}"
    );
    drop(pair);
    census.assert_all_freed();
}

/// Of a library that locks for itself, too, where an answer is doubted before it is condemned.
fn finds_both_ways(definition: &str, is_it: impl Fn(&Fault) -> bool) {
    finds(&[definition], &is_it);
    finds(&[definition, "CONCURRENT"], &is_it);
}

#[test]
fn a_word_that_was_made_up_is_found_out() {
    let unknown = |fault: &Fault| matches!(fault, Fault::UnknownWord(_));
    finds_both_ways("FAULT_WORD=0x4000", unknown);
    // A place that there is, at another use.
    finds_both_ways("FAULT_WORD=0x100000000", unknown);
    finds_both_ways("FAULT_WORD=0xFFFFFF00", unknown);
    finds_both_ways("FAULT_MADE_UP", unknown);
}

#[test]
fn a_word_that_was_removed_is_found_out() {
    finds_both_ways("FAULT_REMOVED", |fault| {
        matches!(fault, Fault::UnknownWord(_))
    });
}

#[test]
fn the_word_of_another_key_is_found_out() {
    finds_both_ways("FAULT_OTHER", |fault| *fault == Fault::OtherKey);
}

#[test]
fn a_key_that_is_lost_is_found_out() {
    finds_both_ways("FAULT_LOST", |fault| *fault == Fault::LostKey);
    finds(&["FAULT_FORGETS", "CONCURRENT"], |fault| {
        *fault == Fault::LostKey
    });
}

#[test]
fn a_refused_key_is_told_of() {
    finds_both_ways("FAULT_REFUSED", |fault| *fault == Fault::Refused(77));
}

#[test]
fn a_wrong_removal_is_found_out() {
    finds_both_ways("FAULT_REMOVE", |fault| *fault == Fault::NotRemoved(0));
}

#[test]
fn a_wrong_count_is_found_out() {
    finds(&["FAULT_LENGTH"], |fault| {
        *fault == Fault::Length { said: 4, keys: 3 }
    });
    finds(&["FAULT_FORGETS"], |fault| {
        *fault == Fault::Length { said: 2, keys: 3 }
    });
}

#[test]
fn an_iteration_that_goes_astray_is_found_out() {
    let disorder = |fault: &Fault| *fault == Fault::Disorder;
    finds_both_ways("FAULT_BACKWARDS", disorder);
    finds_both_ways("FAULT_ENDLESS", disorder);
    finds_both_ways(
        "FAULT_MANY",
        |fault| matches!(fault, Fault::TooMany { said, most } if *said == most + 1),
    );
    finds(&["FAULT_SKIPS"], |fault| {
        *fault == Fault::Incomplete { found: 4, keys: 5 }
    });
}
