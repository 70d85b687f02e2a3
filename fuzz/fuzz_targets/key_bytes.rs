//! Key bytes: only what the encoder writes decodes. The first two bytes say where the trailer begins.

#![no_main]

use fyris_term::key::{self, KeyBuf};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [high, low, bytes @ ..] = input else {
        return;
    };
    let at = usize::from(u16::from_be_bytes([*high, *low])).min(bytes.len());
    let (order, trailer) = bytes.split_at(at);
    match key::decode(order, trailer) {
        Ok(term) => {
            let again = KeyBuf::encode(&term);
            // The rest of a closure may be left out.
            assert!(
                bytes == again.stored() || bytes == again.bytes(),
                "{term:?}"
            );
            assert_eq!(again.order(), order, "{term:?}");
        }
        Err(error) => assert!(error.offset <= bytes.len(), "{error}"),
    }
});
