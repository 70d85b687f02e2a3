//! An array of byte strings: a tree of words for each level of the strings' words.
//!
//! This is JudySL, and JudyESL of Fritchie's study of ETS tables (2003, sections 4.2 and 5.3): a word of the key at a
//! time is looked up in a Judy array, whose value leads to the array of the words that come next, or to what is left of
//! a key that goes on alone, its *short-cut leaf*. `split` has the ways to make words of a key, `content` what the
//! owner of the strings keeps for each: [`JudyBytes`](super::JudyBytes) a value and the bytes that no word has, the
//! tables' index ([`entries`](super::entries)) an entry that knows its key. Unlike theirs an array knows how many keys
//! it has, and the words that all keys of an array behind a word share are kept in its head and not as arrays of one
//! word.
//!
//! An array behind a word, a block of its own:
//!
//! ```text
//! bytes 0 to 15    pointer to the nodes of the words      bytes 32 to 39   number of keys
//! bytes 16 to 31   prefix and mask of the root (DECODED)  bytes 40 to 47   number of shared bytes
//! from byte 48     shared bytes
//! ```
//!
//! # Invariants
//!
//! **SEVERAL**: an array behind a word has two keys at least, and two words at least: with one key it is put away and
//! the key stands in its place, with one word it is joined with the array behind that. So the number of arrays is below
//! that of keys.
//!
//! **SHARED**: every key of an array has the array's shared bytes behind the word that leads to it. They are a whole
//! number of words, none of them a last one, so that words begin at the same offsets everywhere.
//!
//! COUNTED holds for keys: a word stands for all keys behind it (`weigh`).

mod content;
mod nearest;
mod split;
mod walk;

use std::cmp::Ordering;

use smallvec::SmallVec;

pub(super) use content::{Array, Behind, Content, KeyWeigher};
pub(super) use split::Ended;
pub(super) use split::rest;
pub use split::{Measured, Padded, Split};
pub(super) use walk::StringsWalk;

use super::class::Account;
use super::jp::Slot;
use super::tree::Tree;

/// An array of strings. Values are the owner's to drop.
pub(super) struct Strings<C> {
    top: Tree,
    pub(super) account: Account,
    content: std::marker::PhantomData<C>,
}

/// The place of a value, its word, and where the word begins in the key.
#[derive(Clone, Copy)]
pub(super) struct WordPlace {
    pub(super) word: u64,
    pub(super) slot: *mut Slot,
    pub(super) offset: usize,
}

/// The trees on the way to a key whose words stand for arrays, and these words.
type Above = SmallVec<[(*mut Tree, u64); 4]>;

/// Adds to the counts of the words above a change, after it has succeeded (COUNTED).
///
/// # Safety
///
/// The trees live, are the caller's alone, and have the words.
unsafe fn count(above: &Above, keys: i64) {
    for (tree, word) in above {
        // SAFETY: the caller's contract.
        unsafe { (**tree).add(*word, keys) };
    }
}

