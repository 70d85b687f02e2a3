//! Measures what watching costs writers: inserts without a subscription, with some that do not match and one that does,
//! and that one read by another thread. Interleaved rounds, medians, ratios.
//!
//! `cargo run --release -p fyris --example watch_ratio`

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use fyris::{Options, Result, Store, SubscribeOptions, Subscription, Table, WatchFilter, term};

const ROUNDS: usize = 15;
/// Inserts of a round.
const COUNT: i64 = 50_000;

/// The tables that are measured: of one type, filled alike, and watched each in another way.
struct WatchedTable {
    name: &'static str,
    table: Table,
    /// Not read.
    _idle: Vec<Subscription>,
    /// Read by another thread.
    read: Option<Subscription>,
    times: Vec<f64>,
}

fn main() -> Result<()> {
    let store = Store::new();
    let owner = store.owner();
    for (kind, text) in [
        (Options::set(), false),
        (Options::set(), true),
        (Options::ordered_set(), false),
    ] {
        let value = |n: i64| match text {
            false => term!({n, n}),
            true => term!({n, "a value of thirty-two bytes, say"}),
        };
        let table = || -> Result<Table> {
            let table = owner.new_table("t", &kind.clone().public())?;
            table.insert_many((0..COUNT).map(value))?;
            Ok(table)
        };
        let mut cases = Vec::new();
        for name in [
            "no subscription",
            "1 of another key",
            "1,000, each of another key",
            "1 of a pattern that does not match",
            "1 of all, not read (its queue overflows)",
            "1 of all, read by another thread",
        ] {
            cases.push(WatchedTable::new(name, table()?)?);
        }
        println!("\n{kind:?}, {}", if text { "texts" } else { "integers" });
        measure(&mut cases, value)?;
    }
    Ok(())
}

impl WatchedTable {
    fn new(name: &'static str, table: Table) -> Result<WatchedTable> {
        let of = |filter: &WatchFilter| table.subscribe(filter, &SubscribeOptions::new());
        let keys = |many: i64| -> Result<Vec<Subscription>> {
            (1..=many)
                .map(|n| of(&WatchFilter::key(term!((-n)))))
                .collect()
        };
        let (idle, read) = match name.split(' ').collect::<Vec<_>>()[..] {
            ["no", ..] => (Vec::new(), None),
            ["1", "of", "another", ..] => (keys(1)?, None),
            ["1,000,", ..] => (keys(1000)?, None),
            ["1", "of", "a", ..] => (vec![of(&WatchFilter::pattern(&term!({:"_", -1}))?)?], None),
            [.., "thread"] => (Vec::new(), Some(of(&WatchFilter::all())?)),
            _ => (vec![of(&WatchFilter::all())?], None),
        };
        Ok(WatchedTable {
            name,
            table,
            _idle: idle,
            read,
            times: Vec::new(),
        })
    }

    /// Runs a round, and returns nanoseconds an insert.
    fn round(&mut self, insert: &dyn Fn(&Table) -> Result<()>) -> Result<f64> {
        let stop = AtomicBool::new(false);
        let (table, read) = (&self.table, &mut self.read);
        scope(|s| {
            if let Some(changes) = read {
                let stop = &stop;
                s.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        black_box(changes.next_within(Duration::from_millis(1)));
                    }
                    while changes.try_next().is_some() {}
                });
            }
            let begin = Instant::now();
            let done = insert(table);
            let took = begin.elapsed();
            stop.store(true, Ordering::Relaxed);
            done.map(|()| took.as_nanos() as f64 / COUNT as f64)
        })
    }
}

fn measure(cases: &mut [WatchedTable], value: impl Fn(i64) -> fyris::Term) -> Result<()> {
    for round in 0..ROUNDS as i64 {
        let insert = |table: &Table| {
            (0..COUNT).try_for_each(|n| {
                let key = (n * 7919 + round) % COUNT;
                table.insert(&match value(key) {
                    fyris::Term::Tuple(object) if round % 2 == 0 && object[1] == term!((key)) => {
                        term!({key, (key + 1)})
                    }
                    _ if round % 2 == 0 => term!({key, "another value, of thirty-two too"}),
                    object => object,
                })
            })
        };
        for case in cases.iter_mut() {
            let time = case.round(&insert)?;
            case.times.push(time);
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let first = median(&mut cases[0].times);
    for case in cases {
        let time = median(&mut case.times);
        println!("{:44} {time:7.1} ns {:6.2}", case.name, time / first);
    }
    Ok(())
}
