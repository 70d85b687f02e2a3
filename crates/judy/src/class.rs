//! Size classes, and the account of bytes.

use fyris_sync::alloc;

/// Words of the largest block that grows by classes.
pub(super) const LARGEST: usize = 64;

/// The classes: words of a block. They are sizes that mimalloc has too, so that nothing is lost between the two; each
/// is at most half as large again as the one before, from the third on.
const CLASSES: [usize; 12] = [2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64];

/// For each number of words the class that holds it.
static CLASS_OF: [u8; LARGEST + 1] = {
    let mut table = [0; LARGEST + 1];
    let mut words = 0;
    while words <= LARGEST {
        table[words] = class_of(words) as u8;
        words += 1;
    }
    table
};

/// Returns the words of the least class that holds `words` words.
pub(super) const fn class_of(words: usize) -> usize {
    let mut class = 0;
    while CLASSES[class] < words {
        class += 1;
    }
    CLASSES[class]
}

/// Returns the same by a table.
#[inline(always)]
pub(super) fn class(words: usize) -> usize {
    CLASS_OF[words] as usize
}

/// What a block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Linear,
    Bitmap,
    Uncompressed,
    Leaf,
    Bits,
    Few,
    /// The head of an array of strings behind a word.
    Array,
    /// What a string has behind its last word, and its value.
    Tail,
}

/// Bytes of living blocks by their use.
#[derive(Debug, Default)]
pub(super) struct Account([usize; 8]);

impl Account {
    pub(super) const fn new() -> Self {
        Self([0; 8])
    }

    /// Allocates a block of `words` words, not initialised. The words are those of a class, or of a branch.
    #[inline]
    pub(super) fn allocate(&mut self, of: Use, words: usize) -> *mut u8 {
        self.allocate_bytes(of, 8 * words)
    }

    /// Allocates a block of `bytes` bytes, a multiple of 16, which is what it is aligned to; not initialised.
    #[inline]
    pub(super) fn allocate_bytes(&mut self, of: Use, bytes: usize) -> *mut u8 {
        self.0[of as usize] += bytes;
        alloc::allocate(bytes).as_ptr()
    }

    /// Frees a block.
    ///
    /// # Safety
    ///
    /// `block` comes from [`Account::allocate`] of this account with the same arguments, and is freed once.
    #[inline]
    pub(super) unsafe fn free(&mut self, of: Use, block: *mut u8, words: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.free_bytes(of, block, 8 * words) }
    }

    /// Frees a block.
    ///
    /// # Safety
    ///
    /// `block` comes from [`Account::allocate_bytes`] of this account with the same arguments, and is freed once.
    #[inline]
    pub(super) unsafe fn free_bytes(&mut self, of: Use, block: *mut u8, bytes: usize) {
        self.0[of as usize] -= bytes;
        // SAFETY: the caller's contract; a block is not at address zero.
        unsafe { alloc::free(std::ptr::NonNull::new_unchecked(block), bytes) }
    }

    /// Returns the bytes of the blocks of one use.
    pub(super) fn bytes(&self, of: Use) -> usize {
        self.0[of as usize]
    }

    /// Returns the bytes of all blocks.
    pub(super) fn total(&self) -> usize {
        self.0.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_is_asked_for() {
        for words in 1..=LARGEST {
            assert!(class(words) >= words, "{words}");
            assert!(CLASSES.contains(&class(words)));
        }
    }
}
