//! External term format: whatever decodes can be encoded and is then the same term.

#![no_main]

use fyris_term::etf;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match etf::decode_prefix(bytes) {
    Ok((term, used)) => {
        assert!(used <= bytes.len());
        let again = etf::encode(&term);
        assert!(etf::decode(&again).is_ok_and(|decoded| decoded == term));
    }
    Err(error) => assert!(error.offset() <= bytes.len(), "{error}"),
});
