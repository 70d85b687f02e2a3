//! Looking at a key without decoding it.

use super::{escape, rest, tag};
use crate::Blob;

/// The kind of term that a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// An integer of any size.
    Integer,
    /// A float.
    Float,
    /// An atom.
    Atom,
    /// A reference.
    Reference,
    /// A fun.
    Fun,
    /// A port.
    Port,
    /// A process identifier.
    Pid,
    /// A tuple.
    Tuple,
    /// A native record.
    Record,
    /// A map.
    Map,
    /// `[]`.
    Nil,
    /// A list that is not empty, proper or not.
    Cons,
    /// A bitstring of whole bytes.
    Binary,
    /// Any other bitstring.
    Bits,
}

/// Returns the kind of the term of a key; `order` and `tail` are as for [`decode`](super::decode). `None` for bytes
/// that are no key. O(1) but for a number, whose end is looked at.
#[inline]
pub fn kind(order: &[u8], tail: &[u8]) -> Option<KeyKind> {
    Some(match *order.first()? {
        tag::NEG_HUGE..=tag::POS_HUGE => return number_kind(order, tail),
        tag::ATOM => KeyKind::Atom,
        tag::REFERENCE => KeyKind::Reference,
        tag::FUN_LOCAL | tag::FUN_EXTERNAL => KeyKind::Fun,
        tag::PORT => KeyKind::Port,
        tag::PID => KeyKind::Pid,
        tag::TUPLE_0..=tag::TUPLE_LONG => KeyKind::Tuple,
        tag::RECORD => KeyKind::Record,
        tag::MAP => KeyKind::Map,
        tag::NIL => KeyKind::Nil,
        tag::CONS => KeyKind::Cons,
        tag::BITS if order.last() == Some(&tag::WHOLE_BYTE) => KeyKind::Binary,
        tag::BITS => KeyKind::Bits,
        _ => return None,
    })
}

/// Returns the kind of a number: a float if its trailer says so or if it has a fraction.
fn number_kind(order: &[u8], tail: &[u8]) -> Option<KeyKind> {
    let first = *order.first()?;
    let tiny = matches!(first, tag::NEG_TINY | tag::POS_TINY);
    let is_float = rest::trailer_len(tail) > 0 || tiny || has_fraction(order);
    Some(if is_float {
        KeyKind::Float
    } else {
        KeyKind::Integer
    })
}

/// Returns whether a number has a fraction. Only numbers of up to eight bytes have fractions: larger floats are whole.
fn has_fraction(order: &[u8]) -> bool {
    floor_len(order).is_some_and(|len| order.len() > 1 + len)
}

/// Returns the number of bytes of the floor of a number of up to eight bytes.
#[inline(always)]
fn floor_len(order: &[u8]) -> Option<usize> {
    match *order.first()? {
        first @ 0x0A..=tag::NEG_0 => Some(usize::from(tag::NEG_0 - first)),
        tag::ZERO => Some(0),
        first @ 0x16..=0x1D => Some(usize::from(first - tag::POS_0)),
        _ => None,
    }
}

/// Returns the key, if it is an integer of 64 bits. O(1).
#[inline]
pub fn as_int(order: &[u8], tail: &[u8]) -> Option<i64> {
    let len = floor_len(order)?;
    if order.len() != 1 + len || !tail.is_empty() {
        return None;
    }
    let negative = order[0] <= tag::NEG_0;
    let fill = if negative { u64::MAX } else { 0 };
    let above = fill.checked_shl(8 * len as u32).unwrap_or(0);
    let low = above | big_endian(&order[1..]);
    // Eight bytes without their sign hold integers of 65 bits: those that do not fit have the other sign.
    let value = low as i64;
    ((value < 0) == negative).then_some(value)
}

