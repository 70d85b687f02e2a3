//! Taking terms apart.

use std::ffi::c_char;

use ::fyris_term::Term;
use fyris_term_type::*;

use super::fyris_term;
use crate::args::{Out, handle};
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, answer, call, fyris_code, fyris_error};

/// The types of terms.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fyris_term_type {
    /// No term: NULL was asked about.
    FYRIS_NONE = 0,
    /// An integer of any size.
    FYRIS_INTEGER = 1,
    /// A float.
    FYRIS_FLOAT = 2,
    /// An atom.
    FYRIS_ATOM = 3,
    /// A binary.
    FYRIS_BINARY = 4,
    /// A tuple.
    FYRIS_TUPLE = 5,
    /// A proper list.
    FYRIS_LIST = 6,
    /// A map.
    FYRIS_MAP = 7,
    /// A list with another tail than the empty list: the tail is its last element here.
    FYRIS_IMPROPER_LIST = 8,
    /// A bitstring that does not end with a whole byte.
    FYRIS_BITSTRING = 9,
    /// A process identifier.
    FYRIS_PID = 10,
    /// A port.
    FYRIS_PORT = 11,
    /// A reference.
    FYRIS_REFERENCE = 12,
    /// A fun.
    FYRIS_FUN = 13,
    /// A native record of OTP 29: its parts are the values, in the order of its fields.
    FYRIS_NATIVE_RECORD = 14,
}

/// Returns the type of a term. Later versions may add types.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_type_of(term: *const fyris_term) -> fyris_term_type {
    answer(FYRIS_NONE, || {
        // SAFETY: HANDLE: the term.
        Ok(type_of(&unsafe { handle(term, "the term") }?.0))
    })
}

fn type_of(term: &Term) -> fyris_term_type {
    match term {
        Term::Int(_) | Term::Big(_) => FYRIS_INTEGER,
        Term::Float(_) => FYRIS_FLOAT,
        Term::Atom(_) => FYRIS_ATOM,
        Term::Binary(_) => FYRIS_BINARY,
        Term::Tuple(_) => FYRIS_TUPLE,
        Term::List(_) => FYRIS_LIST,
        Term::Map(_) => FYRIS_MAP,
        Term::Improper(..) => FYRIS_IMPROPER_LIST,
        Term::Bits(_) => FYRIS_BITSTRING,
        Term::Pid(_) => FYRIS_PID,
        Term::Port(_) => FYRIS_PORT,
        Term::Reference(_) => FYRIS_REFERENCE,
        Term::Fun(_) => FYRIS_FUN,
        Term::Record(_) => FYRIS_NATIVE_RECORD,
    }
}

fn wrong<T>(term: &Term, wanted: &str) -> Outcome<T> {
    let found = match type_of(term) {
        FYRIS_NONE => "nothing",
        FYRIS_INTEGER => "an integer",
        FYRIS_FLOAT => "a float",
        FYRIS_ATOM => "an atom",
        FYRIS_BINARY => "a binary",
        FYRIS_TUPLE => "a tuple",
        FYRIS_LIST => "a list",
        FYRIS_MAP => "a map",
        FYRIS_IMPROPER_LIST => "an improper list",
        FYRIS_BITSTRING => "a bitstring",
        FYRIS_PID => "a pid",
        FYRIS_PORT => "a port",
        FYRIS_REFERENCE => "a reference",
        FYRIS_FUN => "a fun",
        FYRIS_NATIVE_RECORD => "a native record",
    };
    let text = format!("the term is {found}, not {wanted}");
    Err(Failure::new(FYRIS_E_TYPE, text))
}

/// The value of an integer. FYRIS_E_RANGE if 64 bits do not hold it; `fyris_term_print` shows it then.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_get_int(
    term: *const fyris_term,
    value: *mut i64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(value, "the place for the integer")?;
        // SAFETY: HANDLE: the term.
        let value = int(&unsafe { handle(term, "the term") }?.0)?;
        // SAFETY: OUT.
        unsafe { out.put(value) };
        Ok(())
    })
}

/// The value of an integer that is not negative. FYRIS_E_RANGE if 64 bits do not hold it, or it is negative.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_get_uint(
    term: *const fyris_term,
    value: *mut u64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(value, "the place for the integer")?;
        // SAFETY: HANDLE: the term.
        let value = match &unsafe { handle(term, "the term") }?.0 {
            Term::Int(value) => u64::try_from(*value).ok(),
            Term::Big(big) => u64::try_from(&**big).ok(),
            other => return wrong(other, "an integer"),
        };
        let text = "an integer that is negative or does not fit 64 bits";
        let value = value.ok_or_else(|| Failure::new(FYRIS_E_RANGE, text))?;
        // SAFETY: OUT.
        unsafe { out.put(value) };
        Ok(())
    })
}

/// Returns a 64-bit integer out of a term.
pub(crate) fn int(term: &Term) -> Outcome<i64> {
    match term {
        Term::Int(value) => Ok(*value),
        Term::Big(big) => {
            let bits = big.bits();
            let text = format!("an integer of {bits} bits beside its sign does not fit 64 bits");
            Err(Failure::new(FYRIS_E_RANGE, text))
        }
        other => wrong(other, "an integer"),
    }
}

