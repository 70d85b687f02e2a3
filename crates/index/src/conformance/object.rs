//! Entries that notice when they are freed early, twice or never.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::{Action, Entry, Index};
use fyris_sync::reclaim::{self, Guard, Retire};

const ALIVE: u64 = 0x616C_6976_6561_6C69;
const FREED: u64 = 0xDEAD_DEAD_DEAD_DEAD;

/// Counts objects, and keeps the freed ones until its own end.
#[derive(Default)]
pub struct Census {
    made: AtomicUsize,
    freed: AtomicUsize,
    /// Freed although they had been freed: noted, since a collector frees where nothing may panic.
    freed_again: AtomicUsize,
    poisoned: Mutex<Vec<Body>>,
}

struct Body(NonNull<ObjectInner>);
// SAFETY: a freed object is only dropped.
unsafe impl Send for Body {}

pub(super) struct ObjectInner {
    key: u64,
    value: u64,
    life: AtomicU64,
    census: Arc<Census>,
}

/// An immutable pair of numbers behind a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object(NonNull<ObjectInner>);

// SAFETY: the object behind the pointer is immutable but for atomics.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Census {
    /// Makes an empty census.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Makes an object.
    pub fn object(self: &Arc<Self>, key: u64, value: u64) -> Object {
        // Relaxed: read in `assert_all_freed`, after the threads that make objects have been joined.
        self.made.fetch_add(1, Ordering::Relaxed);
        let inner = ObjectInner {
            key,
            value,
            life: AtomicU64::new(ALIVE),
            census: self.clone(),
        };
        Object(NonNull::from(Box::leak(Box::new(inner))))
    }

    /// Waits until everything made is freed; fails if that does not happen.
    ///
    /// Other tests of the process may be pinned for a moment (under a sanitizer, on a machine that has more to do: half
    /// a minute), and batches of threads that ended wait for a thread that takes their place: so this flushes, and
    /// sends threads to flush.
    pub fn assert_all_freed(&self) {
        self.assert_freed_once();
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            // SeqCst, both: `freed` pairs with the addition in `poison`: the memory of an object that was counted is in
            // `poisoned`.
            let (made, freed) = (
                self.made.load(Ordering::SeqCst),
                self.freed.load(Ordering::SeqCst),
            );
            if made == freed {
                return self.assert_freed_once();
            }
            assert!(freed < made, "freed more than was made");
            assert!(
                Instant::now() < deadline,
                "{} of {made} objects never freed",
                made - freed
            );
            reclaim::flush();
            std::thread::scope(|s| {
                for _ in 0..32 {
                    s.spawn(reclaim::flush);
                }
            });
        }
    }
}

impl Census {
    fn assert_freed_once(&self) {
        // SeqCst: pairs with the addition in `poison`.
        let again = self.freed_again.load(Ordering::SeqCst);
        assert_eq!(again, 0, "{again} objects freed twice");
    }
}

impl Drop for Census {
    fn drop(&mut self) {
        for Body(inner) in self.poisoned.get_mut().unwrap().drain(..) {
            // SAFETY: from `Box::leak`; the test is over. The reference to the census is not
            // counted any more (`poison`), so it must not be dropped again.
            let inner = *unsafe { Box::from_raw(inner.as_ptr()) };
            std::mem::forget(inner.census);
        }
    }
}

impl Object {
    /// Returns the value, after a check that the object is alive.
    pub fn value(&self) -> u64 {
        self.alive().value
    }

    fn alive(&self) -> &ObjectInner {
        // SAFETY: the memory lives until the census ends.
        let inner = unsafe { self.0.as_ref() };
        // SeqCst: in one order with the swap in `poison`, so that a late reader misses no early reclamation.
        assert_eq!(inner.life.load(Ordering::SeqCst), ALIVE, "use after free");
        inner
    }

    fn poison(self) {
        // SAFETY: as in `alive`.
        let inner = unsafe { self.0.as_ref() };
        // SeqCst: pairs with the load in `alive`, and tells the first of two reclamations from the second.
        let was = inner.life.swap(FREED, Ordering::SeqCst);
        if was != ALIVE {
            // SeqCst: pairs with the load in `assert_freed_once`.
            inner.census.freed_again.fetch_add(1, Ordering::SeqCst);
            return;
        }
        let census = Arc::as_ptr(&inner.census);
        // SAFETY: the count this object holds is given back below, after the last use.
        let strong = unsafe { Arc::from_raw(census) };
        strong.poisoned.lock().unwrap().push(Body(self.0));
        // SeqCst: pairs with the load in `assert_all_freed`.
        strong.freed.fetch_add(1, Ordering::SeqCst);
    }
}

impl Retire for ObjectInner {
    unsafe fn reclaim(ptr: *mut Self) {
        Object(NonNull::new(ptr).unwrap()).poison();
    }
}

// SAFETY: a pointer is non-zero and below 2^48; the key never changes.
unsafe impl Entry for Object {
    type Key = u64;

    fn key(&self) -> &u64 {
        &self.alive().key
    }

    fn into_bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    unsafe fn from_bits(bits: u64) -> Self {
        Self(NonNull::new(std::ptr::with_exposed_provenance_mut(bits as usize)).unwrap())
    }

    unsafe fn retire(self, pin: &impl Guard) {
        // SAFETY: the caller's contract.
        unsafe { pin.retire(self.0.as_ptr()) };
    }

    unsafe fn dispose(self) {
        self.poison();
    }
}

/// Puts a new object and retires the old one. Returns the old value.
pub fn put(
    index: &impl Index<Object>,
    census: &Arc<Census>,
    key: u64,
    value: u64,
    pin: &impl Guard,
) -> Option<u64> {
    let new = census.object(key, value);
    let old = index.upsert(&key, pin, |old| (Action::Put(new), old));
    settle(old, pin)
}

/// Removes and retires. Returns the old value.
pub fn remove(index: &impl Index<Object>, key: u64, pin: &impl Guard) -> Option<u64> {
    let old = index.upsert(&key, pin, |old| (Action::Remove, old));
    settle(old, pin)
}

/// Retires the object that an operation took out; returns its value.
pub(super) fn settle(old: Option<Object>, pin: &impl Guard) -> Option<u64> {
    old.map(|old| {
        let value = old.value();
        // SAFETY: it was taken out by the caller, which hands it over once.
        unsafe { old.retire(pin) };
        value
    })
}
