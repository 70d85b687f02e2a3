//! [`ObjectView`]: an object as a table stores it, the seam to storage.

use fyris_term::{Blob, Term, key, value};

/// An object in stored form: a tuple whose key element is key bytes and whose others are value bytes.
///
/// This is all the crate knows of storage. The bytes must be those that [`fyris_term::key`] and
/// [`fyris_term::value`] write; other bytes make wrong answers, never a panic or undefined behaviour.
#[derive(Debug, Clone, Copy)]
pub struct ObjectView<'a> {
    /// The number of elements of the tuple.
    pub arity: usize,
    /// The position of the key, from 1 to `arity`.
    pub keypos: usize,
    /// The order part of the key's bytes.
    pub key_order: &'a [u8],
    /// The bytes behind it: the exactness trailer, then the rest ([`fyris_term::key::KeyBuf::stored`] without the
    /// order part).
    pub key_tail: &'a [u8],
    /// The values of the other elements, in order.
    pub values: &'a [u8],
    /// The large binaries that the values refer to.
    pub blobs: &'a [Blob],
}

impl<'a> ObjectView<'a> {
    /// Decodes the key.
    pub fn key(&self) -> Term {
        // Most keys are integers or binaries, which need no decoder.
        if let Some(int) = key::as_int(self.key_order, self.key_tail) {
            return Term::Int(int);
        }
        match key::as_binary(self.key_order) {
            Some(content) => Term::Binary(content),
            None => decoded_key(self.key_order, self.key_tail),
        }
    }

    /// Decodes the whole tuple. O(size).
    pub fn to_term(&self) -> Term {
        let mut elements = Vec::with_capacity(self.arity);
        let mut values = self.values;
        for position in 1..=self.arity {
            elements.push(if position == self.keypos {
                self.key()
            } else {
                decoded(&mut values, self.blobs)
            });
        }
        Term::tuple(elements)
    }

    /// Returns the value bytes from element `position` on, counted from 1; `None` if it is the key or does not exist.
    /// O(position).
    pub(crate) fn values_from(&self, position: usize) -> Option<&'a [u8]> {
        if position == 0 || position > self.arity || position == self.keypos {
            return None;
        }
        let mut values = self.values;
        for _ in 1..position - usize::from(position > self.keypos) {
            value::skip(&mut values).ok()?;
        }
        Some(values)
    }
}

/// Decodes a key, or a part of one.
pub(crate) fn decoded_key(order: &[u8], tail: &[u8]) -> Term {
    key::decode(order, tail).unwrap_or_else(|_| corrupt())
}

/// Decodes the value at the front of `values`, and moves `values` behind it.
pub(crate) fn decoded(values: &mut &[u8], blobs: &[Blob]) -> Term {
    value::decode(values, blobs).unwrap_or_else(|_| corrupt())
}

/// Returns the term that stands for bytes that no encoder wrote.
#[cold]
fn corrupt() -> Term {
    Term::tuple(Vec::new())
}
