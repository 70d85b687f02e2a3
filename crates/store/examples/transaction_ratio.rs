//! Measures transactions: reads and writes of a few keys against the same single calls and against a map under a lock,
//! transfers by two threads, a key that all read, reads beside writers, and batches against what they stand for.
//! Interleaved rounds, medians, ratios.
//!
//! `cargo run --release -p fyris --example transaction_ratio`

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread::scope;
use std::time::Instant;

use fyris::{BatchCheck, BatchOp, CounterOp, Options, Result, Store, Table, Term, pin, term};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const OBJECTS: i64 = 100_000;
const ROUNDS: usize = 7;
/// Operations of a round.
const COUNT: u32 = 20_000;

/// What is measured, by name.
type Case<'c> = (&'static str, Box<dyn FnMut() -> Result<()> + 'c>);

fn main() -> Result<()> {
    let store = Store::new();
    let owner = store.owner();
    let table = owner.new_table("t", &Options::set().public())?;
    for key in 0..OBJECTS {
        table.insert(&term!({key, 0}))?;
    }
    let map = RwLock::new(
        (0..OBJECTS)
            .map(|key| (key, 0))
            .collect::<HashMap<i64, i64>>(),
    );
    println!(
        "ns an operation, of {OBJECTS} {{integer, integer}}; ratios to the first of each group"
    );
    one_thread(&store, &table, &map)?;
    for accounts in [1000, 10] {
        transfers(&store, &table, accounts)?;
    }
    common_key(&store, &table)?;
    let other = owner.new_table("other", &Options::set().public())?;
    batches(&store, &table, &other)?;
    reads_beside_writers(&store, &table)
}

/// Two reads and two writes of the same two keys, and of four.
fn one_thread(store: &Store, table: &Table, map: &RwLock<HashMap<i64, i64>>) -> Result<()> {
    let keys = |n: u32| [0, 1, 2, 3].map(|k| (i64::from(n) * 7919 + k * 31) % OBJECTS);
    let both = |t: &Table, read: [i64; 2], write: [i64; 2]| {
        let pin = pin();
        for key in read {
            black_box(t.get(&key, &pin)?.is_some());
        }
        for key in write {
            t.insert(&term!({key, 1}))?;
        }
        Ok(())
    };
    for (name, other) in [("2 reads and 2 writes, two keys", 0), ("four keys", 2)] {
        let split = |n: u32| {
            let all = keys(n);
            ([all[0], all[1]], [all[other], all[other + 1]])
        };
        let single = || (0..COUNT).try_for_each(|n| both(table, split(n).0, split(n).1));
        let transaction = || {
            (0..COUNT).try_for_each(|n| {
                store.transaction(|tx| both(&tx.table(table)?, split(n).0, split(n).1))
            })
        };
        let locked = || {
            for n in 0..COUNT {
                let (read, write) = split(n);
                let mut map = map.write().expect("no panic");
                read.iter()
                    .for_each(|key| assert!(black_box(map.get(key)).is_some()));
                map.extend(write.map(|key| (key, 1)));
            }
            Ok(())
        };
        compare(
            name,
            vec![
                ("four single calls", Box::new(single)),
                ("transaction", Box::new(transaction)),
                ("RwLock<HashMap>", Box::new(locked)),
            ],
        )?;
    }
    Ok(())
}

