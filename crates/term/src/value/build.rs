//! Values read straight into another representation of terms.

mod maps;

use std::convert::Infallible;
use std::marker::PhantomData;

use crate::walk::{Grow, Next, Part, Parts, SHALLOW, grow};
use crate::{Atom, Blob, Fun, Pid, Term};

use super::error::{ValueError, ValueErrorKind};
use super::fun::FunCode;
use super::reader::{Result, ValueReader};
use super::skip::bytes_behind;
use super::{Shape, decode, tag};

/// Makes terms of another representation, from the leaves up.
pub trait Build {
    /// A term of it.
    type Out: Copy;
    /// The keys of maps that the builder has met before.
    type KeySet;

    /// Makes an integer.
    fn int(&mut self, value: i64) -> Self::Out;
    /// Makes a float, always finite.
    fn float(&mut self, value: f64) -> Self::Out;
    /// Makes an atom.
    fn atom(&mut self, atom: Atom) -> Self::Out;
    /// Makes the atom with this number; `None` if it was never given out.
    #[inline]
    fn atom_of(&mut self, id: u32) -> Option<Self::Out> {
        Atom::from_id(id).map(|atom| self.atom(atom))
    }
    /// Makes a binary.
    fn binary(&mut self, bytes: &[u8]) -> Self::Out;
    /// Makes a binary that is shared: more than [`MAX_INLINE_BINARY`](super::MAX_INLINE_BINARY) bytes.
    fn blob(&mut self, blob: &Blob) -> Self::Out;
    /// Makes a binary that is one of the blobs that the value, or the value around it, holds.
    #[inline]
    fn blob_of(&mut self, blobs: &[Blob], place: usize) -> Self::Out {
        self.blob(&blobs[place])
    }
    /// Makes a list of integers from 0 to 255.
    fn string(&mut self, bytes: &[u8]) -> Self::Out;
    /// Makes a list; empty, proper or with the tail given.
    fn list(&mut self, elements: &[Self::Out], tail: Option<Self::Out>) -> Self::Out;
    /// Begins a list of a number of elements that get their places afterwards, by [`Build::put_cell`], in order, or
    /// never; `None` if lists of this length (which may be anything) are made whole, by [`Build::list`].
    fn begin_list(&mut self, _length: usize) -> Option<Self::Out> {
        None
    }
    /// Puts the element at its place, from 0, in a list of [`Build::begin_list`].
    fn put_cell(&mut self, _list: Self::Out, _at: usize, _element: Self::Out) {}
    /// Returns the finished list of [`Build::begin_list`], when all its elements have their places: proper, or with the
    /// tail given.
    fn end_list(&mut self, list: Self::Out, _length: usize, _tail: Option<Self::Out>) -> Self::Out {
        list
    }
    /// Makes a tuple.
    fn tuple(&mut self, elements: &[Self::Out]) -> Self::Out;
    /// Begins a tuple of a number of elements that get their places afterwards, by [`Build::put`], each once, or never;
    /// `None` if tuples of this size (which may be anything) are made whole, by [`Build::tuple`].
    fn begin_tuple(&mut self, _arity: usize) -> Option<Self::Out> {
        None
    }
    /// Puts the element at its place, from 0, in a tuple of [`Build::begin_tuple`].
    fn put(&mut self, _tuple: Self::Out, _at: usize, _element: Self::Out) {}
    /// Begins a map of a number of pairs that get their places afterwards, by [`Build::put_pair`], in exact order of
    /// the keys, or never; `None` if maps of this size (which may be anything) are made whole, by [`Build::map`].
    fn begin_map(&mut self, _size: usize) -> Option<Self::Out> {
        None
    }
    /// Puts the pair at its place, from 0, in a map of [`Build::begin_map`].
    fn put_pair(&mut self, _map: Self::Out, _at: usize, _key: Self::Out, _value: Self::Out) {}
    /// Returns the finished map of [`Build::begin_map`], when all its pairs have their places.
    fn end_map(&mut self, map: Self::Out) -> Self::Out {
        map
    }
    /// Begins a map with the keys of a shape, whose values get their places afterwards, by [`Build::put_value`], in the
    /// order of the keys, or never; `None` if such maps are made whole, by [`Build::map`].
    fn begin_shape(&mut self, _shape: &'static Shape) -> Option<Self::Out> {
        None
    }
    /// Puts the value at its place, from 0, in a map of [`Build::begin_shape`].
    fn put_value(&mut self, _map: Self::Out, _at: usize, _value: Self::Out) {}
    /// Returns the finished map of [`Build::begin_shape`], when all its values have their places.
    fn end_shape(&mut self, map: Self::Out) -> Self::Out {
        map
    }
    /// Returns the likely keys of a map of some size (any number, in corrupt bytes) whose pairs are the first of some
    /// bytes; `None` if no such keys were met.
    #[inline]
    fn likely_keys(&mut self, _size: usize, _pairs: &[u8]) -> Option<Self::KeySet> {
        None
    }
    /// Returns the key at a place, from 0, as a value that bytes tell from others ([`is_plain`](super::is_plain)).
    fn key_at(keys: &Self::KeySet, place: usize) -> &[u8];
    /// Makes a map of keys of [`Build::likely_keys`], and of as many values, in exact order of the keys.
    fn map_of(&mut self, keys: &Self::KeySet, values: &[Self::Out]) -> Self::Out;
    /// Makes a map: keys and values in turn, in exact order of the keys, which are all different.
    fn map(&mut self, pairs: &[Self::Out]) -> Self::Out;
    /// Makes a process identifier: the number of its node's atom, its two numbers, and the creation of the node. `None`
    /// if it is made by [`Build::other`].
    fn pid(&mut self, _node: u32, _id: u32, _serial: u32, _creation: u32) -> Option<Self::Out> {
        None
    }
    /// Makes a port: the number of its node's atom, the creation of the node, and its number. `None` if it is made by
    /// [`Build::other`].
    fn port(&mut self, _node: u32, _creation: u32, _id: u64) -> Option<Self::Out> {
        None
    }
    /// Makes a reference: the number of its node's atom and the creation of that node; its numbers, low bytes first;
    /// and the blobs that the value came with. `None` if it is made by [`Build::other`].
    fn reference(
        &mut self,
        _node: (u32, u32),
        _ids: &[[u8; 4]],
        _blobs: &[Blob],
    ) -> Option<Self::Out> {
        None
    }
    /// Makes an integer of more than 64 bits from its bytes in two's complement, low ones first. `None` if it is made
    /// by [`Build::other`].
    fn big(&mut self, _bytes: &[u8]) -> Option<Self::Out> {
        None
    }
    /// Makes an external fun: the numbers of the atoms of module and function, and the arity. `None` if it is made by
    /// [`Build::other`].
    fn external_fun(&mut self, _module: u32, _function: u32, _arity: u8) -> Option<Self::Out> {
        None
    }
    /// Begins a closure of a number of captured values (which may be anything) that get their places afterwards, by
    /// [`Build::put_captured`], in order, or never; `None` if it is made by [`Build::other`]. The creator is in the
    /// order of [`Build::pid`].
    fn begin_fun(
        &mut self,
        _code: &FunCode,
        _creator: [u32; 4],
        _captured: usize,
    ) -> Option<Self::Out> {
        None
    }
    /// Puts the captured value at its place, from 0, in a closure of [`Build::begin_fun`].
    fn put_captured(&mut self, _fun: Self::Out, _at: usize, _value: Self::Out) {}
    /// Makes a big integer, bitstring, process identifier, port, reference, fun or native record.
    fn other(&mut self, term: &Term) -> Self::Out;
}

