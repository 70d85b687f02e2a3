//! Records: one immutable allocation an object.
//!
//! # Why
//!
//! A table of small objects is mostly overhead if every object is a tree of allocations. A record is one block: a
//! header of four bytes, the key as the bytes the indexes compare, and the other elements in the compact value form.
//! Invariant **IMMUTABLE**: a record is built once, on insert, and never written again. An update builds another record
//! and swaps one pointer. Readers therefore look at a record without any synchronisation beyond having come by its
//! pointer.
//!
//! # Layout
//!
//! The short form, for objects whose parts are short and hold no large binaries:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 1 | bit 0: 0; bits 1 to 7: length of the key's exactness trailer |
//! | 1 | 1 | length of the key: order part and trailer together |
//! | 2 | 1 | length of the values |
//! | 3 | 1 | arity |
//! | 4 | key | order part, then trailer |
//! | 4 + key | values | the elements other than the key, in order; the block is 12 bytes at least |
//!
//! The long form, for everything else:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | bit 0: 1; bits 8 to 31: arity |
//! | 4 | 4 | length of the key: order part and trailer together |
//! | 8 | 4 | length of the trailer |
//! | 12 | 4 | length of the values |
//! | 16 | 4 | number of blobs |
//! | 20 | 4 | length of the key's rest |
//! | 24 | 16 each | blobs: large binaries, held by reference count |
//! | then | key | order part, then trailer |
//! | then | rest | what only decoding the key needs: the creators of the closures in it |
//! | then | values | the elements other than the key, in order |
//!
//! So `{1000000, 1000000}` takes 4 + 4 + 4 bytes, rounded up to 16 by the allocator, and an object of
//! two integers of any 64 bits takes at most 24.
//!
//! Blocks come from [`fyris_sync::alloc`], 8-byte aligned, which leaves three low bits of a pointer
//! for the tags of a [`Slot`](crate::slot::Slot).

mod brief;
mod build;
mod inline;
mod materialize;
mod object;
mod path;
mod splice;

pub(crate) use brief::brief;
pub(crate) use build::{
    NewRecord, Scratch, edited, elements, newest, object, with_key, with_scratch,
};
pub(crate) use inline::{INLINE, has_key as word_has_key, key_of as word_key};
pub(crate) use materialize::materialize;
pub use object::Object;
pub(crate) use path::position;
pub(crate) use splice::{all_counted, all_overwritten, counted, overwritten};

use std::cell::Cell;
use std::ptr::NonNull;

use fyris_index::prefetch;
use fyris_query::ObjectView;
use fyris_sync::alloc;
use fyris_sync::reclaim::{Guard, Retire};
use fyris_term::{Blob, value};

use crate::chain::Fingerprints;
use crate::keys::{ExactKey, OrderKey, ShortKey, word_of};
use crate::resource_ref;

const SHORT_HEADER: usize = 4;
const LONG_HEADER: usize = 24;
const BLOB: usize = size_of::<Blob>();
/// The least block: a short key is compared by one load of eight bytes behind the header ([`RecordPtr::has_key`]).
const LEAST: usize = SHORT_HEADER + size_of::<u64>();
/// The most elements of a tuple, as in OTP.
pub(crate) const MAX_ARITY: usize = (1 << 24) - 1;

/// The parts of a record, for [`RecordPtr::new`].
pub(crate) struct Parts<'a> {
    pub(crate) arity: usize,
    /// Order part and trailer.
    pub(crate) key: &'a [u8],
    pub(crate) trailer: usize,
    /// The bytes that only decoding the key needs ([`fyris_term::key::KeyBuf::rest`]); most often empty.
    pub(crate) rest: &'a [u8],
    pub(crate) values: &'a [u8],
}

/// A pointer to a live record. Copying it shares the record; its one owner is the one that the slot protocol names
/// (OWNERSHIP in [`crate::slot`]).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordPtr(NonNull<u8>);

/// The lengths in a header, decoded.
struct Shape {
    key_at: usize,
    key: usize,
    trailer: usize,
    rest: usize,
    values: usize,
    blobs: usize,
    arity: usize,
}

impl Shape {
    /// Returns the number of bytes of the whole block.
    #[inline]
    fn len(&self) -> usize {
        (self.values_at() + self.values).max(LEAST)
    }

    #[inline]
    fn values_at(&self) -> usize {
        self.key_at + self.key + self.rest
    }
}

