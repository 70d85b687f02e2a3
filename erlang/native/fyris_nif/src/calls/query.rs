//! `select` and `match` in all their forms, a slice a call.
//!
//! A query begins in [`query`] and, if it is not done with its first slice, goes on in [`step`]. One with a limit
//! begins in [`chunk`] and goes on in [`chunk_step`]; where its next chunk begins is a resource inside a
//! continuation, which is a term for others to keep.

use std::sync::{Arc, Mutex};

use fyris::{Chunk, Continuation, Error, MatchSpec, Query, Table, TableId, TableType};
use fyris_query::{Machine, Wanted};
use fyris_term::Term as Owned;

use super::waiting::{Writes, would_wait};
use super::{point, with_any_key};
use crate::call::{BAD, Fail, Reply, entry};
use crate::kind::atom;
use crate::kind::node::node_name;
use crate::machine::{Env, Term};
use crate::tables::store;
use crate::term::{Offered, most_words, with_maker};
use crate::{load, process, tables, term};

/// Objects of a slice.
const SLICE: usize = 1000;
/// The percentage of a process's time slice that a slice takes.
const PERCENT: usize = 12;
/// The same of one that looks each object up by its key.
const PERCENT_OF_LOOKUPS: usize = 40;

/// A query between two slices.
pub(crate) struct QueryPlace {
    query: Mutex<Query>,
    verb: Verb,
    /// The resources that the specification refers to, which can get into the table.
    _offered: Offered,
}

/// A chunk under way, or where the next one begins.
pub(crate) struct ChunkPlace {
    place: Mutex<Option<Continuation>>,
    /// The resources that the specification refers to.
    offered: Arc<Offered>,
    /// The resources that the waiting results refer to.
    _found: Offered,
}

/// The action on objects that match.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Select,
    Reverse,
    Match,
    MatchObject,
    Count,
    Delete,
    MatchDelete,
    Replace,
    Take,
    ReplaceReturning,
    LookupBy,
}

impl Verb {
    fn of(env: Env, word: Term) -> Result<Verb, Fail> {
        let word = atom::from_machine(env, word).ok_or(BAD)?;
        Ok(match word.as_str() {
            "select" => Verb::Select,
            "select_reverse" => Verb::Reverse,
            "match" => Verb::Match,
            "match_object" => Verb::MatchObject,
            "select_count" => Verb::Count,
            "select_delete" => Verb::Delete,
            "match_delete" => Verb::MatchDelete,
            "select_replace" => Verb::Replace,
            "select_take" => Verb::Take,
            "select_replace_returning" => Verb::ReplaceReturning,
            _ => return Err(BAD),
        })
    }

    fn spec(self, term: Owned) -> Result<MatchSpec, Fail> {
        let spec = match self {
            Verb::Match => MatchSpec::of_pattern(term, Wanted::Bindings),
            Verb::MatchObject => MatchSpec::of_pattern(term, Wanted::Objects),
            Verb::MatchDelete => MatchSpec::of_pattern(term, Wanted::True),
            _ => MatchSpec::of(term),
        };
        Ok(spec.map_err(Error::BadMatchSpec)?)
    }

    fn writes(self) -> bool {
        matches!(self, Verb::Delete | Verb::MatchDelete | Verb::Replace) || self.returns_changed()
    }

    /// Returns whether it changes objects and returns them.
    fn returns_changed(self) -> bool {
        matches!(self, Verb::Take | Verb::ReplaceReturning)
    }

    fn is_list(self) -> bool {
        matches!(
            self,
            Verb::Select | Verb::Reverse | Verb::Match | Verb::MatchObject | Verb::LookupBy
        ) || self.returns_changed()
    }

    /// Returns the percentage of a process's time slice that a slice takes.
    fn percent(self) -> usize {
        match self {
            Verb::LookupBy => PERCENT_OF_LOOKUPS,
            _ => PERCENT,
        }
    }

