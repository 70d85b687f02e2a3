//! Writing values.

use std::convert::Infallible;

use num_bigint::BigInt;
use smallvec::SmallVec;

use crate::walk::{Open, Parts, Visit, walk};
use crate::{Atom, Blob, Fun, Map, Pid, Reference, Term};

use super::fun::FunCode;
use super::shape::{MAX_SHAPE_KEYS, Shape};
use super::token::Token;
use super::{MAX_INLINE_BINARY, tag};

/// Appends the value of `term` to `out`, and its large binaries to `blobs`, by reference. O(size).
#[inline]
pub fn encode(term: &Term, out: &mut Vec<u8>, blobs: &mut Vec<Blob>) {
    match term {
        Term::Int(value) => int(*value, out),
        other => ValueWriter { out, blobs }.term(other),
    }
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

impl AsRef<[u8]> for IntBytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// Returns the shape of a map, if it has one. Not inlined: its stack space would be needed at every level of a deep
/// term.
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
    pub(super) fn term(&mut self, term: &Term) {
        let Ok(()) = walk(self, term);
    }

    /// Writes a term without parts that is no integer of 64 bits and no atom.
    fn leaf(&mut self, term: &Term) {
        match term {
            Term::Big(value) => self.big_integer(value),
            Term::Float(value) => self.float(*value),
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
            // `open` writes the others.
            _ => {}
        }
    }

    /// Writes a list of bytes, or the beginning of any other list; returns its elements if they are still to be
    /// written.
    fn list<'t>(&mut self, elements: &'t [Term]) -> Option<Parts<'t>> {
        if elements.is_empty() {
            self.out.push(tag::NIL);
            return None;
        }
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
            return None;
        }
        self.out.truncate(start);
        self.head(tag::LIST, elements.len());
        Some(Parts::Terms(elements))
    }

    /// Writes the beginning of a map.
    #[inline(never)]
    fn map<'t>(&mut self, map: &'t Map) -> Parts<'t> {
        if let Some(shape) = shape_of(map) {
            self.shape(shape);
            return Parts::Values(map.pairs());
        }
        self.head(tag::MAP, map.len());
        Parts::Pairs(map.pairs())
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

    /// Writes a fun, up to the values that it has captured.
    #[inline(never)]
    fn fun<'t>(&mut self, fun: &'t Fun) -> Option<Parts<'t>> {
        match fun {
            Fun::External {
                module,
                function,
                arity,
            } => {
                self.external_fun(*module, *function, *arity);
                None
            }
            Fun::Local(fun) => {
                self.begin_fun(&FunCode::of(fun), &fun.creator, fun.free.len());
                Some(Parts::Terms(&fun.free))
            }
        }
    }
}

impl<'t> Visit<'t> for ValueWriter<'_> {
    type Mark = ();
    type Stop = Infallible;

    // Always: what it returns would go through memory.
    #[inline(always)]
    fn open(&mut self, term: &'t Term) -> Result<Option<Open<'t, ()>>, Infallible> {
        let parts = match term {
            Term::Int(value) => {
                int(*value, self.out);
                None
            }
            Term::Atom(atom) => {
                self.put_atom(*atom);
                None
            }
            Term::Tuple(elements) => {
                self.begin_tuple(elements.len());
                Some(Parts::Terms(elements))
            }
            Term::List(elements) => self.list(elements),
            Term::Improper(elements, tail) => {
                self.head(tag::IMPROPER, elements.len());
                Some(Parts::Cells(elements, tail))
            }
            Term::Map(map) => Some(self.map(map)),
            Term::Fun(fun) => self.fun(fun),
            Term::Record(record) => Some(Parts::Terms(self.record(record))),
            leaf => {
                self.leaf(leaf);
                None
            }
        };
        Ok(parts.map(|parts| Open { parts, mark: () }))
    }
}