impl RecordPtr {
    /// Allocates a record; `blobs` are moved into it (the vector is left empty).
    pub(crate) fn new(parts: Parts<'_>, blobs: &mut Vec<Blob>) -> RecordPtr {
        let Parts {
            arity,
            key,
            trailer,
            rest,
            values,
        } = parts;
        let short = blobs.is_empty()
            && rest.is_empty()
            && key.len() <= 255
            && trailer <= 127
            && values.len() <= 255
            && arity <= 255;
        let key_at = if short {
            SHORT_HEADER
        } else {
            LONG_HEADER + blobs.len() * BLOB
        };
        let len = key_at + key.len() + rest.len() + values.len();
        let base = alloc::allocate(len.max(LEAST));
        let at = base.as_ptr();
        // SAFETY: the block is fresh, 8-byte aligned and as long as header, blobs, key, rest and
        // values together, which is how far the writes below reach.
        unsafe {
            if short {
                let header = [
                    (trailer << 1) as u8,
                    key.len() as u8,
                    values.len() as u8,
                    arity as u8,
                ];
                at.cast::<[u8; 4]>().write(header);
                // All that `has_key` loads holds something, also where key and values do not reach.
                at.add(SHORT_HEADER).cast::<u64>().write_unaligned(0);
            } else {
                let header = [
                    1 | (arity as u32) << 8,
                    key.len() as u32,
                    trailer as u32,
                    values.len() as u32,
                    blobs.len() as u32,
                    rest.len() as u32,
                ];
                at.cast::<[u32; 6]>().write(header);
                let slots = at.add(LONG_HEADER).cast::<Blob>();
                for (i, blob) in blobs.drain(..).enumerate() {
                    slots.add(i).write(blob);
                }
            }
            at.add(key_at)
                .copy_from_nonoverlapping(key.as_ptr(), key.len());
            let rest_at = at.add(key_at + key.len());
            rest_at.copy_from_nonoverlapping(rest.as_ptr(), rest.len());
            rest_at
                .add(rest.len())
                .copy_from_nonoverlapping(values.as_ptr(), values.len());
        }
        RecordPtr(base)
    }

