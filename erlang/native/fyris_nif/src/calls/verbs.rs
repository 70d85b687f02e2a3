//! Verbs that `ets` does not have.

use std::ops::Bound;
use std::sync::Mutex;

use fyris::{Error, LocalGuard, Object, Options, Prefix, RangeCursor, RangeOptions, Table};
use fyris_term::Term as Owned;
use fyris_term::key::KeyBuf;
use fyris_term::value::Build;
use num_bigint::Sign;
use smallvec::SmallVec;

use crate::call::{BAD, Fail, Reply, entry};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::tables::store;
use crate::term::{self, MachineObject, most_words, with_maker};
use crate::{load, tables};

/// Objects or keys of a slice.
const SLICE: usize = 400;
/// The percentage of a process's time slice that a slice takes.
const PERCENT: usize = 10;

/// A range that is read bit by bit.
pub(crate) struct RangePlace {
    /// The place, and the table as of one moment, if that is read in several slices.
    cursor: Mutex<(RangeCursor, Option<Table>)>,
    keys_only: bool,
}

/// Implements `open(Name, Options)`: returns the table of this name, made if there is none.
pub(super) fn open(env: Env, args: &[Term]) -> Reply {
    let name = atom::from_machine(env, args[0]).ok_or(BAD)?;
    let known = |pid: &Owned| super::admin::known_process(env, pid);
    // The heir's data may refer to resources.
    let (options, _offered) = term::offer(|| term::read(env, args[1]));
    let options = Options::parse(&options?, known)?;
    // One of a process that has ended does not count.
    tables::with(env, args[0], |_, _| Ok(())).ok();
    let caller = super::admin::known_caller(env)?;
    let table = store().open(caller, name, &options)?;
    if tables::tid_of(env, &table).is_none() {
        tables::adopt(&table)?;
    }
    Ok(args[0])
}

/// Implements `put(Table, Key, Value)`: inserts the pair of a key and a value in a table in which a key has one.
pub(super) fn put(env: Env, args: &[Term]) -> Reply {
    put_pair(env, args, "put", |table, pair, pin| {
        table.insert_object(pair, pin).map(|()| true)
    })
}

/// Implements `put_new(Table, Key, Value)`: as [`put`], if the key is not there; returns whether it did.
pub(super) fn put_new(env: Env, args: &[Term]) -> Reply {
    put_pair(env, args, "put_new", |table, pair, _| {
        table.insert_new_object(pair)
    })
}

fn put_pair(
    env: Env,
    args: &[Term],
    operation: &'static str,
    insert: impl FnOnce(&Table, &MachineObject, &LocalGuard) -> Result<bool, Error>,
) -> Reply {
    let &[table, key, value] = args else {
        return Err(BAD);
    };
    tables::with(env, table, |table, pin| {
        let pair = match table.keypos() {
            1 => [key, value],
            2 => [value, key],
            keypos => {
                let text = format!("a pair, in a table with keypos {keypos}");
                return Err(Error::BadArgument(text).into());
            }
        };
        let found = table.table_type();
        if found.is_bag() {
            return Err(Error::WrongType { operation, found }.into());
        }
        let pair = MachineObject::new(env, env.make_tuple(&pair));
        Ok(atom::boolean(env, insert(table, &pair, pin)?))
    })
}

/// Returns the key of a term that is looked up.
fn key(env: Env, term: Term) -> Result<KeyBuf, Fail> {
    let mut buf = KeyBuf::new();
    term::find_key(env, term, &mut buf)?;
    Ok(buf)
}

/// Reads `{included, Key}`, `{excluded, Key}` or `unbounded`.
fn bound(env: Env, term: Term) -> Result<Bound<KeyBuf>, Fail> {
    let Some([word, bound]) = env.tuple(term) else {
        return Ok(Bound::Unbounded);
    };
    let key = key(env, *bound)?;
    let word = atom::from_machine(env, *word).ok_or(BAD)?;
    match word.as_str() {
        "included" => Ok(Bound::Included(key)),
        "excluded" => Ok(Bound::Excluded(key)),
        _ => Err(BAD),
    }
}

fn range_options(env: Env, back: Term, keys: Term) -> Result<RangeOptions, Fail> {
    let mut options = RangeOptions::new();
    if super::boolean(env, back)? {
        options = options.reverse();
    }
    if super::boolean(env, keys)? {
        options = options.keys_only();
    }
    Ok(options)
}

