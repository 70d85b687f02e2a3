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
    /// A list of integers from 0 to 255.
    fn string(&mut self, bytes: &[u8]) -> Self::Out;
    /// A list; empty, proper or with the tail given.
    fn list(&mut self, elements: &[Self::Out], tail: Option<Self::Out>) -> Self::Out;
    /// A tuple.
    fn tuple(&mut self, elements: &[Self::Out]) -> Self::Out;
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
    };
    let built = run.term(0);
    let left = run.reader.left;
    stack.truncate(bottom);
    match built {
        Ok(out) => {
            *bytes = left;
            Ok(out)
        }
        Err(kind) => Err(ValueError {
            offset: bytes.len() - left.len(),
            kind,
        }),
    }
}

struct Run<'a, 'b, B: Build> {
    reader: Reader<'a>,
    blobs: &'b [Arc<[u8]>],
    builder: &'b mut B,
    stack: &'b mut Vec<B::Out>,
}

impl<B: Build> Run<'_, '_, B> {
    #[inline]
    fn term(&mut self, depth: usize) -> Result<B::Out> {
        let before = self.reader.left;
        let tag = self.reader.byte()?;
        match decode::int(&mut self.reader, tag) {
            Some(value) => value.map(|value| self.builder.int(value)),
            None => self.other(before, tag, depth),
        }
    }

    fn other(&mut self, before: &[u8], tag: u8, depth: usize) -> Result<B::Out> {
        match tag {
            tag::FLOAT => {
                let value = f64::from_le_bytes(self.reader.array()?);
                Ok(self.builder.float(value))
            }
            0xAC..=0xAF => {
                let atom = decode::atom(&mut self.reader, usize::from(tag - tag::ATOM_0))?;
                Ok(self.builder.atom(atom))
            }
            0xB0..=0xBF => {
                let bytes = self.reader.take(usize::from(tag - tag::BINARY_0))?;
                Ok(self.builder.binary(bytes))
            }
            tag::BINARY => {
                let len = usize::from(self.reader.byte()?);
                let bytes = self.reader.take(len)?;
                Ok(self.builder.binary(bytes))
            }
            tag::BLOB => self.blob(),
            tag::PID => decode::pid(&mut self.reader).map(|pid| self.builder.pid(&pid)),
            tag::NIL => Ok(self.builder.list(&[], None)),
            tag::STRING => {
                let bytes = self.reader.counted()?;
                Ok(self.builder.string(bytes))
            }
            _ if depth >= MAX_DEPTH => Err(ValueErrorKind::TooDeep),
            tag::LIST | tag::IMPROPER => self.list(tag == tag::IMPROPER, depth),
            tag::MAP => self.map(depth),
            tag::TUPLE => {
                let arity = self.reader.length()?;
                self.tuple(arity, depth)
            }
            0xD8..=0xDF => self.tuple(u64::from(tag - tag::TUPLE_0), depth),
            _ => self.rare(before, depth),
        }
    }

    fn blob(&mut self) -> Result<B::Out> {
        let place = self.reader.length()?;
        let blob = usize::try_from(place).ok().and_then(|p| self.blobs.get(p));
        let blob = blob.ok_or(ValueErrorKind::NoBlob(place))?;
        Ok(self.builder.blob(blob))
    }

    /// Puts `count` terms on the stack; says where they begin.
    fn terms(&mut self, count: u64, depth: usize) -> Result<usize> {
        let bottom = self.stack.len();
        for _ in 0..count {
            let term = self.term(depth + 1)?;
            self.stack.push(term);
        }
        Ok(bottom)
    }

    fn list(&mut self, improper: bool, depth: usize) -> Result<B::Out> {
        let count = self.reader.length()?;
        let bottom = self.terms(count, depth)?;
        let tail = improper.then(|| self.term(depth + 1)).transpose()?;
        let list = self.builder.list(&self.stack[bottom..], tail);
        self.stack.truncate(bottom);
        Ok(list)
    }

    fn tuple(&mut self, arity: u64, depth: usize) -> Result<B::Out> {
        let bottom = self.terms(arity, depth)?;
        let tuple = self.builder.tuple(&self.stack[bottom..]);
        self.stack.truncate(bottom);
        Ok(tuple)
    }

    fn map(&mut self, depth: usize) -> Result<B::Out> {
        let size = self.reader.length()?;
        let bottom = self.terms(size.saturating_mul(2), depth)?;
        let map = self.builder.map(&self.stack[bottom..]);
        self.stack.truncate(bottom);
        Ok(map)
    }

    /// Kinds that need more than bytes are made by way of a [`Term`].
    #[cold]
    fn rare(&mut self, before: &[u8], _: usize) -> Result<B::Out> {
        let mut bytes = before;
        let term = decode::decode(&mut bytes, self.blobs).map_err(|error| error.kind)?;
        let taken = before.len() - bytes.len();
        // The tag is read already.
        self.reader.take(taken - 1)?;
        Ok(self.builder.other(&term))
    }
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
