//! Stores, and finding tables.

use std::ffi::c_char;

use ::fyris_term::Term;
use fyris::{Options, Owner, Store, TableRef};

use super::{boxed, fyris_table, not_forked, place, table};
use crate::args::{handle, text};
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, call, free, fyris_code, fyris_error, make};
use crate::term::{self, fyris_term};

/// A store of tables, and an owner in it. The tables that the owner made are deleted when the handle is freed, unless
/// their options say otherwise.
///
/// When a process that has made a store forks, the child may call `exec` or `_exit`, free its handles, and use
/// segments: whatever it asks of stores, tables, walks and queries is FYRIS_E_FORKED, at once, for what another thread
/// of the parent had locked stays locked in the child. A process that forks before it makes its first store may use
/// stores in its children.
pub struct fyris_store(Owner);

/// Makes a store that knows the indexes of all crates.
fn new_store() -> Store {
    #[cfg_attr(not(feature = "classic"), expect(unused_mut))]
    let mut store = Store::new();
    #[cfg(feature = "classic")]
    {
        fyris_classic::register(&mut store).expect("new names");
        fyris_judy::register(&mut store).expect("new names");
    }
    store
}

/// Makes a new store without tables.
///
/// Fails with FYRIS_E_FORKED.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn fyris_store_new(err: *mut fyris_error) -> *mut fyris_store {
    make(err, || {
        not_forked()?;
        Ok(fyris_store(new_store().owner()))
    })
}

/// Another owner in the same store: it finds the same named tables, may read those that are protected, and ends by
/// itself. Stores of two `fyris_store_new` have nothing in common.
///
/// Fails with FYRIS_E_FORKED.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_store_join(
    store: *const fyris_store,
    err: *mut fyris_error,
) -> *mut fyris_store {
    make(err, || {
        // SAFETY: HANDLE: the store.
        Ok(fyris_store(unsafe { owner(store) }?.store().owner()))
    })
}

/// Ends the owner and frees its handle. Handles of its tables stay valid, and say FYRIS_E_NO_TABLE from then on.
///
/// Threads: last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_store_free(store: *mut fyris_store) {
    // SAFETY: OWNED and THREAD: the last use.
    unsafe { free(store) }
}

/// Makes a table. `options` is the list of options of `ets:new/2` in Erlang's syntax, or NULL for none: the type is
/// `set` (which nothing need say), `ordered_set`, `bag` or `duplicate_bag`; the access `protected` (only handles from
/// this store handle write), `public` or `private`; `named_table` registers the name; `{keypos, N}` says which element
/// is the key; `{index, Name}` which structure holds the table (`hash`, and of an `ordered_set` `ordered`, if nothing
/// is said; `judysl` counts keys, for `fyris_table_nth` and `fyris_table_rank`), and `{bucket_locks, N}` and
/// `{reader_groups, N}` what locks it has; `{index, {library, "path"}}` that it is one of a shared library, whose code
/// this runs: see fyris_index.h; `{owner, none}` lets the table outlive its maker. `{secondary, Name, Value}` is a
/// secondary index, by which `fyris_table_lookup_by` finds objects: Value is `{element, N}`; `{path, [N, Step, ...]}`,
/// what the steps lead to from that element, keys of maps or positions; or `{body, [Expression, ...]}`, the value of
/// the last of the expressions of a match specification; or `{unique, one of these}`, of which each value is one
/// object's: a write that would repeat one fails with FYRIS_E_NOT_UNIQUE. Objects without such a value are not found by
/// it. There may be several. `{consistent, false}`: walks and queries of more than 512 objects need not show one
/// moment; `{snapshot_ttl, Milliseconds}`: those in several steps fail with FYRIS_E_ARGUMENT when their moment is
/// older.
///
/// A table on a library that answers wrongly fails with FYRIS_E_ARGUMENT from then on, with a text that names the
/// library.
///
/// Fails with FYRIS_E_ARGUMENT, FYRIS_E_SYNTAX, FYRIS_E_NAME_TAKEN, FYRIS_E_LIMIT.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_new(
    store: *const fyris_store,
    name: *const c_char,
    options: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_table {
    make(err, || {
        // SAFETY: HANDLE: the store; TEXT: the name.
        let (owner, name) = unsafe { (owner(store)?, text(name, "the table's name")?) };
        // SAFETY: TEXT: the options, or null.
        let options = unsafe { options_of(options) }?;
        Ok(fyris_table(owner.new_table(name, &options)?))
    })
}

/// Returns the table registered under `name`, made with `options` if there is none; the first caller makes it.
///
/// Fails as `fyris_table_new`; FYRIS_E_NAME_TAKEN if the table that is there has another type or key position.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_open(
    store: *const fyris_store,
    name: *const c_char,
    options: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_table {
    make(err, || {
        // SAFETY: HANDLE: the store; TEXT: the name.
        let (owner, name) = unsafe { (owner(store)?, text(name, "the table's name")?) };
        // SAFETY: TEXT: the options, or null.
        let options = unsafe { options_of(options) }?;
        Ok(fyris_table(owner.open(name, &options)?))
    })
}

