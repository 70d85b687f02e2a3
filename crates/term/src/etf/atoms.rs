//! Atoms, in the four spellings of the format.

use super::error::{DecodeError, DecodeErrorKind};
use super::reader::EtfReader;
use super::tag;
use crate::Atom;

/// Reads the atom behind `tag`, which stood at `at`; `None` if the tag is no atom's.
#[inline]
pub(super) fn tagged(
    reader: &mut EtfReader<'_>,
    tag: u8,
    at: usize,
) -> Option<Result<Atom, DecodeError>> {
    Some(match tag {
        tag::SMALL_ATOM_UTF8 => short(reader).and_then(|bytes| utf8(reader, bytes, at)),
        tag::ATOM_UTF8 => long(reader).and_then(|bytes| utf8(reader, bytes, at)),
        tag::ATOM => long(reader).and_then(|bytes| latin1(reader, bytes, at)),
        tag::SMALL_ATOM => short(reader).and_then(|bytes| latin1(reader, bytes, at)),
        _ => return None,
    })
}

/// Reads an atom where nothing else may stand; `expected` names it in the error.
pub(super) fn required(
    reader: &mut EtfReader<'_>,
    expected: &'static str,
) -> Result<Atom, DecodeError> {
    let at = reader.offset();
    let tag = reader.u8(expected)?;
    if tag == tag::ATOM_CACHE_REF {
        return Err(cache_ref(at));
    }
    tagged(reader, tag, at).unwrap_or_else(|| {
        Err(DecodeError::new(
            at,
            DecodeErrorKind::Unexpected { expected, tag },
        ))
    })
}

pub(super) fn cache_ref(at: usize) -> DecodeError {
    let kind = DecodeErrorKind::Unsupported {
        tag: tag::ATOM_CACHE_REF,
        name: "ATOM_CACHE_REF",
        why: "the cache it refers to belongs to a connection between two nodes",
    };
    DecodeError::new(at, kind)
}

fn short<'a>(reader: &mut EtfReader<'a>) -> Result<&'a [u8], DecodeError> {
    let len = reader.u8("the length of an atom")?;
    reader.take(len.into(), "an atom")
}

fn long<'a>(reader: &mut EtfReader<'a>) -> Result<&'a [u8], DecodeError> {
    let len = reader.u16("the length of an atom")?;
    reader.take(len.into(), "an atom")
}

fn utf8(reader: &EtfReader<'_>, bytes: &[u8], at: usize) -> Result<Atom, DecodeError> {
    match std::str::from_utf8(bytes) {
        Ok(name) => atom(reader, name, at),
        Err(_) => Err(DecodeError::new(at, DecodeErrorKind::NotUtf8)),
    }
}

fn latin1(reader: &EtfReader<'_>, bytes: &[u8], at: usize) -> Result<Atom, DecodeError> {
    match std::str::from_utf8(bytes) {
        Ok(name) if name.is_ascii() => atom(reader, name, at),
        // Latin-1 is the first 256 characters of Unicode.
        _ => {
            let name: String = bytes.iter().map(|&byte| char::from(byte)).collect();
            atom(reader, &name, at)
        }
    }
}

fn atom(reader: &EtfReader<'_>, name: &str, at: usize) -> Result<Atom, DecodeError> {
    if reader.makes_no_atoms() {
        let unknown = || DecodeErrorKind::UnknownAtom(name.to_owned());
        return Atom::known(name).ok_or_else(|| DecodeError::new(at, unknown()));
    }
    Atom::new(name).map_err(|error| DecodeError::new(at, error.into()))
}