/// Makes the value at the front of `bytes`, which then starts behind it, out of the caller's own terms: what
/// [`decode`](super::decode) makes as a [`Term`]. O(size). `stack` is scratch memory, left as it was.
///
/// # Errors
///
/// Bytes that [`encode`](super::encode) did not write; `bytes` is then as it was.
pub fn build<B: Build>(
    bytes: &mut &[u8],
    blobs: &[Blob],
    builder: &mut B,
    stack: &mut Vec<B::Out>,
) -> Result<B::Out, ValueError> {
    let bottom = stack.len();
    let mut run = Run::new(bytes, blobs, builder, stack);
    let (end, out) = run.term(0, 0);
    let (offset, kind) = (run.wrong_at, run.wrong);
    stack.truncate(bottom);
    match bytes.get(end..) {
        Some(left) => {
            *bytes = left;
            Ok(out)
        }
        None => Err(ValueError { offset, kind }),
    }
}

/// Makes the first `count` values of `bytes`, as [`build`] makes one; `put` gets each with its place, from 0.
///
/// # Errors
///
/// Bytes that [`encode`](super::encode) did not write; `put` has got the values before the fault.
#[inline]
pub fn build_each<B: Build>(
    bytes: &[u8],
    blobs: &[Blob],
    count: usize,
    builder: &mut B,
    stack: &mut Vec<B::Out>,
    mut put: impl FnMut(&mut B, usize, B::Out),
) -> Result<(), ValueError> {
    let bottom = stack.len();
    let mut run = Run::new(bytes, blobs, builder, stack);
    let mut end = 0;
    for place in 0..count {
        let value;
        (end, value) = run.term(end, 0);
        if end > bytes.len() {
            let (offset, kind) = (run.wrong_at, run.wrong);
            stack.truncate(bottom);
            return Err(ValueError { offset, kind });
        }
        put(run.builder, place, value);
    }
    Ok(())
}

