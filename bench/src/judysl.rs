//! libJudy's JudySL: strings that end in a zero, on its JudyL arrays. Its memory is that of [`judyl`](super::judyl).

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

#[link(name = "Judy", kind = "static")]
unsafe extern "C" {
    fn JudySLGet(array: *const c_void, key: *const u8, error: *mut c_void) -> *mut u64;
    fn JudySLIns(array: *mut *mut c_void, key: *const u8, error: *mut c_void) -> *mut u64;
    fn JudySLDel(array: *mut *mut c_void, key: *const u8, error: *mut c_void) -> c_int;
    fn JudySLFirst(array: *const c_void, key: *mut u8, error: *mut c_void) -> *mut u64;
    fn JudySLNext(array: *const c_void, key: *mut u8, error: *mut c_void) -> *mut u64;
    fn JudySLLast(array: *const c_void, key: *mut u8, error: *mut c_void) -> *mut u64;
    fn JudySLPrev(array: *const c_void, key: *mut u8, error: *mut c_void) -> *mut u64;
    fn JudySLFreeArray(array: *mut *mut c_void, error: *mut c_void) -> u64;
}

/// The most bytes of a key, with the zero.
const MOST: usize = 256;

/// A JudySL array.
pub struct JudySL(*mut c_void);

/// A key in the form that the library takes: a zero follows.
fn checked(key: &[u8]) -> *const u8 {
    assert!(key.last() == Some(&0) && key.len() <= MOST);
    key.as_ptr()
}

type Step = unsafe extern "C" fn(*const c_void, *mut u8, *mut c_void) -> *mut u64;

#[allow(dead_code, reason = "the benchmark and the test each use a part")]
impl JudySL {
    /// Makes an empty array.
    pub const fn new() -> Self {
        Self(null_mut())
    }

    /// Returns a key's value.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<u64> {
        // SAFETY: an array of ours, a key with a zero at its end; null, or the place of a value.
        unsafe {
            JudySLGet(self.0, checked(key), null_mut())
                .as_ref()
                .copied()
        }
    }

    /// Returns the place of a key's value, which is made if there is none.
    #[inline]
    pub fn place(&mut self, key: &[u8]) -> &mut u64 {
        // SAFETY: as in `get`; the place of a value, unless there is no memory.
        unsafe { &mut *JudySLIns(&mut self.0, checked(key), null_mut()) }
    }

    /// Removes a key; returns whether it was there.
    #[inline]
    pub fn remove(&mut self, key: &[u8]) -> bool {
        // SAFETY: as in `get`.
        unsafe { JudySLDel(&mut self.0, checked(key), null_mut()) == 1 }
    }

    fn step(&self, key: &[u8], step: Step) -> Option<(Vec<u8>, u64)> {
        let mut room = [0; MOST];
        room[..key.len()].copy_from_slice(key);
        // SAFETY: an array of ours, and room for the longest key; null, or the place of a value.
        let value = unsafe {
            step(self.0, room.as_mut_ptr(), null_mut())
                .as_ref()
                .copied()?
        };
        let len = room.iter().position(|byte| *byte == 0)?;
        Some((room[..len].to_vec(), value))
    }

    /// Returns the first pair at or above a key; the key comes without its zero.
    pub fn at_or_above(&self, key: &[u8]) -> Option<(Vec<u8>, u64)> {
        self.step(key, JudySLFirst)
    }

    /// Returns the first pair above a key.
    pub fn above(&self, key: &[u8]) -> Option<(Vec<u8>, u64)> {
        self.step(key, JudySLNext)
    }

    /// Returns the last pair at or below a key.
    pub fn at_or_below(&self, key: &[u8]) -> Option<(Vec<u8>, u64)> {
        self.step(key, JudySLLast)
    }

    /// Returns the last pair below a key.
    pub fn below(&self, key: &[u8]) -> Option<(Vec<u8>, u64)> {
        self.step(key, JudySLPrev)
    }

    /// Frees all; returns the bytes that it took by the library's account.
    pub fn free(&mut self) -> u64 {
        // SAFETY: an array of ours, null afterwards.
        unsafe { JudySLFreeArray(&mut self.0, null_mut()) }
    }
}

impl Drop for JudySL {
    fn drop(&mut self) {
        self.free();
    }
}
