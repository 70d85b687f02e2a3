//! Processes that write one map together while others read it, and some are killed.
//!
//! Every batch adds one to `total` and writes that number to all keys of `same/`; and it changes entries under the
//! writer's own prefix, whose number and sum of bytes it keeps beside them. So each version has
//! much to be checked by, and at the end no batch may be lost.

mod names;

use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use fyris_segment::versioned_map::Batch;
use fyris_segment::{Error, MapError, Options, VersionedMap};
use names::Name;
use rand::{Rng, SeedableRng, rngs::StdRng};

const SAME: u32 = 40;
const NAME: &str = "FYRIS_TEST_MAP";
const ROLE: &str = "FYRIS_TEST_ROLE";

fn options() -> Options {
    Options::new().max_size(64 << 20)
}

fn spawn(name: &str, role: &str) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(NAME, name)
        .env(ROLE, role)
        .spawn()
        .expect("spawn")
}

/// Not a test of its own: what the spawned processes run.
#[test]
fn child() {
    let (Ok(name), Ok(role)) = (std::env::var(NAME), std::env::var(ROLE)) else {
        return;
    };
    let mut map = VersionedMap::checkout(&name, 0, &options()).expect("checkout");
    match role.split_once(' ') {
        Some(("write", rest)) => {
            let (writer, batches) = rest.split_once(' ').expect("two numbers");
            write(
                &mut map,
                writer.parse().expect("number"),
                batches.parse().expect("number"),
            );
        }
        _ if role == "fork" => fork(map),
        _ => read(&mut map),
    }
}

fn number(bytes: Option<&[u8]>) -> u64 {
    bytes.map_or(0, |bytes| {
        u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
    })
}

fn write(map: &mut VersionedMap, writer: u32, batches: u32) {
    let mut random = StdRng::seed_from_u64(u64::from(writer) << 32 | u64::from(std::process::id()));
    for _ in 0..batches {
        let seed = random.random();
        map.write(|batch| change(batch, writer, seed))
            .expect("write");
    }
}

fn change(batch: &mut Batch<'_>, writer: u32, seed: u64) -> Result<(), MapError> {
    let mut random = StdRng::seed_from_u64(seed);
    let total = number(batch.get(b"total")?) + 1;
    batch.insert(b"total", &total.to_le_bytes())?;
    for n in 0..SAME {
        batch.insert(format!("same/{n}").as_bytes(), &total.to_le_bytes())?;
    }
    let tally = format!("tally/{writer}");
    let mut count = number(batch.get(tally.as_bytes())?);
    for _ in 0..random.random_range(0..12) {
        let key = format!("own/{writer}/{:04}", random.random_range(0..600));
        if random.random_bool(0.4) {
            count -= u64::from(batch.remove(key.as_bytes())?);
        } else {
            let long = random.random_bool(0.05);
            let len = random.random_range(0..if long { 9000 } else { 120 });
            count += u64::from(!batch.insert(key.as_bytes(), &vec![writer as u8; len])?);
        }
    }
    batch.insert(tally.as_bytes(), &count.to_le_bytes())?;
    Ok(())
}

/// Looks at versions until the writers have said that they are done.
fn read(map: &mut VersionedMap) {
    let mut seen = 0;
    loop {
        map.update().expect("update");
        let total = number(map.get(b"total").expect("get"));
        assert!(total >= seen, "{total} after {seen}");
        if total != seen || total.is_multiple_of(16) {
            verify(map, total);
        }
        seen = total;
        if map.get(b"zzz done").expect("get").is_some() {
            return;
        }
        if !map.is_behind() {
            thread::yield_now();
        }
    }
}

