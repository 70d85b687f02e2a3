//! Bytes to terms.

use num_bigint::{BigInt, Sign};

use super::error::{DecodeError, DecodeErrorKind};
use super::inflate::InflateBudget;
use super::reader::EtfReader;
use super::{atoms, identifiers, inflate, record, tag};
use crate::term::Map;
use crate::walk::{Gather, Grow, Part, grow};
use crate::{Definition, Float, Fun, LocalFun, NativeRecord, Term};

/// Reads a term behind the version byte, compressed or not.
pub(super) fn versioned(
    reader: &mut EtfReader<'_>,
    budget: &mut InflateBudget,
) -> Result<Term, DecodeError> {
    let found = reader.u8("the version byte")?;
    if found != tag::VERSION {
        return Err(DecodeError::new(0, DecodeErrorKind::Version { found }));
    }
    if reader.rest().first() == Some(&tag::COMPRESSED) {
        return compressed(reader, budget);
    }
    term(reader)
}

fn compressed(reader: &mut EtfReader<'_>, budget: &mut InflateBudget) -> Result<Term, DecodeError> {
    let at = reader.offset();
    let inflated = inflate::inflate(reader, budget.left())?;
    budget.take(inflated.len());
    let allowed = inflate::allowed_elements(reader.offset() - at).min(budget.elements());
    let mut inner = reader.inflated(&inflated, allowed);
    // As in OTP, bytes behind the inflated term are ignored: no encoder writes any.
    let decoded = term(&mut inner);
    budget.take_elements(allowed - inner.allowed());
    decoded.map_err(|error| DecodeError::new(at, DecodeErrorKind::Inflated(Box::new(error))))
}

/// Reads a term.
pub(super) fn term(reader: &mut EtfReader<'_>) -> Result<Term, DecodeError> {
    let mut decoder = EtfDecoder(reader);
    match decoder.next()? {
        Part::Leaf(term) => Ok(term),
        Part::Open(frame) => grow(&mut decoder, frame),
    }
}

struct EtfDecoder<'r, 'a>(&'r mut EtfReader<'a>);

/// A container that is being read.
struct EtfFrame {
    kind: EtfContainer,
    /// Where it begins.
    at: usize,
    /// The number of parts that are to come.
    left: usize,
    parts: Gather,
}

enum EtfContainer {
    Tuple,
    Map,
    /// Behind the elements, its tail is to come.
    List,
    /// Its tail was met.
    Tailed,
    Fun(Box<LocalFun>),
    Record(Definition),
}

impl Grow for EtfDecoder<'_, '_> {
    type Out = Term;
    type Frame = EtfFrame;
    type Error = DecodeError;

    #[inline]
    fn part(&mut self, frame: &mut EtfFrame) -> Result<Option<Part<Term, EtfFrame>>, DecodeError> {
        if frame.left == 0 && !(matches!(frame.kind, EtfContainer::List) && self.tail(frame)?) {
            return Ok(None);
        }
        frame.left -= 1;
        self.0.element();
        self.next().map(Some)
    }

    #[inline]
    fn put(&mut self, frame: &mut EtfFrame, part: Term) {
        frame.parts.put(part);
    }

    fn finish(&mut self, frame: EtfFrame) -> Result<Term, DecodeError> {
        let parts = frame.parts;
        Ok(match frame.kind {
            EtfContainer::Tuple => Term::tuple(parts.into_terms()),
            EtfContainer::Map => in_order(parts.into_pairs())
                .ok_or_else(|| DecodeError::new(frame.at, DecodeErrorKind::DuplicateKey))?,
            EtfContainer::List | EtfContainer::Tailed => {
                let mut elements = parts.into_terms();
                let tail = elements.pop().unwrap_or_else(|| Term::list([]));
                Term::improper(elements, tail)
            }
            EtfContainer::Fun(mut fun) => {
                fun.free = parts.into_terms().into();
                Term::Fun(Box::new(Fun::Local(*fun)))
            }
            EtfContainer::Record(definition) => Term::Record(Box::new(NativeRecord {
                definition,
                values: parts.into_terms().into(),
            })),
        })
    }
}

