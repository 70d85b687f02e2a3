//! One map, many processes. In one terminal `map_share write`, in others `map_share read`; ^C ends either, at
//! any moment, and harms no other process:
//!
//! `cargo run --release -p fyris-segment --example map_share -- write [NAME]`
//!
//! The writer moves an amount between two of a thousand accounts, several hundred times a second. Readers add
//! them all up: in every version the sum is the same. `unlink` removes the map.

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use fyris_segment::{MapError, Options, Segment, VersionedMap};
use rand::Rng;

const ACCOUNTS: u64 = 1000;
const EACH: i64 = 100;

fn account(n: u64) -> Vec<u8> {
    format!("account/{n:04}").into_bytes()
}

fn amount(value: Option<&[u8]>) -> i64 {
    let bytes = value.and_then(|value| value.try_into().ok());
    bytes.map_or(EACH, i64::from_le_bytes)
}

fn write(map: &mut VersionedMap) -> Result<(), MapError> {
    map.write(|batch| {
        (0..ACCOUNTS).try_for_each(|n| batch.insert(&account(n), &EACH.to_le_bytes()).map(drop))
    })?;
    let mut random = rand::rng();
    loop {
        let (from, to) = (
            random.random_range(0..ACCOUNTS),
            random.random_range(0..ACCOUNTS),
        );
        let sum = random.random_range(1..50i64);
        map.write(|batch| {
            for (n, change) in [(from, -sum), (to, sum)] {
                let new = amount(batch.get(&account(n))?) + change;
                batch.insert(&account(n), &new.to_le_bytes())?;
            }
            Ok::<_, MapError>(())
        })?;
        sleep(Duration::from_millis(2));
    }
}

fn read(map: &mut VersionedMap) -> Result<(), MapError> {
    loop {
        map.update()?;
        let (mut sum, mut lowest) = (0, (i64::MAX, Vec::new()));
        for entry in map.prefix(b"account/")? {
            let (key, value) = entry?;
            sum += amount(Some(value));
            lowest = lowest.min((amount(Some(value)), key.to_vec()));
        }
        let name = String::from_utf8_lossy(&lowest.1);
        println!(
            "version {}: sum {sum}, lowest {name} with {}",
            map.version(),
            lowest.0
        );
        sleep(Duration::from_millis(500));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let role = args.next().unwrap_or_default();
    let name = args.next().unwrap_or_else(|| "map-share".into());
    let map = || VersionedMap::checkout(&name, 1 << 20, &Options::new());
    match role.as_str() {
        "write" => write(&mut map()?)?,
        "read" => read(&mut map()?)?,
        "unlink" => Segment::unlink(&name)?,
        _ => return Err("say write, read or unlink".into()),
    }
    Ok(())
}
