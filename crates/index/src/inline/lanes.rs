//! Eight words compared with one at once.
//!
//! A lookup is one cache miss, and the processor waits for several of them at a time only as long as their
//! instructions fit into its window together. So instructions count here even though they cost
//! nothing by themselves: comparing seven keys one by one takes 40 of a hit's 75.

use fyris_sync::atomic::AtomicU64;
#[cfg(not(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom))))]
use fyris_sync::atomic::Ordering;

/// A cache line of words.
pub(super) type Line = [AtomicU64; 8];

/// Bit `2 * i` tells whether word `i` equals `key`; odd bits are clear. Each word is loaded with Acquire.
#[cfg(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom)))]
#[inline(always)]
pub(super) fn equal(line: &Line, key: u64) -> u64 {
    let mask: u32;
    // SAFETY: reads the 64 bytes of `line`, which are 16-byte aligned, as x86 requires of these operands
    // (the caller's line begins a cache line: asserted where the type is made). Loads of aligned words in
    // vectors are single loads of each word, and every load of x86 is an Acquire. Without `readonly` the
    // compiler keeps all other loads in their order around it. SSE2 is part of x86-64.
    unsafe {
        std::arch::asm!(
            "movq {k}, {key}",
            "punpcklqdq {k}, {k}",
            "movdqa {a}, {k}",
            "movdqa {b}, {k}",
            "movdqa {c}, {k}",
            "pcmpeqd {a}, xmmword ptr [{line}]",
            "pcmpeqd {b}, xmmword ptr [{line} + 16]",
            "pcmpeqd {c}, xmmword ptr [{line} + 32]",
            "pcmpeqd {k}, xmmword ptr [{line} + 48]",
            "packssdw {a}, {b}",
            "packssdw {c}, {k}",
            "packsswb {a}, {c}",
            "pmovmskb {mask:e}, {a}",
            key = in(reg) key,
            line = in(reg) line.as_ptr(),
            mask = lateout(reg) mask,
            k = out(xmm_reg) _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
    // Bit `j` is half word `j`; a word is equal when both of its halves are.
    u64::from(mask & mask >> 1) & 0x5555
}

/// Bit `2 * i` tells whether word `i` equals `key`; odd bits are clear. Each word is loaded with Acquire.
#[cfg(not(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom))))]
#[inline]
pub(super) fn equal(line: &Line, key: u64) -> u64 {
    let mut mask = 0;
    for (i, word) in line.iter().enumerate() {
        // Acquire: pairs with the Release in `Bucket::set`.
        mask |= u64::from(word.load(Ordering::Acquire) == key) << (2 * i);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Aligned(Line);

    #[test]
    fn finds_whole_words_only() {
        let words = [
            7,
            7 << 32,
            7 | 7 << 32,
            0,
            u64::MAX,
            7,
            1 << 63,
            7 | 8 << 32,
        ];
        let line = Aligned(words.map(AtomicU64::new));
        for key in words.into_iter().chain([8, 7 << 33, 0xFFFF_FFFF]) {
            let expected = (0..8).map(|i| u64::from(words[i] == key) << (2 * i)).sum();
            assert_eq!(equal(&line.0, key), expected, "{key:x}");
        }
    }
}
