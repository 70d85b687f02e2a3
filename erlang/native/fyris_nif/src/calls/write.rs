//! Changes of single objects.

use std::cell::RefCell;
use std::ops::Range;

use fyris::{CounterOp, Error, LocalGuard, Object, SmallOp, Table};
use fyris_term::Term as Owned;
use fyris_term::key::KeyBuf;
use fyris_term::value::{IntBytes, ValueWriter};
use smallvec::SmallVec;

use super::read::found;
use super::with_any_key;
use crate::call::{Fail, Reply};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::tables;
use crate::term::{self, MachineObject};

/// Implements `delete/2`.
pub(super) fn delete(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, pin| {
        super::with_key(env, args[1], |key| Ok(table.delete_under(key, pin)?))?;
        Ok(atom::r#true(env))
    })
}

/// Implements `delete_object/2`.
pub(super) fn delete_object(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| {
        let object = MachineObject::new(env, args[1]);
        let done = super::if_known(|| table.delete_like(&object))?;
        let key = env.tuple(args[1]).and_then(|e| e.get(table.keypos() - 1));
        if let (None, Some(&key)) = (done, key) {
            super::miss(env, table, key)?;
        }
        Ok(atom::r#true(env))
    })
}

/// Implements `delete_all_objects/1`.
pub(super) fn delete_all_objects(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| {
        table.delete_all_objects()?;
        Ok(atom::r#true(env))
    })
}

/// Implements `take/2`.
pub(super) fn take(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| {
        with_any_key!(env, args[1], |key| {
            let taken = |objects: &[Object<'_>]| found(env, table, args[1], key, objects);
            Ok(table.take_with(key, taken)?)
        })
    })
}

/// A short list of what a call is given or returns. Operations of counters are put into it in place: to move a list
/// that was just written costs store-forwarding stalls, an eighth of such a call.
type Few<T> = SmallVec<[T; 4]>;

/// Puts all items into `few`; `false` if there is one that is none.
#[inline]
fn fill<T>(few: &mut Few<T>, mut items: impl Iterator<Item = Option<T>>) -> bool {
    items.all(|item| item.map(|item| few.push(item)).is_some())
}

/// Reads the operations of a counter where all are of small integers, as they mostly are, and says whether they are a
/// list. A list is not empty.
#[inline]
fn small_ops(env: Env, ops: Term, into: &mut Few<SmallOp>) -> Option<bool> {
    let one = match ops.small() {
        Some(increment) => Some(SmallOp {
            position: None,
            increment,
            limit: None,
        }),
        None => small_op(env, ops),
    };
    if let Some(op) = one {
        into.push(op);
        return Some(false);
    }
    let mut elements = env.elements(ops);
    let all = fill(into, elements.by_ref().map(|op| small_op(env, op)));
    (all && elements.are_all() && !into.is_empty()).then_some(true)
}

/// Reads `{Pos, Incr}` or `{Pos, Incr, Threshold, SetTo}`.
#[inline]
fn small_op(env: Env, op: Term) -> Option<SmallOp> {
    let (position, increment, limit) = match env.tuple(op)? {
        [position, increment] => (position, increment, None),
        [position, increment, threshold, value] => (
            position,
            increment,
            Some((threshold.small()?, value.small()?)),
        ),
        _ => return None,
    };
    Some(SmallOp {
        position: Some(usize::try_from(position.small()?).ok()?),
        increment: increment.small()?,
        limit,
    })
}

#[inline]
fn count(env: Env, table: &Table, key: &KeyBuf, op: &SmallOp, pin: &LocalGuard) -> Reply {
    if let Some(new) = table.count_small(key, op, pin)? {
        return Ok(env.make_int(new));
    }
    let new = table.update_counter_with(key, &[(*op).into()])?;
    Ok(new
        .first()
        .map_or_else(|| env.make_int(0), |n| term::make(env, n)))
}

fn count_all(env: Env, table: &Table, key: &KeyBuf, ops: &[SmallOp], pin: &LocalGuard) -> Reply {
    let (mut new, mut made) = (Few::new(), Few::new());
    new.resize(ops.len(), 0);
    if table.count_all_small(key, ops, &mut new, pin)? {
        made.extend(new.iter().map(|n| env.make_int(*n)));
    } else {
        let ops: Vec<CounterOp> = ops.iter().map(|op| (*op).into()).collect();
        let new = table.update_counter_with(key, &ops)?;
        made.extend(new.iter().map(|n| term::make(env, n)));
    }
    Ok(env.make_list(&made))
}

