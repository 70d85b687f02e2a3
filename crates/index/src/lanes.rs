//! Eight words compared with one at once.
//!
//! A lookup is a few cache misses, and a processor waits for those of several lookups at a time only as long as
//! all their instructions fit into its window together. So instructions count here even though they cost
//! nothing by themselves: comparing seven keys one by one took 40 of the 75 of a hit in `InlineMap`, and made it
//! half as fast again.

use fyris_sync::atomic::{AtomicU64, Ordering};

/// A cache line of words.
pub(crate) type Line = [u64; 8];

/// Eight words of a cache line that others may write.
#[cfg(not(any(fyris_small, loom)))]
#[repr(C, align(64))]
pub(crate) struct SharedLine(pub(crate) [AtomicU64; 8]);

/// Bit `2 * i` tells whether word `i` equals `key`; odd bits are clear. Each word is loaded with Acquire.
#[cfg(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom)))]
#[inline(always)]
pub(crate) fn equal(words: &[AtomicU64; 8], key: u64) -> u64 {
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

/// Bit `2 * i` tells whether word `i` equals `key`; odd bits are clear. Each word is loaded with Acquire.
#[cfg(not(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom))))]
pub(crate) fn equal(words: &[AtomicU64; 8], key: u64) -> u64 {
    (0..8)
        .map(|i| u64::from(is(&words[i], key)) << (2 * i))
        .sum()
}

/// Bit `2 * i` tells whether the upper 16 bits of word `i` are `tag`; odd bits are clear. Each word is loaded
/// with Acquire.
#[cfg(all(
    target_arch = "x86_64",
    not(fyris_sanitize),
    not(fyris_small),
    not(miri),
    not(loom)
))]
#[inline(always)]
pub(crate) fn tagged(line: &SharedLine, tag: u16) -> u64 {
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

/// Bit `2 * i` tells whether the upper 16 bits of word `i` are `tag`; odd bits are clear. Each word is loaded
/// with Acquire.
#[cfg(all(
    not(all(target_arch = "x86_64", not(fyris_sanitize), not(miri))),
    not(any(fyris_small, loom))
))]
pub(crate) fn tagged(line: &SharedLine, tag: u16) -> u64 {
    let mut mask = 0;
    for (i, word) in line.0.iter().enumerate() {
        // Acquire: pairs with the Release by which the words are written or published.
        let word = word.load(Ordering::Acquire);
        mask |= u64::from((word >> 48) as u16 == tag) << (2 * i);
    }
    mask
}

/// A way to compare many words with one, chosen once an operation: [`Vectors`] if [`wide`], else [`Words`].
pub(crate) trait Lanes {
    /// How far apart the bits of [`Lanes::equal`] are.
    const STEP: u32;

    /// Bit `STEP * i` tells whether word `i` equals `key`; the others are clear. Each word is loaded with Acquire.
    fn equal<const N: usize>(words: &[AtomicU64; N], key: u64) -> u64;

    /// Bit `i` of the first tells whether word `i` is below `key`, of the second whether it equals it; none where
    /// that takes longer than a binary search.
    fn below_and_equal<const N: usize>(words: &[AtomicU64; N], key: u64) -> Option<(u64, u64)>;

    /// How many bits are set.
    fn ones(bits: u64) -> usize;

    /// How many words of a sorted array are at most `key`. The array lies in lines, the last one padded with all
    /// ones, which count for the highest key.
    ///
    /// # Safety
    ///
    /// `lines` begins with a line whose words 2 to 7 are the last words of the lines that follow (but not of the
    /// last line); the bits of these words, and no others, are set in `lasts`. At least one line follows.
    unsafe fn rank(lines: *const Line, lasts: u8, key: u64) -> usize;
}

/// Whether the processor has what [`Vectors`] needs.
#[inline(always)]
pub(crate) fn wide() -> bool {
    #[cfg(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom)))]
    return std::arch::is_x86_feature_detected!("avx512f");
    #[cfg(not(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom))))]
    return false;
}

/// Whether a word equals `key`.
fn is(word: &AtomicU64, key: u64) -> bool {
    // Acquire: pairs with the Release by which the words are written or published.
    word.load(Ordering::Acquire) == key
}

/// What every processor can do.
pub(crate) struct Words;

impl Lanes for Words {
    const STEP: u32 = 2;

    #[inline(always)]
    fn equal<const N: usize>(words: &[AtomicU64; N], key: u64) -> u64 {
        if let (Some(first), Some(last)) = (words.first_chunk(), words.last_chunk()) {
            return equal(first, key) | equal(last, key) << (2 * (N - 8));
        }
        (0..N)
            .map(|i| u64::from(is(&words[i], key)) << (2 * i))
            .sum()
    }

    #[inline(always)]
    fn below_and_equal<const N: usize>(_: &[AtomicU64; N], _: u64) -> Option<(u64, u64)> {
        None
    }

    #[inline(always)]
    fn ones(bits: u64) -> usize {
        bits.count_ones() as usize
    }

