//! Passing over values without building terms.

use super::error::{ValueError, ValueErrorKind};
use super::reader::{Reader, Result};
use super::tag;

/// Passes over the value at the front of `bytes`, which then starts behind it. O(terms in it), without recursion
/// and without allocation; strings, binaries and the like are passed at once.
///
/// # Errors
///
/// Bytes that end too early or have a tag that is none; `bytes` is then as it was.
#[inline]
pub fn skip(bytes: &mut &[u8]) -> Result<(), ValueError> {
    // Integers, atoms and short binaries: the tag says how long they are.
    if let Some((&tag, left)) = bytes.split_first() {
        let following = FOLLOWING[usize::from(tag)];
        if following != UNKNOWN
            && let Some(left) = left.get(usize::from(following)..)
        {
            *bytes = left;
            return Ok(());
        }
    }
    // By value, so that the slice of whoever is inlined around this can stay in registers.
    *bytes = behind_any(bytes)?;
    Ok(())
}

/// What [`FOLLOWING`] has for tags that do not tell.
const UNKNOWN: u8 = u8::MAX;

/// How many bytes follow a tag.
static FOLLOWING: [u8; 256] = following();

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
            _ => UNKNOWN,
        };
        tag += 1;
    }
    table
}

#[inline(never)]
fn behind_any(bytes: &[u8]) -> Result<&[u8], ValueError> {
    let mut reader = Reader { left: bytes };
    let mut pending = 1u64;
    while pending > 0 {
        if let Some((&tag, left)) = reader.left.split_first()
            && FOLLOWING[usize::from(tag)] != UNKNOWN
            && let Some(left) = left.get(usize::from(FOLLOWING[usize::from(tag)])..)
        {
            reader.left = left;
            pending -= 1;
            continue;
        }
        let children = token(&mut reader).and_then(|children| {
            (pending - 1)
                .checked_add(children)
                .ok_or(ValueErrorKind::Malformed("length"))
        });
        match children {
            Ok(more) => pending = more,
            Err(kind) => {
                return Err(ValueError {
                    offset: bytes.len() - reader.left.len(),
                    kind,
                });
            }
        }
    }
    Ok(reader.left)
}

/// Passes over one term without its parts: how many terms these are.
#[inline]
pub(super) fn token(reader: &mut Reader<'_>) -> Result<u64> {
    let tag = reader.byte()?;
    match tag {
        0..tag::MIDDLE => Ok(0),
        tag::MIDDLE..=tag::INT_0 => pass(reader, 1),
        0xA0..=0xA7 => pass(reader, usize::from(tag - tag::INT_0)),
        _ => long_token(reader, tag),
    }
}

fn long_token(reader: &mut Reader<'_>, tag: u8) -> Result<u64> {
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
        0xD8..=0xDF => Ok(u64::from(tag - tag::TUPLE_0)),
        unknown => Err(ValueErrorKind::UnknownTag(unknown)),
    }
}

/// Passes over bytes that hold no terms.
#[inline]
fn pass(reader: &mut Reader<'_>, n: usize) -> Result<u64> {
    reader.take(n).map(|_| 0)
}

fn more(a: u64, b: u64) -> Result<u64> {
    a.checked_add(b).ok_or(ValueErrorKind::Malformed("length"))
}