/// A handle of the table registered under `name`, by the option `named_table`; it goes on working when the table is
/// renamed. A name that is no atom becomes none.
///
/// Fails with FYRIS_E_NO_TABLE, also where a table has the name and was made without that option.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_named(
    store: *const fyris_store,
    name: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_table {
    make(err, || {
        // SAFETY: HANDLE: the store; TEXT: the name.
        let (owner, name) = unsafe { (owner(store)?, text(name, "the table's name")?) };
        let found = owner.named(name).map_err(|error| match error {
            fyris::Error::NoSuchTable(_) | fyris::Error::NoSuchName(_) => {
                let text = format!("{error}: was it made without the option named_table?");
                Failure::new(FYRIS_E_NO_TABLE, text)
            }
            error => error.into(),
        });
        Ok(fyris_table(found?))
    })
}

/// The names of the named tables of a store, as a list of atoms, in no order. Exact at one moment.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_store_tables(
    store: *const fyris_store,
    names: *mut *mut fyris_term,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(names)?;
        // SAFETY: HANDLE: the store.
        let tables = unsafe { owner(store) }?.store().all();
        let names = tables.into_iter().filter_map(|table| match table {
            TableRef::Name(name) => Some(Term::Atom(name)),
            TableRef::Id(_) => None,
        });
        let names = Term::List(names.collect());
        // SAFETY: OUT.
        unsafe { out.put(boxed(names)) };
        Ok(())
    })
}

/// Gives the table to another owner of the same store, who may write to it if it is protected; it is deleted when the
/// new owner ends. Returns a handle in the new owner's name. `handle` stays valid, with the access that the table
/// grants to everybody.
///
/// Fails with FYRIS_E_NO_ACCESS if the handle is not the owner's, FYRIS_E_ARGUMENT if `to` owns the table already or
/// belongs to another store, FYRIS_E_NO_TABLE.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_give_away(
    handle: *const fyris_table,
    to: *const fyris_store,
    err: *mut fyris_error,
) -> *mut fyris_table {
    make(err, || {
        // SAFETY: HANDLE: the table and the store.
        let (table, to) = unsafe { (table(handle)?, owner(to)?) };
        if !table.is_in(to.store()) {
            let text = "the table is one of another store";
            return Err(Failure::new(FYRIS_E_ARGUMENT, text));
        }
        table.give_away(to.id(), Term::list([]))?;
        // Owners are told of gifts; in C nobody asks for that.
        while to.try_event().is_some() {}
        Ok(fyris_table(table.by_identity().for_caller(to.id())))
    })
}

/// Changes the protection of a table: `options` is `{protection, public}`, `{protection, protected}` or `{protection,
/// private}`, or a list of one of these, as for `ets:setopts/2`. Once it has returned, an owner who has lost a right
/// can no longer use it.
///
/// Fails with FYRIS_E_NO_ACCESS if the handle is not the owner's, FYRIS_E_ARGUMENT, FYRIS_E_SYNTAX, FYRIS_E_NO_TABLE.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_setopts(
    handle: *const fyris_table,
    options: *const c_char,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the table; TEXT: the options.
        let (table, options) = unsafe { (table(handle)?, term::options(options)?) };
        Ok(table.setopts_term(&options, |_| None)?)
    })
}

/// Deletes the table, for everybody and at once; the handle stays, to be freed.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_delete(
    handle: *const fyris_table,
    err: *mut fyris_error,
) -> fyris_code {
    // SAFETY: HANDLE: the table.
    call(err, || Ok(unsafe { table(handle) }?.delete()?))
}

/// Frees a handle of a table; the table stays.
///
/// Threads: last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_free(handle: *mut fyris_table) {
    // SAFETY: OWNED and THREAD: the last use.
    unsafe { free(handle) }
}

/// Returns the owner that a handle is of.
///
/// # Safety
///
/// HANDLE: the store.
pub(super) unsafe fn owner<'a>(store: *const fyris_store) -> Outcome<&'a Owner> {
    // SAFETY: HANDLE: the store.
    let store = unsafe { handle(store, "the store") }?;
    not_forked()?;
    Ok(&store.0)
}

/// Options in Erlang's syntax. No term stands for an owner: C has no pids.
///
/// # Safety
///
/// TEXT: the options, or null.
unsafe fn options_of(options: *const c_char) -> Outcome<Options> {
    if options.is_null() {
        return Ok(Options::default());
    }
    // SAFETY: TEXT: the options.
    let options = unsafe { term::options(options) }?;
    Ok(Options::parse(&options, |_| None)?)
}
