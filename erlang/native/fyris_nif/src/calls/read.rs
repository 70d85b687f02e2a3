//! Lookups.

use fyris::{Error, Object, Table};
use fyris_term::key::KeyBuf;
use smallvec::SmallVec;

use crate::call::{BAD, Fail, Reply};
use crate::sys::{Env, Term};
use crate::term::{most_words, with_maker};
use crate::{atoms, tables};

/// Words of a cell.
const CELL: usize = 2;

/// Implements `lookup/2`.
pub(super) fn lookup(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, pin| {
        super::with_key(env, args[1], |key| {
            let make = |objects: &[Object<'_>]| make_list(env, Some((args[1], key)), objects);
            Ok(table.lookup_with(key, pin, make)?)
        })
    })
}

/// Implements `member/2`.
pub(super) fn member(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, pin| {
        super::with_key(env, args[1], |key| {
            let found = table.get(key, pin)?;
            Ok(atoms::boolean(env, found.is_some()))
        })
    })
}

/// Makes a list of tuples of objects. The caller's own key goes back where it is the same.
pub(super) fn make_list(env: Env, asked: Option<(Term, &KeyBuf)>, objects: &[Object<'_>]) -> Term {
    let nil = atoms::nil(env);
    let Some(first) = objects.first() else {
        return nil;
    };
    // In an ordered set the stored key may be `1.0` where the caller asked for `1`. Several objects have one key.
    let is_same = |key: &KeyBuf| !first.is_small() && first.has_key_bytes(key.bytes());
    let key = asked.filter(|(_, key)| is_same(key)).map(|(term, _)| term);
    let most = objects.len() * (CELL + most_words(first));
    with_maker(env, most, |maker, stack| {
        objects.iter().rev().fold(nil, |tail, object| {
            let object = object.build(key, maker, stack);
            maker.cell(object, tail)
        })
    })
}

/// Implements `lookup_element/3`.
pub(super) fn lookup_element(env: Env, args: &[Term]) -> Reply {
    element(env, args)?.ok_or(Fail::Store(Error::NoSuchKey))
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
        super::with_key(env, args[1], |key| {
            table.lookup_with(key, pin, |objects| {
                elements(env, table, position as usize, objects)
            })?
        })
    })
}

fn elements(
    env: Env,
    table: &Table,
    position: usize,
    objects: &[Object<'_>],
) -> Result<Option<Term>, Fail> {
    let most = objects.first().map_or(0, most_words);
    let elements: Result<SmallVec<[Term; 4]>, Fail> = with_maker(env, most, |maker, stack| {
        let element = |object: &Object<'_>| {
            let element = object.build_element(position, maker, stack);
            element.ok_or(Fail::Cause("position"))
        };
        objects.iter().map(element).collect()
    });
    let elements = elements?;
    Ok(match &elements[..] {
        [] => None,
        [element] if !table.table_type().is_bag() => Some(*element),
        elements => Some(env.make_list(elements)),
    })
}
