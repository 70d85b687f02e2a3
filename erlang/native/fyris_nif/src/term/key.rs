//! A term of the machine as key bytes.

use fyris_term::key::{Flat, KeyBuf, KeyWriter};
use fyris_term::{Float, Fun};

use super::{DEEP, Result, read};
use crate::kind::map::tree::Pair;
use crate::kind::{Cells, Seen, atom, fun, pid, see};
use crate::machine::{Env, Term};

/// How deep a term stands within a key, and whether the key is looked up or to be stored.
#[derive(Clone, Copy)]
struct At {
    depth: usize,
    looks_up: bool,
}

impl At {
    /// At the key itself.
    fn top(looks_up: bool) -> At {
        At { depth: 0, looks_up }
    }

    fn inside(self) -> At {
        At {
            depth: self.depth + 1,
            ..self
        }
    }
}

/// Writes the key of a term that is to be stored. O(size).
#[inline]
pub(crate) fn read_key(env: Env, term: Term, buf: &mut KeyBuf) -> Result<()> {
    match set_simple(term, buf) {
        true => Ok(()),
        false => read_any(env, term, buf, At::top(false)),
    }
}

/// Writes the key of a term that is looked up: atoms that Fyris does not have are written by name, which orders them,
/// and get no number, but for names of nodes and of funs, and atoms more than [`DEEP`] levels down. O(size).
#[inline]
pub(crate) fn find_key(env: Env, term: Term, buf: &mut KeyBuf) -> Result<()> {
    match set_simple(term, buf) {
        true => Ok(()),
        false => read_any(env, term, buf, At::top(true)),
    }
}

/// Writes the key of a term whose kind most keys have and whose atoms were met before; false for any other.
#[inline]
fn set_simple(term: Term, buf: &mut KeyBuf) -> bool {
    if let Some(value) = term.small() {
        buf.set_int(value);
        return true;
    }
    if let Some(atom) = atom::met(term) {
        buf.set_atom(atom);
        return true;
    }
    match see(term) {
        Seen::Binary(bytes) => {
            buf.set_binary(bytes);
            true
        }
        Seen::Tuple(elements) => buf.set_flat_tuple(elements.iter().map(|&e| flat(e))),
        _ => false,
    }
}

/// Returns an element of a tuple, if it is of one of the kinds that most keys are made of.
#[inline]
fn flat<'t>(term: Term) -> Option<Flat<'t>> {
    if let Some(value) = term.small() {
        return Some(Flat::Int(value));
    }
    if term.atom_index().is_some() {
        return atom::met(term).map(Flat::Atom);
    }
    match see(term) {
        Seen::Binary(bytes) => Some(Flat::Binary(bytes)),
        _ => None,
    }
}

#[inline(never)]
fn read_any(env: Env, term: Term, buf: &mut KeyBuf, at: At) -> Result<()> {
    let mut writer = KeyWriter::new(buf);
    write(env, term, &mut writer, at)?;
    writer.finish();
    Ok(())
}

fn write(env: Env, term: Term, out: &mut KeyWriter<'_>, at: At) -> Result<()> {
    if let Some(value) = term.small() {
        out.int(value);
        return Ok(());
    }
    if let Some(atom) = atom::met(term) {
        out.atom(atom);
        return Ok(());
    }
    match see(term) {
        Seen::Tuple(_) | Seen::List(_) | Seen::Map(_) | Seen::Tree if at.depth >= DEEP => {
            return by_term(env, term, out);
        }
        Seen::Tuple(elements) => {
            out.begin_tuple(elements.len());
            let mut elements = elements.iter();
            return elements.try_for_each(|&e| write(env, e, out, at.inside()));
        }
        Seen::List(cells) => return list(env, cells, out, at.inside()),
        Seen::Map(few) => {
            let pairs = few.keys.iter().copied().zip(few.values.iter().copied());
            return map(env, pairs, out, at.inside());
        }
        Seen::Tree => return map(env, env.pairs(term).into_iter(), out, at.inside()),
        Seen::Float(value) => out.float(Float::new(value).unwrap_or(Float::ZERO)),
        Seen::Binary(bytes) => out.binary(bytes),
        Seen::Large(large) => match large.as_int() {
            Some(value) => out.int(value),
            None => return by_term(env, term, out),
        },
        Seen::Other => return other(env, term, out, at),
    }
    Ok(())
}