    /// Returns the word of an index entry that holds the object: the pointer, whose low three bits are zero, or the
    /// inline object that it was made from. It tells an object from others as long as a pin lives.
    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.word()
            .unwrap_or_else(|| self.0.as_ptr().expose_provenance() as u64)
    }

    /// # Safety
    ///
    /// `bits` comes from [`RecordPtr::bits`] of a record that is a block and not freed yet.
    #[inline]
    pub(crate) unsafe fn from_bits(bits: u64) -> RecordPtr {
        let ptr = std::ptr::with_exposed_provenance_mut(bits as usize);
        // SAFETY: `bits` came from a NonNull.
        RecordPtr(unsafe { NonNull::new_unchecked(ptr) })
    }

    /// Returns the first four bytes: the whole header of the short form.
    #[inline]
    fn head(self) -> [u8; 4] {
        // SAFETY: IMMUTABLE, and every record has a header of at least four bytes.
        unsafe { self.0.cast::<[u8; 4]>().read() }
    }

    #[inline]
    fn shape(self) -> Shape {
        let head = self.head();
        if head[0] & 1 == 0 {
            return Shape {
                key_at: SHORT_HEADER,
                key: head[1] as usize,
                trailer: (head[0] >> 1) as usize,
                rest: 0,
                values: head[2] as usize,
                blobs: 0,
                arity: head[3] as usize,
            };
        }
        self.long_shape()
    }

    /// Brings the line near where the record begins.
    #[inline]
    pub(crate) fn prefetch(self) {
        prefetch::read(self.0.as_ptr());
    }

    /// Brings the values near, if they lie on another line than the header, which must be near already.
    #[inline]
    pub(crate) fn prefetch_values(self) {
        let head = self.head();
        let at = match head[0] & 1 {
            0 => SHORT_HEADER + head[1] as usize,
            // Behind a key of any length: what the rest of the header says of it comes first.
            _ => LONG_HEADER,
        };
        prefetch::read(self.0.as_ptr().wrapping_add(at));
    }

    #[inline]
    fn long_shape(self) -> Shape {
        // SAFETY: IMMUTABLE, and bit 0 of the header says that it has six words.
        let [arity, key, trailer, values, blobs, rest] =
            unsafe { self.0.cast::<[u32; 6]>().read() };
        Shape {
            key_at: LONG_HEADER + blobs as usize * BLOB,
            key: key as usize,
            trailer: trailer as usize,
            rest: rest as usize,
            values: values as usize,
            blobs: blobs as usize,
            arity: (arity >> 8) as usize,
        }
    }

    /// # Safety
    ///
    /// `at + len` is within the record, and the record is not freed during `'r`.
    #[inline]
    unsafe fn slice<'r>(self, at: usize, len: usize) -> &'r [u8] {
        // SAFETY: the caller's contract, and IMMUTABLE: no thread writes these bytes.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(at), len) }
    }

    /// Returns the key's order part and trailer.
    ///
    /// # Safety
    ///
    /// The record is not freed during `'r`.
    #[inline]
    pub(crate) unsafe fn exact<'r>(self) -> &'r ExactKey {
        let s = self.shape();
        // SAFETY: the shape is that of the block; the caller's contract.
        ExactKey::new(unsafe { self.slice(s.key_at, s.key) })
    }

    /// Returns the key, order part and trailer, of a block in the short form, if it has no more than eight bytes. The
    /// record is not freed meanwhile.
    #[inline]
    pub(crate) fn short_key(self) -> Option<ShortKey> {
        let head = self.head();
        let len = usize::from(head[1]);
        if head[0] & 1 != 0 || len.wrapping_sub(1) >= 8 {
            return None;
        }
        let word = self.word_behind_head() & (u64::MAX >> (64 - 8 * len));
        Some(ShortKey { word, len })
    }

    /// Returns the eight bytes behind the first four, which in the short form begin with the key, little-endian.
    #[inline]
    fn word_behind_head(self) -> u64 {
        // SAFETY: IMMUTABLE, and every record has eight bytes behind the first four.
        let word = unsafe { self.0.byte_add(SHORT_HEADER).cast::<u64>().read_unaligned() };
        u64::from_le(word)
    }

    /// Returns whether the key, order part and trailer, is this one. The record is not freed meanwhile.
    #[inline]
    pub(crate) fn has_key(self, key: ShortKey) -> bool {
        let head = self.head();
        let differs = (self.word_behind_head() ^ key.word) << (64 - 8 * key.len);
        if head[0] & 1 != 0 {
            return self.has_key_far(key);
        }
        usize::from(head[1]) == key.len && differs == 0
    }

    /// Returns whether the key of a record in the long form is this one.
    fn has_key_far(self, key: ShortKey) -> bool {
        // SAFETY: the caller of `has_key` knows that the record is not freed meanwhile.
        let bytes = unsafe { self.exact() }.bytes();
        bytes.len() == key.len && word_of(bytes) == Some(key.word)
    }

    /// Returns the key's order part.
    ///
    /// # Safety
    ///
    /// The record is not freed during `'r`.
    #[inline]
    pub(crate) unsafe fn order<'r>(self) -> &'r OrderKey {
        let s = self.shape();
        // SAFETY: the shape is that of the block; the caller's contract.
        OrderKey::new(unsafe { self.slice(s.key_at, s.key - s.trailer) })
    }

    /// Returns the bytes after the key's order part, for decoding it: the trailer, then the rest.
    ///
    /// # Safety
    ///
    /// The record is not freed during `'r`.
    pub(crate) unsafe fn tail<'r>(self) -> &'r [u8] {
        let s = self.shape();
        // SAFETY: the shape is that of the block; the caller's contract.
        unsafe { self.slice(s.key_at + s.key - s.trailer, s.trailer + s.rest) }
    }

    /// Returns the parts of the key: order part and trailer, the trailer's length, the rest.
    ///
    /// # Safety
    ///
    /// The record is not freed during `'r`.
    pub(crate) unsafe fn key_parts<'r>(self) -> (&'r [u8], usize, &'r [u8]) {
        let s = self.shape();
        // SAFETY: the shape is that of the block; the caller's contract.
        unsafe {
            let rest = self.slice(s.key_at + s.key, s.rest);
            (self.slice(s.key_at, s.key), s.trailer, rest)
        }
    }

    /// Returns the values.
    ///
    /// # Safety
    ///
    /// The record is not freed during `'r`.
    #[inline]
    pub(crate) unsafe fn values<'r>(self) -> &'r [u8] {
        let s = self.shape();
        // SAFETY: the shape is that of the block; the caller's contract.
        unsafe { self.slice(s.values_at(), s.values) }
    }

    /// Returns the blobs the values refer to.
    ///
    /// # Safety
    ///
    /// The record is not freed during `'r`.
    #[inline]
    pub(crate) unsafe fn blobs<'r>(self) -> &'r [Blob] {
        let s = self.shape();
        if s.blobs == 0 {
            return &[];
        }
        // SAFETY: `new` wrote that many blobs there, aligned, as the block is to 8 bytes.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(LONG_HEADER).cast(), s.blobs) }
    }

    /// Returns the number of elements, the values and the blobs, by one look at the header.
    ///
    /// # Safety
    ///
    /// The record is not freed during `'r`.
    #[inline(always)]
    pub(crate) unsafe fn body<'r>(self) -> (usize, &'r [u8], &'r [Blob]) {
        let s = self.shape();
        // SAFETY: the shape is that of the block; the caller's contract.
        unsafe {
            let blobs = match s.blobs {
                0 => &[],
                _ => self.blobs(),
            };
            (s.arity, self.slice(s.values_at(), s.values), blobs)
        }
    }

    /// Returns all parts, for a match specification.
    ///
    /// # Safety
    ///
    /// The record is not freed during `'r`.
    #[inline]
    pub(crate) unsafe fn view<'r>(self, keypos: usize) -> ObjectView<'r> {
        let s = self.shape();
        let order = s.key - s.trailer;
        // SAFETY: the shape is that of the block; the caller's contract.
        unsafe {
            ObjectView {
                arity: s.arity,
                keypos,
                key_order: self.slice(s.key_at, order),
                key_tail: self.slice(s.key_at + order, s.trailer + s.rest),
                values: self.slice(s.values_at(), s.values),
                blobs: self.blobs(),
            }
        }
    }

    /// Returns the number of elements of the object.
    #[inline]
    pub(crate) fn arity(self) -> usize {
        self.shape().arity
    }

    /// Returns whether whole objects are `=:=`: keys and values exactly equal. Decodes neither.
    pub(crate) fn same_object(self, other: RecordPtr) -> bool {
        // SAFETY: both are live while the caller, which holds them, compares them.
        unsafe {
            self.arity() == other.arity()
                && self.exact() == other.exact()
                && value::equal(
                    self.values(),
                    resource_ref::without(self.blobs()),
                    other.values(),
                    resource_ref::without(other.blobs()),
                )
        }
    }

    /// Returns a number that two objects of a key have in common if they are the [same](RecordPtr::same_object), and
    /// rarely otherwise.
    #[inline]
    pub(crate) fn fingerprint(self) -> u64 {
        // SAFETY: live while the caller, which holds it, looks at it.
        value::fingerprint(unsafe { self.values() })
    }

    /// Returns its fingerprint as the range that a search takes.
    pub(crate) fn fingerprints(self) -> Fingerprints {
        let fingerprint = self.fingerprint();
        fingerprint..=fingerprint
    }

    /// Returns the number of bytes allocated for the record, as the allocator rounds them, without its blobs; 0 for an
    /// inline object.
    #[inline]
    pub(crate) fn size(self) -> usize {
        if self.is_materialized() {
            return 0;
        }
        // SAFETY: the block came from `alloc::allocate` with this length, and is live.
        unsafe { alloc::usable_size(self.0, self.shape().len()) }
    }

    /// Returns whether both blocks have the same bytes and no blobs. Then the objects are `=:=`; objects with other
    /// bytes may be `=:=`, too.
    #[inline]
    pub(crate) fn has_same_bytes(self, other: RecordPtr) -> bool {
        let (a, b) = (self.shape(), other.shape());
        let lens = |shape: &Shape| {
            (
                shape.arity,
                shape.key,
                shape.trailer,
                shape.rest,
                shape.values,
            )
        };
        let len = a.key + a.rest + a.values;
        // SAFETY: the shapes are those of the blocks; both are live while the caller, which holds them, compares them.
        lens(&a) == lens(&b)
            && a.blobs + b.blobs == 0
            && unsafe { self.slice(a.key_at, len) == other.slice(b.key_at, len) }
    }

    /// Returns whether the other record takes as much; both are blocks.
    #[inline]
    pub(crate) fn is_as_long(self, other: RecordPtr) -> bool {
        self.shape().len() == other.shape().len()
    }

    /// Frees the record now, if it is a block; returns whether the collector is to be flushed for the resources that
    /// the record held.
    ///
    /// # Safety
    ///
    /// No other thread can reach it, and it was not retired.
    pub(crate) unsafe fn free(self) -> bool {
        if self.is_materialized() {
            return false;
        }
        // SAFETY: the record is live until it is freed, after this.
        let flush = resource_ref::retire_all(unsafe { self.blobs() });
        // SAFETY: forwarded.
        unsafe { self.reclaim() };
        flush
    }

    /// Frees a block.
    ///
    /// # Safety
    ///
    /// No other thread can reach it, and the binding knows that it is retired.
    unsafe fn reclaim(self) {
        let shape = self.shape();
        let (blobs, len) = (shape.blobs, shape.len());
        if blobs != 0 {
            // SAFETY: the record is live until the end of this function.
            resource_ref::release_all(unsafe { self.blobs() });
            let first = self.0.as_ptr().wrapping_add(LONG_HEADER).cast::<Blob>();
            // SAFETY: `new` moved that many blobs there; they are dropped once, here.
            unsafe { std::ptr::slice_from_raw_parts_mut(first, blobs).drop_in_place() };
        }
        // SAFETY: the block came from `alloc::allocate` with this length; the caller is the only one
        // left.
        unsafe { alloc::free(self.0, len) }
    }

    /// Frees the record, if it is a block, once no thread pinned now is still under that pin.
    ///
    /// # Safety
    ///
    /// It can no longer be reached by threads that pin from now on, and is retired once.
    #[inline]
    pub(crate) unsafe fn retire(self, pin: &impl Guard) {
        if self.is_materialized() {
            return;
        }
        if self.head()[0] & 1 != 0 {
            self.weigh(pin);
        }
        // SAFETY: forwarded.
        unsafe { pin.retire(self.0.as_ptr().cast::<Block>()) }
    }

    /// Says how much goes with a long record, and that what the binding keeps for it goes.
    #[inline(never)]
    fn weigh(self, pin: &impl Guard) {
        // SAFETY: the record is live until it is retired, after this.
        let blobs = unsafe { self.blobs() };
        let bytes: usize = blobs.iter().map(weight).sum();
        pin.weigh(self.long_shape().len() + bytes);
        if resource_ref::retire_all(blobs) {
            pin.flush_on_drop();
        }
    }
}