fn verify(map: &VersionedMap, total: u64) {
    for entry in map.prefix(b"same/").expect("prefix") {
        assert_eq!(number(Some(entry.expect("entry").1)), total);
    }
    for entry in map.prefix(b"tally/").expect("prefix") {
        let (key, count) = entry.expect("entry");
        let writer = std::str::from_utf8(&key[6..]).expect("digits");
        let own = format!("own/{writer}/");
        let range = map.prefix(own.as_bytes()).expect("prefix");
        let byte = writer.parse::<u32>().expect("number") as u8;
        let mut found = 0;
        for entry in range {
            found += 1;
            assert!(entry.expect("entry").1.iter().all(|&value| value == byte));
        }
        assert_eq!(number(Some(count)), found, "entries of writer {writer}");
    }
    map.check().expect("check");
}

/// Checks that the parent's copy is not there in a forked child, until it reattaches.
fn fork(mut map: VersionedMap) {
    map.insert(b"not committed", b"").expect("insert");
    // SAFETY: the only other thread of this process waits for this one; the child ends by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let forked = matches!(map.get(b"a"), Err(MapError::Segment(Error::Forked)))
            && matches!(map.insert(b"a", b""), Err(MapError::Segment(Error::Forked)))
            && matches!(map.view().get(b"a"), Err(MapError::TooSmall { .. }));
        let whole = map.reattach().is_ok()
            && matches!(map.get(b"a"), Ok(Some(b"b")))
            && matches!(map.get(b"not committed"), Ok(None))
            && map.write(|batch| batch.insert(b"child", b"")).is_ok();
        // SAFETY: ends the process at once, without the parent's destructors.
        unsafe { libc::_exit(i32::from(!forked) + 2 * i32::from(!whole)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    map.discard().expect("discard");
    map.update().expect("update");
    assert!(map.get(b"child").expect("get").is_some());
}

#[test]
fn a_forked_child_checks_out_anew() {
    let name = Name::new("map-fork");
    let mut map = VersionedMap::checkout(&name.0, 1 << 20, &options()).expect("checkout");
    map.write(|batch| batch.insert(b"a", b"b")).expect("write");
    assert!(spawn(&name.0, "fork").wait().expect("wait").success());
}

fn finish(map: &mut VersionedMap, readers: Vec<Child>) {
    map.write(|batch| batch.insert(b"zzz done", b""))
        .expect("write");
    for mut reader in readers {
        assert!(reader.wait().expect("wait").success());
    }
    let total = number(map.get(b"total").expect("get"));
    verify(map, total);
}

#[test]
fn no_batch_is_lost_and_none_is_seen_in_part() {
    let name = Name::new("map-processes");
    let mut map = VersionedMap::checkout(&name.0, 1 << 20, &options()).expect("checkout");
    let readers = vec![spawn(&name.0, "read"), spawn(&name.0, "read")];
    let batches = 500;
    let mut writers: Vec<_> = (0..3)
        .map(|n| spawn(&name.0, &format!("write {n} {batches}")))
        .collect();
    for writer in &mut writers {
        assert!(writer.wait().expect("wait").success());
    }
    map.update().expect("update");
    assert_eq!(number(map.get(b"total").expect("get")), 3 * batches);
    finish(&mut map, readers);
}

#[test]
fn killed_writers_harm_nobody() {
    let name = Name::new("map-killed");
    let mut map = VersionedMap::checkout(&name.0, 1 << 20, &options()).expect("checkout");
    let readers = vec![spawn(&name.0, "read")];
    let mut random = StdRng::seed_from_u64(7);
    let end = Instant::now() + Duration::from_secs(4);
    let mut killed = 0;
    while Instant::now() < end {
        let mut writers: Vec<_> = (0..2)
            .map(|n| spawn(&name.0, &format!("write {n} 1000000")))
            .collect();
        thread::sleep(Duration::from_millis(random.random_range(30..120)));
        for writer in &mut writers {
            writer.kill().expect("kill");
            writer.wait().expect("wait");
            killed += 1;
        }
        write(&mut map, 2, 3);
    }
    assert!(killed > 4 && number(map.get(b"total").expect("get")) > 10);
    finish(&mut map, readers);
}
