//! Inline objects: so small that the index entry itself is the object.
//!
//! # Why
//!
//! The cost of a lookup in a large table is the memory it waits for: the index's line, then the record's. An object of
//! one or two small integers, which is what counters, sets of ids and maps from id to id hold, has fewer bits than the
//! pointer to its record. So an entry may be the object instead: no allocation, no second miss, nothing to retire.
//!
//! # Layout
//!
//! ```text
//!  47                                     6 5      3 2      0
//! +----------------------------------------+--------+--------+
//! | key, then value: 42 bits               | form   | tag 3  |
//! +----------------------------------------+--------+--------+
//! ```
//!
//! | form | object | bits of the key | bits of the value |
//! |---|---|---|---|
//! | 0 | `{K}` | 42 | 0 |
//! | 1, 2, 3 | `{K, V}`, `V` of one, two, three value bytes: integers, atoms, `[]` | 34, 26, 18 | 8, 16, 24 |
//! | 4, 5, 6 | `{K, V}`, integers, `0 <= V` | 26, 21, 14 | 16, 21, 28 |
//!
//! Keys are integers from 0 on. The key may be either element. An object that fits several forms takes the first.
//! Invariant **UNIQUE**: two inline objects are equal exactly if their words are.
//!
//! Bags have no inline objects: the cells of a [chain](crate::chain) name records.

use fyris_term::key::KeyBuf;
use fyris_term::value::{self, IntBytes};

use super::Parts;
use crate::keys::{ShortKey, word_of};

/// The tag of an inline object.
pub(crate) const INLINE: u64 = 3;
const FORM_AT: u32 = 3;
const OBJECT_AT: u32 = 6;
const OBJECT_BITS: u32 = 42;
/// Bits of the value, by form.
const VALUE_BITS: [u32; 8] = [0, 8, 16, 24, 16, 21, 28, 0];
/// The forms whose value is an integer's bits, not bytes.
const INTEGERS: std::ops::RangeInclusive<usize> = 4..=6;

/// An inline object taken apart.
#[derive(Clone, Copy)]
pub(super) struct Unpacked {
    pub(super) key: ShortKey,
    pub(super) arity: usize,
    /// Value bytes, the first one lowest.
    pub(super) values: u64,
    pub(super) len: usize,
}

/// Returns the word of an object, if it is small enough.
#[inline]
pub(super) fn pack(parts: &Parts<'_>) -> Option<u64> {
    if parts.trailer != 0 || !parts.rest.is_empty() || parts.key.len() > 7 || parts.values.len() > 5
    {
        return None;
    }
    let key = small_key(parts.key)?;
    match (parts.arity, parts.values) {
        (1, _) => packed(0, key, 0),
        (2, values) => packed_pair(key, values),
        _ => None,
    }
}

#[inline]
fn packed_pair(key: u64, values: &[u8]) -> Option<u64> {
    if let 1..=3 = values.len() {
        let bytes = word_of(values)?;
        if let Some(word) = packed(values.len(), key, bytes) {
            return Some(word);
        }
    }
    packed_integer(key, value::as_int(values)?)
}

/// Returns the word of two integers, the first one the key, if they are small enough.
#[inline]
pub(super) fn pack_ints(key: i64, value: i64) -> Option<u64> {
    let key = u64::try_from(key).ok()?;
    if let Some((bytes, len @ 1..=3)) = IntBytes::word(value)
        && let Some(word) = packed(len, key, bytes)
    {
        return Some(word);
    }
    packed_integer(key, value)
}

/// Returns the word, if the integer goes into one of the forms of integers.
#[inline]
fn packed_integer(key: u64, integer: i64) -> Option<u64> {
    let integer = u64::try_from(integer).ok()?;
    INTEGERS
        .into_iter()
        .find_map(|form| packed(form, key, integer))
}

/// Returns the word, if key and value have no more bits than the form gives them.
#[inline]
fn packed(form: usize, key: u64, value: u64) -> Option<u64> {
    let bits = VALUE_BITS[form];
    if key >> (OBJECT_BITS - bits) != 0 || value >> bits != 0 {
        return None;
    }
    Some((key << bits | value) << OBJECT_AT | (form as u64) << FORM_AT | INLINE)
}

/// Returns the integer from 0 on that these key bytes are, if they are one.
#[inline]
fn small_key(bytes: &[u8]) -> Option<u64> {
    let key = KeyBuf::int_of_word(word_of(bytes)?, bytes.len())?;
    u64::try_from(key).ok()
}

/// Returns whether this is the key of an inline object: `small` is [`ShortKey::integer`] of it.
#[inline]
pub(crate) fn has_key(word: u64, small: u64) -> bool {
    key_int(word) as u64 == small
}

