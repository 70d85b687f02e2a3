//! Changes of single objects.

use fyris::{CounterOp, Object};

use crate::call::Reply;
use crate::sys::{Env, Term};
use crate::term::{self, MachineObject};
use crate::{atoms, tables};

/// `delete/2`.
pub(super) fn delete(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| {
        super::with_key(env, args[1], |key| Ok(table.delete_key(key)?))?;
        Ok(atoms::r#true(env))
    })
}

/// `delete_object/2`.
pub(super) fn delete_object(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| {
        table.delete_like(&MachineObject::new(env, args[1]))?;
        Ok(atoms::r#true(env))
    })
}

/// `delete_all_objects/1`.
pub(super) fn delete_all_objects(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| {
        table.delete_all_objects()?;
        Ok(atoms::r#true(env))
    })
}

/// `take/2`.
pub(super) fn take(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| {
        super::with_key(env, args[1], |key| {
            let make =
                |objects: &[Object<'_>]| super::read::make_list(env, Some((args[1], key)), objects);
            Ok(table.take_with(key, make)?)
        })
    })
}

/// The one operation `Incr` or `{Pos, Incr}` of small integers, which most counters see.
fn simple_op(env: Env, op: Term) -> Option<CounterOp> {
    if let Some(increment) = op.small() {
        return Some(CounterOp::add(increment));
    }
    let [position, increment] = env.tuple(op)? else {
        return None;
    };
    let position = usize::try_from(position.small()?).ok()?;
    Some(CounterOp::add(increment.small()?).at(position))
}

/// `update_counter/3,4`.
pub(super) fn update_counter(env: Env, args: &[Term]) -> Reply {
    if args.len() == 3
        && let Some(op) = simple_op(env, args[2])
    {
        return tables::with(env, args[0], |table, _| {
            super::with_key(env, args[1], |key| {
                let new = table.update_counter_with(key, &[op])?;
                Ok(new
                    .first()
                    .map_or_else(|| env.make_int(0), |n| term::make(env, n)))
            })
        });
    }
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Write)?;
        let (key, ops) = (term::read(env, args[1])?, term::read(env, args[2])?);
        let default = args.get(3).map(|&d| term::read(env, d)).transpose()?;
        let new = table.update_counter_term(&key, &ops, default.as_ref())?;
        Ok(term::make(env, &new))
    })
}

/// The one `{Pos, Value}`.
fn simple_edit(env: Env, edit: Term) -> Option<(usize, Term)> {
    let [position, value] = env.tuple(edit)? else {
        return None;
    };
    Some((usize::try_from(position.small()?).ok()?, *value))
}

/// `update_element/3,4`.
pub(super) fn update_element(env: Env, args: &[Term]) -> Reply {
    if args.len() == 3
        && let Some((position, value)) = simple_edit(env, args[2])
    {
        return tables::with(env, args[0], |table, _| {
            super::with_key(env, args[1], |key| {
                let edit = (position, term::read(env, value)?);
                Ok(atoms::boolean(
                    env,
                    table.update_element_with(key, &[edit])?,
                ))
            })
        });
    }
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Write)?;
        let (key, edits) = (term::read(env, args[1])?, term::read(env, args[2])?);
        let default = args.get(3).map(|&d| term::read(env, d)).transpose()?;
        let done = table.update_element_term(&key, &edits, default.as_ref())?;
        Ok(atoms::boolean(env, done))
    })
}