/// Returns the number in up to eight bytes, by loads that overlap.
#[inline(always)]
fn big_endian(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    match (bytes, bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (_, Some(&high), Some(&low)) => {
            // Bytes that both halves hold are equal in both, so `|` does not change them.
            u64::from(u32::from_be_bytes(low))
                | u64::from(u32::from_be_bytes(high)) << (8 * (len - 4) % 64)
        }
        ([first, .., last], ..) => {
            let middle = len / 2;
            u64::from(*first) << (8 * (len - 1))
                | u64::from(bytes[middle]) << (8 * (len - 1 - middle))
                | u64::from(*last)
        }
        ([only], ..) => u64::from(*only),
        ([], ..) => 0,
    }
}

/// Returns the content of the key, without copying it, if it is a binary in which no byte is zero: it stands in the key
/// as it is. O(length).
#[inline]
pub fn as_plain_binary(order: &[u8]) -> Option<&[u8]> {
    match order {
        [tag::BITS, content @ .., 0, tag::WHOLE_BYTE] => {
            memchr::memchr(0, content).is_none().then_some(content)
        }
        _ => None,
    }
}

/// Returns the key as a binary's content of its own, if it is a binary; `order` has to be that of a key. O(length), and
/// one allocation for short ones.
pub fn as_binary(order: &[u8]) -> Option<Blob> {
    /// Longer ones are put together from stretches without zeros.
    const SHORT: usize = 64;
    let [tag::BITS, escaped @ .., 0, tag::WHOLE_BYTE] = order else {
        return None;
    };
    if escaped.len() > SHORT {
        return escape::read(&order[1..]).map(|(content, _)| Blob::from(&*content));
    }
    // The byte behind a zero is a mark: it is written, and then overwritten. No branch depends on the content.
    let mut content = [0; SHORT];
    let (mut len, mut before) = (0, u8::MAX);
    for &byte in escaped {
        content[len] = byte;
        len += usize::from(before != 0);
        before = byte;
    }
    Some(content[..len].into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::KeyBuf;
    use crate::{Term, arbitrary};

    fn kind_of(term: &Term) -> KeyKind {
        match term {
            Term::Int(_) | Term::Big(_) => KeyKind::Integer,
            Term::Float(_) => KeyKind::Float,
            Term::Atom(_) => KeyKind::Atom,
            Term::Reference(_) => KeyKind::Reference,
            Term::Fun(_) => KeyKind::Fun,
            Term::Port(_) => KeyKind::Port,
            Term::Pid(_) => KeyKind::Pid,
            Term::Tuple(_) => KeyKind::Tuple,
            Term::Record(_) => KeyKind::Record,
            Term::Map(_) => KeyKind::Map,
            Term::List(elements) if elements.is_empty() => KeyKind::Nil,
            Term::List(_) | Term::Improper(..) => KeyKind::Cons,
            Term::Binary(_) => KeyKind::Binary,
            Term::Bits(_) => KeyKind::Bits,
        }
    }

    fn check(term: &Term) {
        let key = KeyBuf::encode(term);
        let tail = &key.stored()[key.order_len()..];
        assert_eq!(kind(key.order(), tail), Some(kind_of(term)), "{term}");
        assert_eq!(as_int(key.order(), tail), term.as_int(), "{term}");
        let plain = term.as_binary().filter(|bytes| !bytes.contains(&0));
        assert_eq!(as_plain_binary(key.order()), plain, "{term}");
        assert_eq!(
            as_binary(key.order()).as_deref(),
            term.as_binary(),
            "{term}"
        );
    }

    proptest! {
        #[test]
        fn a_key_tells_what_it_is(term in arbitrary::term()) {
            check(&term);
        }

        #[test]
        fn so_do_numbers(term in arbitrary::number()) {
            check(&term);
        }

        #[test]
        fn binaries_come_back(content in proptest::collection::vec(0..3u8, 0..90)) {
            check(&Term::binary(content.iter().map(|byte| byte.wrapping_sub(1)).collect::<Vec<u8>>()));
        }

        #[test]
        fn any_bytes_are_something_or_nothing(order in proptest::collection::vec(any::<u8>(), 0..12)) {
            let _ = (kind(&order, &[]), as_int(&order, &[]), as_plain_binary(&order), as_binary(&order));
        }
    }
}
