//! With the wide registers of x86-64. Loads and stores are volatile: done once, as written.

use std::arch::x86_64::*;

use super::{Mask, WORDS, prefetch};

/// Words in a register of 512 bits, and of 256.
const WIDE: usize = 8;
const HALF: usize = 4;

/// Returns the number of bits that are set.
#[target_feature(enable = "popcnt")]
pub(super) fn count(mask: &Mask) -> usize {
    super::scalar::count(mask)
}

/// Copies page `from` to `out` and returns in which words it differs from `base`.
///
/// # Safety
///
/// Three pages (invariant PAGES), `out` writable and none of the others; the processor has AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn diff_copy_512(
    from: *const u8,
    base: *const u8,
    out: *mut u8,
    next: [*const u8; 2],
) -> Mask {
    let mut mask = Mask::default();
    let (from, base) = (from.cast::<__m512i>(), base.cast::<__m512i>());
    let out = out.cast::<__m512i>();
    for (at, bits) in mask.0.iter_mut().enumerate() {
        for lane in 0..64 / WIDE {
            let i = at * (64 / WIDE) + lane;
            next.iter().for_each(|page| prefetch(*page, i * 64));
            // SAFETY: within the pages and aligned, by the caller's promise.
            let (value, other) =
                unsafe { (from.add(i).read_volatile(), base.add(i).read_volatile()) };
            // SAFETY: as above.
            unsafe { out.add(i).write_volatile(value) };
            let differ = _mm512_cmpneq_epi64_mask(value, other);
            *bits |= u64::from(differ) << (lane * WIDE);
        }
    }
    mask
}

/// Returns the mask of the words in which two pages differ.
///
/// # Safety
///
/// Two pages (invariant PAGES); the processor has AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn diff_512(from: *const u8, base: *const u8) -> Mask {
    let mut mask = Mask::default();
    let (from, base) = (from.cast::<__m512i>(), base.cast::<__m512i>());
    for (at, bits) in mask.0.iter_mut().enumerate() {
        for lane in 0..64 / WIDE {
            let i = at * (64 / WIDE) + lane;
            // SAFETY: within the pages and aligned, by the caller's promise.
            let (value, other) =
                unsafe { (from.add(i).read_volatile(), base.add(i).read_volatile()) };
            let differ = _mm512_cmpneq_epi64_mask(value, other);
            *bits |= u64::from(differ) << (lane * WIDE);
        }
    }
    mask
}

/// Copies page `from` to `out`.
///
/// # Safety
///
/// Two different pages (invariant PAGES), `out` writable; the processor has AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn copy_512(from: *const u8, out: *mut u8, next: [*const u8; 2]) {
    let (from, out) = (from.cast::<__m512i>(), out.cast::<__m512i>());
    for i in 0..WORDS / WIDE {
        next.iter().for_each(|page| prefetch(*page, i * 64));
        // SAFETY: within the pages and aligned, by the caller's promise.
        unsafe { out.add(i).write_volatile(from.add(i).read_volatile()) };
    }
}

/// Copies page `from` to `out` and returns in which words it differs from `base`.
///
/// # Safety
///
/// Three pages (invariant PAGES), `out` writable and none of the others; the processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn diff_copy_256(
    from: *const u8,
    base: *const u8,
    out: *mut u8,
    next: [*const u8; 2],
) -> Mask {
    let mut mask = Mask::default();
    let (from, base) = (from.cast::<__m256i>(), base.cast::<__m256i>());
    let out = out.cast::<__m256i>();
    for i in 0..WORDS / HALF {
        next.iter().for_each(|page| prefetch(*page, i * 32));
        // SAFETY: within the pages and aligned, by the caller's promise.
        let (value, other) = unsafe { (from.add(i).read_volatile(), base.add(i).read_volatile()) };
        // SAFETY: as above.
        unsafe { out.add(i).write_volatile(value) };
        mask.0[i / 16] |= differ_256(value, other) << (i % 16 * HALF);
    }
    mask
}

