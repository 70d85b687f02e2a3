//! Eight words compared with one at once.
//!
//! A lookup is a few cache misses, and a processor waits for those of several lookups at a time only as long as
//! all their instructions fit into its window together. So instructions count here even though they cost
//! nothing by themselves: comparing seven keys one by one took 40 of the 75 of a hit in `InlineMap`, and made it
//! half as fast again.

use fyris_sync::atomic::{AtomicU64, Ordering};

#[cfg(all(target_arch = "aarch64", not(any(fyris_sanitize, miri, loom, shuttle))))]
mod neon;
#[cfg_attr(
    not(any(fyris_sanitize, miri, loom, shuttle)),
    allow(dead_code, reason = "what the processor does better")
)]
mod scalar;
#[cfg(all(target_arch = "x86_64", not(any(fyris_sanitize, miri, loom, shuttle))))]
mod x86;

#[cfg(all(target_arch = "aarch64", not(any(fyris_sanitize, miri, loom, shuttle))))]
use neon as machine;
#[cfg(any(
    fyris_sanitize,
    miri,
    loom,
    shuttle,
    not(any(target_arch = "aarch64", target_arch = "x86_64"))
))]
use scalar as machine;
#[cfg(all(target_arch = "x86_64", not(any(fyris_sanitize, miri, loom, shuttle))))]
use x86 as machine;

#[cfg(not(all(target_arch = "x86_64", not(any(fyris_sanitize, miri, loom, shuttle)))))]
pub(crate) use Words as Vectors;
#[cfg(all(target_arch = "x86_64", not(any(fyris_sanitize, miri, loom, shuttle))))]
pub(crate) use x86::Vectors;

/// A cache line of words.
pub(crate) type Line = [u64; 8];

/// Eight words of a cache line that others may write.
#[cfg(not(any(fyris_small, loom, shuttle)))]
#[repr(C, align(64))]
pub(crate) struct SharedLine(pub(crate) [AtomicU64; 8]);

/// Returns a mask whose bit `2 * i` tells whether word `i` equals `key`; odd bits are clear. Each word is loaded
/// Relaxed.
#[inline(always)]
pub(crate) fn equal(words: &[AtomicU64; 8], key: u64) -> u64 {
    machine::equal(words, key)
}

/// Returns a mask whose bit `2 * i` tells whether the upper 16 bits of word `i` are `tag`; odd bits are clear. Each
/// word is loaded Relaxed.
#[cfg(not(any(fyris_small, loom, shuttle)))]
#[inline(always)]
pub(crate) fn tagged(line: &SharedLine, tag: u16) -> u64 {
    machine::tagged(line, tag)
}

/// A way to compare many words with one, chosen once an operation: [`Vectors`] if [`wide`], else [`Words`].
pub(crate) trait Lanes {
    /// The distance between the bits of [`Lanes::equal`].
    const STEP: u32;

    /// Returns a mask whose bit `STEP * i` tells whether word `i` equals `key`; the others are clear. Each word is
    /// loaded Relaxed.
    fn equal<const N: usize>(words: &[AtomicU64; N], key: u64) -> u64;

    /// Returns two masks: bit `i` of the first tells whether word `i` is below `key`, of the second whether it equals
    /// it; `None` where that takes longer than a binary search.
    fn below_and_equal<const N: usize>(words: &[AtomicU64; N], key: u64) -> Option<(u64, u64)>;

    /// Returns the number of bits that are set.
    fn ones(bits: u64) -> usize;

    /// Returns the number of words of a sorted array that are at most `key`. The array lies in lines, the last one
    /// padded with all ones, which count for the highest key.
    ///
    /// # Safety
    ///
    /// `lines` begins with a line whose words 2 to 7 are the last words of the lines that follow (but not of the
    /// last line); the bits of these words, and no others, are set in `lasts`. At least one line follows.
    unsafe fn rank(lines: *const Line, lasts: u8, key: u64) -> usize;
}

/// Returns whether the processor has what [`Vectors`] needs.
#[inline(always)]
pub(crate) fn wide() -> bool {
    #[cfg(all(target_arch = "x86_64", not(any(fyris_sanitize, miri, loom, shuttle))))]
    return std::arch::is_x86_feature_detected!("avx512f");
    #[cfg(not(all(target_arch = "x86_64", not(any(fyris_sanitize, miri, loom, shuttle)))))]
    return false;
}

/// Returns whether a word equals `key`.
fn is(word: &AtomicU64, key: u64) -> bool {
    // Relaxed: the caller orders what it reads before and after.
    word.load(Ordering::Relaxed) == key
}

/// The search that every processor can do.
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
        // By what all processors have: NEON takes as many instructions as the compiler makes of it.
        // SAFETY: the caller's contract.
        unsafe { scalar::rank(lines, lasts, key) }
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
        // The bits below the tags look like tags too, whole and shifted.
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

    /// Checks `L` on fifteen words, and on seven lines behind their last words.
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
