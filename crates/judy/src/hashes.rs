//! `judyeh`: the index of unordered tables over a Judy array of hash values.
//!
//! A word is the hash value of a key, and its value an entry, or the list of the entries with this hash value (JudyEH
//! of Fritchie's study of 2003, section 5.4). The order of the index is that of hash values, and of keys in a list.
//!
//! A value is the entry's 48 bits; or the address of a list, with the highest bit set.

use std::cmp::Ordering;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::Bound;

use fyris_classic::sequential::SequentialTree;
use fyris_index::hash::RandomState;
use fyris_index::{Action, Batch, Entry, Range};

use super::class::Account;
use super::cursor::Cursor;
use super::jp::Slot;
use super::order::count_between;
use super::tree::Tree;
use super::words::Weigh;

/// The bit of a value that is a list.
const LIST: u64 = 1 << 63;

/// Bits of a hash value that count. With tiny constants many keys have the same.
const HASHED: u64 = if cfg!(fyris_small) { 0x1F } else { !0 };

/// The entries of a hash value, in the order of keys; two at least.
type List<E> = Vec<E>;

/// A set of entries by the hash values of their keys.
pub struct JudyHashes<E: Entry> {
    tree: Tree,
    account: Account,
    /// Bytes of lists.
    lists: usize,
    hasher: RandomState,
    entries: PhantomData<E>,
}

// SAFETY: the nodes belong to the set, and the entries go where it goes.
unsafe impl<E: Entry + Send> Send for JudyHashes<E> {}
// SAFETY: `&` only reads, and hands out copies of entries.
unsafe impl<E: Entry + Send + Sync> Sync for JudyHashes<E> {}

/// The entries of a hash value are counted.
struct HashEntries<E>(PhantomData<E>);

impl<E: Entry> Weigh for HashEntries<E> {
    const ALL_ONE: bool = false;

    #[inline]
    unsafe fn weight(_: u64, value: Slot) -> usize {
        // SAFETY: the caller's contract.
        unsafe { entries::<E, _>(value, |entries| entries.len()) }
    }
}

/// Returns the list that a value is.
///
/// # Safety
///
/// It is a value of a living set.
#[inline]
unsafe fn list_of<E>(value: Slot) -> Option<*mut List<E>> {
    // SAFETY: the caller's contract: all values here are whole words.
    let bits = unsafe { value.assume_init() };
    let address = (bits & !LIST) as usize;
    (bits & LIST != 0).then(|| std::ptr::with_exposed_provenance_mut(address))
}

/// Runs `f` on the entries of a value.
///
/// # Safety
///
/// As for `list_of`, and the set is not changed meanwhile.
#[inline]
unsafe fn entries<E: Entry, R>(value: Slot, f: impl FnOnce(&[E]) -> R) -> R {
    // SAFETY: the caller's contract; a value that is no list is the bits of an entry in the set.
    unsafe {
        match list_of::<E>(value) {
            Some(list) => f(&*list),
            None => f(&[E::from_bits(value.assume_init())]),
        }
    }
}

impl<E: Entry> Default for JudyHashes<E> {
    fn default() -> Self {
        Self {
            tree: Tree::new(),
            account: Account::new(),
            lists: 0,
            hasher: RandomState::default(),
            entries: PhantomData,
        }
    }
}

/// Appends at most `left` of the entries of a word, those within bounds as a walk meets them. If the walk ends here,
/// returns whether there are more.
fn take<const UP: bool, E: Entry<Key: Ord>>(
    entries: &[E],
    (from, to): (Bound<&E::Key>, Bound<&E::Key>),
    left: &mut usize,
    out: &mut Batch<E>,
) -> Option<bool> {
    let (near, far) = if UP {
        (Ordering::Less, Ordering::Greater)
    } else {
        (Ordering::Greater, Ordering::Less)
    };
    let within = |bound: Bound<&E::Key>, entry: &E, beyond: Ordering| match bound {
        Bound::Unbounded => true,
        Bound::Included(key) => entry.key().cmp(key) != beyond,
        Bound::Excluded(key) => entry.key().cmp(key) == beyond.reverse(),
    };
    for i in 0..entries.len() {
        let entry = entries[if UP { i } else { entries.len() - 1 - i }];
        if !within(from, &entry, near) {
            continue;
        }
        if !within(to, &entry, far) {
            return Some(false);
        }
        if *left == 0 {
            return Some(true);
        }
        *left -= 1;
        out.push(entry);
    }
    None
}

