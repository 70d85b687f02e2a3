//! A term of the machine as key bytes.

use fyris_term::key::{Flat, KeyBuf, KeyWriter};
use fyris_term::{Float, Fun};

use super::{DEEP, Result, pids, rare, read};
use crate::atoms;
use crate::funs;
use crate::sys::{Env, ErlNifTermType as Kind, Term};
use crate::words::{self, Seen};

/// Becomes the key of a term. O(size).
#[inline]
pub(crate) fn read_key(env: Env, term: Term, buf: &mut KeyBuf) -> Result<()> {
    if let Some(value) = term.small() {
        buf.set_int(value);
        return Ok(());
    }
    if term.atom_index().is_some() {
        buf.set_atom(rare::atom(env, term)?);
        return Ok(());
    }
    match words::see(term) {
        Seen::Binary(bytes) => buf.set_binary(bytes),
        Seen::Tuple(elements) if buf.set_flat_tuple(elements.iter().map(|&e| flat(env, e))) => {}
        _ => return read_any(env, term, buf),
    }
    Ok(())
}

/// Returns an element of a tuple, if it is of one of the kinds that most keys are made of.
#[inline]
fn flat<'t>(env: Env, term: Term) -> Option<Flat<'t>> {
    if let Some(value) = term.small() {
        return Some(Flat::Int(value));
    }
    if term.atom_index().is_some() {
        return rare::atom(env, term).ok().map(Flat::Atom);
    }
    match words::see(term) {
        Seen::Binary(bytes) => Some(Flat::Binary(bytes)),
        _ => None,
    }
}

#[inline(never)]
fn read_any(env: Env, term: Term, buf: &mut KeyBuf) -> Result<()> {
    if let Some(bytes) = env.binary(term) {
        buf.set_binary(bytes);
        return Ok(());
    }
    let mut writer = KeyWriter::new(buf);
    write(env, term, &mut writer, 0)?;
    writer.finish();
    Ok(())
}

fn write(env: Env, term: Term, out: &mut KeyWriter<'_>, depth: usize) -> Result<()> {
    if let Some(value) = term.small() {
        out.int(value);
        return Ok(());
    }
    match env.kind(term) {
        Kind::ERL_NIF_TERM_TYPE_TUPLE
        | Kind::ERL_NIF_TERM_TYPE_LIST
        | Kind::ERL_NIF_TERM_TYPE_MAP
        | Kind::ERL_NIF_TERM_TYPE_FUN
            if depth >= DEEP =>
        {
            out.term(&read(env, term)?);
        }
        Kind::ERL_NIF_TERM_TYPE_ATOM => out.atom(rare::atom(env, term)?),
        Kind::ERL_NIF_TERM_TYPE_TUPLE => return tuple(env, term, out, depth),
        Kind::ERL_NIF_TERM_TYPE_LIST => return list(env, term, out, depth),
        Kind::ERL_NIF_TERM_TYPE_MAP => return map(env, term, out, depth),
        Kind::ERL_NIF_TERM_TYPE_FLOAT => out.float(float(env, term)),
        Kind::ERL_NIF_TERM_TYPE_INTEGER => match env.integer(term) {
            Some(value) => out.int(value),
            None => by_term(env, term, out)?,
        },
        Kind::ERL_NIF_TERM_TYPE_BITSTRING => match env.binary(term) {
            Some(bytes) => out.binary(bytes),
            None => by_term(env, term, out)?,
        },
        Kind::ERL_NIF_TERM_TYPE_PID => match term.local_pid() {
            Some(id) => out.pid(&pids::local_pid(id)),
            None => by_term(env, term, out)?,
        },
        Kind::ERL_NIF_TERM_TYPE_FUN => return fun(env, term, out, depth),
        _ => by_term(env, term, out)?,
    }
    Ok(())
}

// The functions below are not inlined: the stack space of each would be needed at every level of a deep term.

#[inline(never)]
fn by_term(env: Env, term: Term, out: &mut KeyWriter<'_>) -> Result<()> {
    out.term(&rare::read(env, term)?);
    Ok(())
}

#[inline(never)]
fn fun(env: Env, term: Term, out: &mut KeyWriter<'_>, depth: usize) -> Result<()> {
    let Some(fun) = rare::fun(env, term) else {
        return by_term(env, term, out);
    };
    begin_fun(env, &fun, out)?;
    let mut captured = fun.captured.iter();
    captured.try_for_each(|&value| write(env, value, out, depth + 1))
}

/// Begins a fun, whose captured values follow.
#[inline(never)]
fn begin_fun(env: Env, fun: &funs::Seen<'_>, out: &mut KeyWriter<'_>) -> Result<()> {
    match rare::bare_fun(env, fun)? {
        Fun::Local(bare) => out.begin_local_fun(&bare, fun.captured.len()),
        Fun::External {
            module,
            function,
            arity,
        } => out.external_fun(module, function, arity),
    }
    Ok(())
}

/// Returns the float in a term that is one.
pub(super) fn float(env: Env, term: Term) -> Float {
    env.float(term).and_then(Float::new).unwrap_or(Float::ZERO)
}

#[inline(never)]
fn tuple(env: Env, term: Term, out: &mut KeyWriter<'_>, depth: usize) -> Result<()> {
    let (elements, depth) = (env.tuple(term).unwrap_or(&[]), depth + 1);
    out.begin_tuple(elements.len());
    elements.iter().try_for_each(|&e| write(env, e, out, depth))
}

#[inline(never)]
fn list(env: Env, term: Term, out: &mut KeyWriter<'_>, depth: usize) -> Result<()> {
    let (mut rest, depth) = (term, depth + 1);
    while let Some((head, tail)) = env.cell(rest) {
        out.cons();
        write(env, head, out, depth)?;
        rest = tail;
    }
    if env.is_nil(rest) {
        out.nil();
        return Ok(());
    }
    write(env, rest, out, depth)
}

#[inline(never)]
fn map(env: Env, term: Term, out: &mut KeyWriter<'_>, depth: usize) -> Result<()> {
    let depth = depth + 1;
    // Not on the stack, where they would be once for every level.
    let pairs = env.pairs(term);
    out.begin_map(pairs.len());
    for (key, value) in pairs {
        out.map_key();
        write(env, key, out, depth)?;
        out.map_value();
        write(env, value, out, depth)?;
    }
    out.end_map();
    Ok(())
}

/// Returns bytes that sort as keys of a map do: those of a map with this key only.
pub(super) fn exact_order(env: Env, term: Term, depth: usize) -> Result<KeyBuf> {
    let mut buf = KeyBuf::new();
    let mut writer = KeyWriter::new(&mut buf);
    writer.begin_map(1);
    writer.map_key();
    write(env, term, &mut writer, depth)?;
    writer.map_value();
    writer.nil();
    writer.end_map();
    writer.finish();
    Ok(buf)
}

/// Returns the name of an atom. The order of names is the order of atoms.
pub(super) fn atom_name(env: Env, term: Term) -> Option<&'static str> {
    atoms::from_machine(env, term).map(fyris_term::Atom::as_str)
}
