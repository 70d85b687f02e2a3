//! Objects in a caller's own representation of terms.
//!
//! A binding has terms of its own: those of the Erlang machine, of C, of Python. Going by way of
//! [`Term`](fyris_term::Term) would build a tree for every call. Instead the binding writes an object
//! straight into the parts of its record ([`AsObject`]), and reads one straight out of them
//! ([`Object::build`]).

use std::borrow::Borrow;

use fyris_term::key::{self, KeyBuf};
use fyris_term::value::{self, Build, ValueWriter, View};
use fyris_term::{Blob, Term};

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::record::{NewRecord, Object, Scratch, elements, with_scratch};
use crate::resource_ref;

/// A writer for the parts of an object.
pub struct ObjectWriter<'a> {
    scratch: &'a mut Scratch,
}

impl ObjectWriter<'_> {
    /// Returns the place to write the key to: exactly one, by a [`KeyWriter`](fyris_term::key::KeyWriter) or one of
    /// `KeyBuf`'s own methods.
    #[inline]
    pub fn key(&mut self) -> &mut KeyBuf {
        &mut self.scratch.key
    }

    /// Returns the writer of the other elements, in order.
    #[inline]
    pub fn values(&mut self) -> ValueWriter<'_> {
        ValueWriter::new(&mut self.scratch.values, &mut self.scratch.blobs)
    }

    /// Returns the large binaries among what was written so far.
    #[inline]
    pub fn blobs(&self) -> &[Blob] {
        &self.scratch.blobs
    }

    /// Lets the object hold a keeper, which the caller has retained: the last thing to be written, when nothing can
    /// fail any more.
    pub fn keep(&mut self, keeper: Blob) {
        self.scratch.blobs.push(keeper);
    }
}

/// Types that operations take as an object.
pub trait AsObject {
    /// Writes the object for a table whose key is at `keypos`, from 1; returns its arity.
    ///
    /// # Errors
    ///
    /// [`Error::NotATuple`](crate::Error::NotATuple), [`Error::BadKeyPosition`](crate::Error::BadKeyPosition); nothing
    /// is inserted then.
    fn write(&self, keypos: usize, out: &mut ObjectWriter<'_>) -> Result<usize>;

    /// Returns the key and the other element, if the object is a pair of integers of 64 bits: such an object may be
    /// stored without being written. `None` is always right.
    #[inline]
    fn ints(&self, _keypos: usize) -> Option<(i64, i64)> {
        None
    }
}

impl AsObject for Term {
    fn write(&self, keypos: usize, out: &mut ObjectWriter<'_>) -> Result<usize> {
        elements(self, keypos)?.write(keypos, out)
    }

    #[inline]
    fn ints(&self, keypos: usize) -> Option<(i64, i64)> {
        match self {
            Term::Tuple(elements) => elements[..].ints(keypos),
            _ => None,
        }
    }
}

/// The elements of an object, which need not be a tuple for it.
impl<T: Borrow<Term>> AsObject for [T] {
    fn write(&self, keypos: usize, out: &mut ObjectWriter<'_>) -> Result<usize> {
        let arity = self.len();
        let Some(key) = keypos.checked_sub(1).and_then(|at| self.get(at)) else {
            return Err(Error::BadKeyPosition { keypos, arity });
        };
        KeyBuf::encode_into(key.borrow(), out.key());
        let Scratch { values, blobs, .. } = &mut *out.scratch;
        for (i, element) in self.iter().enumerate() {
            if i + 1 != keypos {
                value::encode(element.borrow(), values, blobs);
            }
        }
        if resource_ref::any() {
            for element in self {
                resource_ref::keep(element.borrow(), &mut out.scratch.blobs);
            }
        }
        Ok(arity)
    }

    #[inline]
    fn ints(&self, keypos: usize) -> Option<(i64, i64)> {
        let [first, second] = self else { return None };
        match (first.borrow(), second.borrow(), keypos) {
            (&Term::Int(key), &Term::Int(value), 1) => Some((key, value)),
            (&Term::Int(value), &Term::Int(key), 2) => Some((key, value)),
            _ => None,
        }
    }
}

/// Returns the record of an object. O(size).
#[inline]
pub(crate) fn record_of(object: &(impl AsObject + ?Sized), keypos: usize) -> Result<NewRecord> {
    match object.ints(keypos).and_then(NewRecord::of_ints) {
        Some(inline) => Ok(inline),
        None => with_scratch(|scratch| record_in(scratch, object, keypos)),
    }
}

/// Returns the record of an object, written in scratch memory of the caller's. O(size).
#[inline]
pub(crate) fn record_in(
    scratch: &mut Scratch,
    object: &(impl AsObject + ?Sized),
    keypos: usize,
) -> Result<NewRecord> {
    scratch.values.clear();
    scratch.blobs.clear();
    let arity = object.write(keypos, &mut ObjectWriter { scratch })?;
    scratch.finish(arity)
}

/// An element that is not the key, as it is stored.
#[derive(Clone, Copy)]
pub struct StoredValue<'g> {
    /// The bytes of the element, and of those behind it.
    bytes: &'g [u8],
    blobs: &'g [Blob],
}

