//! What stands behind a word: one key, or an array of those that go on.

use std::cmp::Ordering;

use crate::class::{Account, Use};
use crate::jp::Slot;
use crate::tree::Tree;
use crate::words::Weigh;

use super::split::Split;

/// The value of a word, seen for what it is.
#[derive(Clone, Copy)]
pub(crate) enum Behind {
    /// One key ends here, or goes on alone.
    Key,
    /// Several keys begin with the word.
    Array(*mut Array),
}

/// What the owner of an array of strings keeps for a key.
pub(crate) trait Content {
    /// How its keys are cut.
    type Split: Split;

    /// Whether walks build keys: an owner whose values do not have their keys needs them.
    const BUILDS_KEYS: bool;

    /// Says what a value is.
    ///
    /// # Safety
    ///
    /// It is a value of a living array, under a word with this lowest byte.
    unsafe fn behind(low: u64, value: Slot) -> Behind;

    /// Makes the value of an array.
    fn of_array(array: *mut Array) -> Slot;

    /// Compares the key of a value with another key, both of which have this word at an offset, and agree before it.
    ///
    /// # Safety
    ///
    /// It is the value of a key in a living array.
    unsafe fn cmp(word: u64, value: Slot, key: &[u8], offset: usize) -> Ordering;

    /// Calls `f` with what its key has behind the word that begins at an offset.
    ///
    /// # Safety
    ///
    /// As for `cmp`.
    unsafe fn with_tail<R>(word: u64, value: Slot, offset: usize, f: impl FnOnce(&[u8]) -> R) -> R;

    /// Returns the value for a place further down: the first `cut` bytes of what was behind the old word are decoded
    /// there, and `word` is the last of them.
    ///
    /// # Safety
    ///
    /// As for `cmp`, and the old value is not used again.
    unsafe fn push_down(value: Slot, cut: usize, word: u64, account: &mut Account) -> Slot;

    /// Returns the value for a place further up, where the bytes in `before` are not decoded any more; `word` is the
    /// last of what they are.
    ///
    /// # Safety
    ///
    /// As for `push_down`.
    unsafe fn pull_up(value: Slot, word: u64, before: &[u8], account: &mut Account) -> Slot;
}

/// Words of a content count the keys behind them.
pub(crate) struct KeyWeigher<C>(std::marker::PhantomData<C>);

impl<C: Content> Weigh for KeyWeigher<C> {
    const ALL_ONE: bool = false;

    #[inline]
    unsafe fn weight(low: u64, value: Slot) -> usize {
        // SAFETY: the caller's contract.
        match unsafe { C::behind(low, value) } {
            Behind::Key => 1,
            // SAFETY: an array lives as long as the word that leads to it (NODES).
            Behind::Array(array) => unsafe { (*array).tree.len },
        }
    }
}

/// An array behind a word: the bytes that all its keys share there, whole words, and the words behind them.
pub(crate) struct Array {
    pub(crate) tree: Tree,
}

/// The place of the shared bytes in the block of an array.
const HEAD: usize = size_of::<Array>();

const _: () = assert!(HEAD == 48);

/// Returns the bytes of the block of an array that shares `shared` bytes.
fn block(shared: usize) -> usize {
    (HEAD + shared).next_multiple_of(16)
}

impl Array {
    /// Makes an array, not yet of any key or with the words of another one, which is moved.
    pub(crate) fn make(mut tree: Tree, shared: &[u8], account: &mut Account) -> *mut Self {
        let array = account
            .allocate_bytes(Use::Array, block(shared.len()))
            .cast::<Self>();
        tree.shared = shared.len();
        // SAFETY: a fresh block of this size.
        unsafe {
            array.write(Self { tree });
            let bytes = array.cast::<u8>().add(HEAD);
            std::ptr::copy_nonoverlapping(shared.as_ptr(), bytes, shared.len());
        }
        array
    }

    /// Frees the block of an array; its words stay the caller's.
    ///
    /// # Safety
    ///
    /// The array is one of [`Array::make`] with this account, and freed once.
    pub(crate) unsafe fn free(array: *mut Self, account: &mut Account) {
        // SAFETY: the caller's contract.
        unsafe { account.free_bytes(Use::Array, array.cast(), block((*array).tree.shared)) }
    }

    /// Returns the shared bytes.
    ///
    /// # Safety
    ///
    /// The array lives for as long as they are used, and keeps its place.
    #[inline(always)]
    pub(crate) unsafe fn shared<'a>(array: *const Self) -> &'a [u8] {
        // SAFETY: the caller's contract; they lie behind the head of the block.
        unsafe { std::slice::from_raw_parts(array.cast::<u8>().add(HEAD), (*array).tree.shared) }
    }
}
