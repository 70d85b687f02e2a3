//! libJudy's JudyL: the library of Debian's `libjudy-dev`, with its memory from Rust's global allocator.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

#[link(name = "Judy", kind = "static")]
unsafe extern "C" {
    fn JudyLGet(array: *const c_void, key: u64, error: *mut c_void) -> *mut u64;
    fn JudyLIns(array: *mut *mut c_void, key: u64, error: *mut c_void) -> *mut u64;
    fn JudyLDel(array: *mut *mut c_void, key: u64, error: *mut c_void) -> c_int;
    fn JudyLFirst(array: *const c_void, key: *mut u64, error: *mut c_void) -> *mut u64;
    fn JudyLNext(array: *const c_void, key: *mut u64, error: *mut c_void) -> *mut u64;
    fn JudyLLast(array: *const c_void, key: *mut u64, error: *mut c_void) -> *mut u64;
    fn JudyLPrev(array: *const c_void, key: *mut u64, error: *mut c_void) -> *mut u64;
    fn JudyLFirstEmpty(array: *const c_void, key: *mut u64, error: *mut c_void) -> c_int;
    fn JudyLLastEmpty(array: *const c_void, key: *mut u64, error: *mut c_void) -> c_int;
    fn JudyLCount(array: *const c_void, from: u64, to: u64, error: *mut c_void) -> u64;
    fn JudyLByCount(array: *const c_void, nth: u64, key: *mut u64, error: *mut c_void) -> *mut u64;
    fn JudyLFreeArray(array: *mut *mut c_void, error: *mut c_void) -> u64;
}

fn layout(words: usize) -> Layout {
    Layout::from_size_align(8 * words, 16).expect("the size of a node")
}

/// The library's own allocator, replaced: so that all maps of a run have the same.
#[unsafe(no_mangle)]
extern "C" fn JudyMalloc(words: usize) -> *mut c_void {
    // SAFETY: the library asks for one word at least.
    unsafe { alloc(layout(words)).cast() }
}

/// As [`JudyMalloc`].
#[unsafe(no_mangle)]
extern "C" fn JudyFree(block: *mut c_void, words: usize) {
    // SAFETY: the library gives back what it was given, with the same number.
    unsafe { dealloc(block.cast(), layout(words)) }
}

/// As [`JudyMalloc`].
#[unsafe(no_mangle)]
extern "C" fn JudyMallocVirtual(words: usize) -> *mut c_void {
    JudyMalloc(words)
}

/// As [`JudyMalloc`].
#[unsafe(no_mangle)]
extern "C" fn JudyFreeVirtual(block: *mut c_void, words: usize) {
    JudyFree(block, words);
}

/// A JudyL array.
pub struct JudyL(*mut c_void);

#[allow(dead_code, reason = "the benchmark and the test each use a part")]
impl JudyL {
    /// Makes an empty array.
    pub const fn new() -> Self {
        Self(null_mut())
    }

    /// Returns a key's value.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u64> {
        // SAFETY: an array of ours; null, or the place of a value.
        unsafe { JudyLGet(self.0, key, null_mut()).as_ref().copied() }
    }

    /// Returns the place of a key's value, which is made if there is none.
    #[inline]
    pub fn place(&mut self, key: u64) -> &mut u64 {
        // SAFETY: an array of ours; the place of a value, unless there is no memory.
        unsafe { &mut *JudyLIns(&mut self.0, key, null_mut()) }
    }

    /// Removes a key; returns whether it was there.
    #[inline]
    pub fn remove(&mut self, key: u64) -> bool {
        // SAFETY: an array of ours.
        unsafe { JudyLDel(&mut self.0, key, null_mut()) == 1 }
    }

    /// Runs `f` on the values from a key on, until it returns false.
    #[inline]
    pub fn walk(&self, mut key: u64, mut f: impl FnMut(u64, u64) -> bool) {
        // SAFETY: an array of ours; null, or the place of a value.
        unsafe {
            let mut value = JudyLFirst(self.0, &mut key, null_mut());
            while !value.is_null() && f(key, *value) {
                value = JudyLNext(self.0, &mut key, null_mut());
            }
        }
    }

    /// Returns the first pair at or above a key.
    pub fn at_or_above(&self, mut key: u64) -> Option<(u64, u64)> {
        // SAFETY: as in `walk`.
        unsafe {
            JudyLFirst(self.0, &mut key, null_mut())
                .as_ref()
                .map(|value| (key, *value))
        }
    }

    /// Returns the first pair above a key.
    pub fn above(&self, mut key: u64) -> Option<(u64, u64)> {
        // SAFETY: as in `walk`.
        unsafe {
            JudyLNext(self.0, &mut key, null_mut())
                .as_ref()
                .map(|value| (key, *value))
        }
    }

    /// Returns the last pair at or below a key.
    pub fn at_or_below(&self, mut key: u64) -> Option<(u64, u64)> {
        // SAFETY: as in `walk`.
        unsafe {
            JudyLLast(self.0, &mut key, null_mut())
                .as_ref()
                .map(|value| (key, *value))
        }
    }

    /// Returns the last pair below a key.
    pub fn below(&self, mut key: u64) -> Option<(u64, u64)> {
        // SAFETY: as in `walk`.
        unsafe {
            JudyLPrev(self.0, &mut key, null_mut())
                .as_ref()
                .map(|value| (key, *value))
        }
    }

    /// Returns the first number at or above this one that is not a key.
    pub fn empty_above(&self, mut key: u64) -> Option<u64> {
        // SAFETY: an array of ours.
        let found = unsafe { JudyLFirstEmpty(self.0, &mut key, null_mut()) };
        (found == 1).then_some(key)
    }

    /// Returns the last number at or below this one that is not a key.
    pub fn empty_below(&self, mut key: u64) -> Option<u64> {
        // SAFETY: an array of ours.
        let found = unsafe { JudyLLastEmpty(self.0, &mut key, null_mut()) };
        (found == 1).then_some(key)
    }

    /// Returns the number of keys from one to another, both included.
    pub fn count(&self, from: u64, to: u64) -> u64 {
        // SAFETY: an array of ours.
        unsafe { JudyLCount(self.0, from, to, null_mut()) }
    }

    /// Returns the `n`-th pair, from 0.
    pub fn nth(&self, n: u64) -> Option<(u64, u64)> {
        let mut key = 0;
        // SAFETY: as in `walk`.
        let value = unsafe { JudyLByCount(self.0, n + 1, &mut key, null_mut()) };
        // SAFETY: as above.
        unsafe { value.as_ref().map(|value| (key, *value)) }
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_null()
    }
}

impl Drop for JudyL {
    fn drop(&mut self) {
        // SAFETY: an array of ours, freed once.
        unsafe { JudyLFreeArray(&mut self.0, null_mut()) };
    }
}
