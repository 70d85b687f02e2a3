//! From the bytes of an object in a dump straight to the parts of a record.
//!
//! Most objects in most tables are flat tuples of numbers, atoms and binaries. Their elements are written as the
//! external format is read: no tree of terms is built. Objects that are not flat, or malformed, are left to the decoder
//! of [`fyris_term::etf`], which also describes the error; so this path has no errors of its own, it only gives up.

use fyris_term::key::KeyBuf;
use fyris_term::value::ValueWriter;
use fyris_term::{Term, etf};

use crate::error::{Error, Result};
use crate::native_terms::{AsObject, ObjectWriter};

const SMALL_TUPLE: u8 = 104;
const SMALL_INTEGER: u8 = 97;
const INTEGER: u8 = 98;
const BINARY: u8 = 109;
const SMALL_BIG: u8 = 110;
const NEW_FLOAT: u8 = 70;
const ATOM: u8 = 100;
const SMALL_ATOM: u8 = 115;
const ATOM_UTF8: u8 = 118;
const SMALL_ATOM_UTF8: u8 = 119;

/// An object in the external format.
pub(super) struct FlatObject<'b>(pub(super) &'b [u8]);

impl AsObject for FlatObject<'_> {
    /// Fails if it takes the long way. O(bytes).
    #[inline]
    fn write(&self, keypos: usize, out: &mut ObjectWriter<'_>) -> Result<usize> {
        let written = self.write_flat(keypos, out);
        written.ok_or_else(|| Error::NotATuple(String::new()))
    }
}

impl FlatObject<'_> {
    #[inline]
    fn write_flat(&self, keypos: usize, out: &mut ObjectWriter<'_>) -> Option<usize> {
        let [etf::VERSION, SMALL_TUPLE, arity, elements @ ..] = self.0 else {
            return None;
        };
        let (arity, mut rest) = (usize::from(*arity), elements);
        for position in 1..=arity {
            rest = match position == keypos {
                true => key(rest, out.key())?,
                false => value(rest, &mut out.values())?,
            };
        }
        (arity >= keypos).then_some(arity)
    }
}

/// Writes the element at the front of `bytes` as a key, and returns what follows it.
#[inline]
fn key<'b>(bytes: &'b [u8], out: &mut KeyBuf) -> Option<&'b [u8]> {
    if let Some((n, rest)) = integer(bytes) {
        out.set_int(n);
        return Some(rest);
    }
    if let Some((binary, rest)) = binary(bytes) {
        out.set_binary(binary);
        return Some(rest);
    }
    let (term, rest) = leaf(bytes)?;
    KeyBuf::encode_into(&term, out);
    Some(rest)
}

/// Writes the element at the front of `bytes` as a value, and returns what follows it.
#[inline]
fn value<'b>(bytes: &'b [u8], out: &mut ValueWriter<'_>) -> Option<&'b [u8]> {
    if let Some((n, rest)) = integer(bytes) {
        out.int(n);
        return Some(rest);
    }
    if let Some((binary, rest)) = binary(bytes) {
        out.binary(binary);
        return Some(rest);
    }
    let (term, rest) = leaf(bytes)?;
    out.any(&term);
    Some(rest)
}

/// Reads an integer of at most 64 bits; returns it and the bytes behind it.
#[inline]
fn integer(bytes: &[u8]) -> Option<(i64, &[u8])> {
    match bytes {
        [SMALL_INTEGER, n, rest @ ..] => Some((i64::from(*n), rest)),
        [INTEGER, a, b, c, d, rest @ ..] => {
            Some((i64::from(i32::from_be_bytes([*a, *b, *c, *d])), rest))
        }
        _ => None,
    }
}

#[inline]
fn binary(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match bytes {
        [BINARY, a, b, c, d, rest @ ..] => {
            rest.split_at_checked(u32::from_be_bytes([*a, *b, *c, *d]) as usize)
        }
        _ => None,
    }
}

/// Reads an atom, float or bignum, terms that hold no others, by the decoder; returns it and the bytes behind it.
fn leaf(bytes: &[u8]) -> Option<(Term, &[u8])> {
    match *bytes.first()? {
        SMALL_BIG | NEW_FLOAT | ATOM | SMALL_ATOM | ATOM_UTF8 | SMALL_ATOM_UTF8 => {}
        _ => return None,
    }
    let (term, used) = etf::decode_bare_prefix(bytes).ok()?;
    Some((term, bytes.get(used..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Store};

    /// Asserts that the short way and the long one store the same object.
    fn same(object: Term, keypos: usize, flat: bool) {
        let store = Store::new();
        let owner = store.owner();
        let table = owner
            .new_table("t", &Options::set().keypos(keypos))
            .unwrap();
        let mut loader = table.loader();
        let record = loader.record(&FlatObject(&etf::encode(&object)));
        assert_eq!(record.is_ok(), flat, "{object:?}");
        if let Ok(record) = record {
            loader.put(record).unwrap();
            loader.flush().unwrap();
            assert_eq!(table.tab2list().unwrap(), std::slice::from_ref(&object));
            // Found and compared as the object that the long way makes.
            table.delete_object(&object).unwrap();
            assert!(table.is_empty(), "{object:?}");
        }
    }

    #[test]
    fn flat_objects_of_every_leaf() {
        let float = fyris_term::Float::new(-0.0).map(Term::Float).unwrap();
        let leaves = [
            Term::Int(0),
            Term::Int(255),
            Term::Int(-1),
            Term::Int(i64::MIN),
            Term::Int(i64::MAX),
            etf::decode(b"\x83n\x09\x01\0\0\0\0\0\0\0\0\x01").unwrap(),
            float,
            Term::atom("ok"),
            Term::atom("é漢"),
            Term::binary(*b""),
            Term::binary(*b"with\0zero"),
            Term::binary(vec![7; 1000]),
        ];
        for a in &leaves {
            for b in &leaves {
                same(Term::tuple(vec![a.clone(), b.clone()]), 1, true);
                same(Term::tuple(vec![a.clone(), b.clone(), a.clone()]), 2, true);
            }
        }
    }

    #[test]
    fn the_rest_takes_the_long_way() {
        let nested = Term::tuple(vec![Term::Int(1), Term::list(vec![Term::Int(1)])]);
        same(nested, 1, false);
        same(Term::tuple(vec![Term::Int(1)]), 2, false);
        same(Term::Int(1), 1, false);
    }

    #[test]
    fn no_prefix_of_an_object_is_one() {
        let store = Store::new();
        let owner = store.owner();
        let table = owner.new_table("t", &Options::set()).unwrap();
        let elements = vec![Term::Int(-70000), Term::binary(*b"abc"), Term::atom("x")];
        let bytes = etf::encode(&Term::tuple(elements));
        for cut in 0..bytes.len() {
            let record = table.loader().record(&FlatObject(&bytes[..cut]));
            assert!(record.is_err(), "cut at {cut}");
        }
    }
}
