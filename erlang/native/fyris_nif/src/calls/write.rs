//! Changes of single objects.

use std::cell::RefCell;

use fyris::{CounterOp, LocalGuard, Object, Table};
use fyris_term::Term as Owned;
use fyris_term::key::KeyBuf;
use fyris_term::value::{IntBytes, ValueWriter};

use super::read::found;
use super::with_any_key;
use crate::call::{Fail, Reply};
use crate::sys::{Env, Term};
use crate::term::{self, MachineObject};
use crate::{atoms, tables};

/// Implements `delete/2`.
pub(super) fn delete(env: Env, args: &[Term]) -> Reply {
    tables::write(env, args[0], |table, pin| {
        super::with_key(env, args[1], |key| Ok(table.delete_under(key, pin)?))?;
        Ok(atoms::r#true(env))
    })
}

/// Implements `delete_object/2`.
pub(super) fn delete_object(env: Env, args: &[Term]) -> Reply {
    tables::write(env, args[0], |table, _| {
        table.delete_like(&MachineObject::new(env, args[1]))?;
        Ok(atoms::r#true(env))
    })
}

/// Implements `delete_all_objects/1`.
pub(super) fn delete_all_objects(env: Env, args: &[Term]) -> Reply {
    tables::write(env, args[0], |table, _| {
        table.delete_all_objects()?;
        Ok(atoms::r#true(env))
    })
}

/// Implements `take/2`.
pub(super) fn take(env: Env, args: &[Term]) -> Reply {
    tables::write(env, args[0], |table, _| {
        with_any_key!(env, args[1], |key| {
            let taken = |objects: &[Object<'_>]| found(env, table, args[1], key, objects);
            Ok(table.take_with(key, taken)?)
        })
    })
}

/// A position, if it was given, and an increment.
type SimpleOp = (Option<usize>, i64);

/// Returns the one operation `Incr` or `{Pos, Incr}` of small integers, which most counters see.
fn simple_op(env: Env, op: Term) -> Option<SimpleOp> {
    if let Some(increment) = op.small() {
        return Some((None, increment));
    }
    let [position, increment] = env.tuple(op)? else {
        return None;
    };
    let position = usize::try_from(position.small()?).ok()?;
    Some((Some(position), increment.small()?))
}

fn add(
    env: Env,
    table: &Table,
    key: &KeyBuf,
    (position, increment): SimpleOp,
    pin: &LocalGuard,
) -> Reply {
    if let Some(sum) = table.add_small(key, position, increment, pin)? {
        return Ok(env.make_int(sum));
    }
    let op = CounterOp {
        position,
        ..CounterOp::add(increment)
    };
    let new = table.update_counter_with(key, &[op])?;
    Ok(new
        .first()
        .map_or_else(|| env.make_int(0), |n| term::make(env, n)))
}

/// Implements `update_counter/3,4`.
pub(super) fn update_counter(env: Env, args: &[Term]) -> Reply {
    let op = simple_op(env, args[2]);
    tables::write(env, args[0], |table, pin| {
        if let Some(op) = op.filter(|_| is_default(env, table, args)) {
            let sum = super::with_key(env, args[1], |key| add(env, table, key, op, pin));
            if args.len() == 3 || !matches!(sum, Err(Fail::Store(fyris::Error::NoSuchKey))) {
                return sum;
            }
        }
        table.check(fyris::Right::Write)?;
        let (read, _offered) = term::offer(|| read_update(env, args));
        let (key, ops, default) = read?;
        let new = table.update_counter_term(&key, &ops, default.as_ref())?;
        Ok(term::make(env, &new))
    })
}

/// Returns whether there is no default, or one that can be an object: it is looked at only where the key is not there.
fn is_default(env: Env, table: &Table, args: &[Term]) -> bool {
    let is_object = |&default| {
        let elements = env.tuple(default);
        elements.is_some_and(|elements| elements.len() >= table.keypos())
    };
    args.get(3).is_none_or(is_object)
}

/// Returns the key, what is to be done, and the default if there is one.
fn read_update(env: Env, args: &[Term]) -> Result<(Owned, Owned, Option<Owned>), Fail> {
    let default = args.get(3).map(|&default| term::read(env, default));
    Ok((
        term::read(env, args[1])?,
        term::read(env, args[2])?,
        default.transpose()?,
    ))
}

/// Returns the one `{Pos, Value}`.
fn simple_edit(env: Env, edit: Term) -> Option<(usize, Term)> {
    let [position, value] = env.tuple(edit)? else {
        return None;
    };
    Some((usize::try_from(position.small()?).ok()?, *value))
}

thread_local! {
    static VALUE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A buffer larger than this is given back after use.
const KEEP: usize = 1 << 12;

fn overwrite(
    env: Env,
    table: &Table,
    key: &KeyBuf,
    (position, value): (usize, Term),
    pin: &LocalGuard,
) -> Result<bool, Fail> {
    let done = match value.small() {
        // It refers to nothing, and needs no buffer.
        Some(small) => table.overwrite(key, position, IntBytes::new(small).as_bytes(), pin)?,
        None => overwrite_any(env, table, key, (position, value), pin)?,
    };
    if let Some(done) = done {
        return Ok(done);
    }
    let (value, _offered) = term::offer(|| term::read(env, value));
    Ok(table.update_element_with(key, &[(position, value?)])?)
}

/// Works as [`Table::overwrite`]; `None` also if the value is none that can be put in so.
fn overwrite_any(
    env: Env,
    table: &Table,
    key: &KeyBuf,
    (position, value): (usize, Term),
    pin: &LocalGuard,
) -> Result<Option<bool>, Fail> {
    VALUE.with_borrow_mut(|bytes| {
        bytes.clear();
        let mut blobs = Vec::new();
        let mut writer = ValueWriter::new(bytes, &mut blobs);
        let (written, offered) = term::offer(|| term::write_value(env, value, &mut writer));
        written?;
        let done = match blobs.is_empty() && offered.is_empty() {
            true => table.overwrite(key, position, bytes, pin)?,
            false => None,
        };
        if bytes.capacity() > KEEP {
            *bytes = Vec::new();
        }
        Ok(done)
    })
}

/// Implements `update_element/3,4`.
pub(super) fn update_element(env: Env, args: &[Term]) -> Reply {
    let edit = simple_edit(env, args[2]);
    tables::write(env, args[0], |table, pin| {
        if let Some(edit) = edit.filter(|_| is_default(env, table, args)) {
            let done = super::with_key(env, args[1], |key| overwrite(env, table, key, edit, pin))?;
            if done || args.len() == 3 {
                return Ok(atoms::boolean(env, done));
            }
        }
        table.check(fyris::Right::Write)?;
        let (read, _offered) = term::offer(|| read_update(env, args));
        let (key, edits, default) = read?;
        let done = table.update_element_term(&key, &edits, default.as_ref())?;
        Ok(atoms::boolean(env, done))
    })
}
