//! Codes, texts, and the wall that no panic passes.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ::fyris_term::etf::{DecodeError, DecodeErrorKind};
use ::fyris_term::text::{ParseError, ParseErrorKind};

/// The outcome of a call.
///
/// Later versions may add codes: treat one you do not know as a failure.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fyris_code {
    /// Done.
    FYRIS_OK = 0,
    /// An argument is NULL that must not be.
    FYRIS_E_NULL = 1,
    /// Fyris has a bug: it panicked, and this call has been given up. The objects that it worked on are still usable.
    FYRIS_E_PANIC = 2,
    /// An argument makes no sense: an option, a position, a length, text that is not UTF-8.
    FYRIS_E_ARGUMENT = 3,
    /// A term, or a table, is of another type than the call needs.
    FYRIS_E_TYPE = 4,
    /// A number does not fit where it should go.
    FYRIS_E_RANGE = 5,
    /// Text that is no term in Erlang's syntax; the error's text says at which line and column.
    FYRIS_E_SYNTAX = 6,
    /// Bytes that are no term in external format; the error's text says at which byte.
    FYRIS_E_FORMAT = 7,
    /// Something grew beyond what Fyris can hold: a term, the number of tables or of atoms. erlang/FROM_ETS.md lists
    /// all limits.
    FYRIS_E_LIMIT = 8,
    /// There is no such table, or no longer.
    FYRIS_E_NO_TABLE = 20,
    /// The table does not allow this to the handle's owner; the segment belongs to another user.
    FYRIS_E_NO_ACCESS = 21,
    /// A table of this name exists.
    FYRIS_E_NAME_TAKEN = 22,
    /// No object has the key.
    FYRIS_E_NO_KEY = 23,
    /// The transaction was committed or aborted.
    FYRIS_E_ENDED = 24,
    /// A transaction reads and writes objects; the call is about the table itself.
    FYRIS_E_IN_TRANSACTION = 25,
    /// A check of a batch of writes does not hold.
    FYRIS_E_CHECK = 26,
    /// Another object has the value that a write was going to bring, by a unique index.
    FYRIS_E_NOT_UNIQUE = 27,
    /// A transaction that went first was not done in the time for which others wait for it.
    FYRIS_E_HOLD_EXPIRED = 28,
    /// The system refused something about a file; the error's text says what.
    FYRIS_E_IO = 30,
    /// A file or a segment is not what it should be, damaged, or of another version; the error's text says where.
    FYRIS_E_DAMAGED = 31,
    /// No memory or disk for what was asked. Single large requests, such as a binary, a term to be decoded or printed,
    /// or the objects of a table, are told so, and a table on the index `hash` goes on with the array that it has when
    /// there is no memory for a larger one; where a small piece of memory cannot be had the process ends by `abort`.
    FYRIS_E_NO_SPACE = 32,
    /// The kernel cannot do what was asked.
    FYRIS_E_UNSUPPORTED = 33,
    /// The trunk has changes that the working copy has not: update first.
    FYRIS_E_BEHIND = 40,
    /// Others were faster: units of a segment were changed on both sides; what a transaction has read was changed.
    FYRIS_E_CONFLICT = 41,
    /// The working copy fell so far behind that what it started from is gone, and pages were changed on both sides:
    /// `fyris_segment_update_with` decides for each unit, `fyris_segment_discard` takes the trunk's.
    FYRIS_E_BASE_LOST = 42,
    /// Another thread is inside a call with this segment.
    FYRIS_E_BUSY = 43,
    /// The process forked. After the checkout of a segment: the working copy stayed with the parent: reattach. After a
    /// store was made: the child cannot use stores and tables.
    FYRIS_E_FORKED = 44,
    /// The checkout is read-only; the table is a snapshot.
    FYRIS_E_READ_ONLY = 45,
    /// There is no segment of this name.
    FYRIS_E_NO_SEGMENT = 46,
    /// There is a segment of this name already.
    FYRIS_E_EXISTS = 47,
    /// A process that lives, but does not move, holds the lock for commits.
    FYRIS_E_TIMEOUT = 48,
    /// The callback gave up.
    FYRIS_E_GAVE_UP = 49,
    /// The map has changes that are neither committed nor discarded.
    FYRIS_E_UNCOMMITTED = 50,
    /// The segment's name was removed, or leads to another segment by now.
    FYRIS_E_UNLINKED = 51,
}

use fyris_code::*;

