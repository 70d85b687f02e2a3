//! Maps that cannot have the next larger array go on with the one that they have.
#![cfg(all(
    target_os = "linux",
    not(any(loom, shuttle, fyris_sanitize, fyris_small))
))]

use std::process::Command;

use fyris_index::{ConcurrentMap, InlineMap};

const CHILD: &str = "FYRIS_TEST_NO_MEMORY";
/// As many as fill an array of 2^18 buckets nearly: the next one takes 32 MiB and more.
const FULL: u64 = 1_250_000;
const MORE: u64 = 250_000;

/// Leaves this process 20 MiB of address space.
fn limit() {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("it is there");
    let pages: u64 = statm
        .split(' ')
        .next()
        .expect("a size")
        .parse()
        .expect("a number");
    let space = (pages << 12) + (20 << 20);
    let status = Command::new("prlimit")
        .args([
            format!("--pid={}", std::process::id()),
            format!("--as={space}:{space}"),
        ])
        .status();
    assert!(status.expect("prlimit").success());
}

fn inline_goes_on() {
    let map = InlineMap::new();
    (0..FULL).for_each(|key| _ = map.insert(key, !key));
    limit();
    (FULL..FULL + MORE).for_each(|key| _ = map.insert(key, !key));
    assert!((0..FULL + MORE).all(|key| map.get(&key) == Some(!key)));
    assert_eq!(map.len() as u64, FULL + MORE);
}

fn nodes_go_on() {
    // What this leaves behind serves small requests.
    let map = ConcurrentMap::new();
    (0..FULL + 2 * MORE).for_each(|key| _ = map.pin().insert(key, !key));
    drop(map);
    let map = ConcurrentMap::new();
    let pinned = map.pin();
    (0..FULL).for_each(|key| _ = pinned.insert(key, !key));
    limit();
    (FULL..FULL + MORE).for_each(|key| _ = pinned.insert(key, !key));
    assert!((0..FULL + MORE).all(|key| pinned.get(&key) == Some(&!key)));
    assert_eq!(pinned.len() as u64, FULL + MORE);
}

#[test]
fn a_map_that_cannot_grow_goes_on() {
    if let Ok(which) = std::env::var(CHILD) {
        return match &*which {
            "inline" => inline_goes_on(),
            _ => nodes_go_on(),
        };
    }
    for which in ["inline", "nodes"] {
        // Without a reserve of the allocator's, so that large requests go to the system.
        let child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "a_map_that_cannot_grow_goes_on"])
            .env(CHILD, which)
            .env("MIMALLOC_ARENA_RESERVE", "0")
            .output()
            .expect("to run it");
        assert!(child.status.success(), "{which}: {child:?}");
    }
}
