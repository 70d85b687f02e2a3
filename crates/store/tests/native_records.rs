//! Native records of OTP 29 as keys and values.

use fyris::{Options, Store, Table};
use fyris_term::Term;

fn term(text: &str) -> Term {
    Term::parse(text).expect(text)
}

fn table(options: &Options) -> Table {
    let owner = Box::leak(Box::new(Store::new().owner()));
    owner.new_table("t", options).expect("a table")
}

#[test]
fn keys_are_told_apart_as_in_ets() {
    let objects = ["{#m:n{x = 1}, a}", "{#m:n{x = 1.0}, b}", "{#m:n{y = 1}, c}"].map(term);
    for (options, size, of_the_float) in [
        (Options::set(), 3, "[{#m:n{x = 1.0}, b}]"),
        // Numbers fold, and the last one stays.
        (Options::ordered_set(), 2, "[{#m:n{x = 1.0}, b}]"),
        (Options::bag(), 3, "[{#m:n{x = 1.0}, b}]"),
    ] {
        let table = table(&options);
        for object in &objects {
            table.insert(object).expect("an object");
        }
        assert_eq!(table.len(), size);
        let found = table.lookup(&term("#m:n{x = 1.0}")).expect("a table");
        assert_eq!(Term::list(found), term(of_the_float));
        assert!(table.member(&term("#m:n{y = 1}")).expect("a table"));
        assert!(!table.member(&term("#m:o{y = 1}")).expect("a table"));
    }
    let table = table(&Options::ordered_set());
    for object in objects.iter().rev() {
        table.insert(object).expect("an object");
    }
    let found = table.lookup(&term("#m:n{x = 1}")).expect("a table");
    assert_eq!(Term::list(found), term("[{#m:n{x = 1}, a}]"));
}

/// `ets` of OTP 29 takes 23 words for an object, with the names in it, against 12 of a tuple.
#[test]
fn an_object_takes_no_more_than_with_a_tuple() {
    const MANY: i64 = 10_000;
    let memory = |value: &str| {
        let table = table(&Options::set());
        let empty = table.memory();
        for key in 0..MANY {
            let object = Term::tuple([Term::Int(key), term(value)]);
            table.insert(&object).expect("an object");
        }
        (table.memory() - empty) / MANY as usize
    };
    let [record, tuple] = ["#m:n{first = 1000, second = b}", "{n,1000,b}"].map(memory);
    assert!(record <= tuple + 8, "{record} and {tuple} bytes");
}