impl<E: Entry<Key: Ord + Hash>> JudyHashes<E> {
    /// Returns the word of a key.
    #[inline]
    fn word(&self, key: &E::Key) -> u64 {
        use std::hash::BuildHasher;
        self.hasher.hash_one(key) & HASHED
    }

    /// Returns the place of a key in its list, or where it belongs.
    fn search(list: &[E], key: &E::Key) -> Result<usize, usize> {
        list.binary_search_by(|entry| entry.key().cmp(key))
    }

    /// Returns the value of a list, and counts its bytes.
    fn store(&mut self, list: List<E>) -> Slot {
        self.lists += Self::bytes(&list);
        Slot::new(Box::into_raw(Box::new(list)).expose_provenance() as u64 | LIST)
    }

    fn bytes(list: &List<E>) -> usize {
        size_of::<List<E>>() + list.capacity() * size_of::<E>()
    }

    /// Adds an entry whose key is not there, but others with the same word are.
    ///
    /// # Safety
    ///
    /// `slot` is the place of the word's value.
    unsafe fn add(&mut self, word: u64, slot: *mut Slot, entry: E) {
        // SAFETY: the caller's contract; the set is ours alone, and each list is made by `store`.
        unsafe {
            let mut list = match list_of::<E>(*slot) {
                Some(list) => *Box::from_raw(list),
                None => Vec::with_capacity(2),
            };
            if list.is_empty() {
                list.push(E::from_bits((*slot).assume_init()));
            } else {
                self.lists -= Self::bytes(&list);
            }
            if let Err(at) = Self::search(&list, entry.key()) {
                list.insert(at, entry);
            }
            *slot = self.store(list);
            self.tree.add(word, 1);
        }
    }

    /// Removes the entry at an index of a list.
    ///
    /// # Safety
    ///
    /// As for `add`, and the value is a list.
    unsafe fn remove_from(&mut self, word: u64, slot: *mut Slot, at: usize) {
        // SAFETY: the caller's contract; the set is ours alone.
        unsafe {
            let Some(list) = list_of::<E>(*slot) else {
                return;
            };
            self.tree.add(word, -1);
            if (*list).len() > 2 {
                (*list).remove(at);
                return;
            }
            let list = *Box::from_raw(list);
            self.lists -= Self::bytes(&list);
            *slot = Slot::new(list[1 - at].into_bits());
        }
    }

    /// Appends the entries of a range of words, and of keys in the first and the last of them.
    fn append<const UP: bool>(
        &self,
        from: Bound<&E::Key>,
        to: Bound<&E::Key>,
        want: usize,
        out: &mut Batch<E>,
    ) -> bool {
        let place = |bound: Bound<&E::Key>| match bound {
            Bound::Unbounded => None,
            Bound::Included(key) | Bound::Excluded(key) => Some(self.word(key)),
        };
        let (begin, end) = (place(from), place(to));
        let first = begin.unwrap_or(if UP { 0 } else { u64::MAX });
        let mut cursor = Cursor::at(&self.tree, first, UP);
        let mut left = want.max(1);
        loop {
            let Some((word, slot)) = cursor.next(UP) else {
                return false;
            };
            let beyond = end.is_some_and(|end| if UP { word > end } else { word < end });
            if beyond {
                return false;
            }
            // In the first and in the last word of the range some of the entries are not in it.
            let bounds = (
                if begin == Some(word) {
                    from
                } else {
                    Bound::Unbounded
                },
                if end == Some(word) {
                    to
                } else {
                    Bound::Unbounded
                },
            );
            // SAFETY: a value of this set, which is not changed while it is borrowed.
            let more = unsafe {
                entries::<E, _>(*slot, |entries| {
                    take::<UP, E>(entries, bounds, &mut left, out)
                })
            };
            if let Some(more) = more {
                return more;
            }
        }
    }

    /// Returns the number of entries below a bound, or at it if they count.
    fn rank(&self, key: &E::Key, with_key: bool) -> usize {
        let word = self.word(key);
        let (below, slot) = (self.tree.rank::<HashEntries<E>>(word), self.tree.get(word));
        if slot.is_null() {
            return below;
        }
        // SAFETY: a value of this set, which is not changed while it is borrowed.
        let here = unsafe {
            entries::<E, _>(*slot, |entries| match Self::search(entries, key) {
                Ok(at) => at + usize::from(with_key),
                Err(at) => at,
            })
        };
        below + here
    }

