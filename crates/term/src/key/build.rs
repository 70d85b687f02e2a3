//! Keys read straight into another representation of terms.

use crate::value::{Build, build_term};

use super::decode::decode;
use super::error::KeyError;
use super::{escape, tag};

/// Makes the term of a key out of the caller's own terms: what [`decode`](super::decode) makes as a
/// [`Term`](crate::Term). `stack` is scratch memory, left as it was.
///
/// Integers, atoms, binaries, and tuples and lists of those are made directly, other keys by way of a
/// [`Term`](crate::Term). The bytes must be those of a key: of others, some are not refused.
///
/// # Errors
///
/// Bytes that [`KeyBuf::encode`](super::KeyBuf::encode) would not have written, where that is seen.
pub fn build<B: Build>(
    order: &[u8],
    tail: &[u8],
    builder: &mut B,
    stack: &mut Vec<B::Out>,
) -> Result<B::Out, KeyError> {
    let bottom = stack.len();
    if tail.is_empty() {
        let mut run = KeyBuilding {
            left: order,
            builder,
            stack,
        };
        if let (Some(out), []) = (run.term(0), run.left) {
            return Ok(out);
        }
        stack.truncate(bottom);
    }
    decode(order, tail).map(|term| build_term(&term, builder))
}

/// Levels beyond which a key is made by way of a term.
const SHALLOW: usize = 30;

struct KeyBuilding<'a, 'b, B: Build> {
    left: &'a [u8],
    builder: &'b mut B,
    stack: &'b mut Vec<B::Out>,
}

impl<B: Build> KeyBuilding<'_, '_, B> {
    /// Builds the next term; `None` if it is not one of the simple kinds.
    fn term(&mut self, depth: usize) -> Option<B::Out> {
        let (&tag, left) = self.left.split_first()?;
        self.left = left;
        match tag {
            tag::ZERO => Some(self.builder.int(0)),
            _ if (tag::POS_0 + 1..=tag::POS_0 + 8).contains(&tag) => {
                self.int(usize::from(tag - tag::POS_0), false)
            }
            _ if (tag::NEG_0 - 8..=tag::NEG_0).contains(&tag) => {
                self.int(usize::from(tag::NEG_0 - tag), true)
            }
            tag::ATOM => {
                let (name, taken) = escape::read(self.left)?;
                self.left = &self.left[taken..];
                let atom = crate::Atom::new(std::str::from_utf8(&name).ok()?).ok()?;
                Some(self.builder.atom(atom))
            }
            tag::BITS => self.binary(),
            tag::TUPLE_0..tag::TUPLE_LONG if depth < SHALLOW => {
                self.tuple(usize::from(tag - tag::TUPLE_0), depth)
            }
            tag::NIL => Some(self.builder.list(&[], None)),
            tag::CONS if depth < SHALLOW => self.list(depth),
            _ => None,
        }
    }

    #[inline]
    fn int(&mut self, len: usize, negative: bool) -> Option<B::Out> {
        let (bytes, left) = self.left.split_at_checked(len)?;
        self.left = left;
        if left.first() == Some(&tag::FRACTION) {
            return None;
        }
        let start = if negative { u64::MAX } else { 0 };
        let low = bytes.iter().fold(start, |low, &b| low << 8 | u64::from(b)) as i64;
        // Eight bytes may be more than 63 bits.
        ((low < 0) == negative).then(|| self.builder.int(low))
    }

    fn binary(&mut self) -> Option<B::Out> {
        let (content, taken) = escape::read(self.left)?;
        let (&bits, left) = self.left[taken..].split_first()?;
        self.left = left;
        (bits == tag::WHOLE_BYTE).then(|| self.builder.binary(&content))
    }

    fn tuple(&mut self, arity: usize, depth: usize) -> Option<B::Out> {
        let bottom = self.stack.len();
        for _ in 0..arity {
            let term = self.term(depth + 1)?;
            self.stack.push(term);
        }
        let tuple = self.builder.tuple(&self.stack[bottom..]);
        self.stack.truncate(bottom);
        Some(tuple)
    }

    fn list(&mut self, depth: usize) -> Option<B::Out> {
        let bottom = self.stack.len();
        loop {
            let term = self.term(depth + 1)?;
            self.stack.push(term);
            match self.left.split_first()? {
                (&tag::CONS, left) => self.left = left,
                (&tag::NIL, left) => {
                    self.left = left;
                    let list = self.builder.list(&self.stack[bottom..], None);
                    self.stack.truncate(bottom);
                    return Some(list);
                }
                _ => return None,
            }
        }
    }
}
