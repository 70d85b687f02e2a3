//! What values begin with, as words: for writers that keep their place in a register.

use crate::Atom;

use super::encode::IntBytes;
use super::shape::Shape;
use super::{MAX_INLINE_BINARY, tag};

/// Up to eight bytes that a value begins with: the whole of it, or what comes before its parts.
///
/// A writer stores all eight bytes of the word and goes on behind those that count, which takes one store and no
/// branch. [`ValueWriter::append`](super::ValueWriter::append) takes values that were written so; they keep the rules
/// of [`ValueWriter`](super::ValueWriter).
///
/// ```
/// use fyris_term::{Term, value::{Token, decode}};
/// let tokens = [Some(Token::tuple(2)), Token::int(1000), Some(Token::nil())];
/// let mut bytes = Vec::new();
/// for token in tokens.into_iter().flatten() {
///     bytes.extend_from_slice(&token.word().to_le_bytes()[..token.len()]);
/// }
/// let term = Term::tuple(vec![Term::Int(1000), Term::list(vec![])]);
/// assert_eq!(decode(&mut &bytes[..], &[]), Ok(term));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    word: u64,
    len: usize,
}

impl Token {
    /// Returns the bytes, the first one lowest, with zeros above those that count.
    #[inline(always)]
    pub fn word(self) -> u64 {
        self.word
    }

    /// Returns the number of bytes, from 1 to 8.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "no token is empty")]
    pub fn len(self) -> usize {
        self.len
    }

    #[inline(always)]
    const fn byte(tag: u8) -> Token {
        Token {
            word: tag as u64,
            len: 1,
        }
    }

    /// Returns a tag with a count behind it.
    #[inline(always)]
    fn counted(tag: u8, count: usize) -> Token {
        Token::byte(tag).and_count(count)
    }

    /// Appends a length, size or number, of which no more than 42 bits are there: a process has no room for more parts.
    #[inline(always)]
    fn and_count(self, count: usize) -> Token {
        let Token { mut word, mut len } = self;
        let mut left = count as u64;
        while left >= 0x80 {
            word |= (left & 0x7F | 0x80) << (8 * len % 64);
            left >>= 7;
            len += 1;
        }
        Token {
            word: word | left << (8 * len % 64),
            len: len + 1,
        }
    }

    /// Returns an integer; `None` if it takes nine bytes.
    #[inline(always)]
    pub fn int(value: i64) -> Option<Token> {
        let (word, len) = IntBytes::word(value)?;
        Some(Token { word, len })
    }

    /// Returns an atom.
    #[inline(always)]
    pub fn atom(atom: Atom) -> Token {
        let id = atom.id();
        let len = 4 - (id | 1).leading_zeros() as usize / 8;
        Token {
            word: u64::from(id) << 8 | (u64::from(tag::ATOM_0) + len as u64),
            len: 1 + len,
        }
    }

    /// Returns the beginning of a float: its eight bytes follow, the low ones first.
    #[inline(always)]
    pub fn float() -> Token {
        Token::byte(tag::FLOAT)
    }

    /// Returns the beginning of a process identifier: the number of its node's atom, its two numbers and the creation
    /// of the node follow, four bytes each, the low ones first.
    #[inline(always)]
    pub fn pid() -> Token {
        Token::byte(tag::PID)
    }

    /// Returns the beginning of a port: the number of its node's atom and the creation of the node follow, four bytes
    /// each, and its number, eight; the low ones first.
    #[inline(always)]
    pub fn port() -> Token {
        Token::byte(tag::PORT)
    }

    /// Returns the beginning of a reference: the number of its node's atom and the creation of the node follow, four
    /// bytes each, the low ones first; then how many numbers it has ([`Token::count`]), and these, as the others.
    #[inline(always)]
    pub fn reference() -> Token {
        Token::byte(tag::REFERENCE)
    }

    /// Returns a count as it is written behind the beginning of a reference, of up to 127.
    #[inline(always)]
    pub fn count(count: u8) -> Token {
        Token::byte(count & 0x7F)
    }

    /// Returns the beginning of a binary: its bytes follow. `None` if it has more than [`MAX_INLINE_BINARY`].
    #[inline(always)]
    pub fn binary(length: usize) -> Option<Token> {
        match length {
            0..=15 => Some(Token::byte(tag::BINARY_0 + length as u8)),
            16..=MAX_INLINE_BINARY => Some(Token {
                word: u64::from(tag::BINARY) | (length as u64) << 8,
                len: 2,
            }),
            _ => None,
        }
    }

    /// Returns the beginning of a tuple: its elements follow.
    #[inline(always)]
    pub fn tuple(arity: usize) -> Token {
        match arity {
            0..=7 => Token::byte(tag::TUPLE_0 + arity as u8),
            _ => Token::counted(tag::TUPLE, arity),
        }
    }

    /// Returns the empty list.
    #[inline(always)]
    pub fn nil() -> Token {
        Token::byte(tag::NIL)
    }

    /// Returns the beginning of a list of integers from 0 to 255, not an empty one: a byte for each follows.
    #[inline(always)]
    pub fn string(length: usize) -> Token {
        Token::counted(tag::STRING, length)
    }

    /// Returns the beginning of any other list with a proper end: its elements follow.
    #[inline(always)]
    pub fn list(length: usize) -> Token {
        Token::counted(tag::LIST, length)
    }

    /// Returns the beginning of a list with an improper end: its elements follow, then the tail.
    #[inline(always)]
    pub fn improper(length: usize) -> Token {
        Token::counted(tag::IMPROPER, length)
    }

    /// Returns the beginning of a map whose keys have no [`Shape`]: its keys and values follow in turn, in exact order
    /// of the keys.
    #[inline(always)]
    pub fn map(size: usize) -> Token {
        Token::counted(tag::MAP, size)
    }

    /// Returns the beginning of a map with a shape: its values follow, in the order of the keys.
    #[inline(always)]
    pub fn shape(shape: &Shape) -> Token {
        let head = Token {
            word: u64::from(tag::SHAPED) | (shape.keys().len() as u64) << 8,
            len: 2,
        };
        head.and_count(shape.number() as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::reader::ValueReader;

    proptest! {
        #[test]
        fn counts_come_back(bits in 0u32..42, noise in any::<u64>()) {
            let count = (noise & ((1 << bits) - 1)) as usize;
            for (token, head) in [(Token::list(count), 1), (Token::byte(7).and_count(count), 1)] {
                let bytes = token.word().to_le_bytes();
                let mut reader = ValueReader { left: &bytes[head..token.len()] };
                prop_assert_eq!(reader.length(), Ok(count as u64));
                prop_assert!(reader.left.is_empty() && bytes[token.len()..].iter().all(|b| *b == 0));
            }
        }
    }
}
