//! From key to key.

use fyris::{LocalGuard, Object, Step, Table, TableType};
use fyris_term::key::KeyBuf;
use fyris_term::value::Build;

use crate::call::{BAD, Reply};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::tables;
use crate::term::{most_words, with_maker};

/// The direction.
#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

/// Words of a pair and a cell.
const PAIR: usize = 5;

/// Makes the reply of the objects that were reached.
type View = fn(Env, &[Object<'_>]) -> Term;

/// Implements `first/1`.
pub(super) fn first(env: Env, args: &[Term]) -> Reply {
    end(env, args, Step::First, key)
}

/// Implements `last/1`.
pub(super) fn last(env: Env, args: &[Term]) -> Reply {
    end(env, args, Step::Last, key)
}

/// Implements `first_lookup/1`.
pub(super) fn first_lookup(env: Env, args: &[Term]) -> Reply {
    end(env, args, Step::First, key_and_objects)
}

/// Implements `last_lookup/1`.
pub(super) fn last_lookup(env: Env, args: &[Term]) -> Reply {
    end(env, args, Step::Last, key_and_objects)
}

/// Implements `next/2`.
pub(super) fn next(env: Env, args: &[Term]) -> Reply {
    step(env, args, Way::Up, key)
}

/// Implements `prev/2`.
pub(super) fn prev(env: Env, args: &[Term]) -> Reply {
    step(env, args, Way::Down, key)
}

/// Implements `next_lookup/2`.
pub(super) fn next_lookup(env: Env, args: &[Term]) -> Reply {
    step(env, args, Way::Up, key_and_objects)
}

/// Implements `prev_lookup/2`.
pub(super) fn prev_lookup(env: Env, args: &[Term]) -> Reply {
    step(env, args, Way::Down, key_and_objects)
}

fn end(env: Env, args: &[Term], to: Step<'_>, view: View) -> Reply {
    tables::with(env, args[0], |table, pin| go(env, table, to, pin, view))
}

fn step(env: Env, args: &[Term], way: Way, view: View) -> Reply {
    tables::with(env, args[0], |table, pin| {
        check_end(env, table, args[1])?;
        super::with_key(env, args[1], |key| {
            go(env, table, step_from(way, key), pin, view)
        })
    })
}

fn go(env: Env, table: &Table, step: Step<'_>, pin: &LocalGuard, view: View) -> Reply {
    let settle = || tables::settle_fixes(env, table);
    Ok(table.step_with(step, pin, settle, |objects| view(env, objects))?)
}

fn step_from(way: Way, key: &KeyBuf) -> Step<'_> {
    match way {
        Way::Up => Step::Next(key),
        Way::Down => Step::Prev(key),
    }
}

/// Refuses `'$end_of_table'` in an `ordered_set`, where any other key will do, as `ets` does; returns the key.
fn check_end(env: Env, table: &Table, key: Term) -> Reply {
    let is_end = key == atom::end_of_table(env);
    if is_end && table.table_type() == TableType::OrderedSet {
        table.check(fyris::Right::Read)?;
        return Err(BAD);
    }
    Ok(key)
}

fn key(env: Env, objects: &[Object<'_>]) -> Term {
    match objects.first() {
        Some(object) => with_maker(env, most_words(object), |maker, stack| {
            object.build_key(maker, stack)
        }),
        None => atom::end_of_table(env),
    }
}

fn key_and_objects(env: Env, objects: &[Object<'_>]) -> Term {
    let Some(first) = objects.first() else {
        return atom::end_of_table(env);
    };
    with_maker(env, PAIR + most_words(first), |maker, stack| {
        let key = first.build_key(maker, stack);
        // The objects of one key have the very same.
        let objects = objects.iter().rev();
        let list = objects.fold(atom::nil(env), |tail, object| {
            let object = object.build(Some(key), maker, stack);
            maker.cell(object, tail)
        });
        maker.tuple(&[key, list])
    })
}

/// Implements `slot/2`.
pub(super) fn slot(env: Env, args: &[Term]) -> Reply {
    let slot = args[1].small().and_then(|slot| usize::try_from(slot).ok());
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Read)?;
        let found = table.slot_with(slot.ok_or(BAD)?, |objects| match objects {
            Some(objects) => super::read::make_list(env, None, objects),
            None => atom::end_of_table(env),
        });
        Ok(found?)
    })
}
