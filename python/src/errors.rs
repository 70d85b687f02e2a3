//! Errors as exceptions. The classes are Python's own (`fyris/_errors.py`), so that they can be several things at once.

use std::ops::Range;

use fyris::dump::DumpError;
use fyris::import::{FileError, ImportError};
use pyo3::exceptions::{PyKeyError, PyOverflowError};
use pyo3::prelude::*;

use crate::convert::from_term;

pyo3::import_exception!(fyris._errors, Error);
pyo3::import_exception!(fyris._errors, NoSuchTable);
pyo3::import_exception!(fyris._errors, NameTaken);
pyo3::import_exception!(fyris._errors, BadValue);
pyo3::import_exception!(fyris._errors, WrongType);
pyo3::import_exception!(fyris._errors, LimitReached);
pyo3::import_exception!(fyris._errors, Damaged);
pyo3::import_exception!(fyris._errors, Conflict);
pyo3::import_exception!(fyris._errors, TransactionEnded);
pyo3::import_exception!(fyris._errors, InTransaction);
pyo3::import_exception!(fyris._errors, CheckFailed);
pyo3::import_exception!(fyris._errors, HoldExpired);
pyo3::import_exception!(fyris._errors, NotUnique);

pyo3::import_exception!(fyris._errors, SegmentError);
pyo3::import_exception!(fyris._errors, NoSuchSegment);
pyo3::import_exception!(fyris._errors, SegmentExists);
pyo3::import_exception!(fyris._errors, Behind);
pyo3::import_exception!(fyris._errors, SegmentConflict);
pyo3::import_exception!(fyris._errors, BaseLost);
pyo3::import_exception!(fyris._errors, Busy);
pyo3::import_exception!(fyris._errors, Forked);
pyo3::import_exception!(fyris._errors, ReadOnly);
pyo3::import_exception!(fyris._errors, Closed);
pyo3::import_exception!(fyris._errors, NoSpace);
pyo3::import_exception!(fyris._errors, LockTimeout);
pyo3::import_exception!(fyris._errors, Uncommitted);
pyo3::import_exception!(fyris._errors, Unlinked);

/// An error of the store.
pub(crate) fn store(error: fyris::Error) -> PyErr {
    let text = error.to_string();
    told(error, text)
}

/// The exception for an error of the store, which says this.
fn told(error: fyris::Error, text: String) -> PyErr {
    use fyris::Error::*;
    match error {
        InBatch { why, .. } => told(*why, text),
        CheckFailed { .. } => self::CheckFailed::new_err(text),
        HoldExpired(_) => self::HoldExpired::new_err(text),
        NotUnique { index, value } => Python::attach(|py| match from_term(py, &value) {
            Ok(value) => self::NotUnique::new_err((text, index, value.unbind())),
            Err(error) => error,
        }),
        NoSuchTable(_) | NoSuchName(_) => self::NoSuchTable::new_err(text),
        NameTaken(_) | OtherTable { .. } => self::NameTaken::new_err(text),
        NoSuchKey => PyKeyError::new_err(text),
        ReadOnly => self::ReadOnly::new_err(text),
        Released | Expired => self::Closed::new_err(text),
        TransactionEnded => self::TransactionEnded::new_err(text),
        InTransaction(_) => self::InTransaction::new_err(text),
        Forked => self::Forked::new_err(format!(
            "{text}: multiprocessing by spawn or forkserver starts processes with tables of their own"
        )),
        LacksFeature {
            operation: "nth" | "rank" | "count_between",
            ..
        } => {
            let text = format!("{text}: make an ordered_set with index=\"judysl\" for that");
            BadValue::new_err(text)
        }
        NotATuple(_) | NotAnInteger { .. } | WrongType { .. } => self::WrongType::new_err(text),
        IntegerTooLarge(_) | ObjectTooLarge(_) | TooManyTables(_) | Atom(_) => {
            LimitReached::new_err(text)
        }
        _ => BadValue::new_err(text),
    }
}

