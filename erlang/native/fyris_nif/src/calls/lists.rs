//! `insert/2` and `insert_new/2`: an object, or a list in one step.

use fyris::Batch;

use crate::call::{BAD, Fail, Reply, entry};
use crate::kind::atom;
use crate::kind::{Seen, see};
use crate::machine::{Env, Term};
use crate::tables::{self, store};
use crate::term::MachineObject;

/// Longer lists are inserted on a scheduler for long work, since going there and back costs some 20 microseconds: half
/// a millisecond's worth, or less.
const LONG: usize = 1000;
/// The percentage of a process's time slice that inserting `LONG` objects takes.
const PERCENT: usize = 50;

/// Implements `insert/2`.
pub(super) fn insert(env: Env, args: &[Term]) -> Reply {
    if !is_tuple(env, args[1]) {
        return list(env, args, false);
    }
    tables::with(env, args[0], |table, pin| {
        table.insert_object(&MachineObject::new(env, args[1]), pin)?;
        Ok(atom::r#true(env))
    })
}

/// Returns whether a term is a tuple, without a call of the machine if it is one.
#[inline]
fn is_tuple(env: Env, term: Term) -> bool {
    matches!(see(term), Seen::Tuple(_)) || env.tuple(term).is_some()
}

/// Implements `insert_new/2`.
pub(super) fn insert_new(env: Env, args: &[Term]) -> Reply {
    if !is_tuple(env, args[1]) {
        return list(env, args, true);
    }
    tables::with(env, args[0], |table, _| {
        let done = table.insert_new_object(&MachineObject::new(env, args[1]))?;
        Ok(atom::boolean(env, done))
    })
}

fn list(env: Env, args: &[Term], only_new: bool) -> Reply {
    if let Some(length) = short_length(env, args[1]) {
        env.consume(PERCENT * length / LONG);
        // If another list that is not short is under way, this scheduler does not wait for it.
        if let Some(done) = try_insert_all(env, args, length, only_new)? {
            return Ok(atom::boolean(env, done));
        }
    }
    let entry = if only_new {
        entry!(insert_new_long)
    } else {
        entry!(insert_long)
    };
    // Who may wait keeps no scheduler for long work from who is waited for.
    Ok(match store().has_first_transaction() {
        true => env.go_waiting(entry, args),
        false => env.go_dirty(entry, args),
    })
}

fn insert_long(env: Env, args: &[Term]) -> Reply {
    insert_all(env, args, LONG, false)
}

fn insert_new_long(env: Env, args: &[Term]) -> Reply {
    insert_all(env, args, LONG, true)
}

/// Returns the length of a list that is not long.
fn short_length(env: Env, list: Term) -> Option<usize> {
    Some(env.elements(list).take(LONG + 1).count()).filter(|&length| length <= LONG)
}

fn insert_all(env: Env, args: &[Term], expected: usize, only_new: bool) -> Reply {
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Write)?;
        let batch = batch(env, args[1], expected, table.keypos())?;
        Ok(atom::boolean(env, table.insert_batch(batch, only_new)?))
    })
}

/// Inserts a list; returns `None`, and inserts nothing, if another list with one of the keys is being inserted.
fn try_insert_all(
    env: Env,
    args: &[Term],
    expected: usize,
    only_new: bool,
) -> Result<Option<bool>, Fail> {
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Write)?;
        let batch = batch(env, args[1], expected, table.keypos())?;
        Ok(table.try_insert_batch(batch, only_new)?)
    })
}

fn batch(env: Env, list: Term, expected: usize, keypos: usize) -> Result<Batch, Fail> {
    let (mut batch, mut elements) = (Batch::with_capacity(expected), env.elements(list));
    for element in &mut elements {
        batch.push(&MachineObject::new(env, element), keypos)?;
    }
    if elements.are_all() {
        Ok(batch)
    } else {
        Err(BAD)
    }
}
