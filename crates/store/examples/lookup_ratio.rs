//! Measures the overhead of the store over its index: lookups of `{integer}` objects through a table, against the
//! bare index over the same kind of entries and against a map of plain integers; and the bytes an
//! object takes. Interleaved rounds, medians, ratios.
//!
//! `cargo run --release -p fyris --example lookup_ratio`

use std::hint::black_box;
use std::time::Instant;

use fyris::{Options, Store};
use fyris_index::ConcurrentMap;
use fyris_term::Term;
use rand::seq::SliceRandom;

const OBJECTS: i64 = 1_000_000;
const ROUNDS: usize = 9;

fn time(keys: &[i64], mut f: impl FnMut(i64) -> bool) -> f64 {
    let start = Instant::now();
    let hits = keys.iter().filter(|k| f(**k)).count();
    black_box(hits);
    start.elapsed().as_nanos() as f64 / keys.len() as f64
}

fn main() -> fyris::Result<()> {
    let owner = Store::new().owner();
    let table = owner.new_table("t", &Options::set())?;
    let map: ConcurrentMap<u64, u64> = ConcurrentMap::new();
    let mut keys: Vec<i64> = (0..OBJECTS).map(|k| k * 2).collect();
    keys.shuffle(&mut rand::rng());
    for &key in &keys {
        table.insert(&Term::tuple(vec![Term::Int(key)]))?;
        map.insert(key as u64, key as u64, &fyris::pin());
    }
    keys.shuffle(&mut rand::rng());
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        times[0].push(time(&keys, |k| {
            map.get(&(k as u64), &fyris::pin()).is_some()
        }));
        times[1].push(time(&keys, |k| {
            table.get(&k, &fyris::pin()).unwrap().is_some()
        }));
        times[2].push(time(&keys, |k| table.member(&k).unwrap()));
        times[3].push(time(&keys, |k| {
            !table.lookup(&Term::Int(k)).unwrap().is_empty()
        }));
    }
    let median = |t: &mut Vec<f64>| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 2]
    };
    let base = median(&mut times[0]);
    for (name, times) in ["map", "get", "member", "lookup"].iter().zip(&mut times) {
        let t = median(times);
        println!(
            "{name:8} {t:6.1} ns  {:.2} of the map of integers",
            t / base
        );
    }
    println!(
        "{} bytes an object, index included",
        table.memory() / OBJECTS as usize
    );
    Ok(())
}
