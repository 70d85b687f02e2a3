//! x86-64: SSE2, which is part of it, and AVX-512 where the processor has it.
//!
//! Every load of x86 is an Acquire, which is more than is asked for.

use fyris_sync::atomic::AtomicU64;

#[cfg(not(fyris_small))]
use super::SharedLine;
use super::{Lanes, Line, is};

/// Returns a mask whose bit `2 * i` tells whether word `i` equals `key`; each word is loaded Relaxed.
#[inline(always)]
pub(super) fn equal(words: &[AtomicU64; 8], key: u64) -> u64 {
    let mask: u32;
    // SAFETY: reads the 64 bytes of `words`, of any alignment. x86 loads each aligned word of a vector at
    // once, and every load of x86 is an Acquire. Without `readonly` the compiler keeps all other loads in
    // their order around it. SSE2 is part of x86-64.
    unsafe {
        std::arch::asm!(
            "movq {k}, {key}",
            "punpcklqdq {k}, {k}",
            "movdqu {a}, xmmword ptr [{words}]",
            "movdqu {b}, xmmword ptr [{words} + 16]",
            "movdqu {c}, xmmword ptr [{words} + 32]",
            "movdqu {d}, xmmword ptr [{words} + 48]",
            "pcmpeqd {a}, {k}",
            "pcmpeqd {b}, {k}",
            "pcmpeqd {c}, {k}",
            "pcmpeqd {d}, {k}",
            "packssdw {a}, {b}",
            "packssdw {c}, {d}",
            "packsswb {a}, {c}",
            "pmovmskb {mask:e}, {a}",
            key = in(reg) key,
            words = in(reg) words.as_ptr(),
            mask = lateout(reg) mask,
            k = out(xmm_reg) _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
    // Bit `j` is half word `j`; a word is equal when both of its halves are.
    u64::from(mask & mask >> 1) & 0x5555
}

/// Returns a mask whose bit `2 * i` tells whether the upper 16 bits of word `i` are `tag`; each word is loaded Relaxed.
#[cfg(not(fyris_small))]
#[inline(always)]
pub(super) fn tagged(line: &SharedLine, tag: u16) -> u64 {
    let mask: u32;
    // SAFETY: reads the 64 bytes of `line`, which are aligned. For the rest see `equal`.
    unsafe {
        std::arch::asm!(
            "movd {a}, {tag:e}",
            "pshuflw {a}, {a}, 0",
            "punpcklqdq {a}, {a}",
            "movdqa {b}, {a}",
            "movdqa {c}, {a}",
            "movdqa {d}, {a}",
            "pcmpeqw {a}, xmmword ptr [{line}]",
            "pcmpeqw {b}, xmmword ptr [{line} + 16]",
            "pcmpeqw {c}, xmmword ptr [{line} + 32]",
            "pcmpeqw {d}, xmmword ptr [{line} + 48]",
            "packssdw {a}, {b}",
            "packssdw {c}, {d}",
            "packsswb {a}, {c}",
            "pmovmskb {mask:e}, {a}",
            tag = in(reg) u32::from(tag),
            line = in(reg) line,
            mask = lateout(reg) mask,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
    // All quarters of the words were compared. Packing keeps signs, and the sign of half word `j` is what its upper
    // quarter gave.
    u64::from(mask >> 1) & 0x5555
}

/// A line in one instruction (AVX-512). To be used only if [`wide`](super::wide).
///
/// In assembly and not in intrinsics, because a function that is compiled for other processors than its caller is
/// not inlined: calling it took as many instructions as comparing. The upper registers need no cleaning up.
pub(crate) struct Vectors;

/// The comparisons of [`compare_ends`]: the processor's numbers for "the key equals" and "the key is above".
const EQUAL: i32 = 0;
const BELOW: i32 = 6;

/// Returns a mask with a bit for each of `N` words, 8 to 16: the first and the last eight are compared, which may
/// overlap.
#[inline(always)]
fn compare_ends<const N: usize, const HOW: i32>(words: &[AtomicU64; N], key: u64) -> u64 {
    let (first, last): (u64, u64);
    // SAFETY: reads `words` only, the eight at either end. Callers have at least eight.
    unsafe {
        std::arch::asm!(
            "vpbroadcastq zmm16, {key}",
            "vpcmpuq k1, zmm16, zmmword ptr [{words}], {how}",
            "vpcmpuq k2, zmm16, zmmword ptr [{words} + {behind}], {how}",
            "kmovw {first:e}, k1",
            "kmovw {last:e}, k2",
            key = in(reg) key,
            words = in(reg) words.as_ptr(),
            behind = const N.saturating_sub(8) * 8,
            how = const HOW,
            first = lateout(reg) first,
            last = lateout(reg) last,
            out("xmm16") _,
            out("k1") _,
            out("k2") _,
            options(nostack, preserves_flags),
        );
    }
    first | last << N.saturating_sub(8)
}

impl Lanes for Vectors {
    const STEP: u32 = 1;

    #[inline(always)]
    fn equal<const N: usize>(words: &[AtomicU64; N], key: u64) -> u64 {
        if N < 8 {
            return (0..N).map(|i| u64::from(is(&words[i], key)) << i).sum();
        }
        compare_ends::<N, EQUAL>(words, key)
    }

    #[inline(always)]
    fn below_and_equal<const N: usize>(words: &[AtomicU64; N], key: u64) -> Option<(u64, u64)> {
        if N < 8 {
            return None;
        }
        Some((
            compare_ends::<N, BELOW>(words, key),
            Self::equal(words, key),
        ))
    }

    #[inline(always)]
    fn ones(mut bits: u64) -> usize {
        // SAFETY: touches no memory; every processor with AVX-512 has the instruction.
        unsafe {
            std::arch::asm!("popcnt {bits}, {bits}", bits = inout(reg) bits, options(pure, nomem, nostack));
        }
        bits as usize
    }

    #[inline(always)]
    unsafe fn rank(lines: *const Line, lasts: u8, key: u64) -> usize {
        let mut full: u64;
        let mut rest: u64;
        // SAFETY: reads the first line and one that follows, by the caller's contract. Words of the first line that
        // other threads may write are masked out.
        unsafe {
            std::arch::asm!(
                "vpbroadcastq zmm16, {key}",
                "vpcmpuq k1, zmm16, zmmword ptr [{lines}], 5",
                "kmovw {full:e}, k1",
                "and {full:e}, {lasts:e}",
                "popcnt {full:e}, {full:e}",
                "mov {rest:e}, {full:e}",
                "shl {rest:e}, 6",
                "vpcmpuq k1, zmm16, zmmword ptr [{lines} + {rest} + 64], 5",
                "kmovw {rest:e}, k1",
                "popcnt {rest:e}, {rest:e}",
                key = in(reg) key,
                lines = in(reg) lines,
                lasts = in(reg) u32::from(lasts),
                full = out(reg) full,
                rest = out(reg) rest,
                out("xmm16") _,
                out("k1") _,
                options(nostack, readonly),
            );
        }
        (8 * full + rest) as usize
    }
}
