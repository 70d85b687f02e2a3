//! Segments: whatever a hostile process writes into the shared part, before and between our operations, nothing breaks.

#![no_main]

#[path = "../../crates/segment/tests/hostile/exercise.rs"]
mod exercise;

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

use exercise::{Edit, exercise, make, plant};

static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();

fn path(name: &str) -> PathBuf {
    PathBuf::from(format!("/dev/shm/fyris-fuzz-{}-{name}", std::process::id()))
}

fn image() -> Vec<u8> {
    let path = path("image");
    make(&path);
    let image = std::fs::read(&path).expect("the image");
    std::fs::remove_file(&path).expect("the image");
    image
}

/// Each edit is 13 bytes: where, what, how wide.
fn edits(input: &[u8]) -> Vec<Edit> {
    let edit = |bytes: &[u8]| Edit {
        at: u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")),
        value: u64::from_le_bytes(bytes[4..12].try_into().expect("eight bytes")),
        wide: bytes[12] & 1 == 1,
    };
    input.chunks_exact(13).map(edit).collect()
}

fuzz_target!(|input: &[u8]| {
    let copy = path("copy");
    plant(&copy, IMAGE.get_or_init(image));
    exercise(&copy, &edits(input));
    std::fs::remove_file(&copy).expect("the copy");
});