// The functions below are not inlined: the stack space of each would be needed at every level of a deep term.

/// Writes `[]`, an atom that was not met before, a process of this node, a fun, a binary that is not in the heap, or
/// what is written by way of a [`Term`](fyris_term::Term).
#[inline(never)]
fn other(env: Env, term: Term, out: &mut KeyWriter<'_>, at: At) -> Result<()> {
    if term == atom::nil(env) {
        out.nil();
    } else if term.atom_index().is_some() {
        new_atom(env, term, out, at)?;
    } else if let Some(id) = term.local_pid() {
        out.pid(&pid::local_pid(id));
    } else if let Some(fun) = fun::see(env, term).filter(|_| at.depth < DEEP) {
        begin_fun(env, &fun, out)?;
        let mut captured = fun.captured.iter();
        return captured.try_for_each(|&value| write(env, value, out, at.inside()));
    } else if let Some(bytes) = env.binary(term) {
        out.binary(bytes);
    } else {
        by_term(env, term, out)?;
    }
    Ok(())
}

/// Writes an atom that was not met before.
fn new_atom(env: Env, term: Term, out: &mut KeyWriter<'_>, at: At) -> Result<()> {
    match at.looks_up.then(|| atom::known(env, term)).flatten() {
        Some(Err(name)) => out.atom_name(&name),
        Some(Ok(atom)) => out.atom(atom),
        None => out.atom(atom::stored(env, term)?),
    }
    Ok(())
}

#[inline(never)]
fn by_term(env: Env, term: Term, out: &mut KeyWriter<'_>) -> Result<()> {
    out.term(&read(env, term)?);
    Ok(())
}

/// Begins a fun, whose captured values follow.
#[inline(never)]
fn begin_fun(env: Env, fun: &fun::SeenFun<'_>, out: &mut KeyWriter<'_>) -> Result<()> {
    match fun.bare(env)? {
        Fun::Local(bare) => out.begin_local_fun(&bare, fun.captured.len()),
        Fun::External {
            module,
            function,
            arity,
        } => out.external_fun(module, function, arity),
    }
    Ok(())
}

#[inline(never)]
fn list(env: Env, mut cells: Cells, out: &mut KeyWriter<'_>, at: At) -> Result<()> {
    for head in cells.by_ref() {
        out.cons();
        write(env, head, out, at)?;
    }
    write(env, cells.end(), out, at)
}

#[inline(never)]
fn map(
    env: Env,
    pairs: impl ExactSizeIterator<Item = Pair>,
    out: &mut KeyWriter<'_>,
    at: At,
) -> Result<()> {
    out.begin_map(pairs.len());
    for (key, value) in pairs {
        out.map_key();
        write(env, key, out, at)?;
        out.map_value();
        write(env, value, out, at)?;
    }
    out.end_map();
    Ok(())
}

/// Returns bytes that sort as keys of a map do: those of a map with this key only.
pub(crate) fn exact_order(env: Env, term: Term, depth: usize) -> Result<KeyBuf> {
    let mut buf = KeyBuf::new();
    let mut writer = KeyWriter::new(&mut buf);
    writer.begin_map(1);
    writer.map_key();
    let at = At {
        depth,
        looks_up: false,
    };
    write(env, term, &mut writer, at)?;
    writer.map_value();
    writer.nil();
    writer.end_map();
    writer.finish();
    Ok(buf)
}
