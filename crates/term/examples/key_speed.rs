//! Measures the time that keys and values take: medians over interleaved rounds, the empty loop beside them.
//!
//! `cargo run --release -p fyris-term --example key_speed`; with a case's number as argument only that case runs, a
//! million times, for counting instructions: `valgrind --tool=callgrind target/release/examples/key_speed 1`.

use std::hint::black_box;
use std::time::Instant;

use fyris_term::key::{self, KeyBuf};
use fyris_term::{Blob, Term, value};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const KEYS: usize = 1000;
const REPEATS: usize = 20;
const ROUNDS: usize = 51;

/// Numbers without a pattern.
struct Case {
    name: &'static str,
    run: Box<dyn FnMut()>,
    nanoseconds: Vec<f64>,
}

fn case<T: 'static>(name: &'static str, items: Vec<T>, mut work: impl FnMut(&T) + 'static) -> Case {
    let run = Box::new(move || items.iter().for_each(|item| work(black_box(item))));
    Case {
        name,
        run,
        nanoseconds: Vec::new(),
    }
}

fn cases() -> Vec<Case> {
    let mut random = SmallRng::seed_from_u64(1);
    let ints: Vec<i64> = (0..KEYS)
        .map(|_| random.random_range(0..2_000_000))
        .collect();
    let texts: Vec<[u8; 20]> = (0..KEYS)
        .map(|_| std::array::from_fn(|_| random.random_range(b'a'..=b'z')))
        .collect();
    let binaries: Vec<Term> = texts.iter().map(|text| Term::binary(*text)).collect();
    let atom = Term::atom("customer");
    let tuples: Vec<Term> = ints
        .iter()
        .map(|&n| Term::tuple(vec![atom.clone(), Term::Int(n)]))
        .collect();
    let pairs: Vec<Term> = ints
        .iter()
        .map(|&n| Term::tuple(vec![Term::Int(n), Term::Int(n / 7)]))
        .collect();
    let values: Vec<Vec<u8>> = pairs.iter().map(encoded).collect();
    let keys: Vec<KeyBuf> = tuples.iter().map(KeyBuf::encode).collect();
    vec![
        case("empty loop", ints.clone(), |_| {}),
        case("key of an integer", ints.clone(), |&n| {
            black_box(KeyBuf::from_int(n).bytes());
        }),
        case("key of a 20-byte binary", texts, |text| {
            black_box(KeyBuf::from_binary(text).bytes());
        }),
        case("key of Term 20-byte binary", binaries, |term| {
            black_box(KeyBuf::encode(term).bytes());
        }),
        case("key of {atom, integer}", tuples.clone(), |term| {
            black_box(KeyBuf::encode(term).bytes());
        }),
        case("same, one buffer", tuples, {
            let mut buf = KeyBuf::new();
            move |term| {
                KeyBuf::encode_into(term, &mut buf);
                black_box(buf.bytes());
            }
        }),
        case("key decoded, {atom, integer}", keys, |key| {
            black_box(key::decode(key.order(), key.trailer()).is_ok());
        }),
        case("value of {integer, integer}", pairs, {
            let (mut out, mut blobs) = (Vec::new(), Vec::new());
            move |term| {
                out.clear();
                value::encode(black_box(term), &mut out, &mut blobs);
            }
        }),
        case(
            "value decoded, {integer, integer}",
            values.clone(),
            |bytes| {
                black_box(value::decode(&mut &bytes[..], &[]).is_ok());
            },
        ),
        case("value decoded, its two integers", values.clone(), |bytes| {
            let mut rest = &bytes[1..];
            black_box(value::decode(&mut rest, &[]).is_ok());
            black_box(value::decode(&mut rest, &[]).is_ok());
        }),
        case("value passed over", values, |bytes| {
            black_box(value::skip(&mut &bytes[..]).is_ok());
        }),
    ]
}

fn encoded(term: &Term) -> Vec<u8> {
    let (mut out, mut blobs): (Vec<u8>, Vec<Blob>) = Default::default();
    value::encode(term, &mut out, &mut blobs);
    out
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn main() {
    let mut cases = cases();
    if let Some(only) = std::env::args()
        .nth(1)
        .and_then(|number| number.parse::<usize>().ok())
    {
        (0..1_000_000 / KEYS).for_each(|_| (cases[only].run)());
        return;
    }
    for _ in 0..ROUNDS {
        for case in &mut cases {
            let start = Instant::now();
            (0..REPEATS).for_each(|_| (case.run)());
            let elapsed = start.elapsed().as_nanos() as f64;
            case.nanoseconds.push(elapsed / (REPEATS * KEYS) as f64);
        }
    }
    for (number, case) in cases.into_iter().enumerate() {
        println!(
            "{number:2}  {:36} {:7.2} ns",
            case.name,
            median(case.nanoseconds)
        );
    }
}
