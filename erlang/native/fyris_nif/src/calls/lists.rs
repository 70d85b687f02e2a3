//! `insert/2` and `insert_new/2`: an object, or a list in one step.

use fyris::Batch;

use crate::call::{BAD, Fail, Reply, entry};
use crate::sys::{Env, Term};
use crate::term::MachineObject;
use crate::{atoms, tables};

/// Longer lists are inserted on a scheduler for long work: about 100 microseconds' worth.
const LONG: usize = 200;

/// `insert/2`.
pub(super) fn insert(env: Env, args: &[Term]) -> Reply {
    if env.tuple(args[1]).is_none() {
        return list(env, args, false);
    }
    tables::with(env, args[0], |table, _| {
        table.insert_object(&MachineObject::new(env, args[1]))?;
        Ok(atoms::r#true(env))
    })
}

/// `insert_new/2`.
pub(super) fn insert_new(env: Env, args: &[Term]) -> Reply {
    if env.tuple(args[1]).is_none() {
        return list(env, args, true);
    }
    tables::with(env, args[0], |table, _| {
        let done = table.insert_new_object(&MachineObject::new(env, args[1]))?;
        Ok(atoms::boolean(env, done))
    })
}

fn list(env: Env, args: &[Term], only_new: bool) -> Reply {
    if !is_long(env, args[1]) {
        return insert_all(env, args, only_new);
    }
    let entry = if only_new {
        entry!(insert_new_long)
    } else {
        entry!(insert_long)
    };
    Ok(env.go_dirty(entry, args))
}

fn insert_long(env: Env, args: &[Term]) -> Reply {
    insert_all(env, args, false)
}

fn insert_new_long(env: Env, args: &[Term]) -> Reply {
    insert_all(env, args, true)
}

fn is_long(env: Env, list: Term) -> bool {
    let mut rest = list;
    for _ in 0..LONG {
        match env.cell(rest) {
            Some((_, tail)) => rest = tail,
            None => return false,
        }
    }
    true
}

fn insert_all(env: Env, args: &[Term], only_new: bool) -> Reply {
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Write)?;
        let batch = batch(env, args[1], table.keypos())?;
        Ok(atoms::boolean(env, table.insert_batch(batch, only_new)?))
    })
}

fn batch(env: Env, list: Term, keypos: usize) -> Result<Batch, Fail> {
    let (mut batch, mut rest) = (Batch::new(), list);
    while let Some((head, tail)) = env.cell(rest) {
        batch.push(&MachineObject::new(env, head), keypos)?;
        rest = tail;
    }
    if env.is_nil(rest) {
        Ok(batch)
    } else {
        Err(BAD)
    }
}
