//! A term of the machine as a [`Term`](fyris_term::Term), of any depth.

use std::marker::PhantomData;

use fyris_term::value::MAX_INLINE_BINARY;
use fyris_term::walk::{Grow, Part, grow};
use fyris_term::{Float, Fun, Map, Term as Owned};

use super::{Result, external};
use crate::kind::map::tree::Pair;
use crate::kind::{atom, binary as large, fun, pid};
use crate::machine::{Env, ErlNifTermType as Kind, Term};

/// Returns the term. O(size).
pub(crate) fn read(env: Env, term: Term) -> Result<Owned> {
    let mut reader = Reader {
        env,
        terms: PhantomData,
    };
    match reader.open(term)? {
        Part::Leaf(term) => Ok(term),
        Part::Open(frame) => grow(&mut reader, frame),
    }
}

struct Reader<'t> {
    env: Env,
    terms: PhantomData<&'t [Term]>,
}

/// A container that is being read.
struct Frame<'t> {
    inside: Inside<'t>,
    read: Vec<Owned>,
}

/// What of a container is to be read.
enum Inside<'t> {
    Tuple(&'t [Term]),
    /// What begins with the next cell, or is the tail.
    List(Term),
    Tailed,
    /// Keys and values in turn.
    Map(Vec<Pair>),
    Fun(Box<Fun>, &'t [Term]),
}

impl<'t> Reader<'t> {
    /// Reads a term, or begins to read a container.
    fn open(&self, term: Term) -> Result<Part<Owned, Frame<'t>>> {
        let env = self.env;
        if let Some(value) = term.small() {
            return Ok(Part::Leaf(Owned::Int(value)));
        }
        if term.atom_index().is_some() {
            return atom::stored(env, term).map(Owned::Atom).map(Part::Leaf);
        }
        let inside = match env.kind(term) {
            Kind::ERL_NIF_TERM_TYPE_TUPLE => Inside::Tuple(env.tuple(term).unwrap_or(&[])),
            Kind::ERL_NIF_TERM_TYPE_LIST => Inside::List(term),
            Kind::ERL_NIF_TERM_TYPE_MAP => Inside::Map(env.pairs(term)),
            Kind::ERL_NIF_TERM_TYPE_FUN => match fun::see(env, term) {
                Some(fun) => Inside::Fun(Box::new(fun.bare(env)?), fun.captured),
                None => return external::read(env, term).map(Part::Leaf),
            },
            kind => return self.leaf(term, kind).map(Part::Leaf),
        };
        Ok(Part::Open(Frame {
            inside,
            read: Vec::new(),
        }))
    }

    fn leaf(&self, term: Term, kind: Kind) -> Result<Owned> {
        let env = self.env;
        let known = match kind {
            Kind::ERL_NIF_TERM_TYPE_FLOAT => env.float(term).and_then(Float::new).map(Owned::Float),
            Kind::ERL_NIF_TERM_TYPE_INTEGER => env.integer(term).map(Owned::Int),
            Kind::ERL_NIF_TERM_TYPE_BITSTRING => env.binary(term).map(|bytes| binary(term, bytes)),
            Kind::ERL_NIF_TERM_TYPE_PID => {
                let id = term.local_pid();
                id.map(|id| Owned::Pid(Box::new(pid::local_pid(id))))
            }
            _ => None,
        };
        known.map_or_else(|| external::read(env, term), Ok)
    }

    /// Returns the next term inside a container.
    fn next(&self, frame: &mut Frame<'t>) -> Option<Term> {
        let at = frame.read.len();
        match &mut frame.inside {
            Inside::Tuple(elements) | Inside::Fun(_, elements) => elements.get(at).copied(),
            Inside::Map(pairs) => {
                let (key, value) = *pairs.get(at / 2)?;
                Some(if at.is_multiple_of(2) { key } else { value })
            }
            Inside::List(rest) => match self.env.cell(*rest) {
                Some((head, tail)) => {
                    *rest = tail;
                    Some(head)
                }
                None if self.env.is_nil(*rest) => None,
                None => {
                    let tail = *rest;
                    frame.inside = Inside::Tailed;
                    Some(tail)
                }
            },
            Inside::Tailed => None,
        }
    }
}

/// Reads a binary; a large one is held.
fn binary(term: Term, bytes: &[u8]) -> Owned {
    match bytes.len() > MAX_INLINE_BINARY {
        true => Owned::Binary(large::blob(term, bytes)),
        false => Owned::binary(bytes),
    }
}

impl<'t> Grow for Reader<'t> {
    type Out = Owned;
    type Frame = Frame<'t>;
    type Error = fyris::Error;

    fn part(&mut self, frame: &mut Frame<'t>) -> Result<Option<Part<Owned, Frame<'t>>>> {
        let next = self.next(frame);
        next.map(|term| self.open(term)).transpose()
    }

    fn put(&mut self, frame: &mut Frame<'t>, part: Owned) {
        frame.read.push(part);
    }

    fn finish(&mut self, frame: Frame<'t>) -> Result<Owned> {
        let mut read = frame.read;
        Ok(match frame.inside {
            Inside::Tuple(_) => Owned::tuple(read),
            Inside::List(_) => Owned::list(read),
            Inside::Tailed => {
                let tail = read.pop().unwrap_or_else(|| Owned::list([]));
                Owned::improper(read, tail)
            }
            Inside::Map(_) => {
                let mut parts = read.into_iter();
                let pairs = std::iter::from_fn(|| Some((parts.next()?, parts.next()?)));
                Owned::Map(pairs.collect::<Map>())
            }
            Inside::Fun(mut fun, _) => {
                if let Fun::Local(fun) = &mut *fun {
                    fun.free = read.into();
                }
                Owned::Fun(fun)
            }
        })
    }
}
