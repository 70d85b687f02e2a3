//! Shapes: sets of keys that many maps have in common, kept once.
//!
//! # Why
//!
//! The maps of programs are mostly structs and records with names: some atoms as keys, the same ones in every object
//! of a table. Written out, the keys are half of such a map's bytes and more than half of the time it takes to write
//! and read them. So a map of few keys, all of them atoms, is stored as the number of its [`Shape`] and its values.
//!
//! # From keys to number and back: without locks
//!
//! A shape is made once and never forgotten, as atoms are; there are at most [`MAX_SHAPES`], which bounds the memory
//! that hostile maps can fill to a few megabytes. Maps whose keys came too late are stored with their keys.
//!
//! - **DECIDED_ONCE**: whether some keys have a shape is decided when they are first met, and for ever: as long as
//!   there is room they get one, and room never comes back. Without it, equal maps could be stored in two forms
//!   (CANONICAL_VALUE).
//! - **MADE_BEFORE_NUMBERED**: a number is published after the shape it names: a thread that has the number reads the
//!   shape.

use std::hash::BuildHasher;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rapidhash::fast::RandomState;

use super::encode::push_token;
use super::token::Token;
use crate::Atom;

/// The most keys of a map with a shape.
pub const MAX_SHAPE_KEYS: usize = 32;
/// The fewest.
const MIN_KEYS: usize = 2;
/// The most shapes in a process.
pub const MAX_SHAPES: usize = 1 << 14;

/// The keys of maps that are stored alike: some atoms, in the exact order of keys.
#[derive(Debug, PartialEq)]
pub struct Shape {
    number: u32,
    keys: Box<[Atom]>,
    /// The keys as values, one behind another, and where each begins; the last place is the end of all.
    encoded: Box<[u8]>,
    starts: Box<[u8]>,
}

static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Keeps shapes, or other [`Numbered`] items, once: by number and by keys. It begins as zeros, so that it takes no room
/// in a program's file, and memory that no item is in is never touched.
pub(super) struct Interner<T: 'static, const SHAPES: usize, const PLACES: usize> {
    /// Null, or an item that is there for ever.
    shapes: [AtomicPtr<T>; SHAPES],
    /// The number of a shape plus one, at the first free place from the hash of its keys on. There are more places than
    /// shapes, so that a search ends.
    by_keys: [AtomicU32; PLACES],
    /// The number of shapes; held while one is made.
    count: Mutex<usize>,
}

pub(super) static TABLE: Interner<Shape, MAX_SHAPES, { 2 * MAX_SHAPES }> = Interner::new();

/// What is kept once under a number, by the atoms that it is made of.
pub(super) trait Numbered: Sized {
    /// Makes the item; `None` if the atoms are not those of one.
    fn make(number: u32, atoms: &[Atom]) -> Option<Self>;

    /// Returns the atoms.
    fn atoms(&self) -> &[Atom];
}

impl Numbered for Shape {
    fn make(number: u32, keys: &[Atom]) -> Option<Shape> {
        keys.is_sorted_by(|a, b| a.as_str() < b.as_str())
            .then(|| Shape::new(number, keys))
    }

    fn atoms(&self) -> &[Atom] {
        &self.keys
    }
}

impl Shape {
    /// Returns the shape of some keys, which are in the exact order of keys. `None` if there are too few or too many of
    /// them, if they are not in that order, or if there were [`MAX_SHAPES`] others when they were first met. O(keys).
    pub fn of(keys: &[Atom]) -> Option<&'static Shape> {
        if !(MIN_KEYS..=MAX_SHAPE_KEYS).contains(&keys.len()) {
            return None;
        }
        TABLE.find_or_make(keys)
    }

    /// Returns the shape with this number.
    #[inline]
    pub fn numbered(number: u32) -> Option<&'static Shape> {
        TABLE.numbered(number)
    }

    /// Returns its number.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the keys, in their exact order.
    #[inline]
    pub fn keys(&self) -> &[Atom] {
        &self.keys
    }

    /// Returns the key at a place, as a value with others behind it.
    #[inline]
    pub(super) fn key_bytes(&self, place: usize) -> Option<&[u8]> {
        self.encoded.get(usize::from(*self.starts.get(place)?)..)
    }

    /// Returns the place of a key that is given as a value.
    pub(super) fn place_of(&self, key: &[u8]) -> Option<usize> {
        let range = |pair: &[u8; 2]| -> Range<usize> { pair[0].into()..pair[1].into() };
        self.starts
            .array_windows()
            .position(|pair| self.encoded[range(pair)] == *key)
    }

    fn new(number: u32, keys: &[Atom]) -> Shape {
        let (mut encoded, mut starts) = (Vec::new(), vec![0]);
        for key in keys {
            push_token(Token::atom(*key), &mut encoded);
            // Each key has five bytes at most.
            starts.push(encoded.len() as u8);
        }
        Shape {
            number,
            keys: keys.into(),
            encoded: encoded.into(),
            starts: starts.into(),
        }
    }
}

