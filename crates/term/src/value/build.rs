//! Values read straight into another representation of terms.

use std::sync::Arc;

use crate::{Atom, MAX_DEPTH, Pid, Term};

use super::error::{ValueError, ValueErrorKind};
use super::reader::{Reader, Result};
use super::{decode, tag};

/// Makes terms of another representation, from the leaves up.
pub trait Build {
    /// A term of it.
    type Out: Copy;

    /// An integer.
    fn int(&mut self, value: i64) -> Self::Out;
    /// A float, always finite.
    fn float(&mut self, value: f64) -> Self::Out;
    /// An atom.
    fn atom(&mut self, atom: Atom) -> Self::Out;
    /// A binary.
    fn binary(&mut self, bytes: &[u8]) -> Self::Out;
    /// A binary that is shared: more than [`MAX_INLINE_BINARY`](super::MAX_INLINE_BINARY) bytes.
    fn blob(&mut self, blob: &Arc<[u8]>) -> Self::Out;
    /// The same of one of the blobs that the value, or what it is part of, holds.
    #[inline]
    fn blob_of(&mut self, blobs: &[Arc<[u8]>], place: usize) -> Self::Out {
        self.blob(&blobs[place])
    }
    /// A list of integers from 0 to 255.
    fn string(&mut self, bytes: &[u8]) -> Self::Out;
    /// A list; empty, proper or with the tail given.
    fn list(&mut self, elements: &[Self::Out], tail: Option<Self::Out>) -> Self::Out;
    /// A tuple.
    fn tuple(&mut self, elements: &[Self::Out]) -> Self::Out;
    /// A tuple of so many elements that get their places afterwards, by [`Build::put`], in order, or never; `None` if
    /// tuples of this size (which may be anything) are made whole, by [`Build::tuple`].
    fn begin_tuple(&mut self, _arity: usize) -> Option<Self::Out> {
        None
    }
    /// Puts the element at its place, from 0, in a tuple of [`Build::begin_tuple`].
    fn put(&mut self, _tuple: Self::Out, _at: usize, _element: Self::Out) {}
    /// A map of so many pairs that get their places afterwards, by [`Build::put_pair`], in exact order of the keys, or
    /// never; `None` if maps of this size (which may be anything) are made whole, by [`Build::map`].
    fn begin_map(&mut self, _size: usize) -> Option<Self::Out> {
        None
    }
    /// Puts the pair at its place, from 0, in a map of [`Build::begin_map`].
    fn put_pair(&mut self, _map: Self::Out, _at: usize, _key: Self::Out, _value: Self::Out) {}
    /// What a map of [`Build::begin_map`] is when all its pairs have got their places.
    fn end_map(&mut self, map: Self::Out) -> Self::Out {
        map
    }
    /// A map: keys and values in turn, in exact order of the keys, which are all different.
    fn map(&mut self, pairs: &[Self::Out]) -> Self::Out;
    /// A process identifier.
    fn pid(&mut self, pid: &Pid) -> Self::Out;
    /// A big integer, bitstring, port, reference or fun.
    fn other(&mut self, term: &Term) -> Self::Out;
}

/// As [`decode`](super::decode), for a caller with terms of its own. `stack` is scratch memory, left as it was.
///
/// # Errors
///
/// As [`decode`](super::decode).
pub fn build<B: Build>(
    bytes: &mut &[u8],
    blobs: &[Arc<[u8]>],
    builder: &mut B,
    stack: &mut Vec<B::Out>,
) -> Result<B::Out, ValueError> {
    let bottom = stack.len();
    let mut run = Run {
        reader: Reader { left: bytes },
        blobs,
        builder,
        stack,
        wrong: ValueErrorKind::Truncated,
    };
    let built = run.term(0);
    let (left, wrong) = (run.reader.left, run.wrong);
    stack.truncate(bottom);
    match built {
        Some(out) => {
            *bytes = left;
            Ok(out)
        }
        None => Err(ValueError {
            offset: bytes.len() - left.len(),
            kind: wrong,
        }),
    }
}

struct Run<'a, 'b, B: Build> {
    reader: Reader<'a>,
    blobs: &'b [Arc<[u8]>],
    builder: &'b mut B,
    stack: &'b mut Vec<B::Out>,
    /// What is wrong, when a method has returned `None`: apart, so that a term comes back in registers.
    wrong: ValueErrorKind,
}

