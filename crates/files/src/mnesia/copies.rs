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
//! `T.FYD` is the dump, which ends with an empty list, `T.FYO` the log before and `T.FYL` the log. Files that begin
//! with `fyrismn1` have no checksum in their header, and one of the body alone in their records. All numbers are
//! big-endian.

use std::ops::ControlFlow;
use std::path::Path;

use flate2::Crc;
use fyris_term::Term;

use super::log::{is, list};
use super::{Change, is_file_name};
use crate::source::Source;
use crate::{FileError, Inflated};

/// Bytes before the body of a record.
const FRAME: u64 = 12;
/// The first byte of a body.
const TERM: u8 = 131;
/// Bytes that compressed records may take beside what the file's length gives.
const MAX_INFLATED: u64 = 64 << 20;
/// Bytes that are looked through at a time for the next record.
const WINDOW: u64 = 1 << 16;
/// What seems to be a record and is none may be read as many times as the file is long, in all.
const RETRIES: u64 = 16;

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
    inflated: Inflated,
    /// Bytes that may still be read in vain.
    left: u64,
}

/// Gives what the files of a table say, in order.
pub(super) fn read(dir: &Path, table: &str, each: Each<'_>) -> ControlFlow<()> {
    let paths = ["FYD", "FYO", "FYL"].map(|ending| dir.join(format!("{table}.{ending}")));
    if !is_file_name(table) || !paths.iter().any(|path| path.exists()) {
        let why = format!("no file of the table {table} of fyris_copies is there");
        return each(Err(FileError::foreign(dir, why)));
    }
    let mut first = 0;
    for (path, is_dump) in paths.iter().zip([true, false, false]) {
        if !path.exists() {
            continue;
        }
        match open(path, first, each)? {
            // A log that is older than the dump has nothing to say.
            Some(file) if file.number < first => {}
            Some(mut file) => {
                if is_dump {
                    first = file.number;
                }
                let ended = records(&mut file, each)?;
                if is_dump && file.placed && !ended {
                    let why = "the dump does not end here: objects are missing";
                    each(Err(file.source.damage(file.source.length(), why)))?;
                }
            }
            None => {}
        }
    }
    ControlFlow::Continue(())
}

/// Opens a file; one whose header is damaged counts from its first whole record on, as one of the number `number`.
fn open(path: &Path, number: u64, each: Each<'_>) -> ControlFlow<(), Option<Copies>> {
    let (mut file, is_whole) = match header(path) {
        Ok(read) => read,
        Err(error) => {
            each(Err(error))?;
            return ControlFlow::Continue(None);
        }
    };
    if is_whole {
        return ControlFlow::Continue(Some(file));
    }
    file.number = number;
    for placed in [true, false] {
        file.placed = placed;
        match next_record(&mut file, 0) {
            Ok(Some(at)) => {
                file.first = at;
                let why = format!("the header is damaged: what is before byte {at} is left out");
                each(Err(file.source.damage(0, why)))?;
                return ControlFlow::Continue(Some(file));
            }
            Ok(None) => {}
            Err(error) => each(Err(error))?,
        }
    }
    let why = "it has no header of a file of fyris_copies, and no record: nothing of it is read";
    each(Err(file.source.damage(0, why)))?;
    ControlFlow::Continue(None)
}

/// Reads the header of a file. Returns whether it is whole.
fn header(path: &Path) -> Result<(Copies, bool), FileError> {
    let source = Source::open(path)?;
    let mut header = Vec::new();
    source.read(0, source.length().min(20), &mut header)?;
    let number = header.get(8..16).map(big_endian);
    let (first, placed, is_whole) = match (header.get(..8), number) {
        (Some(b"fyrismn1"), Some(_)) => (16, false, true),
        (Some(b"fyrismn2"), Some(_)) => {
            let sum = sum(&[&header[..16]]);
            (20, true, header.get(16..20).map(big_endian) == Some(sum))
        }
        _ => (0, true, false),
    };
    let file = Copies {
        number: number.unwrap_or(0),
        first,
        placed,
        inflated: Inflated::new(MAX_INFLATED),
        left: source.length().saturating_mul(RETRIES),
        source,
    };
    Ok((file, is_whole))
}

/// Gives the operations of all records that are whole. Returns whether the last one ends a dump.
fn records(file: &mut Copies, each: Each<'_>) -> ControlFlow<(), bool> {
    let (mut at, mut body, mut ended) = (file.first, Vec::new(), false);
    while at < file.source.length() {
        match record(file, at, &mut body).and_then(|is_whole| match is_whole {
            true => Ok(Some(at)),
            false => next_record(file, at + 1),
        }) {
            Ok(Some(next)) if next == at => {}
            Ok(Some(next)) => {
                let why =
                    format!("no whole record is here: what is before byte {next} is left out");
                each(Err(file.source.damage(at, why)))?;
                at = next;
                continue;
            }
            Ok(None) => {
                let why = "no whole record is here: it was being written, or it is damaged; the rest is left out";
                each(Err(file.source.damage(at, why)))?;
                return ControlFlow::Continue(false);
            }
            Err(error) => {
                each(Err(error))?;
                return ControlFlow::Continue(false);
            }
        }
        let end = at + FRAME + body.len() as u64;
        match file.inflated.decode(&body, end) {
            Ok((operations, used)) if used == body.len() => {
                ended = operations == Term::list([]);
                for operation in list(&operations) {
                    change(operation, &file.source, at, each)?;
                }
            }
            read => {
                ended = false;
                let why = match read {
                    Ok(_) => "bytes are behind its term".to_owned(),
                    Err(error) => format!("it does not decode: {error}"),
                };
                let why = format!("this record is left out: {why}");
                each(Err(file.source.damage(at, why)))?;
            }
        }
        at = end;
    }
    ControlFlow::Continue(ended)
}

/// Reads the body of the record at a place. Returns whether it is whole.
fn record(file: &Copies, at: u64, body: &mut Vec<u8>) -> Result<bool, FileError> {
    let rest = file.source.length().saturating_sub(at + FRAME);
    if rest == 0 {
        return Ok(false);
    }
    let mut frame = Vec::new();
    file.source.read(at, FRAME, &mut frame)?;
    let length = big_endian(&frame[..8]);
    if length == 0 || length > rest {
        return Ok(false);
    }
    file.source.read(at + FRAME, length, body)?;
    Ok(big_endian(&frame[8..]) == checksum(file, at, body))
}

/// Returns the place of the first whole record from a place on.
fn next_record(file: &mut Copies, from: u64) -> Result<Option<u64>, FileError> {
    let (mut base, mut window, mut body) = (from, Vec::new(), Vec::new());
    while base + FRAME < file.source.length() {
        let count = WINDOW.min(file.source.length() - base);
        file.source.read(base, count, &mut window)?;
        for (within, bytes) in (0..).zip(window.windows(FRAME as usize + 1)) {
            let at = base + within;
            let length = big_endian(&bytes[..8]);
            if bytes[FRAME as usize] != TERM || length > file.source.length() - at - FRAME {
                continue;
            }
            match file.left.checked_sub(length) {
                Some(left) => file.left = left,
                None => {
                    let why =
                        "too much of the file is not what it says it is: the rest is left out";
                    return Err(file.source.damage(at, why));
                }
            }
            if record(file, at, &mut body)? {
                return Ok(Some(at));
            }
        }
        base += count - FRAME;
    }
    Ok(None)
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
