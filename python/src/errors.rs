//! Errors as exceptions. The classes are Python's own (`fyris/_errors.py`), so that they can be several things at once.

use fyris::dump::DumpError;
use pyo3::PyErr;
use pyo3::exceptions::PyKeyError;

pyo3::import_exception!(fyris._errors, Error);
pyo3::import_exception!(fyris._errors, NoSuchTable);
pyo3::import_exception!(fyris._errors, NameTaken);
pyo3::import_exception!(fyris._errors, BadValue);
pyo3::import_exception!(fyris._errors, WrongType);
pyo3::import_exception!(fyris._errors, LimitReached);
pyo3::import_exception!(fyris._errors, Damaged);

/// An error of the store.
pub(crate) fn store(error: fyris::Error) -> PyErr {
    use fyris::Error::*;
    let text = error.to_string();
    match error {
        NoSuchTable(_) => self::NoSuchTable::new_err(text),
        NameTaken(_) => self::NameTaken::new_err(text),
        NoSuchKey => PyKeyError::new_err(text),
        NotATuple(_) | NotAnInteger { .. } | WrongType { .. } => self::WrongType::new_err(text),
        IntegerTooLarge(_) | ObjectTooLarge(_) | TooDeep | TooManyTables(_) => {
            LimitReached::new_err(text)
        }
        _ => BadValue::new_err(text),
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

fn os(source: &std::io::Error, text: String) -> PyErr {
    match source.raw_os_error() {
        Some(number) => pyo3::exceptions::PyOSError::new_err((number, text)),
        None => std::io::Error::new(source.kind(), text).into(),
    }
}
