//! An object in a table, seen without building terms.

use std::marker::PhantomData;

use fyris_query::ObjectView;
use fyris_term::{Blob, Term, key, value};

use super::{RecordPtr, inline, materialize};
use crate::keys::ExactKey;
use crate::slot::Content;

/// An object in a table: valid while the pin it was read under lives.
///
/// Nothing is decoded until asked for. The object is what the table held at one moment; writers that
/// replace it meanwhile do not change what is seen here.
#[derive(Clone, Copy)]
pub struct Object<'g> {
    seen: Seen,
    keypos: usize,
    pin: PhantomData<&'g ()>,
}

/// The way in which an object was met.
#[derive(Clone, Copy)]
enum Seen {
    /// As a record, which may be a materialized inline object.
    Record(RecordPtr),
    /// As an inline object.
    Word(u64),
}

impl<'g> Object<'g> {
    /// # Safety
    ///
    /// The record is not freed during `'g`.
    #[inline]
    pub(crate) unsafe fn new(record: RecordPtr, keypos: usize) -> Object<'g> {
        Object {
            seen: Seen::Record(record),
            keypos,
            pin: PhantomData,
        }
    }

    /// Returns the newest object of a content.
    ///
    /// # Safety
    ///
    /// The content is not freed during `'g`.
    #[inline]
    pub(crate) unsafe fn newest(content: Content, keypos: usize) -> Object<'g> {
        let seen = match content.as_inline() {
            Some(word) => Seen::Word(word),
            None => Seen::Record(content.newest()),
        };
        Object {
            seen,
            keypos,
            pin: PhantomData,
        }
    }

    #[inline]
    fn word(&self) -> Option<u64> {
        match self.seen {
            Seen::Record(_) => None,
            Seen::Word(word) => Some(word),
        }
    }

    /// Returns the number of elements of the tuple.
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 10, 100}))?;
    /// assert_eq!(table.get(&1, &pin())?.map(|object| object.arity()), Some(3));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    #[inline]
    pub fn arity(&self) -> usize {
        match self.word() {
            Some(word) => inline::arity(word),
            None => self.record().arity(),
        }
    }

    /// Returns the position of the key, from 1.
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().keypos(2))?;
    /// table.insert(&term!({10, 1}))?;
    /// assert_eq!(table.get(&1, &pin())?.map(|object| object.keypos()), Some(2));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn keypos(&self) -> usize {
        self.keypos
    }

    /// Returns the key's bytes: order part, then exactness trailer.
    #[inline]
    pub fn key_bytes(&self) -> &'g [u8] {
        // SAFETY: the record lives for `'g`.
        unsafe { self.record().exact().bytes() }
    }

    /// Returns whether these are the key's bytes.
    #[inline]
    pub fn has_key_bytes(&self, bytes: &[u8]) -> bool {
        match self.word() {
            Some(word) => inline::key_of(word).is(bytes),
            None => ExactKey::new(self.key_bytes()) == ExactKey::new(bytes),
        }
    }

    /// Returns the order part of the key's bytes, which compare as the keys do.
    pub fn key_order(&self) -> &'g [u8] {
        // SAFETY: the record lives for `'g`.
        unsafe { self.record().order().bytes() }
    }

    /// Returns the key.
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert(&term!({1.0, 10}))?;
    /// assert_eq!(table.get(&1, &pin())?.map(|object| object.key()), Some(term!(1.0))); // as it was put in
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn key(&self) -> Term {
        if let Some(int) = self.word_int(self.keypos) {
            return Term::Int(int);
        }
        // SAFETY: the record lives for `'g`.
        let tail = unsafe { self.record().tail() };
        key::decode(self.key_order(), tail).expect("a record's key was encoded by this process")
    }

    /// Returns element `n`, from 1; `None` past the end. O(n) in the elements before it.
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 10}))?;
    /// let pin = pin();
    /// let object = table.get(&1, &pin)?.expect("just inserted");
    /// assert_eq!((object.element(2), object.element(3)), (Some(term!(10)), None));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    #[inline]
    pub fn element(&self, n: usize) -> Option<Term> {
        match self.word_int(n) {
            Some(int) => Some(Term::Int(int)),
            None => self.stored_element(n),
        }
    }

    fn stored_element(&self, n: usize) -> Option<Term> {
        if n == self.keypos {
            return Some(self.key());
        }
        let mut values = self.values_from(n)?;
        Some(self.decode(&mut values))
    }

    /// Returns the whole tuple.
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 10}))?;
    /// assert_eq!(table.get(&1, &pin())?.map(|object| object.to_term()), Some(term!({1, 10})));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn to_term(&self) -> Term {
        self.to_term_with(|| self.key())
    }

    /// Returns the whole tuple, with a key that the caller has already.
    pub(crate) fn to_term_with(self, key: impl FnOnce() -> Term) -> Term {
        let arity = self.arity();
        let mut elements = Vec::with_capacity(arity);
        // An inline object is not materialized for it: folds of millions of them under one pin would fill as many
        // pages.
        let word = self.word_values();
        let (mut values, blobs) = match &word {
            Some((bytes, len)) => (&bytes[..*len], &[][..]),
            // SAFETY: the record lives for `'g`.
            None => unsafe { (self.record().values(), self.record().blobs()) },
        };
        let mut decode =
            || value::decode(&mut values, blobs).expect("values were encoded by this process");
        for _ in 1..self.keypos {
            elements.push(decode());
        }
        elements.push(key());
        for _ in self.keypos..arity {
            elements.push(decode());
        }
        Term::tuple(elements)
    }

    /// Returns the value bytes from element `n` on, which is not the key.
    pub(crate) fn values_from(&self, n: usize) -> Option<&'g [u8]> {
        if n == 0 || n > self.arity() {
            return None;
        }
        let before = n - 1 - usize::from(n > self.keypos);
        // SAFETY: the record lives for `'g`.
        let mut values = unsafe { self.record().values() };
        value::skip_many(&mut values, before).expect("values were encoded by this process");
        Some(values)
    }

    /// Returns the bytes of element `n`, if it is not the key and the object is a record without blobs: then objects
    /// with the same bytes there have the same element.
    pub(crate) fn plain_element(&self, n: usize) -> Option<&'g [u8]> {
        let has_blobs = || !self.blobs().is_empty() && !cfg!(fyris_mutant = "store_blobs_alike");
        if n == self.keypos || self.is_inline() || has_blobs() {
            return None;
        }
        let from = self.values_from(n)?;
        let mut rest = from;
        value::skip(&mut rest).ok()?;
        Some(&from[..from.len() - rest.len()])
    }

    /// Shows `f` all elements but the key as they are stored, one after another
    /// ([`ValueWriter`](fyris_term::value::ValueWriter)).
    #[inline]
    pub fn with_values<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match self.word_values() {
            Some((bytes, len)) => f(&bytes[..len]),
            None => f(self.value_bytes()),
        }
    }

    /// Returns the value bytes of all elements but the key.
    #[inline]
    pub(crate) fn value_bytes(&self) -> &'g [u8] {
        // SAFETY: the record lives for `'g`.
        unsafe { self.record().values() }
    }

    /// Returns the bytes after the key's order part.
    #[inline]
    pub(crate) fn key_tail(&self) -> &'g [u8] {
        // SAFETY: the record lives for `'g`.
        unsafe { self.record().tail() }
    }

    /// Returns the large binaries.
    #[inline]
    pub(crate) fn blobs(&self) -> &'g [Blob] {
        // SAFETY: the record lives for `'g`.
        unsafe { self.record().blobs() }
    }

    /// Returns the object as a match specification sees it.
    #[inline]
    pub(crate) fn view(&self) -> ObjectView<'g> {
        // SAFETY: the record lives for `'g`.
        unsafe { self.record().view(self.keypos) }
    }

    /// Returns its record; an inline object is materialized.
    #[inline]
    pub(crate) fn record(&self) -> RecordPtr {
        match self.seen {
            Seen::Record(record) => record,
            Seen::Word(word) => materialize(word),
        }
    }

    /// Returns whether it was met as an inline object, which has no blobs.
    #[inline]
    pub(crate) fn is_inline(&self) -> bool {
        self.word().is_some()
    }

    /// Returns the values of what was met as an inline object, and how many bytes they are.
    #[inline]
    pub(crate) fn word_values(&self) -> Option<([u8; 8], usize)> {
        let parts = inline::unpack(self.word()?);
        Some((parts.values.to_le_bytes(), parts.len))
    }

    /// Returns whether the key is an integer that is at hand: making a term of it is less work than comparing it with
    /// one.
    #[inline]
    pub fn is_small(&self) -> bool {
        self.is_inline()
    }

    /// Returns key and value of an inline object that is made of integers alone.
    #[inline]
    pub(crate) fn word_ints(&self) -> Option<(i64, Option<i64>)> {
        let word = self.word()?;
        let value = match inline::arity(word) {
            1 => None,
            _ => Some(inline::value_int(word)?),
        };
        Some((inline::key_int(word), value))
    }

    /// Returns the element, from 1, of an inline object, if it is an integer; there without a look at bytes.
    #[inline]
    pub(crate) fn word_int(&self, n: usize) -> Option<i64> {
        let word = self.word()?;
        if n == self.keypos {
            return Some(inline::key_int(word));
        }
        inline::value_int(word).filter(|_| (1..=2).contains(&n))
    }

    /// Returns the large binaries it holds by reference, as `{Id, Size, References}`.
    pub(crate) fn binaries(&self) -> Vec<Term> {
        // SAFETY: the record lives for `'g`.
        let blobs = unsafe { self.record().blobs() };
        let number = |n: usize| Term::Int(n as i64);
        let binary = |blob: &Blob| {
            let (id, refs) = (blob.as_ptr().addr(), blob.holders());
            Term::tuple(vec![number(id), number(blob.len()), number(refs)])
        };
        blobs.iter().map(binary).collect()
    }

    pub(super) fn decode(&self, values: &mut &[u8]) -> Term {
        // SAFETY: the record lives for `'g`.
        let blobs = unsafe { self.record().blobs() };
        value::decode(values, blobs).expect("values were encoded by this process")
    }
}

impl std::fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.to_term(), f)
    }
}
