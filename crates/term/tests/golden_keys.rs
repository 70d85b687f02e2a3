//! Key bytes against the orders that OTP put terms in.

mod common;

use std::cmp::Ordering;

use common::Next;
use fyris_term::Term;
use fyris_term::key::{self, KeyBuf};

fn decoded(key: &KeyBuf) -> Term {
    key::decode(key.order(), &key.stored()[key.order_len()..])
        .unwrap_or_else(|error| panic!("{error}: {key:?}"))
}

/// The sorted corpus is sorted by `memcmp`, and neighbours are as equal as OTP says.
#[test]
fn memcmp_sorts_as_otp_does() {
    let corpus = common::sorted_corpus();
    assert!(corpus.len() >= 5_000, "{} terms", corpus.len());
    let keys: Vec<KeyBuf> = corpus
        .iter()
        .map(|(term, _)| KeyBuf::encode(term))
        .collect();
    for (at, pair) in keys.windows(2).enumerate() {
        let (order, same) = match corpus[at].1 {
            Next::Less => (Ordering::Less, false),
            // Equal but for the sign of zeros: `=:=` in OTP 25, not since OTP 27.
            Next::Equal | Next::ZeroSigns => (Ordering::Equal, false),
            Next::Exact => (Ordering::Equal, true),
            Next::Last => panic!("line {at} of {} is the last", keys.len()),
        };
        let terms = (&corpus[at].0, &corpus[at + 1].0);
        assert_eq!(
            pair[0].order().cmp(pair[1].order()),
            order,
            "line {at}: {terms:?} {pair:?}"
        );
        assert_eq!(pair[0] == pair[1], same, "line {at}: {terms:?} {pair:?}");
        // Among sorted keys, neighbours tell for all: what goes on behind a finished form goes on with FF.
        let next = pair[1].order().strip_prefix(pair[0].order());
        let next = next.and_then(<[u8]>::first);
        assert!(matches!(next, None | Some(0xFF)), "line {at}: {pair:?}");
    }
}

/// Terms that are not next to each other are in order too: among others, nothing is equal across a `<`.
#[test]
fn distant_terms_are_in_order() {
    let corpus = common::sorted_corpus();
    let keys: Vec<KeyBuf> = corpus
        .iter()
        .map(|(term, _)| KeyBuf::encode(term))
        .collect();
    for stride in [2, 17, 389, 2003] {
        for (at, far) in (stride..keys.len()).enumerate() {
            assert!(
                keys[at].order() <= keys[far].order(),
                "lines {at} and {far}"
            );
        }
    }
}

/// Every term comes back from its key.
#[test]
fn keys_of_the_corpus_decode() {
    for (term, _) in common::sorted_corpus() {
        let back = decoded(&KeyBuf::encode(&term));
        assert!(back == term, "{term:?} became {back:?}");
        let (back, term) = (
            fyris_term::etf::encode(&back),
            fyris_term::etf::encode(&term),
        );
        assert_eq!(common::to_hex(&back), common::to_hex(&term));
    }
}

/// Inside a map, keys are written in the exact order, in a form that `memcmp` sorts so.
#[test]
fn keys_inside_maps_have_the_exact_order() {
    for keys in common::exact_orders() {
        for pair in keys.windows(2) {
            let map = |key: &Term| {
                let pairs = [(key.clone(), Term::Int(0))];
                KeyBuf::encode(&Term::Map(fyris_term::Map::new(pairs)))
            };
            let (a, b) = (map(&pair[0]), map(&pair[1]));
            assert!(a.order() < b.order(), "{pair:?} {a:?} {b:?}");
            assert!(a.trailer().is_empty());
        }
    }
}
