//! Numbers: one form for integers and floats of the same value.
//!
//! A number is written as its floor and what is left above it. Taking the floor, not the truncated part, makes the rest
//! positive on both sides of zero, so a fraction always *adds* bytes and always sorts above its bare floor, and
//! negative integers need no terminator.
//!
//! Invariant **NUMBERS**: the bytes of a number depend on its value alone, and are a function that grows with it, in
//! front of whatever may follow a term: a tag, the trailer or nothing, but never `FF`.

use num_bigint::{BigInt, Sign};

use crate::Float;

use super::buf::KeyBuf;
use super::marks::Mark;
use super::tag;

/// Tag and bytes of a number whose floor fits eight bytes.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) tag: u8,
    /// The bytes, in the high end.
    pub(super) word: u64,
    /// The number of those that count.
    pub(super) len: usize,
}

impl Number {
    /// Makes the number of an integer.
    #[inline(always)]
    pub(super) fn from_int(value: i64) -> Number {
        Number::from_parts(value < 0, value as u64)
    }

    /// Returns the integer whose two's complement has these low 64 bits below an infinity of ones (if negative) or
    /// zeros.
    #[inline(always)]
    pub(super) fn from_parts(negative: bool, low: u64) -> Number {
        let size = low ^ if negative { u64::MAX } else { 0 };
        let len = 8 - size.leading_zeros() as usize / 8;
        let tag = match negative {
            true => tag::NEG_0 - len as u8,
            false if len == 0 => tag::ZERO,
            false => tag::POS_0 + len as u8,
        };
        // For no bytes at all the shift wraps to 0, which is harmless: no byte of the word counts.
        let word = low << ((64 - 8 * len as u32) % 64);
        Number { tag, word, len }
    }
}

/// Writes an integer of any size.
#[cold]
pub(super) fn put_big(out: &mut KeyBuf, value: &BigInt) {
    let signed = value.to_signed_bytes_be();
    let negative = value.sign() == Sign::Minus;
    let extension = if negative { 0xFF } else { 0x00 };
    let bytes = match signed.split_first() {
        Some((&first, rest)) if first == extension => rest,
        _ => &signed[..],
    };
    if bytes.len() <= 8 {
        let low = bytes
            .iter()
            .fold(0, |low: u64, &byte| low << 8 | u64::from(byte));
        let ones = if negative && bytes.len() < 8 {
            u64::MAX << (8 * bytes.len())
        } else {
            0
        };
        out.put_number(Number::from_parts(negative, low | ones));
    } else if bytes.len() <= tag::FLOAT_BYTES {
        put_big_head(out, negative, bytes.len());
        put_groups(out, bytes);
    } else {
        out.push(if negative {
            tag::NEG_HUGE
        } else {
            tag::POS_HUGE
        });
        put_length(out, bytes.len() as u64, negative);
        out.extend(bytes);
    }
}

/// Writes the tag and the length of 9 to 128 bytes; a longer negative number is less.
fn put_big_head(out: &mut KeyBuf, negative: bool, len: usize) {
    out.push(if negative { tag::NEG_BIG } else { tag::POS_BIG });
    out.push(if negative { !(len as u8) } else { len as u8 });
}

/// Writes eight bytes at a time, each time saying whether anything but zeros follows, so that the long run of zeros at
/// the end of a large float takes one byte.
fn put_groups(out: &mut KeyBuf, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some((group, after)) = rest.split_at_checked(8) {
        out.extend(group);
        rest = after;
        if rest.is_empty() {
            return;
        }
        if rest.iter().all(|&byte| byte == 0) {
            return out.push(tag::ONLY_ZEROS);
        }
        out.push(tag::MORE);
    }
    out.extend(rest);
}

/// Writes a length or a size, such that shorter ones sort first: below 240 one byte, else the number of bytes that
/// follow, and these.
pub(super) fn put_length(out: &mut KeyBuf, length: u64, complement: bool) {
    let flip = if complement { 0xFF } else { 0 };
    if length < 0xF0 {
        return out.push(length as u8 ^ flip);
    }
    let len = 8 - length.leading_zeros() as usize / 8;
    out.push((0xF0 + len as u8) ^ flip);
    for byte in &length.to_be_bytes()[8 - len..] {
        out.push(byte ^ flip);
    }
}

