//! The memory of a compressed term, measured without building it.
//!
//! One loop over the inflated bytes with a count of the terms that are still to come: no recursion, whatever the depth,
//! so that the stack of any thread will do; no atom is made, and nothing but the inflated bytes is allocated.

use super::error::{DecodeError, DecodeErrorKind};
use super::inflate::{self, InflateBudget};
use super::reader::EtfReader;
use super::tag;

/// Takes from `budget` what the compressed term in `reader` takes, whose tag is next.
pub(super) fn compressed(
    reader: &mut EtfReader<'_>,
    budget: &mut InflateBudget,
) -> Result<(), DecodeError> {
    let at = reader.offset();
    let inflated = inflate::inflate(reader, budget.left())?;
    budget.take(inflated.len());
    let allowed = inflate::allowed_elements(reader.offset() - at).min(budget.elements());
    let mut inner = reader.inflated(&inflated, allowed);
    let walked = walk(&mut inner);
    budget.take_elements(allowed - inner.allowed());
    walked.map_err(|error| DecodeError::new(at, DecodeErrorKind::Inflated(Box::new(error))))
}

fn walk(reader: &mut EtfReader<'_>) -> Result<(), DecodeError> {
    let mut to_come = 1;
    while to_come > 0 {
        to_come = to_come - 1 + one(reader)?;
    }
    Ok(())
}

/// Passes over a term as far as the terms in it, and tells how many they are.
fn one(reader: &mut EtfReader<'_>) -> Result<usize, DecodeError> {
    let at = reader.offset();
    let tag = reader.u8("a term")?;
    let elements = match tag {
        tag::SMALL_TUPLE => reader.u8("the arity of a tuple")?.into(),
        tag::LARGE_TUPLE => reader.u32("the arity of a tuple")? as usize,
        // One more for the tail.
        tag::LIST => (reader.u32("the length of a list")? as usize).saturating_add(1),
        tag::MAP => (reader.u32("the size of a map")? as usize).saturating_mul(2),
        tag::NEW_FUN => return fun(reader),
        tag::NATIVE_RECORD => return record(reader),
        // Module, function and arity.
        tag::EXPORT => return Ok(3),
        _ => return leaf(reader, tag, at).map(|()| 0),
    };
    reader.allow(elements, at)?;
    Ok(elements)
}

/// Measures the values that a closure has captured, and module, old index, old checksum and creator, which are parts of
/// it.
fn fun(reader: &mut EtfReader<'_>) -> Result<usize, DecodeError> {
    let at = reader.offset();
    reader.take(4 + 1 + 16 + 4, "a fun")?;
    let free = reader.u32("the number of captured values of a fun")? as usize;
    reader.allow(free, at)?;
    Ok(free.saturating_add(4))
}

/// Measures the values of a native record; module, name and the names of its fields are parts of it.
fn record(reader: &mut EtfReader<'_>) -> Result<usize, DecodeError> {
    let at = reader.offset();
    let fields = reader.u32("the number of fields of a native record")? as usize;
    reader.u8("whether a native record is exported")?;
    // A name and a value each.
    let parts = fields.saturating_mul(2);
    reader.allow(parts, at)?;
    Ok(parts.saturating_add(2))
}

/// Passes over a term that holds no other.
fn leaf(reader: &mut EtfReader<'_>, tag: u8, at: usize) -> Result<(), DecodeError> {
    let rest = match tag {
        tag::NIL => 0,
        tag::SMALL_INTEGER => 1,
        tag::INTEGER => 4,
        tag::NEW_FLOAT => 8,
        tag::FLOAT => 31,
        tag::BINARY => reader.u32("the length of a binary")? as usize,
        tag::BIT_BINARY => (reader.u32("the length of a bitstring")? as usize).saturating_add(1),
        // One more for the sign.
        tag::SMALL_BIG => usize::from(reader.u8("the length of a bignum")?) + 1,
        tag::LARGE_BIG => (reader.u32("the length of a bignum")? as usize).saturating_add(1),
        tag::STRING => {
            let len = reader.u16("the length of a string")?.into();
            reader.allow(len, at)?;
            len
        }
        tag::SMALL_ATOM_UTF8 | tag::SMALL_ATOM => reader.u8("the length of an atom")?.into(),
        tag::ATOM_UTF8 | tag::ATOM => reader.u16("the length of an atom")?.into(),
        _ => behind_node(reader, tag, at)?,
    };
    reader.take(rest, "a term").map(|_| ())
}

/// Passes over the name of the node in an identifier, and tells how many bytes it has behind that.
fn behind_node(reader: &mut EtfReader<'_>, tag: u8, at: usize) -> Result<usize, DecodeError> {
    let rest = match tag {
        tag::PID => 4 + 4 + 1,
        tag::NEW_PID => 4 + 4 + 4,
        tag::PORT | tag::REFERENCE => 4 + 1,
        tag::NEW_PORT => 4 + 4,
        tag::V4_PORT => 8 + 4,
        tag::NEW_REFERENCE => 1 + words(reader)?,
        tag::NEWER_REFERENCE => 4 + words(reader)?,
        _ => return Err(DecodeError::new(at, DecodeErrorKind::UnknownTag { tag })),
    };
    let at = reader.offset();
    let name = reader.u8("the name of a node")?;
    match name {
        tag::SMALL_ATOM_UTF8 | tag::SMALL_ATOM | tag::ATOM_UTF8 | tag::ATOM => {
            leaf(reader, name, at)?;
        }
        tag => return Err(DecodeError::new(at, DecodeErrorKind::UnknownTag { tag })),
    }
    Ok(rest)
}

/// Returns the number of bytes of the words of a reference.
fn words(reader: &mut EtfReader<'_>) -> Result<usize, DecodeError> {
    Ok(4 * usize::from(reader.u16("the number of words in a reference")?))
}