impl<T: Numbered, const SHAPES: usize, const PLACES: usize> Interner<T, SHAPES, PLACES> {
    /// Locks the table: nothing is made meanwhile.
    pub(super) fn hold(&self) -> MutexGuard<'_, usize> {
        // A thread that panicked (for want of memory) has published nothing.
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) const fn new() -> Self {
        const { assert!(PLACES > SHAPES) };
        Interner {
            shapes: [const { AtomicPtr::new(ptr::null_mut()) }; SHAPES],
            by_keys: [const { AtomicU32::new(0) }; PLACES],
            count: Mutex::new(0),
        }
    }

    #[inline]
    pub(super) fn numbered(&self, number: u32) -> Option<&'static T> {
        // Acquire: pairs with the Release of the pointer in `make`.
        let shape = self.shapes.get(number as usize)?.load(Ordering::Acquire);
        // SAFETY: null, or an item that `make` has leaked.
        unsafe { shape.as_ref() }
    }

    pub(super) fn find_or_make(&self, keys: &[Atom]) -> Option<&'static T> {
        let hash = HASHER.hash_one(keys) as usize;
        match self.find(keys, hash) {
            Ok(shape) => Some(shape),
            Err(_) => self.make(keys, hash),
        }
    }

    /// Returns the shape of some keys, or the place where its number would stand.
    fn find(&self, keys: &[Atom], hash: usize) -> Result<&'static T, usize> {
        let mut place = hash % PLACES;
        // Acquire: pairs with the Release in `make` (MADE_BEFORE_NUMBERED).
        while let Some(number) = self.by_keys[place].load(Ordering::Acquire).checked_sub(1) {
            match self.numbered(number) {
                Some(shape) if *shape.atoms() == *keys => return Ok(shape),
                _ => place = (place + 1) % PLACES,
            }
        }
        Err(place)
    }

    /// Makes the shape of keys that have none yet, if there is room (DECIDED_ONCE).
    #[cold]
    fn make(&self, keys: &[Atom], hash: usize) -> Option<&'static T> {
        let mut count = self.hold();
        let place = match self.find(keys, hash) {
            // Another thread was faster.
            Ok(shape) => return Some(shape),
            Err(place) => place,
        };
        let free = self.shapes.get(*count)?;
        let shape: &'static T = Box::leak(Box::new(T::make(*count as u32, keys)?));
        // Release: pairs with the Acquire in `numbered`.
        free.store(ptr::from_ref(shape).cast_mut(), Ordering::Release);
        *count += 1;
        // Release: pairs with the Acquire in `find` (MADE_BEFORE_NUMBERED).
        self.by_keys[place].store(*count as u32, Ordering::Release);
        Some(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atoms(names: &[&str]) -> Vec<Atom> {
        let atom = |name: &&str| Atom::new(name).expect("an atom");
        names.iter().map(atom).collect()
    }

    #[test]
    fn keys_have_one_shape() {
        let keys = atoms(&["shape_a", "shape_b", "shape_c"]);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let keys = keys.clone();
                std::thread::spawn(move || Shape::of(&keys).map(Shape::number))
            })
            .collect();
        let numbers: Vec<_> = threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect();
        assert!(numbers[0].is_some() && numbers.iter().all(|n| *n == numbers[0]));
        let shape = numbers[0].and_then(Shape::numbered).expect("a shape");
        assert_eq!(shape.keys(), keys);
        for (place, key) in keys.iter().enumerate() {
            let mut bytes = Vec::new();
            push_token(Token::atom(*key), &mut bytes);
            assert_eq!(shape.place_of(&bytes), Some(place));
            assert!(
                shape
                    .key_bytes(place)
                    .is_some_and(|b| b.starts_with(&bytes))
            );
        }
        assert_eq!(shape.place_of(&[]), None);
        assert_ne!(
            Shape::of(&atoms(&["shape_a", "shape_b"])).map(Shape::number),
            numbers[0]
        );
    }

    #[test]
    fn keys_in_another_order_have_none() {
        assert!(Shape::of(&atoms(&["shape_z", "shape_y"])).is_none());
        assert!(Shape::of(&atoms(&["shape_z", "shape_z"])).is_none());
    }

    #[test]
    fn few_and_many_keys_have_none() {
        let names: Vec<String> = (10..50).map(|i| format!("shape_{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for count in [0, 1, MAX_SHAPE_KEYS + 1] {
            assert!(Shape::of(&atoms(&names[..count])).is_none(), "{count}");
        }
        assert!(Shape::of(&atoms(&names[..MAX_SHAPE_KEYS])).is_some());
    }

    #[test]
    fn late_keys_have_none_for_ever() {
        static SMALL: Interner<Shape, 3, 4> = Interner::new();
        let shape = |i: usize| {
            let keys = atoms(&[&format!("late_{i}"), "late_z"]);
            SMALL.find_or_make(&keys).map(Shape::number)
        };
        for _ in 0..2 {
            assert_eq!(shape(0), Some(0));
            assert_eq!(shape(1), Some(1));
            assert_eq!(shape(2), Some(2));
            assert_eq!(shape(3), None);
            assert_eq!(shape(4), None);
        }
    }
}
