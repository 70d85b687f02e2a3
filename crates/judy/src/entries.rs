//! `judysl` and `judyesl`: the index of ordered tables over an array of strings, whose values are entries.
//!
//! An entry knows its key, so there are no short-cut leaves: what a key has behind its last word is compared with the
//! entry's key, and not at all if the word says enough. The key is kept once: the study's tables had it twice, which it
//! calls their handicap (section 7.6).
//!
//! A value is the entry's 48 bits; or the address of an array, with the highest bit set.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Bound;

use fyris_classic::sequential::SequentialTree;
use fyris_index::plug::PlugKey;
use fyris_index::{Action, Batch, Entry, Range};

use super::class::Account;
use super::jp::Slot;
use super::order::count_between;
use super::strings::{Array, Behind, Content, Split, Strings, StringsWalk, WordPlace, rest};

/// The bit of a value that is an array.
const ARRAY: u64 = 1 << 63;

/// An ordered set of entries on an array of strings, whose keys `S` cuts into words.
pub struct JudyEntries<E: Entry<Key: PlugKey>, S: Split> {
    strings: Strings<Entries<E, S>>,
}

// SAFETY: the arrays belong to the set, and the entries go where it goes.
unsafe impl<E: Entry<Key: PlugKey> + Send, S: Split> Send for JudyEntries<E, S> {}
// SAFETY: `&` only reads, and hands out copies of entries.
unsafe impl<E: Entry<Key: PlugKey> + Send + Sync, S: Split> Sync for JudyEntries<E, S> {}

/// Values that are entries.
struct Entries<E, S>(PhantomData<(E, S)>);

/// Returns the bits of a value.
///
/// # Safety
///
/// It is one of a living array.
#[inline(always)]
unsafe fn bits(value: Slot) -> u64 {
    // SAFETY: all values here are whole words.
    unsafe { value.assume_init() }
}

impl<E: Entry<Key: PlugKey>, S: Split> Content for Entries<E, S> {
    type Split = S;
    const BUILDS_KEYS: bool = false;

    #[inline(always)]
    unsafe fn behind(_: u64, value: Slot) -> Behind {
        // SAFETY: the caller's contract.
        let bits = unsafe { bits(value) };
        if bits & ARRAY == 0 {
            return Behind::Key;
        }
        Behind::Array(std::ptr::with_exposed_provenance_mut(
            (bits & !ARRAY) as usize,
        ))
    }

    fn of_array(array: *mut Array) -> Slot {
        Slot::new(array.expose_provenance() as u64 | ARRAY)
    }

    unsafe fn cmp(_: u64, value: Slot, key: &[u8], offset: usize) -> Ordering {
        // SAFETY: the caller's contract.
        let entry = unsafe { entry::<E>(value) };
        entry
            .key()
            .with_bytes(|own| rest(own, offset).cmp(rest(key, offset)))
    }

    unsafe fn with_tail<R>(_: u64, value: Slot, offset: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: the caller's contract.
        let entry = unsafe { entry::<E>(value) };
        entry.key().with_bytes(|own| f(rest(own, offset + S::STEP)))
    }

    unsafe fn push_down(value: Slot, _: usize, _: u64, _: &mut Account) -> Slot {
        value
    }

    unsafe fn pull_up(value: Slot, _: u64, _: &[u8], _: &mut Account) -> Slot {
        value
    }
}

/// Returns the entry that a value is.
///
/// # Safety
///
/// It is the value of a key in a living set.
#[inline(always)]
unsafe fn entry<E: Entry>(value: Slot) -> E {
    // SAFETY: made by `into_bits` of an entry that has not been freed: it is in the set.
    unsafe { E::from_bits(bits(value)) }
}

impl<E: Entry<Key: PlugKey>, S: Split> Default for JudyEntries<E, S> {
    fn default() -> Self {
        Self {
            strings: Strings::new(),
        }
    }
}

impl<E: Entry<Key: PlugKey>, S: Split> JudyEntries<E, S> {
    /// Returns the place of a key's entry.
    #[inline]
    fn place(&self, key: &E::Key) -> Option<WordPlace> {
        let found = key.with_bytes(|bytes| self.strings.find(bytes))?;
        // SAFETY: the value of a key in this set.
        let is_it = S::decides(found.word, key, found.offset)
            || unsafe { entry::<E>(*found.slot) }.has_key(key);
        is_it.then_some(found)
    }

