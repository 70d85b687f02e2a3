//! What an index from a library holds under a key, on this side of the interface.

use std::marker::PhantomData;
use std::ptr::NonNull;

use fyris_sync::atomic::{AtomicU64, Ordering};
use fyris_sync::reclaim::{Guard, PROTECT, Retire};

use crate::Entry;

/// The bytes of a key.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(super) struct KeyBytes([u8]);

impl KeyBytes {
    pub(super) fn new(bytes: &[u8]) -> &KeyBytes {
        // SAFETY: a transparent wrapper.
        unsafe { &*(std::ptr::from_ref(bytes) as *const KeyBytes) }
    }
}

/// A key that is in the index: its bytes, its word and its entry, of which the entry alone changes.
pub(super) struct Stored<E> {
    word: u64,
    hash: u64,
    entry: AtomicU64,
    key: Box<[u8]>,
    entries: PhantomData<fn() -> E>,
}

/// A handle of what is stored under a key: from when it is put in until it is removed, and then while a thread is
/// pinned that may have it (RECLAIM).
pub(super) struct StoredRef<E>(NonNull<Stored<E>>);

impl<E> Clone for StoredRef<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E> Copy for StoredRef<E> {}

// SAFETY: what is stored does not change but for an atomic; whether entries may cross threads is what the bound says.
unsafe impl<E: Send + Sync> Send for StoredRef<E> {}
// SAFETY: as above.
unsafe impl<E: Send + Sync> Sync for StoredRef<E> {}

impl<E: Entry> StoredRef<E> {
    pub(super) fn new(word: u64, hash: u64, key: &[u8], entry: E) -> Self {
        let stored = Stored {
            word,
            hash,
            entry: AtomicU64::new(entry.into_bits()),
            key: key.into(),
            entries: PhantomData,
        };
        Self(NonNull::from(Box::leak(Box::new(stored))))
    }

    /// Returns the handle of a pointer, if it is not null.
    ///
    /// # Safety
    ///
    /// The pointer is null or from [`StoredRef::as_ptr`], and was reachable under the caller's pin.
    pub(super) unsafe fn from_ptr(stored: *mut Stored<E>) -> Option<Self> {
        NonNull::new(stored).map(Self)
    }

    pub(super) fn as_ptr(self) -> *mut Stored<E> {
        self.0.as_ptr()
    }

    fn stored(&self) -> &Stored<E> {
        // SAFETY: the caller of every method is pinned, or has the index for itself (RECLAIM).
        unsafe { self.0.as_ref() }
    }

    pub(super) fn word(&self) -> u64 {
        self.stored().word
    }

    pub(super) fn hash(&self) -> u64 {
        self.stored().hash
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.stored().key
    }

    /// Returns the number of bytes that are allocated for it.
    pub(super) fn size(&self) -> usize {
        size_of::<Stored<E>>() + self.bytes().len()
    }

    /// Returns the entry.
    pub(super) fn entry(&self) -> E {
        // PROTECT: pairs with the Release in `set`, and with the publication of what is stored.
        let bits = self.stored().entry.load(PROTECT);
        // SAFETY: from `into_bits` in `new` or `set`; the entry was in the index under this pin (RECLAIM).
        unsafe { E::from_bits(bits) }
    }

    /// Puts another entry in the place of the one that is there; with the key's lock.
    pub(super) fn set(&self, entry: E) {
        // Release: pairs with PROTECT in `entry`.
        self.stored()
            .entry
            .store(entry.into_bits(), Ordering::Release);
    }
}

// SAFETY: a pointer is not null and below 2^48; the key does not change.
unsafe impl<E: Entry> Entry for StoredRef<E> {
    type Key = KeyBytes;

    fn key(&self) -> &KeyBytes {
        KeyBytes::new(self.bytes())
    }

    fn into_bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    unsafe fn from_bits(bits: u64) -> Self {
        // SAFETY: from `into_bits`, so it is not zero.
        Self(unsafe {
            NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(bits as usize))
        })
    }

    unsafe fn retire(self, pin: &impl Guard) {
        // SAFETY: the caller's contract.
        unsafe { pin.retire(self.0.as_ptr()) };
    }

    /// Frees what is stored, and the entry.
    unsafe fn dispose(self) {
        // SAFETY: the caller's contract: no other thread has it, and it goes once. From the Box in `new`.
        unsafe {
            self.entry().dispose();
            drop(Box::from_raw(self.0.as_ptr()));
        }
    }
}

impl<E> Retire for Stored<E> {
    /// Frees what was stored. The entry belongs to the thread that removed it.
    unsafe fn reclaim(stored: *mut Self) {
        // SAFETY: from the Box in `StoredRef::new`; only this call can still reach it.
        drop(unsafe { Box::from_raw(stored) });
    }
}
