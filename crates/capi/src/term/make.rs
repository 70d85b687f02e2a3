//! Making terms.

use std::ffi::{c_char, c_void};

use ::fyris_term::{Atom, Float, Map, Term};

use super::fyris_term;
use crate::args::{array, bytes, handle, room, text};
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, free, fyris_error, make};

/// Makes an integer.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn fyris_term_int(value: i64) -> *mut fyris_term {
    make(std::ptr::null_mut(), || Ok(fyris_term(Term::Int(value))))
}

/// Makes an unsigned integer.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn fyris_term_uint(value: u64) -> *mut fyris_term {
    make(std::ptr::null_mut(), || {
        Ok(fyris_term(Term::integer(value)))
    })
}

/// Makes a float. Infinities and NaN, which Erlang does not have, are FYRIS_E_ARGUMENT.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_double(value: f64, err: *mut fyris_error) -> *mut fyris_term {
    make(err, || match Float::new(value) {
        Some(float) => Ok(fyris_term(Term::Float(float))),
        None => {
            let text = format!("{value} is no float of Erlang");
            Err(Failure::new(FYRIS_E_ARGUMENT, text))
        }
    })
}

/// Returns the atom of this name: at most 255 characters, and a bounded number of different ones in a process
/// (FYRIS_E_LIMIT). Atoms are kept for ever: make them of your program's own words, not of what its users type.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_atom(
    name: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        // SAFETY: TEXT: the name.
        let name = unsafe { text(name, "the name of an atom") }?;
        Ok(fyris_term(Term::Atom(Atom::new(name)?)))
    })
}

/// Makes a binary: a copy of `len` bytes. `data` may be NULL if there are none.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_binary(
    data: *const c_void,
    len: usize,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        // SAFETY: ARRAY: the bytes.
        let data = unsafe { bytes(data, len, "the bytes of a binary") }?;
        room(len, "a binary")?;
        Ok(fyris_term(Term::binary(data)))
    })
}

/// Text as Elixir keeps it: a binary of its UTF-8, without the zero byte.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_text(
    value: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        // SAFETY: TEXT.
        let value = unsafe { text(value, "the text") }?;
        room(value.len(), "a binary")?;
        Ok(fyris_term(Term::binary(value.as_bytes())))
    })
}

/// Makes a term in Erlang's syntax, like `{user, <<"Ada">>, [1815, 1.0, #{maths => true}]}`.
///
/// O(length). Fails with FYRIS_E_SYNTAX, FYRIS_E_LIMIT (no more atoms), FYRIS_E_NO_SPACE.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_parse(
    syntax: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        // SAFETY: TEXT.
        parse(unsafe { text(syntax, "the text of a term") }?).map(fyris_term)
    })
}

/// Makes a term in Erlang's syntax with variables, which stand for values: the first name in the text for the first
/// value, the next one for the second; a name may stand there again. `"{town, Name, '_'}"` with one value is a pattern.
/// The values stay yours. (`_` alone is no name; `'_'` and `'$1'` are atoms, as in Erlang.)
///
/// O(length and size of the values). Fails as `fyris_term_parse`; FYRIS_E_SYNTAX for a name without a value,
/// FYRIS_E_ARGUMENT for a value without a name.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_build(
    syntax: *const c_char,
    values: *const *mut fyris_term,
    count: usize,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        // SAFETY: TEXT; ARRAY: the values; HANDLE: each of them.
        let (syntax, values) = unsafe {
            let values = array(values, count, "the values")?.iter();
            let values = values.map(|&value| Ok(&handle(value, "a value")?.0));
            (
                text(syntax, "the text of a term")?,
                values.collect::<Outcome<Vec<_>>>()?,
            )
        };
        room(syntax.len(), "a term")?;
        let mut names: Vec<String> = Vec::new();
        let made = Term::parse_with(syntax, &mut |name| {
            let known = names.iter().position(|known| known == name);
            let place = known.unwrap_or(names.len());
            let value = values.get(place).filter(|_| name != "_")?;
            if known.is_none() {
                names.push(name.to_owned());
            }
            Some((*value).clone())
        })?;
        match names.len() == values.len() {
            true => Ok(fyris_term(made)),
            false => {
                let text = format!("{} values for {} names", values.len(), names.len());
                Err(Failure::new(FYRIS_E_ARGUMENT, text))
            }
        }
    })
}

/// Returns a term in Erlang's syntax.
pub(crate) fn parse(text: &str) -> Outcome<Term> {
    room(text.len(), "a term")?;
    Ok(Term::parse(text)?)
}

