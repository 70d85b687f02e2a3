#!/usr/bin/env bash
# mimalloc 3 (libmimalloc-sys 0.1.49): `mi_collect(true)` does nothing on a thread that has not allocated with mimalloc.
#
# What is freed lies in arenas that all threads share, and a forced collection gives them back to the system, whichever
# thread asks. But the call begins with the thread's own heap, and returns if there is none yet: a thread that was
# started to give memory back gives back nothing, for ever. One `mi_malloc` before it, or `mi_thread_init`, and the same
# call gives back everything.
#
# Seen: resident after 64 MiB were freed by the main thread, that is at rest: 68 MiB; after mi_collect(true) on a new
# thread: 68 MiB; after a malloc and mi_collect(true) on that thread: 4 MiB.
#
# Usage: findings/mimalloc-collect-before-malloc.sh. Needs cargo, a C compiler and Linux; half a minute. Fails if the
# behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src"
cat >"$folder/Cargo.toml" <<'END'
[package]
name = "collect"
version = "0.0.0"
edition = "2024"

[dependencies]
libmimalloc-sys = { version = "=0.1.49", features = ["extended"] }
END
cat >"$folder/src/main.rs" <<'END'
use libmimalloc_sys::{mi_collect, mi_free, mi_malloc};

fn resident_mib() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: Vec<u64> = statm.split(' ').map_while(|n| n.parse().ok()).collect();
    (pages[1] - pages[2]) * 4096 >> 20
}

fn main() {
    const BLOCKS: usize = 1024;
    const SIZE: usize = 64 << 10;
    let blocks: Vec<usize> = (0..BLOCKS)
        .map(|_| unsafe {
            let block: *mut u8 = mi_malloc(SIZE).cast();
            block.write_bytes(1, SIZE);
            block as usize
        })
        .collect();
    blocks.into_iter().for_each(|block| unsafe { mi_free(block as *mut _) });
    let freed = resident_mib();
    let (before, after) = std::thread::spawn(|| unsafe {
        mi_collect(true);
        let before = resident_mib();
        mi_free(mi_malloc(8));
        mi_collect(true);
        (before, resident_mib())
    })
    .join()
    .unwrap();
    println!("resident: {freed} MiB; collected on a new thread: {before} MiB; after its first malloc: {after} MiB");
    assert!(freed >= 60 && before >= 60 && after < 20, "the behaviour has changed");
}
END
cargo run --quiet --manifest-path "$folder/Cargo.toml"
