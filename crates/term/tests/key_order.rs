//! Key bytes against the order and the equality of terms.

use std::cmp::Ordering;

use fyris_term::arbitrary;
use fyris_term::etf;
use fyris_term::key::{self, KeyBuf, KeyWriter};
use fyris_term::{Float, Fun, Map, Term};
use num_bigint::BigInt;
use proptest::prelude::*;

/// Checks the invariants of a pair of keys.
fn check_pair(a: &Term, b: &Term) {
    let (x, y) = (KeyBuf::encode(a), KeyBuf::encode(b));
    assert_eq!(
        x.order().cmp(y.order()),
        a.cmp_order(b),
        "{a:?} beside {b:?}: {x:?} {y:?}"
    );
    assert_eq!(
        x.bytes() == y.bytes(),
        a == b,
        "{a:?} beside {b:?}: {x:?} {y:?}"
    );
    assert_eq!(
        key::is_same(x.stored(), y.bytes()),
        a == b,
        "{a:?} beside {b:?}: {x:?} {y:?}"
    );
    // E and N: what goes on behind a finished form goes on with FF.
    for (short, long) in [(&x, &y), (&y, &x)] {
        let rest = long.order().strip_prefix(short.order());
        let next = rest.and_then(<[u8]>::first);
        assert!(
            matches!(next, None | Some(0xFF)),
            "{a:?} beside {b:?}: {x:?} {y:?}"
        );
    }
}

/// Checks that a term comes back from its key, including the parts that equality does not see.
fn check_round_trip(term: &Term) {
    let key = KeyBuf::encode(term);
    let tail = &key.stored()[key.order_len()..];
    let back =
        key::decode(key.order(), tail).unwrap_or_else(|error| panic!("{term:?}: {error}, {key:?}"));
    assert!(back == *term, "{term:?} became {back:?}");
    assert_eq!(
        etf::encode(&back),
        etf::encode(term),
        "{term:?} became {back:?}"
    );
    assert_eq!(KeyBuf::encode(&back).stored(), key.stored());
    assert_eq!(key::trailer_len(tail), key.trailer().len());
}

fn float(value: f64) -> Term {
    Term::Float(Float::new(value).expect("finite"))
}

/// Returns numbers around every edge of the encoding.
fn numbers() -> Vec<Term> {
    let mut numbers = vec![float(0.0), float(-0.0), Term::Int(0)];
    let large = [
        127, 128, 129, 511, 512, 1016, 1022, 1023, 1024, 1025, 1032, 2000,
    ];
    for power in (0..70).chain(large) {
        let big = BigInt::from(1) << power;
        for off in [-257, -256, -255, -2, -1, 0, 1, 2, 255, 256, 257] {
            numbers.push(Term::integer(&big + off));
            numbers.push(Term::integer(-&big + off));
        }
        if power < 1023 {
            let value = 2f64.powi(power);
            for value in [
                value,
                value.next_up(),
                value.next_down(),
                value + 0.5,
                value - 0.5,
                value + 1.0,
                value * 1.5,
            ] {
                numbers.extend([float(value), float(-value)]);
                if value > 0.0 {
                    numbers.extend([float(1.0 / value), float(-1.0 / value)]);
                }
            }
        }
    }
    for value in [
        5e-324,
        f64::MIN_POSITIVE,
        1e300,
        f64::MAX,
        0.1,
        1.1,
        2.5,
        1e15 + 0.3,
        2f64.powi(52) - 0.5,
    ] {
        numbers.extend([float(value), float(-value)]);
    }
    numbers
}

#[test]
fn numbers_near_every_edge_sort_by_value() {
    let mut numbers = numbers();
    numbers.sort_by(Term::cmp_order);
    for pair in numbers.windows(2) {
        check_pair(&pair[0], &pair[1]);
        // In front of whatever follows: the end, the lowest and the highest of tags.
        for after in [Term::Int(-5), Term::bits(&[0x80], 1).expect("bits")] {
            let left = Term::tuple(vec![pair[0].clone(), after.clone()]);
            check_pair(&left, &Term::tuple(vec![pair[1].clone(), Term::Int(3)]));
            let left = Term::list(vec![pair[0].clone(), after]);
            check_pair(&left, &Term::list(vec![pair[1].clone()]));
        }
    }
    numbers.iter().for_each(check_round_trip);
}

#[test]
fn the_two_zeros_and_the_integer_are_equal_in_order_only() {
    let keys = [Term::Int(0), float(0.0), float(-0.0)].map(|term| KeyBuf::encode(&term));
    assert!(keys.iter().all(|key| key.order() == keys[0].order()));
    assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
    assert!(keys[0].trailer().is_empty());
}

