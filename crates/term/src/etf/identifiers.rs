//! Pids, ports, references and funs.
//!
//! A creation written in one byte (the older tags) is at most 3, and the first word of a reference
//! beside it at most 18 bits: OTP refuses others. The numbers of the newer tags use all their bits.
//!
//! ```text
//! NEW_FUN_EXT   size:32 arity:8 uniq:16 bytes index:32 free:32
//!               module:atom old_index:integer old_uniq:integer creator:pid, `free` terms
//! ```
//!
//! The size is not looked at, as in OTP: the rest says where the fun ends. OTP keeps 32 bits of the
//! two old numbers and takes any small integer for them, so that is what happens here.

use super::error::{DecodeError, DecodeErrorKind};
use super::reader::EtfReader;
use super::{atoms, decode, tag};
use crate::{Fun, LocalFun, Pid, Port, Reference, Term, Terms};

/// The most words in a reference.
const MAX_WORDS: u16 = 5;
/// The highest creation that one byte may carry.
const MAX_OLD_CREATION: u8 = 3;
/// The highest first word of a reference with such a creation.
const MAX_OLD_WORD: u32 = (1 << 18) - 1;
/// The most values a fun captures.
const MAX_FREE: u32 = 255;
/// Small integers of OTP have 60 bits; the old numbers of a fun must be small.
const SMALL: std::ops::Range<i64> = -(1 << 59)..(1 << 59);

/// Reads the identifier or external fun behind `tag`, which stood at `at`; `None` for other tags.
pub(super) fn tagged(
    reader: &mut EtfReader<'_>,
    tag: u8,
    at: usize,
) -> Option<Result<Term, DecodeError>> {
    Some(match tag {
        tag::PID | tag::NEW_PID => pid(reader, tag).map(|pid| Term::Pid(Box::new(pid))),
        tag::PORT | tag::NEW_PORT | tag::V4_PORT => port(reader, tag),
        tag::REFERENCE => old_reference(reader),
        tag::NEW_REFERENCE | tag::NEWER_REFERENCE => reference(reader, tag, at),
        tag::EXPORT => export(reader),
        _ => return None,
    })
}

fn out_of_range(at: usize, what: &'static str, value: i64, max: i64) -> DecodeError {
    DecodeError::new(at, DecodeErrorKind::OutOfRange { what, value, max })
}

fn node(reader: &mut EtfReader<'_>) -> Result<crate::Atom, DecodeError> {
    atoms::required(reader, "the name of a node, an atom,")
}

fn old_creation(reader: &mut EtfReader<'_>) -> Result<u32, DecodeError> {
    let at = reader.offset();
    let creation = reader.u8("a creation")?;
    if creation > MAX_OLD_CREATION {
        let (value, max) = (creation.into(), MAX_OLD_CREATION.into());
        return Err(out_of_range(at, "a creation of one byte", value, max));
    }
    Ok(creation.into())
}

fn pid(reader: &mut EtfReader<'_>, tag: u8) -> Result<Pid, DecodeError> {
    let node = node(reader)?;
    let id = reader.u32("the id of a pid")?;
    let serial = reader.u32("the serial of a pid")?;
    let creation = match tag {
        tag::PID => old_creation(reader)?,
        _ => reader.u32("a creation")?,
    };
    Ok(Pid {
        node,
        id,
        serial,
        creation,
    })
}

fn port(reader: &mut EtfReader<'_>, tag: u8) -> Result<Term, DecodeError> {
    let node = node(reader)?;
    let id = match tag {
        tag::V4_PORT => reader.u64("the id of a port")?,
        _ => reader.u32("the id of a port")?.into(),
    };
    let creation = match tag {
        tag::PORT => old_creation(reader)?,
        _ => reader.u32("a creation")?,
    };
    Ok(Term::Port(Box::new(Port { node, id, creation })))
}

