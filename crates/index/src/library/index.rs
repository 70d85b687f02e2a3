//! Lookups and changes.

use std::hash::BuildHasher;
use std::ops::Bound;
use std::sync::Arc;

use fyris_sync::atomic::{AtomicUsize, Ordering};
use fyris_sync::reclaim::{Guard, pin};

use super::abi::{Direction, Functions, Key, LibraryTable};
use super::held::{KeyBytes, StoredRef};
use super::locks::Locks;
use super::words::LibraryWords;
use super::{Fault, Library, Status};
use crate::hash::RandomState;
use crate::plug::{PlugEntry, PlugKey};
use crate::{Action, Batch, Entry, HashIndex, Index, OrderedIndex, Range};

/// An index from a library. See the [module](super).
pub struct LibraryIndex<E: Entry> {
    pub(super) table: LibraryTable,
    pub(super) locks: Locks,
    pub(super) words: LibraryWords<E>,
    /// Invariant RECORD.
    pub(super) record: HashIndex<StoredRef<E>>,
    pub(super) status: Arc<Status>,
    pub(super) is_ordered: bool,
    hasher: RandomState,
    /// Allocated for what is held.
    bytes: AtomicUsize,
}

impl<E: PlugEntry> LibraryIndex<E> {
    pub(super) fn new(
        functions: Functions,
        library: Library,
        status: Arc<Status>,
        capacity: usize,
    ) -> Result<Self, Fault> {
        Ok(Self {
            table: LibraryTable::create(functions, capacity)?,
            locks: Locks::new(library),
            words: LibraryWords::new(),
            record: HashIndex::default(),
            status,
            is_ordered: library.is_ordered(),
            hasher: RandomState::default(),
            bytes: AtomicUsize::new(0),
        })
    }

    /// Returns the state of the index: whether it has found the library at fault.
    pub fn status(&self) -> Arc<Status> {
        self.status.clone()
    }

    /// Returns a key as the library gets it.
    pub(super) fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        Key::new(bytes, self.hasher.hash_one(bytes))
    }

    /// Asks the library for a key. Beside writers an error may be none of the library's.
    fn ask(&self, key: &Key<'_>, pin: &impl Guard) -> Result<Option<StoredRef<E>>, Fault> {
        let word = self.table.get(key);
        if word == 0 {
            return match self.recorded(key, pin) {
                Some(_) if !cfg!(fyris_mutant = "library_loss_unseen") => Err(Fault::LostKey),
                _ => Ok(None),
            };
        }
        let held = self.words.find(word, pin);
        let held = held.ok_or(Fault::UnknownWord(word))?;
        match held.bytes() == key.bytes() || cfg!(fyris_mutant = "library_key_unchecked") {
            true => Ok(Some(held)),
            false => Err(Fault::OtherKey),
        }
    }

    fn recorded(&self, key: &Key<'_>, pin: &impl Guard) -> Option<StoredRef<E>> {
        self.record.get(KeyBytes::new(key.bytes()), pin)
    }

    /// Returns what is held under a key, whose lock the caller has: nothing else changes it.
    fn held(&self, key: &Key<'_>, pin: &impl Guard) -> Option<StoredRef<E>> {
        if !self.status.is_failed() {
            match self.ask(key, pin) {
                Ok(held) => return held,
                Err(fault) => self.status.fail(fault),
            }
        }
        self.recorded(key, pin)
    }

    /// Returns what is held under a key.
    fn find(&self, key: &Key<'_>, pin: &impl Guard) -> Option<StoredRef<E>> {
        let turn = self.locks.shared();
        if !self.status.is_failed() {
            match self.ask(key, pin) {
                Ok(held) => return held,
                Err(fault) if cfg!(fyris_mutant = "library_doubts_nothing") => {
                    self.status.fail(fault)
                }
                Err(_) => {}
            }
        }
        drop(turn);
        // Beside writers the library may be without fault: so beside none of the key's.
        let _turn = self.locks.of(key.hash);
        self.held(key, pin)
    }

    /// Puts an entry in under a key that is not in, with the key's lock.
    fn add(&self, key: &Key<'_>, entry: E, pin: &impl Guard) {
        let held = self
            .words
            .put(|word| StoredRef::new(word, key.hash, key.bytes(), entry));
        // Relaxed: a count; nothing is read because of it.
        self.bytes.fetch_add(held.size(), Ordering::Relaxed);
        let put = |_| (Action::Put(held), ());
        self.record.upsert(KeyBytes::new(held.bytes()), pin, put);
        if self.status.is_failed() {
            return;
        }
        let kept = Key::new(held.bytes(), key.hash);
        // SAFETY: what is held is retired after it has been removed, and freed with the index, which destroys the table
        // first or leaves it alone for good.
        match unsafe { self.table.insert(&kept, held.word()) } {
            0 if self.locks.is_one() => self.check_length(),
            // Beside other writers a count says nothing: the key is to be found.
            0 => _ = self.held(key, pin),
            refused => self.status.fail(Fault::Refused(refused)),
        }
    }

    /// Takes out what is held under a key, with the key's lock. The entry goes to the caller.
    fn take(&self, held: StoredRef<E>, pin: &impl Guard) {
        let failed = self.status.is_failed();
        let removed = (!failed).then(|| {
            let key = Key::new(held.bytes(), held.hash());
            self.table.remove(&key)
        });
        let remove = |_| (Action::Remove, ());
        self.record.upsert(KeyBytes::new(held.bytes()), pin, remove);
        self.words.remove(held);
        match removed {
            None => {}
            Some(word) if word == held.word() => self.check_length(),
            Some(word) => self.status.fail(Fault::NotRemoved(word)),
        }
        // Relaxed: as in `add`.
        self.bytes.fetch_sub(held.size(), Ordering::Relaxed);
        // SAFETY: out of the record and of the words, by this thread, which has the key's lock.
        unsafe { held.retire(pin) };
    }

    /// Compares the library's count of keys with their number, where there is no other writer.
    fn check_length(&self) {
        if !self.locks.is_one() || cfg!(fyris_mutant = "library_length_unchecked") {
            return;
        }
        let (said, keys) = (self.table.length(), self.record.len());
        if said != keys {
            self.status.fail(Fault::Length { said, keys });
        }
    }
}

