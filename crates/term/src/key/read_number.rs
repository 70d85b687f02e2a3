//! Numbers back from key bytes.
//!
//! Numbers that could have been written in two ways are written again and compared, which costs little, as they are
//! rare: floats and big numbers. Small integers are checked by their first byte.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::{Float, Term};

use super::buf::KeyBuf;
use super::decode::KeyReader;
use super::error::KeyErrorKind;
use super::input::KeyResult;
use super::marks::{self, Mark};
use super::{number, tag};

impl KeyReader<'_> {
    /// Reads a number; `at` is where its tag is.
    pub(super) fn number(&mut self, at: usize, tag: u8) -> KeyResult<Term> {
        match tag {
            tag::EXACT_FLOAT if self.exact > 0 => {
                let word = u64::from_be_bytes(self.order.array("a float")?);
                number::exact_float(word)
                    .map_or_else(|| self.not_canonical(at), |float| Ok(Term::Float(float)))
            }
            tag::NEG_TINY | tag::POS_TINY if self.exact == 0 => self.tiny(at, tag == tag::NEG_TINY),
            tag::NEG_BIG | tag::POS_BIG => self.big(at, tag == tag::NEG_BIG),
            tag::NEG_HUGE | tag::POS_HUGE => self.huge(at, tag == tag::NEG_HUGE),
            tag::ZERO => self.integral(at, Term::Int(0)),
            _ if (tag::NEG_0 - 8..=tag::NEG_0).contains(&tag) => {
                self.small(at, tag::NEG_0 - tag, true)
            }
            _ if (tag::POS_0 + 1..=tag::POS_0 + 8).contains(&tag) => {
                self.small(at, tag - tag::POS_0, false)
            }
            unknown => self.order.error(at, KeyErrorKind::UnknownTag(unknown)),
        }
    }

    fn not_canonical<T>(&self, at: usize) -> KeyResult<T> {
        self.order.error(at, KeyErrorKind::NotCanonical("a number"))
    }

    fn tiny(&mut self, at: usize, negative: bool) -> KeyResult<Term> {
        let word = u64::from_be_bytes(self.order.array("a float")?);
        let value = f64::from_bits(if negative { !word } else { word });
        let value = if negative { -value } else { value };
        self.checked_float(at, value)
    }

    /// Returns the float, if it is one and these were its bytes.
    fn checked_float(&self, at: usize, value: f64) -> KeyResult<Term> {
        let Some(float) = Float::new(value) else {
            return self.not_canonical(at);
        };
        let mut again = KeyBuf::new();
        number::put_float(&mut again, float);
        again.end(&[]);
        if again.order() != &self.order.bytes[at..self.order.at] {
            return self.not_canonical(at);
        }
        Ok(Term::Float(float))
    }

    /// Reads a floor of up to eight bytes, and perhaps a fraction.
    fn small(&mut self, at: usize, len: u8, negative: bool) -> KeyResult<Term> {
        let bytes = self.order.take(usize::from(len), "a number")?;
        let low = bytes
            .iter()
            .fold(if negative { u64::MAX } else { 0 }, |low, &byte| {
                low << 8 | u64::from(byte)
            });
        let extension = if negative { 0xFF } else { 0 };
        if bytes.first() == Some(&extension) {
            return self.not_canonical(at);
        }
        let floor = i128::from(low) - if negative { 1i128 << 64 } else { 0 };
        if self.order.peek() == Some(tag::FRACTION) && self.exact == 0 {
            return self.with_fraction(at, floor as f64);
        }
        let term = i64::try_from(floor).map_or_else(|_| Term::integer(floor), Term::Int);
        self.integral(at, term)
    }

    fn with_fraction(&mut self, at: usize, floor: f64) -> KeyResult<Term> {
        self.order.at += 1;
        let mut value = floor;
        let mut scale = 1.0 / 128.0;
        loop {
            let byte = self.order.byte("a fraction")?;
            value += f64::from(byte >> 1) * scale;
            scale /= 128.0;
            if byte & 1 == 0 {
                return self.checked_float(at, value);
            }
        }
    }

    /// Reads 9 to 128 bytes, in groups.
    fn big(&mut self, at: usize, negative: bool) -> KeyResult<Term> {
        let flip = if negative { 0xFF } else { 0 };
        let len = usize::from(self.order.byte("a number")? ^ flip);
        if !(9..=tag::FLOAT_BYTES).contains(&len) {
            return self.not_canonical(at);
        }
        let mut bytes = [0u8; tag::FLOAT_BYTES];
        let mut read = 0;
        while read < len {
            let group = (len - read).min(8);
            bytes[read..read + group].copy_from_slice(self.order.take(group, "a number")?);
            read += group;
            if read < len && !self.more_groups()? {
                break;
            }
        }
        let term = self.signed(at, negative, &bytes[..len])?;
        if !self.same_big(at, &term) {
            return self.not_canonical(at);
        }
        self.integral(at, term)
    }

    fn more_groups(&mut self) -> KeyResult<bool> {
        let at = self.order.at;
        match self.order.byte("a number")? {
            tag::MORE => Ok(true),
            tag::ONLY_ZEROS => Ok(false),
            _ => self.not_canonical(at),
        }
    }

    fn huge(&mut self, at: usize, negative: bool) -> KeyResult<Term> {
        let len = self.order.length(negative, "a number")?;
        let bytes = self
            .order
            .take(usize::try_from(len).unwrap_or(usize::MAX), "a number")?;
        if bytes.len() <= tag::FLOAT_BYTES {
            return self.not_canonical(at);
        }
        let term = self.signed(at, negative, bytes)?;
        self.integral(at, term)
    }

    /// Returns the integer with these bytes in two's complement, below an infinity of zeros or ones.
    fn signed(&self, at: usize, negative: bool, bytes: &[u8]) -> KeyResult<Term> {
        let extension = if negative { 0xFF } else { 0 };
        if bytes.first() == Some(&extension) {
            return self.not_canonical(at);
        }
        let mut signed = Vec::with_capacity(bytes.len() + 1);
        signed.push(extension);
        signed.extend_from_slice(bytes);
        Ok(Term::Big(Box::new(BigInt::from_signed_bytes_be(&signed))))
    }

    /// Returns whether the bytes since `at` are how this integer is written.
    fn same_big(&self, at: usize, term: &Term) -> bool {
        let mut again = KeyBuf::new();
        if let Term::Big(value) = term {
            number::put_big(&mut again, value);
        }
        again.end(&[]);
        again.order() == &self.order.bytes[at..self.order.at]
    }

    /// Returns an integer, or the float of the same value if the trailer says so.
    fn integral(&mut self, at: usize, integer: Term) -> KeyResult<Term> {
        if self.exact > 0 {
            return Ok(integer);
        }
        let mark = marks::read(self.marks, self.numbers);
        self.numbers += 1;
        let value = match (mark, &integer) {
            (Some(Mark::Integer), _) => return Ok(integer),
            (Some(Mark::NegativeZero), Term::Int(0)) => Some(-0.0),
            (Some(Mark::Float), Term::Int(value)) => Some(*value as f64),
            (Some(Mark::Float), Term::Big(value)) => value.to_f64(),
            _ => None,
        };
        match value {
            Some(value) => self
                .checked_float(at, value)
                .or_else(|_| self.order.error(at, KeyErrorKind::Trailer)),
            None => self.order.error(at, KeyErrorKind::Trailer),
        }
    }
}