impl<B: Build> Run<'_, '_, B> {
    #[inline(always)]
    fn note<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(found) => Some(found),
            Err(kind) => {
                self.wrong = kind;
                None
            }
        }
    }

    #[inline(always)]
    fn term(&mut self, depth: usize) -> Option<B::Out> {
        let before = self.reader.left;
        let tag = self.reader.byte();
        let tag = self.note(tag)?;
        match decode::int(&mut self.reader, tag) {
            Some(value) => {
                let value = self.note(value)?;
                Some(self.builder.int(value))
            }
            None => self.other(before, tag, depth),
        }
    }

    #[inline(never)]
    fn other(&mut self, before: &[u8], tag: u8, depth: usize) -> Option<B::Out> {
        match tag {
            0xAC..=0xAF => {
                let atom = decode::atom(&mut self.reader, usize::from(tag - tag::ATOM_0));
                let atom = self.note(atom)?;
                Some(self.builder.atom(atom))
            }
            0xB0..=0xBF => self.binary(usize::from(tag - tag::BINARY_0)),
            tag::BINARY => {
                let length = self.reader.byte();
                let length = self.note(length)?;
                self.binary(usize::from(length))
            }
            0xD8..=0xDF if depth < MAX_DEPTH => self.tuple(u64::from(tag - tag::TUPLE_0), depth),
            tag::MAP if depth < MAX_DEPTH => self.map(depth),
            _ => self.less_common(before, tag, depth),
        }
    }

    #[inline(never)]
    fn less_common(&mut self, before: &[u8], tag: u8, depth: usize) -> Option<B::Out> {
        match tag {
            tag::FLOAT => {
                let bytes = self.reader.array();
                let value = f64::from_le_bytes(self.note(bytes)?);
                Some(self.builder.float(value))
            }
            tag::BLOB => self.blob(),
            tag::PID => {
                let pid = decode::pid(&mut self.reader);
                let pid = self.note(pid)?;
                Some(self.builder.pid(&pid))
            }
            tag::NIL => Some(self.builder.list(&[], None)),
            tag::STRING => {
                let bytes = self.reader.counted();
                let bytes = self.note(bytes)?;
                Some(self.builder.string(bytes))
            }
            _ if depth >= MAX_DEPTH => self.note(Err(ValueErrorKind::TooDeep)),
            tag::LIST | tag::IMPROPER => self.list(tag == tag::IMPROPER, depth),
            tag::TUPLE => {
                let arity = self.length()?;
                self.tuple(arity, depth)
            }
            _ => self.rare(before),
        }
    }

    #[inline]
    fn length(&mut self) -> Option<u64> {
        let length = self.reader.length();
        self.note(length)
    }

    #[inline]
    fn binary(&mut self, length: usize) -> Option<B::Out> {
        let bytes = self.reader.take(length);
        let bytes = self.note(bytes)?;
        Some(self.builder.binary(bytes))
    }

    fn blob(&mut self) -> Option<B::Out> {
        let place = self.length()?;
        match usize::try_from(place) {
            Ok(at) if at < self.blobs.len() => Some(self.builder.blob_of(self.blobs, at)),
            _ => self.note(Err(ValueErrorKind::NoBlob(place))),
        }
    }

    /// Puts `count` terms on the stack; says where they begin.
    fn terms(&mut self, count: u64, depth: usize) -> Option<usize> {
        let bottom = self.stack.len();
        for _ in 0..count {
            let term = self.term(depth + 1)?;
            self.stack.push(term);
        }
        Some(bottom)
    }

    fn list(&mut self, improper: bool, depth: usize) -> Option<B::Out> {
        let count = self.length()?;
        let bottom = self.terms(count, depth)?;
        let tail = if improper {
            Some(self.term(depth + 1)?)
        } else {
            None
        };
        let list = self.builder.list(&self.stack[bottom..], tail);
        self.stack.truncate(bottom);
        Some(list)
    }

    fn tuple(&mut self, arity: u64, depth: usize) -> Option<B::Out> {
        let Some(tuple) = self.builder.begin_tuple(count(arity)) else {
            let bottom = self.terms(arity, depth)?;
            let tuple = self.builder.tuple(&self.stack[bottom..]);
            self.stack.truncate(bottom);
            return Some(tuple);
        };
        for at in 0..count(arity) {
            let element = self.term(depth + 1)?;
            self.builder.put(tuple, at, element);
        }
        Some(tuple)
    }

    fn map(&mut self, depth: usize) -> Option<B::Out> {
        let size = self.length()?;
        let Some(map) = self.builder.begin_map(count(size)) else {
            let bottom = self.terms(size.saturating_mul(2), depth)?;
            let map = self.builder.map(&self.stack[bottom..]);
            self.stack.truncate(bottom);
            return Some(map);
        };
        for at in 0..count(size) {
            let key = self.term(depth + 1)?;
            let value = self.term(depth + 1)?;
            self.builder.put_pair(map, at, key, value);
        }
        Some(self.builder.end_map(map))
    }

    /// Kinds that need more than bytes are made by way of a [`Term`].
    #[cold]
    fn rare(&mut self, before: &[u8]) -> Option<B::Out> {
        let mut bytes = before;
        let term = decode::decode(&mut bytes, self.blobs).map_err(|error| error.kind);
        let term = self.note(term)?;
        let taken = before.len() - bytes.len();
        // The tag is read already.
        let rest = self.reader.take(taken - 1);
        self.note(rest)?;
        Some(self.builder.other(&term))
    }
}

/// As many as that, or more than there can be.
fn count(parts: u64) -> usize {
    usize::try_from(parts).unwrap_or(usize::MAX)
}

/// As [`build`], from a [`Term`].
pub fn build_term<B: Build>(term: &Term, builder: &mut B) -> B::Out {
    let all = |terms: &[Term], builder: &mut B| -> Vec<B::Out> {
        terms.iter().map(|t| build_term(t, builder)).collect()
    };
    match term {
        Term::Int(value) => builder.int(*value),
        Term::Float(value) => builder.float(value.get()),
        Term::Atom(atom) => builder.atom(*atom),
        Term::Binary(bytes) if bytes.len() > super::MAX_INLINE_BINARY => builder.blob(bytes),
        Term::Binary(bytes) => builder.binary(bytes),
        Term::Pid(pid) => builder.pid(pid),
        Term::Tuple(elements) => {
            let elements = all(elements, builder);
            builder.tuple(&elements)
        }
        Term::List(elements) => {
            let elements = all(elements, builder);
            builder.list(&elements, None)
        }
        Term::Improper(elements, tail) => {
            let elements = all(elements, builder);
            let tail = build_term(tail, builder);
            builder.list(&elements, Some(tail))
        }
        Term::Map(map) => {
            let pair = |(k, v): &(Term, Term)| [build_term(k, builder), build_term(v, builder)];
            let pairs: Vec<B::Out> = map.pairs().iter().flat_map(pair).collect();
            builder.map(&pairs)
        }
        other => builder.other(other),
    }
}

#[cfg(test)]
mod tests;
