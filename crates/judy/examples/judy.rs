//! A tour of `JudyMap`: what it counts, and where its bytes go.
//!
//! `cargo run --release -p fyris-judy --example judy [KEYS]`

use std::time::Instant;

use fyris_judy::JudyMap;

fn main() {
    let keys = std::env::args().nth(1);
    let keys: u64 = keys.map_or(1_000_000, |n| n.parse().expect("a number of keys"));
    let spread = |i: u64| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for (name, map) in [
        ("dense", (0..keys).map(|i| (i, i)).collect()),
        (
            "every third number",
            (0..keys).map(|i| (i * 3, i)).collect(),
        ),
        (
            "spread over all words",
            (0..keys).map(|i| (spread(i), i)).collect(),
        ),
    ] {
        tour(name, map);
    }
}

fn tour(name: &str, map: JudyMap<u64, u64>) {
    println!("{} keys, {name}", map.len());
    println!(
        "  {:.1} bytes a key: {:?}",
        map.memory() as f64 / map.len().max(1) as f64,
        map.node_bytes()
    );
    let Some((middle, _)) = map.nth(map.len() / 2) else {
        return;
    };
    println!(
        "  {middle} is in the middle, {} the first number from there that is no key",
        {
            map.next_empty(middle)
                .map_or_else(|| "none".to_owned(), |gap| gap.to_string())
        }
    );
    let (start, rounds) = (Instant::now(), 1000);
    let counted: usize = (0..rounds)
        .map(|i| map.count_between(middle / 2 + i..=middle))
        .sum();
    let took = start.elapsed().as_nanos() / u128::from(rounds);
    println!(
        "  {} keys between half of it and it, counted in {took} ns",
        counted as u64 / rounds
    );
}
