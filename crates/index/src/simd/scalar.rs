//! Word by word, for processors without wide registers, for model checkers and sanitizers.

use fyris_sync::atomic::AtomicU64;
#[cfg(not(any(fyris_small, loom, shuttle)))]
use fyris_sync::atomic::Ordering;

#[cfg(not(any(fyris_small, loom, shuttle)))]
use super::SharedLine;
use super::{Line, is};

/// Returns a mask whose bit `2 * i` tells whether word `i` equals `key`; each word is loaded Relaxed.
pub(super) fn equal(words: &[AtomicU64; 8], key: u64) -> u64 {
    (0..8)
        .map(|i| u64::from(is(&words[i], key)) << (2 * i))
        .sum()
}

/// Returns a mask whose bit `2 * i` tells whether the upper 16 bits of word `i` are `tag`; each word is loaded Relaxed.
#[cfg(not(any(fyris_small, loom, shuttle)))]
pub(super) fn tagged(line: &SharedLine, tag: u16) -> u64 {
    let mut mask = 0;
    for (i, word) in line.0.iter().enumerate() {
        // Relaxed: the caller orders it, as of every word that `super::tagged` loads.
        let word = word.load(Ordering::Relaxed);
        mask |= u64::from((word >> 48) as u16 == tag) << (2 * i);
    }
    mask
}

/// Returns the number of words of a sorted array that are at most `key`.
///
/// # Safety
///
/// `lines` begins with a line whose words 2 to 7 are the last words of the lines that follow (but not of the last
/// line); the bits of these words, and no others, are set in `lasts`. At least one line follows.
#[inline(always)]
pub(super) unsafe fn rank(lines: *const Line, lasts: u8, key: u64) -> usize {
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