/// Implements `update_counter/3,4`.
pub(super) fn update_counter(env: Env, args: &[Term]) -> Reply {
    let mut ops = Few::new();
    let small = small_ops(env, args[2], &mut ops);
    tables::with(env, args[0], |table, pin| {
        if let Some(is_list) = small.filter(|_| is_default(env, table, args)) {
            let new = super::with_key(env, args[1], |key| match &ops[..] {
                [op] if is_list => Ok(env.make_list(&[count(env, table, key, op, pin)?])),
                [op] => count(env, table, key, op, pin),
                ops => count_all(env, table, key, ops, pin),
            });
            match &new {
                Err(fail) if args.len() == 4 && matches!(fail.error(), Some(Error::NoSuchKey)) => {}
                _ => return new,
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

/// Replaces one element by the value's bytes; `None`, and nothing has changed, if the value or the object is none for
/// which that can be done ([`Table::overwrite`]).
fn overwrite_any(
    env: Env,
    table: &Table,
    key: &KeyBuf,
    edit: (usize, Term),
    pin: &LocalGuard,
) -> Result<Option<bool>, Fail> {
    with_bytes(env, &[edit], |bytes, places| match places {
        [(position, _)] => Ok(table.overwrite(key, *position, bytes, pin)?),
        _ => Ok(None),
    })
}

/// Replaces the elements that a list names, in one step; `None`, and nothing has changed, if it is no such list, or if
/// a value in it or the object is none for which that can be done.
fn overwrite_all(
    env: Env,
    table: &Table,
    key: &KeyBuf,
    list: Term,
    pin: &LocalGuard,
) -> Result<Option<bool>, Fail> {
    let mut elements = env.elements(list);
    let edits = elements.by_ref().map(|edit| simple_edit(env, edit));
    let edits: Option<Few<_>> = edits.collect();
    let Some(edits) = edits.filter(|_| elements.are_all()) else {
        return Ok(None);
    };
    match &edits[..] {
        [] => Ok(None),
        [edit] => overwrite(env, table, key, *edit, pin).map(Some),
        edits => match all_small(edits) {
            Some(small) => {
                let elements = small.iter().map(|(at, value)| (*at, value.as_bytes()));
                Ok(table.overwrite_all(key, elements, pin)?)
            }
            None => with_bytes(env, edits, |bytes, places| {
                let elements = places
                    .iter()
                    .map(|(at, place)| (*at, &bytes[place.clone()]));
                Ok(table.overwrite_all(key, elements, pin)?)
            }),
        },
    }
}

/// Returns the values as bytes if all are small integers, which refer to nothing and need no buffer.
fn all_small(edits: &[(usize, Term)]) -> Option<Few<(usize, IntBytes)>> {
    let small = |&(at, value): &(usize, Term)| Some((at, IntBytes::new(value.small()?)));
    edits.iter().map(small).collect()
}

/// Runs `f` on values written as bytes, and their positions and places in these; `None` if one of them is held beside
/// its bytes.
fn with_bytes(
    env: Env,
    edits: &[(usize, Term)],
    f: impl FnOnce(&[u8], &[(usize, Range<usize>)]) -> Result<Option<bool>, Fail>,
) -> Result<Option<bool>, Fail> {
    VALUE.with_borrow_mut(|bytes| {
        bytes.clear();
        let (mut blobs, mut places) = (Vec::new(), Few::<(usize, Range<usize>)>::new());
        let (written, offered) = term::offer(|| {
            edits.iter().try_for_each(|&(position, value)| {
                let start = bytes.len();
                let mut writer = ValueWriter::new(bytes, &mut blobs);
                term::write_value(env, value, &mut writer)?;
                places.push((position, start..bytes.len()));
                Ok::<(), Fail>(())
            })
        });
        written?;
        let done = match blobs.is_empty() && offered.is_empty() {
            true => f(bytes, &places)?,
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
    tables::with(env, args[0], |table, pin| {
        if let Some(edit) = edit.filter(|_| is_default(env, table, args)) {
            let done = super::with_key(env, args[1], |key| overwrite(env, table, key, edit, pin))?;
            if done || args.len() == 3 {
                return Ok(atom::boolean(env, done));
            }
        } else if env.cell(args[2]).is_some() && is_default(env, table, args) {
            let all = |key: &KeyBuf| overwrite_all(env, table, key, args[2], pin);
            let done = super::with_key(env, args[1], all)?;
            if let Some(done) = done.filter(|done| *done || args.len() == 3) {
                return Ok(atom::boolean(env, done));
            }
        }
        table.check(fyris::Right::Write)?;
        let (read, _offered) = term::offer(|| read_update(env, args));
        let (key, edits, default) = read?;
        let done = table.update_element_term(&key, &edits, default.as_ref())?;
        Ok(atom::boolean(env, done))
    })
}
