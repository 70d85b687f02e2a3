//! `JudyMap` beside libJudy's JudyL, which is its oracle: the same operations, and equal answers.
//!
//! `JUDY_OPERATIONS` is the number of operations for each kind of keys; 20,000 if it is not set.
#![cfg(libjudy)]

#[path = "../src/judyl.rs"]
mod judyl;

use std::ops::Bound;

use fyris_judy::JudyMap;
use judyl::JudyL;

/// The global allocator, which the library's memory comes from.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Both maps.
struct Pair {
    ours: JudyMap<u64, u64>,
    theirs: JudyL,
}

impl Pair {
    /// Does one operation to both, and compares.
    fn step(&mut self, what: u64, key: u64, value: u64) {
        let Self { ours, theirs } = self;
        let own = |pair: Option<(u64, &u64)>| pair.map(|(key, value)| (key, *value));
        match what {
            0..=5 => {
                let before = theirs.get(key);
                *theirs.place(key) = value;
                assert_eq!(ours.insert(key, value), before, "insert {key:x}");
            }
            6..=9 => {
                let before = theirs.get(key);
                assert_eq!(theirs.remove(key), before.is_some());
                assert_eq!(ours.remove(&key), before, "remove {key:x}");
            }
            10..=12 => assert_eq!(ours.get(&key).copied(), theirs.get(key), "get {key:x}"),
            13 => assert_eq!(
                own(ours.seek(Bound::Included(key))),
                theirs.at_or_above(key),
                "{key:x}"
            ),
            14 => assert_eq!(
                own(ours.seek(Bound::Excluded(key))),
                theirs.above(key),
                "{key:x}"
            ),
            15 => assert_eq!(
                own(ours.seek_back(Bound::Included(key))),
                theirs.at_or_below(key),
                "{key:x}"
            ),
            16 => assert_eq!(
                own(ours.seek_back(Bound::Excluded(key))),
                theirs.below(key),
                "{key:x}"
            ),
            17 => assert_eq!(ours.next_empty(key), theirs.empty_above(key), "{key:x}"),
            18 => assert_eq!(ours.prev_empty(key), theirs.empty_below(key), "{key:x}"),
            19 => {
                let (from, to) = (key.min(value), key.max(value));
                assert_eq!(
                    ours.count_between(from..=to) as u64,
                    theirs.count(from, to),
                    "{from:x} to {to:x}"
                );
            }
            20 => {
                let n = value % (ours.len() as u64 + 1);
                assert_eq!(own(ours.nth(n as usize)), theirs.nth(n), "{n}");
            }
            _ => {
                let mut expected = Vec::new();
                theirs.walk(key, |key, value| {
                    expected.push((key, value));
                    expected.len() < 50
                });
                let range = ours.range(key..).take(expected.len().max(1));
                assert!(
                    range.map(|(key, value)| (key, *value)).eq(expected),
                    "from {key:x}"
                );
            }
        }
    }
}

type Keys = (&'static str, fn(&mut Random) -> u64);

const KEYS: [Keys; 8] = [
    ("dense", |r| r.below(3000)),
    ("the end of the numbers", |r| u64::MAX - r.below(2000)),
    ("a range", |r| r.below(1 << 21)),
    ("spread", |r| r.next()),
    ("one bit", |r| (1 << r.below(64)) | r.below(40)),
    ("clusters", |r| {
        r.below(50) << 40 | r.below(3) << 20 | r.below(70)
    }),
    ("few digits a level", |r| r.next() & 0x0303_0303_0303_0303),
    ("a prefix of some length", |r| {
        0x1122_3344_5566_7788 >> (8 * r.below(4)) << (8 * r.below(4)) | r.below(300)
    }),
];

#[test]
fn answers_are_those_of_libjudy() {
    let operations: u64 =
        std::env::var("JUDY_OPERATIONS").map_or(20_000, |n| n.parse().expect("a number"));
    for (name, keys) in KEYS {
        let mut random = Random(1);
        let mut pair = Pair {
            ours: JudyMap::new(),
            theirs: JudyL::new(),
        };
        for i in 0..operations {
            let (key, other) = (keys(&mut random), keys(&mut random));
            // It grows for a quarter of the operations, then shrinks for one, and so on.
            let mut what = random.below(22);
            let shrinks = i / (operations / 8).max(1) % 2 == 1;
            if shrinks && what < 5 {
                what = 6;
            }
            let key = match pair.ours.seek(Bound::Included(key)) {
                // In what is spread a key is rarely there: take one that is.
                Some((there, _)) if what > 4 && random.below(2) == 0 => there,
                _ => key,
            };
            pair.step(what, key, other);
        }
        let pairs: Vec<_> = pair.ours.iter().map(|(key, value)| (key, *value)).collect();
        for (key, value) in pairs {
            pair.step(6, key, value);
        }
        assert!(pair.ours.is_empty() && pair.theirs.is_empty(), "{name}");
        assert_eq!(pair.ours.node_bytes().total(), 0, "{name}");
    }
}
