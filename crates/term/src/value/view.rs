//! Looking at a value without building it: its kind, and the places of its parts.

use num_bigint::BigInt;

use crate::{Atom, Blob};

use super::decode::shape;
use super::error::{ValueError, ValueErrorKind};
use super::pairs::Pairs;
use super::reader::{Result, ValueReader};
use super::tag;

/// The value at the front of some bytes, opened by one level.
///
/// Scalars that need no memory are here as they are. Of the others there is what stands in the bytes: the elements of
/// a tuple are values one behind another, to be opened with [`view`] and passed with [`skip`](super::skip).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum View<'a> {
    /// An integer of 64 bits.
    Int(i64),
    /// A longer one: its two's complement, little-endian.
    Big(&'a [u8]),
    /// A float.
    Float(f64),
    /// An atom.
    Atom(Atom),
    /// A binary that stands in the value.
    Binary(&'a [u8]),
    /// A binary that stands at this place in the blobs.
    Blob(usize),
    /// A bitstring that is no binary.
    Bits,
    /// `[]`.
    Nil,
    /// A list of bytes, not empty.
    String(&'a [u8]),
    /// A list: the number of elements, and these.
    List(u64, &'a [u8]),
    /// An improper list: the number of elements, these, and behind them the tail.
    Improper(u64, &'a [u8]),
    /// A tuple: the number of elements, and these.
    Tuple(u64, &'a [u8]),
    /// A map.
    Map(Pairs<'a>),
    /// A process identifier.
    Pid,
    /// A port.
    Port,
    /// A reference.
    Reference,
    /// A fun of either kind.
    Fun,
    /// A native record.
    Record,
}

/// Opens the value at the front of `bytes`. O(1) but for big integers and atoms' numbers; no allocation.
///
/// # Errors
///
/// Bytes that [`encode`](super::encode) did not write, as far as they are looked at.
#[inline]
pub fn view(bytes: &[u8]) -> Result<View<'_>, ValueError> {
    let mut reader = ValueReader { left: bytes };
    match open(&mut reader) {
        Ok(view) => Ok(view),
        Err(kind) => Err(ValueError {
            offset: bytes.len() - reader.left.len(),
            kind,
        }),
    }
}

#[inline]
fn open<'a>(reader: &mut ValueReader<'a>) -> Result<View<'a>> {
    let tag = reader.byte()?;
    match tag {
        0..tag::NEGATIVE => Ok(View::Int(i64::from(tag))),
        tag::NEGATIVE..tag::MIDDLE => Ok(View::Int(i64::from(tag) - 0x90)),
        tag::MIDDLE..=tag::INT_0 => {
            let high = i64::from(tag - tag::MIDDLE) << 8;
            let low = i64::from(reader.byte()?);
            Ok(View::Int(tag::MIDDLE_FIRST + (high | low)))
        }
        0xA0..=0xA7 => reader.int(usize::from(tag - tag::INT_0)).map(View::Int),
        0xAC..=0xAF => atom(reader, usize::from(tag - tag::ATOM_0)),
        0xB0..=0xBF => reader
            .take(usize::from(tag - tag::BINARY_0))
            .map(View::Binary),
        _ => open_other(reader, tag),
    }
}

fn open_other<'a>(reader: &mut ValueReader<'a>, tag: u8) -> Result<View<'a>> {
    Ok(match tag {
        tag::FLOAT => View::Float(f64::from_le_bytes(reader.array()?)),
        tag::BIG => View::Big(reader.counted()?),
        tag::BINARY => {
            let len = usize::from(reader.byte()?);
            View::Binary(reader.take(len)?)
        }
        tag::BLOB => {
            let place = reader.length()?;
            View::Blob(usize::try_from(place).map_err(|_| ValueErrorKind::NoBlob(place))?)
        }
        tag::BITS | tag::BITS_BLOB => View::Bits,
        tag::NIL => View::Nil,
        tag::STRING => View::String(reader.counted()?),
        tag::LIST => View::List(reader.length()?, reader.left),
        tag::IMPROPER => View::Improper(reader.length()?, reader.left),
        tag::MAP => View::Map(Pairs::in_turn(reader.length()?, reader.left)),
        tag::SHAPED => {
            let shape = shape(reader)?;
            View::Map(Pairs::shaped(shape, reader.left))
        }
        tag::TUPLE => View::Tuple(reader.length()?, reader.left),
        0xD8..=0xDF => View::Tuple(u64::from(tag - tag::TUPLE_0), reader.left),
        tag::PID => View::Pid,
        tag::PORT => View::Port,
        tag::REFERENCE => View::Reference,
        tag::FUN_EXTERNAL | tag::FUN_LOCAL => View::Fun,
        tag::RECORD => View::Record,
        unknown => return Err(ValueErrorKind::UnknownTag(unknown)),
    })
}

#[inline]
fn atom<'a>(reader: &mut ValueReader<'a>, len: usize) -> Result<View<'a>> {
    let bytes = reader.take(len)?;
    let id = bytes
        .iter()
        .rev()
        .fold(0, |id, &byte| id << 8 | u32::from(byte));
    Atom::from_id(id)
        .map(View::Atom)
        .ok_or(ValueErrorKind::UnknownAtom(id))
}

