//! Bytes to terms.
//!
//! The recursive function, [`term`], is kept small on the stack: terms that do not nest are read in
//! functions of its own, so that `MAX_DEPTH` levels fit the stack of a small thread.

use num_bigint::{BigInt, Sign};

use super::error::{DecodeError, DecodeErrorKind};
use super::inflate::InflateBudget;
use super::reader::Reader;
use super::{atoms, identifiers, inflate, tag};
use crate::term::Map;
use crate::{Float, MAX_DEPTH, Term};

/// Reads a term behind the version byte, compressed or not.
pub(super) fn versioned(
    reader: &mut Reader<'_>,
    budget: &mut InflateBudget,
) -> Result<Term, DecodeError> {
    let found = reader.u8("the version byte")?;
    if found != tag::VERSION {
        return Err(DecodeError::new(0, DecodeErrorKind::Version { found }));
    }
    if reader.rest().first() == Some(&tag::COMPRESSED) {
        return compressed(reader, budget);
    }
    term(reader, 0)
}

fn compressed(reader: &mut Reader<'_>, budget: &mut InflateBudget) -> Result<Term, DecodeError> {
    let at = reader.offset();
    let inflated = inflate::inflate(reader, budget.left())?;
    budget.take(inflated.len());
    let allowed = inflate::allowed_elements(reader.offset() - at).min(budget.elements());
    let mut inner = reader.inflated(&inflated, allowed);
    // As in OTP, bytes behind the inflated term are ignored: no encoder writes any.
    let decoded = term(&mut inner, 0);
    budget.take_elements(allowed - inner.allowed());
    decoded.map_err(|error| DecodeError::new(at, DecodeErrorKind::Inflated(Box::new(error))))
}

/// Reads a term that lies inside `depth` others.
pub(super) fn term(reader: &mut Reader<'_>, depth: usize) -> Result<Term, DecodeError> {
    let at = reader.offset();
    let tag = reader.u8("a term")?;
    match tag {
        tag::SMALL_INTEGER => Ok(Term::Int(reader.u8("a small integer")?.into())),
        tag::INTEGER => Ok(Term::Int((reader.u32("an integer")? as i32).into())),
        tag::SMALL_TUPLE => {
            let arity = reader.u8("the arity of a tuple")?.into();
            tuple(reader, arity, at, depth)
        }
        tag::LARGE_TUPLE => {
            let arity = reader.u32("the arity of a tuple")? as usize;
            tuple(reader, arity, at, depth)
        }
        tag::NIL => Ok(Term::List(Vec::new())),
        tag::LIST => list(reader, at, depth),
        tag::MAP => map(reader, at, depth),
        tag::NEW_FUN => identifiers::local_fun(reader, nested(at, depth)?),
        _ => leaf(reader, tag, at),
    }
}

/// Returns the depth of terms that lie inside a container at `depth`.
#[inline]
fn nested(at: usize, depth: usize) -> Result<usize, DecodeError> {
    if depth >= MAX_DEPTH {
        return Err(DecodeError::new(at, DecodeErrorKind::TooDeep));
    }
    Ok(depth + 1)
}

fn tuple(
    reader: &mut Reader<'_>,
    arity: usize,
    at: usize,
    depth: usize,
) -> Result<Term, DecodeError> {
    let depth = nested(at, depth)?;
    Ok(Term::Tuple(elements(reader, arity, depth, "a tuple")?))
}

/// Reads `count` terms.
pub(super) fn elements(
    reader: &mut Reader<'_>,
    count: usize,
    depth: usize,
    what: &'static str,
) -> Result<Vec<Term>, DecodeError> {
    reader.claim(count, what)?;
    let mut elements = Vec::with_capacity(count);
    for _ in 0..count {
        reader.element();
        elements.push(term(reader, depth)?);
    }
    Ok(elements)
}