/// Writes a float in `==` form, and says how it differs from an integer of the same value, if there is one.
pub(super) fn put_float(out: &mut KeyBuf, float: Float) -> Option<Mark> {
    const TWO_52: f64 = (1u64 << 52) as f64;
    const TWO_64: f64 = (1u128 << 64) as f64;
    let value = float.get();
    let size = value.abs();
    if size == 0.0 {
        out.put_number(Number::from_int(0));
        let negative = value.is_sign_negative() && !cfg!(fyris_mutant = "key_wrong_trailer");
        return Some(if negative {
            Mark::NegativeZero
        } else {
            Mark::Float
        });
    }
    if size < 1.0 {
        put_tiny(out, value);
        return None;
    }
    if size < TWO_52 {
        let floor = if cfg!(fyris_mutant = "key_negative_floor") {
            value.trunc()
        } else {
            value.floor()
        };
        out.put_number(Number::from_int(floor as i64));
        if value != floor {
            put_fraction(out, (value - floor).abs());
            return None;
        }
    } else if (-TWO_64..TWO_64).contains(&value) {
        out.put_number(Number::from_parts(value < 0.0, value as i128 as u64));
    } else {
        put_large_float(out, value);
    }
    Some(Mark::Float)
}

/// Writes a float between -1 and 1, without 0: no integer is there, and the bits of a float grow with its size.
fn put_tiny(out: &mut KeyBuf, value: f64) {
    let bits = value.abs().to_bits();
    let (tag, word) = if value < 0.0 {
        (tag::NEG_TINY, !bits)
    } else {
        (tag::POS_TINY, bits)
    };
    out.put_number(Number { tag, word, len: 8 });
}

/// Writes the part between 0 and 1, at most 52 bits of it: seven bits a byte, the lowest bit telling that more follow.
fn put_fraction(out: &mut KeyBuf, fraction: f64) {
    const TWO_56: f64 = (1u64 << 56) as f64;
    out.push(tag::FRACTION);
    let mut bits = ((fraction * TWO_56) as u64) << 8;
    while bits != 0 {
        let seven = (bits >> 56) as u8 & 0xFE;
        bits <<= 7;
        out.push(seven | u8::from(bits != 0));
    }
}

/// Writes a float of 2^64 or more in size: an integer of at most 1024 bits of which 53 can differ from zero, so that
/// the leading eight bytes hold all of them.
fn put_large_float(out: &mut KeyBuf, value: f64) {
    let bits = value.abs().to_bits();
    let mantissa = (bits & ((1 << 52) - 1)) | 1 << 52;
    let exponent = (bits >> 52) as usize - 1075;
    let negative = value < 0.0;
    // The floor of -2^k has k bits: in two's complement it is nothing but zeros.
    let width = exponent
        + if negative && mantissa == 1 << 52 {
            52
        } else {
            53
        };
    let len = width.div_ceil(8);
    let word = mantissa.unbounded_shl((exponent + 64 - 8 * len) as u32);
    put_big_head(out, negative, len);
    out.extend(&if negative { word.wrapping_neg() } else { word }.to_be_bytes());
    out.push(tag::ONLY_ZEROS);
}

/// Writes a float in exact form, for a map's key: behind all integers, each bit pattern different.
pub(super) fn put_exact_float(out: &mut KeyBuf, float: Float) {
    let bits = float.get().to_bits();
    let word = if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    };
    out.put_number(Number {
        tag: tag::EXACT_FLOAT,
        word,
        len: 8,
    });
}

/// Returns the float whose exact form is this word.
pub(super) fn exact_float(word: u64) -> Option<Float> {
    let bits = if word >> 63 == 1 {
        word & !(1 << 63)
    } else {
        !word
    };
    Float::new(f64::from_bits(bits))
}
