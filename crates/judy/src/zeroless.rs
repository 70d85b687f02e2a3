//! Byte strings without zeros, in the order of those that they stand for.
//!
//! A zero ends a string in the words of an array ([`Ended`](super::strings::Ended)), so none may be within it. Of a
//! byte 0 two bytes are made, 1 and 1, and of a byte 1 the bytes 1 and 2; all others stay. So two strings so written
//! compare as the strings themselves: the first byte that differs decides, or the first two. Nearly all texts stay as
//! they are.

use std::borrow::Cow;
use std::ops::Bound;

/// The byte that begins a pair.
const PAIR: u8 = 1;

/// Returns whether one of eight bytes is 0 or 1.
#[inline(always)]
fn has_low(bytes: [u8; 8]) -> bool {
    const ONES: u64 = u64::MAX / 255;
    let word = u64::from_ne_bytes(bytes);
    // A subtraction borrows into the highest bit of the lowest byte below 2, whatever is above it.
    word.wrapping_sub(2 * ONES) & !word & (0x80 * ONES) != 0
}

/// Returns whether a string has no bytes 0 and 1.
#[inline(always)]
fn is_plain(string: &[u8]) -> bool {
    let (eights, rest) = string.as_chunks();
    if eights.is_empty() {
        return rest.iter().all(|byte| *byte > PAIR);
    }
    // The last eight overlap those before.
    eights.iter().all(|eight| !has_low(*eight))
        && string.last_chunk().is_none_or(|last| !has_low(*last))
}

/// Returns the string without zeros that stands for this one.
#[inline(always)]
pub(super) fn encode(string: &[u8]) -> Cow<'_, [u8]> {
    if is_plain(string) {
        return Cow::Borrowed(string);
    }
    Cow::Owned(encode_pairs(string))
}

#[inline(never)]
fn encode_pairs(string: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(2 * string.len());
    for byte in string {
        if *byte <= PAIR && !(cfg!(fyris_mutant = "judy_one_is_no_pair") && *byte == PAIR) {
            encoded.extend([PAIR, byte + 1]);
        } else {
            encoded.push(*byte);
        }
    }
    encoded
}

/// Encodes the string of a bound.
pub(super) fn encode_bound<Q: AsRef<[u8]> + ?Sized>(bound: Bound<&Q>) -> Bound<Cow<'_, [u8]>> {
    match bound {
        Bound::Included(key) => Bound::Included(encode(key.as_ref())),
        Bound::Excluded(key) => Bound::Excluded(encode(key.as_ref())),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// Returns the string that an encoded one stands for.
pub(super) fn decode(mut encoded: Vec<u8>) -> Vec<u8> {
    let Some(first) = encoded.iter().position(|byte| *byte == PAIR) else {
        return encoded;
    };
    let (mut from, mut to) = (first, first);
    while from < encoded.len() {
        let mut byte = encoded[from];
        if byte == PAIR {
            from += 1;
            byte = encoded[from] - 1;
        }
        encoded[to] = byte;
        from += 1;
        to += 1;
    }
    encoded.truncate(to);
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_keep_their_order_and_come_back() {
        let digits = [0u8, 1, 2, 3, 255];
        let mut strings: Vec<Vec<u8>> = vec![vec![]];
        let mut shorter = strings.clone();
        for _ in 0..4 {
            shorter = shorter
                .iter()
                .flat_map(|string| digits.map(|digit| [&string[..], &[digit]].concat()))
                .collect();
            strings.extend_from_slice(&shorter);
        }
        strings.sort();
        let encoded: Vec<_> = strings.iter().map(|string| encode(string)).collect();
        assert!(encoded.windows(2).all(|pair| pair[0] < pair[1]));
        for (string, encoded) in strings.iter().zip(encoded) {
            assert!(!encoded.contains(&0), "{string:?}");
            assert_eq!(&decode(encoded.into_owned()), string);
        }
    }

    #[test]
    fn low_bytes_are_found_at_all_places() {
        for len in 0..40 {
            let string: Vec<u8> = (0..len).map(|i| [2, 127, 128, 129, 255][i % 5]).collect();
            assert!(is_plain(&string));
            for at in 0..len {
                for low in [0, 1] {
                    let mut string = string.clone();
                    string[at] = low;
                    assert!(!is_plain(&string), "{string:?}");
                }
            }
        }
    }
}
