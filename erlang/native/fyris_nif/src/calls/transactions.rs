//! Transactions: several tables, read and written as one.
//!
//! The reference to a transaction is one to a resource that holds it: with the last reference, and so with the process
//! that runs it, a transaction that was not committed comes to nothing. The reference to a table within it is one to a
//! resource of the kind of tables, with a handle of the transaction's: it serves wherever a tid does.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use fyris::{Error, Transaction, TransactionOptions};

use super::admin::known_caller;
use crate::call::{BAD, Fail, Reply, entry};
use crate::kind::atom;
use crate::load;
use crate::machine::{Env, Term};
use crate::tables::{self, store};
use crate::term;

/// Commits of more keys go to a scheduler for long work.
const MANY: usize = 500;

/// A transaction, until it has ended.
pub(crate) struct TransactionPlace(Mutex<Option<Transaction>>);

impl TransactionPlace {
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Transaction>> {
        // Nothing is left half done by a panic.
        self.0.lock().unwrap_or_else(|p| p.into_inner())
    }
}

pub(super) fn place<'t>(env: Env, term: Term) -> Result<&'t TransactionPlace, Fail> {
    load::resource(env, term).ok_or(BAD)
}

/// Implements `transaction(Hold)`: returns a reference to a new one, for which writers wait so many milliseconds in the
/// end.
pub(super) fn begin(env: Env, args: &[Term]) -> Reply {
    known_caller(env)?;
    let hold = args[0].small().and_then(|ms| u64::try_from(ms).ok());
    let hold = Duration::from_millis(hold.ok_or(BAD)?);
    let options = TransactionOptions::new().hold(hold).migrates(true);
    let transaction = Some(store().begin_with(&options));
    Ok(load::wrap(env, TransactionPlace(Mutex::new(transaction))))
}

/// Implements `transaction_again(Transaction)`: begins it anew.
pub(super) fn again(env: Env, args: &[Term]) -> Reply {
    let mut transaction = place(env, args[0])?.lock();
    let before = transaction.take().ok_or(BAD)?;
    *transaction = Some(before.again());
    Ok(args[0])
}

/// Implements `transaction_table(Transaction, Table)`: returns a reference to the table within it.
pub(super) fn table(env: Env, args: &[Term]) -> Reply {
    let transaction = place(env, args[0])?.lock();
    let transaction = transaction.as_ref().ok_or(Error::TransactionEnded)?;
    tables::with(env, args[1], |table, _| match transaction.table(table) {
        Ok(within) => Ok(tables::reference_to(env, &within)),
        Err(Error::Conflict { table, key }) => conflict(env, table.reference, key),
        Err(error) => Err(error.into()),
    })
}

/// Implements `transaction_begin_nested(Transaction)`.
pub(super) fn begin_nested(env: Env, args: &[Term]) -> Reply {
    let transaction = place(env, args[0])?.lock();
    transaction
        .as_ref()
        .ok_or(Error::TransactionEnded)?
        .begin_nested();
    Ok(atom::r#true(env))
}

/// Implements `transaction_end_nested(Transaction, Keep)`.
pub(super) fn end_nested(env: Env, args: &[Term]) -> Reply {
    let transaction = place(env, args[0])?.lock();
    let keep = args[1] == atom::r#true(env);
    transaction
        .as_ref()
        .ok_or(Error::TransactionEnded)?
        .end_nested(keep);
    Ok(atom::r#true(env))
}

/// Implements `transaction_commit(Transaction)`: returns `true`, or what was in the way.
pub(super) fn commit(env: Env, args: &[Term]) -> Reply {
    let transaction = place(env, args[0])?;
    let is_second = store().has_first_transaction();
    let (keys, is_second) = match &*transaction.lock() {
        None => (0, false),
        Some(transaction) => (
            transaction.written(),
            is_second && !transaction.goes_first(),
        ),
    };
    match (keys > MANY, is_second) {
        (_, true) => Ok(env.go_waiting(entry!(commit_now), args)),
        (true, _) => Ok(env.go_dirty(entry!(commit_now), args)),
        _ => commit_now(env, args),
    }
}

fn commit_now(env: Env, args: &[Term]) -> Reply {
    let mut transaction = place(env, args[0])?.lock();
    let taken = transaction.take().ok_or(Error::TransactionEnded)?;
    let next = taken.again();
    match taken.commit() {
        Ok(()) => Ok(atom::r#true(env)),
        Err(Error::Conflict { table, key }) => {
            *transaction = Some(next);
            conflict(env, table.reference, key)
        }
        Err(error) => Err(error.into()),
    }
}

/// Implements `transaction_has_conflict(Transaction)`.
pub(super) fn has_conflict(env: Env, args: &[Term]) -> Reply {
    let transaction = place(env, args[0])?.lock();
    let has = transaction.as_ref().is_some_and(Transaction::has_conflict);
    Ok(atom::boolean(env, has))
}

/// Implements `transaction_abort(Transaction)`.
pub(super) fn abort(env: Env, args: &[Term]) -> Reply {
    place(env, args[0])?.lock().take();
    Ok(atom::r#true(env))
}

/// Returns `{conflict, Table, Key}`, the key `undefined` where none is known.
pub(super) fn conflict(env: Env, table: fyris::TableRef, key: Option<Box<fyris::Term>>) -> Reply {
    let table = tables::reference(env, table).unwrap_or_else(|| atom::undefined(env));
    let key = match key {
        Some(key) => term::make(env, &key),
        None => atom::undefined(env),
    };
    Ok(env.make_tuple(&[env.make_atom(b"conflict"), table, key]))
}
