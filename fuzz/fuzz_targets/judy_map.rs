//! `JudyMap` beside `BTreeMap`: three bytes an operation (what, and the key), in a shape of keys that the first byte
//! chooses.

#![no_main]

use std::collections::BTreeMap;
use std::ops::Bound;

use fyris_judy::JudyMap;

use libfuzzer_sys::fuzz_target;

/// Returns the key of a number in a shape: neighbours, the highest words, one level, prefixes, spread.
fn key(shape: u8, number: u16) -> u64 {
    let wide = u64::from(number);
    let scrambled = (wide + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match shape % 16 {
        0..8 => wide.rotate_left(8 * u32::from(shape % 8)),
        8 => u64::MAX - wide,
        9 => scrambled,
        10 => scrambled & 0x0301_0101_0103_0103,
        11 => (wide >> 8) << 43 | (wide & 0xFF),
        12 => 0xFEDC_BA98_7654_0000 | wide,
        13 => scrambled >> (number % 64),
        14 => 1u64.rotate_left(u32::from(number)) | (wide >> 6),
        _ => wide * wide,
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((shape, operations)) = input.split_first() else {
        return;
    };
    let (mut ours, mut model) = (JudyMap::new(), BTreeMap::new());
    for operation in operations.chunks_exact(3) {
        let number = u16::from_be_bytes([operation[1], operation[2]]);
        let key_of = |number| key(*shape, number);
        let key = key_of(number);
        match operation[0] % 8 {
            0 | 1 => assert_eq!(ours.insert(key, number), model.insert(key, number)),
            2 => {
                for next in number..number.saturating_add(u16::from(operation[0])) {
                    let key = key_of(next);
                    assert_eq!(ours.insert(key, next), model.insert(key, next));
                }
            }
            3 => {
                for next in number..number.saturating_add(u16::from(operation[0])) {
                    let key = key_of(next);
                    assert_eq!(ours.remove(&key), model.remove(&key));
                }
            }
            4 => assert_eq!(ours.remove(&key), model.remove(&key)),
            5 => {
                assert_eq!(ours.get(&key), model.get(&key));
                let above = model.range((Bound::Excluded(key), Bound::Unbounded)).next();
                assert_eq!(
                    ours.seek(Bound::Excluded(key)),
                    above.map(|(key, value)| (*key, value))
                );
                let below = model.range(..key).next_back();
                assert_eq!(
                    ours.seek_back(Bound::Excluded(key)),
                    below.map(|(key, value)| (*key, value))
                );
            }
            6 => {
                let rank = model.range(..key).count();
                assert_eq!(ours.rank(&key), rank);
                let nth = model.iter().nth(rank).map(|(key, value)| (*key, value));
                assert_eq!(ours.nth(rank), nth);
            }
            _ => {
                let gap = (key..=u64::MAX).find(|key| !model.contains_key(key));
                assert_eq!(ours.next_empty(key), gap);
                let gap = (0..=key).rev().find(|key| !model.contains_key(key));
                assert_eq!(ours.prev_empty(key), gap);
            }
        }
    }
    assert!(
        ours.iter()
            .eq(model.iter().map(|(key, value)| (*key, value)))
    );
    assert!(
        ours.iter()
            .rev()
            .eq(model.iter().rev().map(|(key, value)| (*key, value)))
    );
    for key in model.keys() {
        assert!(ours.remove(key).is_some());
    }
    assert_eq!(ours.node_bytes().total(), 0);
});