    fn query(self, env: Env, table: &Table, spec: &MatchSpec, back: bool) -> Result<Query, Fail> {
        // By identity: it goes on after a rename.
        let query = table.by_identity().query(spec);
        let query = match spec.asks_machine() {
            true => query.machine(machine(env)),
            false => query,
        };
        Ok(match self {
            Verb::Count => query.counting(),
            Verb::Delete | Verb::MatchDelete => query.deleting(),
            Verb::Replace => query.replacing()?,
            Verb::Take => query.deleting().returning(),
            Verb::ReplaceReturning => query.replacing()?.returning(),
            _ if back => query.reverse().newest_first(),
            _ => query.newest_first(),
        })
    }
}

/// Returns the calling process and its node.
pub(super) fn machine(env: Env) -> Machine {
    let machine = match env.self_pid().map(|pid| term::read(env, pid)) {
        Some(Ok(Owned::Pid(pid))) => Machine::new(*pid),
        _ => Machine::default(),
    };
    match node_name(env) {
        Some(name) => machine.called(name),
        None => machine,
    }
}

/// Implements `query(Table, Spec, Verb)`: returns `{done, Result}`, or `{more, Query, List}` for [`step`].
pub(super) fn query(env: Env, args: &[Term]) -> Reply {
    let verb = Verb::of(env, args[2])?;
    match verb.writes() && would_wait(env, args, Writes::Several) {
        true => Ok(env.go_waiting(entry!(query_now), args)),
        false => query_now(env, args),
    }
}

fn query_now(env: Env, args: &[Term]) -> Reply {
    let verb = Verb::of(env, args[2])?;
    if let Some(answer) = point::answer(env, args, verb)? {
        return Ok(answer);
    }
    let (spec, offered) = read_spec(env, args[1], verb)?;
    tables::with(env, args[0], |table, _| {
        // Lists grow at the front, so what is to be in order is found the other way round.
        let query = verb.query(env, table, &spec, verb != Verb::Reverse)?;
        begin(env, query, verb, offered)
    })
}

/// Implements `query_by(Table, Index, Value)`: returns what [`query`] does, the objects from the last to the first.
pub(super) fn query_by(env: Env, args: &[Term]) -> Reply {
    let index = atom::from_machine(env, args[1]).ok_or(BAD)?;
    with_any_key!(env, args[2], |value| tables::with(
        env,
        args[0],
        |table, _| {
            let (mut few, mut count) = (atom::nil(env), 0);
            let is_few = table.each_of_few_by(index.as_str(), value, |object| {
                count += 1;
                few = with_maker(env, most_words(&object), |maker, stack| {
                    let found = object.build(None, maker, stack);
                    maker.cell(found, few)
                });
            })?;
            if is_few {
                consume(env, Verb::LookupBy, count, false);
                return Ok(env.make_tuple(&[atom::done(env), few]));
            }
            // By identity: it goes on after a rename.
            let query = table.by_identity().query_by(index.as_str(), value)?;
            begin(env, query, Verb::LookupBy, Offered::of(&[]))
        }
    ))
}

/// Runs the first slice of a query.
fn begin(env: Env, mut query: Query, verb: Verb, offered: Offered) -> Reply {
    let (more, value) = slice(env, &mut query, verb, atom::nil(env))?;
    if !more {
        return Ok(env.make_tuple(&[atom::done(env), value]));
    }
    let place = QueryPlace {
        query: Mutex::new(query),
        verb,
        _offered: offered,
    };
    let place = load::wrap(env, place);
    Ok(env.make_tuple(&[atom::more(env), place, value]))
}

/// Implements `step(Query, List)`: returns the list or the number when there is nothing left to do, else
/// `[more | List]`.
pub(super) fn step(env: Env, args: &[Term]) -> Reply {
    let place = load::resource::<QueryPlace>(env, args[0]);
    let place = place.ok_or(BAD)?;
    match place.verb.writes() && store().has_first_transaction() {
        true => Ok(env.go_waiting(entry!(step_now), args)),
        false => step_now(env, args),
    }
}