/// Reads `REFERENCE_EXT`: the creation stands behind the only word.
fn old_reference(reader: &mut EtfReader<'_>) -> Result<Term, DecodeError> {
    let node = node(reader)?;
    let at = reader.offset();
    let word = old_word(reader.u32("the word of a reference")?, at)?;
    let creation = old_creation(reader)?;
    Ok(Term::Reference(Box::new(Reference {
        node,
        creation,
        ids: vec![word],
    })))
}

fn old_word(word: u32, at: usize) -> Result<u32, DecodeError> {
    if word > MAX_OLD_WORD {
        let what = "the first word of a reference in an old format";
        return Err(out_of_range(at, what, word.into(), MAX_OLD_WORD.into()));
    }
    Ok(word)
}

fn reference(reader: &mut EtfReader<'_>, tag: u8, at: usize) -> Result<Term, DecodeError> {
    let words = reader.u16("the number of words in a reference")?;
    if !(1..=MAX_WORDS).contains(&words) {
        let what = "the number of words in a reference";
        return Err(out_of_range(at, what, words.into(), MAX_WORDS.into()));
    }
    let node = node(reader)?;
    let old = tag == tag::NEW_REFERENCE;
    let creation = if old {
        old_creation(reader)?
    } else {
        reader.u32("a creation")?
    };
    let first_at = reader.offset();
    let mut ids = Vec::with_capacity(words.into());
    for _ in 0..words {
        ids.push(reader.u32("a word of a reference")?);
    }
    if old {
        old_word(ids[0], first_at)?;
    }
    Ok(Term::Reference(Box::new(Reference {
        node,
        creation,
        ids,
    })))
}

fn export(reader: &mut EtfReader<'_>) -> Result<Term, DecodeError> {
    let module = atoms::required(reader, "the module of a fun, an atom,")?;
    let function = atoms::required(reader, "the function of a fun, an atom,")?;
    let at = reader.offset();
    let value = decode::required_integer(reader, "the arity of a fun, an integer,")?;
    let value = value.unwrap_or(i64::MAX);
    let arity =
        u8::try_from(value).map_err(|_| out_of_range(at, "the arity of a fun", value, 255))?;
    Ok(Term::Fun(Box::new(Fun::External {
        module,
        function,
        arity,
    })))
}

/// Reads a closure without its captured values, and returns it with the number of them that follow.
#[inline(never)]
pub(super) fn closure(reader: &mut EtfReader<'_>) -> Result<(LocalFun, usize), DecodeError> {
    reader.u32("the size of a fun")?;
    let arity = reader.u8("the arity of a fun")?;
    let uniq = reader.md5("the checksum of a fun")?;
    let index = reader.u32("the index of a fun")?;
    let at = reader.offset();
    let free = reader.u32("the number of captured values of a fun")?;
    if free > MAX_FREE {
        let what = "the number of captured values of a fun";
        return Err(out_of_range(at, what, free.into(), MAX_FREE.into()));
    }
    let module = atoms::required(reader, "the module of a fun, an atom,")?;
    let old_index = old_number(reader, "the old index of a fun, an integer,")?;
    let old_uniq = old_number(reader, "the old checksum of a fun, an integer,")?;
    let creator = creator(reader)?;
    let fun = LocalFun {
        module,
        arity,
        uniq,
        index,
        old_index,
        old_uniq,
        creator,
        free: Terms::new(),
    };
    Ok((fun, free as usize))
}

fn old_number(reader: &mut EtfReader<'_>, what: &'static str) -> Result<i64, DecodeError> {
    let at = reader.offset();
    match decode::required_integer(reader, what)? {
        Some(value) if SMALL.contains(&value) => Ok((value as i32).into()),
        value => Err(out_of_range(
            at,
            what,
            value.unwrap_or(i64::MAX),
            SMALL.end - 1,
        )),
    }
}

fn creator(reader: &mut EtfReader<'_>) -> Result<Pid, DecodeError> {
    let expected = "the creator of a fun, a pid,";
    let at = reader.offset();
    match reader.u8(expected)? {
        tag @ (tag::PID | tag::NEW_PID) => pid(reader, tag),
        tag => Err(DecodeError::new(
            at,
            DecodeErrorKind::Unexpected { expected, tag },
        )),
    }
}
