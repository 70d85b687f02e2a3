//! Native records: as OTP 29.1.1 writes, orders and prints them.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use fyris_term::key::{self, KeyBuf};
use fyris_term::{Atom, Definition, NativeRecord, Term, etf, text, value};

/// Returns the record `#module:name{field = Value, ...}`.
fn record(module: &str, name: &str, exported: bool, fields: &[(&str, &str)]) -> Term {
    let atom = |name| Atom::new(name).expect("an atom");
    let names: Vec<Atom> = fields.iter().map(|(name, _)| atom(name)).collect();
    let definition = Definition::new(atom(module), atom(name), exported, &names);
    let values: Vec<Term> = fields
        .iter()
        .map(|(_, value)| Term::parse(value).expect("a term"))
        .collect();
    let record = NativeRecord::new(definition.expect("no field twice"), values);
    record.expect("a value for each field").into()
}

fn of(fields: &[(&str, &str)]) -> Term {
    record("m", "n", true, fields)
}

fn value_of(term: &Term) -> Vec<u8> {
    let mut bytes = Vec::new();
    value::encode(term, &mut bytes, &mut Vec::new());
    bytes
}

/// What `term_to_binary(#m:n{x = 1, y = 2.0})` gives.
const WRITTEN: &[u8] = &[
    131, 67, 0, 0, 0, 2, 1, 119, 1, 109, 119, 1, 110, 119, 1, 120, 119, 1, 121, 97, 1, 70, 64, 0,
    0, 0, 0, 0, 0, 0,
];

#[test]
fn the_external_format_is_that_of_otp_29() {
    let term = of(&[("x", "1"), ("y", "2.0")]);
    assert_eq!(etf::encode(&term), WRITTEN);
    assert_eq!(etf::decode(WRITTEN).expect("a term"), term);
    let mut hidden = WRITTEN.to_vec();
    hidden[6] = 0;
    let read = etf::decode(&hidden).expect("a term");
    assert_eq!(read, record("m", "n", false, &[("x", "1"), ("y", "2.0")]));
    assert_ne!(read, term);
    for end in 0..WRITTEN.len() {
        assert!(etf::decode(&WRITTEN[..end]).is_err(), "{end} bytes");
    }
}

#[test]
fn what_otp_29_refuses_is_refused() {
    let refused = |at: usize, byte: u8, why: &str| {
        let mut bytes = WRITTEN.to_vec();
        bytes[at] = byte;
        let error = etf::decode(&bytes).expect_err(why);
        assert!(error.to_string().contains(why), "{error}");
    };
    refused(6, 2, "whether a native record is exported is 2");
    refused(18, b'x', "the same field twice");
    refused(7, 97, "the module of a native record, an atom,");
    let huge = [131, 67, 255, 255, 255, 255, 1, 119, 1, 109, 119, 1, 110];
    assert!(etf::decode(&huge).is_err());
    assert!(Term::parse("#m:n{x = 1, x = 2}").is_err());
}

#[test]
fn a_compressed_one_is_measured_and_read() {
    let term = Term::list(vec![of(&[("x", "1"), ("y", "[a, b, c]")]); 100]);
    let options = etf::EncodeOptions {
        compression: etf::Compression::Level(6),
        ..Default::default()
    };
    let bytes = options.encode(&term).expect("a short one");
    assert_eq!(bytes[1], 80);
    assert_eq!(etf::decode(&bytes).expect("a term"), term);
}

/// In the order of `lists:sort/1` of OTP 29.
#[test]
fn the_order_is_that_of_otp_29() {
    let parsed = |text: &str| Term::parse(text).expect("a term");
    let sorted = [
        parsed("<0.10.0>"),
        parsed("{}"),
        parsed("{1,2,3}"),
        record("a", "z", true, &[("x", "1")]),
        record("m", "a", true, &[("x", "1")]),
        record("m", "n", false, &[]),
        record("m", "n", false, &[("x", "9")]),
        of(&[]),
        of(&[("a", "9")]),
        of(&[("b", "1")]),
        of(&[("b", "1.5")]),
        of(&[("b", "a")]),
        of(&[("a", "1"), ("b", "1")]),
        of(&[("a", "2"), ("b", "1")]),
        of(&[("a", "1"), ("c", "1")]),
        of(&[("b", "1"), ("a", "1")]),
        parsed("#{}"),
        parsed("[]"),
        parsed("<<>>"),
    ];
    for (i, a) in sorted.iter().enumerate() {
        for (j, b) in sorted.iter().enumerate() {
            assert_eq!(a.cmp_order(b), i.cmp(&j), "{a} and {b}");
            assert_eq!(a.cmp_exact(b), i.cmp(&j), "{a} and {b}");
            let (a, b) = (KeyBuf::encode(a), KeyBuf::encode(b));
            assert_eq!(a.order().cmp(b.order()), i.cmp(&j));
        }
    }
}

#[test]
fn numbers_are_equal_in_order_and_differ_exactly() {
    let integer = of(&[("x", "1")]);
    let float = of(&[("x", "1.0")]);
    assert!(integer.eq_order(&float) && integer != float);
    assert_eq!(integer.cmp_exact(&float), Ordering::Less);
    assert_eq!(of(&[("x", "2")]).cmp_exact(&float), Ordering::Less);
    let (a, b) = (KeyBuf::encode(&integer), KeyBuf::encode(&float));
    assert_eq!(a.order(), b.order());
    assert_ne!(a.bytes(), b.bytes());
    // As a key of a map it is exact.
    let in_map = |key: &Term| Term::Map([(key.clone(), Term::Int(1))].into_iter().collect());
    assert!(!in_map(&integer).eq_order(&in_map(&float)));
    let (a, b) = (
        KeyBuf::encode(&in_map(&integer)),
        KeyBuf::encode(&in_map(&float)),
    );
    assert_ne!(a.order(), b.order());
}

