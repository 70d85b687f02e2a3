//! The entries of a bucket, in no order: the first in the bucket itself, the others in nodes behind it.
//!
//! ```text
//!           63                    48 47                                              0
//!          +------------------------+-------------------------------------------------+
//! cell     | hash, bits 63 to 48    | handle of an entry                              |   0 = the bucket is empty
//!          +------------------------+-------------------------------------------------+
//!          | hash, bits 47 to 32    | address of the next cell, a node; 0 = the last  |
//!          +------------------------+-------------------------------------------------+
//! ```
//!
//! A lookup that finds its entry in the bucket waits for two cache lines, the bucket's and the entry's. The upper half
//! of the hash lies in the cells, so splitting and merging look at no entry.

use std::iter::successors;
use std::marker::PhantomData;

use fyris_index::Entry;

/// The bits of a hash that a cell keeps.
pub(super) const HASH: u64 = !0 << HASH_BITS;
/// How many bits that is.
pub(super) const HASH_BITS: u32 = 32;

const LOW_BITS: u32 = 48;
const LOW: u64 = (1 << LOW_BITS) - 1;

/// A bucket, or a node behind one.
pub(super) struct Cell<E> {
    word: u64,
    /// From [`Box::into_raw`], with bits of the hash above; the cell owns the node.
    next: *mut Cell<E>,
    entry: PhantomData<E>,
}

impl<E> Default for Cell<E> {
    fn default() -> Self {
        Self {
            word: 0,
            next: std::ptr::null_mut(),
            entry: PhantomData,
        }
    }
}

impl<E> Cell<E> {
    #[inline]
    fn is_empty(&self) -> bool {
        self.word == 0
    }

    /// Returns the hash, of which the bits outside of [`HASH`] are zero.
    #[inline]
    pub(super) fn hash(&self) -> u64 {
        self.word & !LOW | (self.next.addr() as u64 & !LOW) >> 16
    }

    #[inline]
    fn address(&self) -> *mut Self {
        self.next.map_addr(|bits| bits & LOW as usize)
    }

    #[inline]
    fn next(&self) -> Option<&Self> {
        // SAFETY: a node that this cell owns, or null.
        unsafe { self.address().as_ref() }
    }

    /// Returns this cell, unless it is empty, and the nodes behind it.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Self> {
        successors((!self.is_empty()).then_some(self), |cell| cell.next())
    }

    fn link(&mut self, next: *mut Self) {
        assert_eq!(next.addr() as u64 & !LOW, 0, "an address of 48 bits");
        self.next = next.map_addr(|bits| bits | self.next.addr() & !(LOW as usize));
    }

    /// Takes the node behind this cell out.
    fn unlink(&mut self) -> Option<Box<Self>> {
        let node = self.address();
        if node.is_null() {
            return None;
        }
        // SAFETY: from `Box::into_raw` in `push`; from here on the box owns it.
        let mut node = unsafe { Box::from_raw(node) };
        self.link(node.address());
        node.link(std::ptr::null_mut());
        Some(node)
    }

    /// Puts the content of another cell in the place of this one's.
    fn copy(&mut self, from: &Self) {
        self.word = from.word;
        let bits = from.next.addr() & !(LOW as usize);
        self.next = self.address().map_addr(|address| address | bits);
    }
}

impl<E: Entry> Cell<E> {
    fn new(hash: u64, entry: E) -> Self {
        Self {
            word: hash & !LOW | entry.into_bits(),
            next: std::ptr::without_provenance_mut((hash << 16 & !LOW) as usize),
            entry: PhantomData,
        }
    }

    /// Returns the entry of a cell that is not empty.
    #[inline]
    pub(super) fn entry(&self) -> E {
        debug_assert!(!self.is_empty());
        // SAFETY: the bits of an entry that is in the table.
        unsafe { E::from_bits(self.word & LOW) }
    }

