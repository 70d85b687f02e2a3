//! Passing over values without building terms.

use super::definition;
use super::error::{ValueError, ValueErrorKind};
use super::reader::{Result, ValueReader};
use super::tag;

/// Passes over the value at the front of `bytes`, which then starts behind it. O(terms in it), without recursion
/// and without allocation; strings, binaries and the like are passed at once.
///
/// # Errors
///
/// Bytes that end too early or have a tag that is none; `bytes` is then as it was.
#[inline]
pub fn skip(bytes: &mut &[u8]) -> Result<(), ValueError> {
    match bytes.get(end(bytes, 0)..) {
        Some(left) => {
            *bytes = left;
            Ok(())
        }
        None => Err(fault(bytes)),
    }
}

/// Passes over the `count` values at the front of `bytes`, which then starts behind them.
///
/// # Errors
///
/// Bytes that end too early or have a tag that is none; `bytes` is then as it was.
#[inline]
pub fn skip_many(bytes: &mut &[u8], count: usize) -> Result<(), ValueError> {
    let mut at = 0;
    match pass_all(bytes, &mut at, count as u64) {
        Ok(()) => {
            *bytes = &bytes[at..];
            Ok(())
        }
        Err(kind) => Err(ValueError { offset: at, kind }),
    }
}

/// The end of a term whose bytes are wrong: beyond all bytes.
const NOWHERE: usize = usize::MAX;

/// Returns the end of the term that begins at a place. Places come and go in registers: a slice that is returned in
/// memory and used at once is waited for.
#[inline]
fn end(bytes: &[u8], at: usize) -> usize {
    // Integers, atoms and short binaries: the tag says how long they are.
    match bytes.get(at).map(|&tag| FOLLOWING[usize::from(tag)]) {
        Some(following @ 0..PART) => at + 1 + usize::from(following),
        _ => end_of_any(bytes, at),
    }
}

#[inline(never)]
fn end_of_any(bytes: &[u8], mut at: usize) -> usize {
    match pass_all(bytes, &mut at, 1) {
        Ok(()) => at,
        Err(_) => NOWHERE,
    }
}

/// Returns the error in the term at the front, with its offset.
#[cold]
fn fault(bytes: &[u8]) -> ValueError {
    let mut offset = 0;
    let kind = pass_all(bytes, &mut offset, 1).err();
    ValueError {
        offset,
        kind: kind.unwrap_or(ValueErrorKind::Truncated),
    }
}

/// Passes over the `pending` terms at a place.
#[inline(always)]
fn pass_all(bytes: &[u8], at: &mut usize, mut pending: u64) -> Result<()> {
    while pending > 0 {
        let tag = *bytes.get(*at).ok_or(ValueErrorKind::Truncated)?;
        if let Some(length) = foreseen(tag) {
            *at += length;
            pending -= 1;
            continue;
        }
        let following = FOLLOWING[usize::from(tag)];
        if tag == tag::BINARY || tag == tag::STRING {
            let length = *bytes.get(*at + 1).ok_or(ValueErrorKind::Truncated)?;
            if tag == tag::BINARY || length < MORE {
                *at += 2 + usize::from(length);
                pending -= 1;
                continue;
            }
        }
        if following == UNKNOWN {
            let mut reader = ValueReader {
                left: &bytes[*at..],
            };
            let children = token(&mut reader);
            *at = bytes.len() - reader.left.len();
            pending = more(pending - 1, children?)?;
            continue;
        }
        *at += 1 + usize::from(following % PART);
        // Saturates: more terms than a `u64` counts cannot be in the bytes.
        pending = (pending - 1).saturating_add(u64::from(following / PART));
    }
    // The last one may have claimed bytes that are not there.
    if *at > bytes.len() {
        return Err(ValueErrorKind::Truncated);
    }
    Ok(())
}

/// Returns the length of a term of the most frequent kinds, by branches: the processor foresees them and goes on with
/// the next term, where it would wait for the tag and then for the table.
#[inline(always)]
fn foreseen(tag: u8) -> Option<usize> {
    const ATOM_1: u8 = tag::ATOM_0 + 1;
    const ATOM_2: u8 = tag::ATOM_0 + 2;
    match tag {
        0..tag::MIDDLE => Some(1),
        tag::MIDDLE..=tag::INT_0 => Some(2),
        ATOM_1 => Some(2),
        ATOM_2 => Some(3),
        tag::FLOAT => Some(9),
        _ => None,
    }
}