/// Implements `range(Table, From, To, Back, KeysOnly)`: returns a place for [`range_slice`].
pub(super) fn range(env: Env, args: &[Term]) -> Reply {
    let range = (bound(env, args[1])?, bound(env, args[2])?);
    let options = range_options(env, args[3], args[4])?;
    tables::with(env, args[0], |table, _| {
        make_place(env, table.key_range_cursor(&range, options)?, args[4])
    })
}

/// Implements `prefix(Table, Prefix, Back, KeysOnly)`: returns a place for [`range_slice`].
pub(super) fn prefix(env: Env, args: &[Term]) -> Reply {
    let prefix = Prefix::of_pattern(&term::read(env, args[1])?)?;
    let options = range_options(env, args[2], args[3])?;
    tables::with(env, args[0], |table, _| {
        make_place(env, table.prefix_cursor(&prefix, options)?, args[3])
    })
}

fn make_place(env: Env, cursor: RangeCursor, keys_only: Term) -> Reply {
    let place = RangePlace {
        cursor: Mutex::new((cursor, None)),
        keys_only: super::boolean(env, keys_only)?,
    };
    Ok(load::wrap(env, place))
}

/// Implements `range_slice(Table, Place, List, Limit)`: returns up to `Limit` objects or keys in front of the list, the
/// last one first; `{More, Count, List}`.
pub(super) fn range_slice(env: Env, args: &[Term]) -> Reply {
    let place = load::resource::<RangePlace>(env, args[1]);
    let place = place.ok_or(BAD)?;
    let limit = args[3].small().and_then(|n| usize::try_from(n).ok());
    let limit = limit.ok_or(BAD)?;
    let mut cursor = place.cursor.lock().map_err(|_| BAD)?;
    let (cursor, steps) = &mut *cursor;
    tables::with(env, args[0], |table, pin| {
        let (want, mut objects) = (limit.min(SLICE), Vec::new());
        let begin = steps.is_none().then(|| cursor.clone());
        let mut more =
            cursor.next_batch(steps.as_ref().unwrap_or(table), want, pin, &mut objects)?;
        if let Some(begin) = begin.filter(|_| more && objects.len() < limit) {
            // More than a slice: from the beginning, at one moment.
            objects.clear();
            *cursor = begin;
            let steps = steps.insert(table.at_one_moment()?);
            more = cursor.next_batch(steps, want, pin, &mut objects)?;
        }
        if !more || objects.len() >= limit {
            // Not when the process collects its garbage: writers pay for a snapshot.
            *steps = None;
        }
        objects.truncate(limit);
        let list = with_maker(env, usize::MAX, |maker, stack| {
            let push = |tail, object: &Object<'_>| {
                let found = if place.keys_only {
                    object.build_key(maker, stack)
                } else {
                    object.build(None, maker, stack)
                };
                maker.cell(found, tail)
            };
            objects.iter().fold(args[2], push)
        });
        env.consume(PERCENT);
        let count = env.make_int(objects.len() as i64);
        Ok(env.make_tuple(&[atom::boolean(env, more), count, list]))
    })
}

/// Implements `seek(Table, Key, Back)`: returns the nearest object at or above the key, or at or below it.
pub(super) fn seek(env: Env, args: &[Term]) -> Reply {
    let (key, back) = (key(env, args[1])?, super::boolean(env, args[2])?);
    tables::with(env, args[0], |table, pin| {
        let found = table.seek_object(Bound::Included(&key), back, pin)?;
        Ok(found.map_or(atom::end_of_table(env), |object| {
            with_maker(env, most_words(&object), |maker, stack| {
                object.build(None, maker, stack)
            })
        }))
    })
}

/// Implements `nth/2`.
pub(super) fn nth(env: Env, args: &[Term]) -> Reply {
    let n = match term::read(env, args[1])? {
        Owned::Int(n) => usize::try_from(n).ok(),
        // No table has as many objects.
        Owned::Big(n) if n.sign() == Sign::Plus => Some(usize::MAX),
        _ => None,
    };
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Read)?;
        let found = table.nth(n.ok_or(BAD)?)?;
        Ok(found.map_or(atom::end_of_table(env), |key| term::make(env, &key)))
    })
}

/// Implements `rank/2`.
pub(super) fn rank(env: Env, args: &[Term]) -> Reply {
    let below = (Bound::Unbounded, Bound::Excluded(key(env, args[1])?));
    tables::with(env, args[0], |table, _| {
        Ok(env.make_int(table.key_count("rank", &below)? as i64))
    })
}

