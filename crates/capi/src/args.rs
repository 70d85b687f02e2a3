//! Arguments from C, checked before they are believed.
//!
//! What cannot be checked is asked of the caller in `lib.rs`, under *promises of the caller*; the `SAFETY` comments
//! here and in the functions of the API name it as **C**.

use std::ffi::{CStr, c_char};

use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome};

fn null(name: &str) -> Failure {
    Failure::new(FYRIS_E_NULL, format!("{name} is NULL"))
}

/// What a handle stands for.
///
/// # Safety
///
/// C: null or a live handle.
pub(crate) unsafe fn handle<'a, T>(pointer: *const T, name: &str) -> Outcome<&'a T> {
    // SAFETY: C.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// As [`handle`], for the one thread that uses it.
///
/// # Safety
///
/// C: null or a live handle which no other thread uses meanwhile.
pub(crate) unsafe fn handle_mut<'a, T>(pointer: *mut T, name: &str) -> Outcome<&'a mut T> {
    // SAFETY: C.
    unsafe { pointer.as_mut() }.ok_or_else(|| null(name))
}

/// An array of the caller's; NULL stands for an empty one.
///
/// # Safety
///
/// C: null or `len` initialised values that nobody changes meanwhile.
pub(crate) unsafe fn array<'a, T>(pointer: *const T, len: usize, name: &str) -> Outcome<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null(name));
    }
    if len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::new(
            FYRIS_E_ARGUMENT,
            format!("{name}: {len} elements are more than memory can hold"),
        ));
    }
    // SAFETY: C, and the length is possible.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// Bytes of the caller's.
///
/// # Safety
///
/// As [`array`].
pub(crate) unsafe fn bytes<'a>(
    pointer: *const std::ffi::c_void,
    len: usize,
    name: &str,
) -> Outcome<&'a [u8]> {
    // SAFETY: as for this function.
    unsafe { array(pointer.cast(), len, name) }
}

/// Text of the caller's.
///
/// # Safety
///
/// C: null or bytes that end with a zero.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Outcome<&'a str> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: C.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| {
        let text = format!("{name} is not UTF-8 at byte {}", error.valid_up_to());
        Failure::new(FYRIS_E_ARGUMENT, text)
    })
}

/// Where an answer goes: found before there is one, so that a NULL changes nothing.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// The place must be there.
    pub(crate) fn new(pointer: *mut T, name: &str) -> Outcome<Out<T>> {
        if pointer.is_null() {
            return Err(null(name));
        }
        Ok(Out(pointer))
    }

    /// Puts the answer there.
    ///
    /// # Safety
    ///
    /// C: the pointer was to a place for a `T`.
    pub(crate) unsafe fn put(self, value: T) {
        // SAFETY: not null, and C.
        unsafe { self.0.write(value) }
    }
}