/// Blobs from this length on are weighed each time.
const HEAVY: usize = 64 << 10;

thread_local! {
    /// The address of the foreign blob that was weighed last.
    static WEIGHED: Cell<usize> = const { Cell::new(0) };
}

/// Returns how much waits with a blob that is retired. The same foreign one again, as when objects with one and the
/// same binary replace each other, does not count twice; another that has come to lie in its place goes uncounted
/// then, so less than [`HEAVY`] bytes a thread.
#[inline]
fn weight(blob: &Blob) -> usize {
    let at = blob.as_ptr().addr();
    let again = blob.is_foreign()
        && (WEIGHED.replace(at) == at || cfg!(fyris_mutant = "store_foreign_unweighed"))
        && blob.len() < HEAVY;
    if again { 0 } else { blob.len() }
}

/// A record as the collector sees it.
#[repr(transparent)]
struct Block(u8);

impl Retire for Block {
    unsafe fn reclaim(ptr: *mut Block) {
        // SAFETY: `ptr` came from `RecordPtr::retire`, so it is a record no thread can reach.
        unsafe { RecordPtr(NonNull::new_unchecked(ptr.cast())).reclaim() }
    }
}

#[cfg(test)]
mod tests {
    use fyris_term::{Atom, Float, Fun, LocalFun, Pid, Term, etf};

