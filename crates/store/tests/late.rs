//! The store in destructors of thread-local values: after what the library keeps for the thread, and before.

use std::cell::RefCell;
use std::sync::mpsc;

use fyris::{MatchSpec, Options, Owner, Store, Table};
use fyris_term::Term;

fn object(key: i64) -> Term {
    Term::tuple(vec![Term::Int(key), Term::Int(key * 2)])
}

/// Uses the store, and says what came of it, when it is dropped.
struct AtEnd {
    table: Table,
    said: mpsc::Sender<(i64, usize, usize)>,
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        for key in 0..1000 {
            self.table.insert(&object(key)).unwrap();
            self.table.insert(&object(key)).unwrap();
        }
        self.table.delete_key(&Term::Int(7)).unwrap();
        let binary = Term::Binary(vec![7; 1000].into());
        let large = Term::tuple(vec![Term::Int(3), binary]);
        self.table.insert(&large).unwrap();
        let sum = self.table.foldl(0, |object, sum| match object {
            Term::Tuple(all) => sum + i64::from(matches!(all[1], Term::Int(_))),
            _ => sum,
        });
        let all = self.table.tab2list().unwrap();
        let spec =
            MatchSpec::new(&Term::parse("[{{'$1', '$2'}, [{'>', '$1', 9}], [true]}]").unwrap())
                .unwrap();
        let count = self.table.select_count(&spec).unwrap();
        let _ = self.said.send((sum.unwrap(), all.len(), count));
    }
}

thread_local! {
    static FIRST: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    static LAST: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    static OWNER: RefCell<Option<Owner>> = const { RefCell::new(None) };
}

#[test]
fn destructors_of_thread_local_values_use_the_store() {
    for options in [Options::set(), Options::ordered_set()] {
        let owner = Store::new().owner();
        let table = owner.new_table("t", &options.clone().public()).unwrap();
        let (said, hears) = mpsc::channel();
        let end = |table: &Table| AtEnd {
            table: table.clone(),
            said: said.clone(),
        };
        let (first, last) = (end(&table), end(&table));
        std::thread::spawn(move || {
            // Made before the store is used here, and so dropped after what it keeps.
            FIRST.with_borrow_mut(|place| *place = Some(first));
            last.table.insert(&object(1)).unwrap();
            last.table.tab2list().unwrap();
            LAST.with_borrow_mut(|place| *place = Some(last));
        })
        .join()
        .unwrap();
        // Of 1000 objects the seventh is deleted, and the third holds a binary.
        let told: Vec<_> = hears.try_iter().collect();
        assert_eq!(told, [(998, 999, 990); 2]);
    }
}

#[test]
fn an_owner_ends_with_its_thread() {
    let store = Store::new();
    let (told, hears) = mpsc::channel();
    let owner = store.owner();
    std::thread::spawn(move || {
        OWNER.with_borrow_mut(|place| *place = Some(owner));
        OWNER.with_borrow(|place| {
            let owner = place.as_ref().unwrap();
            let table = owner.new_table("t", &Options::set().public()).unwrap();
            table.insert(&object(1)).unwrap();
            told.send(table.clone()).unwrap();
        });
    })
    .join()
    .unwrap();
    let table = hears.recv().unwrap();
    assert!(
        table.lookup(&Term::Int(1)).is_err(),
        "the table went with its owner"
    );
}
