//! The buffer of a key: inline while short, on the heap when it grows.

use crate::{Atom, Term};

use super::number::Number;
use super::writer::KeyWriter;
use super::{escape, tag};

/// Bytes that a key may have before it moves to the heap.
const INLINE: usize = 70;

/// An element of a tuple whose key has no trailer for it.
#[derive(Clone, Copy, Debug)]
pub enum Flat<'t> {
    /// An integer.
    Int(i64),
    /// An atom.
    Atom(Atom),
    /// A binary.
    Binary(&'t [u8]),
}

impl<'t> Flat<'t> {
    #[inline]
    fn of(term: &'t Term) -> Option<Flat<'t>> {
        match term {
            Term::Int(value) => Some(Flat::Int(*value)),
            Term::Atom(atom) => Some(Flat::Atom(*atom)),
            Term::Binary(bytes) => Some(Flat::Binary(bytes)),
            _ => None,
        }
    }
}

/// The bytes of one key: the order part, behind it the exactness trailer, and behind that, rarely, a rest.
///
/// Keys of up to 70 bytes live inside the value, without allocation. A buffer may be used again and again: every
/// `encode_into` starts it afresh and keeps what it has allocated.
///
/// Invariant **SPILL**: either `spilled` is false and the key is `inline[..len]`, or `heap` is there and holds the
/// whole key.
///
/// An empty buffer is nothing but zero bytes, 96 of them: a handful of wide stores.
#[derive(Clone)]
pub struct KeyBuf {
    inline: [u8; INLINE],
    len: u8,
    spilled: bool,
    order_len: usize,
    /// Length of order part and trailer.
    identity_len: usize,
    #[expect(
        clippy::box_collection,
        reason = "one word, and zero when it is not there"
    )]
    heap: Option<Box<Vec<u8>>>,
}

impl KeyBuf {
    /// Makes an empty buffer. Allocates nothing.
    #[inline(always)]
    pub const fn new() -> KeyBuf {
        KeyBuf {
            inline: [0; INLINE],
            len: 0,
            spilled: false,
            order_len: 0,
            identity_len: 0,
            heap: None,
        }
    }

    /// Returns the key of a term. O(size).
    #[inline]
    pub fn encode(term: &Term) -> KeyBuf {
        let mut buf = KeyBuf::new();
        KeyBuf::encode_into(term, &mut buf);
        buf
    }

    /// Puts the key of a term into a buffer that is there already. O(size).
    #[inline]
    pub fn encode_into(term: &Term, buf: &mut KeyBuf) {
        match term {
            Term::Int(value) => buf.set_int(*value),
            Term::Binary(bytes) => buf.set_binary(bytes),
            Term::Atom(atom) => buf.set_atom(*atom),
            Term::Tuple(elements) if buf.set_flat_tuple(elements.iter().map(Flat::of)) => {}
            other => encode_any(other, buf),
        }
    }

    /// Returns the key of an integer.
    #[inline]
    pub fn from_int(value: i64) -> KeyBuf {
        let mut buf = KeyBuf::new();
        buf.set_int(value);
        buf
    }

    /// Returns [`KeyBuf::word`] of the key of an integer, without a buffer.
    #[inline]
    pub fn int_word(value: i64) -> Option<(u64, usize)> {
        let Number { tag, word, len } = Number::from_int(value);
        // Of a number of no bytes, as -1 is, the word says nothing.
        let bytes = word.swap_bytes() & !(u64::MAX << (8 * len as u32 % 64));
        (len < 8).then(|| (bytes << 8 | u64::from(tag), 1 + len))
    }

    /// Returns the integer from 0 to 2^48 whose key this is, in a word as [`KeyBuf::word`] has it; `None` if it is no
    /// such key.
    #[inline]
    pub fn int_of_word(word: u64, len: usize) -> Option<i64> {
        let digits = len.wrapping_sub(1);
        let tag = match digits {
            0 => tag::ZERO,
            1..=6 => tag::POS_0 + digits as u8,
            _ => return None,
        };
        // In two steps, for by 64 at once, as for no digits, nothing is shifted.
        let value = (word >> 8).swap_bytes() >> 8 >> (56 - 8 * digits);
        (word as u8 == tag).then_some(value as i64)
    }