/// Returns the key of an inline object.
#[inline]
pub(crate) fn key_of(word: u64) -> ShortKey {
    let (word, len) = KeyBuf::int_word(key_int(word)).expect("42 bits");
    ShortKey { word, len }
}

/// Returns the key, an integer.
#[inline]
pub(super) fn key_int(word: u64) -> i64 {
    (word >> OBJECT_AT >> VALUE_BITS[form(word)]) as i64
}

/// Returns the element that is not the key, if there is one and it is an integer.
#[inline]
pub(super) fn value_int(word: u64) -> Option<i64> {
    let value = value_bits(word);
    match form(word) {
        0 => None,
        form if INTEGERS.contains(&form) => Some(value as i64),
        len => value::as_int(&value.to_le_bytes()[..len]),
    }
}

/// Returns the bits below the key's.
#[inline]
fn value_bits(word: u64) -> u64 {
    word >> OBJECT_AT & ((1 << VALUE_BITS[form(word)]) - 1)
}

#[inline]
fn form(word: u64) -> usize {
    (word >> FORM_AT & 7) as usize
}

/// Returns the number of elements of an inline object.
#[inline]
pub(super) fn arity(word: u64) -> usize {
    if form(word) == 0 { 1 } else { 2 }
}

/// Returns the parts of an inline object.
#[inline]
pub(super) fn unpack(word: u64) -> Unpacked {
    let (form, value) = (form(word), value_bits(word));
    let (values, len) = if INTEGERS.contains(&form) {
        IntBytes::word(value as i64).expect("28 bits")
    } else {
        (value, form)
    };
    Unpacked {
        key: key_of(word),
        arity: arity(word),
        values,
        len,
    }
}

#[cfg(test)]
mod tests {
    use fyris_term::Term;
    use proptest::prelude::*;

    use super::*;

    /// Returns the word of an object by its parts, which it must come to again.
    fn there_and_back(key: i64, value: Option<&Term>) -> Option<u64> {
        let (buf, mut values) = (KeyBuf::from_int(key), Vec::new());
        if let Some(value) = value {
            value::encode(value, &mut values, &mut Vec::new());
        }
        let parts = Parts {
            arity: 1 + usize::from(value.is_some()),
            key: buf.bytes(),
            trailer: buf.trailer().len(),
            rest: buf.rest(),
            values: &values,
        };
        let word = pack(&parts);
        if let Some(Term::Int(value)) = value {
            assert_eq!(pack_ints(key, *value), word);
        }
        let word = word?;
        assert!(word < 1 << 48 && word & 7 == INLINE);
        let unpacked = unpack(word);
        assert_eq!((unpacked.arity, unpacked.len), (parts.arity, values.len()));
        assert_eq!(&unpacked.values.to_le_bytes()[..unpacked.len], values);
        assert_eq!(
            unpacked.key.word.to_le_bytes()[..unpacked.key.len],
            *buf.bytes()
        );
        Some(word)
    }

    #[test]
    fn what_fits_is_packed() {
        let fits = |key, value: Option<Term>| there_and_back(key, value.as_ref()).is_some();
        for (bits, value) in [
            (42, None),
            (34, Some(Term::Int(127))),
            (34, Some(Term::Int(-16))),
            (34, Some(Term::list(vec![]))),
            (26, Some(Term::Int(4223))),
            (26, Some(Term::Int(65535))),
            (21, Some(Term::Int(65536))),
            (21, Some(Term::Int((1 << 21) - 1))),
            (14, Some(Term::Int(1 << 21))),
            (14, Some(Term::Int((1 << 28) - 1))),
            (18, Some(Term::Int(-30_000))),
        ] {
            for key in [0, 1, 255, 256, (1 << bits) - 1] {
                assert!(fits(key, value.clone()), "{{{key}, {value:?}}}");
            }
            assert!(!fits(1 << bits, value.clone()), "2^{bits}, {value:?}");
            assert!(!fits(-1, value));
        }
        assert!(!fits(0, Some(Term::Int(1 << 28))));
        assert!(!fits(0, Some(Term::binary([1; 10]))));
    }

    proptest! {
        #[test]
        fn equal_words_are_equal_objects(
            keys in prop::array::uniform2(0..1i64 << 43),
            values in prop::array::uniform2(-70_000..1i64 << 29),
            shifts in prop::array::uniform2(0..43u32),
        ) {
            let word = |i: usize| {
                let value = Term::Int(values[i] >> (shifts[1 - i] / 2));
                let word = there_and_back(keys[i] >> shifts[i], Some(&value))?;
                Some((word, keys[i] >> shifts[i], value))
            };
            if let (Some((a, key_a, value_a)), Some((b, key_b, value_b))) = (word(0), word(1)) {
                prop_assert_eq!(a == b, key_a == key_b && value_a == value_b);
            }
        }
    }
}