/// The bit of a byte of a LEB128 number that has another byte behind it.
const MORE: u8 = 0x80;

/// The entry of [`FOLLOWING`] for tags that do not tell.
const UNKNOWN: u8 = u8::MAX;
/// The part of an entry of [`FOLLOWING`] for each term that follows.
const PART: u8 = 0x10;

/// The number of bytes that follow a tag, in the low half, and of terms, in the high half.
static FOLLOWING: [u8; 256] = following();

/// Returns the number of bytes that follow a tag of an integer, atom or short binary; a great one for tags that do not
/// tell.
#[inline(always)]
pub(super) fn bytes_behind(tag: u8) -> usize {
    usize::from(FOLLOWING[usize::from(tag)])
}

const fn following() -> [u8; 256] {
    let mut table = [UNKNOWN; 256];
    let mut tag = 0;
    while tag < table.len() {
        table[tag] = match tag as u8 {
            0..tag::MIDDLE => 0,
            tag::MIDDLE..=tag::INT_0 => 1,
            int @ 0xA0..=0xA7 => int - tag::INT_0,
            atom @ 0xAC..=0xAF => atom - tag::ATOM_0,
            binary @ 0xB0..=0xBF => binary - tag::BINARY_0,
            tag::FLOAT => 8,
            tuple @ 0xD8..=0xDF => PART * (tuple - tag::TUPLE_0),
            _ => UNKNOWN,
        };
        tag += 1;
    }
    table
}

/// Returns the value behind a key in a map: `pairs` are its pairs, `size` of them and maybe more behind, and `key` the
/// bytes of a term that bytes tell from others ([`is_plain`](super::is_plain)). `None` if the key is not there. O(what
/// stands before).
///
/// # Errors
///
/// Bytes, of what is passed over, that end too early or have a tag that is none; `offset` counts from a term in
/// `pairs`.
pub(super) fn behind_key<'a>(
    size: u64,
    pairs: &'a [u8],
    key: &[u8],
) -> Result<Option<&'a [u8]>, ValueError> {
    let Some(&tag) = key.first() else {
        return Ok(None);
    };
    let tells_length = FOLLOWING[usize::from(tag)] < PART;
    let front = front(key);
    let mask = u64::MAX >> (64 - 8 * key.len().min(8));
    let mut at = 0;
    for _ in 0..size {
        let here = pairs.get(at..).unwrap_or_default();
        // Most keys differ in their first bytes.
        let is_it = match here.first_chunk() {
            Some(first) if u64::from_le_bytes(*first) & mask != front => false,
            _ => here.starts_with(key),
        };
        let behind = match here.first() {
            // As long as the one that is looked for, which is known without waiting for this one's tag.
            Some(&this) if tells_length && this == tag => at + key.len(),
            _ => end(pairs, at),
        };
        if is_it {
            return Ok(pairs.get(behind..));
        }
        at = end(pairs, behind);
        if at == NOWHERE {
            return Err(fault(pairs.get(behind..).unwrap_or(here)));
        }
    }
    Ok(None)
}

