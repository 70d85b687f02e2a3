//! Updates of small integers and of elements as bytes, which the bindings make, answer as those of terms do.

mod common;

use common::int;
use fyris::{CounterOp, Options, Owner, SmallOp, Store, Table, TableType};
use fyris_term::key::KeyBuf;
use fyris_term::{Term, arbitrary, value};
use proptest::prelude::*;

/// Returns two tables with the same object.
fn twins(owner: &Owner, kind: TableType, object: &Term) -> [Table; 2] {
    ["quick", "slow"].map(|name| {
        let table = owner.new_table(name, &Options::new(kind)).unwrap();
        table.insert(object).unwrap();
        table
    })
}

fn small_op() -> impl Strategy<Value = SmallOp> {
    let number = || prop_oneof![4 => -300..300i64, 1 => any::<i64>()];
    let limit = prop::option::of((number(), number()));
    (prop::option::of(0..6usize), number(), limit).prop_map(|(position, increment, limit)| {
        SmallOp {
            position,
            increment,
            limit,
        }
    })
}

/// Returns objects whose key is 7, most of whose elements are integers.
fn object() -> impl Strategy<Value = Term> {
    let element = prop_oneof![
        3 => (-300..300i64).prop_map(int),
        1 => any::<i64>().prop_map(int),
        1 => arbitrary::plain_term(),
    ];
    prop::collection::vec(element, 0..4)
        .prop_map(|elements| Term::Tuple(std::iter::once(int(7)).chain(elements).collect()))
}

proptest! {
    #[test]
    fn small_steps_count_as_others_do(
        object in object(),
        ops in prop::collection::vec(small_op(), 1..5),
        ordered in any::<bool>(),
    ) {
        let kind = if ordered { TableType::OrderedSet } else { TableType::Set };
        let owner = Store::new().owner();
        let [quick, slow] = twins(&owner, kind, &object);
        let (key, pin) = (KeyBuf::encode(&int(7)), fyris::pin());
        let found = match &ops[..] {
            [op] => quick.count_small(&key, op, &pin).map(|found| found.map(|n| vec![n])),
            ops => {
                let mut new = vec![0; ops.len()];
                (quick.count_all_small(&key, ops, &mut new, &pin)).map(|done| done.then_some(new))
            }
        };
        let terms: Vec<CounterOp> = ops.iter().map(|op| (*op).into()).collect();
        match found {
            Ok(Some(ref new)) => {
                let new: Vec<Term> = new.iter().copied().map(int).collect();
                prop_assert_eq!(Ok(new), slow.update_counter(&int(7), &terms));
            }
            Ok(None) => prop_assert_eq!(quick.lookup(&int(7)).unwrap(), [object]),
            Err(ref error) => {
                let other = slow.update_counter(&int(7), &terms);
                prop_assert_eq!(Err(error.clone()), other);
            }
        }
        if found.is_ok_and(|found| found.is_some()) {
            prop_assert_eq!(quick.lookup(&int(7)), slow.lookup(&int(7)));
        }
    }

    #[test]
    fn elements_as_bytes_take_the_places_of_others(
        object in object(),
        edits in prop::collection::vec((0..6usize, arbitrary::plain_term()), 1..5),
    ) {
        let owner = Store::new().owner();
        let [quick, slow] = twins(&owner, TableType::Set, &object);
        let (key, pin) = (KeyBuf::encode(&int(7)), fyris::pin());
        let (mut written, mut blobs) = (Vec::new(), Vec::new());
        for (position, term) in &edits {
            let mut bytes = Vec::new();
            value::encode(term, &mut bytes, &mut blobs);
            written.push((*position, bytes));
        }
        prop_assume!(blobs.is_empty());
        let elements = written.iter().map(|(position, bytes)| (*position, &bytes[..]));
        match quick.overwrite_all(&key, elements, &pin) {
            Ok(None) => prop_assert_eq!(quick.lookup(&int(7)).unwrap(), [object]),
            done => {
                let done = done.map(|done| done == Some(true));
                prop_assert_eq!(done, slow.update_element(&int(7), &edits));
                prop_assert_eq!(quick.lookup(&int(7)), slow.lookup(&int(7)));
            }
        }
    }
}