macro_rules! names {
    ($($code:ident)*) => {
        /// Every code of a failure, and its name, which ends with a zero byte.
        const CODES: &[(fyris_code, &CStr)] = &[$(($code, match CStr::from_bytes_with_nul(concat!(stringify!($code), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => unreachable!(),
        })),*];
    };
}
names! {
    FYRIS_E_NULL
    FYRIS_E_PANIC
    FYRIS_E_ARGUMENT
    FYRIS_E_TYPE
    FYRIS_E_RANGE
    FYRIS_E_SYNTAX
    FYRIS_E_FORMAT
    FYRIS_E_LIMIT
    FYRIS_E_NO_TABLE
    FYRIS_E_NO_ACCESS
    FYRIS_E_NAME_TAKEN
    FYRIS_E_NO_KEY
    FYRIS_E_ENDED
    FYRIS_E_IN_TRANSACTION
    FYRIS_E_CHECK
    FYRIS_E_NOT_UNIQUE
    FYRIS_E_HOLD_EXPIRED
    FYRIS_E_IO
    FYRIS_E_DAMAGED
    FYRIS_E_NO_SPACE
    FYRIS_E_UNSUPPORTED
    FYRIS_E_BEHIND
    FYRIS_E_CONFLICT
    FYRIS_E_BASE_LOST
    FYRIS_E_BUSY
    FYRIS_E_FORKED
    FYRIS_E_READ_ONLY
    FYRIS_E_NO_SEGMENT
    FYRIS_E_EXISTS
    FYRIS_E_TIMEOUT
    FYRIS_E_GAVE_UP
    FYRIS_E_UNCOMMITTED
    FYRIS_E_UNLINKED
}

/// Returns the name of a code, like "FYRIS_E_NO_KEY", never freed; "FYRIS_OK" for success, and "unknown" for a number
/// that is no code of this version.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn fyris_code_name(code: i32) -> *const c_char {
    let known = CODES.iter().find(|(known, _)| *known as i32 == code);
    match known {
        Some((_, name)) => name.as_ptr(),
        None if code == FYRIS_OK as i32 => c"FYRIS_OK".as_ptr(),
        None => c"unknown".as_ptr(),
    }
}

/// The number of bytes in the text of an error, with the zero byte behind it.
pub const FYRIS_ERROR_TEXT: usize = 508;

/// Why a call failed.
#[repr(C)]
pub struct fyris_error {
    /// The code that the call returned.
    pub code: fyris_code,
    /// The error and its place, in one line of English; cut to fit.
    pub text: [c_char; FYRIS_ERROR_TEXT],
}

/// An error on its way to C.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: fyris_code,
    pub(crate) text: String,
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(code: fyris_code, text: impl Into<String>) -> Failure {
        let text = text.into();
        Failure { code, text }
    }

    fn panic(payload: &(dyn Any + Send)) -> Failure {
        let said = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("without a word");
        Failure::new(FYRIS_E_PANIC, format!("fyris panicked: {said}"))
    }

    /// Returns the text as one line: what would end it, or change what a terminal shows, is escaped. It comes from
    /// names and terms of others.
    fn line(&self) -> Cow<'_, str> {
        if !self.text.contains(char::is_control) {
            return Cow::Borrowed(&self.text);
        }
        let mut line = String::with_capacity(self.text.len() + 16);
        for char in self.text.chars() {
            match char.is_control() {
                true => line.extend(char.escape_default()),
                false => line.push(char),
            }
        }
        Cow::Owned(line)
    }

    /// Returns the code of the failure that `err` tells of already, if this one is only that a maker inside of the call
    /// gave NULL: the first says why.
    ///
    /// # Safety
    ///
    /// OUT: `err`.
    unsafe fn told_before(&self, err: *mut fyris_error) -> Option<fyris_code> {
        if self.code != FYRIS_E_NULL || err.is_null() {
            return None;
        }
        // SAFETY: OUT, and not null. Volatile, and as a number: nothing may be there yet, and then it is any number.
        let code = unsafe { (&raw const (*err).code).cast::<i32>().read_volatile() };
        let known = CODES.iter().find(|(known, _)| *known as i32 == code);
        known.map(|&(known, _)| known)
    }

    /// Leaves a callback that cannot return an error. The caller of the callback unwinds as from a panic, which is
    /// not reported.
    pub(crate) fn throw(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }

    /// Tells the caller, if it wants to know.
    ///
    /// # Safety
    ///
    /// OUT: `err`.
    unsafe fn tell(&self, err: *mut fyris_error) {
        if err.is_null() {
            return;
        }
        let mut text = [0; FYRIS_ERROR_TEXT];
        let line = self.line();
        let end = line.floor_char_boundary(FYRIS_ERROR_TEXT - 1);
        for (to, from) in text.iter_mut().zip(&line.as_bytes()[..end]) {
            *to = *from as c_char;
        }
        let error = fyris_error {
            code: self.code,
            text,
        };
        // SAFETY: OUT, and not null; `write` reads nothing that may be uninitialised.
        unsafe { err.write(error) }
    }
}

