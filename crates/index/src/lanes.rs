//! Eight words compared with one at once.
//!
//! A lookup is a few cache misses, and a processor waits for those of several lookups at a time only as long as
//! all their instructions fit into its window together. So instructions count here even though they cost
//! nothing by themselves: comparing seven keys one by one took 40 of the 75 of a hit in `InlineMap`, and made it
//! half as fast again.

use fyris_sync::atomic::AtomicU64;
#[cfg(not(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom))))]
use fyris_sync::atomic::Ordering;

/// A cache line of words.
pub(crate) type Line = [u64; 8];

/// Compares eight words, each shifted right by `$shift` bits, with `$key`.
#[cfg(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom)))]
macro_rules! compare {
    ($words:expr, $key:expr, $($shift:literal)?) => {{
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
                $(
                    concat!("psrlq {a}, ", $shift),
                    concat!("psrlq {b}, ", $shift),
                    concat!("psrlq {c}, ", $shift),
                    concat!("psrlq {d}, ", $shift),
                )?
                "pcmpeqd {a}, {k}",
                "pcmpeqd {b}, {k}",
                "pcmpeqd {c}, {k}",
                "pcmpeqd {d}, {k}",
                "packssdw {a}, {b}",
                "packssdw {c}, {d}",
                "packsswb {a}, {c}",
                "pmovmskb {mask:e}, {a}",
                key = in(reg) $key,
                words = in(reg) $words.as_ptr(),
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
    }};
}

#[cfg(not(all(target_arch = "x86_64", not(fyris_sanitize), not(miri), not(loom))))]
macro_rules! compare {
    ($words:expr, $key:expr, $($shift:literal)?) => {{
        let mut mask = 0;
        for (i, word) in $words.iter().enumerate() {
            // Acquire: pairs with the Release by which the words are written or published.
            let word = word.load(Ordering::Acquire) $(>> $shift)?;
            mask |= u64::from(word == $key) << (2 * i);
        }
        mask
    }};
}

/// Bit `2 * i` tells whether word `i` equals `key`; odd bits are clear. Each word is loaded with Acquire.
#[inline(always)]
pub(crate) fn equal(words: &[AtomicU64; 8], key: u64) -> u64 {
    compare!(words, key,)
}

/// Bit `2 * i` tells whether the upper 16 bits of word `i` are `tag`; odd bits are clear. Each word is loaded
/// with Acquire.
#[cfg(not(any(fyris_small, loom)))]
#[inline(always)]
pub(crate) fn tagged(words: &[AtomicU64; 8], tag: u16) -> u64 {
    compare!(words, u64::from(tag), 48)
}

/// How many words of sorted lines are at most `key`, given the last word of each line (padded with all ones).
#[inline(always)]
pub(crate) fn rank(lasts: &Line, lines: &[Line], key: u64) -> usize {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { wide::rank(lasts, lines, key) };
    }
    rank_by(lasts, lines, |line| {
        line.iter().map(|&word| usize::from(word <= key)).sum()
    })
}

#[inline(always)]
fn rank_by(lasts: &Line, lines: &[Line], count: impl Fn(&Line) -> usize) -> usize {
    let full = count(lasts);
    match lines.get(full) {
        Some(line) => full * line.len() + count(line),
        None => lines.len() * lasts.len(),
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod wide {
    use std::arch::x86_64::{_mm512_cmple_epu64_mask, _mm512_loadu_si512, _mm512_set1_epi64};

    use super::Line;

    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn rank(lasts: &Line, lines: &[Line], key: u64) -> usize {
        let key = _mm512_set1_epi64(key.cast_signed());
        super::rank_by(lasts, lines, |line| {
            // SAFETY: reads the 64 bytes of `line`, of any alignment.
            let words = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
            _mm512_cmple_epu64_mask(words, key).count_ones() as usize
        })
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
        let line = tags.map(|tag| AtomicU64::new(tag << 48 | 7));
        for tag in tags.into_iter().chain([8]) {
            let expected = (0..8).map(|i| u64::from(tags[i] == tag) << (2 * i)).sum();
            assert_eq!(tagged(&line, tag as u16), expected, "{tag:x}");
        }
    }

    #[test]
    fn counts_what_is_at_most_the_key() {
        let words: Vec<u64> = (0..40).map(|i| i * i + (i / 30) * (1 << 63)).collect();
        let mut padded = words.clone();
        padded.resize(48, u64::MAX);
        let lines = padded.as_chunks::<8>().0;
        let mut lasts = [u64::MAX; 8];
        lines
            .iter()
            .zip(&mut lasts)
            .for_each(|(line, last)| *last = line[7]);
        let keys = words.iter().flat_map(|&w| [w.saturating_sub(1), w, w + 1]);
        for key in keys.chain([1 << 62, u64::MAX - 1]) {
            let expected = words.iter().filter(|&&word| word <= key).count();
            assert_eq!(rank(&lasts, lines, key), expected, "{key}");
            let scalar = |line: &Line| line.iter().filter(|&&word| word <= key).count();
            assert_eq!(rank_by(&lasts, lines, scalar), expected, "{key}");
        }
        assert_eq!(rank(&lasts, lines, u64::MAX), 48, "the padding counts");
    }
}