    #[inline(always)]
    unsafe fn rank(lines: *const Line, lasts: u8, key: u64) -> usize {
        let below = |at: *const u64| {
            // SAFETY: the caller's contract: words 2 to 7 of the first line, and whole lines behind it.
            usize::from(unsafe { at.read() } <= key)
        };
        let words = lines.cast::<u64>();
        let full: usize = (2..8)
            .map(|i| below(words.wrapping_add(i)) & usize::from(lasts >> i & 1))
            .sum();
        let line = words.wrapping_add(8 * (1 + full));
        8 * full + (0..8).map(|i| below(line.wrapping_add(i))).sum::<usize>()
    }
}

/// A line in one instruction (AVX-512). To be used only if [`wide`].
///
/// In assembly and not in intrinsics, because a function that is compiled for other processors than its caller is
/// not inlined: calling it took as many instructions as comparing. The upper registers need no cleaning up.
pub(crate) struct Vectors;

/// How [`compare_ends`] compares: the processor's numbers for "the key equals" and "the key is above".
#[cfg(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom)))]
const EQUAL: i32 = 0;
#[cfg(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom)))]
const BELOW: i32 = 6;

/// A bit for each of `N` words, 8 to 16: the first and the last eight are compared, which may overlap.
#[cfg(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom)))]
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

#[cfg(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom)))]
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
        // SAFETY: reads the first line and one that follows, by the caller's contract. What others may write in
        // the first line is masked out.
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

#[cfg(not(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom))))]
impl Lanes for Vectors {
    const STEP: u32 = Words::STEP;

    fn equal<const N: usize>(words: &[AtomicU64; N], key: u64) -> u64 {
        Words::equal(words, key)
    }

    fn below_and_equal<const N: usize>(_: &[AtomicU64; N], _: u64) -> Option<(u64, u64)> {
        None
    }

    #[inline(always)]
    fn ones(bits: u64) -> usize {
        bits.count_ones() as usize
    }

    unsafe fn rank(lines: *const Line, lasts: u8, key: u64) -> usize {
        // SAFETY: the caller's contract.
        unsafe { Words::rank(lines, lasts, key) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let line = words.map(AtomicU64::new);
        for key in words.into_iter().chain([8, 7 << 33, 0xFFFF_FFFF]) {
            let expected = (0..8).map(|i| u64::from(words[i] == key) << (2 * i)).sum();
            assert_eq!(equal(&line, key), expected, "{key:x}");
        }
    }

    #[test]
    #[cfg(not(any(fyris_small, loom)))]
    fn finds_upper_bits() {
        let tags = [1, 0, 0xFFFF, 7, 0x8000, 7, 0, 0xFFFE];
        // What lies below the tags looks like tags too, whole and shifted.
        for below in [
            7,
            0xFFFF_8000_7FFF,
            0x8000_0000_0001,
            0x7_FFFE,
            0xFFFF_FFFF_FFFF,
        ] {
            let line = SharedLine(tags.map(|tag| AtomicU64::new(tag << 48 | below)));
            for tag in tags.into_iter().chain([8, 0x7FFF]) {
                let expected = (0..8).map(|i| u64::from(tags[i] == tag) << (2 * i)).sum();
                assert_eq!(tagged(&line, tag as u16), expected, "{tag:x} {below:x}");
            }
        }
    }

    /// Fifteen words, and seven lines behind their last words.
    fn checked<L: Lanes>() {
        for words in [[7; 15], std::array::from_fn(|i| i as u64 / 2)] {
            let slots = words.map(AtomicU64::new);
            for key in 0..9 {
                let bit = |i: usize| u64::from(words[i] == key) << (L::STEP as usize * i);
                assert_eq!(L::equal(&slots, key), (0..15).map(bit).sum());
                if let Some((below, equal)) = L::below_and_equal(&slots, key) {
                    let bit = |i: usize| u64::from(words[i] < key) << i;
                    assert_eq!(below, (0..15).map(bit).sum());
                    assert_eq!(equal, L::equal(&slots, key));
                }
            }
        }
        for len in 1..=56 {
            let words: Vec<u64> = (0..len).map(|i| i * i + i / 30 * (1 << 63)).collect();
            let mut lines = vec![[u64::MAX; 8]; 1 + words.len().div_ceil(8)];
            lines[0] = [0; 8];
            lines[1..].as_flattened_mut()[..words.len()].copy_from_slice(&words);
            let between = lines.len() - 2;
            (0..between).for_each(|line| lines[0][2 + line] = lines[1 + line][7]);
            let lasts = ((1 << between) - 1) << 2;
            // SAFETY: made above as `rank` asks for.
            let rank = |key| unsafe { L::rank(lines.as_ptr(), lasts, key) };
            for key in words.iter().flat_map(|&w| [w.saturating_sub(1), w, w + 1]) {
                let expected = words.iter().filter(|&&word| word <= key).count();
                assert_eq!(rank(key), expected, "{key}");
            }
            assert_eq!(rank(u64::MAX), 8 * (lines.len() - 1), "the padding counts");
        }
    }

    #[test]
    fn compares_in_words_and_in_vectors() {
        checked::<Words>();
        if wide() {
            checked::<Vectors>();
        }
    }
}