/// Returns the mask of the words in which two pages differ.
///
/// # Safety
///
/// Two pages (invariant PAGES); the processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn diff_256(from: *const u8, base: *const u8) -> Mask {
    let mut mask = Mask::default();
    let (from, base) = (from.cast::<__m256i>(), base.cast::<__m256i>());
    for i in 0..WORDS / HALF {
        // SAFETY: within the pages and aligned, by the caller's promise.
        let (value, other) = unsafe { (from.add(i).read_volatile(), base.add(i).read_volatile()) };
        mask.0[i / 16] |= differ_256(value, other) << (i % 16 * HALF);
    }
    mask
}

/// Returns four bits: those of the words that differ.
#[target_feature(enable = "avx2")]
fn differ_256(a: __m256i, b: __m256i) -> u64 {
    let equal = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b)));
    u64::from(!equal as u8 & 0xf)
}

/// Copies page `from` to `out`.
///
/// # Safety
///
/// Two different pages (invariant PAGES), `out` writable; the processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn copy_256(from: *const u8, out: *mut u8, next: [*const u8; 2]) {
    let (from, out) = (from.cast::<__m256i>(), out.cast::<__m256i>());
    for i in 0..WORDS / HALF {
        next.iter().for_each(|page| prefetch(*page, i * 32));
        // SAFETY: within the pages and aligned, by the caller's promise.
        unsafe { out.add(i).write_volatile(from.add(i).read_volatile()) };
    }
}

/// Merges pages by words: `out` gets those of `incoming` where `local` equals `base`, elsewhere those of `local`.
/// Returns how many differ on both sides.
///
/// # Safety
///
/// Four pages (invariant PAGES), `out` writable and none of the others; the processor has AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn merge_512(
    local: *const u8,
    base: *const u8,
    incoming: *const u8,
    out: *mut u8,
) -> usize {
    let (local, base) = (local.cast::<__m512i>(), base.cast::<__m512i>());
    let (incoming, out) = (incoming.cast::<__m512i>(), out.cast::<__m512i>());
    let mut conflicts = 0;
    for i in 0..WORDS / WIDE {
        // SAFETY: within the pages and aligned, by the caller's promise.
        let (ours, old) = unsafe { (local.add(i).read_volatile(), base.add(i).read_volatile()) };
        // SAFETY: as above.
        let theirs = unsafe { incoming.add(i).read_volatile() };
        let kept = _mm512_cmpneq_epi64_mask(ours, old);
        conflicts += (kept & _mm512_cmpneq_epi64_mask(theirs, old)).count_ones();
        // SAFETY: as above.
        unsafe {
            out.add(i)
                .write_volatile(_mm512_mask_blend_epi64(kept, theirs, ours))
        };
    }
    conflicts as usize
}

/// Merges pages by words: `out` gets those of `incoming` where `local` equals `base`, elsewhere those of `local`.
/// Returns how many differ on both sides.
///
/// # Safety
///
/// Four pages (invariant PAGES), `out` writable and none of the others; the processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn merge_256(
    local: *const u8,
    base: *const u8,
    incoming: *const u8,
    out: *mut u8,
) -> usize {
    let (local, base) = (local.cast::<__m256i>(), base.cast::<__m256i>());
    let (incoming, out) = (incoming.cast::<__m256i>(), out.cast::<__m256i>());
    let mut conflicts = 0;
    for i in 0..WORDS / HALF {
        // SAFETY: within the pages and aligned, by the caller's promise.
        let (ours, old) = unsafe { (local.add(i).read_volatile(), base.add(i).read_volatile()) };
        // SAFETY: as above.
        let theirs = unsafe { incoming.add(i).read_volatile() };
        let same = _mm256_cmpeq_epi64(ours, old);
        conflicts += (differ_256(ours, old) & differ_256(theirs, old)).count_ones();
        // SAFETY: as above.
        unsafe {
            out.add(i)
                .write_volatile(_mm256_blendv_epi8(ours, theirs, same))
        };
    }
    conflicts as usize
}
