//! `JudyBytes` beside libJudy's JudySL, two adaptive radix trees and the standard library's `BTreeMap` on byte strings,
//! one thread, interleaved. Prints medians of the processor's time, the live blocks of the allocator, and the ratios of
//! `JudyBytes` to JudySL and to the better of the radix trees. (congee is not here: it takes keys of eight bytes only.)
//!
//! `cargo run --release --example strings [ENTRIES [RUNS]]`, 1,000,000 and 5 if they are not given.
#![allow(missing_docs)]

#[cfg(libjudy)]
#[allow(dead_code, reason = "for the memory that it gives to the library")]
#[path = "../../src/judyl.rs"]
mod judyl;
#[cfg(libjudy)]
#[path = "../../src/judysl.rs"]
mod judysl;
#[cfg(libjudy)]
mod maps;

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

    use blart::TreeMap;
    use fyris_harness::memory::allocated;
    use fyris_judy::JudyBytes;
    use rart::{AdaptiveRadixTree, VectorKey};

    use super::judysl::JudySL;
    use super::maps::Map;

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

    const PHASES: [&str; 4] = ["insert", "hit", "delete", "bytes an entry"];
    /// What is measured of a map in a run: nanoseconds an operation of three phases, and bytes an entry.
    type Figures = [f64; 4];

    fn measured<M: Map>(keys: &[Vec<u8>], order: &[usize]) -> Figures {
        let before = allocated();
        let (mut map, mut times) = (M::new(), [0; 5]);
        times[0] = clock();
        for (n, key) in keys.iter().enumerate() {
            map.insert(key, n as u64);
        }
        times[1] = clock();
        let bytes = allocated() - before;
        times[2] = clock();
        for &n in order {
            assert_eq!(map.get(&keys[n]), Some(n as u64));
        }
        times[3] = clock();
        for &n in order {
            assert!(map.remove(&keys[n]));
        }
        times[4] = clock();
        let an_entry = |figure: u64| figure as f64 / keys.len() as f64;
        [
            an_entry(times[1] - times[0]),
            an_entry(times[3] - times[2]),
            an_entry(times[4] - times[3]),
            an_entry(bytes as u64),
        ]
    }

    type Measure = fn(&[Vec<u8>], &[usize]) -> Figures;

    const MAPS: [(&str, Measure); 5] = [
        ("JudyBytes", measured::<JudyBytes<u64>>),
        ("JudySL", measured::<JudySL>),
        ("blart", measured::<TreeMap<Box<[u8]>, u64>>),
        ("rart", measured::<AdaptiveRadixTree<VectorKey, u64>>),
        ("BTreeMap", measured::<BTreeMap<Box<[u8]>, u64>>),
    ];

    fn median(mut figures: Vec<f64>) -> f64 {
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    }

    /// Measures all maps on one kind of keys, in turn, and prints a line for each phase.
    fn compare(name: &str, keys: &[Vec<u8>], order: &[usize], runs: usize) {
        let mut figures = MAPS.map(|_| Vec::new());
        for run in 0..runs {
            for turn in 0..MAPS.len() {
                let at = (run + turn) % MAPS.len();
                figures[at].push(MAPS[at].1(keys, order));
            }
        }
        for (phase, label) in PHASES.iter().enumerate() {
            let of = |map: &Vec<Figures>| median(map.iter().map(|run| run[phase]).collect());
            let all = [0, 1, 2, 3, 4].map(|map| of(&figures[map]));
            let columns: String = all.iter().map(|figure| format!(" {figure:.1} |")).collect();
            let (judy, art) = (all[0] / all[1], all[0] / all[2].min(all[3]));
            println!("| {name} | {label} |{columns} {judy:.2} | {art:.2} |");
        }
    }

    pub fn main() {
        let mut numbers = std::env::args()
            .skip(1)
            .map(|n| n.parse().expect("a number"));
        let entries = numbers.next().unwrap_or(1_000_000);
        let runs = numbers.next().unwrap_or(5);
        println!("{entries} entries, {runs} runs; medians of ns an operation");
        let names: String = MAPS.iter().map(|(name, _)| format!(" {name} |")).collect();
        println!("| keys | phase |{names} / JudySL | / best ART |");
        println!("|---|---|{}---|---|", "---|".repeat(MAPS.len()));
        for (name, key) in KINDS {
            let ended = |i| [key(i).as_bytes(), &[0]].concat();
            let keys: Vec<Vec<u8>> = (0..entries as u64).map(ended).collect();
            let mut order: Vec<usize> = (0..entries).collect();
            order.sort_by_key(|i| scrambled(*i as u64 + 7));
            compare(name, &keys, &order, runs);
        }
    }
}