#[test]
fn negative_fractions_lie_between_the_integers() {
    let sorted = [-3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0].map(float);
    for pair in sorted.windows(2) {
        check_pair(&pair[0], &pair[1]);
        let inside = |term: &Term| Term::tuple(vec![term.clone(), Term::list([])]);
        check_pair(&inside(&pair[0]), &inside(&pair[1]));
    }
}

#[test]
fn fast_paths_write_what_the_general_path_does() {
    let texts = [
        &b""[..],
        b"\0",
        b"a\0",
        b"abc",
        b"abcdefg",
        b"abcdefgh",
        b"abcdefg\0",
        b"\0bcdefghi",
        &[7; 200],
    ];
    for bytes in texts {
        let mut slow = KeyBuf::new();
        let mut writer = KeyWriter::new(&mut slow);
        writer.binary(bytes);
        writer.finish();
        assert_eq!(KeyBuf::from_binary(bytes), slow);
        assert_eq!(KeyBuf::encode(&Term::binary(bytes)).stored(), slow.stored());
        check_round_trip(&Term::binary(bytes));
    }
    assert_eq!(KeyBuf::from_int(-7), KeyBuf::encode(&Term::Int(-7)));
}

#[test]
fn zeros_are_found_wherever_they_are() {
    for len in 1..70 {
        for zero in 0..len {
            let mut bytes = vec![0x80; len];
            bytes[zero] = 0;
            check_round_trip(&Term::binary(bytes));
        }
    }
}

/// Runs of zeros, and bytes like the mark behind each of them; also where they fit the inline room just so or no more.
#[test]
fn many_zeros_come_back() {
    for len in 0..150 {
        for every in 1..5 {
            let byte = |i: usize| if i.is_multiple_of(every) { 0 } else { 0xFF };
            let bytes: Vec<u8> = (0..len).map(byte).collect();
            check_round_trip(&Term::binary(&bytes[..]));
            check_round_trip(&Term::tuple(vec![Term::binary(&bytes[..]), Term::Int(1)]));
            let flipped: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
            check_pair(&Term::binary(bytes), &Term::binary(flipped));
        }
    }
}

#[test]
fn a_buffer_that_went_to_the_heap_comes_back() {
    let mut buf = KeyBuf::from_binary(&[9; 1000]);
    buf.set_int(1);
    assert_eq!(buf, KeyBuf::from_int(1));
    KeyBuf::encode_into(&Term::list(vec![Term::Int(70_000); 500]), &mut buf);
    assert_eq!(buf.order_len(), 500 * 5 + 1);
}

#[test]
fn errors_name_the_place() {
    let key = KeyBuf::encode(&Term::tuple(vec![Term::Int(1), Term::Int(300)]));
    let error = key::decode(&key.order()[..4], &[]).expect_err("cut");
    assert_eq!(
        error.to_string(),
        "key bytes, offset 4: the bytes end inside a number"
    );
    let error = key::decode(&[0x51, 0xEE], &[]).expect_err("no tag");
    assert_eq!(
        error.to_string(),
        "key bytes, offset 1: the tag 0xee stands for no type"
    );
}

/// Two closures that differ in their makers are one key, and come back as they were.
#[test]
fn what_equality_does_not_see_is_kept() {
    let external = b"\x83\x70\0\0\0\x39\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x01w\x01ma\x07a\x01Xw\x03a@h\0\0\0\x01\0\0\0\0\0\0\0\x01a\x05";
    let one = etf::decode(external).unwrap_or_else(|error| panic!("{error}"));
    let mut two = one.clone();
    if let Term::Fun(fun) = &mut two
        && let Fun::Local(fun) = &mut **fun
    {
        fun.creator.id = 77;
    }
    let (one, two) = (Term::tuple(vec![one]), Term::tuple(vec![two]));
    check_pair(&one, &two);
    let (x, y) = (KeyBuf::encode(&one), KeyBuf::encode(&two));
    assert!(x.rest() != y.rest() && x == y);
    assert!(key::is_same(x.stored(), y.bytes()) && key::is_same(y.stored(), x.bytes()));
    check_round_trip(&one);
    check_round_trip(&two);
    // Without the rest the maker is lost, but not the identity.
    let bare = key::decode(x.order(), x.trailer()).unwrap_or_else(|error| panic!("{error}"));
    assert!(bare == one);
    let zeros = |ids: Vec<u32>| {
        let node = fyris_term::Atom::new("a@b").expect("a name");
        Term::Reference(Box::new(fyris_term::Reference {
            node,
            creation: 1,
            ids,
        }))
    };
    check_pair(&zeros(vec![1, 2]), &zeros(vec![1, 2, 0]));
    for ids in [vec![1, 2], vec![1, 2, 0], vec![0, 0, 0], vec![0]] {
        check_round_trip(&Term::list(vec![zeros(vec![3]), zeros(ids)]));
    }
}

