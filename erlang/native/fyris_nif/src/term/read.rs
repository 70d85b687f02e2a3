//! A term of the machine as a [`Term`](fyris_term::Term).

use fyris_term::value::MAX_INLINE_BINARY;
use fyris_term::{Fun, Map, Term as Owned};

use super::{Result, deeper, key, pids, rare};
use crate::held;
use crate::sys::{Env, ErlNifTermType as Kind, Term};

/// Returns the term. O(size).
pub(crate) fn read(env: Env, term: Term) -> Result<Owned> {
    read_at(env, term, 0)
}

/// Reads an atom. Not inlined: its stack space would be needed at every level of a deep term.
#[inline(never)]
fn atom(env: Env, term: Term) -> Result<Owned> {
    rare::atom(env, term).map(Owned::Atom)
}

fn read_at(env: Env, term: Term, depth: usize) -> Result<Owned> {
    if let Some(value) = term.small() {
        return Ok(Owned::Int(value));
    }
    if term.atom_index().is_some() {
        return atom(env, term);
    }
    match env.kind(term) {
        Kind::ERL_NIF_TERM_TYPE_TUPLE => {
            let depth = deeper(depth)?;
            let elements = env.tuple(term).unwrap_or(&[]);
            let elements: Result<_> = elements.iter().map(|&e| read_at(env, e, depth)).collect();
            elements.map(Owned::Tuple)
        }
        Kind::ERL_NIF_TERM_TYPE_LIST => list(env, term, deeper(depth)?),
        Kind::ERL_NIF_TERM_TYPE_MAP => map(env, term, deeper(depth)?),
        Kind::ERL_NIF_TERM_TYPE_FLOAT => Ok(Owned::Float(key::float(env, term))),
        Kind::ERL_NIF_TERM_TYPE_INTEGER => match env.integer(term) {
            Some(value) => Ok(Owned::Int(value)),
            None => rare::read(env, term),
        },
        Kind::ERL_NIF_TERM_TYPE_BITSTRING => match env.binary(term) {
            Some(bytes) => Ok(binary(term, bytes)),
            None => rare::read(env, term),
        },
        Kind::ERL_NIF_TERM_TYPE_PID => match term.local_pid() {
            Some(id) => Ok(Owned::Pid(Box::new(pids::local_pid(id)))),
            None => rare::read(env, term),
        },
        Kind::ERL_NIF_TERM_TYPE_FUN => fun(env, term, depth),
        _ => rare::read(env, term),
    }
}

/// Reads a fun. Not inlined, as `atom`.
#[inline(never)]
fn fun(env: Env, term: Term, depth: usize) -> Result<Owned> {
    let Some(fun) = rare::fun(env, term) else {
        return rare::read(env, term);
    };
    let mut read = rare::bare_fun(env, &fun)?;
    if let Fun::Local(local) = &mut read {
        let depth = deeper(depth)?;
        let captured = fun.captured.iter().map(|&value| read_at(env, value, depth));
        local.free = captured.collect::<Result<_>>()?;
    }
    Ok(Owned::Fun(Box::new(read)))
}

/// Reads a binary; a large one is held. Not inlined, as `atom`.
#[inline(never)]
fn binary(term: Term, bytes: &[u8]) -> Owned {
    match bytes.len() > MAX_INLINE_BINARY {
        true => Owned::Binary(held::blob(term, bytes)),
        false => Owned::binary(bytes),
    }
}

fn list(env: Env, term: Term, depth: usize) -> Result<Owned> {
    let (mut elements, mut rest) = (Vec::new(), term);
    while let Some((head, tail)) = env.cell(rest) {
        elements.push(read_at(env, head, depth)?);
        rest = tail;
    }
    if env.is_nil(rest) {
        return Ok(Owned::List(elements));
    }
    Ok(Owned::improper(elements, read_at(env, rest, depth)?))
}

fn map(env: Env, term: Term, depth: usize) -> Result<Owned> {
    let read = |(key, value)| Ok((read_at(env, key, depth)?, read_at(env, value, depth)?));
    let pairs: Result<Vec<_>> = env.pairs(term).into_iter().map(read).collect();
    Ok(Owned::Map(Map::new(pairs?)))
}