impl EtfDecoder<'_, '_> {
    /// Reads a term, or the beginning of a container.
    #[inline(always)]
    fn next(&mut self) -> Result<Part<Term, EtfFrame>, DecodeError> {
        let reader = &mut *self.0;
        let at = reader.offset();
        let tag = reader.u8("a term")?;
        let leaf = match tag {
            tag::SMALL_INTEGER => Term::Int(reader.u8("a small integer")?.into()),
            tag::INTEGER => Term::Int((reader.u32("an integer")? as i32).into()),
            tag::SMALL_TUPLE => {
                let arity = reader.u8("the arity of a tuple")?.into();
                return self.open(at, EtfContainer::Tuple, arity, "a tuple");
            }
            tag::NIL => Term::list([]),
            tag::LARGE_TUPLE | tag::LIST | tag::MAP | tag::NEW_FUN | tag::NATIVE_RECORD => {
                return self.long(at, tag);
            }
            _ => leaf(reader, tag, at)?,
        };
        Ok(Part::Leaf(leaf))
    }

    /// Reads the beginning of a container that is no short tuple.
    #[inline(never)]
    fn long(&mut self, at: usize, tag: u8) -> Result<Part<Term, EtfFrame>, DecodeError> {
        let reader = &mut *self.0;
        match tag {
            tag::LARGE_TUPLE => {
                let arity = reader.u32("the arity of a tuple")? as usize;
                self.open(at, EtfContainer::Tuple, arity, "a tuple")
            }
            tag::LIST => {
                let count = self.cells()?;
                let room = count.saturating_add(1);
                Ok(Part::Open(EtfFrame {
                    kind: EtfContainer::List,
                    at,
                    left: count,
                    parts: Gather::Terms(Vec::with_capacity(room)),
                }))
            }
            tag::MAP => {
                let count = reader.u32("the size of a map")? as usize;
                let left = count.saturating_mul(2);
                reader.claim(left, "a map")?;
                Ok(Part::Open(EtfFrame {
                    kind: EtfContainer::Map,
                    at,
                    left,
                    parts: Gather::pairs(count),
                }))
            }
            tag::NATIVE_RECORD => {
                let definition = record::definition(reader, at)?;
                let fields = definition.fields().len();
                self.open(
                    at,
                    EtfContainer::Record(definition),
                    fields,
                    "a native record",
                )
            }
            _ => {
                let (fun, free) = identifiers::closure(reader)?;
                let kind = EtfContainer::Fun(Box::new(fun));
                self.open(at, kind, free, "the captured values of a fun")
            }
        }
    }

    #[inline]
    fn open(
        &mut self,
        at: usize,
        kind: EtfContainer,
        count: usize,
        what: &'static str,
    ) -> Result<Part<Term, EtfFrame>, DecodeError> {
        self.0.claim(count, what)?;
        Ok(Part::Open(EtfFrame {
            kind,
            at,
            left: count,
            parts: Gather::Terms(Vec::with_capacity(count)),
        }))
    }

    /// Reads the length of a `LIST_EXT`, whose elements follow, and one more term, the tail.
    fn cells(&mut self) -> Result<usize, DecodeError> {
        let count = self.0.u32("the length of a list")? as usize;
        self.0.claim(count.saturating_add(1), "a list")?;
        Ok(count)
    }

    /// Goes on with the tail of a list, behind its elements. A tail that is one more `LIST_EXT` adds its elements to
    /// them, in a loop: the list is not deeper for it. Returns whether a part follows.
    fn tail(&mut self, frame: &mut EtfFrame) -> Result<bool, DecodeError> {
        while self.0.rest().first() == Some(&tag::LIST) {
            self.0.element();
            self.0.advance(1);
            frame.left = self.cells()?;
            if frame.left > 0 {
                return Ok(true);
            }
        }
        (frame.kind, frame.left) = (EtfContainer::Tailed, 1);
        Ok(true)
    }
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
fn leaf(reader: &mut EtfReader<'_>, tag: u8, at: usize) -> Result<Term, DecodeError> {
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

fn binary(reader: &mut EtfReader<'_>) -> Result<Term, DecodeError> {
    let len = reader.u32("the length of a binary")? as usize;
    Ok(Term::binary(reader.take(len, "a binary")?))
}

fn string(reader: &mut EtfReader<'_>) -> Result<Term, DecodeError> {
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
fn big(reader: &mut EtfReader<'_>, tag: u8) -> Result<Term, DecodeError> {
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
    reader: &mut EtfReader<'_>,
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

fn float(reader: &mut EtfReader<'_>, at: usize) -> Result<Term, DecodeError> {
    let bits = reader.u64("a float")?;
    match Float::new(f64::from_bits(bits)) {
        Some(float) => Ok(Term::Float(float)),
        None => Err(DecodeError::new(at, DecodeErrorKind::NotFinite { bits })),
    }
}

fn float_text(reader: &mut EtfReader<'_>, at: usize) -> Result<Term, DecodeError> {
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
fn bits(reader: &mut EtfReader<'_>, at: usize) -> Result<Term, DecodeError> {
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
