//! `<<...>>` in a text: whole numbers and strings, with sizes and types, as far as constants go.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::error::{ParseErrorKind, Wrong};
use super::parse::Parser;
use crate::Term;

/// The most bits of one segment with a size: such segments are longer than their text.
const MAX_SEGMENT_BITS: u64 = 1 << 16;

/// Bits collected from the left.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    fn push_bytes(&mut self, bytes: &[u8]) {
        if self.len.is_multiple_of(8) {
            self.bytes.extend_from_slice(bytes);
            self.len += bytes.len() * 8;
        } else {
            bytes.iter().for_each(|&byte| self.push_bits(byte, 8));
        }
    }

    /// Appends the low `count` (at most 8) bits of `byte`.
    fn push_bits(&mut self, byte: u8, count: usize) {
        for bit in (0..count).rev() {
            if self.len.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let set = byte >> bit & 1;
            self.bytes[self.len / 8] |= set << (7 - self.len % 8);
            self.len += 1;
        }
    }

    /// Appends the low `size` bits of an integer in two's complement.
    fn push_integer(&mut self, value: &BigInt, size: usize, little: bool) {
        let mut bytes = value.to_signed_bytes_le();
        let sign = if bytes.last().is_some_and(|b| b & 0x80 != 0) {
            0xFF
        } else {
            0
        };
        bytes.resize(size.div_ceil(8), sign);
        let partial = size % 8;
        if little {
            // The last byte holds what does not fill one.
            let whole = size / 8;
            bytes[..whole].iter().for_each(|&b| self.push_bits(b, 8));
            if partial > 0 {
                self.push_bits(bytes[whole], partial);
            }
            return;
        }
        bytes.reverse();
        for (i, &byte) in bytes.iter().enumerate() {
            self.push_bits(byte, if i == 0 && partial > 0 { partial } else { 8 });
        }
    }
}

/// The layout of a segment; `None` where nothing was said.
#[derive(Default)]
struct Spec {
    size: Option<u64>,
    unit: Option<u64>,
    kind: Option<SegmentType>,
    little: Option<bool>,
    signed: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentType {
    Integer,
    Float,
    Utf8,
    Utf16,
    Utf32,
}

impl Parser<'_> {
    /// Parses `<<` segments `>>`.
    pub(super) fn bitstring(&mut self) -> Result<Term, Wrong> {
        self.scan.expect("<<", "`<<`")?;
        let mut bits = Bits::default();
        self.scan.skip_blank();
        if self.scan.take(">>") {
            return Ok(Term::binary([]));
        }
        loop {
            self.segment(&mut bits)?;
            self.scan.skip_blank();
            if !self.scan.take(",") {
                break;
            }
        }
        self.scan.expect(">>", "`,` or `>>`")?;
        // There are as many bytes as the bits need.
        Ok(Term::bits(&bits.bytes, bits.len).unwrap_or_else(|| Term::binary(bits.bytes)))
    }

    fn segment(&mut self, bits: &mut Bits) -> Result<(), Wrong> {
        self.scan.skip_blank();
        let start = self.scan.at;
        if self.scan.peek() == Some('"') {
            let text = self.strings()?;
            let spec = self.spec()?;
            return text
                .chars()
                .try_for_each(|c| push(bits, &Term::Int(i64::from(u32::from(c))), &spec, start));
        }
        let value = match self.scan.peek() {
            Some('0'..='9' | '-' | '+' | '$') => self.term()?,
            _ => return Err(self.scan.unexpected("a number or a string in a bitstring")),
        };
        let spec = self.spec()?;
        push(bits, &value, &spec, start)
    }

    /// Parses `:Size/Type-Type`, both optional.
    fn spec(&mut self) -> Result<Spec, Wrong> {
        let mut spec = Spec::default();
        self.scan.skip_blank();
        if self.scan.take(":") {
            self.scan.skip_blank();
            spec.size = Some(self.scan.plain_number("a size in bits")?);
            self.scan.skip_blank();
        }
        if !self.scan.take("/") {
            return Ok(spec);
        }
        loop {
            self.type_word(&mut spec)?;
            self.scan.skip_blank();
            if !self.scan.take("-") {
                return Ok(spec);
            }
        }
    }