/// Implements `count_between(Table, From, To)` between two bounds.
pub(super) fn count_between(env: Env, args: &[Term]) -> Reply {
    let range = (bound(env, args[1])?, bound(env, args[2])?);
    tables::with(env, args[0], |table, _| {
        Ok(env.make_int(table.key_count("count_between", &range)? as i64))
    })
}

/// Implements `lookup_some(Table, Keys)`: returns the objects of the first keys, the last ones first; `{Rest, Lists}`.
pub(super) fn lookup_some(env: Env, args: &[Term]) -> Reply {
    let (mut keys, mut are_known, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    let mut elements = env.elements(args[1]);
    for element in elements.by_ref().take(SLICE / 4) {
        let key = super::if_known(|| term::read(env, element))?;
        are_known.push(key.is_some());
        match key {
            Some(key) => keys.push(key),
            None => unknown.push(element),
        }
    }
    let rest = elements.list_left().ok_or(BAD)?;
    env.consume(PERCENT / 2);
    tables::with(env, args[0], |table, _| {
        for &key in &unknown {
            super::miss(env, table, key)?;
        }
        let mut found = table.lookup_many(&keys)?.into_iter().rev();
        let list = |&is_known: &bool| {
            let objects = is_known.then(|| found.next()).flatten().unwrap_or_default();
            let objects: Vec<Term> = objects.iter().map(|o| term::make(env, o)).collect();
            env.make_list(&objects)
        };
        let lists: Vec<Term> = are_known.iter().rev().map(list).collect();
        Ok(env.make_tuple(&[rest, env.make_list(&lists)]))
    })
}

/// Implements `take_slice(Table, Place, List)`: takes the next objects out of a range and returns them in front of the
/// list, the last one first; `{More, Count, List}`. The list stays as it is where the place is of keys only.
pub(super) fn take_slice(env: Env, args: &[Term]) -> Reply {
    let place = load::resource::<RangePlace>(env, args[1]);
    let place = place.ok_or(BAD)?;
    let mut cursor = place.cursor.lock().map_err(|_| BAD)?;
    env.consume(PERCENT);
    tables::with(env, args[0], |table, _| {
        let (mut list, mut count) = (args[2], 0);
        let more = cursor.0.take_batch(table, SLICE, |object| {
            count += 1;
            if !place.keys_only {
                list = with_maker(env, most_words(&object), |maker, stack| {
                    let taken = object.build(None, maker, stack);
                    maker.cell(taken, list)
                });
            }
        })?;
        Ok(env.make_tuple(&[atom::boolean(env, more), env.make_int(count), list]))
    })
}

/// Implements `drain/1`, on a scheduler for long work.
pub(super) fn drain(env: Env, args: &[Term]) -> Reply {
    Ok(env.go_dirty(entry!(drain_all), args))
}

fn drain_all(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| {
        let all = table.drain()?;
        let all: Vec<Term> = all.iter().map(|object| term::make(env, object)).collect();
        Ok(env.make_list(&all))
    })
}

/// Implements `add_secondary(Table, Index, Value)`, on a scheduler for long work.
pub(super) fn add_secondary(env: Env, args: &[Term]) -> Reply {
    Ok(env.go_dirty(entry!(add_secondary_now), args))
}