/// The end of a term whose bytes are wrong: beyond all bytes, so that it needs no test where another is read
/// there.
const NOWHERE: usize = usize::MAX;

/// A run over bytes. Its methods take the place where something begins and give the one where it ends: two words which
/// stay in registers, where a place in `self` would be written and read again with every term.
struct Run<'a, 'b, B: Build> {
    bytes: &'a [u8],
    blobs: &'b [Blob],
    builder: &'b mut B,
    stack: &'b mut Vec<B::Out>,
    /// The error and its offset, when something ends nowhere.
    wrong: ValueErrorKind,
    wrong_at: usize,
}

impl<'a, 'b, B: Build> Run<'a, 'b, B> {
    #[inline(always)]
    fn new(
        bytes: &'a [u8],
        blobs: &'b [Blob],
        builder: &'b mut B,
        stack: &'b mut Vec<B::Out>,
    ) -> Self {
        Run {
            bytes,
            blobs,
            builder,
            stack,
            wrong: ValueErrorKind::Truncated,
            wrong_at: 0,
        }
    }

    /// Notes a fault, unless it follows from an earlier one: that one ended nowhere, so `at` is beyond the bytes.
    #[cold]
    #[inline(never)]
    fn fail(&mut self, at: usize, kind: ValueErrorKind) -> (usize, B::Out) {
        if at <= self.bytes.len() {
            (self.wrong, self.wrong_at) = (kind, at);
        }
        (NOWHERE, self.builder.int(0))
    }

