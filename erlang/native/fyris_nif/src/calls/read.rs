//! Lookups.

use fyris::{AsKey, Error, Object, Table, TableType};
use fyris_term::value::View;
use smallvec::SmallVec;

use super::with_any_key;
use crate::call::{BAD, Fail, Reply};
use crate::kind::atom;
use crate::machine::{self, Env, Term};
use crate::tables;
use crate::term::{self, most_words, most_words_of, with_maker};

/// Words of a cell.
const CELL: usize = 2;

/// Implements `lookup/2`.
pub(super) fn lookup(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, pin| {
        with_any_key!(env, args[1], |key| {
            let found = |objects: &[Object<'_>]| found(env, table, args[1], key, objects);
            Ok(table.lookup_with(key, pin, found)?)
        })
    })
}

/// Makes a list of the objects of a key. The caller's own key goes back where it is the same.
#[inline(always)]
pub(super) fn found(
    env: Env,
    table: &Table,
    asked: Term,
    key: &impl AsKey,
    objects: &[Object<'_>],
) -> Term {
    if let [object] = objects
        && let Some(ints) = object.small_pair()
        && let Some(list) =
            machine::list_of_pair(env, ints.map(|int| env.make_int(int)), atom::nil(env))
    {
        return list;
    }
    let Some(first) = objects.first() else {
        return atom::nil(env);
    };
    // In an ordered set the stored key may be `1.0` where the caller asked for `1`.
    let is_same = table.table_type() != TableType::OrderedSet
        || key.with(|key| first.has_key_bytes(key.bytes()));
    make_list(env, is_same.then_some(asked), objects)
}

/// Implements `member/2`.
pub(super) fn member(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, pin| {
        with_any_key!(env, args[1], |key| {
            let found = table.get(key, pin)?;
            Ok(atom::boolean(env, found.is_some()))
        })
    })
}

/// Makes a list of tuples of objects of one key; with `key` as the key, if it is known.
pub(super) fn make_list(env: Env, key: Option<Term>, objects: &[Object<'_>]) -> Term {
    let nil = atom::nil(env);
    let Some(first) = objects.first() else {
        return nil;
    };
    let most = objects.len() * (CELL + most_words(first));
    term::make_list(env, most, objects.iter().rev(), key, nil)
}

/// Implements `lookup_element/3`.
pub(super) fn lookup_element(env: Env, args: &[Term]) -> Reply {
    element(env, args)?.ok_or_else(|| Error::NoSuchKey.into())
}

/// Implements `lookup_element/4`.
pub(super) fn lookup_element_or(env: Env, args: &[Term]) -> Reply {
    Ok(element(env, args)?.unwrap_or(args[3]))
}

fn element(env: Env, args: &[Term]) -> Result<Option<Term>, Fail> {
    tables::with(env, args[0], |table, pin| {
        let Some(position) = args[2].small().filter(|&position| position > 0) else {
            table.check(fyris::Right::Read)?;
            return Err(BAD);
        };
        let position = position as usize;
        with_any_key!(env, args[1], |key| {
            table.lookup_with(key, pin, |objects| match objects {
                [object] if !table.table_type().is_bag() => one(env, position, object),
                objects => elements(env, position, objects),
            })?
        })
    })
}

/// Returns the element of the object of a set.
#[inline]
fn one(env: Env, position: usize, object: &Object<'_>) -> Result<Option<Term>, Fail> {
    if let Some(int) = object.small_element(position) {
        return Ok(Some(env.make_int(int)));
    }
    let Some(element) = object.stored_value(position) else {
        let element = with_maker(env, most_words(object), |maker, stack| {
            object.build_element(position, maker, stack)
        });
        return element.map(Some).ok_or(Fail::Cause(&"position"));
    };
    // What is no more than a word needs no maker.
    Ok(Some(match element.view() {
        View::Int(int) => env.make_int(int),
        View::Atom(atom) => atom::to_machine(env, atom),
        _ => with_maker(env, most_words_of(element), |maker, stack| {
            element.build(maker, stack)
        }),
    }))
}

fn elements(env: Env, position: usize, objects: &[Object<'_>]) -> Result<Option<Term>, Fail> {
    let most = objects.first().map_or(0, most_words);
    let elements: Result<SmallVec<[Term; 4]>, Fail> = with_maker(env, most, |maker, stack| {
        let element = |object: &Object<'_>| {
            let element = object.build_element(position, maker, stack);
            element.ok_or(Fail::Cause(&"position"))
        };
        objects.iter().map(element).collect()
    });
    let elements = elements?;
    Ok(match &elements[..] {
        [] => None,
        elements => Some(env.make_list(elements)),
    })
}
