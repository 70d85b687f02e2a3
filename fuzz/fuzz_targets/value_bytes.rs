//! Value bytes: whatever decodes is skipped to the same place, and encodes to what decodes to it again.

#![no_main]

use fyris_term::{Blob, value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let blobs: Vec<Blob> = vec![vec![1; 65].into(), vec![2; 100].into()];
    let mut rest = input;
    let decoded = value::decode(&mut rest, &blobs);
    let mut skipped = input;
    let skip = value::skip(&mut skipped);
    let Ok(term) = decoded else { return };
    assert!(skip.is_ok(), "{term:?}");
    assert_eq!(skipped.len(), rest.len(), "{term:?}");
    let (mut bytes, mut again) = (Vec::new(), Vec::new());
    value::encode(&term, &mut bytes, &mut again);
    let mut whole = &bytes[..];
    assert!(
        value::decode(&mut whole, &again).is_ok_and(|back| back == term),
        "{term:?}"
    );
    assert!(whole.is_empty());
});