    /// Returns the item that `read` reads from `at` on, and its end.
    #[inline]
    fn read<T>(
        &mut self,
        at: usize,
        read: impl FnOnce(&mut ValueReader<'a>) -> Result<T>,
    ) -> Option<(usize, T)> {
        let mut reader = ValueReader {
            left: self.bytes.get(at..).unwrap_or_default(),
        };
        let found = read(&mut reader);
        let end = self.bytes.len() - reader.left.len();
        match found {
            Ok(found) => Some((end, found)),
            Err(kind) => {
                self.fail(at.max(end), kind);
                None
            }
        }
    }

    fn nowhere(&mut self) -> (usize, B::Out) {
        (NOWHERE, self.builder.int(0))
    }

    /// Builds the term at a place: the common kinds here, inlined into the callers.
    #[inline(always)]
    fn term(&mut self, at: usize, depth: usize) -> (usize, B::Out) {
        let Some(&tag) = self.bytes.get(at) else {
            return self.fail(at, ValueErrorKind::Truncated);
        };
        match tag {
            0..tag::NEGATIVE => (at + 1, self.builder.int(i64::from(tag))),
            tag::NEGATIVE..tag::MIDDLE => (at + 1, self.builder.int(i64::from(tag) - 0x90)),
            tag::MIDDLE..=0xAF => self.word(at, tag),
            0xB0..=0xBF => self.binary(at + 1, usize::from(tag - tag::BINARY_0)),
            0xD8..=0xDF => self.tuple(at + 1, usize::from(tag - tag::TUPLE_0), depth),
            tag::PID => self.pid(at),
            _ => self.other(at, tag, depth),
        }
    }

    /// Builds an integer, an atom or a float: most often one of few bytes, with others behind it.
    #[inline(always)]
    fn word(&mut self, at: usize, tag: u8) -> (usize, B::Out) {
        let behind = self.bytes[at + 1..].first_chunk::<8>();
        let word = behind.map(|&chunk| u64::from_le_bytes(chunk));
        let Some(word) = word.or_else(|| self.end_word(at + 1, tag)) else {
            return self.last_word(at, tag);
        };
        match tag {
            tag::MIDDLE..=tag::INT_0 => {
                let high = i64::from(tag - tag::MIDDLE) << 8;
                let value = tag::MIDDLE_FIRST + (high | (word & 0xFF) as i64);
                (at + 2, self.builder.int(value))
            }
            0xAC..=0xAF => {
                let len = usize::from(tag - tag::ATOM_0);
                let id = word << (64 - 8 * len) >> (64 - 8 * len);
                self.atom(at, at + 1 + len, id as u32)
            }
            0xA0..=0xA7 => {
                let len = usize::from(tag - tag::INT_0);
                let value = (word << (64 - 8 * len)) as i64 >> (64 - 8 * len);
                (at + 1 + len, self.builder.int(value))
            }
            tag::FLOAT => (at + 9, self.builder.float(f64::from_bits(word))),
            _ => self.last_word(at, tag),
        }
    }

    /// Returns the bytes from a place on, fewer than eight, as a word: out of the last eight there are. `None` if there
    /// are not eight, or not all that follow the tag.
    #[inline(always)]
    fn end_word(&self, from: usize, tag: u8) -> Option<u64> {
        let last = self.bytes.last_chunk::<8>()?;
        let left = self.bytes.len() - from;
        let is_whole = (1..8).contains(&left) && bytes_behind(tag) <= left;
        is_whole.then(|| u64::from_le_bytes(*last) >> (64 - 8 * left))
    }

    #[inline(always)]
    fn atom(&mut self, at: usize, end: usize, id: u32) -> (usize, B::Out) {
        match self.builder.atom_of(id) {
            Some(atom) => (end, atom),
            None => self.fail(at, ValueErrorKind::UnknownAtom(id)),
        }
    }

    /// Builds an integer, an atom or a float where few bytes are left, or one of the rarer tags.
    #[inline(never)]
    fn last_word(&mut self, at: usize, tag: u8) -> (usize, B::Out) {
        match tag {
            0xAC..=0xAF => {
                let len = usize::from(tag - tag::ATOM_0);
                match self.read(at + 1, |reader| reader.number(len)) {
                    Some((end, id)) => self.atom(at, end, id as u32),
                    None => self.nowhere(),
                }
            }
            tag::BIG => self.big(at),
            _ => match self.read(at + 1, |reader| decode::int(reader, tag).transpose()) {
                Some((end, Some(value))) => (end, self.builder.int(value)),
                Some((_, None)) => self.rare(at),
                None => self.nowhere(),
            },
        }
    }

    #[inline(always)]
    fn binary(&mut self, at: usize, length: usize) -> (usize, B::Out) {
        match self.bytes.get(at..at + length) {
            Some(bytes) => (at + length, self.builder.binary(bytes)),
            None => self.fail(at, ValueErrorKind::Truncated),
        }
    }

    #[inline(never)]
    fn other(&mut self, at: usize, tag: u8, depth: usize) -> (usize, B::Out) {
        let behind = at + 1;
        match tag {
            tag::BINARY => match self.bytes.get(behind) {
                Some(&length) => self.binary(behind + 1, usize::from(length)),
                None => self.fail(behind, ValueErrorKind::Truncated),
            },
            tag::BLOB => self.blob(behind),
            tag::REFERENCE => match self.read(behind, decode::reference_parts) {
                Some((end, (node, creation, ids))) => {
                    let made = self.builder.reference((node, creation), ids, self.blobs);
                    match made {
                        Some(reference) => (end, reference),
                        None => self.rare(at),
                    }
                }
                None => self.nowhere(),
            },
            tag::FUN_EXTERNAL => self.external_fun(at),
            tag::PORT => self.port(at),
            tag::NIL => (behind, self.builder.list(&[], None)),
            tag::STRING => match self.read(behind, ValueReader::counted) {
                Some((end, bytes)) => (end, self.builder.string(bytes)),
                None => self.nowhere(),
            },
            _ if depth >= SHALLOW => self.deep(at),
            tag::SHAPED => match self.read(behind, decode::shape) {
                Some((end, shape)) => self.shaped(end, shape, depth),
                None => self.nowhere(),
            },
            tag::FUN_LOCAL => self.fun(at, depth),
            tag::MAP | tag::TUPLE | tag::LIST | tag::IMPROPER => {
                let Some((end, length)) = self.read(behind, ValueReader::length) else {
                    return self.nowhere();
                };
                match tag {
                    tag::MAP => self.map(end, count(length), depth),
                    tag::TUPLE => self.tuple(end, count(length), depth),
                    _ => self.list(end, count(length), tag == tag::IMPROPER, depth),
                }
            }
            _ => self.rare(at),
        }
    }

    /// Builds a process identifier by words that stay in registers: a `Pid` would be written in parts and read at once,
    /// which waits.
    #[inline]
    fn pid(&mut self, at: usize) -> (usize, B::Out) {
        self.of_words(at, |builder, [node, id, serial, creation]| {
            builder.pid(node, id, serial, creation)
        })
    }

    #[inline(never)]
    fn port(&mut self, at: usize) -> (usize, B::Out) {
        self.of_words(at, |builder, [node, creation, low, high]| {
            builder.port(
                node,
                creation,
                u64::from(low) | u64::from(high) << u32::BITS,
            )
        })
    }

    /// Builds a term of four words of 32 bits behind its tag.
    #[inline(always)]
    fn of_words(
        &mut self,
        at: usize,
        make: impl FnOnce(&mut B, [u32; 4]) -> Option<B::Out>,
    ) -> (usize, B::Out) {
        let words = self.bytes[at + 1..].first_chunk::<16>();
        let made = words.and_then(|words| {
            let (words, _) = words.as_chunks::<4>();
            let word = |at: usize| u32::from_le_bytes(words[at]);
            make(self.builder, std::array::from_fn(word))
        });
        match made {
            Some(term) => (at + 17, term),
            None => self.rare(at),
        }
    }

    #[inline(never)]
    fn big(&mut self, at: usize) -> (usize, B::Out) {
        let Some((end, bytes)) = self.read(at + 1, ValueReader::counted) else {
            return self.nowhere();
        };
        match self.builder.big(bytes) {
            Some(big) => (end, big),
            None => self.rare(at),
        }
    }

    #[inline(never)]
    fn external_fun(&mut self, at: usize) -> (usize, B::Out) {
        let parts =
            |reader: &mut ValueReader<'_>| Ok((reader.u32()?, reader.u32()?, reader.byte()?));
        let Some((end, (module, function, arity))) = self.read(at + 1, parts) else {
            return self.nowhere();
        };
        match self.builder.external_fun(module, function, arity) {
            Some(fun) => (end, fun),
            None => self.rare(at),
        }
    }

    #[inline(never)]
    fn fun(&mut self, at: usize, depth: usize) -> (usize, B::Out) {
        let head = |reader: &mut ValueReader<'_>| {
            let code = FunCode::read(reader)?;
            let creator = [reader.u32()?, reader.u32()?, reader.u32()?, reader.u32()?];
            Ok((code, creator, reader.length()?))
        };
        let Some((mut end, (code, creator, captured))) = self.read(at + 1, head) else {
            return self.nowhere();
        };
        let captured = count(captured);
        let Some(fun) = self.builder.begin_fun(&code, creator, captured) else {
            return self.rare(at);
        };
        for place in 0..captured {
            let value;
            (end, value) = self.term(end, depth + 1);
            if end == NOWHERE {
                break;
            }
            self.builder.put_captured(fun, place, value);
        }
        (end, fun)
    }

