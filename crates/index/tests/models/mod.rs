//! An entry for model checkers: looking at it fails when it would have been freed, and in loom when it is not ordered
//! after its making. And what the models do with one.
#![allow(dead_code, reason = "each test program uses its part")]
#![allow(unreachable_pub, reason = "a module of a test program")]

#[cfg(shuttle)]
pub mod ordered;

use std::hash::{BuildHasher, Hasher};

use fyris_index::reclaim::{Guard, assert_not_reclaimed, pin};
use fyris_index::{Action, Entry, Index};
use fyris_sync::cell::UnsafeCell;
use fyris_sync::reclaim::Retire;

/// The node behind a handle.
pub struct Node {
    key: u64,
    value: UnsafeCell<u64>,
}

/// The handle.
#[derive(Clone, Copy)]
pub struct Handle(*mut Node);

// SAFETY: loom checks how the cell is used; the rest is immutable.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    pub fn new(key: u64, value: u64) -> Self {
        let node = Box::new(Node {
            key,
            value: UnsafeCell::new(0),
        });
        // SAFETY: no other thread has it yet. loom takes this, and not the making, for a write.
        node.value.with_mut(|at| unsafe { *at = value });
        Self(Box::into_raw(node))
    }

    pub fn value(self) -> u64 {
        assert_not_reclaimed(self.0);
        // SAFETY: memory is kept to the end of the model; loom checks the order.
        unsafe { (*self.0).value.with(|value| *value) }
    }
}

impl Retire for Node {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: from `Box::into_raw`, once.
        drop(unsafe { Box::from_raw(ptr) });
    }
}

// SAFETY: a pointer below 2^48 with an immutable key.
unsafe impl Entry for Handle {
    type Key = u64;
    fn key(&self) -> &u64 {
        assert_not_reclaimed(self.0);
        // SAFETY: as in `value`.
        unsafe { &(*self.0).key }
    }
    fn into_bits(self) -> u64 {
        self.0.expose_provenance() as u64
    }
    unsafe fn from_bits(bits: u64) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(bits as usize))
    }
    unsafe fn retire(self, pin: &impl Guard) {
        // SAFETY: the caller's contract.
        unsafe { pin.retire(self.0) };
    }
    unsafe fn dispose(self) {
        // SAFETY: the caller's contract.
        unsafe { Node::reclaim(self.0) };
    }
}

/// Makes the index's hash of a key the key itself, so that a test can choose its bucket.
#[derive(Clone, Copy, Default)]
pub struct Chosen(u64);

impl BuildHasher for Chosen {
    type Hasher = Self;
    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for Chosen {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u64");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
    fn finish(&self) -> u64 {
        // The inverse of the factor by which the index spreads hashes.
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut inverse = 1u64;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(FACTOR.wrapping_mul(inverse)));
        }
        self.0.wrapping_mul(inverse)
    }
}

/// Puts an entry in.
pub fn put<I: Index<Handle>>(index: &I, key: u64, value: u64) {
    let pin = pin();
    let new = Handle::new(key, value);
    if let Some(old) = index.upsert(&key, &pin, |old| (Action::Put(new), old)) {
        // SAFETY: taken out by this upsert.
        unsafe { old.retire(&pin) };
    }
}

/// Returns the value at a key.
pub fn get<I: Index<Handle>>(index: &I, key: u64) -> Option<u64> {
    let pin = pin();
    index.get(&key, &pin).map(Handle::value)
}

/// Adds one to the value at a key.
pub fn add<I: Index<Handle>>(index: &I, key: u64) {
    let pin = pin();
    let old = index.upsert(&key, &pin, |old| {
        let old = old.unwrap();
        (Action::Put(Handle::new(key, old.value() + 1)), old)
    });
    // SAFETY: taken out by this upsert.
    unsafe { old.retire(&pin) };
}

/// Takes an entry out that is there.
pub fn remove<I: Index<Handle>>(index: &I, key: u64) {
    let pin = pin();
    let old = index
        .upsert(&key, &pin, |old| (Action::Remove, old))
        .unwrap();
    // SAFETY: taken out by this upsert.
    unsafe { old.retire(&pin) };
}
