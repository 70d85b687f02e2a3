//! `JudyBytes` beside `BTreeMap`: operations of a byte that says what, one for the length of the key, and the key, of
//! which a part is that of the key before.

#![no_main]

use std::collections::BTreeMap;
use std::ops::Bound;

use fyris_judy::JudyBytes;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let (mut ours, mut model) = (JudyBytes::new(), BTreeMap::<Vec<u8>, u64>::new());
    let (mut rest, mut key, mut value) = (input, Vec::new(), 0u64);
    while let [what, kept, fresh, behind @ ..] = rest {
        let (own, behind) = behind.split_at((usize::from(*fresh) % 24).min(behind.len()));
        rest = behind;
        // Keys that begin alike are the rule.
        key.truncate(usize::from(*kept));
        key.extend_from_slice(own);
        value += 1;
        match what % 8 {
            0..=2 => assert_eq!(ours.insert(&key, value), model.insert(key.clone(), value)),
            3 => assert_eq!(ours.remove(&key), model.remove(&key)),
            4 => assert_eq!(ours.get(&key), model.get(&key)),
            5 => {
                let above = model.range::<[u8], _>((Bound::Excluded(&key[..]), Bound::Unbounded));
                let above = above.map(|(key, value)| (key.clone(), value)).next();
                assert_eq!(ours.seek(Bound::Excluded(&key)), above);
            }
            6 => {
                let below = model.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(&key[..])));
                let below = below.map(|(key, value)| (key.clone(), value)).next_back();
                assert_eq!(ours.seek_back(Bound::Excluded(&key)), below);
            }
            _ => {
                let range = (Bound::Unbounded, Bound::Excluded(&key[..]));
                let rank = model.range::<[u8], _>(range).count();
                assert_eq!(ours.rank(&key), rank);
                let nth = model
                    .iter()
                    .nth(rank)
                    .map(|(key, value)| (key.clone(), value));
                assert_eq!(ours.nth(rank), nth);
            }
        }
    }
    let pairs = || model.iter().map(|(key, value)| (key.clone(), value));
    assert!(ours.iter().eq(pairs()));
    assert!(ours.iter().rev().eq(pairs().rev()));
    for key in model.keys() {
        assert!(ours.remove(key).is_some());
    }
    assert_eq!(ours.node_bytes().total(), 0);
});
