//! Measures what a secondary index costs writers and what it saves readers, beside a second table that is kept by hand:
//! an `ordered_set` of `{{Value, Key}}`. Interleaved rounds, medians, ratios.
//!
//! `cargo run --release -p fyris --example secondary_ratio`

use std::hint::black_box;
use std::time::Instant;

use fyris::{Error, Options, Owner, Result, SecondaryIndex, Store, Table, Term, term};

const ROUNDS: usize = 15;
const COUNT: i64 = 50_000;

/// What is measured: by hand, and with a secondary index.
type Measured<'m> = (
    &'m str,
    &'m dyn Fn() -> Result<()>,
    &'m dyn Fn() -> Result<()>,
);

struct Tables {
    /// With the secondary index.
    indexed: Table,
    /// With a unique one.
    unique: Table,
    /// The pair by hand.
    plain: Table,
    by_value: Table,
    /// Keys by values that are unique.
    of_value: Table,
}

impl Tables {
    fn new(owner: &Owner, kind: &Options) -> Result<Tables> {
        let by = SecondaryIndex::element("by_value", 2);
        Ok(Tables {
            indexed: owner.new_table("t", &kind.clone().secondary(by.clone()))?,
            unique: owner.new_table("t", &kind.clone().secondary(by.unique()))?,
            plain: owner.new_table("t", kind)?,
            by_value: owner.new_table("t", &Options::ordered_set())?,
            of_value: owner.new_table("t", kind)?,
        })
    }

    fn insert_by_hand(&self, object: &Term, key: i64, value: &Term) -> Result<()> {
        self.plain.insert(object)?;
        self.by_value.insert(&term!({{(value.clone()), (key)}}))
    }

    /// The objects of a value, by hand.
    fn lookup_by_hand(&self, value: &Term) -> Result<Vec<Term>> {
        let from = term!({(value.clone()), -1});
        let mut found = Vec::new();
        let mut at = self.by_value.next(&from)?;
        while let Some(Term::Tuple(pair)) = at {
            if pair[0] != *value {
                break;
            }
            found.extend(self.plain.lookup(&pair[1])?);
            at = self.by_value.next(&Term::Tuple(pair))?;
        }
        Ok(found)
    }
}

fn main() -> Result<()> {
    let store = Store::new();
    let owner = store.owner();
    for kind in [Options::set(), Options::ordered_set()] {
        for text in [false, true] {
            println!(
                "\n{}, values are {}",
                if kind == Options::set() {
                    "set"
                } else {
                    "ordered_set"
                },
                if text { "texts" } else { "integers" }
            );
            measure(&owner, &kind, text)?;
        }
    }
    Ok(())
}

fn measure(owner: &Owner, kind: &Options, text: bool) -> Result<()> {
    let value = |n: i64| match text {
        false => Term::Int(n),
        true => Term::from(format!("the value with the number {n:06}")),
    };
    let object = |n: i64, value: Term| term!({(n), (value), "and more"});
    let tables = Tables::new(owner, kind)?;
    let refill = || -> Result<()> {
        [
            &tables.indexed,
            &tables.unique,
            &tables.plain,
            &tables.by_value,
            &tables.of_value,
        ]
        .iter()
        .try_for_each(|table| table.delete_all_objects())
    };
    // A stride lets keys come in no order.
    let key = |n: i64| n * 7919 % COUNT;
    let insert = || (0..COUNT).try_for_each(|n| tables.indexed.insert(&object(key(n), value(n))));
    let insert_by_hand = || {
        (0..COUNT).try_for_each(|n| {
            let value = value(n);
            tables.insert_by_hand(&object(key(n), value.clone()), key(n), &value)
        })
    };
    let insert_unique =
        || (0..COUNT).try_for_each(|n| tables.unique.insert(&object(key(n), value(n))));
    let insert_unique_by_hand = || {
        (0..COUNT).try_for_each(|n| {
            let is_free = tables.of_value.insert_new(&term!({(value(n)), (key(n))}))?;
            assert!(is_free, "each value is of one key");
            tables.plain.insert(&object(key(n), value(n)))
        })
    };
    let found = |found: Vec<Term>| match black_box(found).len() {
        1 => Ok(()),
        many => Err(Error::BadArgument(format!("found {many}"))),
    };
    let look = || {
        (0..COUNT).try_for_each(|n| found(tables.indexed.lookup_by("by_value", &value(key(n)))?))
    };
    let look_by_hand =
        || (0..COUNT).try_for_each(|n| found(tables.lookup_by_hand(&value(key(n)))?));
    let update = || {
        let more = |n| [(3, Term::Int(n))];
        (0..COUNT).try_for_each(|n| {
            tables
                .indexed
                .update_element(&Term::Int(n), &more(n))
                .map(drop)
        })
    };
    let update_by_hand = || {
        let more = |n| [(3, Term::Int(n))];
        (0..COUNT).try_for_each(|n| {
            tables
                .plain
                .update_element(&Term::Int(n), &more(n))
                .map(drop)
        })
    };
    let cases: [Measured<'_>; 4] = [
        (
            "insert what is unique (by hand: insert_new)",
            &insert_unique_by_hand,
            &insert_unique,
        ),
        ("insert", &insert_by_hand, &insert),
        ("look up by value", &look_by_hand, &look),
        (
            "update another element (by hand: one table)",
            &update_by_hand,
            &update,
        ),
    ];
    let mut times: [[Vec<f64>; 2]; 4] = Default::default();
    for _ in 0..ROUNDS {
        refill()?;
        for ((_, by_hand, with), times) in cases.iter().zip(&mut times) {
            for (run, times) in [by_hand, with].into_iter().zip(times) {
                let begin = Instant::now();
                run()?;
                times.push(begin.elapsed().as_nanos() as f64 / COUNT as f64);
            }
        }
    }
    let begin = Instant::now();
    tables
        .plain
        .add_secondary(&SecondaryIndex::element("by_value", 2))?;
    let added = begin.elapsed().as_nanos() as f64 / COUNT as f64;
    println!("add an index to a table in use: {added:.0} ns an object");
    for ((name, ..), [by_hand, with]) in cases.iter().zip(times) {
        let (by_hand, with) = (median(by_hand), median(with));
        println!(
            "{name:45} {by_hand:7.0} ns by hand {with:7.0} ns {:5.2}",
            with / by_hand
        );
    }
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
