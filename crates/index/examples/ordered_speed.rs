//! Measures the speed of the ordered tree beside `RwLock<BTreeMap>`: ratios of medians, interleaved.
//!
//! `cargo run --release -p fyris-index --example ordered_speed [millions] [u64|bytes20|hot8|all]`
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound;
use std::sync::RwLock;
use std::time::Instant;

use fyris_index::ordered::TreeKey;
use fyris_index::tree::{ConcurrentTree, InlineTree, MakeItem, TreeMap};
use fyris_sync::reclaim::pin;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

trait Map<K>: Sync {
    fn get(&self, k: &K) -> bool;
    fn put(&self, k: &K, v: u64);
    fn del(&self, k: &K);
    fn scan(&self) -> (usize, u64);
    fn range(&self, k: &K, n: usize) -> u64;
}

impl<K: TreeKey + Clone + Send + Sync, S: MakeItem<K, K, u64>> Map<K> for TreeMap<K, u64, S>
where
    TreeMap<K, u64, S>: Sync,
{
    #[inline(never)]
    fn get(&self, k: &K) -> bool {
        TreeMap::get(self, k, &pin()).is_some_and(|v| *v != 0)
    }
    #[inline(never)]
    fn put(&self, k: &K, v: u64) {
        self.insert(k.clone(), v, &pin());
    }
    #[inline(never)]
    fn del(&self, k: &K) {
        self.remove(k, &pin());
    }
    fn scan(&self) -> (usize, u64) {
        self.iter(&pin())
            .fold((0, 0), |(n, s), (_, v)| (n + 1, s ^ v))
    }
    #[inline(never)]
    fn range(&self, k: &K, n: usize) -> u64 {
        let pin = pin();
        let range = TreeMap::range(self, (Bound::Included(k), Bound::Unbounded), &pin);
        range.take(n).fold(0, |s, (_, v)| s ^ v)
    }
}

impl<K: Ord + Clone + Send + Sync> Map<K> for RwLock<BTreeMap<K, u64>> {
    #[inline(never)]
    fn get(&self, k: &K) -> bool {
        self.read().unwrap().get(k).is_some_and(|v| *v != 0)
    }
    #[inline(never)]
    fn put(&self, k: &K, v: u64) {
        self.write().unwrap().insert(k.clone(), v);
    }
    #[inline(never)]
    fn del(&self, k: &K) {
        self.write().unwrap().remove(k);
    }
    fn scan(&self) -> (usize, u64) {
        self.read()
            .unwrap()
            .values()
            .fold((0, 0), |(n, s), v| (n + 1, s ^ v))
    }
    #[inline(never)]
    fn range(&self, k: &K, n: usize) -> u64 {
        let map = self.read().unwrap();
        let range = map.range((Bound::Included(k), Bound::Unbounded));
        range.take(n).fold(0, |s, (_, v)| s ^ v)
    }
}

/// Times `f` on each thread; nanoseconds per operation and thread.
fn timed<K: Sync>(threads: usize, keys: &[K], f: impl Fn(usize, &K) + Sync) -> f64 {
    let each = keys.len() / threads;
    let start = Instant::now();
    std::thread::scope(|s| {
        for t in 0..threads {
            let f = &f;
            s.spawn(move || {
                for (i, key) in keys[t * each..(t + 1) * each].iter().enumerate() {
                    f(i, key);
                }
            });
        }
    });
    start.elapsed().as_nanos() as f64 / each as f64
}

const CASES: [&str; 9] = [
    "insert", "hit", "lookup", "mix90", "mix50", "scan", "range100", "delete", "hot8",
];

fn run<K: Sync + Clone>(
    map: &dyn Map<K>,
    n: usize,
    threads: usize,
    key: &dyn Fn(u64) -> K,
) -> Vec<f64> {
    let mut random = SmallRng::seed_from_u64(1);
    let mut keys = |end| -> Vec<K> { (0..n).map(|_| key(random.random_range(0..end))).collect() };
    let (present, any, eight) = (keys(2 * n as u64), keys(2 * n as u64), keys(8));
    let mut shuffled = present.clone();
    shuffled.shuffle(&mut random);
    let mix = |reads: usize| {
        move |i: usize, k: &K| match i * 7919 % 100 {
            x if x < reads => _ = black_box(map.get(k)),
            x if x % 2 == 0 => map.put(k, 1),
            _ => map.del(k),
        }
    };
    let few = &any[..n / 50];
    let mut out = vec![
        timed(threads, &present, |_, k| map.put(k, 1)),
        timed(threads, &shuffled, |_, k| _ = black_box(map.get(k))),
        timed(threads, &any, |_, k| _ = black_box(map.get(k))),
        timed(threads, &any, mix(90)),
        timed(threads, &any, mix(50)),
    ];
    let start = Instant::now();
    let (entries, sum) = map.scan();
    black_box(sum);
    out.push(start.elapsed().as_nanos() as f64 / entries as f64);
    out.push(timed(threads, few, |_, k| _ = black_box(map.range(k, 100))) / 100.0);
    out.push(timed(threads, &shuffled, |_, k| map.del(k)));
    out.push(timed(threads, &eight, |_, k| map.put(k, 1)));
    out
}

fn compare<K: Sync + Clone>(
    name: &str,
    n: usize,
    key: &dyn Fn(u64) -> K,
    ours: &dyn Fn() -> Box<dyn Map<K>>,
    peer: &dyn Fn() -> Box<dyn Map<K>>,
) {
    let runs = std::env::args()
        .nth(3)
        .and_then(|s| s.parse().ok())
        .unwrap_or(3);
    for threads in [1, 2] {
        let mut figures = vec![(Vec::new(), Vec::new()); CASES.len()];
        for _ in 0..runs {
            let a = run(&*ours(), n, threads, key);
            let b = run(&*peer(), n, threads, key);
            for (i, (a, b)) in a.into_iter().zip(b).enumerate() {
                figures[i].0.push(a);
                figures[i].1.push(b);
            }
        }
        for (case, (mut a, mut b)) in CASES.iter().zip(figures) {
            a.sort_by(f64::total_cmp);
            b.sort_by(f64::total_cmp);
            let (a, b) = (a[a.len() / 2], b[b.len() / 2]);
            println!("{name} {threads} {case:9} {a:7.1} {b:7.1} {:.2}", a / b);
        }
    }
}

fn main() {
    let millions: f64 = std::env::args()
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(1.0);
    let what = std::env::args().nth(2).unwrap_or_else(|| "all".to_string());
    let n = (millions * 1e6) as usize;
    let tree = InlineTree::<u64, u64>::new();
    let mut random = SmallRng::seed_from_u64(1);
    while tree.len() < n {
        tree.insert(random.random(), 1, &pin());
    }
    println!(
        "u64 bytes {:.1} {:?}",
        tree.memory() as f64 / n as f64,
        tree.stats()
    );
    drop(tree);
    if what != "bytes20" {
        compare::<u64>(
            "u64",
            n,
            &|k| k,
            &|| Box::new(InlineTree::<u64, u64>::new()),
            &|| Box::new(RwLock::new(BTreeMap::<u64, u64>::new())),
        );
    }
    if what != "u64" {
        compare::<[u8; 20]>(
            "bytes20",
            n,
            &|k| SmallRng::seed_from_u64(k).random(),
            &|| Box::new(ConcurrentTree::<[u8; 20], u64>::new()),
            &|| Box::new(RwLock::new(BTreeMap::<[u8; 20], u64>::new())),
        );
    }
}
