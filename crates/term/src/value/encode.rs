//! Writing values.

use num_bigint::BigInt;
use smallvec::SmallVec;

use crate::{Atom, Blob, Fun, LocalFun, MAX_DEPTH, Map, Pid, Reference, Term};

use super::fun::FunCode;
use super::shape::{MAX_SHAPE_KEYS, Shape};
use super::token::Token;
use super::{MAX_INLINE_BINARY, tag};

/// The term has more levels than [`MAX_DEPTH`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a term nested deeper than {MAX_DEPTH} levels")]
pub struct TooDeep;

/// Appends the value of `term` to `out`, and its large binaries to `blobs`, by reference. O(size).
///
/// # Errors
///
/// [`TooDeep`]; `out` and `blobs` are then as they were.
#[inline]
pub fn encode(term: &Term, out: &mut Vec<u8>, blobs: &mut Vec<Blob>) -> Result<(), TooDeep> {
    match term {
        Term::Int(value) => {
            int(*value, out);
            Ok(())
        }
        other => encode_any(other, out, blobs),
    }
}

fn encode_any(term: &Term, out: &mut Vec<u8>, blobs: &mut Vec<Blob>) -> Result<(), TooDeep> {
    let before = (out.len(), blobs.len());
    let mut writer = ValueWriter { out, blobs };
    let result = writer.term(term, 0);
    if result.is_err() {
        out.truncate(before.0);
        blobs.truncate(before.1);
    }
    result
}

/// Writes an integer, in one to nine bytes.
#[inline]
pub(super) fn int(value: i64, out: &mut Vec<u8>) {
    match value {
        0..=127 => out.push(value as u8),
        -16..=-1 => out.push((value + 0x90) as u8),
        _ => long_int(value, out),
    }
}

#[inline]
fn long_int(value: i64, out: &mut Vec<u8>) {
    match Token::int(value) {
        Some(token) => push_token(token, out),
        None => out.extend_from_slice(IntBytes::new(value).as_bytes()),
    }
}

/// Appends a token. All eight bytes and back again: a copy of a fixed size is one store, not a call.
#[inline]
pub(super) fn push_token(token: Token, out: &mut Vec<u8>) {
    let end = out.len() + token.len();
    out.extend_from_slice(&token.word().to_le_bytes());
    out.truncate(end);
}

/// The value of an integer of 64 bits, by itself.
#[derive(Clone, Copy, Debug)]
pub struct IntBytes {
    bytes: [u8; 9],
    len: usize,
}

impl IntBytes {
    /// Encodes an integer. O(1), without allocation.
    #[inline]
    pub fn new(value: i64) -> IntBytes {
        let mut bytes = [0; 9];
        let len = match value {
            0..=127 => {
                bytes[0] = value as u8;
                1
            }
            -16..=-1 => {
                bytes[0] = (value + 0x90) as u8;
                1
            }
            tag::MIDDLE_FIRST..=tag::MIDDLE_LAST => {
                let bits = (value - tag::MIDDLE_FIRST) as u16;
                bytes[..2].copy_from_slice(&[tag::MIDDLE | (bits >> 8) as u8, bits as u8]);
                2
            }
            _ => {
                // One bit more than the size needs, for the sign.
                let size = value ^ (value >> 63);
                let len = (64 - size.leading_zeros() as usize) / 8 + 1;
                bytes[0] = tag::INT_0 + len as u8;
                bytes[1..].copy_from_slice(&value.to_le_bytes());
                1 + len
            }
        };
        IntBytes { bytes, len }
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Returns the bytes of an integer as one number, the first one lowest, and how many they are; `None` if they are
    /// more than eight.
    #[inline]
    pub fn word(value: i64) -> Option<(u64, usize)> {
        match value {
            0..=127 => Some((value as u64, 1)),
            -16..=-1 => Some(((value + 0x90) as u64, 1)),
            tag::MIDDLE_FIRST..=tag::MIDDLE_LAST => {
                let bits = (value - tag::MIDDLE_FIRST) as u64;
                Some((u64::from(tag::MIDDLE) | bits >> 8 | bits << 56 >> 48, 2))
            }
            _ => {
                let size = value ^ (value >> 63);
                let len = (64 - size.leading_zeros() as usize) / 8 + 1;
                let bytes = value as u64 & !(u64::MAX << (8 * len as u32 % 64));
                let tag = u64::from(tag::INT_0) + len as u64;
                (len < 8).then_some((bytes << 8 | tag, 1 + len))
            }
        }
    }
}

/// Returns the shape of a map, if it has one. Not inlined: its stack space would be needed at every level of a deep term.
#[inline(never)]
fn shape_of(map: &Map) -> Option<&'static Shape> {
    if map.len() > MAX_SHAPE_KEYS {
        return None;
    }
    let keys = map.pairs().iter().map(|(key, _)| match key {
        Term::Atom(atom) => Some(*atom),
        _ => None,
    });
    let keys: Option<SmallVec<[Atom; MAX_SHAPE_KEYS]>> = keys.collect();
    Shape::of(&keys?)
}

