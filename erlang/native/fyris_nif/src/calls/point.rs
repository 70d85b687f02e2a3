//! Queries that name one key, and of the other elements say nothing or what a [`Pattern`] can say: a lookup answers
//! them.
//!
//! `select(T, [{{Key, '$1'}, [], ['$1']}])`, `match_delete(T, {Key, {Pid, '_'}})` and their like are what programs ask
//! most. Most of the time of such a query went into the compilation of its specification; here none is made. A query
//! that is recognized is valid, whatever the table holds; any other query goes the long way, where errors are found
//! too.

use fyris::{Object, Table, TableType};
use fyris_term::key::KeyBuf;
use smallvec::SmallVec;

use super::pattern::{Pattern, is_constant};
use super::query::Verb;
use crate::call::Fail;
use crate::kind::atom;
use crate::machine::{Env, ErlNifTermType as Kind, Term};
use crate::tables;
use crate::term::{most_words, with_maker};

/// Words of a cell, and of the results of a query besides the objects'.
const CELL: usize = 2;

/// The result that a query wants of each object.
enum Wanted {
    Object,
    True,
    /// The values of the variables, by their numbers.
    Bindings,
    /// The value of the variable with this number.
    Variable(usize),
}

/// A query of one clause without guards, whose head is a tuple.
struct Asked<'t> {
    head: &'t [Term],
    wanted: Wanted,
}

/// The position of each variable, by its number; positions count from 1.
type VariablePlaces = [u8; atom::VARIABLES];

/// The parts of a head.
struct Head {
    key: Term,
    pattern: Pattern,
    variables: VariablePlaces,
}

/// Returns the answer, `{done, Result}`; `None` if the query is of another form.
pub(super) fn answer(env: Env, args: &[Term], verb: Verb) -> Result<Option<Term>, Fail> {
    let Some(asked) = Asked::of(env, args[1], verb) else {
        return Ok(None);
    };
    let result = if matches!(verb, Verb::Delete | Verb::MatchDelete) {
        tables::with(env, args[0], |table, _| asked.delete(env, table))
    } else {
        tables::with(env, args[0], |table, pin| {
            let Some(head) = asked.parse(env, table.keypos()) else {
                return Ok(None);
            };
            let find = |key: &KeyBuf| {
                let found = |objects: &[Object<'_>]| {
                    asked.result(env, verb, objects, &head.variables, |object| {
                        asked.fits(table, object, key, &head.pattern)
                    })
                };
                Ok(table.lookup_with_prefix(key, head.pattern.prefix(), pin, found)?)
            };
            super::with_key(env, head.key, find).map(Some)
        })
    }?;
    Ok(result.map(|result| env.make_tuple(&[atom::done(env), result])))
}

