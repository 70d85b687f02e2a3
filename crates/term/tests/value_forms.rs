//! Values: round trips, canonical form, and bytes that are none.

use fyris_term::value::{self, IntBytes, MAX_INLINE_BINARY, ValueErrorKind};
use fyris_term::{Atom, Blob, Float, Fun, LocalFun, Pid, Reference, Term, arbitrary, etf};
use proptest::prelude::*;

type Value = (Vec<u8>, Vec<Blob>);

fn encode(term: &Term) -> Value {
    let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
    value::encode(term, &mut bytes, &mut blobs);
    (bytes, blobs)
}

fn equal(a: &Value, b: &Value) -> bool {
    value::equal(&a.0, &a.1, &b.0, &b.1)
}

/// Checks that a term comes back exactly, including the parts that equality does not see, and that
/// skipping takes as many bytes.
fn check_round_trip(term: &Term) {
    let (mut bytes, blobs) = encode(term);
    let len = bytes.len();
    bytes.extend_from_slice(b"\xFFnext");
    let mut rest = &bytes[..];
    let back = value::decode(&mut rest, &blobs).unwrap_or_else(|error| panic!("{term:?}: {error}"));
    assert_eq!(rest, b"\xFFnext");
    assert!(back == *term, "{term:?} became {back:?}");
    assert_eq!(etf::encode(&back), etf::encode(term));
    let mut rest = &bytes[..];
    value::skip(&mut rest).unwrap_or_else(|error| panic!("{term:?}: {error}"));
    assert_eq!(bytes.len() - rest.len(), len);
    assert_eq!(encode(&back).0, &bytes[..len]);
}

/// Returns a map of some atoms to integers.
fn record(names: &[String]) -> Term {
    let pair = |(i, name): (usize, &String)| (Term::atom(name), Term::Int(i as i64));
    Term::Map(names.iter().enumerate().map(pair).collect())
}

#[test]
fn maps_of_the_same_keys_share_them() {
    let names: Vec<String> = (10..50).map(|i| format!("shared_{i}")).collect();
    for count in 0..names.len() {
        let map = record(&names[..count]);
        check_round_trip(&map);
        // Tag, size, the shape's number, and the values; or each key with its value.
        let len = encode(&map).0.len();
        match count {
            2..=32 => assert!((3 + count..=5 + count).contains(&len), "{count}: {len}"),
            _ => assert!(len >= 2 + 3 * count || count == 0, "{count}: {len}"),
        }
    }
    let with = |key: Term| {
        let mut pairs = vec![(key, Term::Int(0))];
        let Term::Map(map) = record(&names[..3]) else {
            unreachable!()
        };
        pairs.extend(map.into_pairs());
        Term::Map(fyris_term::Map::new(pairs))
    };
    for key in [
        Term::Int(1),
        Term::binary(*b"shared_10"),
        Term::atom("shared_99"),
    ] {
        check_round_trip(&with(key));
    }
}

#[test]
fn shapes_that_are_none_are_refused() {
    let (bytes, _) = encode(&record(&["refused_a".to_owned(), "refused_b".to_owned()]));
    let kind = |bytes: &[u8]| value::decode(&mut &bytes[..], &[]).map_err(|error| error.kind);
    assert!(kind(&bytes).is_ok());
    let mut other_size = bytes.clone();
    other_size[1] += 1;
    assert_eq!(kind(&other_size), Err(ValueErrorKind::Malformed("shape")));
    let unknown = [bytes[0], 2, 0xFF, 0xFF, 0x7F, 0, 0];
    assert_eq!(kind(&unknown), Err(ValueErrorKind::Malformed("shape")));
    assert_eq!(kind(&bytes[..2]), Err(ValueErrorKind::Truncated));
}

#[test]
fn integers_take_as_few_bytes_as_they_can() {
    let sizes = [
        (1, vec![0, 1, 127, -1, -16]),
        (2, vec![128, 4223, -17, -128]),
        (3, vec![4224, -129, 32767, -32768]),
        (4, vec![32768, -32769, 8_388_607]),
        (5, vec![8_388_608, -2_147_483_648]),
        (9, vec![i64::MAX, i64::MIN, 1 << 55]),
    ];
    for (size, numbers) in sizes {
        for number in numbers {
            assert_eq!(encode(&Term::Int(number)).0.len(), size, "{number}");
        }
    }
    for bits in 0..63 {
        for off in -2..=2 {
            check_round_trip(&Term::Int((1i64 << bits).wrapping_add(off)));
            check_round_trip(&Term::Int((-1i64 << bits).wrapping_add(off)));
        }
    }
}