    fn blob(&mut self, at: usize) -> (usize, B::Out) {
        let Some((end, place)) = self.read(at, ValueReader::length) else {
            return self.nowhere();
        };
        match usize::try_from(place) {
            Ok(at) if at < self.blobs.len() => (end, self.builder.blob_of(self.blobs, at)),
            _ => self.fail(at, ValueErrorKind::NoBlob(place)),
        }
    }

    /// Puts `count` terms on the stack; says where they end.
    fn terms(&mut self, mut at: usize, count: usize, depth: usize) -> usize {
        for _ in 0..count {
            let (end, term) = self.term(at, depth + 1);
            if end == NOWHERE {
                return end;
            }
            self.stack.push(term);
            at = end;
        }
        at
    }

    fn list(&mut self, at: usize, count: usize, improper: bool, depth: usize) -> (usize, B::Out) {
        let Some(list) = self.builder.begin_list(count) else {
            return self.whole_list(at, count, improper, depth);
        };
        let mut end = at;
        for place in 0..count {
            let element;
            (end, element) = self.term(end, depth + 1);
            if end == NOWHERE {
                return (end, list);
            }
            self.builder.put_cell(list, place, element);
        }
        let (end, tail) = self.tail(end, improper, depth);
        (end, self.builder.end_list(list, count, tail))
    }

