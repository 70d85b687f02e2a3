//! Bytes that no correct program wrote: every call ends, soon, and without a panic.

use std::ops::Bound;

use fyris_segment::versioned_map::{Cursor, MapError, Plain, View};
use proptest::collection::vec;
use proptest::prelude::*;

const PAGE: usize = if cfg!(fyris_small) { 256 } else { 4096 };
/// The offset of the nodes.
const NODES: usize = 4096 + PAGE;

/// Returns a map with three levels (small nodes) or two, long values and holes.
fn sound(entries: u32) -> Vec<u8> {
    let mut map = Plain::create(vec![0; 64 * 4096]).expect("create");
    for n in 0..entries {
        let value = vec![n as u8; if n % 50 == 0 { 3000 } else { (n % 40) as usize }];
        map.insert(format!("key {:05}", n * 7 % entries).as_bytes(), &value)
            .expect("insert");
    }
    for n in (0..entries).step_by(5) {
        map.remove(format!("key {n:05}").as_bytes())
            .expect("remove");
    }
    map.into_region()
}

/// Uses the map in all ways there are.
fn exercise(bytes: Vec<u8>) {
    let view = View::new(&bytes);
    let _ = (
        view.len(),
        view.memory(),
        view.first(),
        view.last(),
        view.check(),
    );
    for key in [&b""[..], b"key 00017", b"key 00170", b"\xff", b"key"] {
        let _ = (view.get(key), view.prefix(key).map(|range| range.count()));
        let mut cursor = Cursor::new();
        let _ = (
            cursor.seek(view, key).is_ok(),
            cursor.next(view).is_ok(),
            cursor.previous(view).is_ok(),
        );
    }
    walk(view);
    if let Ok(range) = view.iter() {
        let seen = range.clone().count();
        assert!(seen <= bytes.len());
        assert!(range.rev().count() <= bytes.len());
    }
    let Ok(mut map) = Plain::open(bytes) else {
        return;
    };
    for n in 0..60u32 {
        let key = format!("key {:05}", n * 13 % 300).into_bytes();
        let _ = map.insert(&key, &vec![1; (n * 37 % 2000) as usize]);
        let _ = map.remove(format!("key {:05}", n * 17 % 300).as_bytes());
    }
    let _ = (map.adopt(), map.clear());
}

/// Every single field of the header, set to what hurts.
#[test]
fn every_header_field() {
    let sound = sound(300);
    for at in 0..64 {
        for value in [0u8, 1, 2, 7, 31, 32, 0x7f, 0x80, 0xff] {
            for width in [1, 2, 4, 8] {
                let mut bytes = sound.clone();
                bytes[at..at + width].fill(value);
                exercise(bytes);
            }
        }
    }
}

/// The same in front of each node, in a few nodes.
#[test]
fn every_field_of_a_node() {
    let sound = sound(300);
    for node in 0..3 {
        for at in 0..48 {
            for value in [0u8, 1, 4, 0x10, 0x7f, 0xff] {
                for width in [1, 2, 4] {
                    let mut bytes = sound.clone();
                    let at = NODES + node * PAGE + at;
                    bytes[at..at + width].fill(value);
                    exercise(bytes);
                }
            }
        }
    }
}

/// As many slots as a node can have at all, and one more.
#[test]
fn nodes_of_slots_alone() {
    let sound = sound(300);
    let most = (PAGE - 16) / 8;
    for page in NODES / PAGE..NODES / PAGE + 8 {
        for count in [most, most + 1] {
            let mut bytes = sound.clone();
            bytes[page * PAGE + 2..page * PAGE + 4].copy_from_slice(&(count as u16).to_le_bytes());
            exercise(bytes);
        }
    }
}