/// Reads a list behind its tag. Each round of the loop reads one `LIST_EXT`; a tail that is one
/// more `LIST_EXT` begins the next.
fn list(reader: &mut Reader<'_>, at: usize, depth: usize) -> Result<Term, DecodeError> {
    let depth = nested(at, depth)?;
    let mut elements = Vec::new();
    loop {
        let count = reader.u32("the length of a list")? as usize;
        // One more for the tail.
        reader.claim(count.saturating_add(1), "a list")?;
        elements.reserve_exact(if elements.is_empty() { count } else { 0 });
        for _ in 0..count {
            reader.element();
            elements.push(term(reader, depth)?);
        }
        reader.element();
        if reader.rest().first() != Some(&tag::LIST) {
            break;
        }
        reader.advance(1);
    }
    let tail = term(reader, depth)?;
    Ok(Term::improper(elements, tail))
}

fn map(reader: &mut Reader<'_>, at: usize, depth: usize) -> Result<Term, DecodeError> {
    let depth = nested(at, depth)?;
    let count = reader.u32("the size of a map")? as usize;
    reader.claim(count.saturating_mul(2), "a map")?;
    let mut pairs = Vec::with_capacity(count);
    for _ in 0..count {
        reader.element();
        let key = term(reader, depth)?;
        reader.element();
        pairs.push((key, term(reader, depth)?));
    }
    in_order(pairs).ok_or_else(|| DecodeError::new(at, DecodeErrorKind::DuplicateKey))
}

/// Returns the map of `pairs` in any order; `None` if a key stands twice. Linear when they are in
/// order.
fn in_order(mut pairs: Vec<(Term, Term)>) -> Option<Term> {
    let ascending = |pairs: &[(Term, Term)]| {
        pairs
            .windows(2)
            .all(|two| two[0].0.cmp_exact(&two[1].0).is_lt())
    };
    if !ascending(&pairs) {
        pairs.sort_by(|a, b| a.0.cmp_exact(&b.0));
        if !ascending(&pairs) {
            return None;
        }
    }
    Some(Term::Map(Map { pairs }))
}

/// Reads a term that holds no other.
fn leaf(reader: &mut Reader<'_>, tag: u8, at: usize) -> Result<Term, DecodeError> {
    if let Some(atom) = atoms::tagged(reader, tag, at) {
        return atom.map(Term::Atom);
    }
    match tag {
        tag::BINARY => binary(reader),
        tag::STRING => string(reader),
        tag::SMALL_BIG | tag::LARGE_BIG => big(reader, tag),
        tag::NEW_FLOAT => float(reader, at),
        tag::FLOAT => float_text(reader, at),
        tag::BIT_BINARY => bits(reader, at),
        _ => match identifiers::tagged(reader, tag, at) {
            Some(identifier) => identifier,
            None => Err(DecodeError::new(at, no_term(tag))),
        },
    }
}

fn no_term(tag: u8) -> DecodeErrorKind {
    let (name, why) = match tag {
        tag::FUN => ("FUN_EXT", "no release since OTP 23 reads or writes it"),
        tag::LOCAL => (
            "LOCAL_EXT",
            "only the node that wrote it knows what it says",
        ),
        tag::COMPRESSED => ("compressed data", "they may only follow the version byte"),
        tag::ATOM_CACHE_REF => return atoms::cache_ref(0).kind().clone(),
        _ => return DecodeErrorKind::UnknownTag { tag },
    };
    DecodeErrorKind::Unsupported { tag, name, why }
}

fn binary(reader: &mut Reader<'_>) -> Result<Term, DecodeError> {
    let len = reader.u32("the length of a binary")? as usize;
    Ok(Term::binary(reader.take(len, "a binary")?))
}

fn string(reader: &mut Reader<'_>) -> Result<Term, DecodeError> {
    let len = reader.u16("the length of a string")?.into();
    let at = reader.offset();
    let bytes = reader.take(len, "a string")?;
    reader.allow(len, at)?;
    Ok(Term::List(
        bytes.iter().map(|&byte| Term::Int(byte.into())).collect(),
    ))
}