    fn type_word(&mut self, spec: &mut Spec) -> Result<(), Wrong> {
        const EXPECTED: &str =
            "integer, float, utf8, utf16, utf32, big, little, signed, unsigned or unit:N";
        self.scan.skip_blank();
        let start = self.scan.at;
        let agrees = match self.scan.word() {
            "integer" => say(&mut spec.kind, SegmentType::Integer),
            "float" => say(&mut spec.kind, SegmentType::Float),
            "utf8" => say(&mut spec.kind, SegmentType::Utf8),
            "utf16" => say(&mut spec.kind, SegmentType::Utf16),
            "utf32" => say(&mut spec.kind, SegmentType::Utf32),
            "little" => say(&mut spec.little, true),
            "big" => say(&mut spec.little, false),
            "signed" => say(&mut spec.signed, true),
            "unsigned" => say(&mut spec.signed, false),
            "unit" => {
                self.scan.expect(":", "`:` and a unit")?;
                say(&mut spec.unit, self.scan.plain_number("a unit")?)
            }
            _ => {
                self.scan.at = start;
                return Err(self.scan.unexpected(EXPECTED));
            }
        };
        if agrees {
            Ok(())
        } else {
            let what = "a segment with two types of one kind, such as `little-big`";
            Err(Wrong::new(start, ParseErrorKind::Refused(what)))
        }
    }
}

/// Sets what was not said before; false if something else was.
fn say<T: PartialEq>(place: &mut Option<T>, value: T) -> bool {
    match place {
        Some(said) => *said == value,
        None => {
            *place = Some(value);
            true
        }
    }
}

/// Appends one value as `spec` says; `start` is where its text is.
fn push(bits: &mut Bits, value: &Term, spec: &Spec, start: usize) -> Result<(), Wrong> {
    let refuse = |what| Err(Wrong::new(start, ParseErrorKind::Refused(what)));
    let kind = spec.kind.unwrap_or(SegmentType::Integer);
    let little = spec.little.unwrap_or(false);
    let unicode = matches!(
        kind,
        SegmentType::Utf8 | SegmentType::Utf16 | SegmentType::Utf32
    );
    if unicode && (spec.size.is_some() || spec.unit.is_some()) {
        return refuse("a size or unit with utf8, utf16 or utf32");
    }
    if spec.unit.is_some_and(|unit| !(1..=256).contains(&unit)) {
        return refuse("a unit that is not from 1 to 256");
    }
    if spec.unit.is_some() && spec.size.is_none() {
        return refuse("a unit without a size");
    }
    let default = if kind == SegmentType::Float { 64 } else { 8 };
    let size = spec
        .size
        .unwrap_or(default)
        .saturating_mul(spec.unit.unwrap_or(1));
    if size > MAX_SEGMENT_BITS {
        return refuse("a segment of more than 65536 bits");
    }
    match (kind, value) {
        (SegmentType::Integer, Term::Int(n)) => {
            bits.push_integer(&BigInt::from(*n), size as usize, little)
        }
        (SegmentType::Integer, Term::Big(n)) => bits.push_integer(n, size as usize, little),
        (SegmentType::Float, number) => match float_bytes(number, size) {
            Some(bytes) => push_ordered(bits, bytes, little),
            None => return refuse("a float segment that is not a number of 32 or 64 bits"),
        },
        (_, Term::Int(n)) if unicode => match u32::try_from(*n).ok().and_then(char::from_u32) {
            Some(c) => push_char(bits, c, kind, little),
            None => return refuse("no Unicode character has this number"),
        },
        _ => return refuse("a float in a segment without `/float`"),
    }
    Ok(())
}

fn push_ordered(bits: &mut Bits, mut big_endian: Vec<u8>, little: bool) {
    if little {
        big_endian.reverse();
    }
    bits.push_bytes(&big_endian);
}

fn float_bytes(number: &Term, size: u64) -> Option<Vec<u8>> {
    let value = match number {
        Term::Int(n) => *n as f64,
        Term::Big(n) => n.to_f64().filter(|value| value.is_finite())?,
        Term::Float(f) => f.get(),
        _ => return None,
    };
    match size {
        64 => Some(value.to_be_bytes().to_vec()),
        32 if (value as f32).is_finite() => Some((value as f32).to_be_bytes().to_vec()),
        _ => None,
    }
}

fn push_char(bits: &mut Bits, c: char, kind: SegmentType, little: bool) {
    match kind {
        SegmentType::Utf16 => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                push_ordered(bits, unit.to_be_bytes().to_vec(), little);
            }
        }
        SegmentType::Utf32 => push_ordered(bits, u32::from(c).to_be_bytes().to_vec(), little),
        _ => bits.push_bytes(c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}