    fn first<const UP: bool>(&self, from: Bound<&E::Key>) -> Option<E> {
        let mut batch = Batch::new();
        self.append::<UP>(from, Bound::Unbounded, 1, &mut batch);
        batch.first().copied()
    }
}

impl<E: Entry<Key: Ord + Hash>> SequentialTree for JudyHashes<E> {
    type Entry = E;

    const COUNTS: bool = true;

    fn memory(&self, _: usize) -> usize {
        self.account.total() + self.lists
    }

    #[inline]
    fn get(&self, key: &E::Key) -> Option<E> {
        let slot = self.tree.get(self.word(key));
        if slot.is_null() {
            return None;
        }
        // SAFETY: a value of this set, which is not changed while it is borrowed.
        unsafe {
            if let Some(list) = list_of::<E>(*slot) {
                return Self::search(&*list, key).ok().map(|at| (&*list)[at]);
            }
            let entry = E::from_bits((*slot).assume_init());
            (cfg!(fyris_mutant = "judy_hash_is_key") || entry.has_key(key)).then_some(entry)
        }
    }

    fn upsert<R>(&mut self, key: &E::Key, f: impl FnOnce(Option<E>) -> (Action<E>, R)) -> (R, i64) {
        let word = self.word(key);
        let slot = self.tree.get_mut(word);
        // SAFETY: a value of this set, which is ours alone.
        unsafe {
            let old = if slot.is_null() {
                None
            } else {
                entries::<E, _>(*slot, |entries| match entries {
                    [only] => only.has_key(key).then_some((0, *only)),
                    _ => Self::search(entries, key).ok().map(|at| (at, entries[at])),
                })
            };
            let (action, out) = f(old.map(|(_, entry)| entry));
            let change = match (action, old) {
                (Action::Put(entry), Some((at, _))) => {
                    match list_of::<E>(*slot) {
                        Some(list) => (&mut *list)[at] = entry,
                        None => *slot = Slot::new(entry.into_bits()),
                    }
                    0
                }
                (Action::Put(entry), None) => {
                    if slot.is_null() {
                        let slot = self
                            .tree
                            .insert::<HashEntries<E>>(word, &mut self.account)
                            .0;
                        *slot = Slot::new(entry.into_bits());
                    } else {
                        self.add(word, slot, entry);
                    }
                    1
                }
                (Action::Remove, Some((at, _))) => {
                    if list_of::<E>(*slot).is_some() {
                        self.remove_from(word, slot, at);
                    } else {
                        self.tree.remove::<HashEntries<E>>(word, &mut self.account);
                    }
                    -1
                }
                (Action::Keep, _) | (Action::Remove, None) => 0,
            };
            (out, change)
        }
    }

    fn seek(&self, from: Bound<&E::Key>) -> Option<E> {
        self.first::<true>(from)
    }

    fn seek_back(&self, from: Bound<&E::Key>) -> Option<E> {
        self.first::<false>(from)
    }

    fn scan(&self, (from, to): Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        self.append::<true>(from, to, want, out)
    }

    fn scan_back(&self, (from, to): Range<'_, E::Key>, want: usize, out: &mut Batch<E>) -> bool {
        self.append::<false>(to, from, want, out)
    }

    fn nth(&self, n: usize) -> Option<E> {
        let ((_, slot), at) = self.tree.nth::<HashEntries<E>>(n)?;
        // SAFETY: a value of this set, and by COUNTED an index of its list.
        Some(unsafe { entries::<E, _>(*slot, |entries| entries[at]) })
    }

    fn count(&self, (from, to): Range<'_, E::Key>) -> Option<usize> {
        let rank = |key: &E::Key, with_key| self.rank(key, with_key);
        Some(count_between(from, to, self.tree.len, rank))
    }
}

impl<E: Entry> Drop for JudyHashes<E> {
    fn drop(&mut self) {
        let Self { tree, account, .. } = self;
        tree.clear(account, &mut |_, slot: *mut Slot| {
            // SAFETY: the set is being dropped, so only this thread can reach the entries; each is taken out once, and
            // each list is from `store`.
            unsafe {
                match list_of::<E>(*slot) {
                    Some(list) => Box::from_raw(list).iter().for_each(|entry| entry.dispose()),
                    None => E::from_bits((*slot).assume_init()).dispose(),
                }
            }
        });
    }
}