/// Reads a big integer. The sign is negative for any byte but 0, and leading zeros are let pass, as
/// in OTP.
fn big(reader: &mut Reader<'_>, tag: u8) -> Result<Term, DecodeError> {
    let len = match tag {
        tag::SMALL_BIG => reader.u8("the length of a bignum")?.into(),
        _ => reader.u32("the length of a bignum")? as usize,
    };
    let negative = reader.u8("the sign of a bignum")? != 0;
    let digits = reader.take(len, "a bignum")?;
    Ok(small_magnitude(digits, negative).unwrap_or_else(|| {
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        Term::integer(BigInt::from_bytes_le(sign, digits))
    }))
}

/// Returns the integer, if its digits (which are bytes) are at most eight and it fits 64 bits.
fn small_magnitude(digits: &[u8], negative: bool) -> Option<Term> {
    let mut low = [0; 8];
    low.get_mut(..digits.len())?.copy_from_slice(digits);
    let magnitude = i128::from(u64::from_le_bytes(low));
    let value = if negative { -magnitude } else { magnitude };
    i64::try_from(value).ok().map(Term::Int)
}

/// Reads an integer where nothing else may stand; `None` if it does not fit 64 bits.
pub(super) fn required_integer(
    reader: &mut Reader<'_>,
    expected: &'static str,
) -> Result<Option<i64>, DecodeError> {
    let at = reader.offset();
    let tag = reader.u8(expected)?;
    let value = match tag {
        tag::SMALL_INTEGER => return Ok(Some(reader.u8(expected)?.into())),
        tag::INTEGER => return Ok(Some((reader.u32(expected)? as i32).into())),
        tag::SMALL_BIG | tag::LARGE_BIG => big(reader, tag)?,
        _ => {
            return Err(DecodeError::new(
                at,
                DecodeErrorKind::Unexpected { expected, tag },
            ));
        }
    };
    Ok(match value {
        Term::Int(value) => Some(value),
        _ => None,
    })
}

fn float(reader: &mut Reader<'_>, at: usize) -> Result<Term, DecodeError> {
    let bits = reader.u64("a float")?;
    match Float::new(f64::from_bits(bits)) {
        Some(float) => Ok(Term::Float(float)),
        None => Err(DecodeError::new(at, DecodeErrorKind::NotFinite { bits })),
    }
}

fn float_text(reader: &mut Reader<'_>, at: usize) -> Result<Term, DecodeError> {
    let bytes = reader.take(31, "the text of a float")?;
    parse_float(bytes).ok_or_else(|| DecodeError::new(at, DecodeErrorKind::FloatText))
}

/// Parses `[+-]digits[.,]digits[[eE][+-]digits]`, ended by a zero byte: the grammar of OTP, which
/// has to read what other people's C libraries print.
fn parse_float(bytes: &[u8]) -> Option<Term> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end])
        .ok()?
        .replacen(',', ".", 1);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let (whole, fraction) = unsigned.split_once('.')?;
    let (fraction, exponent) = fraction.split_once(['e', 'E']).unwrap_or((fraction, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if ![whole, fraction, exponent].into_iter().all(number) {
        return None;
    }
    Float::new(text.parse().ok()?).map(Term::Float)
}

/// Reads a bitstring. Eight bits in the last byte are let pass, as in OTP; bits beyond the last are
/// cleared.
fn bits(reader: &mut Reader<'_>, at: usize) -> Result<Term, DecodeError> {
    let len = reader.u32("the length of a bitstring")? as usize;
    let last = reader.u8("the last bits of a bitstring")?;
    if last > 8 || (last == 0) != (len == 0) {
        return Err(DecodeError::new(
            at,
            DecodeErrorKind::LastBits {
                bits: last,
                bytes: len,
            },
        ));
    }
    let bytes = reader.take(len, "a bitstring")?;
    let unused = if len == 0 { 0 } else { 8 - usize::from(last) };
    Term::bits(bytes, bytes.len() * 8 - unused).ok_or_else(|| {
        DecodeError::new(
            at,
            DecodeErrorKind::LastBits {
                bits: last,
                bytes: len,
            },
        )
    })
}