    /// Builds the tail of a list that has one of its own.
    #[inline]
    fn tail(&mut self, at: usize, improper: bool, depth: usize) -> (usize, Option<B::Out>) {
        if !improper {
            return (at, None);
        }
        let (end, tail) = self.term(at, depth + 1);
        (end, Some(tail))
    }

    /// Builds a list that is made of all its elements at once.
    fn whole_list(
        &mut self,
        at: usize,
        count: usize,
        improper: bool,
        depth: usize,
    ) -> (usize, B::Out) {
        let bottom = self.stack.len();
        let end = self.terms(at, count, depth);
        let (end, tail) = self.tail(end, improper, depth);
        if end == NOWHERE {
            return self.nowhere();
        }
        let list = self.builder.list(&self.stack[bottom..], tail);
        self.stack.truncate(bottom);
        (end, list)
    }

    #[inline(never)]
    fn tuple(&mut self, at: usize, arity: usize, depth: usize) -> (usize, B::Out) {
        if depth >= SHALLOW {
            // One with a byte for its size: of others, `other` has seen it.
            return self.deep(at - 1);
        }
        let Some(tuple) = self.builder.begin_tuple(arity) else {
            return self.whole(at, arity, depth, B::tuple);
        };
        let mut end = at;
        for place in 0..arity {
            let element;
            (end, element) = self.term(end, depth + 1);
            if end == NOWHERE {
                break;
            }
            self.builder.put(tuple, place, element);
        }
        (end, tuple)
    }

    /// Builds a tuple or map that is made of all its parts at once.
    fn whole(
        &mut self,
        at: usize,
        parts: usize,
        depth: usize,
        make: fn(&mut B, &[B::Out]) -> B::Out,
    ) -> (usize, B::Out) {
        let bottom = self.stack.len();
        let end = self.terms(at, parts, depth);
        if end == NOWHERE {
            return self.nowhere();
        }
        let made = make(self.builder, &self.stack[bottom..]);
        self.stack.truncate(bottom);
        (end, made)
    }

    /// Builds what is too deep to recurse, by way of a [`Term`].
    #[cold]
    #[inline(never)]
    fn deep(&mut self, at: usize) -> (usize, B::Out) {
        let mut left = &self.bytes[at..];
        match decode::decode(&mut left, self.blobs) {
            Ok(term) => (
                self.bytes.len() - left.len(),
                build_term(&term, self.builder),
            ),
            Err(error) => self.fail(at + error.offset, error.kind),
        }
    }

    /// Builds the kinds that need more than bytes, by way of a [`Term`].
    #[cold]
    #[inline(never)]
    fn rare(&mut self, at: usize) -> (usize, B::Out) {
        let mut left = &self.bytes[at..];
        match decode::decode(&mut left, self.blobs) {
            Ok(term) => (self.bytes.len() - left.len(), self.builder.other(&term)),
            Err(error) => self.fail(at + error.offset, error.kind),
        }
    }
}

