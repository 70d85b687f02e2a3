//! Objects that are index entries themselves: small ones, and how they become larger and small again.

use fyris::{Options, Store, Table};
use fyris_term::Term;

fn pair(key: i64, value: Term) -> Term {
    Term::tuple(vec![Term::Int(key), value])
}

fn tables() -> Vec<Table> {
    let owner = Box::leak(Box::new(Store::new().owner()));
    [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
    ]
    .iter()
    .map(|options| owner.new_table("t", options).expect("a table"))
    .collect()
}

/// Values around every bound of the forms, and what fits none.
fn values() -> Vec<Term> {
    let bounds = [7, 8, 12, 14, 15, 16, 18, 21, 24, 26, 28, 31, 34, 42, 48, 62];
    let near = bounds
        .iter()
        .flat_map(|&bits| [-1, 0, 1].map(|off| (1i64 << bits) + off));
    let mut values: Vec<Term> = near.flat_map(|n| [Term::Int(n), Term::Int(-n)]).collect();
    values.extend([
        Term::atom("true"),
        Term::list(vec![]),
        Term::binary([0; 2]),
        Term::binary([1; 300]),
        Term::tuple(vec![]),
    ]);
    values
}

#[test]
fn any_small_object_comes_back_and_goes() {
    let values = values();
    for table in tables() {
        for key in values.iter().filter(|v| matches!(v, Term::Int(_))) {
            for value in &values {
                let object = Term::tuple(vec![key.clone(), value.clone()]);
                table.insert(&object).expect("inserts");
                let found = table.lookup(key).expect("looks up");
                assert_eq!(found.last(), Some(&object));
                let other = Term::tuple(vec![key.clone(), Term::atom("other")]);
                table.delete_object(&other).expect("deletes");
                assert_eq!(table.lookup(key).expect("looks up"), found);
                table.delete_object(&object).expect("deletes");
                assert_eq!(table.lookup(key).expect("looks up"), []);
            }
        }
        assert_eq!(table.len(), 0);
    }
}

#[test]
fn objects_grow_out_of_their_entries_and_back() {
    for table in &tables()[..2] {
        let keys = [0, 1, 255, (1 << 21) - 1, (1 << 34) - 1];
        for key in keys {
            table.insert(&pair(key, Term::Int(0))).expect("inserts");
        }
        // The second time, when the table's counters are spread out as its counts ask for.
        let mut memory = [0; 2];
        for (key, round) in keys
            .map(|key| (key, 0))
            .into_iter()
            .chain(keys.map(|key| (key, 1)))
        {
            let mut sum = 0i64;
            for step in (0..62).map(|bits| 1i64 << bits) {
                for step in [step, -step, step / 3] {
                    sum += step;
                    let counted =
                        table.update_counter(&Term::Int(key), &[fyris::CounterOp::add(step)]);
                    assert_eq!(counted.expect("counts"), [Term::Int(sum)]);
                    let found = table.lookup(&Term::Int(key)).expect("looks up");
                    assert_eq!(found, [pair(key, Term::Int(sum))]);
                }
                sum = 0;
                let zero = table.update_element(&Term::Int(key), &[(2, Term::Int(0))]);
                assert_eq!(zero, Ok(true));
            }
            memory[round] = table.memory();
        }
        assert_eq!(table.len(), 5);
        assert_eq!(memory[0], memory[1], "all are small again: {table:?}");
    }
}

/// A list goes in through pending cells, and one that may not is taken out again.
#[test]
fn lists_of_small_objects_are_one_step() {
    for table in tables() {
        let list = |from: i64| {
            (from..from + 50)
                .map(|key| pair(key, Term::Int(key)))
                .collect::<Vec<_>>()
        };
        table.insert_list(&list(0)).expect("inserts");
        assert_eq!(table.insert_new_list(&list(49)), Ok(false));
        assert_eq!(table.insert_new_list(&list(50)), Ok(true));
        assert_eq!(table.len(), 100);
        let mut all = table.tab2list().expect("lists");
        all.sort_by(Term::cmp_order);
        assert_eq!(all, [list(0), list(50)].concat());
    }
}

/// A materialized object stays as it was while its pin lives, however many are materialized after it.
#[test]
fn what_is_seen_stays_while_the_pin_lives() {
    for table in &tables()[..2] {
        for key in 0..2000 {
            table
                .insert(&pair(key, Term::Int(key % 7)))
                .expect("inserts");
        }
        let pin = fyris::pin();
        let see = |key: i64| table.get(&key, &pin).expect("reads").expect("is there");
        let seen: Vec<_> = (0..2000)
            .map(|key| (see(key), see(key).key_bytes()))
            .collect();
        table.delete_all_objects().expect("empties");
        for (key, (object, bytes)) in seen.into_iter().enumerate() {
            assert_eq!(object.key(), Term::Int(key as i64));
            assert!(object.has_key_bytes(bytes), "{key}: {bytes:?}");
        }
    }
}

/// In an ordered set a key that ends within its head is known by it, and no other.
#[test]
fn keys_that_share_a_head_are_told_apart() {
    let float = |value| Term::Float(fyris_term::Float::new(value).expect("finite"));
    let mut keys: Vec<Term> = (0..40)
        .flat_map(|n| {
            [
                Term::Int(n),
                float(n as f64 + 0.5),
                float(-(n as f64) - 0.25),
            ]
        })
        .collect();
    keys.extend((0..60).map(|n| Term::binary([b'x'; 60][..n].to_vec())));
    keys.extend((1..20).map(|n| Term::binary([0; 20][..n].to_vec())));
    keys.extend((0..20).map(|n| Term::atom(&"y".repeat(n))));
    let table = &tables()[1];
    for (at, key) in keys.iter().enumerate() {
        assert_eq!(table.member(key), Ok(false), "{key}");
        let object = Term::tuple(vec![key.clone(), Term::Int(at as i64)]);
        table.insert(&object).expect("inserts");
    }
    assert_eq!(table.len(), keys.len());
    for (at, key) in keys.iter().enumerate() {
        let value = table.lookup_element(key, 2).expect("is there").into_term();
        assert_eq!(value, Term::Int(at as i64), "{key}");
        assert_eq!(table.delete_key(key), Ok(()));
        assert_eq!(table.member(key), Ok(false), "{key}");
    }
}