/// Runs the body of a function of the API: every one of them, so that no panic reaches C.
///
/// A panic leaves nothing half-done that others see: the store's operations publish with one store each.
pub(crate) fn call(err: *mut fyris_error, body: impl FnOnce() -> Outcome) -> fyris_code {
    match run(err, body) {
        Ok(()) => FYRIS_OK,
        Err(code) => code,
    }
}

/// Runs the body of a function of the API that returns a handle.
pub(crate) fn make<T>(err: *mut fyris_error, body: impl FnOnce() -> Outcome<T>) -> *mut T {
    run(err, body).map_or(std::ptr::null_mut(), |made| Box::into_raw(Box::new(made)))
}

/// Runs the body of a function of the API that answers something else, and `otherwise` when it cannot.
pub(crate) fn answer<T>(otherwise: T, body: impl FnOnce() -> Outcome<T>) -> T {
    run(std::ptr::null_mut(), body).unwrap_or(otherwise)
}

fn run<T>(err: *mut fyris_error, body: impl FnOnce() -> Outcome<T>) -> Result<T, fyris_code> {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => {
            // SAFETY: OUT: `err` is an argument of the function that was called from C, or null.
            unsafe { tell_nothing(err) };
            return Ok(value);
        }
        Ok(Err(failure)) => failure,
        // A callback's failure comes this way too: see `Failure::throw`.
        Err(payload) => match payload.downcast::<Failure>() {
            Ok(failure) => *failure,
            Err(payload) => Failure::panic(&*payload),
        },
    };
    // SAFETY: OUT: `err` is an argument of the function that was called from C, or null.
    unsafe {
        if let Some(first) = failure.told_before(err) {
            return Err(first);
        }
        failure.tell(err);
    }
    Err(failure.code)
}

/// Notes in `err` that there is nothing to tell.
///
/// # Safety
///
/// OUT: `err`.
unsafe fn tell_nothing(err: *mut fyris_error) {
    if !err.is_null() {
        // SAFETY: OUT, and not null.
        unsafe { (&raw mut (*err).code).write(FYRIS_OK) }
    }
}

/// Gives a handle's memory back; null is nothing.
///
/// # Safety
///
/// OWNED and THREAD: `handle`, which no thread uses any more.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: OWNED and THREAD: made by `Box::into_raw`, and given back once.
        let owned = unsafe { Box::from_raw(handle) };
        // There is no caller to report a panic of a drop to.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(owned)));
    }
}

impl From<fyris::Error> for Failure {
    fn from(error: fyris::Error) -> Failure {
        Failure::new(code_of(&error), error.to_string())
    }
}

/// Returns the code of an error of the store.
fn code_of(error: &fyris::Error) -> fyris_code {
    use fyris::Error::*;
    match error {
        NoSuchTable(_) | NoSuchName(_) => FYRIS_E_NO_TABLE,
        NoAccess { .. } | NotOwner => FYRIS_E_NO_ACCESS,
        NameTaken(_) | OtherTable { .. } => FYRIS_E_NAME_TAKEN,
        NoSuchKey => FYRIS_E_NO_KEY,
        TransactionEnded => FYRIS_E_ENDED,
        InTransaction(_) => FYRIS_E_IN_TRANSACTION,
        Conflict { .. } => FYRIS_E_CONFLICT,
        CheckFailed { .. } => FYRIS_E_CHECK,
        NotUnique { .. } => FYRIS_E_NOT_UNIQUE,
        HoldExpired(_) => FYRIS_E_HOLD_EXPIRED,
        InBatch { why, .. } => code_of(why),
        ReadOnly => FYRIS_E_READ_ONLY,
        Forked => FYRIS_E_FORKED,
        NotATuple(_) | NotAnInteger { .. } | WrongType { .. } => FYRIS_E_TYPE,
        IntegerTooLarge(_) | ObjectTooLarge(_) | TooManyTables(_) | Atom(_) => FYRIS_E_LIMIT,
        _ => FYRIS_E_ARGUMENT,
    }
}

impl From<fyris::dump::DumpError> for Failure {
    fn from(error: fyris::dump::DumpError) -> Failure {
        use fyris::dump::{Damage, DumpError::*};
        match error {
            Table(error) => error.into(),
            CannotCreateTable(error) => (*error).into(),
            Read { .. } | Write { .. } | CannotReplace { .. } => {
                Failure::new(FYRIS_E_IO, error.to_string())
            }
            Damaged(Damage::Term { ref source, .. }) if decode_code(source) != FYRIS_E_FORMAT => {
                Failure::new(decode_code(source), error.to_string())
            }
            _ => Failure::new(FYRIS_E_DAMAGED, error.to_string()),
        }
    }
}

