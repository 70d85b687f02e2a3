//! The map of a segment: a sound image, edited four bytes at a time (page, place in it, value), then used in all ways
//! there are.

#![no_main]

use fyris_segment::versioned_map::{Cursor, Plain, View};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

const PAGES: usize = 24;

/// Two levels, long values, free pages in between.
fn sound() -> Vec<u8> {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE
        .get_or_init(|| {
            let mut map = Plain::create(vec![0; PAGES * 4096]).expect("create");
            for n in 0..400u32 {
                let value = vec![n as u8; if n % 100 == 0 { 5000 } else { 20 }];
                map.insert(&key(n), &value).expect("insert");
            }
            (0..400).step_by(7).for_each(|n| {
                map.remove(&key(n)).expect("remove");
            });
            map.into_region()
        })
        .clone()
}

fn key(n: u32) -> Vec<u8> {
    format!("key/{:04}", n.wrapping_mul(7919) % 1000).into_bytes()
}

/// Checks that a map that verifies is one: sorted, counted, every key found.
fn whole(view: View<'_>) {
    let report = view.check().expect("verified");
    let mut before: Option<&[u8]> = None;
    let mut count = 0;
    for entry in view.iter().expect("iter") {
        let (key, value) = entry.expect("entry");
        assert!(before.is_none_or(|before| before < key));
        assert_eq!(view.get(key).expect("get"), Some(value));
        (before, count) = (Some(key), count + 1);
    }
    assert_eq!(report.entries, count);
}

fuzz_target!(|input: &[u8]| {
    let mut bytes = sound();
    for edit in input.chunks_exact(4) {
        let at = usize::from(edit[1]) << 8 | usize::from(edit[2]);
        bytes[usize::from(edit[0]) % PAGES * 4096 + at % 4096] = edit[3];
    }
    let view = View::new(&bytes);
    let sound = view.check().is_ok();
    if sound {
        whole(view);
    }
    let _ = view.iter().map(|range| range.rev().count());
    let mut cursor = Cursor::new();
    let _ = (
        cursor.seek(view, b"key/0500").is_ok(),
        cursor.next(view).is_ok(),
        cursor.previous(view).is_ok(),
    );
    let Ok(mut map) = Plain::open(bytes) else {
        return;
    };
    for n in 0..40 {
        let done = [
            map.insert(&key(n * 3), &vec![0; n as usize * 40]).is_ok(),
            map.remove(&key(n * 5)).is_ok(),
        ];
        assert!(!sound || done[1]);
    }
    if sound {
        whole(map.view());
    }
    let _ = map.clear();
});
