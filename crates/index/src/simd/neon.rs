//! AArch64: NEON, which the targets of this kind have.
//!
//! Words that others may write are loaded in assembly; the rest is intrinsics, which cost no call.

use std::arch::aarch64::*;
use std::arch::asm;

use fyris_sync::atomic::AtomicU64;

#[cfg(not(fyris_small))]
use super::SharedLine;

/// A line, two words a register.
type LineRegisters = [uint64x2_t; 4];

/// Returns a mask whose bit `2 * i` tells whether word `i` equals `key`; each word is loaded Relaxed.
#[inline(always)]
pub(super) fn equal(words: &[AtomicU64; 8], key: u64) -> u64 {
    // SAFETY: see the module.
    unsafe { equal_by_neon(words, key) }
}

#[inline]
#[target_feature(enable = "neon")]
fn equal_by_neon(words: &[AtomicU64; 8], key: u64) -> u64 {
    let [a, b, c, d] = load(words).map(|pair| vceqq_u64(pair, vdupq_n_u64(key)));
    // The lower quarter of a word's answer is as good as all of it.
    let low = |a, b| vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
    let (first, last) = (low(a, b), low(c, d));
    spread(vuzp1q_u16(
        vreinterpretq_u16_u32(first),
        vreinterpretq_u16_u32(last),
    ))
}

/// Returns a mask whose bit `2 * i` tells whether the upper 16 bits of word `i` are `tag`; each word is loaded Relaxed.
#[cfg(not(fyris_small))]
#[inline(always)]
pub(super) fn tagged(line: &SharedLine, tag: u16) -> u64 {
    // SAFETY: see the module.
    unsafe { tagged_by_neon(line, tag) }
}

#[cfg(not(fyris_small))]
#[inline]
#[target_feature(enable = "neon")]
fn tagged_by_neon(line: &SharedLine, tag: u16) -> u64 {
    let [a, b, c, d] = load(&line.0);
    let high = |a, b| vuzp2q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
    let (first, last) = (high(a, b), high(c, d));
    let tags = vuzp2q_u16(vreinterpretq_u16_u32(first), vreinterpretq_u16_u32(last));
    spread(vceqq_u16(tags, vdupq_n_u16(tag)))
}

/// Loads the words of a line; each is loaded at once, as by a Relaxed load.
#[inline]
#[target_feature(enable = "neon")]
fn load(words: &[AtomicU64; 8]) -> LineRegisters {
    let (a, b, c, d);
    // SAFETY: reads the 64 bytes of `words`. A vector load reads each aligned word at once: such are the architecture's
    // rules for single-copy atomicity.
    unsafe {
        asm!(
            "ldp {a:q}, {b:q}, [{words}]",
            "ldp {c:q}, {d:q}, [{words}, #32]",
            words = in(reg) words.as_ptr(),
            a = out(vreg) a,
            b = out(vreg) b,
            c = lateout(vreg) c,
            d = lateout(vreg) d,
            options(nostack, preserves_flags),
        );
    }
    [a, b, c, d]
}

/// Returns a mask with bit `2 * i` for lane `i` that is all ones; the others are zero.
#[inline]
#[target_feature(enable = "neon")]
fn spread(lanes: uint16x8_t) -> u64 {
    const PLACES: [u16; 8] = [1, 1 << 2, 1 << 4, 1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14];
    // SAFETY: the array is as long as the register.
    let places = unsafe { vld1q_u16(PLACES.as_ptr()) };
    u64::from(vaddvq_u16(vandq_u16(lanes, places)))
}