/// Refuses a forked child of a process that has tables, before anything is done that may find locked for good what
/// another thread of the parent had locked.
pub(crate) fn not_forked() -> Result<(), PyErr> {
    match fyris::Store::is_forked() {
        true => Err(store(fyris::Error::Forked)),
        false => Ok(()),
    }
}

/// An error of a dump; what the system said is the `OSError` that Python would have raised.
pub(crate) fn dump(error: DumpError) -> PyErr {
    let text = error.to_string();
    match error {
        DumpError::Table(error) => store(error),
        DumpError::CannotCreateTable(error) => store(*error),
        DumpError::Read { source, .. } | DumpError::Write { source, .. } => os(&source, text),
        DumpError::CannotReplace { .. } => std::io::Error::other(text).into(),
        _ => Damaged::new_err(text),
    }
}

/// An error of files of Erlang's.
pub(crate) fn import(error: ImportError) -> PyErr {
    let text = error.to_string();
    match error {
        ImportError::Table(error) => store(error),
        ImportError::File(FileError::Read { source, .. }) => os(&source, text),
        _ => Damaged::new_err(text),
    }
}

fn os(source: &std::io::Error, text: String) -> PyErr {
    match source.raw_os_error() {
        Some(number) => pyo3::exceptions::PyOSError::new_err((number, text)),
        None => std::io::Error::new(source.kind(), text).into(),
    }
}

/// An error of a segment.
pub(crate) fn segment(error: fyris_segment::Error) -> PyErr {
    use fyris_segment::Error::*;
    let text = error.to_string();
    match error {
        Behind { .. } => self::Behind::new_err(text),
        Conflict { ranges } => SegmentConflict::new_err((text, pairs(ranges))),
        BaseLost { ranges } => self::BaseLost::new_err((text, pairs(ranges))),
        Busy => self::Busy::new_err(text),
        Forked => self::Forked::new_err(text),
        ReadOnly => self::ReadOnly::new_err(text),
        Uncommitted => self::Uncommitted::new_err(text),
        NotFound(_) => NoSuchSegment::new_err(text),
        Unlinked(_) => self::Unlinked::new_err(text),
        Exists(_) => SegmentExists::new_err(text),
        NotASegment(_) | WrongFormat { .. } | Truncated { .. } | Corrupt(_) => {
            Damaged::new_err(text)
        }
        TooLarge { .. } | TooManyProcesses(_) => LimitReached::new_err(text),
        NoSpace { .. } => self::NoSpace::new_err(text),
        LockTimeout { .. } => self::LockTimeout::new_err(text),
        Os { source, .. } => os(&source, text),
        BadName(_) | BadArgument(_) | OutOfRange { .. } | TooSmall { .. } | UnitMismatch { .. } => {
            BadValue::new_err(text)
        }
        _ => SegmentError::new_err(text),
    }
}

/// An error of a map.
pub(crate) fn map(error: fyris_segment::MapError) -> PyErr {
    use fyris_segment::MapError::*;
    let text = error.to_string();
    match error {
        Behind { .. } => self::Behind::new_err(format!("{text}, or use write()")),
        Segment(error) => segment(error),
        Full { .. } => self::NoSpace::new_err(text),
        Corrupt { .. } | Merged | NotAMap | WrongFormat { .. } => Damaged::new_err(text),
        KeyTooLong(_) | ValueTooLong(_) => LimitReached::new_err(text),
        Uncommitted => self::Uncommitted::new_err(text),
        _ => BadValue::new_err(text),
    }
}

/// A size or a place, an argument: a negative one is refused by name.
#[derive(Clone, Copy)]
pub(crate) struct Natural(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for Natural {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Natural> {
        given.extract().map(Natural).map_err(|error| {
            match error.is_instance_of::<PyOverflowError>(given.py()) {
                true => {
                    BadValue::new_err(format!("{given:?} is no size, and no place in a segment"))
                }
                false => error,
            }
        })
    }
}

/// Ranges as Python has them.
pub(crate) fn pairs(ranges: Vec<Range<usize>>) -> Vec<(usize, usize)> {
    ranges.into_iter().map(|r| (r.start, r.end)).collect()
}