fn add_secondary_now(env: Env, args: &[Term]) -> Reply {
    let index = atom::from_machine(env, args[1]).ok_or(BAD)?;
    let secondary = fyris::SecondaryIndex::new(index.as_str(), term::read(env, args[2])?);
    tables::with(env, args[0], |table, _| {
        table.add_secondary(&secondary)?;
        Ok(atom::r#true(env))
    })
}

/// Implements `remove_secondary(Table, Index)`, on a scheduler for long work.
pub(super) fn remove_secondary(env: Env, args: &[Term]) -> Reply {
    Ok(env.go_dirty(entry!(remove_secondary_now), args))
}

fn remove_secondary_now(env: Env, args: &[Term]) -> Reply {
    let index = atom::from_machine(env, args[1]).ok_or(BAD)?;
    tables::with(env, args[0], |table, _| {
        table.remove_secondary(index.as_str())?;
        Ok(atom::r#true(env))
    })
}

/// Implements `compare_and_swap/3`.
pub(super) fn compare_and_swap(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| {
        let (old, new) = (
            MachineObject::new(env, args[1]),
            MachineObject::new(env, args[2]),
        );
        Ok(atom::boolean(env, table.compare_and_swap(&old, &new)?))
    })
}

/// Returns the steps of a path, which are few; `None` if nothing stored can have one of them.
fn path(env: Env, list: Term) -> Result<Option<SmallVec<[Owned; 4]>>, Fail> {
    let (mut path, mut elements) = (Some(SmallVec::new()), env.elements(list));
    for element in &mut elements {
        let step = super::if_known(|| term::read(env, element))?;
        path = path.zip(step).map(|(mut path, step)| {
            path.push(step);
            path
        });
    }
    if elements.are_all() {
        Ok(path)
    } else {
        Err(BAD)
    }
}

/// Implements `get_in/3`: returns `{ok, Part}` or `error`.
pub(super) fn get_in(env: Env, args: &[Term]) -> Reply {
    let path = path(env, args[2])?;
    tables::with(env, args[0], |table, pin| {
        super::with_key(env, args[1], |key| {
            let found = table.get(key, pin)?.zip(path.as_ref());
            let found = found.and_then(|(object, path)| {
                with_maker(env, most_words(&object), |maker, stack| {
                    let part = object.build_in(path, |t| term::make(env, &t), maker, stack)?;
                    Some(maker.tuple(&[atom::ok(env), part]))
                })
            });
            Ok(found.unwrap_or_else(|| atom::error(env)))
        })
    })
}

/// Reads a path that may lead to what is not there yet.
fn new_path(env: Env, list: Term) -> Result<Vec<Owned>, Fail> {
    let mut elements = env.elements(list);
    let path = elements.by_ref().map(|step| term::read(env, step));
    let path = path.collect::<Result<_, _>>()?;
    elements.are_all().then_some(path).ok_or(BAD)
}

/// Implements `put_in/4`: returns whether there is an object.
pub(super) fn put_in(env: Env, args: &[Term]) -> Reply {
    let (read, _offered) =
        term::offer(|| Ok::<_, Fail>((new_path(env, args[2])?, term::read(env, args[3])?)));
    let (path, value) = read?;
    tables::with(env, args[0], |table, _| {
        super::with_key(env, args[1], |key| {
            Ok(atom::boolean(env, table.put_in(key, &path, &value)?))
        })
    })
}

/// Implements `delete_in/3`: returns `{ok, Part}` or `error`.
pub(super) fn delete_in(env: Env, args: &[Term]) -> Reply {
    let path = path(env, args[2])?;
    tables::with(env, args[0], |table, _| {
        super::with_key(env, args[1], |key| {
            let Some(path) = &path else {
                // No object has it. What is refused of other paths is of this one, too.
                table.check(fyris::Right::Write)?;
                let (operation, found) = ("delete_in", table.table_type());
                if found.is_bag() {
                    return Err(Error::WrongType { operation, found }.into());
                }
                table.member(key)?;
                return Ok(atom::error(env));
            };
            Ok(match table.delete_in(key, path)? {
                Some(part) => env.make_tuple(&[atom::ok(env), term::make(env, &part)]),
                None => atom::error(env),
            })
        })
    })
}

/// Implements `swap_in(Table, Key, Path, Found, New)`: puts `New` where a path leads to if that still holds what
/// [`get_in`] returned; returns whether it did, `false` also if there is no object.
pub(super) fn swap_in(env: Env, args: &[Term]) -> Reply {
    let (read, _offered) = term::offer(|| {
        let found = env.tuple(args[3]).and_then(|found| found.get(1));
        let found = found.map(|&part| term::read(env, part)).transpose()?;
        Ok::<_, Fail>((new_path(env, args[2])?, found, term::read(env, args[4])?))
    });
    let (path, found, new) = read?;
    tables::with(env, args[0], |table, _| {
        super::with_key(env, args[1], |key| {
            let done = table.compare_and_swap_in(key, &path, found.as_ref(), &new)?;
            Ok(atom::boolean(env, done))
        })
    })
}

/// Implements `explain/2`: returns `{Kind, Plan, Estimated, Size, Secondary}`, of which the last is a list of the name
/// of the secondary index, or empty.
pub(super) fn explain(env: Env, args: &[Term]) -> Reply {
    // The plan, which has constants of the specification, may refer to resources.
    let (spec, _offered) = term::offer(|| term::read(env, args[1]));
    let spec = fyris::MatchSpec::new(&spec?).map_err(Error::BadMatchSpec)?;
    tables::with(env, args[0], |table, _| {
        let explanation = table.explain(&spec)?;
        let secondary = explanation
            .secondary
            .map(|name| atom::to_machine(env, name));
        Ok(env.make_tuple(&[
            env.make_atom(explanation.kind.name().as_bytes()),
            term::make(env, &explanation.plan),
            env.make_int(explanation.estimated as i64),
            env.make_int(explanation.size as i64),
            env.make_list(secondary.as_slice()),
        ]))
    })
}
