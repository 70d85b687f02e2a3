//! A term of the machine as value bytes.

use fyris_term::value::{MAX_INLINE_BINARY, ValueWriter};
use smallvec::SmallVec;

use super::{DEEP, Result, key, pids, rare, read};
use crate::funs::{self, FunKey};
use crate::sys::{Env, ErlNifTermType as Kind, Term};
use crate::words::{self, Pair};
use crate::{held, ranks, shapes};

/// Pairs of a map that need no allocation to be sorted.
const FEW: usize = 32;

/// Writes a term, `depth` levels down.
#[inline]
pub(super) fn write(env: Env, term: Term, out: &mut ValueWriter<'_>, depth: usize) -> Result<()> {
    if let Some(value) = term.small() {
        out.int(value);
        return Ok(());
    }
    if term.atom_index().is_some() {
        return atom(env, term, out);
    }
    other(env, term, out, depth)
}

// The functions below are not inlined: the stack space of each would be needed at every level of a deep term.

/// Writes an atom.
#[inline(never)]
fn atom(env: Env, term: Term, out: &mut ValueWriter<'_>) -> Result<()> {
    out.atom(rare::atom(env, term)?);
    Ok(())
}

#[inline(never)]
fn other(env: Env, term: Term, out: &mut ValueWriter<'_>, depth: usize) -> Result<()> {
    match env.kind(term) {
        Kind::ERL_NIF_TERM_TYPE_TUPLE
        | Kind::ERL_NIF_TERM_TYPE_LIST
        | Kind::ERL_NIF_TERM_TYPE_MAP
        | Kind::ERL_NIF_TERM_TYPE_FUN
            if depth >= DEEP =>
        {
            out.any(&read(env, term)?);
        }
        Kind::ERL_NIF_TERM_TYPE_TUPLE => return tuple(env, term, out, depth),
        Kind::ERL_NIF_TERM_TYPE_LIST => return list(env, term, out, depth),
        Kind::ERL_NIF_TERM_TYPE_MAP => return map(env, term, out, depth),
        Kind::ERL_NIF_TERM_TYPE_FLOAT => out.float(key::float(env, term)),
        Kind::ERL_NIF_TERM_TYPE_INTEGER => match env.integer(term) {
            Some(value) => out.int(value),
            None => return by_term(env, term, out),
        },
        Kind::ERL_NIF_TERM_TYPE_BITSTRING => match env.binary(term) {
            Some(bytes) if bytes.len() > MAX_INLINE_BINARY => large(term, bytes, out),
            Some(bytes) => out.binary(bytes),
            None => return by_term(env, term, out),
        },
        Kind::ERL_NIF_TERM_TYPE_PID => match term.local_pid() {
            Some(id) => out.pid(&pids::local_pid(id)),
            None => return by_term(env, term, out),
        },
        Kind::ERL_NIF_TERM_TYPE_FUN => return fun(env, term, out, depth),
        _ => return by_term(env, term, out),
    }
    Ok(())
}

#[inline(never)]
fn fun(env: Env, term: Term, out: &mut ValueWriter<'_>, depth: usize) -> Result<()> {
    let Some(fun) = rare::fun(env, term) else {
        return by_term(env, term, out);
    };
    begin_fun(env, &fun, out)?;
    let mut captured = fun.captured.iter();
    captured.try_for_each(|&value| write(env, value, out, depth + 1))
}

/// Begins a fun, whose captured values follow.
#[inline(never)]
pub(super) fn begin_fun(
    env: Env,
    fun: &funs::SeenFun<'_>,
    out: &mut ValueWriter<'_>,
) -> Result<()> {
    match fun.code.key {
        FunKey::Local(code, captured) => out.begin_fun(&code, &rare::creator(env, fun)?, captured),
        FunKey::External(module, function, arity) => out.external_fun(module, function, arity),
    }
    Ok(())
}

/// Writes a binary that is held.
#[inline(never)]
fn large(term: Term, bytes: &[u8], out: &mut ValueWriter<'_>) {
    out.blob(held::blob(term, bytes));
}

#[inline(never)]
fn by_term(env: Env, term: Term, out: &mut ValueWriter<'_>) -> Result<()> {
    out.any(&rare::read(env, term)?);
    Ok(())
}

fn tuple(env: Env, term: Term, out: &mut ValueWriter<'_>, depth: usize) -> Result<()> {
    let (elements, depth) = (env.tuple(term).unwrap_or(&[]), depth + 1);
    out.begin_tuple(elements.len());
    elements.iter().try_for_each(|&e| write(env, e, out, depth))
}