    use super::*;
    use crate::native_terms::record_of;

    fn record(elements: Vec<Term>, keypos: usize) -> NewRecord {
        record_of(&Term::tuple(elements), keypos).expect("a record")
    }

    #[test]
    fn any_object_comes_back_from_both_forms() {
        let long = |n: usize| Term::binary(vec![3u8; n]);
        let values = [
            Term::Int(5),
            Term::atom("x"),
            long(10),
            long(65),
            long(300),
            long(70_000),
        ];
        for key in &values {
            for value in &values {
                for keypos in 1..=3 {
                    let mut elements = vec![value.clone(), Term::list(vec![value.clone()])];
                    elements.insert(keypos - 1, key.clone());
                    let record = record(elements.clone(), keypos);
                    let object = object(record.ptr(), keypos);
                    assert_eq!(object.key(), *key);
                    for n in 0..5usize {
                        let want = n.checked_sub(1).and_then(|i| elements.get(i));
                        assert_eq!(object.element(n).as_ref(), want);
                    }
                    assert_eq!(object.to_term(), Term::tuple(elements));
                }
            }
        }
    }

    /// A closure in a key used to come back without its maker, which `=:=` does not see.
    #[test]
    fn a_closure_in_a_key_comes_back_whole() {
        let pid = Pid {
            node: Atom::new("a@b").expect("an atom"),
            id: 7,
            serial: 1,
            creation: 3,
        };
        let closure = Term::Fun(Box::new(Fun::Local(LocalFun {
            module: Atom::new("m").expect("an atom"),
            arity: 2,
            uniq: [9; 16],
            index: 4,
            old_index: 5,
            old_uniq: 6,
            creator: pid,
            free: [Term::Int(1)].into(),
        })));
        let key = Term::tuple(vec![Term::Float(Float::new(1.0).expect("finite")), closure]);
        let old = record(vec![key.clone(), Term::Int(2)], 1);
        let new = edited(old.ptr(), 1, &[(2, Term::atom("edited"))]).expect("a record");
        for record in [old.ptr(), new.ptr()] {
            assert_eq!(etf::encode(&object(record, 1).key()), etf::encode(&key));
        }
        assert_eq!(object(new.ptr(), 1).element(2), Some(Term::atom("edited")));
    }