/// Runs `f` on the bounds of a range, as bytes.
fn with_bounds<K: PlugKey + ?Sized, R>(
    (from, to): Range<'_, K>,
    f: impl FnOnce(Bound<&[u8]>, Bound<&[u8]>) -> R,
) -> R {
    with_bound(from, |from| with_bound(to, |to| f(from, to)))
}

/// Runs `f` on a bound, as bytes.
fn with_bound<K: PlugKey + ?Sized, R>(bound: Bound<&K>, f: impl FnOnce(Bound<&[u8]>) -> R) -> R {
    match bound {
        Bound::Included(key) => key.with_bytes(|bytes| f(Bound::Included(bytes))),
        Bound::Excluded(key) => key.with_bytes(|bytes| f(Bound::Excluded(bytes))),
        Bound::Unbounded => f(Bound::Unbounded),
    }
}

impl<E: PlugEntry> Index<E> for LibraryIndex<E> {
    fn get(&self, key: &E::Key, pin: &impl Guard) -> Option<E> {
        key.with_bytes(|bytes| {
            let held = self.find(&self.key(bytes), pin)?;
            Some(held.entry())
        })
    }

    /// `f` runs between two calls of the library, not within one: if it panics, nothing has changed.
    fn upsert<R>(
        &self,
        key: &E::Key,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        key.with_bytes(|bytes| {
            let key = self.key(bytes);
            let _turn = self.locks.of(key.hash);
            let held = self.held(&key, pin);
            let (action, result) = f(held.map(|held| held.entry()));
            match (action, held) {
                (Action::Keep, _) | (Action::Remove, None) => {}
                (Action::Put(entry), Some(held)) => held.set(entry),
                (Action::Put(entry), None) => self.add(&key, entry, pin),
                (Action::Remove, Some(held)) => self.take(held, pin),
            }
            result
        })
    }

    fn scan(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        with_bounds(range, |from, to| {
            self.walk(Direction::Up, (from, to), want, pin, out)
        })
    }

    fn len(&self) -> usize {
        self.record.len()
    }

    fn memory(&self) -> usize {
        // What is called goes on under a pin: see `StoredRef`.
        let _pin = pin();
        let _turn = self.locks.shared();
        let library = match self.status.is_failed() {
            true => 0,
            false => self.table.memory(),
        };
        // Relaxed: a count; nothing is read because of it.
        let held = self.bytes.load(Ordering::Relaxed);
        let ours = self.locks.memory() + self.words.memory() + self.record.memory();
        (size_of::<Self>() + held + ours).saturating_add(library)
    }
}

/// Only of a library with an order: [`Library::ordered_index`]. Otherwise the order is that of scans.
impl<E: PlugEntry> OrderedIndex<E> for LibraryIndex<E> {
    fn seek(&self, from: Bound<&E::Key>, pin: &impl Guard) -> Option<E> {
        let mut found = Batch::new();
        self.scan((from, Bound::Unbounded), 1, pin, &mut found);
        found.first().copied()
    }

    fn seek_back(&self, from: Bound<&E::Key>, pin: &impl Guard) -> Option<E> {
        let mut found = Batch::new();
        self.scan_back((Bound::Unbounded, from), 1, pin, &mut found);
        found.first().copied()
    }

    fn scan_back(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        with_bounds(range, |from, to| {
            self.walk(Direction::Down, (from, to), want, pin, out)
        })
    }
}

impl<E: Entry> Drop for LibraryIndex<E> {
    fn drop(&mut self) {
        if !self.status.is_failed() {
            // SAFETY: the index is being dropped. What is held, whose bytes the library may point to, goes with the
            // record, after this.
            unsafe { self.table.destroy() };
        }
    }
}
