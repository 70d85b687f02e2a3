//! Reading the golden files that `golden/generate.escript` makes with a real OTP.

#![allow(
    dead_code,
    reason = "each test file that includes this module uses a part of it"
)]

pub(crate) mod deep;

use std::io::Read;
use std::path::Path;

use fyris_term::{Term, etf};

/// The comparison of a term of the sorted corpus with the next, as OTP 25 saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is less.
    Less,
    /// They are equal by `==` only.
    Equal,
    /// They are equal by `=:=`.
    Exact,
    /// They are equal by `=:=` but for the sign of zeros: equal by `==` only, since OTP 27.
    ZeroSigns,
    /// There is no next.
    Last,
}

/// Returns the lines of a gzipped golden file, each cut into its fields.
pub(crate) fn lines(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(name);
    let bytes = std::fs::read(&path).expect("the golden file");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..])
        .read_to_string(&mut text)
        .expect("gzipped lines");
    text.lines()
        .map(|line| line.split(' ').map(str::to_owned).collect())
        .collect()
}

/// Returns the terms that OTP's `lists:sort` has put in order, each with how it compares with the
/// next.
pub(crate) fn sorted_corpus() -> Vec<(Term, Next)> {
    lines("order.gz")
        .iter()
        .map(|fields| (decoded(&fields[1]), next(&fields[0])))
        .collect()
}

fn next(flag: &str) -> Next {
    match flag {
        "<" => Next::Less,
        "=" => Next::Equal,
        "!" => Next::Exact,
        "z" => Next::ZeroSigns,
        "." => Next::Last,
        _ => panic!("flag {flag}"),
    }
}

/// Lists of map keys, each in the exact order that OTP gives them.
pub(crate) fn exact_orders() -> Vec<Vec<Term>> {
    let list = |fields: &Vec<String>| match decoded(&fields[0]) {
        Term::List(keys) => keys.into_vec(),
        _ => panic!("a list of keys"),
    };
    lines("exact.gz").iter().map(list).collect()
}

/// Returns the term that hexadecimal external bytes stand for.
pub(crate) fn decoded(hex: &str) -> Term {
    etf::decode(&from_hex(hex)).unwrap_or_else(|error| panic!("{error} in {hex}"))
}

pub(crate) fn from_hex(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).expect("a hexadecimal digit") as u8;
    hex.as_bytes()
        .chunks(2)
        .map(|two| digit(two[0]) << 4 | digit(two[1]))
        .collect()
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