impl<'t> Asked<'t> {
    fn of(env: Env, spec: Term, verb: Verb) -> Option<Asked<'t>> {
        let (head, wanted) = match verb {
            Verb::Match => (spec, Wanted::Bindings),
            Verb::MatchObject => (spec, Wanted::Object),
            Verb::MatchDelete => (spec, Wanted::True),
            Verb::Select | Verb::Reverse | Verb::Count | Verb::Delete => clause(env, spec)?,
            Verb::Replace | Verb::Take | Verb::ReplaceReturning | Verb::LookupBy => return None,
        };
        let counts = matches!(verb, Verb::Count | Verb::Delete);
        if counts && !matches!(wanted, Wanted::True) {
            return None;
        }
        let head = env.tuple(head)?;
        Some(Asked { head, wanted })
    }

    /// Returns the parts of the head; `None` if the key is not constant, a variable occurs twice or inside an element,
    /// or the pattern is not compiled.
    fn parse(&self, env: Env, keypos: usize) -> Option<Head> {
        let mut variables = [0; atom::VARIABLES];
        let mut pattern = Pattern::default();
        // One byte holds a position.
        if self.head.len() > usize::from(u8::MAX) {
            return None;
        }
        for (place, &element) in self.head.iter().enumerate() {
            if place + 1 == keypos {
                continue;
            }
            let Some(number) = atom::variable(env, element) else {
                pattern.value(env, element, 0)?;
                continue;
            };
            if variables[number] != 0 {
                return None;
            }
            variables[number] = place as u8 + 1;
            pattern.any();
        }
        let key = *self.head.get(keypos - 1)?;
        let known = match self.wanted {
            Wanted::Variable(number) => variables[number] != 0,
            _ => true,
        };
        (known && is_constant(env, key, 0, is_simple_key)).then_some(Head {
            key,
            pattern,
            variables,
        })
    }

    /// Returns whether an object that was looked up matches.
    fn fits(&self, table: &Table, object: &Object<'_>, key: &KeyBuf, pattern: &Pattern) -> bool {
        // In an ordered set the stored key may be `1.0` where `1` is asked for.
        object.arity() == self.head.len()
            && (table.table_type() != TableType::OrderedSet || object.has_key_bytes(key.bytes()))
            && pattern.fits(object)
    }

    fn delete(&self, env: Env, table: &Table) -> Result<Option<Term>, Fail> {
        let Some(Head { key, pattern, .. }) = self.parse(env, table.keypos()) else {
            return Ok(None);
        };
        super::with_key(env, key, |key| {
            let fits = |object: Object<'_>| self.fits(table, &object, key, &pattern);
            let count = table.delete_of_key(key, pattern.prefix(), fits)?;
            Ok(Some(env.make_int(count as i64)))
        })
    }

    fn result(
        &self,
        env: Env,
        verb: Verb,
        objects: &[Object<'_>],
        places: &VariablePlaces,
        fits: impl Fn(&Object<'_>) -> bool,
    ) -> Term {
        let matching = objects.iter().rev().filter(|object| fits(object));
        if verb == Verb::Count {
            return env.make_int(matching.count() as i64);
        }
        let most = objects
            .first()
            .map_or(0, |object| objects.len() * (CELL + most_words(object)));
        with_maker(env, most, |maker, stack| {
            matching.fold(atom::nil(env), |tail, object| {
                let mut element = |place: u8| {
                    let element = object.build_element(place.into(), maker, stack);
                    element.unwrap_or_else(|| atom::nil(env))
                };
                let value = match self.wanted {
                    Wanted::True => atom::r#true(env),
                    Wanted::Variable(number) => element(places[number]),
                    Wanted::Bindings => {
                        let bound = places.iter().filter(|&&place| place != 0);
                        let values: SmallVec<[Term; 8]> =
                            bound.map(|&place| element(place)).collect();
                        values
                            .iter()
                            .rev()
                            .fold(atom::nil(env), |tail, &value| maker.cell(value, tail))
                    }
                    Wanted::Object => object.build(None, maker, stack),
                };
                maker.cell(value, tail)
            })
        })
    }
}

/// Returns head and body of `[{Head, [], [Body]}]`, if the body is one of those known here.
fn clause(env: Env, spec: Term) -> Option<(Term, Wanted)> {
    let clause = env.tuple(only(env, spec)?)?;
    let &[head, guards, body] = clause else {
        return None;
    };
    let body = (guards == atom::nil(env)).then(|| only(env, body))??;
    let wanted = if body == atom::whole(env) {
        Wanted::Object
    } else if body == atom::r#true(env) {
        Wanted::True
    } else if body == atom::bindings(env) {
        Wanted::Bindings
    } else {
        Wanted::Variable(atom::variable(env, body)?)
    };
    Some((head, wanted))
}

/// Returns the element of a list of one.
fn only(env: Env, list: Term) -> Option<Term> {
    let (element, tail) = env.cell(list)?;
    (tail == atom::nil(env)).then_some(element)
}

/// Returns whether a key of a kind that is neither atom, tuple nor list is looked up: not a map, of which a pattern
/// matches others, nor a fun.
fn is_simple_key(env: Env, key: Term) -> bool {
    match env.kind(key) {
        Kind::ERL_NIF_TERM_TYPE_BITSTRING
        | Kind::ERL_NIF_TERM_TYPE_INTEGER
        | Kind::ERL_NIF_TERM_TYPE_FLOAT
        | Kind::ERL_NIF_TERM_TYPE_REFERENCE => true,
        Kind::ERL_NIF_TERM_TYPE_PID => key.local_pid().is_some(),
        _ => false,
    }
}
