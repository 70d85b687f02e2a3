//! Key bytes against the order of terms: two terms, in external format one behind the other.

#![no_main]

use fyris_term::etf;
use fyris_term::key::{self, KeyBuf};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok((a, used)) = etf::decode_prefix(input) else {
        return;
    };
    let Ok((b, _)) = etf::decode_prefix(&input[used..]) else {
        return;
    };
    let (x, y) = (KeyBuf::encode(&a), KeyBuf::encode(&b));
    assert_eq!(x.order().cmp(y.order()), a.cmp_order(&b), "{a:?} {b:?}");
    assert_eq!(x.stored() == y.stored(), a == b, "{a:?} {b:?}");
    for (key, term) in [(&x, &a), (&y, &b)] {
        let (order, trailer) = key.stored().split_at(key.order_len());
        assert!(
            key::decode(order, trailer).is_ok_and(|back| back == *term),
            "{term:?}"
        );
    }
});
