//! The edges of `hash` on which everything rests, under every interleaving and every value that a load
//! may return: `RUSTFLAGS='--cfg loom' cargo test -p fyris-index --release --test loom`.
//!
//! Buckets have three words here and tables two buckets, so a few operations reach every edge. The
//! value of an entry is in a cell that loom watches: reading it without being ordered after its
//! writing fails, and so does looking at an entry that would have been freed.
#![cfg(loom)]

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use fyris_index::reclaim::{Pin, assert_not_reclaimed, check, pin};
use fyris_index::{Action, Entry, HashIndex, Index};
use fyris_sync::cell::UnsafeCell;
use fyris_sync::reclaim::Retire;
use fyris_sync::thread::spawn;

struct Node {
    key: u64,
    value: UnsafeCell<u64>,
}

#[derive(Clone, Copy)]
struct Handle(*mut Node);

// SAFETY: loom checks how the cell is used; the rest is immutable.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    fn new(key: u64, value: u64) -> Self {
        let node = Box::new(Node {
            key,
            value: UnsafeCell::new(0),
        });
        // SAFETY: nobody else has it yet. loom takes this, and not the making, for a write.
        node.value.with_mut(|at| unsafe { *at = value });
        Self(Box::into_raw(node))
    }

    fn value(self) -> u64 {
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
    unsafe fn retire(self, pin: &impl Pin) {
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
struct Chosen(u64);

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

type Table = HashIndex<Handle, Chosen>;

/// The `n`-th key of the lower half of hashes, in the first bucket of a table of two.
fn key(n: u64) -> u64 {
    n << 40 | 1
}

fn put(index: &Table, key: u64, value: u64) {
    let pin = pin();
    let new = Handle::new(key, value);
    if let Some(old) = index.upsert(&key, &pin, |old| (Action::Put(new), old)) {
        // SAFETY: taken out by this upsert.
        unsafe { old.retire(&pin) };
    }
}

fn get(index: &Table, key: u64) -> Option<u64> {
    let pin = pin();
    index.get(&key, &pin).map(Handle::value)
}

fn with(entries: u64) -> Arc<Table> {
    let index = Arc::new(Table::default());
    (0..entries).for_each(|n| put(&index, key(n), 1));
    index
}

/// Runs `read` in another thread beside `write` in this one, which then ends what it began.
///
/// The writer is the thread that loom runs first: loom notices that a load could have come before
/// a store, but not that a store could have come before a load if the writer loaded there itself in between.
fn beside(index: &Arc<Table>, read: fn(&Table), write: fn(&Table)) {
    let reader = spawn({
        let index = index.clone();
        move || read(&index)
    });
    write(index);
    reader.join().unwrap();
}

fn remove(index: &Table, key: u64) {
    let pin = pin();
    let old = index
        .upsert(&key, &pin, |old| (Action::Remove, old))
        .unwrap();
    // SAFETY: taken out by this upsert.
    unsafe { old.retire(&pin) };
}

#[test]
fn publication() {
    check(|| {
        let index = with(0);
        let read = |index: &Table| assert!(matches!(get(index, key(0)), None | Some(42)));
        beside(&index, read, |index| put(index, key(0), 42));
        assert_eq!(get(&index, key(0)), Some(42));
    });
}

#[test]
fn unlinking() {
    check(|| {
        let index = with(1);
        let read = |index: &Table| assert!(matches!(get(index, key(0)), None | Some(1)));
        beside(&index, read, |index| remove(index, key(0)));
        assert_eq!(get(&index, key(0)), None);
    });
}

#[test]
fn overflow_takes_the_last_slot_over() {
    check(|| {
        let index = with(3);
        // It is in the last slot, which the overflow bucket takes over.
        let read = |index: &Table| assert_eq!(get(index, key(2)), Some(1));
        beside(&index, read, |index| put(index, key(3), 1));
        assert_eq!(get(&index, key(3)), Some(1));
    });
}

#[test]
fn freezing_and_moving() {
    check(|| {
        // Four entries in one of two buckets: the table has begun to grow, nothing has moved yet.
        let index = with(4);
        let read = |index: &Table| {
            let first = get(index, key(1));
            assert!(matches!(first, Some(1 | 2)));
            assert!(get(index, key(1)) >= first, "what was seen stays seen");
            assert_eq!(get(index, key(3)), Some(1), "it is there throughout");
        };
        beside(&index, read, |index| put(index, key(1), 2));
        assert_eq!(
            get(&index, key(1)),
            Some(2),
            "what has moved is looked for where it is"
        );
    });
}

#[test]
fn two_writers_on_one_key() {
    check(|| {
        let index = with(1);
        let add = |index: &Table| {
            let pin = pin();
            let old = index.upsert(&key(0), &pin, |old| {
                let old = old.unwrap();
                (Action::Put(Handle::new(key(0), old.value() + 1)), old)
            });
            // SAFETY: taken out by this upsert.
            unsafe { old.retire(&pin) };
        };
        let writer = spawn({
            let index = index.clone();
            move || add(&index)
        });
        add(&index);
        writer.join().unwrap();
        assert_eq!(get(&index, key(0)), Some(3));
        assert_eq!(index.len(), 1);
    });
}
