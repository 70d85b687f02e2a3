//! The functions of `fyris_nif`, by what they do.

mod admin;
mod batch;
mod external;
mod info;
mod lists;
mod navigate;
mod pattern;
mod point;
mod query;
mod read;
mod slices;
mod snapshots;
mod specs;
mod transactions;
mod verbs;
mod waiting;
mod watch;
mod write;

pub(crate) use query::{ChunkPlace, QueryPlace};
pub(crate) use slices::CursorPlace;
pub(crate) use specs::CompiledSpec;
pub(crate) use transactions::TransactionPlace;
pub(crate) use verbs::RangePlace;

use std::ffi::CStr;

use fyris::{Error, Table};
use fyris_term::AtomError;
use fyris_term::key::KeyBuf;
use rustler::sys::ErlNifFunc;

use crate::call::{BAD, Fail, entry};
use crate::kind::atom;
use crate::machine::{Entry, Env, Term};
use crate::term;
use waiting::writing;

/// Returns every function: name, arity, and what it is here.
pub(crate) fn functions() -> Vec<ErlNifFunc> {
    let all: &[(&'static CStr, u32, Entry)] = &[
        (c"all", 0, entry!(admin::all)),
        (c"delete", 1, entry!(admin::delete)),
        (c"give_away", 3, entry!(admin::give_away)),
        (c"new", 2, entry!(admin::new)),
        (c"rename", 2, entry!(admin::rename)),
        (c"safe_fixtable", 2, entry!(admin::safe_fixtable)),
        (c"setopts", 2, entry!(admin::setopts)),
        (c"whereis", 1, entry!(admin::whereis)),
        (c"memory", 0, entry!(info::memory)),
        (c"counts", 0, entry!(info::counts)),
        (c"layout", 0, entry!(info::layout)),
        (c"info", 1, entry!(info::all_items)),
        (c"info", 2, entry!(info::one_item)),
        (c"insert", 2, writing!(lists::insert, Object)),
        (c"insert_new", 2, writing!(lists::insert_new, Object)),
        (c"first", 1, entry!(navigate::first)),
        (c"last", 1, entry!(navigate::last)),
        (c"next", 2, entry!(navigate::next)),
        (c"prev", 2, entry!(navigate::prev)),
        (c"first_lookup", 1, entry!(navigate::first_lookup)),
        (c"last_lookup", 1, entry!(navigate::last_lookup)),
        (c"next_lookup", 2, entry!(navigate::next_lookup)),
        (c"prev_lookup", 2, entry!(navigate::prev_lookup)),
        (c"slot", 2, entry!(navigate::slot)),
        (c"inflated", 2, entry!(external::inflated)),
        (c"has_native_record", 1, entry!(external::has_native_record)),
        (c"snapshot", 1, entry!(snapshots::snapshot)),
        (c"release", 1, entry!(snapshots::release)),
        (c"snapshots", 0, entry!(snapshots::all)),
        (c"collect", 0, entry!(snapshots::collect)),
        (c"transaction", 1, entry!(transactions::begin)),
        (c"transaction_again", 1, entry!(transactions::again)),
        (c"transaction_table", 2, entry!(transactions::table)),
        (
            c"transaction_begin_nested",
            1,
            entry!(transactions::begin_nested),
        ),
        (
            c"transaction_end_nested",
            2,
            entry!(transactions::end_nested),
        ),
        (
            c"transaction_has_conflict",
            1,
            entry!(transactions::has_conflict),
        ),
        (c"transaction_commit", 1, entry!(transactions::commit)),
        (c"transaction_abort", 1, entry!(transactions::abort)),
        (c"write_batch", 2, entry!(batch::write_batch)),
        (c"subscribe", 7, entry!(watch::subscribe)),
        (c"unsubscribe", 1, entry!(watch::unsubscribe)),
        (c"set_active", 2, entry!(watch::set_active)),
        (c"lookup", 2, entry!(read::lookup)),
        (c"lookup_element", 3, entry!(read::lookup_element)),
        (c"lookup_element", 4, entry!(read::lookup_element_or)),
        (c"member", 2, entry!(read::member)),
        (c"cursor", 2, entry!(slices::cursor)),
        (c"slice", 3, entry!(slices::slice)),
        (c"query", 3, entry!(query::query)),
        (c"query_by", 3, entry!(query::query_by)),
        (c"step", 2, entry!(query::step)),
        (c"chunk", 4, entry!(query::chunk)),
        (c"chunk_next", 1, entry!(query::chunk_next)),
        (c"chunk_step", 1, entry!(query::chunk_step)),
        (c"is_place", 1, entry!(query::is_place)),
        (c"repair", 3, entry!(query::repair)),
        (c"match_spec_compile", 1, entry!(specs::compile)),
        (c"is_compiled_ms", 1, entry!(specs::is_compiled)),
        (c"run_spec", 3, entry!(specs::run)),
        (c"test_ms", 2, entry!(specs::test_ms)),
        (c"open", 2, entry!(verbs::open)),
        (c"put", 3, writing!(verbs::put, Key)),
        (c"put_new", 3, writing!(verbs::put_new, Key)),
        (c"range", 5, entry!(verbs::range)),
        (c"prefix", 4, entry!(verbs::prefix)),
        (c"range_slice", 4, entry!(verbs::range_slice)),
        (c"seek", 3, entry!(verbs::seek)),
        (c"nth", 2, entry!(verbs::nth)),
        (c"rank", 2, entry!(verbs::rank)),
        (c"count_between", 3, entry!(verbs::count_between)),
        (c"lookup_some", 2, entry!(verbs::lookup_some)),
        (c"take_slice", 3, writing!(verbs::take_slice, Several)),
        (c"drain", 1, entry!(verbs::drain)),
        (c"add_secondary", 3, entry!(verbs::add_secondary)),
        (c"remove_secondary", 2, entry!(verbs::remove_secondary)),
        (
            c"compare_and_swap",
            3,
            writing!(verbs::compare_and_swap, Object),
        ),
        (c"get_in", 3, entry!(verbs::get_in)),
        (c"put_in", 4, writing!(verbs::put_in, Key)),
        (c"delete_in", 3, writing!(verbs::delete_in, Key)),
        (c"swap_in", 5, writing!(verbs::swap_in, Key)),
        (c"explain", 2, entry!(verbs::explain)),
        (c"delete", 2, writing!(write::delete, Key)),
        (c"delete_all_objects", 1, entry!(write::delete_all_objects)),
        (c"delete_object", 2, writing!(write::delete_object, Object)),
        (c"take", 2, writing!(write::take, Key)),
        (c"update_counter", 3, writing!(write::update_counter, Key)),
        (c"update_counter", 4, writing!(write::update_counter, Key)),
        (c"update_element", 3, writing!(write::update_element, Key)),
        (c"update_element", 4, writing!(write::update_element, Key)),
    ];
    let function = |&(name, arity, function): &(&CStr, u32, Entry)| ErlNifFunc {
        name: name.as_ptr(),
        arity,
        function,
        flags: 0,
    };
    all.iter().map(function).collect()
}

/// Runs `f` on the key bytes of a term that is looked up.
#[inline(always)]
fn with_key<R>(env: Env, key: Term, f: impl FnOnce(&KeyBuf) -> Result<R, Fail>) -> Result<R, Fail> {
    let mut buf = KeyBuf::new();
    term::find_key(env, key, &mut buf)?;
    f(&buf)
}

/// Runs `f`, which looks up terms that it reads, and makes no atom; `None` if a term has an atom that Fyris does not
/// have: nothing that is stored equals it.
fn if_known<R>(f: impl FnOnce() -> Result<R, Error>) -> Result<Option<R>, Fail> {
    match atom::known_only(f) {
        Err(Error::Atom(AtomError::TableFull)) => Ok(None),
        found => Ok(found.map(Some)?),
    }
}

/// Looks for a key with an atom that Fyris does not have. It is not there, but a transaction has to know what was
/// looked for.
fn miss(env: Env, table: &Table, key: Term) -> Result<(), Fail> {
    with_key(env, key, |key| {
        table.member(key)?;
        Ok(())
    })
}

/// Runs an expression on the key of a term, as an [`AsKey`](fyris::AsKey): on an integer, which is not written to
/// memory, or on key bytes.
macro_rules! with_any_key {
    ($env:expr, $term:expr, |$key:ident| $run:expr) => {
        match $term.small() {
            Some(int) => {
                let $key = &int;
                $run
            }
            None => $crate::calls::with_key($env, $term, |$key| $run),
        }
    };
}
use with_any_key;

/// Reads `true` or `false`.
fn boolean(env: Env, term: Term) -> Result<bool, Fail> {
    if term == atom::r#true(env) {
        Ok(true)
    } else if term == atom::r#false(env) {
        Ok(false)
    } else {
        Err(BAD)
    }
}