/// Returns a number of parts, or more than there can be.
fn count(parts: u64) -> usize {
    usize::try_from(parts).unwrap_or(usize::MAX)
}

/// Makes a term out of the caller's own terms that is equal to a [`Term`]. O(size).
pub fn build_term<B: Build>(term: &Term, builder: &mut B) -> B::Out {
    let mut steps = TermSteps(builder, PhantomData);
    match steps.open(term) {
        Part::Leaf(built) => built,
        Part::Open(frame) => {
            let Ok(built) = grow(&mut steps, frame);
            built
        }
    }
}

struct TermSteps<'b, 't, B>(&'b mut B, PhantomData<&'t Term>);

/// A container of which another is built.
struct TermFrame<'t, O> {
    term: &'t Term,
    parts: Parts<'t>,
    built: Vec<O>,
    /// A closure, which gets its parts one by one.
    fun: Option<O>,
}

impl<'t, B: Build> TermSteps<'_, 't, B> {
    fn open(&mut self, term: &'t Term) -> Part<B::Out, TermFrame<'t, B::Out>> {
        let builder = &mut *self.0;
        let fun = match term {
            Term::Fun(fun) => match begin_fun(fun, builder) {
                Some(fun) => Some(fun),
                None => return Part::Leaf(builder.other(term)),
            },
            Term::Record(_) => return Part::Leaf(builder.other(term)),
            _ => None,
        };
        match (Parts::of(term), fun) {
            (Some(parts), fun) => Part::Open(TermFrame {
                term,
                parts,
                built: Vec::with_capacity(parts.len()),
                fun,
            }),
            (None, Some(external_fun)) => Part::Leaf(external_fun),
            (None, None) => Part::Leaf(build_leaf(term, builder)),
        }
    }
}

impl<'t, B: Build> Grow for TermSteps<'_, 't, B> {
    type Out = B::Out;
    type Frame = TermFrame<'t, B::Out>;
    type Error = Infallible;

    fn part(&mut self, frame: &mut Self::Frame) -> Next<Self> {
        let part = frame.parts.get(frame.built.len());
        Ok(part.map(|term| self.open(term)))
    }

    fn put(&mut self, frame: &mut Self::Frame, part: B::Out) {
        if let Some(fun) = frame.fun {
            self.0.put_captured(fun, frame.built.len(), part);
        }
        frame.built.push(part);
    }

    fn finish(&mut self, frame: Self::Frame) -> std::result::Result<B::Out, Infallible> {
        let (builder, built) = (&mut *self.0, &frame.built[..]);
        Ok(match (frame.fun, frame.term, built) {
            (Some(fun), ..) => fun,
            (_, Term::Tuple(_), elements) => builder.tuple(elements),
            (_, Term::Map(_), pairs) => builder.map(pairs),
            (_, Term::Improper(..), [elements @ .., tail]) => builder.list(elements, Some(*tail)),
            (_, _, elements) => builder.list(elements, None),
        })
    }
}

fn build_leaf<B: Build>(term: &Term, builder: &mut B) -> B::Out {
    match term {
        Term::Int(value) => builder.int(*value),
        Term::Float(value) => builder.float(value.get()),
        Term::Atom(atom) => builder.atom(*atom),
        Term::Binary(bytes) if bytes.len() > super::MAX_INLINE_BINARY => builder.blob(bytes),
        Term::Binary(bytes) => builder.binary(bytes),
        Term::Pid(pid) => builder
            .pid(pid.node.id(), pid.id, pid.serial, pid.creation)
            .unwrap_or_else(|| builder.other(term)),
        other => builder.other(other),
    }
}

/// Builds a fun, but for its captured values.
#[inline(never)]
fn begin_fun<B: Build>(fun: &Fun, builder: &mut B) -> Option<B::Out> {
    match fun {
        Fun::External {
            module,
            function,
            arity,
        } => builder.external_fun(module.id(), function.id(), *arity),
        Fun::Local(fun) => {
            let Pid {
                node,
                id,
                serial,
                creation,
            } = fun.creator;
            let creator = [node.id(), id, serial, creation];
            builder.begin_fun(&FunCode::of(fun), creator, fun.free.len())
        }
    }
}

#[cfg(test)]
mod tests;