impl<'g> StoredValue<'g> {
    /// Returns the element opened by one level. O(1), as [`value::view`].
    #[inline]
    pub fn view(self) -> View<'g> {
        value::view(self.bytes).expect(KNOWN)
    }

    /// Returns the most bytes that the element takes as it is stored.
    #[inline]
    pub fn most_bytes(self) -> usize {
        self.bytes.len()
    }

    /// Returns the element in another representation. O(size).
    pub fn build<B: Build>(self, builder: &mut B, stack: &mut Vec<B::Out>) -> B::Out {
        value::build(&mut { self.bytes }, self.blobs, builder, stack).expect(KNOWN)
    }
}

/// Why values can be read.
const KNOWN: &str = "values were encoded by this process";

impl<'g> Object<'g> {
    /// Returns the whole tuple in another representation; with `key` in the place of the key if the caller has it
    /// already, except where the key [is small](Object::is_small). O(size).
    pub fn build<B: Build>(
        &self,
        key: Option<B::Out>,
        builder: &mut B,
        stack: &mut Vec<B::Out>,
    ) -> B::Out {
        if let Some((key, value)) = self.word_ints() {
            return self.build_ints(key, value, builder);
        }
        let small = self.word_values();
        let (arity, values, blobs) = match &small {
            Some((bytes, len)) => (self.arity(), &bytes[..*len], &[][..]),
            // SAFETY: the record lives for `'g`.
            None => unsafe { self.record().body() },
        };
        let key = key.unwrap_or_else(|| self.build_key(builder, stack));
        let keypos = self.keypos();
        if let Some(tuple) = builder.begin_tuple(arity) {
            builder.put(tuple, keypos - 1, key);
            value::build_each(
                values,
                blobs,
                arity - 1,
                builder,
                stack,
                |builder, place, value| {
                    builder.put(tuple, place + usize::from(place + 1 >= keypos), value);
                },
            )
            .expect(KNOWN);
            return tuple;
        }
        let mut elements = SmallVec::<[B::Out; 8]>::new();
        value::build_each(values, blobs, arity - 1, builder, stack, |_, _, value| {
            elements.push(value);
        })
        .expect(KNOWN);
        elements.insert(keypos - 1, key);
        builder.tuple(&elements)
    }

    /// Returns the number of bytes that the key and the values take as they are stored, or a few more.
    #[inline]
    pub fn stored_len(&self) -> usize {
        if self.is_inline() {
            // At most: eight bytes of the key and five of the value.
            return 13;
        }
        self.key_bytes().len() + self.value_bytes().len()
    }

    /// Returns a tuple of integers.
    #[inline]
    fn build_ints<B: Build>(&self, key: i64, value: Option<i64>, builder: &mut B) -> B::Out {
        let key = builder.int(key);
        match value.map(|value| builder.int(value)) {
            None => builder.tuple(&[key]),
            Some(value) if self.keypos() == 1 => builder.tuple(&[key, value]),
            Some(value) => builder.tuple(&[value, key]),
        }
    }

    /// Returns the key in another representation.
    pub fn build_key<B: Build>(&self, builder: &mut B, stack: &mut Vec<B::Out>) -> B::Out {
        if let Some(int) = self.word_int(self.keypos()) {
            return builder.int(int);
        }
        key::build(self.key_order(), self.key_tail(), builder, stack)
            .expect("a record's key was encoded by this process")
    }

    /// Returns element `n`, from 1, if it is an integer that is at hand without looking at bytes.
    #[inline]
    pub fn small_element(&self, n: usize) -> Option<i64> {
        self.word_int(n)
    }

    /// Returns the elements, if there are two, both integers that are at hand without looking at bytes.
    #[inline]
    pub fn small_pair(&self) -> Option<[i64; 2]> {
        let (key, value) = self.word_ints()?;
        Some(match self.keypos() {
            1 => [key, value?],
            _ => [value?, key],
        })
    }

    /// Returns element `n`, from 1, in another representation; `None` past the end. O(n) in the elements before it.
    pub fn build_element<B: Build>(
        &self,
        n: usize,
        builder: &mut B,
        stack: &mut Vec<B::Out>,
    ) -> Option<B::Out> {
        if n == self.keypos() {
            return Some(self.build_key(builder, stack));
        }
        if let Some((bytes, len)) = self.word_values() {
            // An inline object has one value at most.
            return (n == 3 - self.keypos() && n <= self.arity())
                .then(|| value::build(&mut &bytes[..len], &[], builder, stack).expect(KNOWN));
        }
        Some(self.stored_value(n)?.build(builder, stack))
    }

    /// Returns element `n`, from 1, as it is stored; `None` past the end, of the key, and of an object that has no
    /// bytes. O(n) in the elements before it.
    #[inline]
    pub fn stored_value(&self, n: usize) -> Option<StoredValue<'g>> {
        if n == self.keypos() || self.is_inline() {
            return None;
        }
        Some(StoredValue {
            bytes: self.values_from(n)?,
            blobs: self.blobs(),
        })
    }
}