/// Transfers between accounts by two threads, most of them between the first ones (Zipf, 0.99).
fn transfers(store: &Store, table: &Table, accounts: usize) -> Result<()> {
    let ranks: Vec<f64> = (1..=accounts)
        .map(|rank| (rank as f64).powf(-0.99))
        .collect();
    let total: f64 = ranks.iter().sum();
    let pick = |rng: &mut SmallRng| {
        let mut left = rng.random::<f64>() * total;
        let found = ranks.iter().position(|share| {
            left -= share;
            left < 0.0
        });
        found.unwrap_or(0) as i64
    };
    let by_two = |transfer: &(dyn Fn(i64, i64) -> Result<()> + Sync)| {
        scope(|scope| {
            let work = |seed| {
                let mut rng = SmallRng::seed_from_u64(seed);
                (0..COUNT / 2).try_for_each(|_| transfer(pick(&mut rng), pick(&mut rng)))
            };
            let other = scope.spawn(move || work(2));
            work(1).and(other.join().expect("a thread without a fault"))
        })
    };
    let add = |table: &Table, key: i64, more: i64| {
        table
            .update_counter(&term!(key), &[CounterOp::add(more)])
            .map(drop)
    };
    let map = Mutex::new(HashMap::<i64, i64>::new());
    let lock = Mutex::new(());
    let plain = |from, to| {
        let mut map = map.lock().expect("no panic");
        *map.entry(from).or_default() -= 1;
        *map.entry(to).or_default() += 1;
        Ok(())
    };
    let around = |from, to| {
        let _held = lock.lock().expect("no panic");
        add(table, from, -1)?;
        add(table, to, 1)
    };
    let transaction = |from, to| {
        store.transaction(|tx| {
            let table = tx.table(table)?;
            add(&table, from, -1)?;
            add(&table, to, 1)
        })
    };
    compare(
        &format!("transfers between {accounts} accounts, two threads"),
        vec![
            ("Mutex<HashMap>", Box::new(|| by_two(&plain))),
            ("Mutex around a table", Box::new(|| by_two(&around))),
            ("transaction", Box::new(|| by_two(&transaction))),
        ],
    )
}

/// Two threads that write keys of their own, without and with a look at one common key.
fn common_key(store: &Store, table: &Table) -> Result<()> {
    let by_two = |reads: bool| {
        scope(|scope| {
            let work = move |part: i64| {
                (0..COUNT / 2).try_for_each(|n| {
                    let key = 1000 * (part + 1) + i64::from(n % 500);
                    store.transaction(|tx| {
                        let table = tx.table(table)?;
                        if reads {
                            black_box(table.get(&0i64, &pin())?.is_some());
                        }
                        table.insert(&term!({key, 1}))
                    })
                })
            };
            let other = scope.spawn(move || work(1));
            work(0).and(other.join().expect("a thread without a fault"))
        })
    };
    compare(
        "a write of a key of its own, two threads",
        vec![
            ("transaction", Box::new(|| by_two(false))),
            ("and it reads a common key", Box::new(|| by_two(true))),
        ],
    )
}