fn step_now(env: Env, args: &[Term]) -> Reply {
    let place = load::resource::<QueryPlace>(env, args[0]);
    let place = place.ok_or(BAD)?;
    let mut query = place.query.lock().map_err(|_| BAD)?;
    let (more, value) = slice(env, &mut query, place.verb, args[1])?;
    if more {
        return Ok(env.make_cell(atom::more(env), value));
    }
    Ok(value)
}

/// Runs one slice; returns whether there are more, and the list so far or the number.
fn slice(env: Env, query: &mut Query, verb: Verb, tail: Term) -> Result<(bool, Term), Fail> {
    if verb.is_list() {
        return list_slice(env, query, verb, tail);
    }
    let before = query.visited();
    let more = query.step(SLICE)?;
    consume(env, verb, (query.visited() - before) as usize, more);
    Ok((more, env.make_int(query.count() as i64)))
}

/// Takes a share of the process's time slice: by the objects visited, or the whole share if this was not the last
/// slice, which may also have passed over keys that hold nothing in a snapshot.
fn consume(env: Env, verb: Verb, visited: usize, more: bool) {
    let share = if more { SLICE } else { visited.min(SLICE) };
    env.consume(verb.percent() * share / SLICE);
}

/// Runs one slice of a query for values, which become terms of the machine as they are found. If the table goes away,
/// or the right to it, it returns what has been taken out until then, which is nowhere else. Of a transaction that fails
/// nothing is out.
fn list_slice(env: Env, query: &mut Query, verb: Verb, tail: Term) -> Result<(bool, Term), Fail> {
    let before = query.visited();
    let mut found: Vec<Term> = Vec::new();
    let (more, list) = with_maker(env, usize::MAX, |maker, stack| {
        let more = query.step_with(SLICE, |object, value| {
            found.push(match value {
                None => object.build(None, maker, stack),
                Some(value) => term::make(env, &value),
            });
        });
        let more = match more {
            Err(Error::NoSuchTable(_) | Error::NoAccess { .. })
                if verb == Verb::Take && !(found.is_empty() && tail == atom::nil(env)) =>
            {
                false
            }
            more => more?,
        };
        let push = |tail, &value: &Term| maker.cell(value, tail);
        Ok::<_, Fail>((more, found.iter().fold(tail, push)))
    })?;
    consume(env, verb, (query.visited() - before) as usize, more);
    Ok((more, list))
}

/// Implements `chunk(Table, Spec, Verb, Limit)`: returns the first `{Results, Continuation}`, `'$end_of_table'`, or
/// `[more | Place]` for [`chunk_step`].
pub(super) fn chunk(env: Env, args: &[Term]) -> Reply {
    let verb = Verb::of(env, args[2])?;
    let (spec, offered) = read_spec(env, args[1], verb)?;
    let limit = args[3].small().filter(|limit| *limit > 0).ok_or(BAD)?;
    tables::with(env, args[0], |table, _| {
        let query = verb.query(env, table, &spec, verb == Verb::Reverse)?;
        let place = Continuation::before(query, limit as usize)?;
        chunk_slice(env, place, &Arc::new(offered))
    })
}

/// Returns a specification, and the resources that it refers to.
fn read_spec(env: Env, spec: Term, verb: Verb) -> Result<(MatchSpec, Offered), Fail> {
    let (spec, offered) = term::offer(|| term::read(env, spec));
    Ok((verb.spec(spec?)?, offered))
}

/// Implements `chunk_next(Continuation)`: begins the chunk that a continuation stands for.
pub(super) fn chunk_next(env: Env, args: &[Term]) -> Reply {
    let place = chunk_place(env, args[0])?;
    let next = place.place.lock().map_err(|_| BAD)?.clone().ok_or(BAD)?;
    // The owner may have ended, or another process may be asking now.
    tables::inherit(env, next.table())?;
    chunk_slice(env, next.for_caller(process::me(env)), &place.offered)
}