/// Writes a term pair by pair, maps backwards.
fn write(writer: &mut KeyWriter<'_>, term: &Term) {
    match term {
        Term::Tuple(elements) => {
            writer.begin_tuple(elements.len());
            elements.iter().for_each(|element| write(writer, element));
        }
        Term::List(elements) => {
            write_cells(writer, elements);
            writer.nil();
        }
        Term::Improper(elements, tail) => {
            write_cells(writer, elements);
            write(writer, tail);
        }
        Term::Map(map) => {
            writer.begin_map(map.len());
            for (key, value) in map.iter().rev() {
                writer.map_key();
                write(writer, key);
                writer.map_value();
                write(writer, value);
            }
            writer.end_map();
        }
        Term::Fun(fun) => match &**fun {
            Fun::Local(fun) => {
                writer.begin_local_fun(fun, fun.free.len());
                fun.free.iter().for_each(|value| write(writer, value));
            }
            Fun::External {
                module,
                function,
                arity,
            } => {
                writer.external_fun(*module, *function, *arity);
            }
        },
        Term::Int(value) => writer.int(*value),
        Term::Float(value) => writer.float(*value),
        Term::Atom(atom) => writer.atom_name(atom.as_str()),
        Term::Binary(bytes) => writer.binary(bytes),
        other => writer.term(other),
    }
}

fn write_cells(writer: &mut KeyWriter<'_>, elements: &[Term]) {
    for element in elements {
        writer.cons();
        write(writer, element);
    }
}

fn check_writer(term: &Term) {
    let mut buf = KeyBuf::from_int(0);
    let mut writer = KeyWriter::new(&mut buf);
    write(&mut writer, term);
    writer.finish();
    assert_eq!(buf.stored(), KeyBuf::encode(term).stored(), "{term:?}");
}

#[test]
fn maps_may_be_written_in_any_order() {
    let inner = |value| {
        Term::Map(Map::new([
            (float(2.0), float(value)),
            (Term::Int(3), Term::Int(7)),
        ]))
    };
    let map = Map::new([
        (
            inner(1.0),
            Term::list(vec![float(-0.0), Term::Int(1), float(1.0)]),
        ),
        (Term::Int(5), float(2.0)),
        (Term::tuple(vec![float(1.0)]), inner(4.0)),
    ]);
    let map = Term::tuple(vec![Term::Int(1), Term::Map(map), float(9.0)]);
    check_writer(&map);
    check_round_trip(&map);
}

/// Checks that bytes that decode encode to the same bytes; others name an offset in the input.
fn check_hostile(bytes: &[u8], order_len: usize) {
    let (order, tail) = bytes.split_at(order_len);
    match key::decode(order, tail) {
        Ok(term) => {
            let again = KeyBuf::encode(&term);
            let has_rest = tail.len() > key::trailer_len(tail);
            let whole = if has_rest {
                again.stored()
            } else {
                again.bytes()
            };
            assert_eq!(whole, bytes, "{term:?}");
            assert_eq!(again.order_len(), order_len);
        }
        Err(error) => assert!(error.offset <= bytes.len(), "{error} of {}", bytes.len()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn order_and_equality((a, b) in arbitrary::related_pair()) {
        check_pair(&a, &b);
        check_pair(&b, &a);
    }

    #[test]
    fn round_trip(term in arbitrary::term()) {
        check_round_trip(&term);
        check_writer(&term);
    }

    /// Terms keep their order inside tuples and lists, whatever follows them.
    #[test]
    fn concatenation((a, b) in arbitrary::related_pair(), (c, d) in arbitrary::related_pair()) {
        let left = Term::tuple(vec![a.clone(), c.clone()]);
        let right = Term::tuple(vec![b.clone(), d.clone()]);
        check_pair(&left, &right);
        check_pair(&Term::list(vec![a.clone(), c]), &Term::list(vec![b.clone()]));
        let order = a.cmp_order(&b);
        if order != Ordering::Equal {
            let (x, y) = (KeyBuf::encode(&left), KeyBuf::encode(&right));
            prop_assert_eq!(x.order().cmp(y.order()), order);
        }
    }

    #[test]
    fn changed_bytes_are_a_key_or_an_error(
        term in arbitrary::term(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let key = KeyBuf::encode(&term);
        let mut bytes = key.stored().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        check_hostile(&bytes, key.order_len().min(bytes.len()));
    }

    #[test]
    fn any_bytes_are_a_key_or_an_error(
        bytes in prop::collection::vec(prop_oneof![0u8..0xA0, 0xE0u8..=0xFF], 0..40),
        split in 0usize..40,
    ) {
        check_hostile(&bytes, split.min(bytes.len()));
    }
}
