//! Terms as bytes: external format and text.

use std::ffi::c_void;

use ::fyris_term::etf::EncodeError;
use ::fyris_term::{Term, etf, text};

use super::fyris_term;
use crate::args::{Out, bytes, handle, room};
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, answer, call, fyris_code, fyris_error, make};

/// Bytes that Fyris made, to be given back with `fyris_bytes_free`. A zero byte that `len` does not count follows them.
#[repr(C)]
pub struct fyris_bytes {
    /// The first byte; NULL in an empty one that nothing was put in.
    pub data: *mut u8,
    /// The number of bytes.
    pub len: usize,
}

impl fyris_bytes {
    /// Makes them of bytes that have room for one more, or are few.
    pub(crate) fn new(mut bytes: Vec<u8>) -> fyris_bytes {
        let len = bytes.len();
        bytes.push(0);
        let data = Box::into_raw(bytes.into_boxed_slice()).cast();
        fyris_bytes { data, len }
    }
}

/// Frees the bytes and makes `bytes` empty, so that freeing twice does no harm. NULL is allowed.
///
/// Threads: one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_bytes_free(bytes: *mut fyris_bytes) {
    answer((), || {
        // SAFETY: FILLED and THREAD: the bytes, or null.
        let Some(bytes) = (unsafe { bytes.as_mut() }) else {
            return Ok(());
        };
        if !bytes.data.is_null() {
            let all = std::ptr::slice_from_raw_parts_mut(bytes.data, bytes.len + 1);
            // SAFETY: FILLED: as `fyris_bytes::new` made it; THREAD: no other thread frees it.
            drop(unsafe { Box::from_raw(all) });
        }
        bytes.data = std::ptr::null_mut();
        bytes.len = 0;
        Ok(())
    })
}

/// Reads a term from Erlang's external term format (what `term_to_binary` writes): the version byte 131 and one term.
/// O(len).
///
/// Fails with FYRIS_E_FORMAT, FYRIS_E_LIMIT (no more atoms), FYRIS_E_NO_SPACE.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_decode(
    data: *const c_void,
    len: usize,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        // SAFETY: ARRAY: the encoded term.
        decode(unsafe { bytes(data, len, "the encoded term") }?).map(fyris_term)
    })
}

/// Reads a term from Erlang's external term format without making atoms, as Erlang's `binary_to_term(Binary, [safe])`:
/// a name that no part of the program has made an atom of is FYRIS_E_FORMAT. For bytes from anywhere: atoms are kept
/// for ever. O(len).
///
/// Fails with FYRIS_E_FORMAT, FYRIS_E_NO_SPACE.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_decode_safe(
    data: *const c_void,
    len: usize,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        // SAFETY: ARRAY: the encoded term.
        let data = unsafe { bytes(data, len, "the encoded term") }?;
        Ok(fyris_term(etf::decode_known(data)?))
    })
}

/// Returns a term out of its external format.
pub(crate) fn decode(bytes: &[u8]) -> Outcome<Term> {
    Ok(etf::decode(bytes)?)
}

/// Writes a term in external format. O(its size).
///
/// Threads: any for the term.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_encode(
    term: *const fyris_term,
    bytes: *mut fyris_bytes,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(bytes, "the place for the bytes")?;
        // SAFETY: HANDLE: the term.
        let bytes = encode(&unsafe { handle(term, "the term") }?.0)?;
        // SAFETY: OUT.
        unsafe { out.put(bytes) };
        Ok(())
    })
}

/// Returns a term in external format, for C.
pub(crate) fn encode(term: &Term) -> Outcome<fyris_bytes> {
    let encoded = etf::EncodeOptions::default().encode(term);
    let mut encoded = encoded.map_err(|error| {
        let code = match error {
            EncodeError::NoMemory { .. } => FYRIS_E_NO_SPACE,
            _ => FYRIS_E_LIMIT,
        };
        Failure::new(code, error.to_string())
    })?;
    let room = encoded.try_reserve_exact(1);
    room.map_err(|_| Failure::new(FYRIS_E_NO_SPACE, "no memory for an encoded term"))?;
    Ok(fyris_bytes::new(encoded))
}

/// Writes a term as text in Erlang's syntax, on one line, as `io:format("~0tp")` does. O(its size).
///
/// Threads: any for the term.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_print(
    term: *const fyris_term,
    bytes: *mut fyris_bytes,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(bytes, "the place for the text")?;
        // SAFETY: HANDLE: the term.
        let term = &unsafe { handle(term, "the term") }?.0;
        room(text_size(term), "the text of a term")?;
        let text = text::print_p(term, &one_line());
        // SAFETY: OUT.
        unsafe { out.put(fyris_bytes::new(text.into_bytes())) };
        Ok(())
    })
}

/// Returns about the size of a term's text, and no less than that of its largest part.
fn text_size(term: &Term) -> usize {
    let mut size = 0;
    let mut open = vec![term];
    while let Some(term) = open.pop() {
        size += 2;
        match term {
            // As numbers: of up to three digits, with commas.
            Term::Binary(bytes) => size += 4 * bytes.len(),
            Term::Bits(bits) => size += 4 * bits.bytes().len(),
            Term::Big(big) => size += big.bits() as usize / 3,
            Term::Tuple(parts) | Term::List(parts) => open.extend(parts),
            Term::Improper(parts, tail) => open.extend(parts.iter().chain([&**tail])),
            Term::Map(map) => open.extend(map.iter().flat_map(|(key, value)| [key, value])),
            Term::Record(record) => {
                let fields = record.definition().fields().iter();
                size += fields.map(|field| field.as_str().len() + 3).sum::<usize>();
                open.extend(record.values());
            }
            _ => {}
        }
    }
    size
}

fn one_line() -> text::PrintOptions {
    text::PrintOptions {
        line_width: 1 << 40,
        ..text::PrintOptions::default()
    }
}