/// Implements `chunk_step(Place)`: returns `{Results, Continuation}`, `'$end_of_table'`, or `[more | Place]`.
pub(super) fn chunk_step(env: Env, args: &[Term]) -> Reply {
    let place = chunk_place(env, args[0])?;
    let next = place.place.lock().map_err(|_| BAD)?.take().ok_or(BAD)?;
    chunk_slice(env, next, &place.offered)
}

fn chunk_place<'t>(env: Env, term: Term) -> Result<&'t ChunkPlace, Fail> {
    let place = load::resource::<ChunkPlace>(env, term);
    place.ok_or(Fail::Cause(&"continuation"))
}

fn chunk_slice(env: Env, mut place: Continuation, offered: &Arc<Offered>) -> Reply {
    // The resources of objects that are found now are kept until the reply refers to them (KEEPER).
    let _pin = fyris::pin();
    let kind = place.table().table_type();
    let more = place.step(SLICE)?;
    env.consume(PERCENT);
    if more {
        return Ok(env.make_cell(atom::more(env), make_place(env, place, offered)));
    }
    let chunk = place.finish();
    if chunk.is_end() {
        return Ok(atom::end_of_table(env));
    }
    let Chunk { results, next } = chunk;
    let mut results: Vec<Term> = results.iter().map(|value| term::make(env, value)).collect();
    if kind != TableType::OrderedSet {
        // In the order of `select/2`, which is the reverse of that from key to key.
        results.reverse();
    }
    let results = env.make_list(&results);
    let next = match next {
        None => atom::end_of_table(env),
        Some(next) => make_continuation(env, next, offered)?,
    };
    Ok(env.make_tuple(&[results, next]))
}

/// Returns a continuation as a term of the form that those of `ets` have: the table is its first element, and in the
/// place of the compiled specification, the fourth or in an `ordered_set` the fifth, stands the place of the next
/// chunk. In that of a slot or key stands what `repair` makes a place of again.
fn make_continuation(env: Env, next: Continuation, offered: &Arc<Offered>) -> Reply {
    let table = tables::tid_of(env, next.table()).ok_or(Fail::Cause(&"id"))?;
    let ordered = next.table().table_type() == TableType::OrderedSet;
    let limit = env.make_int(next.limit() as i64);
    let saved = term::make(env, &next.to_term());
    let place = make_place(env, next, offered);
    let (none, zero) = (atom::nil(env), env.make_int(0));
    Ok(match ordered {
        true => env.make_tuple(&[table, saved, none, limit, place, none, zero, zero]),
        false => env.make_tuple(&[table, saved, limit, place, none, zero]),
    })
}

fn make_place(env: Env, place: Continuation, offered: &Arc<Offered>) -> Term {
    let place = ChunkPlace {
        _found: Offered::of(place.waiting()),
        place: Mutex::new(Some(place)),
        offered: offered.clone(),
    };
    load::wrap(env, place)
}

/// Implements `is_place(Term)`: returns whether the term is the place of a chunk, still.
pub(super) fn is_place(env: Env, args: &[Term]) -> Reply {
    Ok(atom::boolean(env, chunk_place(env, args[0]).is_ok()))
}

/// Implements `repair(Saved, Spec, Verb)`: makes the place again from its saved form.
pub(super) fn repair(env: Env, args: &[Term]) -> Reply {
    let verb = Verb::of(env, args[2])?;
    let (spec, offered) = read_spec(env, args[1], verb)?;
    // The resources that its results refer to are held once the results are in the place.
    let (saved, _held) = term::offer(|| term::read(env, args[0]));
    let saved = saved?;
    let id = match &saved {
        Owned::Tuple(parts) => match parts.get(1) {
            Some(Owned::Int(id)) => TableId(*id as u64),
            _ => return Err(BAD),
        },
        _ => return Err(BAD),
    };
    let table = store().table(process::me(env), id)?;
    let place = table.repair_continuation(&saved, &spec)?;
    Ok(make_place(env, place, &Arc::new(offered)))
}