/// Writes a length: seven bits a byte, low ones first.
fn length(length: usize, out: &mut Vec<u8>) {
    let mut left = length;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Writes values piece by piece; the calls are in `super::writer`.
pub struct ValueWriter<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) blobs: &'a mut Vec<Blob>,
}

impl ValueWriter<'_> {
    pub(super) fn term(&mut self, term: &Term, depth: usize) -> Result<(), TooDeep> {
        match term {
            Term::Int(value) => int(*value, self.out),
            Term::Big(value) => self.big_integer(value),
            Term::Float(value) => {
                self.out.push(tag::FLOAT);
                self.out.extend_from_slice(&value.get().to_le_bytes());
            }
            Term::Atom(atom) => self.put_atom(*atom),
            Term::Binary(bytes) => self.shared_binary(bytes),
            Term::Bits(bits) => self.bits(&bits.bytes, bits.last_bits),
            Term::Pid(pid) => {
                self.out.push(tag::PID);
                self.pid_body(pid);
            }
            Term::Port(port) => {
                self.out.push(tag::PORT);
                self.words(&[port.node.id(), port.creation]);
                self.out.extend_from_slice(&port.id.to_le_bytes());
            }
            Term::Reference(reference) => self.reference(reference),
            Term::Fun(fun) => return self.fun(fun, depth),
            Term::List(elements) if elements.is_empty() && depth < MAX_DEPTH => {
                self.out.push(tag::NIL);
            }
            // Everything below is a level of its own.
            _ if depth >= MAX_DEPTH => return Err(TooDeep),
            Term::Tuple(elements) => return self.tuple(elements, depth),
            Term::List(elements) => return self.list(elements, depth),
            Term::Improper(elements, tail) => {
                self.head(tag::IMPROPER, elements.len());
                self.terms(elements, depth)?;
                return self.term(tail, depth + 1);
            }
            Term::Map(map) => return self.map(map, depth),
        }
        Ok(())
    }

    fn terms(&mut self, terms: &[Term], depth: usize) -> Result<(), TooDeep> {
        terms.iter().try_for_each(|term| self.term(term, depth + 1))
    }

    fn tuple(&mut self, elements: &[Term], depth: usize) -> Result<(), TooDeep> {
        match elements.len() {
            arity @ 0..=7 => self.out.push(tag::TUPLE_0 + arity as u8),
            arity => self.head(tag::TUPLE, arity),
        }
        self.terms(elements, depth)
    }

    fn list(&mut self, elements: &[Term], depth: usize) -> Result<(), TooDeep> {
        let start = self.out.len();
        self.head(tag::STRING, elements.len());
        let characters = self.out.len();
        for element in elements {
            match element {
                Term::Int(value @ 0..=255) => self.out.push(*value as u8),
                _ => break,
            }
        }
        if self.out.len() - characters == elements.len() {
            return Ok(());
        }
        self.out.truncate(start);
        self.head(tag::LIST, elements.len());
        self.terms(elements, depth)
    }

    #[inline(never)]
    fn map(&mut self, map: &Map, depth: usize) -> Result<(), TooDeep> {
        if let Some(shape) = shape_of(map) {
            self.shape(shape);
            let mut pairs = map.pairs().iter();
            return pairs.try_for_each(|(_, value)| self.term(value, depth + 1));
        }
        self.head(tag::MAP, map.len());
        map.pairs().iter().try_for_each(|(key, value)| {
            self.term(key, depth + 1)?;
            self.term(value, depth + 1)
        })
    }

    /// Begins a map with a shape: its values follow.
    pub(super) fn shape(&mut self, shape: &Shape) {
        push_token(Token::shape(shape), self.out);
    }

    pub(super) fn head(&mut self, tag: u8, count: usize) {
        self.out.push(tag);
        self.length(count);
    }

    pub(super) fn length(&mut self, count: usize) {
        length(count, self.out);
    }

    fn big_integer(&mut self, value: &BigInt) {
        let bytes = value.to_signed_bytes_le();
        self.head(tag::BIG, bytes.len());
        self.out.extend_from_slice(&bytes);
    }

    #[inline]
    pub(super) fn put_atom(&mut self, atom: Atom) {
        push_token(Token::atom(atom), self.out);
    }

    fn shared_binary(&mut self, bytes: &Blob) {
        match bytes.len() {
            len @ 0..=15 => self.out.push(tag::BINARY_0 + len as u8),
            len @ 16..=MAX_INLINE_BINARY => self.out.extend_from_slice(&[tag::BINARY, len as u8]),
            _ => return self.put_blob(tag::BLOB, None, bytes),
        }
        self.out.extend_from_slice(bytes);
    }

    fn bits(&mut self, bytes: &Blob, last_bits: u8) {
        if bytes.len() > MAX_INLINE_BINARY {
            return self.put_blob(tag::BITS_BLOB, Some(last_bits), bytes);
        }
        self.out
            .extend_from_slice(&[tag::BITS, last_bits, bytes.len() as u8]);
        self.out.extend_from_slice(bytes);
    }

    pub(super) fn put_blob(&mut self, tag: u8, last_bits: Option<u8>, bytes: &Blob) {
        self.out.push(tag);
        self.out.extend(last_bits);
        length(self.blobs.len(), self.out);
        self.blobs.push(bytes.clone());
    }

    pub(super) fn words(&mut self, words: &[u32]) {
        words
            .iter()
            .for_each(|word| self.out.extend_from_slice(&word.to_le_bytes()));
    }

    pub(super) fn pid_body(&mut self, pid: &Pid) {
        let words = [pid.node.id(), pid.id, pid.serial, pid.creation];
        let bytes = words.map(u32::to_le_bytes);
        self.out.extend_from_slice(bytes.as_flattened());
    }

    fn reference(&mut self, reference: &Reference) {
        self.out.push(tag::REFERENCE);
        self.words(&[reference.node.id(), reference.creation]);
        length(reference.ids.len(), self.out);
        self.words(&reference.ids);
    }

    fn fun(&mut self, fun: &Fun, depth: usize) -> Result<(), TooDeep> {
        match fun {
            Fun::External {
                module,
                function,
                arity,
            } => {
                self.external_fun(*module, *function, *arity);
                Ok(())
            }
            Fun::Local(_) if depth >= MAX_DEPTH => Err(TooDeep),
            Fun::Local(fun) => self.local_fun(fun, depth),
        }
    }

    fn local_fun(&mut self, fun: &LocalFun, depth: usize) -> Result<(), TooDeep> {
        self.begin_fun(&FunCode::of(fun), &fun.creator, fun.free.len());
        self.terms(&fun.free, depth)
    }
}