/// Returns up to eight bytes, with zeros behind them, as a number whose low byte is the first.
fn front(bytes: &[u8]) -> u64 {
    let first = bytes.iter().take(8).rev();
    first.fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Passes over one term without its parts, and returns the number of these.
#[inline]
pub(super) fn token(reader: &mut ValueReader<'_>) -> Result<u64> {
    let tag = reader.byte()?;
    match tag {
        0..tag::MIDDLE => Ok(0),
        tag::MIDDLE..=tag::INT_0 => pass(reader, 1),
        0xA0..=0xA7 => pass(reader, usize::from(tag - tag::INT_0)),
        _ => long_token(reader, tag),
    }
}

fn long_token(reader: &mut ValueReader<'_>, tag: u8) -> Result<u64> {
    match tag {
        tag::FLOAT => pass(reader, 8),
        0xAC..=0xAF => pass(reader, usize::from(tag - tag::ATOM_0)),
        0xB0..=0xBF => pass(reader, usize::from(tag - tag::BINARY_0)),
        tag::BINARY => {
            let len = usize::from(reader.byte()?);
            pass(reader, len)
        }
        tag::BIG | tag::STRING => reader.counted().map(|_| 0),
        tag::BLOB => reader.length().map(|_| 0),
        tag::BITS => {
            let [_, len] = reader.array()?;
            pass(reader, usize::from(len))
        }
        tag::BITS_BLOB => {
            reader.byte()?;
            reader.length().map(|_| 0)
        }
        tag::NIL => Ok(0),
        tag::LIST | tag::TUPLE => reader.length(),
        tag::IMPROPER => more(reader.length()?, 1),
        tag::MAP => reader.length().and_then(|size| more(size, size)),
        tag::SHAPED => {
            let size = reader.byte()?;
            reader.length().map(|_| size.into())
        }
        tag::PID => pass(reader, tag::PID_BODY),
        tag::PORT => pass(reader, tag::PORT_BODY),
        tag::REFERENCE => {
            pass(reader, tag::REFERENCE_HEAD)?;
            reader.parts(4).map(|_| 0)
        }
        tag::FUN_EXTERNAL => pass(reader, tag::FUN_EXTERNAL_BODY),
        tag::FUN_LOCAL => {
            pass(reader, tag::FUN_HEAD)?;
            reader.length()
        }
        tag::RECORD => definition::pass(reader),
        0xD8..=0xDF => Ok(u64::from(tag - tag::TUPLE_0)),
        unknown => Err(ValueErrorKind::UnknownTag(unknown)),
    }
}

/// Passes over bytes that hold no terms.
#[inline]
fn pass(reader: &mut ValueReader<'_>, n: usize) -> Result<u64> {
    reader.take(n).map(|_| 0)
}

fn more(a: u64, b: u64) -> Result<u64> {
    a.checked_add(b).ok_or(ValueErrorKind::Malformed("length"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::{View, encode, is_plain, view};
    use crate::{Map, Term, arbitrary};

    fn encoded(term: &Term) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(term, &mut bytes, &mut Vec::new());
        bytes
    }

    /// Generates keys that begin alike, and some of each kind.
    fn key() -> impl Strategy<Value = Term> {
        const WORDS: &[&str] = &["a", "field_1", "field_10", "field_2", "another"];
        prop_oneof![
            arbitrary::term(),
            proptest::sample::select(WORDS).prop_map(Term::atom),
            proptest::sample::select(WORDS).prop_map(|word| Term::binary(word.as_bytes())),
            (-20i64..5000).prop_map(Term::Int),
        ]
    }

    proptest! {
        #[test]
        fn a_key_leads_to_its_value(
            pairs in proptest::collection::vec((key(), arbitrary::term()), 0..12),
            other in key(),
        ) {
            let map: Map = pairs.iter().cloned().collect();
            let bytes = encoded(&Term::Map(map.clone()));
            let Ok(View::Map(stored)) = view(&bytes) else {
                panic!("a map");
            };
            for key in pairs.iter().map(|(key, _)| key).chain([&other]) {
                let mut blobs = Vec::new();
                let mut key_bytes = Vec::new();
                encode(key, &mut key_bytes, &mut blobs);
                if !is_plain(&key_bytes, &blobs) {
                    continue;
                }
                let found = stored.get(&key_bytes).expect("a map");
                let value = map.get(key).map(encoded);
                prop_assert_eq!(found.is_some(), value.is_some());
                if let (Some(found), Some(value)) = (found, value) {
                    // Blobs are numbered within the map, so other numbers may stand there: as long.
                    let mut rest = found;
                    skip(&mut rest).expect("a value");
                    prop_assert_eq!(found.len() - rest.len(), value.len());
                }
            }
        }

        #[test]
        fn hostile_pairs_are_refused(
            size in any::<u64>(),
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            key in proptest::collection::vec(any::<u8>(), 0..12),
        ) {
            let _ = behind_key(size, &bytes, &key);
        }
    }
}