impl<'a> View<'a> {
    /// Returns the content, if it is a binary; `blobs` is the list that the value was encoded with.
    pub fn as_binary(&self, blobs: &'a [Blob]) -> Option<&'a [u8]> {
        match *self {
            View::Binary(bytes) => Some(bytes),
            View::Blob(place) => blobs.get(place).map(|blob| &**blob),
            _ => None,
        }
    }

    /// Returns the integer, if it is one of more than 64 bits.
    pub fn as_big(&self) -> Option<BigInt> {
        match self {
            View::Big(bytes) => Some(BigInt::from_signed_bytes_le(bytes)),
            _ => None,
        }
    }
}

/// Returns the value at the front of `bytes`, if it is an integer of 64 bits. O(1).
#[inline(always)]
pub fn as_int(bytes: &[u8]) -> Option<i64> {
    let (&tag, left) = bytes.split_first()?;
    match tag {
        0..tag::NEGATIVE => Some(i64::from(tag)),
        tag::NEGATIVE..tag::MIDDLE => Some(i64::from(tag) - 0x90),
        tag::MIDDLE..=tag::INT_0 => {
            let high = i64::from(tag - tag::MIDDLE) << 8;
            Some(tag::MIDDLE_FIRST + (high | i64::from(*left.first()?)))
        }
        0xA0..=0xA7 => ValueReader { left }.int(usize::from(tag - tag::INT_0)).ok(),
        _ => None,
    }
}

/// Returns whether one value that starts at the front of some bytes is `=:=` to a term can be told by comparing bytes:
/// true unless the term holds a blob, a closure or a reference somewhere.
///
/// `value` and `blobs` are what [`encode`](super::encode) made of the term. A value delimits itself and has one form
/// (CANONICAL_VALUE), so stored bytes that start with those of a plain value start with that very value.
pub fn is_plain(value: &[u8], blobs: &[Blob]) -> bool {
    let mut reader = ValueReader { left: value };
    while let Some(&tag) = reader.left.first() {
        if matches!(tag, tag::FUN_LOCAL | tag::REFERENCE)
            || super::skip::token(&mut reader).is_err()
        {
            return false;
        }
    }
    blobs.is_empty()
}

/// Returns whether terms refer to blobs. O(terms in them), without recursion; true of bytes that are wrong.
pub fn refers_to_blobs(values: &[u8]) -> bool {
    let mut reader = ValueReader { left: values };
    while let Some(&tag) = reader.left.first() {
        if matches!(tag, tag::BLOB | tag::BITS_BLOB) || super::skip::token(&mut reader).is_err() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::{encode, skip};
    use crate::{Term, arbitrary};

    fn encoded(term: &Term) -> (Vec<u8>, Vec<Blob>) {
        let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
        encode(term, &mut bytes, &mut blobs);
        (bytes, blobs)
    }

    /// Returns the term, built through views where they hold it.
    fn rebuilt(bytes: &[u8], blobs: &[Blob]) -> Term {
        let parts = |count: u64, mut left: &[u8]| {
            let part = |_| {
                let term = rebuilt(left, blobs);
                skip(&mut left).expect("a value");
                term
            };
            (0..count).map(part).collect::<Vec<Term>>()
        };
        let view = view(bytes).expect("a value");
        if let Some(content) = view.as_binary(blobs) {
            return Term::binary(content);
        }
        if let Some(big) = view.as_big() {
            return Term::integer(big);
        }
        match view {
            View::Int(value) => {
                assert_eq!(as_int(bytes), Some(value));
                Term::Int(value)
            }
            View::Float(value) => Term::from(value),
            View::Atom(atom) => Term::Atom(atom),
            View::Nil => Term::list([]),
            View::String(bytes) => Term::List(bytes.iter().map(|&byte| Term::from(byte)).collect()),
            View::List(count, left) => Term::list(parts(count, left)),
            View::Tuple(count, left) => Term::tuple(parts(count, left)),
            View::Improper(count, left) => {
                let mut elements = parts(count + 1, left);
                let tail = elements.pop().expect("a tail");
                Term::improper(elements, tail)
            }
            View::Map(mut left) => {
                let mut pairs = Vec::new();
                let size = left.len();
                assert_eq!(left.is_empty(), size == 0);
                while let Some((key, value)) = left.next_pair().expect("a map") {
                    pairs.push((rebuilt(key, blobs), rebuilt(value, blobs)));
                    left.pass().expect("a value");
                }
                crate::Map::new(pairs).into()
            }
            _ => super::super::decode(&mut &bytes[..], blobs).expect("a value"),
        }
    }

    proptest! {
        #[test]
        fn views_hold_what_was_written(term in arbitrary::term()) {
            let (bytes, blobs) = encoded(&term);
            prop_assert_eq!(rebuilt(&bytes, &blobs), term);
        }

        #[test]
        fn any_bytes_are_viewed_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(view) = view(&bytes) {
                let _ = (view.as_binary(&[]), view.as_big());
                prop_assert_eq!(as_int(&bytes).is_some(), matches!(view, View::Int(_)));
            }
            is_plain(&bytes, &[]);
        }

        #[test]
        fn plain_values_compare_by_their_front((a, b) in arbitrary::related_pair()) {
            let ((a_bytes, a_blobs), (mut b_bytes, _)) = (encoded(&a), encoded(&b));
            b_bytes.push(7);
            if is_plain(&a_bytes, &a_blobs) {
                prop_assert_eq!(b_bytes.starts_with(&a_bytes), a == b);
            }
        }
    }
}
