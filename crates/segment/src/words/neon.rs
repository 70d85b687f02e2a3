//! With the vector registers of AArch64 (NEON, which the targets of this kind have). Loads and stores are volatile:
//! done once, as written.

use std::arch::aarch64::*;

use super::{Mask, WORDS, prefetch};

/// Words in a cache line, and in a register.
const LINE: usize = 8;
const PAIR: usize = 2;

/// A cache line, two words a register.
type Line = [uint64x2_t; LINE / PAIR];

/// Copies page `from` to `out` and returns in which words it differs from `base`.
///
/// # Safety
///
/// Three pages (invariant PAGES), `out` writable and none of the others; the processor has NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn diff_copy(
    from: *const u8,
    base: *const u8,
    out: *mut u8,
    next: [*const u8; 2],
) -> Mask {
    let mut mask = Mask::default();
    for line in 0..WORDS / LINE {
        next.iter().for_each(|page| prefetch(*page, line * 64));
        // SAFETY: the caller's promise.
        let (values, others) = unsafe { (load(from, line), load(base, line)) };
        // SAFETY: as above.
        unsafe { store(out, line, values) };
        mask.0[line / 8] |= bits(differ(values, others)) << (line % 8 * LINE);
    }
    mask
}

/// Returns the mask of the words in which two pages differ.
///
/// # Safety
///
/// Two pages (invariant PAGES); the processor has NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn diff(from: *const u8, base: *const u8) -> Mask {
    let mut mask = Mask::default();
    for line in 0..WORDS / LINE {
        // SAFETY: the caller's promise.
        let differ = unsafe { differ(load(from, line), load(base, line)) };
        mask.0[line / 8] |= bits(differ) << (line % 8 * LINE);
    }
    mask
}

/// Copies page `from` to `out`.
///
/// # Safety
///
/// Two different pages (invariant PAGES), `out` writable; the processor has NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn copy(from: *const u8, out: *mut u8, next: [*const u8; 2]) {
    for line in 0..WORDS / LINE {
        next.iter().for_each(|page| prefetch(*page, line * 64));
        // SAFETY: the caller's promise.
        unsafe { store(out, line, load(from, line)) };
    }
}

/// Merges pages by words: `out` gets those of `incoming` where `local` equals `base`, elsewhere those of `local`.
/// Returns how many differ on both sides.
///
/// # Safety
///
/// Four pages (invariant PAGES), `out` writable and none of the others; the processor has NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn merge(
    local: *const u8,
    base: *const u8,
    incoming: *const u8,
    out: *mut u8,
) -> usize {
    // Grows by all ones, which is one less than nothing, for each conflict.
    let mut conflicts = vdupq_n_u64(0);
    for line in 0..WORDS / LINE {
        // SAFETY: the caller's promise.
        let (ours, old) = unsafe { (load(local, line), load(base, line)) };
        // SAFETY: as above.
        let theirs = unsafe { load(incoming, line) };
        let (kept, came) = (differ(ours, old), differ(theirs, old));
        let merged = std::array::from_fn(|i| vbslq_u64(kept[i], ours[i], theirs[i]));
        // SAFETY: as above.
        unsafe { store(out, line, merged) };
        for (kept, came) in kept.into_iter().zip(came) {
            conflicts = vaddq_u64(conflicts, vandq_u64(kept, came));
        }
    }
    vaddvq_u64(conflicts).wrapping_neg() as usize
}

/// Loads line `line` of a page that others may be writing.
///
/// # Safety
///
/// `page` is a page (invariant PAGES) and has that line; the processor has NEON.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn load(page: *const u8, line: usize) -> Line {
    let at = page.cast::<Line>().wrapping_add(line).cast::<uint64x2_t>();
    // SAFETY: within the page and aligned, by the caller's promise.
    std::array::from_fn(|i| unsafe { at.add(i).read_volatile() })
}

/// Writes line `line` of a page.
///
/// # Safety
///
/// `page` is a writable page (invariant PAGES) and has that line; the processor has NEON.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn store(page: *mut u8, line: usize, values: Line) {
    let at = page.cast::<Line>().wrapping_add(line).cast::<uint64x2_t>();
    for (i, value) in values.into_iter().enumerate() {
        // SAFETY: within the page and aligned, by the caller's promise.
        unsafe { at.add(i).write_volatile(value) };
    }
}

/// Returns all ones where the words differ.
#[inline]
#[target_feature(enable = "neon")]
fn differ(a: Line, b: Line) -> Line {
    std::array::from_fn(|i| {
        let same = vreinterpretq_u32_u64(vceqq_u64(a[i], b[i]));
        vreinterpretq_u64_u32(vmvnq_u32(same))
    })
}

/// Returns a mask with a bit for each word that is all ones; the others are zero.
#[inline]
#[target_feature(enable = "neon")]
fn bits([a, b, c, d]: Line) -> u64 {
    const PLACES: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: the array is as long as the register.
    let places = unsafe { vld1q_u16(PLACES.as_ptr()) };
    // The lower quarter of a word is as good as all of it.
    let low = |a, b| vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
    let (first, last) = (low(a, b), low(c, d));
    let lanes = vuzp1q_u16(vreinterpretq_u16_u32(first), vreinterpretq_u16_u32(last));
    u64::from(vaddvq_u16(vandq_u16(lanes, places)))
}