    /// Returns the key of a binary. O(length).
    #[inline]
    pub fn from_binary(bytes: &[u8]) -> KeyBuf {
        let mut buf = KeyBuf::new();
        buf.set_binary(bytes);
        buf
    }

    /// Returns the key of an atom.
    #[inline]
    pub fn from_atom(atom: Atom) -> KeyBuf {
        let mut buf = KeyBuf::new();
        buf.set_atom(atom);
        buf
    }

    /// Becomes the key of an integer.
    #[inline]
    pub fn set_int(&mut self, value: i64) {
        self.clear();
        self.put_number(Number::from_int(value));
        self.end(&[]);
    }

    /// Becomes the key of a binary.
    #[inline]
    pub fn set_binary(&mut self, bytes: &[u8]) {
        self.clear();
        escape::put(self, tag::BITS, bytes, Some(tag::WHOLE_BYTE));
        self.end(&[]);
    }

    /// Becomes the key of an atom.
    #[inline]
    pub fn set_atom(&mut self, atom: Atom) {
        self.clear();
        escape::put(self, tag::ATOM, atom.as_str().as_bytes(), None);
        self.end(&[]);
    }

    /// Becomes the key of a tuple of integers, atoms and binaries, which needs neither trailer nor rest and so no
    /// [`KeyWriter`], and returns true; false if an element is `None` or there are too many, and then there is no key.
    /// O(size).
    #[inline]
    pub fn set_flat_tuple<'t>(
        &mut self,
        elements: impl ExactSizeIterator<Item = Option<Flat<'t>>>,
    ) -> bool {
        self.clear();
        if elements.len() > tag::TUPLE_SHORT {
            return false;
        }
        self.push(tag::TUPLE_0 + elements.len() as u8);
        for element in elements {
            match element {
                Some(Flat::Int(value)) => self.put_number(Number::from_int(value)),
                Some(Flat::Atom(atom)) => {
                    escape::put(self, tag::ATOM, atom.as_str().as_bytes(), None);
                }
                Some(Flat::Binary(bytes)) => {
                    escape::put(self, tag::BITS, bytes, Some(tag::WHOLE_BYTE));
                }
                None => return false,
            }
        }
        self.end(&[]);
        true
    }

    /// Returns the part whose `memcmp` order is Erlang's term order, and whose equality is `==`.
    #[inline]
    pub fn order(&self) -> &[u8] {
        &self.stored()[..self.order_len]
    }

    /// Returns the bytes that tell apart terms that are `==` but not `=:=`; most often empty.
    #[inline]
    pub fn trailer(&self) -> &[u8] {
        &self.stored()[self.order_len..self.identity_len]
    }

    /// Returns the bytes that decoding needs beyond those and equality must not see; empty but for keys with closures
    /// (their creators).
    #[inline]
    pub fn rest(&self) -> &[u8] {
        &self.stored()[self.identity_len..]
    }

    /// Returns order part and trailer; equal for two keys exactly when the terms are `=:=`.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.stored()[..self.identity_len]
    }

    /// Returns [`KeyBuf::bytes`] as one number, little-endian with zeros above, and their count; `None` if they are
    /// more than eight. Numbers are compared and hashed without a look at memory.
    #[inline]
    pub fn word(&self) -> Option<(u64, usize)> {
        let len = self.identity_len;
        if self.spilled || len.wrapping_sub(1) >= 8 {
            return None;
        }
        let (first, _) = self.inline.split_first_chunk()?;
        Some((
            u64::from_le_bytes(*first) & (u64::MAX >> (64 - 8 * len)),
            len,
        ))
    }

    /// Returns the bytes to store of a key to [`decode`](super::decode) it again: order part, trailer and rest. To
    /// compare it with the identity of another key, use [`is_same`](super::is_same).
    #[inline]
    pub fn stored(&self) -> &[u8] {
        match &self.heap {
            Some(heap) if self.spilled => heap,
            _ => &self.inline[..usize::from(self.len)],
        }
    }

    /// Returns the length of the order part.
    #[inline]
    pub fn order_len(&self) -> usize {
        self.order_len
    }

    /// Forgets the key and keeps the room.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
        self.spilled = false;
        self.order_len = 0;
        self.identity_len = 0;
    }

    /// Returns the number of bytes written so far.
    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.spilled {
            self.stored().len()
        } else {
            usize::from(self.len)
        }
    }

    /// Says that the order part ends here, and appends the trailer. The bytes written next are the rest.
    #[inline(always)]
    pub(super) fn end(&mut self, trailer: &[u8]) {
        self.order_len = self.len();
        if !trailer.is_empty() {
            self.extend(trailer);
        }
        self.identity_len = self.order_len + trailer.len();
    }

    /// Returns the next `n` bytes of the inline room, not yet counted; `None` if the key is or would be on the heap.
    #[inline(always)]
    pub(super) fn room(&mut self, n: usize) -> Option<&mut [u8]> {
        if self.spilled {
            return None;
        }
        self.inline.get_mut(usize::from(self.len)..)?.get_mut(..n)
    }

    /// Counts `n` bytes that were written to [`KeyBuf::room`].
    #[inline(always)]
    pub(super) fn advance(&mut self, n: usize) {
        debug_assert!(!self.spilled && usize::from(self.len) + n <= INLINE);
        self.len += n as u8;
    }

    /// Appends a byte.
    #[inline(always)]
    pub(super) fn push(&mut self, byte: u8) {
        match self.room(1) {
            Some(room) => {
                room[0] = byte;
                self.len += 1;
            }
            None => self.extend_heap(&[byte]),
        }
    }

    /// Appends bytes.
    #[inline]
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        match self.room(bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.advance(bytes.len());
            }
            None => self.extend_heap(bytes),
        }
    }

    /// Appends a number's tag and leading bytes.
    #[inline(always)]
    pub(super) fn put_number(&mut self, number: Number) {
        let Number { tag, word, len } = number;
        if let Some(room) = self.room(9) {
            // The first eight bytes go in one store: code that hashes or compares a short key next loads them at once,
            // and a load across two stores would have to wait for both.
            let bytes = word.to_be_bytes();
            let first = u64::from_le_bytes(bytes) << 8 | u64::from(tag);
            room[8] = bytes[7];
            room[..8].copy_from_slice(&first.to_le_bytes());
            self.advance(1 + len);
        } else {
            self.put_number_at_the_end(number);
        }
    }

    #[cold]
    #[inline(never)]
    fn put_number_at_the_end(&mut self, number: Number) {
        self.push(number.tag);
        self.extend(&number.word.to_be_bytes()[..number.len]);
    }

    /// Cuts the key back to its first `len` bytes and hands out the rest.
    pub(super) fn split_off(&mut self, len: usize) -> Vec<u8> {
        match &mut self.heap {
            Some(heap) if self.spilled => heap.split_off(len),
            _ => {
                let rest = self.inline[len..usize::from(self.len)].to_vec();
                self.len = len as u8;
                rest
            }
        }
    }

    /// Appends to the heap form, and moves the key there first if it is still inline.
    #[cold]
    #[inline(never)]
    fn extend_heap(&mut self, bytes: &[u8]) {
        let heap = self.heap.get_or_insert_default();
        if !self.spilled {
            heap.clear();
            heap.reserve(2 * INLINE + bytes.len());
            heap.extend_from_slice(&self.inline[..usize::from(self.len)]);
            self.spilled = true;
        }
        heap.extend_from_slice(bytes);
    }
}

fn encode_any(term: &Term, buf: &mut KeyBuf) {
    let mut writer = KeyWriter::new(buf);
    writer.term(term);
    writer.finish();
}

impl Default for KeyBuf {
    fn default() -> KeyBuf {
        KeyBuf::new()
    }
}

impl PartialEq for KeyBuf {
    /// Returns whether the terms are `=:=`.
    fn eq(&self, other: &KeyBuf) -> bool {
        self.bytes() == other.bytes()
    }
}
impl Eq for KeyBuf {}

impl std::fmt::Debug for KeyBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyBuf({:02x?} | {:02x?})", self.order(), self.trailer())
    }
}
