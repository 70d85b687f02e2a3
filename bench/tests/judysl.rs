//! `JudyBytes` beside libJudy's JudySL, which is its oracle for keys without zeros: the same operations, equal answers.
//!
//! `JUDY_OPERATIONS` is the number of operations for each kind of keys; 20,000 if it is not set.
#![cfg(libjudy)]

#[allow(dead_code, reason = "for the memory that it gives to the library")]
#[path = "../src/judyl.rs"]
mod judyl;
#[path = "../src/judysl.rs"]
mod judysl;

use std::ops::Bound;

use fyris_judy::JudyBytes;
use judysl::JudySL;

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

fn own(pair: Option<(Vec<u8>, &u64)>) -> Option<(Vec<u8>, u64)> {
    pair.map(|(key, value)| (key, *value))
}

/// Does one operation to both, and compares. `key` has no zero; `ended` is the same with one at its end.
fn step(ours: &mut JudyBytes<u64>, theirs: &mut JudySL, what: u64, key: &[u8], value: u64) {
    let ended = &[key, &[0]].concat()[..];
    match what {
        0..=5 => {
            let before = theirs.get(ended);
            *theirs.place(ended) = value;
            assert_eq!(ours.insert(key, value), before, "insert {key:?}");
        }
        6..=9 => {
            let before = theirs.get(ended);
            assert_eq!(theirs.remove(ended), before.is_some());
            assert_eq!(ours.remove(key), before, "remove {key:?}");
        }
        10..=13 => assert_eq!(ours.get(key).copied(), theirs.get(ended), "get {key:?}"),
        14 => assert_eq!(
            own(ours.seek(Bound::Included(key))),
            theirs.at_or_above(ended),
            "{key:?}"
        ),
        15 => assert_eq!(
            own(ours.seek(Bound::Excluded(key))),
            theirs.above(ended),
            "{key:?}"
        ),
        16 => assert_eq!(
            own(ours.seek_back(Bound::Included(key))),
            theirs.at_or_below(ended),
            "{key:?}"
        ),
        17 => assert_eq!(
            own(ours.seek_back(Bound::Excluded(key))),
            theirs.below(ended),
            "{key:?}"
        ),
        _ => {
            // The library does not count: what is at a rank is what is at or above the key.
            let rank = ours.rank(key);
            assert_eq!(own(ours.nth(rank)), theirs.at_or_above(ended), "{key:?}");
        }
    }
}

type Keys = (&'static str, fn(&mut Random) -> Vec<u8>);

const KEYS: [Keys; 4] = [
    ("short, of few letters", |r| {
        let len = r.below(12);
        (0..len).map(|_| b"ab"[r.below(2) as usize]).collect()
    }),
    ("20 bytes", |r| {
        format!("{:020}", r.below(3000).wrapping_mul(0x9E37_79B9_7F4A_7C15)).into()
    }),
    ("paths", |r| {
        format!(
            "https://www.example.com/{}/{}/page-{}.html",
            r.below(3),
            r.below(20),
            r.below(50)
        )
        .into()
    }),
    ("a shared prefix of some length", |r| {
        let mut key = vec![b'k'; r.below(30) as usize];
        key.extend((0..1 + r.below(9)).map(|_| 1 + r.below(255) as u8));
        key
    }),
];

#[test]
fn it_answers_as_the_library_does() {
    let operations =
        std::env::var("JUDY_OPERATIONS").map_or(20_000, |n| n.parse().expect("a number"));
    for (kind, key) in KEYS {
        let (mut ours, mut theirs) = (JudyBytes::new(), JudySL::new());
        let mut random = Random(7);
        for n in 0..operations {
            // It grows, and shrinks again, several times.
            let growing = n / (operations / 8).max(1) % 2 == 0;
            let what = match random.below(22) {
                0..=5 if !growing && random.below(2) == 0 => 6,
                6..=9 if growing && random.below(2) == 0 => 0,
                what => what,
            };
            let key = key(&mut random);
            step(&mut ours, &mut theirs, what, &key, n);
        }
        let mut all = theirs.at_or_above(&[0]);
        for (key, value) in &ours {
            assert_eq!(all, Some((key.clone(), *value)), "{kind}");
            all = theirs.above(&[&key[..], &[0]].concat());
        }
        assert_eq!(all, None, "{kind}");
    }
}
