//! The external format under any term and any bytes.

use fyris_term::Term;
use fyris_term::arbitrary;
use fyris_term::etf::{
    self, Compression, DecodeError, DecodeErrorKind, EncodeOptions, InflateBudget, MinorVersion,
};
use proptest::prelude::*;

fn options() -> impl Strategy<Value = EncodeOptions> {
    let version = prop_oneof![
        Just(MinorVersion::V0),
        Just(MinorVersion::V1),
        Just(MinorVersion::V2)
    ];
    let compression = prop_oneof![
        Just(Compression::None),
        (0..=9u8).prop_map(Compression::Level)
    ];
    (version, compression).prop_map(|(minor_version, compression)| EncodeOptions {
        minor_version,
        compression,
    })
}

/// Bytes changed in place, cut out or put in.
#[derive(Debug, Clone)]
enum Change {
    Set(prop::sample::Index, u8),
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Remove(prop::sample::Index),
    Insert(prop::sample::Index, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    // Tags, and the bytes that lengths are made of.
    let byte = prop_oneof![
        Just(0),
        Just(255),
        97..=121u8,
        Just(70),
        Just(77),
        Just(80),
        any::<u8>()
    ];
    prop_oneof![
        (at(), byte.clone()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (at(), 0..8u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        at().prop_map(Change::Cut),
        at().prop_map(Change::Remove),
        (at(), byte).prop_map(|(at, byte)| Change::Insert(at, byte)),
    ]
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        if bytes.is_empty() {
            break;
        }
        match change {
            Change::Set(at, byte) => *at.get_mut(&mut bytes) = *byte,
            Change::Flip(at, bit) => *at.get_mut(&mut bytes) ^= 1 << bit,
            Change::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Change::Remove(at) => drop(bytes.remove(at.index(bytes.len()))),
            Change::Insert(at, byte) => bytes.insert(at.index(bytes.len()), *byte),
        }
    }
    bytes
}

/// Returns a compressed term that inflates to these bytes, also if there is no gain in it.
fn zipped(plain: &[u8]) -> Vec<u8> {
    use std::io::Write;

    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(plain).unwrap();
    let mut bytes = vec![131, 80];
    bytes.extend((plain.len() as u32).to_be_bytes());
    bytes.extend(zlib.finish().unwrap());
    bytes
}

fn too_large(error: &DecodeError) -> bool {
    match error.kind() {
        DecodeErrorKind::TooLarge { .. } | DecodeErrorKind::TooManyElements => true,
        DecodeErrorKind::Inflated(inner) => too_large(inner),
        _ => false,
    }
}

/// Checks that any bytes give an offset within them, or a term that is written and read again.
fn judged(bytes: &[u8]) -> Result<(), TestCaseError> {
    match etf::decode_prefix(bytes) {
        Ok((term, used)) => {
            prop_assert!(used <= bytes.len());
            prop_assert_eq!(etf::decode(&etf::encode(&term)), Ok(term));
        }
        Err(error) => prop_assert!(error.offset() <= bytes.len(), "{}", error),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_is_written_is_read(term in arbitrary::term(), options in options()) {
        let bytes = options.encode(&term).unwrap();
        prop_assert_eq!(etf::decode(&bytes), Ok(term.clone()));
        prop_assert_eq!(etf::decode_prefix(&bytes), Ok((term.clone(), bytes.len())));
        let mut bare = b"before".to_vec();
        options.encode_bare_into(&term, &mut bare).unwrap();
        prop_assert_eq!(etf::decode_bare(&bare[6..]), Ok(term));
    }

    #[test]
    fn changed_bytes_are_judged(
        term in arbitrary::term(),
        options in options(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        judged(&changed(options.encode(&term).unwrap(), &changes))?;
    }

    /// The measure is the memory that decoding takes, to the byte, and too large where that is.
    #[test]
    fn a_measured_term_takes_what_a_decoded_one_does(
        term in arbitrary::term(),
        options in options(),
        changes in prop::collection::vec(change(), 0..3),
        room in prop_oneof![Just(1 << 30), 0..20_000u64],
    ) {
        let mut plain = options.encode(&Term::list(vec![term; 20])).unwrap();
        if plain[1] != 80 {
            plain = zipped(&plain[1..]);
        }
        let bytes = changed(plain, &changes);
        let (mut decoding, mut measuring) = (InflateBudget::new(room), InflateBudget::new(room));
        let decoded = etf::decode_prefix_within(&bytes, &mut decoding);
        let measured = etf::measure_prefix_within(&bytes, &mut measuring);
        match decoded {
            Ok(_) => {
                prop_assert_eq!(measured, Ok(()));
                prop_assert_eq!(measuring, decoding);
            }
            Err(error) if too_large(&error) => prop_assert!(too_large(&measured.unwrap_err())),
            Err(_) => {}
        }
    }

    #[test]
    fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        judged(&bytes)?;
        let mut behind_version = vec![etf::VERSION];
        behind_version.extend(bytes);
        judged(&behind_version)?;
    }
}

/// Every strict prefix of a term is refused, at an offset within it.
#[test]
fn a_cut_term_is_refused() {
    let term =
        Term::parse("{a, [1, 2.5 | b], #{\"k\" => <<1, 2, 3:5>>}, 123456789012345678901234567890}")
            .unwrap();
    for minor_version in [MinorVersion::V0, MinorVersion::V1, MinorVersion::V2] {
        let bytes = EncodeOptions {
            minor_version,
            ..EncodeOptions::default()
        }
        .encode(&term)
        .unwrap();
        for len in 0..bytes.len() {
            let error = etf::decode(&bytes[..len]).unwrap_err();
            assert!(
                matches!(error.kind(), DecodeErrorKind::Truncated { .. }),
                "{len}: {error}"
            );
            assert!(error.offset() <= len);
        }
    }
}

/// A container of `n` inside `n` others, each of which says it needs all that is left: without
/// `Reader::claim` each would reserve room for as many terms as there are bytes.
#[test]
fn lengths_are_not_believed() {
    for tag in [105, 108, 116] {
        let mut bytes = vec![etf::VERSION];
        for _ in 0..900 {
            bytes.push(tag);
            bytes.extend(4_000_000_u32.to_be_bytes());
        }
        bytes.resize(10_000_000, 106);
        let error = etf::decode(&bytes).unwrap_err();
        assert!(
            matches!(error.kind(), DecodeErrorKind::Truncated { .. }),
            "{error}"
        );
        assert!(
            error.offset() < 30,
            "refused at the third container or before: {error}"
        );
    }
}

#[test]
fn any_depth_is_read() {
    let nested = |levels: usize, open: &[u8], close: &[u8]| {
        let mut bytes = vec![etf::VERSION];
        bytes.extend(open.repeat(levels));
        bytes.push(106);
        bytes.extend(close.repeat(levels));
        etf::decode(&bytes)
    };
    let shapes: [(&[u8], &[u8]); 4] = [
        (&[104, 1], &[]),
        (&[105, 0, 0, 0, 1], &[]),
        (&[108, 0, 0, 0, 1], &[106]),
        (&[116, 0, 0, 0, 1, 97, 1], &[]),
    ];
    for (open, close) in shapes {
        for levels in [1000, 1_000_000] {
            assert!(nested(levels, open, close).is_ok());
        }
    }
}

/// A list written cell by cell is not deep, however long.
#[test]
fn a_list_of_lists_as_tails_is_flat() {
    let mut bytes = vec![etf::VERSION];
    for _ in 0..100_000 {
        bytes.extend([108, 0, 0, 0, 1, 97, 7]);
    }
    bytes.push(106);
    assert_eq!(
        etf::decode(&bytes),
        Ok(Term::list(vec![Term::Int(7); 100_000]))
    );
}

/// 4 GiB declared behind 20 bytes, and a zip bomb within the declared size but beyond the limit.
#[test]
fn compressed_terms_inflate_within_bounds() {
    let honest = EncodeOptions {
        compression: Compression::Level(9),
        ..EncodeOptions::default()
    }
    .encode(&Term::binary(vec![0; 1 << 20]))
    .unwrap();
    assert!(honest.len() < 2000);
    assert_eq!(etf::decode(&honest), Ok(Term::binary(vec![0; 1 << 20])));

    let with_size = |size: u32| {
        let mut bytes = honest.clone();
        bytes[2..6].copy_from_slice(&size.to_be_bytes());
        etf::decode(&bytes).unwrap_err()
    };
    assert!(matches!(
        with_size(u32::MAX).kind(),
        DecodeErrorKind::TooLarge { .. }
    ));
    let exact = (1 << 20) + 5;
    for size in [0, 1, exact - 1, exact + 1] {
        assert!(
            matches!(with_size(size).kind(), DecodeErrorKind::Damaged { .. }),
            "{size}"
        );
    }
    for cut in 6..honest.len() {
        assert!(etf::decode(&honest[..cut]).is_err(), "cut at {cut}");
    }
}

/// 260 KB of hostile bytes inflated to 256 MB, and these to a list of 268 million empty lists: 8 GB of memory.
#[test]
fn compressed_elements_are_bounded_by_compressed_bytes() {
    let compressed =
        |head: &[u8], elements: &[u8], tail: &[u8]| zipped(&[head, elements, tail].concat());
    let list = |count: u32| {
        let head = [&[108][..], &count.to_be_bytes()].concat();
        compressed(&head, &vec![106; count as usize], &[106])
    };
    assert!(etf::decode(&list(2_000_000)).is_ok());
    // As strings, which say how many elements they have all by themselves.
    let mut string = vec![107, 0xFF, 0xFF];
    string.resize(3 + 0xFFFF, 7);
    let strings = compressed(&[108, 0, 0, 0, 100], &string.repeat(100), &[106]);
    for bomb in [list(20_000_000), strings] {
        assert!(bomb.len() < 30_000);
        let error = etf::decode(&bomb).unwrap_err();
        let DecodeErrorKind::Inflated(inner) = error.kind() else {
            panic!("{error}")
        };
        assert_eq!(inner.kind(), &DecodeErrorKind::TooManyElements);
    }
}

/// Measuring works in one loop: the stack of a thread does not bound the depth, and says nothing of it.
#[test]
fn a_deep_term_is_measured() {
    let deep = [[108, 0, 0, 0, 1].repeat(100_000), vec![106; 100_001]].concat();
    let mut budget = InflateBudget::new(1 << 30);
    assert_eq!(
        etf::measure_prefix_within(&zipped(&deep), &mut budget),
        Ok(())
    );
    let taken = deep.len() + 200_000 * size_of::<Term>();
    assert_eq!(budget.left(), (1 << 30) - taken as u64);
}
