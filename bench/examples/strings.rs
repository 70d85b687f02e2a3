//! `JudyBytes` beside libJudy's JudySL and the standard library's `BTreeMap` on byte strings, one thread, interleaved.
//! Prints medians of the processor's time, the ratio to JudySL, and bytes an entry by each map's own account.
//!
//! `cargo run --release --example strings [ENTRIES [RUNS]]`, 1,000,000 and 5 if they are not given.
#![allow(missing_docs)]

#[cfg(libjudy)]
#[allow(dead_code, reason = "for the memory that it gives to the library")]
#[path = "../src/judyl.rs"]
mod judyl;
#[cfg(libjudy)]
#[path = "../src/judysl.rs"]
mod judysl;

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
    use std::collections::BTreeMap;

    use super::judysl::JudySL;
    use fyris_index::JudyBytes;

    /// A map as the benchmark uses it. Keys end in a zero.
    trait Map {
        fn new() -> Self;
        fn insert(&mut self, key: &[u8], value: u64);
        fn get(&self, key: &[u8]) -> Option<u64>;
        fn remove(&mut self, key: &[u8]) -> bool;
        /// Bytes of it, if it knows them.
        fn bytes(self) -> Option<u64>;
    }

    impl Map for JudyBytes<u64> {
        fn new() -> Self {
            JudyBytes::new()
        }
        fn insert(&mut self, key: &[u8], value: u64) {
            JudyBytes::insert(self, &key[..key.len() - 1], value);
        }
        fn get(&self, key: &[u8]) -> Option<u64> {
            JudyBytes::get(self, &key[..key.len() - 1]).copied()
        }
        fn remove(&mut self, key: &[u8]) -> bool {
            JudyBytes::remove(self, &key[..key.len() - 1]).is_some()
        }
        fn bytes(self) -> Option<u64> {
            Some(self.node_bytes().total() as u64)
        }
    }

    impl Map for JudySL {
        fn new() -> Self {
            JudySL::new()
        }
        fn insert(&mut self, key: &[u8], value: u64) {
            *self.place(key) = value;
        }
        fn get(&self, key: &[u8]) -> Option<u64> {
            JudySL::get(self, key)
        }
        fn remove(&mut self, key: &[u8]) -> bool {
            JudySL::remove(self, key)
        }
        fn bytes(mut self) -> Option<u64> {
            Some(self.free())
        }
    }

    impl Map for BTreeMap<Box<[u8]>, u64> {
        fn new() -> Self {
            BTreeMap::new()
        }
        fn insert(&mut self, key: &[u8], value: u64) {
            BTreeMap::insert(self, key.into(), value);
        }
        fn get(&self, key: &[u8]) -> Option<u64> {
            BTreeMap::get(self, key).copied()
        }
        fn remove(&mut self, key: &[u8]) -> bool {
            BTreeMap::remove(self, key).is_some()
        }
        fn bytes(self) -> Option<u64> {
            None
        }
    }

    fn scrambled(i: u64) -> u64 {
        let x = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }

    type Kind = (&'static str, fn(u64) -> String);

    /// Kinds of keys: random hexadecimal digits, addresses of pages, and a counter behind a prefix that all share.
    const KINDS: [Kind; 3] = [
        ("20 bytes", |i| {
            format!("{:016x}{:04x}", scrambled(i), i & 0xFFFF)
        }),
        ("60 bytes, addresses", |i| {
            let n = scrambled(i);
            format!(
                "https://www.example.com/{:04}/{:012x}/page-{:08}.html",
                n % 1000,
                n >> 10 & 0xFFFF_FFFF_FFFF,
                i
            )
        }),
        ("shared prefix", |i| {
            format!(
                "a/prefix/that/all/of/the/keys/share/{:08x}",
                // Odd, so that no two products are equal.
                (i as u32).wrapping_mul(0x9E37_79B1)
            )
        }),
    ];

    /// Returns the processor's time of this thread in nanoseconds.
    fn clock() -> u64 {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: a place for the time.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    const PHASES: [&str; 3] = ["insert", "hit", "delete"];

    /// Returns the nanoseconds an operation of each phase.
    fn timed<M: Map>(keys: &[Vec<u8>], order: &[usize]) -> [f64; 3] {
        let (mut map, mut times) = (M::new(), [0; 4]);
        times[0] = clock();
        for (n, key) in keys.iter().enumerate() {
            map.insert(key, n as u64);
        }
        times[1] = clock();
        for &n in order {
            assert_eq!(map.get(&keys[n]), Some(n as u64));
        }
        times[2] = clock();
        for &n in order {
            assert!(map.remove(&keys[n]));
        }
        times[3] = clock();
        [0, 1, 2].map(|phase| (times[phase + 1] - times[phase]) as f64 / keys.len() as f64)
    }

    fn bytes<M: Map>(keys: &[Vec<u8>]) -> Option<f64> {
        let mut map = M::new();
        for key in keys {
            map.insert(key, 0);
        }
        Some(map.bytes()? as f64 / keys.len() as f64)
    }

    fn median(mut times: Vec<f64>) -> f64 {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

    pub fn main() {
        let mut numbers = std::env::args()
            .skip(1)
            .map(|n| n.parse().expect("a number"));
        let (entries, runs) = (
            numbers.next().unwrap_or(1_000_000),
            numbers.next().unwrap_or(5),
        );
        println!(
            "{entries} entries, {runs} runs; ns an operation, medians; `ratio`: JudyBytes over JudySL"
        );
        println!(
            "| keys | phase | JudyBytes | JudySL | BTreeMap | ratio |\n|---|---|---|---|---|---|"
        );
        for (name, key) in KINDS {
            let ended = |i| [key(i).as_bytes(), &[0]].concat();
            let keys: Vec<Vec<u8>> = (0..entries as u64).map(ended).collect();
            let mut order: Vec<usize> = (0..entries).collect();
            order.sort_by_key(|i| scrambled(*i as u64 + 7));
            let mut times = [(); 3].map(|()| Vec::new());
            for _ in 0..runs {
                times[0].push(timed::<JudyBytes<u64>>(&keys, &order));
                times[1].push(timed::<JudySL>(&keys, &order));
                times[2].push(timed::<BTreeMap<Box<[u8]>, u64>>(&keys, &order));
            }
            for (phase, label) in PHASES.iter().enumerate() {
                let [ours, theirs, tree] =
                    [0, 1, 2].map(|map| median(times[map].iter().map(|run| run[phase]).collect()));
                let ratio = ours / theirs;
                println!("| {name} | {label} | {ours:.0} | {theirs:.0} | {tree:.0} | {ratio:.2} |");
            }
            if let (Some(ours), Some(theirs)) =
                (bytes::<JudyBytes<u64>>(&keys), bytes::<JudySL>(&keys))
            {
                println!(
                    "| {name} | bytes an entry | {ours:.1} | {theirs:.1} | | {:.2} |",
                    ours / theirs
                );
            }
        }
    }
}