/// Returns the number of bytes at the beginning that two strings have in common.
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl<C: Content> Strings<C> {
    const STEP: usize = C::Split::STEP;

    pub(super) const fn new() -> Self {
        Self {
            top: Tree::new(),
            account: Account::new(),
            content: std::marker::PhantomData,
        }
    }

    /// Returns the number of keys.
    pub(super) const fn len(&self) -> usize {
        self.top.len
    }

    /// Returns the place of the only value that the key can have: that of a key with the same words, of which the part
    /// behind the last one is not compared.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<WordPlace> {
        let (mut tree, mut offset) = (&self.top, 0);
        loop {
            let word = C::Split::word(rest(key, offset));
            let slot = tree.get(word);
            if slot.is_null() {
                return None;
            }
            // SAFETY: a value of a living array, and the array behind it (SEVERAL).
            unsafe {
                let Behind::Array(array) = C::behind(word, *slot) else {
                    return Some(WordPlace { word, slot, offset });
                };
                offset += Self::STEP;
                let shared = Array::shared(array);
                if !rest(key, offset).starts_with(shared) {
                    return None;
                }
                offset += shared.len();
                tree = &(*array).tree;
            }
        }
    }

    /// Inserts a key. `make` returns its value, given its last word and what is behind that. If the key is there
    /// nothing changes, and the place of its value is returned.
    pub(super) fn insert(
        &mut self,
        key: &[u8],
        make: impl FnOnce(u64, &[u8], &mut Account) -> Slot,
    ) -> Option<WordPlace> {
        let (mut tree, mut offset, account) = (&raw mut self.top, 0, &mut self.account);
        let mut above = Above::new();
        loop {
            let word = C::Split::word(rest(key, offset));
            let behind = rest(key, offset + Self::STEP);
            // SAFETY: the trees live (NODES), and are ours alone; each value is filled before anything looks at it.
            unsafe {
                let (slot, fresh) = (*tree).insert::<KeyWeigher<C>>(word, account);
                if fresh {
                    *slot = make(word, behind, account);
                    break;
                }
                match C::behind(word, *slot) {
                    Behind::Array(array) if behind.starts_with(Array::shared(array)) => {
                        above.push((tree, word));
                        offset += Self::STEP + Array::shared(array).len();
                        tree = &raw mut (*array).tree;
                        continue;
                    }
                    Behind::Array(array) => *slot = Self::part(array, behind, make, account),
                    Behind::Key if C::cmp(word, *slot, key, offset).is_eq() => {
                        return Some(WordPlace { word, slot, offset });
                    }
                    Behind::Key => {
                        *slot = Self::branch(word, *slot, behind, offset, make, account);
                    }
                }
            }
            above.push((tree, word));
            break;
        }
        // SAFETY: the trees on the way, which no change below moves.
        unsafe { count(&above, 1) };
        None
    }

    /// Makes an array of the key that had a word alone, and of a new one that has `behind` behind it.
    ///
    /// # Safety
    ///
    /// `old` is the value of the key, whose word begins at the offset; it is not used again.
    unsafe fn branch(
        word: u64,
        old: Slot,
        behind: &[u8],
        offset: usize,
        make: impl FnOnce(u64, &[u8], &mut Account) -> Slot,
        account: &mut Account,
    ) -> Slot {
        // SAFETY: the caller's contract; the words of the new array are filled at once.
        unsafe {
            let (shared, its_word) = C::with_tail(word, old, offset, |tail| {
                let shorter = tail.len().min(behind.len());
                let words = C::Split::common_words(common(tail, behind), shorter);
                (
                    words * Self::STEP,
                    C::Split::word(rest(tail, words * Self::STEP)),
                )
            });
            let our_word = C::Split::word(rest(behind, shared));
            assert_ne!(
                its_word, our_word,
                "keys of this kind differ in more than zeros at their end"
            );
            let array = Array::make(Tree::new(), rest_to(behind, shared), account);
            let down = C::push_down(old, shared + Self::STEP, its_word, account);
            let tree = &mut (*array).tree;
            *tree.insert::<KeyWeigher<C>>(its_word, account).0 = down;
            let slot = tree.insert::<KeyWeigher<C>>(our_word, account).0;
            *slot = make(our_word, rest(behind, shared + Self::STEP), account);
            C::of_array(array)
        }
    }

    /// Makes an array of one that shares bytes which a new key does not share, and of the new key, which has `behind`
    /// there.
    ///
    /// # Safety
    ///
    /// `old` is an array behind a word, and not used again.
    unsafe fn part(
        old: *mut Array,
        behind: &[u8],
        make: impl FnOnce(u64, &[u8], &mut Account) -> Slot,
        account: &mut Account,
    ) -> Slot {
        // SAFETY: the caller's contract; the old block is freed when its words are moved.
        unsafe {
            let shared = Array::shared(old);
            let words = C::Split::common_words(common(shared, behind), behind.len());
            let (above, below) = shared.split_at(words * Self::STEP);
            let (its_word, our_word) = (
                C::Split::through(below),
                C::Split::word(rest(behind, above.len())),
            );
            let keys = (*old).tree.len;
            let lower = Array::make((*old).tree.take(), &below[Self::STEP..], account);
            let upper = Array::make(Tree::new(), above, account);
            let tree = &mut (*upper).tree;
            *tree.insert::<KeyWeigher<C>>(its_word, account).0 = C::of_array(lower);
            tree.add(its_word, keys as i64 - 1);
            let slot = tree.insert::<KeyWeigher<C>>(our_word, account).0;
            *slot = make(our_word, rest(behind, above.len() + Self::STEP), account);
            Array::free(old, account);
            C::of_array(upper)
        }
    }

    /// Removes a key; returns its value, and its last word.
    pub(super) fn remove(&mut self, key: &[u8]) -> Option<(u64, Slot)> {
        let (mut tree, mut offset, account) = (&raw mut self.top, 0, &mut self.account);
        let (mut above, mut parent) = (Above::new(), None);
        loop {
            let word = C::Split::word(rest(key, offset));
            // SAFETY: the trees live (NODES), and are ours alone; those on the way are not moved by a change below.
            unsafe {
                let slot = (*tree).get_mut(word);
                if slot.is_null() {
                    return None;
                }
                if let Behind::Array(array) = C::behind(word, *slot) {
                    offset += Self::STEP;
                    if !rest(key, offset).starts_with(Array::shared(array)) {
                        return None;
                    }
                    offset += Array::shared(array).len();
                    above.push((tree, word));
                    parent = Some((slot, array));
                    tree = &raw mut (*array).tree;
                    continue;
                }
                if C::cmp(word, *slot, key, offset).is_ne() {
                    return None;
                }
                let value = (*tree).remove::<KeyWeigher<C>>(word, account)?;
                count(&above, -1);
                if let Some((slot, array)) = parent
                    && let Some((word, below)) = (*array).tree.only_word()
                    && !cfg!(fyris_mutant = "judy_array_outlives")
                {
                    *slot = Self::put_away(array, word, *below, account);
                }
                return Some((word, value));
            }
        }
    }

    /// Puts an array of one word away; returns what stands for it (SEVERAL).
    ///
    /// # Safety
    ///
    /// This is the only word of the array, and its value. The array is not used again.
    unsafe fn put_away(array: *mut Array, word: u64, value: Slot, account: &mut Account) -> Slot {
        // SAFETY: the caller's contract.
        unsafe {
            let mut bytes = Array::shared(array).to_vec();
            bytes_of::<C::Split>(word, &mut bytes);
            let in_place = match C::behind(word, value) {
                Behind::Key => C::pull_up(value, word, &bytes, account),
                Behind::Array(below) => {
                    bytes.extend_from_slice(Array::shared(below));
                    let joined = Array::make((*below).tree.take(), &bytes, account);
                    Array::free(below, account);
                    C::of_array(joined)
                }
            };
            (*array).tree.clear(account, &mut |_, _| {});
            Array::free(array, account);
            in_place
        }
    }

    /// Takes all out: calls `f` with the last word of each key, and its value, and frees all arrays.
    pub(super) fn clear(&mut self, mut f: impl FnMut(u64, *mut Slot, &mut Account)) {
        let Self { top, account, .. } = self;
        // Strings may be long, so that arrays are deep: none is cleared within another.
        let (mut arrays, mut values) = (Vec::new(), Vec::new());
        let mut look = |word, slot: *mut Slot| {
            // SAFETY: a value of a living array, which is ours alone.
            match unsafe { C::behind(word, *slot) } {
                Behind::Array(array) => arrays.push(array),
                // SAFETY: as above; moved to where it is looked at next.
                Behind::Key => values.push((word, unsafe { *slot })),
            }
        };
        top.clear(account, &mut look);
        loop {
            for (word, mut value) in values.drain(..) {
                f(word, &raw mut value, account);
            }
            let Some(array) = arrays.pop() else { return };
            let mut look = |word, slot: *mut Slot| {
                // SAFETY: as above.
                match unsafe { C::behind(word, *slot) } {
                    Behind::Array(array) => arrays.push(array),
                    // SAFETY: as above.
                    Behind::Key => values.push((word, unsafe { *slot })),
                }
            };
            // SAFETY: an array whose word is gone.
            unsafe {
                (*array).tree.clear(account, &mut look);
                Array::free(array, account);
            }
        }
    }

    /// Returns the number of keys below a key, and the key itself if it is there and counts.
    pub(super) fn rank(&self, key: &[u8], with_key: bool) -> usize {
        let (mut tree, mut offset, mut below) = (&self.top, 0, 0);
        loop {
            let word = C::Split::word(rest(key, offset));
            below += tree.rank::<KeyWeigher<C>>(word);
            let slot = tree.get(word);
            if slot.is_null() {
                return below;
            }
            // SAFETY: a value of a living array.
            unsafe {
                let Behind::Array(array) = C::behind(word, *slot) else {
                    let order = C::cmp(word, *slot, key, offset);
                    return below + usize::from(order.is_lt() || with_key && order.is_eq());
                };
                let shared = Array::shared(array);
                offset += Self::STEP;
                match cmp_shared(shared, rest(key, offset)) {
                    Ordering::Less => return below + (*array).tree.len,
                    Ordering::Greater => return below,
                    Ordering::Equal => offset += shared.len(),
                }
                tree = &(*array).tree;
            }
        }
    }
}

/// Returns the bytes up to an offset, which is at most their number.
fn rest_to(bytes: &[u8], offset: usize) -> &[u8] {
    &bytes[..offset]
}

/// Compares the keys that share these bytes with one that has others there: `Equal` if it has the same.
pub(super) fn cmp_shared(shared: &[u8], rest: &[u8]) -> Ordering {
    shared.cmp(&rest[..shared.len().min(rest.len())])
}

/// Appends the bytes that a word stands for.
pub(super) fn bytes_of<S: Split>(word: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&word.to_be_bytes()[..S::bytes(word)]);
}
