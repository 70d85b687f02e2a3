//! `JudyMap` beside libJudy's JudyL and two adaptive radix trees on words, one thread, interleaved: keys that are
//! dense, of a range of twice their number, and spread over 2^64. Prints medians of the processor's time, the live
//! blocks of the allocator, and the ratios of `JudyMap` to JudyL and to the better of the radix trees.
//!
//! `cargo run --release --example words [ENTRIES [RUNS [judy]]]`, 1,000,000 and 5 if they are not given; with `judy`
//! without the radix trees.
#![allow(missing_docs)]

#[cfg(libjudy)]
#[path = "../src/judyl.rs"]
mod judyl;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(not(libjudy))]
fn main() {
    eprintln!("there is no libJudy here: install Debian's libjudy-dev");
}

#[cfg(libjudy)]
fn main() {
    measure::main();
}

#[cfg(libjudy)]
mod measure {
    use std::hint::black_box;

    use blart::TreeMap;
    use congee::Congee;
    use fyris_harness::memory::allocated;
    use fyris_judy::JudyMap;

    use super::judyl::JudyL;

    /// A map as the benchmark uses it.
    trait Map {
        fn new() -> Self;
        fn insert(&mut self, key: u64, value: u64);
        fn get(&self, key: u64) -> Option<u64>;
        fn remove(&mut self, key: u64) -> bool;
        /// Adds up all values in the order of keys; `None` if the map is not asked for it.
        fn scan(&self) -> Option<u64>;
    }

    impl Map for JudyMap<u64, u64> {
        fn new() -> Self {
            JudyMap::new()
        }
        fn insert(&mut self, key: u64, value: u64) {
            JudyMap::insert(self, key, value);
        }
        fn get(&self, key: u64) -> Option<u64> {
            JudyMap::get(self, &key).copied()
        }
        fn remove(&mut self, key: u64) -> bool {
            JudyMap::remove(self, &key).is_some()
        }
        fn scan(&self) -> Option<u64> {
            Some(self.iter().map(|(_, value)| *value).sum())
        }
    }

    impl Map for JudyL {
        fn new() -> Self {
            JudyL::new()
        }
        fn insert(&mut self, key: u64, value: u64) {
            *self.place(key) = value;
        }
        fn get(&self, key: u64) -> Option<u64> {
            JudyL::get(self, key)
        }
        fn remove(&mut self, key: u64) -> bool {
            JudyL::remove(self, key)
        }
        fn scan(&self) -> Option<u64> {
            let mut sum = 0;
            self.walk(0, |_, value| {
                sum += value;
                true
            });
            Some(sum)
        }
    }

    impl Map for TreeMap<[u8; 8], u64> {
        fn new() -> Self {
            TreeMap::new()
        }
        fn insert(&mut self, key: u64, value: u64) {
            TreeMap::insert(self, key.to_be_bytes(), value);
        }
        fn get(&self, key: u64) -> Option<u64> {
            TreeMap::get(self, &key.to_be_bytes()).copied()
        }
        fn remove(&mut self, key: u64) -> bool {
            TreeMap::remove(self, &key.to_be_bytes()).is_some()
        }
        fn scan(&self) -> Option<u64> {
            Some(self.iter().map(|(_, value)| *value).sum())
        }
    }

    impl Map for Congee<usize, usize> {
        fn new() -> Self {
            Congee::default()
        }
        fn insert(&mut self, key: u64, value: u64) {
            let done = Congee::insert(self, key as usize, value as usize, &self.pin());
            done.expect("congee: out of memory");
        }
        fn get(&self, key: u64) -> Option<u64> {
            Congee::get(self, &(key as usize), &self.pin()).map(|value| value as u64)
        }
        fn remove(&mut self, key: u64) -> bool {
            Congee::remove(self, &(key as usize), &self.pin()).is_some()
        }
        fn scan(&self) -> Option<u64> {
            None
        }
    }

    fn scrambled(i: u64) -> u64 {
        let x = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }

    type Kind = (&'static str, fn(u64) -> u64);

    const KINDS: [Kind; 3] = [
        ("dense", |i| i),
        ("range of 2n", |i| 2 * i + (scrambled(i) >> 40 & 1)),
        ("spread", scrambled),
    ];

    const PHASES: [&str; 6] = ["insert", "hit", "miss", "scan", "delete", "bytes an entry"];
    /// What is measured of a map in a run: nanoseconds a key of five phases, and bytes an entry.
    type Figures = [f64; PHASES.len()];

    fn measured<M: Map>(keys: &[u64], order: &[u32]) -> Figures {
        let before = allocated();
        let (mut map, n) = (M::new(), keys.len());
        let timed = |times: usize, f: &mut dyn FnMut()| {
            let start = fyris_harness::cpu_now();
            f();
            (fyris_harness::cpu_now() - start) / times as f64
        };
        let key = |at: &u32| keys[*at as usize];
        // In another order than that of the lookups.
        let insert = timed(n, &mut || {
            order
                .iter()
                .rev()
                .for_each(|at| map.insert(key(at), u64::from(*at)))
        });
        let bytes = (allocated() - before) as f64 / n as f64;
        let hit = timed(n, &mut || {
            order
                .iter()
                .for_each(|at| assert_eq!(map.get(key(at)), Some(u64::from(*at))))
        });
        // Neighbours that are no keys: beyond all of them if they are dense.
        let dense = keys[n - 1] == n as u64 - 1;
        let absent = |at: &u32| key(at) ^ if dense { 1 << 30 } else { 1 };
        let miss = timed(n, &mut || {
            order
                .iter()
                .for_each(|at| _ = black_box(map.get(absent(at))))
        });
        let mut sum = None;
        let scan = timed(n, &mut || sum = map.scan());
        let all = n as u64 * (n as u64 - 1) / 2;
        assert_eq!(sum.unwrap_or(all), all);
        let delete = timed(n, &mut || {
            order.iter().for_each(|at| assert!(map.remove(key(at))))
        });
        let scan = sum.map_or(f64::NAN, |_| scan);
        [insert, hit, miss, scan, delete, bytes]
    }

    type Measure = fn(&[u64], &[u32]) -> Figures;

    const MAPS: [(&str, Measure); 4] = [
        ("JudyMap", measured::<JudyMap<u64, u64>>),
        ("JudyL", measured::<JudyL>),
        ("congee", measured::<Congee<usize, usize>>),
        ("blart", measured::<TreeMap<[u8; 8], u64>>),
    ];

    fn median(mut figures: Vec<f64>) -> f64 {
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    }

    /// Measures the maps on one kind of keys, in turn, and prints a line for each phase; returns the logarithms of the
    /// ratios to JudyL.
    fn compare(
        name: &str,
        keys: &[u64],
        order: &[u32],
        runs: usize,
        maps: &[(&str, Measure)],
    ) -> Vec<f64> {
        let mut figures = vec![Vec::new(); maps.len()];
        for run in 0..runs {
            for turn in 0..maps.len() {
                let at = (run + turn) % maps.len();
                figures[at].push(maps[at].1(keys, order));
            }
        }
        let mut ratios = Vec::new();
        for (phase, label) in PHASES.iter().enumerate() {
            let of = |map: &Vec<Figures>| median(map.iter().map(|run| run[phase]).collect());
            let all: Vec<f64> = figures.iter().map(of).collect();
            let columns: String = all.iter().map(|figure| format!(" {figure:.1} |")).collect();
            let judy = all[0] / all[1];
            let art = all[2..].iter().fold(f64::NAN, |least, map| map.min(least));
            println!(
                "| {name} | {label} |{columns} {judy:.2} | {:.2} |",
                all[0] / art
            );
            if phase + 1 < PHASES.len() {
                ratios.push(judy.ln());
            }
        }
        ratios
    }

    pub fn main() {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let number = |at: usize, default: usize| {
            arguments
                .get(at)
                .map_or(default, |n| n.parse().expect("a number"))
        };
        let (entries, runs) = (number(0, 1_000_000), number(1, 5));
        let judy_alone = arguments.get(2).is_some_and(|word| word == "judy");
        let maps = if judy_alone { &MAPS[..2] } else { &MAPS[..] };
        println!("{entries} entries, {runs} runs; medians of ns a key");
        let names: String = maps.iter().map(|(name, _)| format!(" {name} |")).collect();
        println!("| keys | phase |{names} / JudyL | / best ART |");
        println!("|---|---|{}---|---|", "---|".repeat(maps.len()));
        let mut ratios = Vec::new();
        for (name, key) in KINDS {
            let keys: Vec<u64> = (0..entries as u64).map(key).collect();
            let mut order: Vec<u32> = (0..entries as u32).collect();
            order.sort_by_key(|i| scrambled(u64::from(*i) + 7));
            ratios.extend(compare(name, &keys, &order, runs, maps));
        }
        let mean = (ratios.iter().sum::<f64>() / ratios.len() as f64).exp();
        println!("geometric mean of the times' ratios to JudyL: {mean:.2}");
    }
}