    #[test]
    fn wide_tuples_take_the_long_form() {
        for arity in [255, 256, 1000] {
            let elements: Vec<Term> = (0..arity).map(Term::Int).collect();
            let record = record(elements.clone(), 200);
            assert_eq!(object(record.ptr(), 200).to_term(), Term::tuple(elements));
        }
    }

    #[test]
    fn two_integers_take_at_most_24_bytes() {
        let size = |k, v| {
            record(vec![Term::Int(k), Term::Int(v)], 1)
                .ptr()
                .shape()
                .len()
        };
        assert_eq!(size(1_000_000, 1_000_000), 12);
        assert!(
            size(i64::MAX, i64::MAX) <= 24,
            "{}",
            size(i64::MAX, i64::MAX)
        );
    }

    #[test]
    fn quick_edits_make_what_edits_make() {
        let values: Vec<Term> = [
            0,
            127,
            128,
            4223,
            4224,
            70_000,
            i64::MAX,
            -16,
            -17,
            i64::MIN,
        ]
        .map(Term::Int)
        .into_iter()
        .chain([Term::atom("x"), Term::binary([7u8; 60]), Term::Int(1 << 40)])
        .collect();
        let bytes_of = |value: &Term| {
            let mut bytes = Vec::new();
            fyris_term::value::encode(value, &mut bytes, &mut Vec::new());
            bytes
        };
        // Short records and long ones.
        for filling in [1, 64, 300] {
            let filling = Term::list(vec![Term::atom("y"); filling]);
            for (value, new) in values
                .iter()
                .flat_map(|v| values.iter().map(move |n| (v, n)))
            {
                let elements = vec![value.clone(), Term::Int(9), filling.clone(), value.clone()];
                let old = record(elements, 2);
                for position in [1, 4] {
                    let edit = edited(old.ptr(), 2, &[(position, new.clone())]).expect("a record");
                    let quick = overwritten(old.ptr(), 2, position, &bytes_of(new));
                    let quick = quick.expect("no blobs");
                    assert!(quick.ptr().same_object(edit.ptr()));
                    let (mut sum, more) = (0, 1);
                    let step = |value: i64| value.checked_add(more);
                    let counted = counted(old.ptr(), 2, position, step, &mut sum);
                    let expected = match value {
                        Term::Int(value) => value.checked_add(more),
                        _ => None,
                    };
                    assert_eq!(counted.is_some(), expected.is_some());
                    if let (Some(counted), Some(expected)) = (counted, expected) {
                        let expected_object =
                            edited(old.ptr(), 2, &[(position, Term::Int(expected))]);
                        assert_eq!(sum, expected);
                        assert!(
                            counted
                                .ptr()
                                .same_object(expected_object.expect("a record").ptr())
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn edits_keep_blobs_straight() {
        let blob = |byte: u8| Term::binary(vec![byte; 300]);
        let old = record(
            vec![Term::Int(1), blob(1), blob(2), Term::Int(3), blob(4)],
            1,
        );
        let edits = [
            (3, Term::Int(0)),
            (4, blob(9)),
            (3, Term::atom("last wins")),
        ];
        let new = edited(old.ptr(), 1, &edits).expect("a record");
        let want = vec![
            Term::Int(1),
            blob(1),
            Term::atom("last wins"),
            blob(9),
            blob(4),
        ];
        assert_eq!(object(new.ptr(), 1).to_term(), Term::tuple(want.clone()));
        let same = record(want, 1);
        assert!(new.ptr().same_object(same.ptr()) && !new.ptr().same_object(old.ptr()));
    }
}