/// Writes a list, as a string if all of it are bytes, since every term has one form only.
#[inline(never)]
fn list(env: Env, term: Term, out: &mut ValueWriter<'_>, depth: usize) -> Result<()> {
    let depth = depth + 1;
    let (mut length, mut rest, mut is_string) = (0, term, true);
    while let Some((head, tail)) = env.cell(rest) {
        is_string &= matches!(head.small(), Some(0..=255));
        length += 1;
        rest = tail;
    }
    let proper = env.is_nil(rest);
    match (proper, length) {
        (true, 0) => out.nil(),
        (true, _) if is_string => return string(env, term, length, out),
        (true, _) => out.begin_list(length),
        (false, _) => out.begin_improper(length),
    }
    let mut rest = term;
    while let Some((head, tail)) = env.cell(rest) {
        write(env, head, out, depth)?;
        rest = tail;
    }
    if proper {
        return Ok(());
    }
    write(env, rest, out, depth)
}

/// Writes a list of bytes.
#[inline(never)]
fn string(env: Env, list: Term, length: usize, out: &mut ValueWriter<'_>) -> Result<()> {
    let (mut bytes, mut rest) = (Vec::with_capacity(length), list);
    while let Some((head, tail)) = env.cell(rest) {
        bytes.push(head.small().unwrap_or(0) as u8);
        rest = tail;
    }
    out.string(&bytes);
    Ok(())
}

/// Writes a map, its pairs in exact order of the keys.
#[inline(never)]
fn map(env: Env, term: Term, out: &mut ValueWriter<'_>, depth: usize) -> Result<()> {
    let depth = depth + 1;
    // Not on the stack, where it would be once for every level.
    let pairs = ordered(env, env.pairs(term), depth)?;
    if let Some(shape) = shapes::shape_of(env, pairs.iter().map(|pair| pair.0)) {
        out.begin_shape(shape);
        let mut values = pairs.iter().map(|pair| pair.1);
        return values.try_for_each(|value| write(env, value, out, depth));
    }
    out.begin_map(pairs.len());
    pairs.iter().try_for_each(|&(key, value)| {
        write(env, key, out, depth)?;
        write(env, value, out, depth)
    })
}

/// Returns the pairs of a map in exact order of the keys.
#[inline(never)]
pub(super) fn ordered(env: Env, mut pairs: Vec<Pair>, depth: usize) -> Result<Vec<Pair>> {
    sort(env, &mut pairs, depth)?;
    Ok(pairs)
}

/// A key of a map, of one of the kinds that most keys are of; they order as the keys of maps do.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Simple<'t> {
    Int(i64),
    Atom(&'static str),
    Binary(&'t [u8]),
}

fn simple<'t>(env: Env, key: Term) -> Option<Simple<'t>> {
    if let Some(value) = key.small() {
        return Some(Simple::Int(value));
    }
    if key.atom_index().is_some() {
        return key::atom_name(env, key).map(Simple::Atom);
    }
    words::binary(env, key).map(Simple::Binary)
}

/// Returns whether the keys are known to be in exact order.
pub(super) fn are_sorted<'t>(env: Env, keys: impl IntoIterator<Item = &'t Term>) -> bool {
    let mut last = None;
    keys.into_iter().all(|&key| {
        let key = simple(env, key);
        let is_behind = last.as_ref() < key.as_ref() && key.is_some();
        last = key;
        is_behind
    })
}

/// Sorts keys, `depth` levels down, and what comes with them.
#[inline(never)]
pub(crate) fn sort<T: Copy>(env: Env, pairs: &mut [(Term, T)], depth: usize) -> Result<()> {
    if pairs.len() < 2 || are_sorted(env, pairs.iter().map(|(key, _)| key)) {
        return Ok(());
    }
    let by_rank = pairs.iter().map(|&pair| Some((rank(pair.0)?, pair)));
    if let Some(mut by_rank) = by_rank.collect::<Option<Vec<_>>>() {
        ranks::sort(&mut by_rank);
        put(pairs, by_rank.into_iter());
        return Ok(());
    }
    let simple = pairs.iter().map(|&pair| Some((simple(env, pair.0)?, pair)));
    if let Some(mut simple) = simple.collect::<Option<SmallVec<[_; FEW]>>>() {
        simple.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        put(pairs, simple.into_iter());
        return Ok(());
    }
    let ordered = |&pair: &(Term, T)| Ok((key::exact_order(env, pair.0, depth)?, pair));
    let mut ordered = pairs.iter().map(ordered).collect::<Result<Vec<_>>>()?;
    ordered.sort_by(|a, b| a.0.order().cmp(b.0.order()));
    put(pairs, ordered.into_iter());
    Ok(())
}

/// Returns a number that orders small integers.
fn rank(key: Term) -> Option<u64> {
    key.small().map(|value| value.abs_diff(i64::MIN))
}

/// Puts what was sorted back.
fn put<K, T>(to: &mut [T], sorted: impl Iterator<Item = (K, T)>) {
    let places = to.iter_mut().zip(sorted);
    places.for_each(|(place, (_, item))| *place = item);
}