    /// Returns the entry of this hash that `is_it` recognises.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(&E) -> bool) -> Option<E> {
        let same = self.iter().filter(|cell| cell.hash() == hash);
        same.map(Self::entry).find(is_it)
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, hash: u64, entry: E) {
        let new = Self::new(hash, entry);
        if self.is_empty() {
            self.copy(&new);
        } else {
            self.push(Box::new(new));
        }
    }

    /// Adds the entry of a node.
    fn add_node(&mut self, node: Box<Self>) {
        if self.is_empty() {
            self.copy(&node);
        } else {
            self.push(node);
        }
    }

    /// Puts a node behind this cell.
    fn push(&mut self, mut node: Box<Self>) {
        node.link(self.address());
        self.link(Box::into_raw(node));
    }

    /// Replaces an entry by one with the same key.
    pub(super) fn replace(&mut self, old: E, new: E) {
        let cell = self.cell_of(old.into_bits());
        cell.word = cell.word & !LOW | new.into_bits();
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, entry: E) {
        let gone = entry.into_bits();
        match self.unlink() {
            None => *self = Self::default(),
            Some(node) if node.word & LOW == gone => {}
            Some(node) => self.cell_of(gone).copy(&node),
        }
    }

    /// Returns the cell of an entry that is there.
    fn cell_of(&mut self, entry: u64) -> &mut Self {
        let mut cell = self;
        while cell.word & LOW != entry {
            // SAFETY: a node that this cell owns: the entry is in a cell from here on.
            cell = unsafe { &mut *cell.address() };
        }
        cell
    }

    /// Moves the entries whose hashes `moves` accepts to another bucket.
    pub(super) fn give(&mut self, to: &mut Self, moves: impl Fn(u64) -> bool) {
        let mut all = std::mem::take(self);
        if all.is_empty() {
            return;
        }
        let target = if moves(all.hash()) {
            &mut *to
        } else {
            &mut *self
        };
        target.add(all.hash(), all.entry());
        while let Some(node) = all.unlink() {
            let target = if moves(node.hash()) {
                &mut *to
            } else {
                &mut *self
            };
            target.add_node(node);
        }
    }

    /// Takes all entries out.
    pub(super) fn drain(&mut self, mut f: impl FnMut(E)) {
        while let Some(node) = self.unlink() {
            f(node.entry());
        }
        if !self.is_empty() {
            f(std::mem::take(self).entry());
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use fyris_sync::reclaim::Guard;

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Number(u64);

    // SAFETY: a number that stands for itself; the tests make none that is zero or has more than 48 bits.
    unsafe impl Entry for Number {
        type Key = u64;

        fn key(&self) -> &u64 {
            unreachable!("a chain knows no keys")
        }

        fn into_bits(self) -> u64 {
            self.0
        }

        unsafe fn from_bits(bits: u64) -> Self {
            Self(bits)
        }

        unsafe fn retire(self, _: &impl Guard) {}

        unsafe fn dispose(self) {}
    }

    /// Returns the content of a chain in the order of entries.
    fn sorted(chain: &Cell<Number>) -> Vec<(u64, u64)> {
        let mut all: Vec<_> = chain.iter().map(|c| (c.entry().0, c.hash())).collect();
        all.sort_unstable();
        all
    }

    fn of(all: &[(u64, u64)]) -> Cell<Number> {
        let mut chain = Cell::default();
        for &(entry, hash) in all {
            chain.add(hash, Number(entry));
        }
        chain
    }

    /// Entries with hashes, no entry twice.
    fn entries() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let entry = 1..=LOW;
        let hash = any::<u64>().prop_map(|hash| hash & HASH);
        prop::collection::btree_map(entry, hash, 0..6).prop_map(|all| all.into_iter().collect())
    }

    proptest! {
        #[test]
        fn holds_what_was_put_in((mut all, at) in (entries(), any::<prop::sample::Index>())) {
            let mut chain = of(&all);
            prop_assert_eq!(sorted(&chain), all.clone());
            for &(entry, hash) in &all {
                prop_assert_eq!(chain.find(hash, |e| e.0 == entry), Some(Number(entry)));
                prop_assert_eq!(chain.find(!hash & HASH, |e| e.0 == entry), None);
            }
            if !all.is_empty() {
                let (old, hash) = all.remove(at.index(all.len()));
                let new = (1..=LOW).find(|new| all.iter().all(|(entry, _)| entry != new)).unwrap();
                chain.replace(Number(old), Number(new));
                prop_assert_eq!(chain.find(hash, |e| e.0 == new), Some(Number(new)));
                chain.remove(Number(new));
                prop_assert_eq!(sorted(&chain), all.clone());
            }
            let mut drained = 0;
            chain.drain(|_| drained += 1);
            prop_assert_eq!(drained, all.len());
            prop_assert!(chain.is_empty());
        }

        #[test]
        fn gives_what_is_asked_for((all, border) in (entries(), any::<u64>())) {
            let (mut lower, mut upper) = (of(&all), Cell::default());
            lower.give(&mut upper, |hash| hash >= border);
            let (above, below): (Vec<_>, Vec<_>) = all.iter().partition(|(_, hash)| *hash >= border);
            prop_assert_eq!(sorted(&upper), above);
            prop_assert_eq!(sorted(&lower), below);
            upper.give(&mut lower, |_| true);
            prop_assert!(upper.is_empty());
            prop_assert_eq!(sorted(&lower), all);
            lower.drain(|_| {});
        }
    }
}
