//! Where a key is built: inline while short, on the heap when it grows.

use crate::{Atom, Term};

use super::number::Number;
use super::writer::KeyWriter;
use super::{escape, tag};

/// Bytes that a key may have before it moves to the heap.
const INLINE: usize = 88;

/// The bytes of one key: the order part and, behind it, the exactness trailer.
///
/// Keys of up to 88 bytes live inside the value, without allocation. A buffer may be used again and again: every
/// `encode_into` starts it afresh and keeps what it has allocated.
///
/// Invariant S (spill): either `heap` is empty and the key is `inline[..len]`, or `heap` holds the whole key.
#[derive(Clone)]
pub struct KeyBuf {
    inline: [u8; INLINE],
    heap: Vec<u8>,
    len: usize,
    order_len: usize,
    /// Length of order part and trailer.
    identity_len: usize,
    too_deep: bool,
}

impl KeyBuf {
    /// An empty buffer. Allocates nothing.
    #[inline]
    pub const fn new() -> KeyBuf {
        KeyBuf {
            inline: [0; INLINE],
            heap: Vec::new(),
            len: 0,
            order_len: 0,
            identity_len: 0,
            too_deep: false,
        }
    }

    /// The key of a term. O(size).
    ///
    /// A term nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH), which no decoder or parser makes, gets bytes that
    /// [`decode`](super::decode) refuses; [`KeyBuf::is_too_deep`] tells.
    #[inline]
    pub fn encode(term: &Term) -> KeyBuf {
        let mut buf = KeyBuf::new();
        KeyBuf::encode_into(term, &mut buf);
        buf
    }

    /// As [`KeyBuf::encode`], into a buffer that is there already.
    #[inline]
    pub fn encode_into(term: &Term, buf: &mut KeyBuf) {
        match term {
            Term::Int(value) => buf.set_int(*value),
            Term::Binary(bytes) => buf.set_binary(bytes),
            Term::Atom(atom) => buf.set_atom(*atom),
            other => {
                let mut writer = KeyWriter::new(buf);
                writer.term(other);
                writer.finish();
            }
        }
    }

    /// The key of an integer.
    #[inline]
    pub fn from_int(value: i64) -> KeyBuf {
        let mut buf = KeyBuf::new();
        buf.set_int(value);
        buf
    }

    /// The key of a binary. O(length).
    #[inline]
    pub fn from_binary(bytes: &[u8]) -> KeyBuf {
        let mut buf = KeyBuf::new();
        buf.set_binary(bytes);
        buf
    }

    /// The key of an atom.
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

    /// The part whose `memcmp` order is Erlang's term order, and whose equality is `==`.
    #[inline]
    pub fn order(&self) -> &[u8] {
        &self.stored()[..self.order_len]
    }

    /// What tells apart terms that are `==` but not `=:=`; most often empty.
    #[inline]
    pub fn trailer(&self) -> &[u8] {
        &self.stored()[self.order_len..self.identity_len]
    }

    /// What decoding needs beyond that and equality must not see; empty but for keys with closures (who made them).
    #[inline]
    pub fn rest(&self) -> &[u8] {
        &self.stored()[self.identity_len..]
    }

    /// Order part and trailer; equal for two keys exactly when the terms are `=:=`.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.stored()[..self.identity_len]
    }

    /// What to keep of a key to [`decode`](super::decode) it again: order part, trailer and rest. To compare it with
    /// the identity of another key, use [`is_same`](super::is_same).
    #[inline]
    pub fn stored(&self) -> &[u8] {
        if self.heap.is_empty() {
            &self.inline[..self.len]
        } else {
            &self.heap
        }
    }

    /// Length of the order part.
    #[inline]
    pub fn order_len(&self) -> usize {
        self.order_len
    }

    /// Forgets the key and keeps the room.
    #[inline]
    pub fn clear(&mut self) {
        self.heap.clear();
        self.len = 0;
        self.order_len = 0;
        self.identity_len = 0;
        self.too_deep = false;
    }

    /// True if the term was nested too deep to be a key: see [`KeyBuf::encode`].
    #[inline]
    pub fn is_too_deep(&self) -> bool {
        self.too_deep
    }

    /// Writes the mark of a subterm that is nested too deep.
    #[cold]
    pub(super) fn put_too_deep(&mut self) {
        self.push(tag::TOO_DEEP);
        self.too_deep = true;
    }

    /// Bytes written so far.
    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.heap.is_empty() {
            self.len
        } else {
            self.heap.len()
        }
    }

    /// Says that the order part ends here, and appends the trailer. What is written next is the rest.
    #[inline(always)]
    pub(super) fn end(&mut self, trailer: &[u8]) {
        self.order_len = self.len();
        self.extend(trailer);
        self.identity_len = self.len();
    }

    /// The next `n` bytes of the inline room, not yet counted; `None` if the key is or would be on the heap.
    #[inline(always)]
    pub(super) fn room(&mut self, n: usize) -> Option<&mut [u8]> {
        if !self.heap.is_empty() {
            return None;
        }
        self.inline.get_mut(self.len..)?.get_mut(..n)
    }

    /// Counts `n` bytes that were written to [`KeyBuf::room`].
    #[inline(always)]
    pub(super) fn advance(&mut self, n: usize) {
        debug_assert!(self.heap.is_empty() && self.len + n <= INLINE);
        self.len += n;
    }

    /// Appends a byte.
    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        match self.room(1) {
            Some(room) => {
                room[0] = byte;
                self.len += 1;
            }
            None => self.spilled().push(byte),
        }
    }

    /// Appends bytes.
    #[inline]
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        match self.room(bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.len += bytes.len();
            }
            None => self.spilled().extend_from_slice(bytes),
        }
    }

    /// Appends a number's tag and leading bytes.
    #[inline(always)]
    pub(super) fn put_number(&mut self, number: Number) {
        let Number { tag, word, len } = number;
        if let Some(room) = self.room(9) {
            room[0] = tag;
            room[1..9].copy_from_slice(&word.to_be_bytes());
            self.len += 1 + len;
        } else {
            self.push(tag);
            self.extend(&word.to_be_bytes()[..len]);
        }
    }

    /// Cuts the key back to its first `len` bytes and hands out the rest.
    pub(super) fn split_off(&mut self, len: usize) -> Vec<u8> {
        if self.heap.is_empty() {
            let rest = self.inline[len..self.len].to_vec();
            self.len = len;
            return rest;
        }
        let rest = self.heap.split_off(len);
        // Invariant S: an empty heap means "inline", so the inline length must be true.
        self.len = 0;
        rest
    }

    /// The heap form, moved there first if the key is still inline.
    #[cold]
    fn spilled(&mut self) -> &mut Vec<u8> {
        if self.heap.is_empty() {
            self.heap.reserve(2 * INLINE);
            self.heap.extend_from_slice(&self.inline[..self.len]);
        }
        &mut self.heap
    }
}

impl Default for KeyBuf {
    fn default() -> KeyBuf {
        KeyBuf::new()
    }
}

impl PartialEq for KeyBuf {
    /// `=:=` of the terms.
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
