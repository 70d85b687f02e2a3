//! Measures the speed of the map, beside a `BTreeMap` in private memory:
//! `cargo run --release -p fyris-segment --example map_speed [ENTRIES]`.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use fyris_segment::{Options, Segment, VersionedMap};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Prints the nanoseconds of one of `count` steps; the median of five runs.
fn time(what: &str, count: usize, mut run: impl FnMut()) {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_nanos() as f64 / count as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("  {what:<32} {:>9.1} ns", times[2]);
}

fn keys(count: usize, kind: &str) -> Vec<Vec<u8>> {
    let mut random = StdRng::seed_from_u64(1);
    (0..count)
        .map(|n| match kind {
            "u64" => random.random::<u64>().to_be_bytes().to_vec(),
            _ => format!(
                "user:{:015}",
                (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_000_000_000_000
            )
            .into_bytes(),
        })
        .collect()
}

fn compare(count: usize, kind: &str) -> Result<(), Box<dyn Error>> {
    let name = format!("map-speed-{}", std::process::id());
    let options = Options::new().max_size(256 << 20);
    let mut map = VersionedMap::checkout(&name, 1 << 20, &options)?;
    let mut reader = VersionedMap::checkout(&name, 0, &options)?;
    Segment::unlink(&name)?;
    let mut keys = keys(count, kind);
    let value = [7; 8];
    println!("{count} entries, keys {kind}, values of 8 bytes");
    let start = Instant::now();
    map.write(|batch| {
        keys.iter()
            .try_for_each(|key| batch.insert(key, &value).map(drop))
    })?;
    println!(
        "  map: insert, random, one commit  {:>8.1} ns",
        start.elapsed().as_nanos() as f64 / count as f64
    );
    let start = Instant::now();
    let mut model: Model = keys
        .iter()
        .map(|key| (key.clone(), value.to_vec()))
        .collect();
    println!(
        "  BTreeMap: collect                {:>8.1} ns",
        start.elapsed().as_nanos() as f64 / count as f64
    );
    keys.shuffle(&mut StdRng::seed_from_u64(2));
    time("map: get", count, || {
        for key in &keys {
            black_box(map.get(key).expect("get").expect("present"));
        }
    });
    time("BTreeMap: get", count, || {
        for key in &keys {
            black_box(model.get(key).expect("present"));
        }
    });
    time("map: iterate", count, || {
        for entry in map.iter().expect("iter") {
            black_box(entry.expect("entry"));
        }
    });
    time("BTreeMap: iterate", count, || {
        for entry in &model {
            black_box(entry);
        }
    });
    let mut random = StdRng::seed_from_u64(3);
    time("map: write of one entry, commit", 2000, || {
        for _ in 0..2000 {
            let key = &keys[random.random_range(0..count)];
            let value = random.random::<u64>().to_le_bytes();
            map.write(|batch| batch.insert(key, &value)).expect("write");
        }
    });
    time("BTreeMap: insert over a present", 2000, || {
        for _ in 0..2000 {
            let key = &keys[random.random_range(0..count)];
            *model.get_mut(key).expect("present") = random.random::<u64>().to_le_bytes().to_vec();
        }
    });
    reader.update()?;
    time("map: update, nothing new", 100_000, || {
        for _ in 0..100_000 {
            black_box(reader.update().expect("update"));
        }
    });
    time("map: write, reader's update, get", 2000, || {
        for _ in 0..2000 {
            let key = &keys[random.random_range(0..count)];
            map.write(|batch| batch.insert(key, &random.random::<u64>().to_le_bytes()))
                .expect("write");
            reader.update().expect("update");
            black_box(reader.get(key).expect("get"));
        }
    });
    let report = map.check()?;
    let bytes = map.memory()?.used as f64 / report.entries as f64;
    println!("  map: {bytes:.1} bytes an entry, {} levels", report.levels);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(1_000_000), |text| text.parse())?;
    compare(count, "u64")?;
    compare(count, "bytes20")
}
