//! Match specifications and patterns.

use ::fyris_term::{Map, Term};
use fyris::{Continuation, MatchSpec, Table};

use super::{boxed, fyris_table, listed, place, table, term};
use crate::args::handle_mut;
use crate::error::{Outcome, call, free, fyris_code, fyris_error, make};
use crate::term::fyris_term;

/// Compiles a specification.
///
/// # Safety
///
/// HANDLE: the specification.
unsafe fn spec_of(spec: *const fyris_term) -> Outcome<MatchSpec> {
    // SAFETY: HANDLE: the specification.
    let spec = unsafe { term(spec, "the match specification") }?;
    Ok(MatchSpec::compile(spec).map_err(fyris::Error::from)?)
}

/// Runs a call that counts.
///
/// # Safety
///
/// HANDLE: the table and the specification; OUT: the count.
unsafe fn counted(
    handle: *const fyris_table,
    spec: *const fyris_term,
    count: *mut usize,
    run: impl FnOnce(&Table, &MatchSpec) -> fyris::Result<usize>,
) -> Outcome {
    // SAFETY: HANDLE: the table and the specification.
    let found = run(unsafe { table(handle) }?, &unsafe { spec_of(spec) }?)?;
    if let Ok(out) = place(count) {
        // SAFETY: OUT.
        unsafe { out.put(found) };
    }
    Ok(())
}

/// Returns a list of the results of a match specification for the objects that match; `limit` is how many at most, 0
/// for all. In an `ordered_set` in the order of the keys, or with `reverse` from the end. The specification is a term
/// as for `ets:select/2`, like `[{{'$1', '$2'}, [{'>', '$2', 10}], ['$1']}]`. Keys that it names are
/// looked up instead of searched for.
///
/// An object that is there throughout is visited exactly once. Fails with FYRIS_E_ARGUMENT for a specification that is
/// none, FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_select(
    handle: *const fyris_table,
    spec: *const fyris_term,
    limit: usize,
    reverse: bool,
    values: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the specification; OUT: the values.
    call(err, || unsafe {
        let spec = spec_of(spec)?;
        listed(handle, values, |table| match (limit, reverse) {
            (0, false) => table.select(&spec),
            (0, true) => table.select_reverse(&spec),
            (limit, false) => Ok(table.select_limit(&spec, limit)?.results),
            (limit, true) => Ok(table.select_reverse_limit(&spec, limit)?.results),
        })
    })
}

/// A `fyris_table_select` in portions. It holds nothing that makes others wait, and keeps going whatever happens to the
/// table.
pub struct fyris_selection(Option<Continuation>);

/// Begins a selection whose portions have `limit` results, the last one fewer. The handle of the table may be freed
/// meanwhile.
///
/// Fails as `fyris_table_select`; FYRIS_E_ARGUMENT for a limit of 0.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_selection_new(
    handle: *const fyris_table,
    spec: *const fyris_term,
    limit: usize,
    reverse: bool,
    err: *mut fyris_error,
) -> *mut fyris_selection {
    make(err, || {
        // SAFETY: HANDLE: the table and the specification.
        let (table, spec) = unsafe { (table(handle)?, spec_of(spec)?) };
        let query = match reverse {
            true => table.query(&spec).reverse(),
            false => table.query(&spec),
        };
        Ok(fyris_selection(Some(Continuation::before(query, limit)?)))
    })
}

/// The next portion: a list, which is yours to free; NULL behind the last.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS; the selection has ended then.
///
/// Threads: one.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_selection_next(
    selection: *mut fyris_selection,
    values: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(values)?;
        // SAFETY: HANDLE and THREAD: the selection.
        let selection = unsafe { handle_mut(selection, "the selection") }?;
        let mut found = std::ptr::null_mut();
        if let Some(place) = selection.0.take() {
            let chunk = place.next()?;
            selection.0 = chunk.next;
            if !chunk.results.is_empty() {
                found = boxed(Term::list(chunk.results));
            }
        }
        // SAFETY: OUT.
        unsafe { out.put(found) };
        Ok(())
    })
}

/// Ends a selection.
///
/// Threads: last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_selection_free(selection: *mut fyris_selection) {
    // SAFETY: OWNED and THREAD: the last use.
    unsafe { free(selection) }
}