/// All children of all inner nodes are one page, or the pages in turn: circles and shared subtrees.
#[test]
fn trees_that_lead_in_circles() {
    let sound = sound(if cfg!(fyris_small) { 300 } else { 900 });
    let pages = sound.len() / PAGE;
    for target in (0..pages).step_by(pages / 32) {
        let mut bytes = sound.clone();
        for page in NODES / PAGE..pages {
            let at = page * PAGE;
            if bytes[at] == b'N' && bytes[at + 1] > 0 {
                bytes[at + 12..at + 16].copy_from_slice(&(target as u32).to_le_bytes());
                let count = usize::from(bytes[at + 2]);
                for slot in 0..count.min(20) {
                    let cell = usize::from(bytes[at + 16 + slot * 8])
                        | usize::from(bytes[at + 17 + slot * 8]) << 8;
                    bytes[at + cell..at + cell + 4].copy_from_slice(&(target as u32).to_le_bytes());
                }
            }
        }
        exercise(bytes);
    }
}

#[test]
fn truncated_maps() {
    let sound = sound(300);
    for len in (0..sound.len()).step_by(1021) {
        let mut bytes = sound.clone();
        bytes.truncate(len);
        assert!(matches!(
            View::new(&bytes).check(),
            Err(MapError::TooSmall { .. })
        ));
        exercise(bytes);
    }
}

#[test]
fn check_finds_any_wrong_byte_in_front_of_a_node() {
    let sound = sound(300);
    View::new(&sound).check().expect("sound");
    let counters = [16, 20, 24, 28, 32, 40, 56, 64, 4096, 4097];
    for at in (NODES..NODES + 16).chain(counters) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x41;
        assert!(View::new(&bytes).check().is_err(), "byte {at}");
    }
}

/// Goes from key to key, as callers do that can hold no borrow, up and down; returns the number of steps.
fn walk(view: View<'_>) -> usize {
    let mut steps = 0;
    let mut at = view.first();
    while let Ok(Some((key, _))) = at {
        at = view.first_in(Bound::Excluded(key));
        steps += 1;
        assert!(steps < 100_000, "a walk upwards that does not end");
    }
    let mut at = view.last();
    while let Ok(Some((key, _))) = at {
        at = view.last_in(Bound::Excluded(key));
        steps += 1;
        assert!(steps < 100_000, "a walk downwards that does not end");
    }
    let mut cursor = Cursor::new();
    while let Ok(Some(_)) = cursor.next(view) {
        steps += 1;
        assert!(steps < 100_000, "a cursor that does not end");
    }
    steps
}

/// One changed byte of a key, anywhere: walks end, though the keys do not ascend any more.
#[test]
fn a_walk_over_keys_out_of_order_ends() {
    let sound = sound(25);
    let entries = View::new(&sound).iter().expect("iter").count();
    assert_eq!(walk(View::new(&sound)), 3 * entries);
    let keys = (NODES..sound.len() - 9).filter(|&at| sound[at..].starts_with(b"key 000"));
    let mut short = 0;
    for at in keys {
        for byte in at..at + 9 {
            for value in [0, 1, b'/', b'9', b'z', 0xff] {
                let mut bytes = sound.clone();
                bytes[byte] = value;
                short += usize::from(walk(View::new(&bytes)) != 3 * entries);
            }
        }
    }
    assert!(short > 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_in_a_map(edits in vec((0usize..64 * 4096, any::<u8>()), 1..60), low in any::<bool>()) {
        let mut bytes = sound(300);
        for (at, value) in edits {
            // The first pages hold the header, the bitmap and the oldest nodes.
            let at = if low { at % (6 * PAGE + 4096) } else { at };
            bytes[at] = value;
        }
        exercise(bytes);
    }

    #[test]
    fn random_bytes_behind_a_header(noise in vec(any::<u8>(), 4096), copies in 1usize..20) {
        let mut bytes = sound(40);
        for copy in 0..copies {
            let at = 4096 + copy * 4096;
            bytes[at..at + 4096].copy_from_slice(&noise);
        }
        exercise(bytes);
        exercise(noise);
    }
}
