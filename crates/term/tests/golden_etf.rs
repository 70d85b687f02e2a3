//! The external format, against bytes that a real OTP wrote and its verdict on bytes it would not
//! write.

mod common;

use common::{from_hex, lines, to_hex};
use fyris_term::etf::{self, DecodeErrorKind, EncodeOptions, MinorVersion};
use fyris_term::{Atom, Fun, Term};

/// Up to this many pairs, OTP 25 keeps a map in the exact order of its keys.
const SMALL_MAP: usize = 32;

#[test]
fn decodes_what_otp_wrote_and_writes_it_again() {
    let lines = lines("etf.gz");
    assert!(lines.len() >= 2000, "{} terms", lines.len());
    for fields in lines {
        let [what, v0, v1, v2, det] = &fields[..] else {
            panic!("fields of {fields:?}")
        };
        let term = common::decoded(det);
        assert_eq!(describe(&term), *what, "decoding {det}");
        for bytes in [v1, v2] {
            assert!(common::decoded(bytes) == term, "{what} from {bytes}");
        }
        assert_eq!(to_hex(&etf::encode_deterministic(&term)), *det, "{what}");
        if largest_map(&term) <= SMALL_MAP {
            assert_eq!(to_hex(&etf::encode(&term)), *v2, "{what}");
            assert_eq!(encoded(&term, MinorVersion::V1), *v1, "{what}");
            assert_eq!(encoded(&term, MinorVersion::V0), *v0, "{what}");
        }
        if !what.contains('f') {
            assert!(common::decoded(v0) == term, "{what} from {v0}");
        }
    }
}

/// Text with 21 digits says any float exactly.
#[test]
fn floats_as_text_are_exact() {
    for fields in lines("etf.gz")
        .iter()
        .filter(|fields| fields[0].starts_with('f'))
    {
        assert_eq!(describe(&common::decoded(&fields[1])), fields[0]);
    }
}

fn encoded(term: &Term, minor_version: MinorVersion) -> String {
    let options = EncodeOptions {
        minor_version,
        ..EncodeOptions::default()
    };
    to_hex(&options.encode(term).expect("a term from the format"))
}

#[test]
fn judges_odd_bytes_as_otp_does() {
    let lines = lines("odd.gz");
    let mut ours = 0;
    for fields in &lines {
        let bytes = from_hex(&fields[0]);
        let answer = match etf::decode_prefix(&bytes) {
            Ok((term, used)) => format!("{used}:{}", to_hex(&etf::encode_deterministic(&term))),
            Err(error) => {
                assert!(error.offset() <= bytes.len(), "{error} in {}", fields[0]);
                "refused".to_owned()
            }
        };
        if answer != fields[1] {
            assert!(
                differs_on_purpose(&bytes),
                "{}: {answer}, not {}",
                fields[0],
                fields[1]
            );
            ours += 1;
        }
    }
    assert!(
        lines.len() > 3000 && ours < 60,
        "{ours} of {} differ",
        lines.len()
    );
}

/// Returns whether this is one of the differences that the essay of the module names.
fn differs_on_purpose(bytes: &[u8]) -> bool {
    match etf::decode_prefix(bytes) {
        // `0.0` and `-0.0` as keys of one map, which OTP 25 takes for one key.
        Ok((term, _)) => has_both_zeros(&term),
        Err(error) => match error.kind() {
            // The runtime's own tags, which it also takes from strangers.
            DecodeErrorKind::UnknownTag { tag } => (71..80).contains(tag),
            DecodeErrorKind::Damaged { why } => why.contains("checksum"),
            DecodeErrorKind::OutOfRange { what, .. } => {
                matches!(
                    *what,
                    "the number of words in a reference" | "the arity of a fun"
                )
            }
            _ => false,
        },
    }
}

fn has_both_zeros(term: &Term) -> bool {
    match term {
        Term::Map(map) => {
            let zeros = map
                .iter()
                .filter(|(key, _)| key.eq_order(&Term::from(0.0)))
                .count();
            zeros > 1
                || map
                    .iter()
                    .any(|(key, value)| has_both_zeros(key) || has_both_zeros(value))
        }
        Term::Tuple(elements) | Term::List(elements) => elements.iter().any(has_both_zeros),
        _ => false,
    }
}

fn largest_map(term: &Term) -> usize {
    let most = |terms: &[Term]| terms.iter().map(largest_map).max().unwrap_or(0);
    match term {
        Term::Tuple(elements) | Term::List(elements) => most(elements),
        Term::Improper(elements, tail) => most(elements).max(largest_map(tail)),
        Term::Map(map) => map
            .iter()
            .map(|(key, value)| largest_map(key).max(largest_map(value)))
            .fold(map.len(), usize::max),
        Term::Fun(fun) => match &**fun {
            Fun::Local(fun) => most(&fun.free),
            Fun::External { .. } => 0,
        },
        _ => 0,
    }
}

/// Describes a term, in the words of `what/1` in `golden/generate.escript`.
fn describe(term: &Term) -> String {
    match term {
        Term::Int(value) => value.to_string(),
        Term::Big(value) => value.to_string(),
        Term::Float(value) => format!("f{:016x}", value.get().to_bits()),
        Term::Atom(atom) => name(*atom),
        Term::Binary(bytes) => format!("b{}:{}", bytes.len() * 8, to_hex(bytes)),
        Term::Bits(bits) => {
            let len = (bits.bytes().len() - 1) * 8 + usize::from(bits.last_bits());
            format!("b{len}:{}", to_hex(bits.bytes()))
        }
        Term::Tuple(elements) => format!("{{{}}}", describe_all(elements)),
        Term::List(elements) => format!("[{}]", describe_all(elements)),
        Term::Improper(elements, tail) => {
            format!("[{}|{}]", describe_all(elements), describe(tail))
        }
        Term::Map(map) => {
            let flat: Vec<Term> = map
                .iter()
                .flat_map(|(key, value)| [key.clone(), value.clone()])
                .collect();
            format!("#{}#", describe_all(&flat))
        }
        Term::Pid(pid) => format!("p{},{}.{}", name(pid.node), pid.id, pid.serial),
        Term::Port(port) => format!("o{},{}", name(port.node), port.id),
        Term::Reference(reference) => {
            let words: Vec<String> = reference.ids.iter().rev().map(u32::to_string).collect();
            format!("r{},{}", name(reference.node), words.join("."))
        }
        Term::Fun(fun) => describe_fun(fun),
        Term::Record(_) => panic!("OTP 25 has no native records"),
    }
}

fn describe_fun(fun: &Fun) -> String {
    match fun {
        Fun::External {
            module,
            function,
            arity,
        } => {
            format!("e{},{},{arity}", name(*module), name(*function))
        }
        Fun::Local(fun) => {
            let creator = describe(&Term::Pid(Box::new(fun.creator.clone())));
            let (module, arity, index) = (name(fun.module), fun.arity, fun.index);
            let (uniq, free) = (to_hex(&fun.uniq), describe_all(&fun.free));
            let (old_index, old_uniq) = (fun.old_index, fun.old_uniq);
            format!(
                "l{module},{arity},b128:{uniq},{index},{old_index},{old_uniq},{creator},[{free}]"
            )
        }
    }
}

fn describe_all(terms: &[Term]) -> String {
    terms.iter().map(describe).collect::<Vec<_>>().join(",")
}

fn name(atom: Atom) -> String {
    format!("a{}", to_hex(atom.as_str().as_bytes()))
}
