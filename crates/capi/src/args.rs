//! Arguments from C, checked before they are believed.
//!
//! Conditions that cannot be checked are asked of the caller in `lib.rs`, under *promises of the caller*; the `SAFETY`
//! comments here and in the functions of the API call it by the names it has there. The result of the functions below
//! is not used beyond the call from C, for which the promises are made.

use std::ffi::{CStr, c_char};

use ::fyris_term::memory::is_there;

use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome};

fn null(name: &str) -> Failure {
    Failure::new(FYRIS_E_NULL, format!("{name} is NULL"))
}

/// Returns the value behind a handle.
///
/// # Safety
///
/// HANDLE.
pub(crate) unsafe fn handle<'a, T>(pointer: *const T, name: &str) -> Outcome<&'a T> {
    // SAFETY: HANDLE.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// Returns the value behind a handle, for the one thread that uses it.
///
/// # Safety
///
/// HANDLE and THREAD.
pub(crate) unsafe fn handle_mut<'a, T>(pointer: *mut T, name: &str) -> Outcome<&'a mut T> {
    // SAFETY: HANDLE and THREAD.
    unsafe { pointer.as_mut() }.ok_or_else(|| null(name))
}

/// Returns an array of the caller's; NULL stands for an empty one.
///
/// # Safety
///
/// ARRAY.
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
    // SAFETY: ARRAY, and the length is possible.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// Refuses a request for which there is no memory, before it is begun: an ordinary allocation that fails would end the
/// process.
pub(crate) fn room(bytes: usize, what: &str) -> Outcome {
    match is_there(bytes) {
        true => Ok(()),
        false => {
            let text = format!("no memory for {what}: {bytes} bytes");
            Err(Failure::new(FYRIS_E_NO_SPACE, text))
        }
    }
}

/// Returns the number of bytes of the caller's.
///
/// # Safety
///
/// ARRAY.
pub(crate) unsafe fn bytes<'a>(
    pointer: *const std::ffi::c_void,
    len: usize,
    name: &str,
) -> Outcome<&'a [u8]> {
    // SAFETY: ARRAY.
    unsafe { array(pointer.cast(), len, name) }
}

/// Returns text of the caller's.
///
/// # Safety
///
/// TEXT.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Outcome<&'a str> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: TEXT, and not null.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| {
        let text = format!("{name} is not UTF-8 at byte {}", error.valid_up_to());
        Failure::new(FYRIS_E_ARGUMENT, text)
    })
}

/// A struct of the caller's that may have more fields in a later version: its first field is the number of its bytes.
pub(crate) struct Known<T>(*mut T);

impl<T> Known<T> {
    /// Refuses a struct that is not there, or does not say its size.
    ///
    /// # Safety
    ///
    /// OUT, with a `usize` as the first field, which is set.
    pub(crate) unsafe fn new(pointer: *mut T, name: &str) -> Outcome<Known<T>> {
        if pointer.is_null() {
            return Err(null(name));
        }
        // SAFETY: OUT, and not null.
        let (size, least) = (unsafe { pointer.cast::<usize>().read() }, size_of::<T>());
        if size < least {
            let text = format!("{name}: its struct_size is {size}, and should be {least}");
            return Err(Failure::new(FYRIS_E_ARGUMENT, text));
        }
        Ok(Known(pointer))
    }

    /// Refuses a struct that does not say its size; `None` for one that is not there: nobody need want the answer.
    ///
    /// # Safety
    ///
    /// OUT, with a `usize` as the first field, which is set.
    pub(crate) unsafe fn wanted(pointer: *mut T, name: &str) -> Outcome<Option<Known<T>>> {
        match pointer.is_null() {
            true => Ok(None),
            // SAFETY: as there.
            false => unsafe { Known::new(pointer, name) }.map(Some),
        }
    }

    /// Puts the answer there, but for the size.
    ///
    /// # Safety
    ///
    /// OUT.
    pub(crate) unsafe fn put(self, value: T) {
        let first = size_of::<usize>();
        // SAFETY: OUT: the caller's struct has at least the bytes of a `T`, as `new` has checked.
        unsafe {
            let from = (&raw const value).cast::<u8>().add(first);
            let to = self.0.cast::<u8>().add(first);
            to.copy_from_nonoverlapping(from, size_of::<T>() - first);
        }
    }
}

/// The place of an answer: found before there is one, so that a NULL changes nothing.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Refuses a place that is not there.
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
    /// OUT.
    pub(crate) unsafe fn put(self, value: T) {
        // SAFETY: OUT, and not null.
        unsafe { self.0.write(value) }
    }
}