    fn append(mut walk: StringsWalk<'_, Entries<E, S>>, want: usize, out: &mut Batch<E>) -> bool {
        for _ in 0..want.max(1) {
            let Some(found) = walk.next() else {
                return false;
            };
            // SAFETY: the value of a key in the set.
            out.push(unsafe { entry(*found.slot) });
        }
        walk.next().is_some()
    }

    fn near(&self, from: Bound<&E::Key>, up: bool) -> Option<E> {
        let found = with_bound(from, |from| self.strings.seek(from, up, &mut Vec::new()))?;
        // SAFETY: the value of a key in this set.
        Some(unsafe { entry(*found.slot) })
    }
}

/// Runs `f` on the bytes of a bound.
fn with_bound<K: PlugKey + ?Sized, R>(bound: Bound<&K>, f: impl FnOnce(Bound<&[u8]>) -> R) -> R {
    match bound {
        Bound::Unbounded => f(Bound::Unbounded),
        Bound::Included(key) => key.with_bytes(|bytes| f(Bound::Included(bytes))),
        Bound::Excluded(key) => key.with_bytes(|bytes| f(Bound::Excluded(bytes))),
    }
}

impl<E: Entry<Key: PlugKey>, S: Split> SequentialTree for JudyEntries<E, S> {
    type Entry = E;

    const COUNTS: bool = true;

    fn memory(&self, _: usize) -> usize {
        self.strings.account.total()
    }

    #[inline]
    fn get(&self, key: &E::Key) -> Option<E> {
        // SAFETY: the value of a key in this set.
        self.place(key).map(|found| unsafe { entry(*found.slot) })
    }

    fn upsert<R>(&mut self, key: &E::Key, f: impl FnOnce(Option<E>) -> (Action<E>, R)) -> (R, i64) {
        let found = self.place(key);
        // SAFETY: the value of a key in this set.
        let (action, out) = f(found.map(|found| unsafe { entry(*found.slot) }));
        let change = match (action, found) {
            (Action::Put(entry), Some(found)) => {
                // SAFETY: as above; the set is ours alone.
                unsafe { *found.slot = Slot::new(entry.into_bits()) };
                0
            }
            (Action::Put(entry), None) => {
                let value = Slot::new(entry.into_bits());
                key.with_bytes(|bytes| self.strings.insert(bytes, |_, _, _| value));
                1
            }
            (Action::Remove, Some(_)) => {
                key.with_bytes(|bytes| self.strings.remove(bytes));
                -1
            }
            (Action::Keep, _) | (Action::Remove, None) => 0,
        };
        (out, change)
    }

    fn seek(&self, from: Bound<&E::Key>) -> Option<E> {
        self.near(from, true)
    }

    fn seek_back(&self, from: Bound<&E::Key>) -> Option<E> {
        self.near(from, false)
    }

    fn scan(&self, (from, to): Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        with_bound(from, |from| {
            with_bound(to, |to| {
                Self::append(StringsWalk::new(&self.strings, from, to, true), want, out)
            })
        })
    }

    fn scan_back(&self, (from, to): Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        with_bound(from, |from| {
            with_bound(to, |to| {
                Self::append(StringsWalk::new(&self.strings, to, from, false), want, out)
            })
        })
    }

    fn nth(&self, n: usize) -> Option<E> {
        let found = self.strings.nth(n, &mut Vec::new())?;
        // SAFETY: the value of a key in this set.
        Some(unsafe { entry(*found.slot) })
    }

    fn count(&self, (from, to): Range<'_, E::Key>) -> Option<usize> {
        let rank =
            |key: &E::Key, with_key| key.with_bytes(|bytes| self.strings.rank(bytes, with_key));
        Some(count_between(from, to, self.strings.len(), rank))
    }
}

impl<E: Entry<Key: PlugKey>, S: Split> Drop for JudyEntries<E, S> {
    fn drop(&mut self) {
        self.strings.clear(|_, value, _| {
            // SAFETY: the set is being dropped, so only this thread can reach the entry, which is taken out once.
            unsafe { entry::<E>(*value).dispose() };
        });
    }
}