#[test]
fn large_binaries_are_shared() {
    let large: Blob = vec![7; MAX_INLINE_BINARY + 1].into();
    let term = Term::tuple(vec![
        Term::Binary(large.clone()),
        Term::Binary(large.clone()),
    ]);
    let (bytes, blobs) = encode(&term);
    assert_eq!((bytes.len(), blobs.len()), (5, 2));
    match value::decode(&mut &bytes[..], &blobs) {
        Ok(Term::Tuple(elements)) => {
            assert!(matches!(&elements[1], Term::Binary(bytes) if Blob::ptr_eq(bytes, &large)));
        }
        _ => panic!("a tuple"),
    }
    for len in [0, 1, 15, 16, 63, 64, 65, 300] {
        check_round_trip(&Term::binary(vec![1; len]));
        check_round_trip(&Term::bits(&vec![0xFE; len + 1], 8 * len + 7).expect("bits"));
    }
    let other = encode(&Term::tuple(vec![
        Term::Binary(large),
        Term::binary(vec![8; 65]),
    ]));
    assert!(!equal(&(bytes, blobs), &other));
}

#[test]
fn strings_are_compact() {
    let string = Term::List(
        b"a string"
            .iter()
            .map(|&byte| Term::Int(byte.into()))
            .collect(),
    );
    assert_eq!(encode(&string).0.len(), 10);
    check_round_trip(&string);
    check_round_trip(&Term::list(vec![Term::Int(255), Term::Int(256)]));
    check_round_trip(&Term::list(vec![Term::Int(0); 300]));
}

/// No room is made for more terms than there are bytes left, less those that containers around wait for.
#[test]
fn counts_beyond_the_bytes_are_refused_at_once() {
    let [tuple, list, improper, map] = [0xD2, 0xCA, 0xCB, 0xCC];
    for tag in [tuple, list, improper, map] {
        let huge = [&[tag][..], &[0xFF; 7], &[0x7F, 1, 2, 3]].concat();
        let error = value::decode(&mut &huge[..], &[]).expect_err("too many");
        assert_eq!(
            (error.kind, error.offset),
            (ValueErrorKind::Truncated, 9),
            "{tag}"
        );
    }
    for inner in [tuple, list, map] {
        let owed = [list, 6, inner, 1, 0, 0, 0, 0];
        let error = value::decode(&mut &owed[..], &[]).expect_err("more than owed");
        assert_eq!(
            (error.kind, error.offset),
            (ValueErrorKind::Truncated, 4),
            "{inner}"
        );
    }
}

#[test]
fn a_term_that_never_ends_is_refused() {
    let deep = vec![0xD9; 1_000_000];
    let error = value::decode(&mut &deep[..], &[]).expect_err("never ends");
    assert_eq!(error.kind, ValueErrorKind::Truncated);
    let error = value::skip(&mut &deep[..]).expect_err("never ends");
    assert_eq!(
        error.to_string(),
        "value bytes, offset 1000000: the bytes end inside a term"
    );
}