/// The value of a float.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_get_double(
    term: *const fyris_term,
    value: *mut f64,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(value, "the place for the float")?;
        // SAFETY: HANDLE: the term.
        match &unsafe { handle(term, "the term") }?.0 {
            // SAFETY: OUT.
            Term::Float(float) => unsafe { out.put(float.get()) },
            other => return wrong(other, "a float"),
        }
        Ok(())
    })
}

/// The bytes of a binary, borrowed from the term. No zero byte follows them.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_get_binary(
    term: *const fyris_term,
    data: *mut *const u8,
    len: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let data = Out::new(data, "the place for the bytes")?;
        let len = Out::new(len, "the place for the length")?;
        // SAFETY: HANDLE: the term.
        match &unsafe { handle(term, "the term") }?.0 {
            // SAFETY: OUT: both places.
            Term::Binary(bytes) => unsafe {
                data.put(bytes.as_ptr());
                len.put(bytes.len());
            },
            other => return wrong(other, "a binary"),
        }
        Ok(())
    })
}

/// The name of an atom, which stays for ever. No zero byte follows it.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_get_atom(
    term: *const fyris_term,
    name: *mut *const c_char,
    len: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let name = Out::new(name, "the place for the name")?;
        let len = Out::new(len, "the place for the length")?;
        // SAFETY: HANDLE: the term.
        match &unsafe { handle(term, "the term") }?.0 {
            // SAFETY: OUT: both places.
            Term::Atom(atom) => unsafe {
                name.put(atom.as_str().as_ptr().cast());
                len.put(atom.as_str().len());
            },
            other => return wrong(other, "an atom"),
        }
        Ok(())
    })
}

/// Returns whether a term is the atom of this name; false for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_is_atom(term: *const fyris_term, name: *const c_char) -> bool {
    answer(false, || {
        // SAFETY: HANDLE: the term; TEXT: the name.
        let (term, name) = unsafe { (handle(term, "the term")?, crate::args::text(name, "name")?) };
        Ok(matches!(term.0, Term::Atom(atom) if atom.as_str() == name))
    })
}

/// Returns the number of parts of a term: the elements of a tuple or a list, the keys and values of a map, the values
/// of a native record; 0 for everything else.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_len(term: *const fyris_term) -> usize {
    answer(0, || {
        // SAFETY: HANDLE: the term.
        Ok(match &unsafe { handle(term, "the term") }?.0 {
            Term::Tuple(parts) | Term::List(parts) => parts.len(),
            Term::Improper(parts, _) => parts.len() + 1,
            Term::Map(map) => 2 * map.len(),
            Term::Record(record) => record.values().len(),
            _ => 0,
        })
    })
}

/// Returns a part of a term, counted from 0, borrowed from it; NULL if there is none. Of a map the parts are key,
/// value, key, value, and so on, in the order of the keys. O(1).
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_at(term: *const fyris_term, index: usize) -> *const fyris_term {
    answer(std::ptr::null(), || {
        // SAFETY: HANDLE: the term.
        let term = &unsafe { handle(term, "the term") }?.0;
        Ok(part(term, index).map_or(std::ptr::null(), fyris_term::part))
    })
}

fn part(term: &Term, index: usize) -> Option<&Term> {
    match term {
        Term::Tuple(parts) | Term::List(parts) => parts.get(index),
        Term::Improper(parts, tail) if index == parts.len() => Some(tail),
        Term::Improper(parts, _) => parts.get(index),
        Term::Map(map) => {
            let (key, value) = map.pairs().get(index / 2)?;
            Some(if index.is_multiple_of(2) { key } else { value })
        }
        Term::Record(record) => record.values().get(index),
        _ => None,
    }
}

/// Returns the value of a key of a map, borrowed from it; NULL if there is none, or the term is no map. O(log size).
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_map_get(
    map: *const fyris_term,
    key: *const fyris_term,
) -> *const fyris_term {
    answer(std::ptr::null(), || {
        // SAFETY: HANDLE: the map and the key.
        let (map, key) = unsafe { (handle(map, "the map")?, handle(key, "the key")?) };
        Ok(match &map.0 {
            Term::Map(map) => map.get(&key.0).map_or(std::ptr::null(), fyris_term::part),
            _ => std::ptr::null(),
        })
    })
}

/// Returns whether two terms are exactly equal, as by Erlang's `=:=` (1 and 1.0 are not); false if one is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_equal(a: *const fyris_term, b: *const fyris_term) -> bool {
    answer(false, || {
        // SAFETY: HANDLE: both terms.
        let (a, b) = unsafe { (handle(a, "a")?, handle(b, "b")?) };
        Ok(a.0 == b.0)
    })
}

/// Less than, equal to or greater than 0, as `a` is below, equal to or above `b` in Erlang's order of all terms (1 and
/// 1.0 are equal in it). NULL is below everything.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_compare(a: *const fyris_term, b: *const fyris_term) -> i32 {
    answer(0, || {
        // SAFETY: HANDLE: each a term, or null.
        let (a, b) = unsafe { (a.as_ref(), b.as_ref()) };
        Ok(match (a, b) {
            (Some(a), Some(b)) => a.0.cmp_order(&b.0) as i32,
            (a, b) => a.is_some() as i32 - b.is_some() as i32,
        })
    })
}