/// Batches against the calls, or the transaction, that do the same.
fn batches(store: &Store, table: &Table, other: &Table) -> Result<()> {
    let pair = |n: u32, k: i64| term!({((i64::from(n) * 7919 + k * 31) % OBJECTS), n});
    let each = |f: &dyn Fn(u32) -> Result<()>| (0..COUNT).try_for_each(f);
    let batch = |ops: &[BatchOp<'_>]| {
        store
            .write_batch(ops)
            .map(|replies| drop(black_box(replies)))
    };
    let one = |n: u32| table.insert(&pair(n, 0));
    let one_by_batch = |n: u32| batch(&[BatchOp::Insert(table, &[pair(n, 0)])]);
    compare(
        "an insert",
        vec![
            ("insert", Box::new(|| each(&one))),
            ("a batch of it", Box::new(|| each(&one_by_batch))),
        ],
    )?;
    let (add, key) = ([CounterOp::add(1)], |n: u32| {
        Term::Int(i64::from(n) * 7919 % OBJECTS)
    });
    let count = |n: u32| table.update_counter(&key(n), &add).map(drop);
    let count_by_batch = |n: u32| batch(&[BatchOp::UpdateCounter(table, &key(n), &add, None)]);
    compare(
        "a counter",
        vec![
            ("update_counter", Box::new(|| each(&count))),
            ("a batch of it", Box::new(|| each(&count_by_batch))),
        ],
    )?;
    let hundred = |n: u32| -> Vec<Term> { (0..100).map(|k| pair(n, k)).collect() };
    let list = |n: u32| table.insert_list(&hundred(n));
    let list_by_batch = |n: u32| {
        let objects = hundred(n);
        let ops: Vec<_> = objects
            .chunks(1)
            .map(|one| BatchOp::Insert(table, one))
            .collect();
        batch(&ops)
    };
    let rarely = |f: &dyn Fn(u32) -> Result<()>| (0..COUNT / 20).try_for_each(f);
    compare(
        "100 inserts into one table (20 times as long as it says)",
        vec![
            ("insert_list", Box::new(|| rarely(&list))),
            ("a batch of 100", Box::new(|| rarely(&list_by_batch))),
        ],
    )?;
    let single = |n: u32| {
        table
            .insert(&pair(n, 0))
            .and_then(|()| other.insert(&pair(n, 0)))
    };
    let transaction = |n: u32| {
        store.transaction(|tx| {
            tx.table(table)?.insert(&pair(n, 0))?;
            tx.table(other)?.insert(&pair(n, 0))
        })
    };
    let both = |n: u32| {
        let object = [pair(n, 0)];
        batch(&[
            BatchOp::Insert(table, &object),
            BatchOp::Insert(other, &object),
        ])
    };
    compare(
        "an insert into each of two tables",
        vec![
            ("two single calls", Box::new(|| each(&single))),
            ("transaction", Box::new(|| each(&transaction))),
            ("a batch", Box::new(|| each(&both))),
        ],
    )?;
    let swap = |n: u32| {
        let old = table.lookup(&key(n))?.remove(0);
        table.compare_and_swap(&old, &pair(n, 0)).map(drop)
    };
    let checked = |n: u32| {
        let (key, old) = (key(n), table.lookup(&key(n))?);
        let check = BatchOp::Check(table, &key, BatchCheck::Objects(&old));
        batch(&[check, BatchOp::Insert(table, &[pair(n, 0)])])
    };
    compare(
        "a lookup, and an object if it is still so",
        vec![
            ("compare_and_swap", Box::new(|| each(&swap))),
            ("a batch with a check", Box::new(|| each(&checked))),
        ],
    )
}

/// A hundred lookups beside two writers; the table is versioned throughout.
fn reads_beside_writers(store: &Store, table: &Table) -> Result<()> {
    let (_past, over) = (table.snapshot()?, AtomicBool::new(false));
    let hundred = |t: &Table, n: u32| {
        let pin = pin();
        (0..100).try_for_each(|k| {
            let key = (i64::from(n) * 7919 + k * 31) % OBJECTS;
            black_box(t.get(&key, &pin)?.is_some());
            Ok(())
        })
    };
    scope(|scope| {
        for seed in [1, 2] {
            let over = &over;
            scope.spawn(move || {
                let mut rng = SmallRng::seed_from_u64(seed);
                while !over.load(Ordering::Relaxed) {
                    let key = rng.random_range(0..OBJECTS);
                    table.insert(&term!({key, 2})).expect("a table of ours");
                }
            });
        }
        let count = COUNT / 20;
        let result = compare(
            "100 reads beside two writers (20 times as long as it says)",
            vec![
                (
                    "lookups",
                    Box::new(|| (0..count).try_for_each(|n| hundred(table, n))),
                ),
                (
                    "read-only transaction",
                    Box::new(|| {
                        let one = |n| store.transaction(|tx| hundred(&tx.table(table)?, n));
                        (0..count).try_for_each(one)
                    }),
                ),
            ],
        );
        over.store(true, Ordering::Relaxed);
        result
    })
}

/// Runs cases in turn and prints the medians.
fn compare(group: &str, mut cases: Vec<Case<'_>>) -> Result<()> {
    let mut times = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for ((_, run), times) in cases.iter_mut().zip(&mut times) {
            let begin = Instant::now();
            run()?;
            times.push(begin.elapsed().as_nanos() as f64 / f64::from(COUNT));
        }
    }
    println!("{group}");
    let medians: Vec<f64> = times
        .iter_mut()
        .map(|times| {
            times.sort_by(f64::total_cmp);
            times[ROUNDS / 2]
        })
        .collect();
    for ((name, _), median) in cases.iter().zip(&medians) {
        println!("  {name:28} {median:>8.0}  {:>6.2}", median / medians[0]);
    }
    Ok(())
}