#[test]
fn errors_name_the_place() {
    for (bytes, message) in [
        (&[][..], "offset 0: the bytes end inside a term"),
        (
            &[0xDA, 1, 0xFF],
            "offset 3: the tag 0xff stands for no type",
        ),
        (
            &[0xAF, 0xFF, 0xFF, 0xFF, 0xFF],
            "offset 5: no atom has the number 4294967295",
        ),
        (&[0xC1, 9], "offset 2: there is no blob number 9"),
        (
            &[0xA9, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F],
            "offset 9: malformed float",
        ),
        (
            &[0xCA, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
            "offset 6: the bytes end inside a term",
        ),
    ] {
        let error = value::decode(&mut &bytes[..], &[]).expect_err(message);
        assert_eq!(error.to_string(), format!("value bytes, {message}"));
    }
}

/// Equality overlooks the creator of a closure and the zero words that end a reference; values keep
/// both.
#[test]
fn equality_overlooks_what_erlang_does() {
    let atom = Atom::new("a@b").expect("a name");
    let creator = |id| Pid {
        node: atom,
        id,
        serial: 0,
        creation: 1,
    };
    let fun = |id, free| {
        let fun = LocalFun {
            module: atom,
            arity: 1,
            uniq: [1; 16],
            index: 0,
            old_index: 0,
            old_uniq: 1,
            creator: creator(id),
            free,
        };
        Term::Fun(Box::new(Fun::Local(fun)))
    };
    let reference = |ids| {
        Term::Reference(Box::new(Reference {
            node: atom,
            creation: 1,
            ids,
        }))
    };
    let terms = [
        Term::tuple(vec![fun(1, vec![Term::Int(1)].into()), Term::Int(5)]),
        Term::tuple(vec![fun(2, vec![Term::Int(1)].into()), Term::Int(5)]),
        Term::tuple(vec![fun(2, vec![Term::Int(1)].into()), Term::Int(6)]),
        Term::tuple(vec![fun(2, vec![Term::Int(2)].into()), Term::Int(5)]),
        Term::list(vec![reference(vec![1, 2])]),
        Term::list(vec![reference(vec![1, 2, 0])]),
        Term::list(vec![reference(vec![1, 2, 1])]),
    ];
    for a in &terms {
        check_round_trip(a);
        for b in &terms {
            assert_eq!(equal(&encode(a), &encode(b)), a == b, "{a:?} {b:?}");
            let print = |term| value::fingerprint(&encode(term).0);
            assert!(a != b || print(a) == print(b), "{a:?} {b:?}");
        }
    }
    assert!(terms[0] == terms[1] && terms[4] == terms[5]);
}

#[test]
fn fingerprints_tell_leaves_apart() {
    let values = |terms: &[Term]| {
        let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
        for term in terms {
            value::encode(term, &mut bytes, &mut blobs);
        }
        bytes
    };
    let int = Term::Int;
    let begins = value::fingerprints(&values(&[int(1)]));
    assert!(begins.contains(&value::fingerprint(&values(&[int(1), int(2), int(3)]))));
    assert!(!begins.contains(&value::fingerprint(&values(&[int(2), int(2), int(3)]))));
    let begins = value::fingerprints(&values(&[int(1), int(2)]));
    assert!(begins.contains(&value::fingerprint(&values(&[int(1), int(2), int(3)]))));
    assert!(!begins.contains(&value::fingerprint(&values(&[int(1), int(3), int(3)]))));
    let print = |last| value::fingerprint(&values(&[int(1), int(2), int(last)]));
    assert_ne!(print(3), print(4));
    assert_eq!(value::fingerprints(&[]), 0..=u64::MAX);
}

fn float(value: f64) -> Term {
    Term::Float(Float::new(value).expect("finite"))
}

#[test]
fn kinds_of_zero_differ() {
    let zeros = [Term::Int(0), float(0.0), float(-0.0)];
    for (i, a) in zeros.iter().enumerate() {
        check_round_trip(a);
        for (j, b) in zeros.iter().enumerate() {
            assert_eq!(equal(&encode(a), &encode(b)), i == j);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn round_trip(term in arbitrary::term()) {
        check_round_trip(&term);
    }

    #[test]
    fn equality((a, b) in arbitrary::related_pair()) {
        prop_assert_eq!(equal(&encode(&a), &encode(&b)), a == b);
        let print = |term| value::fingerprint(&encode(term).0);
        prop_assert!(a != b || print(&a) == print(&b));
        prop_assert!(equal(&encode(&a), &encode(&a.clone())));
    }

    #[test]
    fn values_that_begin_alike_have_fingerprints_in_a_range(
        (a, b) in arbitrary::related_pair(),
        c in arbitrary::term(),
    ) {
        let whole = |second: &Term| encode(&Term::tuple(vec![a.clone(), second.clone(), c.clone()])).0;
        // The header of the tuple, and what stands before its second element, and before its third.
        let header = 1;
        let (first, second) = (encode(&a).0.len(), encode(&Term::tuple(vec![a.clone(), b.clone()])).0.len());
        let values = whole(&b);
        for end in [0, header, header + first, second, values.len()] {
            let range = value::fingerprints(&values[..end]);
            prop_assert!(range.contains(&value::fingerprint(&values)));
            if end <= header + first {
                prop_assert!(range.contains(&value::fingerprint(&whole(&c))));
            }
        }
    }

    #[test]
    fn changed_bytes_are_a_value_or_an_error(
        term in arbitrary::term(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (mut bytes, blobs) = encode(&term);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        check_hostile(&bytes, &blobs);
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        check_hostile(&bytes, &[vec![1u8; 3].into()]);
    }
}

fn check_hostile(bytes: &[u8], blobs: &[Blob]) {
    let mut rest = bytes;
    match value::decode(&mut rest, blobs) {
        Ok(_) => {
            let mut skipped = bytes;
            assert!(value::skip(&mut skipped).is_ok());
            assert_eq!(skipped.len(), rest.len());
        }
        Err(error) => {
            assert!(error.offset <= bytes.len(), "{error}");
            assert_eq!(rest, bytes);
        }
    }
    let _ = value::skip(&mut &bytes[..]);
    value::equal(bytes, blobs, &bytes[bytes.len() / 2..], blobs);
}

/// An integer's bytes, in memory and in a register.
#[test]
fn integers_in_words_are_their_bytes() {
    for shift in 0..64 {
        for near in -3..=3i64 {
            for value in [
                (1i64 << shift).wrapping_add(near),
                near.wrapping_sub(1 << shift),
            ] {
                let bytes = IntBytes::new(value);
                let bytes = bytes.as_bytes();
                let word = IntBytes::word(value);
                assert_eq!(word.is_some(), bytes.len() <= 8, "{value}");
                if let Some((word, len)) = word {
                    assert_eq!(word.to_le_bytes()[..len], *bytes, "{value}");
                    assert_eq!(word.checked_shr(8 * len as u32).unwrap_or(0), 0, "{value}");
                }
            }
        }
    }
}
