//! Pages as words: comparing, copying, merging.
//!
//! # Memory shared with other processes
//!
//! Frames are shared with other processes, hostile ones too, so a frame may change while it is read.
//! No reference is ever made to one: a page of a frame goes through volatile vector loads and stores
//! ([`diff_copy`], [`copy`]), single words through relaxed atomics ([`load`]). All that is decided
//! from such a word is decided from the private copy of it. The compiler may then assume nothing
//! about a second read, because there is none.
//!
//! Invariant **PAGES**: every function here takes page pointers, to 4096 readable (or writable) bytes at a multiple of
//! 64. Callers get them from `Trunk::frame`, `WorkCopy::page` and [`ZERO`] only.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg_attr(
    target_arch = "aarch64",
    allow(dead_code, reason = "what the tests compare with")
)]
mod scalar;
#[cfg(target_arch = "x86_64")]
mod simd;
mod unit;

use fyris_sync::atomic::{AtomicU64, Ordering};

/// The functions that every processor of this kind can run.
#[cfg(target_arch = "aarch64")]
use neon as common;
#[cfg(not(target_arch = "aarch64"))]
use scalar as common;
pub(crate) use unit::Unit;

use crate::PAGE;

/// Words of 8 bytes in a page.
pub(crate) const WORDS: usize = PAGE / 8;

/// A page of zeros: the content of a page before its first commit.
#[repr(align(4096))]
pub(crate) struct ZeroPage([u8; PAGE]);

/// The one page of zeros of this process.
pub(crate) static ZERO: ZeroPage = ZeroPage([0; PAGE]);

impl ZeroPage {
    /// Returns the page.
    pub(crate) fn ptr(&self) -> *const u8 {
        self.0.as_ptr()
    }
}

/// One bit a word of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mask(pub(crate) [u64; WORDS / 64]);

impl Mask {
    /// Returns whether no bit is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&w| w == 0)
    }

    /// Returns the lowest set bit, 0 if there is none.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        let at = self.0.iter().position(|&w| w != 0).unwrap_or(0);
        at * 64 + self.0[at].trailing_zeros() as usize % 64
    }

    /// Returns the number of bits that are set.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("popcnt") {
            // SAFETY: the processor has it.
            return unsafe { simd::count(self) };
        }
        scalar::count(self)
    }

    /// Returns the indexes of the set bits, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let words = self.0;
        (0..words.len()).flat_map(move |i| Bits(words[i]).map(move |bit| i * 64 + bit))
    }

    /// Sets bit `word`.
    pub(crate) fn set(&mut self, word: usize) {
        self.0[word / 64] |= 1 << (word % 64);
    }

    /// Clears bit `word`.
    pub(crate) fn clear(&mut self, word: usize) {
        self.0[word / 64] &= !(1 << (word % 64));
    }

    /// Returns whether bit `word` is set.
    pub(crate) fn has(&self, word: usize) -> bool {
        self.0[word / 64] >> (word % 64) & 1 == 1
    }

    /// Adds the bits of `other`.
    pub(crate) fn merge(&mut self, other: &Mask) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }
}

/// The set bits of a word.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

/// Reads word `word` of a page that others may be writing.
///
/// # Safety
///
/// `page` is a page (invariant PAGES) and `word < WORDS`.
#[inline]
pub(crate) unsafe fn load(page: *const u8, word: usize) -> u64 {
    debug_assert!(word < WORDS);
    // SAFETY: in the page and aligned, by invariant PAGES; read-only pages are never written through this.
    let word = unsafe { AtomicU64::from_ptr(page.cast::<u64>().add(word).cast_mut()) };
    // Relaxed: the order is that of the log's head, which was read before (see `trunk`).
    word.load(Ordering::Relaxed)
}

/// Writes word `word` of a page.
///
/// # Safety
///
/// `page` is a writable page (invariant PAGES) and `word < WORDS`.
#[inline]
pub(crate) unsafe fn store(page: *mut u8, word: usize, value: u64) {
    debug_assert!(word < WORDS);
    // SAFETY: in the page and aligned, by invariant PAGES.
    let word = unsafe { AtomicU64::from_ptr(page.cast::<u64>().add(word)) };
    // Relaxed: frames are published by the log's head; the working copy has one user.
    word.store(value, Ordering::Relaxed);
}

/// Asks for the cache line of byte `at` of a page that is needed soon. A hint: no page is required to be there.
#[inline]
pub(crate) fn prefetch(page: *const u8, at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(page.wrapping_add(at).cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        let line = page.wrapping_add(at);
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    let _ = (page, at);
}

/// Asks for the first lines of a page; the processor sees where that leads and goes on by itself.
#[inline]
pub(crate) fn prefetch_page(page: *const u8) {
    (0..16).for_each(|line| prefetch(page, line * 64));
}

/// Calls what uses the widest registers that the processor has.
macro_rules! widest {
    ($wide:ident, $half:ident, $common:ident($($arg:ident),*)) => {{
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            return simd::$wide($($arg),*);
        } else if is_x86_feature_detected!("avx2") {
            return simd::$half($($arg),*);
        }
        // The common functions need no feature that a target lacks.
        common::$common($($arg),*)
    }};
}

/// Copies page `from` to `out` and says in which words it differs from `base`: the fused step of a
/// commit, which reads every word once. Asks for the pages `next` on the way, line by line.
///
/// # Safety
///
/// Three pages (invariant PAGES), `out` writable and none of the others; `next` may be anything.
#[inline]
pub(crate) unsafe fn diff_copy(
    from: *const u8,
    base: *const u8,
    out: *mut u8,
    next: [*const u8; 2],
) -> Mask {
    // SAFETY: the caller's promise.
    unsafe {
        widest!(
            diff_copy_512,
            diff_copy_256,
            diff_copy(from, base, out, next)
        )
    }
}

/// Returns the mask of the words in which two pages differ.
///
/// # Safety
///
/// Two pages (invariant PAGES).
#[inline]
pub(crate) unsafe fn diff(from: *const u8, base: *const u8) -> Mask {
    // SAFETY: the caller's promise.
    unsafe { widest!(diff_512, diff_256, diff(from, base)) }
}

/// Merges whole pages by words: `out` gets the words of `incoming` where `local` equals `base`, elsewhere those of
/// `local`. Returns how many words differ on both sides.
///
/// # Safety
///
/// Four pages (invariant PAGES), `out` writable and none of the others.
#[inline]
pub(crate) unsafe fn merge(
    local: *const u8,
    base: *const u8,
    incoming: *const u8,
    out: *mut u8,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { widest!(merge_512, merge_256, merge(local, base, incoming, out)) }
}

/// A page of private memory to put results in.
#[repr(align(4096))]
#[derive(Debug)]
pub(crate) struct Page([u64; WORDS]);

impl Default for Page {
    fn default() -> Self {
        Page([0; WORDS])
    }
}

impl Page {
    /// Returns the page, to write to.
    pub(crate) fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Copies a page. Asks for the pages `next` on the way, line by line; a caller that needs none gives `from` again.
///
/// # Safety
///
/// Two different pages (invariant PAGES), `out` writable; `next` may be anything.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, out: *mut u8, next: [*const u8; 2]) {
    // SAFETY: the caller's promise.
    unsafe { widest!(copy_512, copy_256, copy(from, out, next)) }
}

#[cfg(test)]
mod tests;
