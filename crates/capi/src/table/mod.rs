//! Stores and tables.
//!
//! A table handle acts in the name of the store handle that it came from: that is its *owner* where ETS would say
//! process.
//!
//! The child of a fork cannot use any of it: FYRIS_E_FORKED.

mod batch;
mod dump;
mod event;
mod query;
mod range;
mod read;
mod snapshot;
mod store;
mod transaction;
mod walk;
mod watch;
mod write;

use ::fyris_term::Term;
use fyris::{Store, Table};

use crate::args::{Out, handle};
use crate::error::fyris_code::FYRIS_E_NO_KEY;
use crate::error::{Failure, Outcome, fyris_code};
use crate::term::fyris_term;

pub use batch::*;
pub use dump::*;
pub use event::*;
pub use query::*;
pub use range::*;
pub use read::*;
pub use snapshot::*;
pub use store::*;
pub use transaction::*;
pub use walk::*;
pub use watch::*;
pub use write::*;

/// A handle of a table.
pub struct fyris_table(pub(crate) Table);

/// Returns the table that a handle is of.
///
/// # Safety
///
/// HANDLE: the table.
unsafe fn table<'a>(pointer: *const fyris_table) -> Outcome<&'a Table> {
    // SAFETY: HANDLE: the table.
    let table = unsafe { handle(pointer, "the table") }?;
    not_forked()?;
    Ok(&table.0)
}

/// Returns the failure of a call about a key, by its name where the store says only that it is not there.
fn of_key(key: &Term) -> impl Fn(fyris::Error) -> Failure {
    move |error| match error {
        fyris::Error::NoSuchKey => {
            let text = format!("no object has the key {}", key.brief(60));
            Failure::new(FYRIS_E_NO_KEY, text)
        }
        error => error.into(),
    }
}

/// Refuses a forked child before anything of the call is done: what it needs may be locked for good.
fn not_forked() -> Outcome {
    match Store::is_forked() {
        true => Err(fyris::Error::Forked.into()),
        false => Ok(()),
    }
}

/// Returns the term that a handle is of.
///
/// # Safety
///
/// HANDLE: the term.
unsafe fn term<'a>(pointer: *const fyris_term, name: &str) -> Outcome<&'a Term> {
    // SAFETY: HANDLE: the term.
    Ok(&unsafe { handle(pointer, name) }?.0)
}

/// Returns the terms of a list.
fn in_list<'t>(list: &'t Term, name: &str) -> Outcome<&'t [Term]> {
    match list {
        Term::List(terms) => Ok(terms),
        other => {
            let text = format!("{}: {name} is no list", other.brief(60));
            Err(Failure::new(fyris_code::FYRIS_E_ARGUMENT, text))
        }
    }
}

/// Returns the place for an answer.
fn place<T>(pointer: *mut T) -> Outcome<Out<T>> {
    Out::new(pointer, "the place for the answer")
}

/// Makes a handle of an answer.
fn boxed(term: Term) -> *mut fyris_term {
    Box::into_raw(Box::new(fyris_term(term)))
}

/// Gives a list of what `find` returns for a table.
///
/// # Safety
///
/// HANDLE: the table; OUT: the list.
unsafe fn listed<T: Into<Term>>(
    handle: *const fyris_table,
    list: *mut *mut fyris_term,
    find: impl FnOnce(&Table) -> fyris::Result<Vec<T>>,
) -> Outcome {
    let out = place(list)?;
    // SAFETY: HANDLE: the table.
    let found = find(unsafe { table(handle) }?)?;
    // SAFETY: OUT.
    unsafe { out.put(boxed(found.into())) };
    Ok(())
}