/// Of how many objects a match specification makes `true`. `count` may be NULL, here and below.
///
/// Fails as `fyris_table_select`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_select_count(
    handle: *const fyris_table,
    spec: *const fyris_term,
    count: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the specification; OUT: the count.
    call(err, || unsafe {
        counted(handle, spec, count, Table::select_count)
    })
}

/// Deletes the objects of which a match specification makes `true`, each judged and deleted in one atomic step; says
/// how many.
///
/// Fails as `fyris_table_select`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_select_delete(
    handle: *const fyris_table,
    spec: *const fyris_term,
    count: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the specification; OUT: the count.
    call(err, || unsafe {
        counted(handle, spec, count, Table::select_delete)
    })
}

/// Puts what a match specification makes of the objects that match in their places, each judged and replaced in one
/// atomic step; says how many. The specification must keep every object's key. Not for a `bag`.
///
/// Fails as `fyris_table_select`; FYRIS_E_TYPE; FYRIS_E_NOT_UNIQUE, where what was replaced before stays.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_select_replace(
    handle: *const fyris_table,
    spec: *const fyris_term,
    count: *mut usize,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the specification; OUT: the count.
    call(err, || unsafe {
        counted(handle, spec, count, Table::select_replace)
    })
}

/// As `fyris_table_select_delete`, of the objects for which the specification returns anything; gives what it returned:
/// a list, in the order of `fyris_table_select`. Each object is judged and removed in one atomic step, and goes to one
/// of several callers. If the table goes away half-way, or the right to it, what was taken until then is given.
///
/// Fails as `fyris_table_select`; FYRIS_E_READ_ONLY.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_select_take(
    handle: *const fyris_table,
    spec: *const fyris_term,
    values: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the specification; OUT: the values.
    call(err, || unsafe {
        let spec = spec_of(spec)?;
        listed(handle, values, |table| table.select_take(&spec))
    })
}

/// As `fyris_table_select_replace`; gives the new objects: a list, in the order of `fyris_table_select`.
///
/// Fails as `fyris_table_select_replace`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_select_replace_returning(
    handle: *const fyris_table,
    spec: *const fyris_term,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the specification; OUT: the objects.
    call(err, || unsafe {
        let spec = spec_of(spec)?;
        listed(handle, objects, |table| {
            table.select_replace_returning(&spec)
        })
    })
}

/// What the variables of a pattern stand for in the objects that match, like `ets:match/2`: a list of lists, in the
/// order of the variables' numbers.
///
/// Fails as `fyris_table_select`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_match(
    handle: *const fyris_table,
    pattern: *const fyris_term,
    bindings: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the pattern; OUT: the bindings.
    call(err, || unsafe {
        let pattern = term(pattern, "the pattern")?;
        listed(handle, bindings, |table| table.match_pattern(pattern))
    })
}

/// The objects that match a pattern, like `{'_', '$1', '$1'}`, as a list.
///
/// Fails as `fyris_table_select`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_match_object(
    handle: *const fyris_table,
    pattern: *const fyris_term,
    objects: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table and the pattern; OUT: the objects.
    call(err, || unsafe {
        let pattern = term(pattern, "the pattern")?;
        listed(handle, objects, |table| table.match_object(pattern))
    })
}

/// Explains `fyris_table_select` without running it: a map of `plan` (how the objects are found), `estimated`
/// (about how many would be visited) and `size` (how many there are); also `secondary`, the name of the secondary index
/// that finds them, if one does.
///
/// Fails as `fyris_table_select`.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_explain(
    handle: *const fyris_table,
    spec: *const fyris_term,
    explanation: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(explanation)?;
        // SAFETY: HANDLE: the table and the specification.
        let (table, spec) = unsafe { (table(handle)?, spec_of(spec)?) };
        let found = table.explain(&spec)?;
        let mut pairs = vec![
            (Term::atom("plan"), found.plan),
            (Term::atom("estimated"), Term::integer(found.estimated)),
            (Term::atom("size"), Term::integer(found.size)),
        ];
        let by = |name| (Term::atom("secondary"), Term::Atom(name));
        pairs.extend(found.secondary.map(by));
        let map = Map::new(pairs);
        // SAFETY: OUT.
        unsafe { out.put(boxed(Term::Map(map))) };
        Ok(())
    })
}