impl From<::fyris_segment::Error> for Failure {
    fn from(error: ::fyris_segment::Error) -> Failure {
        use ::fyris_segment::Error::*;
        let code = match &error {
            Behind { .. } => FYRIS_E_BEHIND,
            Conflict { .. } => FYRIS_E_CONFLICT,
            BaseLost { .. } => FYRIS_E_BASE_LOST,
            Busy => FYRIS_E_BUSY,
            Forked => FYRIS_E_FORKED,
            ReadOnly => FYRIS_E_READ_ONLY,
            Uncommitted => FYRIS_E_UNCOMMITTED,
            NotFound(_) => FYRIS_E_NO_SEGMENT,
            Unlinked(_) => FYRIS_E_UNLINKED,
            Exists(_) => FYRIS_E_EXISTS,
            NotASegment(_) | WrongFormat { .. } | Truncated { .. } | Corrupt(_) => FYRIS_E_DAMAGED,
            NotOurs(_) | Namespace => FYRIS_E_NO_ACCESS,
            TooLarge { .. } | TooManyProcesses(_) => FYRIS_E_LIMIT,
            NoSpace { .. } => FYRIS_E_NO_SPACE,
            LockTimeout { .. } => FYRIS_E_TIMEOUT,
            Unsupported(_) => FYRIS_E_UNSUPPORTED,
            Os { source, .. } if source.kind() == ErrorKind::OutOfMemory => FYRIS_E_NO_SPACE,
            Os { .. } => FYRIS_E_IO,
            _ => FYRIS_E_ARGUMENT,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<::fyris_segment::MapError> for Failure {
    fn from(error: ::fyris_segment::MapError) -> Failure {
        use ::fyris_segment::MapError::*;
        let code = match error {
            Segment(error) => return error.into(),
            Full { .. } => FYRIS_E_NO_SPACE,
            Corrupt { .. } | Merged | NotAMap | WrongFormat { .. } => FYRIS_E_DAMAGED,
            KeyTooLong(_) | ValueTooLong(_) => FYRIS_E_LIMIT,
            Uncommitted => FYRIS_E_UNCOMMITTED,
            Behind { .. } => FYRIS_E_BEHIND,
            _ => FYRIS_E_ARGUMENT,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Failure {
        Failure::new(decode_code(&error), error.to_string())
    }
}

fn decode_code(error: &DecodeError) -> fyris_code {
    use DecodeErrorKind::*;
    match error.kind() {
        Atom(_) | TooLarge { .. } | TooManyElements => FYRIS_E_LIMIT,
        NoMemory { .. } => FYRIS_E_NO_SPACE,
        Inflated(error) => decode_code(error),
        _ => FYRIS_E_FORMAT,
    }
}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Failure {
        let code = match &error.kind {
            ParseErrorKind::Atom(_) => FYRIS_E_LIMIT,
            _ => FYRIS_E_SYNTAX,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<::fyris_term::AtomError> for Failure {
    fn from(error: ::fyris_term::AtomError) -> Failure {
        Failure::new(FYRIS_E_LIMIT, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(body: impl FnOnce() -> Outcome) -> (fyris_code, String) {
        let mut err = fyris_error {
            code: FYRIS_OK,
            text: [0x55; FYRIS_ERROR_TEXT],
        };
        let code = call(&mut err, body);
        assert_eq!(code, err.code);
        // SAFETY: `tell` ends every text with a zero.
        let text = unsafe { CStr::from_ptr(err.text.as_ptr()) };
        (code, text.to_str().expect("UTF-8").to_owned())
    }

    #[test]
    fn panics_stop_here() {
        let said = (FYRIS_E_PANIC, "fyris panicked: at the wall".to_owned());
        assert_eq!(told(|| panic!("at the {}", "wall")), said);
        assert_eq!(told(|| std::panic::panic_any(7)).0, FYRIS_E_PANIC);
        assert_eq!(answer(3, || panic!("again")), 3);
        assert!(make::<u8>(std::ptr::null_mut(), || panic!("again")).is_null());
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let long = "ö".repeat(FYRIS_ERROR_TEXT);
        let (_, text) = told(|| Err(Failure::new(FYRIS_E_IO, long)));
        assert_eq!(text, "ö".repeat((FYRIS_ERROR_TEXT - 1) / 2));
        let (_, text) = told(|| Err(Failure::new(FYRIS_E_IO, "a\0b\n\x1b[1mö")));
        assert_eq!(text, "a\\u{0}b\\n\\u{1b}[1mö");
    }
}