#[test]
fn copies_are_equal_and_hash_alike() {
    let hasher = RandomState::new();
    let term = of(&[("x", "[1, {a}]"), ("y", "#{}")]);
    let copy = term.clone();
    assert_eq!(term, copy);
    assert_eq!(hasher.hash_one(&term), hasher.hash_one(&copy));
    let hidden = record("m", "n", false, &[("x", "[1, {a}]"), ("y", "#{}")]);
    assert_ne!(hasher.hash_one(&term), hasher.hash_one(&hidden));
}

#[test]
fn text_is_that_of_otp_29() {
    let term = of(&[("x", "1"), ("y", "2.0")]);
    assert_eq!(term.to_string(), "#m:n{x = 1,y = 2.0}");
    assert_eq!(of(&[]).to_string(), "#m:n{}");
    let quoted = record(
        "M od",
        "n n",
        true,
        &[("a b", "\"str\""), ("b", "<<\"bin\">>")],
    );
    let printed = text::print_p(&quoted, &text::PrintOptions::default());
    assert_eq!(printed, "#'M od':'n n'{'a b' = \"str\",b = <<\"bin\">>}");
    for text in [
        "#m:n{x=1,y=2.0}",
        "# m : n { x = 1 , y = 2.0 } .",
        "#m:n{x\n= 1,\ny = 2.0}",
    ] {
        let parsed = Term::parse(text.replace("# m", "#m").as_str());
        assert_eq!(parsed.expect(text), term);
    }
    assert_eq!(
        Term::parse(&quoted.to_string()).expect("as printed"),
        quoted
    );
    for wrong in [
        "#m:n",
        "#m{x = 1}",
        "#m:n{1}",
        "#m:n{x}",
        "#m:n{x => 1}",
        "#m:n{x = 1",
    ] {
        assert!(Term::parse(wrong).is_err(), "{wrong}");
    }
    for cut in [
        "#m",
        "#m:",
        "#m:n",
        "#m:n{",
        "#m:n{x",
        "#m:n{x =",
        "#m:n{x = 1",
        "#m:n{x = 1,",
    ] {
        let error = Term::parse(cut).expect_err(cut);
        assert!(error.is_incomplete(), "{cut}: {error}");
    }
}

/// OTP prints both alike, though they are two terms.
#[test]
fn text_tells_what_is_not_exported() {
    let hidden = record("m", "n", false, &[("x", "[a]")]);
    let text = "#m:n/local{x = [a]}";
    assert_eq!(hidden.to_string(), text);
    assert_eq!(text::print_p(&hidden, &text::PrintOptions::default()), text);
    let shown = record("m", "n", true, &[("x", "[a]")]);
    for (text, term) in [
        (text, &hidden),
        ("#m:n /local {x=[a]}", &hidden),
        ("#m:n{x = [a]}", &shown),
    ] {
        assert_eq!(Term::parse(text).as_ref(), Ok(term));
    }
    for cut in ["#m:n/", "#m:n/loc", "#m:n/local", "#m:n/local{"] {
        let error = Term::parse(cut).expect_err(cut);
        assert!(error.is_incomplete(), "{cut}: {error}");
    }
    for wrong in ["#m:n/{}", "#m:n/locals{}", "#m:n/local/local{}"] {
        let error = Term::parse(wrong).expect_err(wrong);
        assert!(!error.is_incomplete(), "{wrong}: {error}");
    }
}

#[test]
fn a_long_one_is_laid_out_over_lines() {
    let options = text::PrintOptions {
        line_width: 24,
        ..Default::default()
    };
    let term = of(&[
        ("first", "[1,20000,30000]"),
        ("second", "{aaaaaaa,bbbbbbb,ccccccc}"),
    ]);
    let printed = text::print_p(&term, &options);
    assert!(printed.lines().count() > 1, "{printed}");
    assert_eq!(Term::parse(&printed).expect("as printed"), term);
    let cut = text::PrintOptions {
        depth: Some(3),
        ..Default::default()
    };
    assert!(text::print_p(&term, &cut).contains("..."));
}

/// The definition is kept once: a value has its number.
#[test]
fn values_do_not_carry_the_definition() {
    let names: Vec<String> = (0..10).map(|i| format!("field_{i}")).collect();
    let fields: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "7")).collect();
    let term = of(&fields);
    let bytes = value_of(&term);
    // A tag, the number of fields, that of the definition, ten values.
    assert!(bytes.len() <= 3 + 3 + 10, "{} bytes", bytes.len());
    assert_eq!(value::decode(&mut &bytes[..], &[]), Ok(term));
}

#[test]
fn a_definition_of_many_fields_is_spelled_out() {
    let names: Vec<String> = (0..300).map(|i| format!("field_{i}")).collect();
    let fields: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "7")).collect();
    let term = Term::tuple([of(&fields), Term::Int(1)]);
    let bytes = value_of(&term);
    assert_eq!(value::decode(&mut &bytes[..], &[]), Ok(term.clone()));
    let mut rest = &bytes[..];
    value::skip(&mut rest).expect("a value");
    assert!(rest.is_empty());
    for end in 0..bytes.len() {
        assert!(value::decode(&mut &bytes[..end], &[]).is_err());
        assert!(value::skip(&mut &bytes[..end]).is_err());
    }
    let key = KeyBuf::encode(&term);
    assert_eq!(
        key::decode(key.order(), &key.stored()[key.order_len()..]),
        Ok(term)
    );
}

#[test]
fn a_term_does_not_grow() {
    assert_eq!(size_of::<Term>(), 32);
}