/// Returns the options that a call was given, which say that they are what is wrong.
///
/// # Safety
///
/// TEXT: the options.
pub(crate) unsafe fn options(options: *const c_char) -> Outcome<Term> {
    // SAFETY: TEXT: the options.
    let parsed = parse(unsafe { text(options, "the options") }?);
    parsed.map_err(|failure| Failure::new(failure.code, format!("the options: {}", failure.text)))
}

/// Returns a list of options; `known` says which ones there are.
pub(crate) fn fold_options<T>(
    options: Term,
    known: &str,
    begin: T,
    with: impl Fn(T, &Term) -> Option<T>,
) -> Outcome<T> {
    let refusal = |what: &Term| {
        let text = format!(
            "bad option {}: options are a list of {known}",
            what.brief(60)
        );
        Failure::new(FYRIS_E_ARGUMENT, text)
    };
    let Term::List(list) = options else {
        return Err(refusal(&options));
    };
    let with = |made, option| with(made, option).ok_or_else(|| refusal(option));
    list.iter().try_fold(begin, with)
}

/// Makes a tuple of `len` elements. Takes the elements over: they are its own, or freed if it fails; also those behind
/// a NULL, so that makers nest without checks in between.
///
/// O(size of the elements).
///
/// Threads: one for each element.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_tuple(
    elements: *const *mut fyris_term,
    len: usize,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        // SAFETY: ARRAY: the elements; OWNED and THREAD: each of them.
        let elements = unsafe { take(elements, len, "tuple") }?;
        Ok(fyris_term(Term::tuple(elements)))
    })
}

/// Makes a list of `len` elements; takes them over as `fyris_term_tuple` does.
///
/// O(size of the elements).
///
/// Threads: one for each element.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_list(
    elements: *const *mut fyris_term,
    len: usize,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        // SAFETY: ARRAY: the elements; OWNED and THREAD: each of them.
        let elements = unsafe { take(elements, len, "list") }?;
        Ok(fyris_term(Term::list(elements)))
    })
}

/// Makes a map of `pairs` keys and values, one behind the other: an array of `2 * pairs` terms, which it takes over as
/// `fyris_term_tuple` does. Of equal keys the last counts.
///
/// O(size of the elements, times the logarithm of their number).
///
/// Threads: one for each element.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_map(
    elements: *const *mut fyris_term,
    pairs: usize,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        let len = pairs.saturating_mul(2);
        // SAFETY: ARRAY: the elements; OWNED and THREAD: each of them.
        let mut elements = unsafe { take(elements, len, "map") }?.into_iter();
        room(pairs.saturating_mul(size_of::<(Term, Term)>()), "a map")?;
        let mut map = Vec::with_capacity(pairs);
        while let (Some(key), Some(value)) = (elements.next(), elements.next()) {
            map.push((key, value));
        }
        Ok(fyris_term(Term::Map(Map::new(map))))
    })
}

/// Owns elements that were handed over, all of them also when one is missing.
///
/// # Safety
///
/// ARRAY: the elements; OWNED and THREAD: each of them.
unsafe fn take(elements: *const *mut fyris_term, len: usize, whole: &str) -> Outcome<Vec<Term>> {
    let name = format!("the array of a {whole}'s elements");
    // SAFETY: ARRAY: the elements.
    let elements = unsafe { array(elements, len, &name) }?;
    let there = room(len.saturating_mul(size_of::<Term>()), &name);
    let mut missing = None;
    let mut taken = Vec::with_capacity(if there.is_ok() { len } else { 0 });
    for (i, &element) in elements.iter().enumerate() {
        if element.is_null() {
            missing.get_or_insert(i);
            continue;
        }
        // SAFETY: OWNED and THREAD: a maker boxed it, and it is handed over here.
        let element = unsafe { Box::from_raw(element) }.0;
        if there.is_ok() {
            taken.push(element);
        }
    }
    there?;
    let Some(i) = missing else { return Ok(taken) };
    let text = format!("element {i} of a {whole} is NULL: making it failed");
    Err(Failure::new(FYRIS_E_NULL, text))
}

/// Makes a copy of a term, or of a part of one. O(its size), but large binaries are shared.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_clone(
    term: *const fyris_term,
    err: *mut fyris_error,
) -> *mut fyris_term {
    make(err, || {
        // SAFETY: HANDLE: the term.
        let term = unsafe { handle(term, "the term") }?;
        Ok(fyris_term(term.0.clone()))
    })
}

/// Frees a term that a function returned, and with it all its parts. Not for borrowed parts.
///
/// Threads: last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_term_free(term: *mut fyris_term) {
    // SAFETY: OWNED and THREAD: the last use.
    unsafe { free(term) }
}
