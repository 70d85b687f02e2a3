//! The files of `fyris_copies`, the backend of Mnesia that Fyris has: a dump, and logs of what was done since.
//!
//! | part | bytes | what |
//! |---|---|---|
//! | header | 8 | `fyrismn2` |
//! | | 8 | number: of a dump, that of the first log that it does not contain |
//! | | 4 | CRC-32 of the header so far |
//! | record | 8 | length of the body |
//! | | 4 | CRC-32 of the position of the record, as 8 bytes, and of the body |
//! | | length | body: a list of operations in external format |
//!
//! `T.FYD` is the dump, `T.FYO` the log before and `T.FYL` the log. Files that begin with `fyrismn1` have no checksum
//! in their header, and one of the body alone in their records. All numbers are big-endian.

use std::ops::ControlFlow;
use std::path::Path;

use flate2::Crc;
use fyris_term::{Term, etf};

use super::Change;
use super::log::{is, list};
use crate::FileError;
use crate::source::Source;

/// Bytes before the body of a record.
const FRAME: u64 = 12;

/// Takes changes, and what is wrong.
type Each<'e> = &'e mut dyn FnMut(Result<Change, FileError>) -> ControlFlow<()>;

/// A file whose header has been read.
struct Copies {
    source: Source,
    number: u64,
    /// The position of the first record.
    first: u64,
    /// Do checksums include positions?
    placed: bool,
}

/// Gives what the files of a table say, in order.
pub(super) fn read(dir: &Path, table: &str, each: Each<'_>) -> ControlFlow<()> {
    let mut first = 0;
    for ending in ["FYD", "FYO", "FYL"] {
        let path = dir.join(format!("{table}.{ending}"));
        if !path.exists() {
            continue;
        }
        match open(&path) {
            // A log that is older than the dump has nothing to say.
            Ok(file) if file.number < first => {}
            Ok(file) => {
                if ending == "FYD" {
                    first = file.number;
                }
                records(&file, each)?;
            }
            Err(error) => each(Err(error))?,
        }
    }
    ControlFlow::Continue(())
}

fn open(path: &Path) -> Result<Copies, FileError> {
    let source = Source::open(path)?;
    let mut header = Vec::new();
    source.read(0, source.length().min(20), &mut header)?;
    let number = header.get(8..16).map(big_endian);
    let (first, placed) = match (header.get(..8), number) {
        (Some(b"fyrismn1"), Some(_)) => (16, false),
        (Some(b"fyrismn2"), Some(_))
            if header.get(16..20).map(big_endian) == Some(sum(&[&header[..16]])) =>
        {
            (20, true)
        }
        _ => {
            let why = "it has no header of a file of fyris_copies: nothing of it is read";
            return Err(FileError::damage(path, 0, why));
        }
    };
    Ok(Copies {
        number: number.unwrap_or(0),
        source,
        first,
        placed,
    })
}

/// Gives the operations of all records up to the first that is not whole.
fn records(file: &Copies, each: Each<'_>) -> ControlFlow<()> {
    let source = &file.source;
    let (mut at, mut frame, mut body) = (file.first, Vec::new(), Vec::new());
    while at < source.length() {
        let read = source.read(at, FRAME, &mut frame).and_then(|()| {
            let length = big_endian(&frame[..8]);
            source.read(at + FRAME, length.min(source.length()), &mut body)
        });
        match read {
            Err(error) if !error.is_damage() => return each(Err(error)),
            Ok(()) if big_endian(&frame[8..]) == checksum(file, at, &body) => {}
            _ => {
                let why = "no whole record is here: it was being written, or it is damaged; the rest is left out";
                return each(Err(source.damage(at, why)));
            }
        }
        match etf::decode(&body) {
            Ok(operations) => {
                for operation in list(&operations) {
                    change(operation, source, at, each)?;
                }
            }
            Err(error) => {
                let why = format!("this record is left out, it does not decode: {error}");
                each(Err(source.damage(at, why)))?;
            }
        }
        at += FRAME + body.len() as u64;
    }
    ControlFlow::Continue(())
}

/// Gives what an operation does.
fn change(operation: &Term, source: &Source, at: u64, each: Each<'_>) -> ControlFlow<()> {
    let is_object = |term: &Term| term.as_tuple().is_some_and(|parts| parts.len() > 1);
    match operation.as_tuple() {
        Some([tag, objects])
            if is(tag, "insert") && (is_object(objects) || !list(objects).is_empty()) =>
        {
            let one = std::slice::from_ref(objects);
            let objects = if is_object(objects) {
                one
            } else {
                list(objects)
            };
            objects
                .iter()
                .try_for_each(|object| each(Ok(Change::Write(object.clone()))))
        }
        Some([tag, objects]) if is(tag, "insert") && list(objects).is_empty() => {
            ControlFlow::Continue(())
        }
        Some([tag, key]) if is(tag, "delete") => each(Ok(Change::Delete(key.clone()))),
        Some([tag, pattern]) if is(tag, "match_delete") && is(pattern, "_") => {
            each(Ok(Change::Clear))
        }
        Some([tag, object]) if is(tag, "match_delete") && is_object(object) => {
            each(Ok(Change::DeleteObject(object.clone())))
        }
        _ => {
            let why = format!("the operation {} is left out", operation.brief(60));
            each(Err(source.damage(at, why)))
        }
    }
}

fn checksum(file: &Copies, at: u64, body: &[u8]) -> u64 {
    match file.placed {
        true => sum(&[&at.to_be_bytes(), body]),
        false => sum(&[body]),
    }
}

fn sum(parts: &[&[u8]]) -> u64 {
    let mut crc = Crc::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.sum().into()
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, &byte| (n << 8) | u64::from(byte))
}
