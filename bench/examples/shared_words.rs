//! `ConcurrentJudy` beside congee on words that threads share, interleaved: a hit, and a mix of half lookups, a quarter
//! insertions and a quarter removals, of 1,000,000 keys of a range of 2,000,000. Prints medians of the processor's
//! time. It needs none of the store, so that it is built in a fraction of the time of `fyris-compare core`.
//!
//! `cargo run --release --example shared_words [THREADS [RUNS]]`, 2 and 5 if they are not given.
#![allow(missing_docs)]

use std::hint::black_box;
use std::sync::Barrier;
use std::thread::scope;

use fyris_judy::ConcurrentJudy;

use congee::Congee;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const KEYS: u64 = 1_000_000;
const OPERATIONS: u64 = 1_000_000;

/// A map as the benchmark uses it.
trait Map: Sync {
    fn new() -> Self;
    fn insert(&self, key: u64, value: u64);
    fn get(&self, key: u64) -> Option<u64>;
    fn remove(&self, key: u64) -> bool;
}

impl Map for ConcurrentJudy<u64, u64> {
    fn new() -> Self {
        Self::new()
    }
    fn insert(&self, key: u64, value: u64) {
        self.insert(key, value);
    }
    fn get(&self, key: u64) -> Option<u64> {
        self.get(&key)
    }
    fn remove(&self, key: u64) -> bool {
        self.remove(&key).is_some()
    }
}

impl Map for Congee<usize, usize> {
    fn new() -> Self {
        Self::default()
    }
    fn insert(&self, key: u64, value: u64) {
        let done = self.insert(key as usize, value as usize, &self.pin());
        done.expect("congee: out of memory");
    }
    fn get(&self, key: u64) -> Option<u64> {
        let found = self.get(&(key as usize), &self.pin());
        found.map(|value| value as u64)
    }
    fn remove(&self, key: u64) -> bool {
        self.remove(&(key as usize), &self.pin()).is_some()
    }
}

/// Random numbers, the next of them at each call.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB)
}

/// Returns nanoseconds an operation and thread of a hit and of the mix.
fn measured<M: Map>(threads: u64) -> [f64; 2] {
    let map = M::new();
    let mut keys: Vec<u64> = (0..KEYS).map(|i| 2 * i + (i & 1)).collect();
    keys.sort_by_key(|key| random(&mut key.clone()));
    keys.iter().for_each(|key| map.insert(*key, *key));
    let start = Barrier::new(threads as usize);
    let work = |thread: u64| {
        let mut state = thread;
        start.wait();
        let begun = fyris_harness::cpu_now();
        for i in 0..OPERATIONS {
            let key = keys[((i * threads + thread) % KEYS) as usize];
            black_box(map.get(key));
        }
        let looked = fyris_harness::cpu_now() - begun;
        start.wait();
        let begun = fyris_harness::cpu_now();
        for _ in 0..OPERATIONS {
            let drawn = random(&mut state);
            let key = (drawn >> 8) % (2 * KEYS);
            match drawn % 4 {
                0 => map.insert(key, drawn),
                1 => _ = black_box(map.remove(key)),
                _ => _ = black_box(map.get(key)),
            }
        }
        [looked, fyris_harness::cpu_now() - begun]
    };
    let times: Vec<[f64; 2]> = scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..threads).map(|n| scope.spawn(move || work(n))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().expect("a panic");
        threads.into_iter().map(join).collect()
    });
    [0, 1].map(|case| {
        let all: f64 = times.iter().map(|of| of[case]).sum();
        all / (OPERATIONS * threads) as f64
    })
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|n| n.parse().expect("a number"));
    let (threads, runs) = (numbers.next().unwrap_or(2), numbers.next().unwrap_or(5));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for run in 0..runs {
        if run % 2 == 0 {
            ours.push(measured::<ConcurrentJudy<u64, u64>>(threads));
        }
        theirs.push(measured::<Congee<usize, usize>>(threads));
        if run % 2 == 1 {
            ours.push(measured::<ConcurrentJudy<u64, u64>>(threads));
        }
    }
    println!("{threads} threads, {runs} runs; medians of ns an operation and thread");
    println!("| case | ConcurrentJudy | congee | ratio |\n|---|---|---|---|");
    for (case, name) in ["hit", "mix50"].iter().enumerate() {
        let of = |all: &[[f64; 2]]| median(all.iter().map(|run| run[case]).collect());
        let (ours, theirs) = (of(&ours), of(&theirs));
        println!(
            "| {name} | {ours:.1} | {theirs:.1} | {:.2} |",
            ours / theirs
        );
    }
}
