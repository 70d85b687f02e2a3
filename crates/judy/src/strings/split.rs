//! From a byte string to the words of a Judy array, a level each.

use fyris_index::key::{TreeKey, byte_key_prefix};

/// A way to cut byte strings into words, whose order is that of the strings.
pub trait Split: Send + Sync + 'static {
    /// Bytes that a word has.
    const STEP: usize;

    /// Returns the first word of a string: its bytes, with zeros behind the last, unless a way has another.
    #[inline(always)]
    fn word(rest: &[u8]) -> u64 {
        byte_key_prefix(rest, 0)
    }

    /// Returns the word of `STEP` bytes that are not the last ones.
    fn through(bytes: &[u8]) -> u64 {
        Self::word(bytes)
    }

    /// Returns how many words are the same in two different strings with `common` bytes in common, and are not the last
    /// ones; `shorter` is the length of the shorter string.
    fn common_words(common: usize, shorter: usize) -> usize {
        _ = shorter;
        common / Self::STEP
    }

    /// Returns whether only one key has this word at its end, so that nothing behind it need be compared.
    fn ends(word: u64) -> bool;

    /// Returns how many bytes of a string a word has.
    fn bytes(word: u64) -> usize;

    /// Returns whether only one key has its bytes up to an offset, and this word behind them.
    fn decides<K: TreeKey + ?Sized>(word: u64, key: &K, offset: usize) -> bool;
}

/// Eight bytes a word, with zeros behind the last (JudySL). For keys of which none begins with another and a zero
/// behind it: there are no two that differ in zeros at the end alone, so the end needs no mark.
pub enum Padded {}

impl Split for Padded {
    const STEP: usize = 8;

    #[inline(always)]
    fn ends(_: u64) -> bool {
        false
    }

    fn bytes(_: u64) -> usize {
        Self::STEP
    }

    #[inline(always)]
    fn decides<K: TreeKey + ?Sized>(_: u64, key: &K, offset: usize) -> bool {
        key.is_exact(offset)
    }
}

/// Eight bytes a word, with zeros behind the last, for keys without zeros (JudySL): a zero at a word's end says that
/// the string ends in it.
pub(crate) enum Ended {}

impl Split for Ended {
    const STEP: usize = 8;

    #[inline(always)]
    fn ends(word: u64) -> bool {
        word & 0xFF == 0
    }

    fn bytes(word: u64) -> usize {
        Self::STEP - word.trailing_zeros() as usize / 8
    }

    #[inline(always)]
    fn decides<K: TreeKey + ?Sized>(word: u64, _: &K, _: usize) -> bool {
        Self::ends(word)
    }
}

/// Seven bytes a word, and in its lowest byte how many of them are the string's last ones, or 8 if more
/// follow (JudyESL). For any keys.
pub enum Measured {}

impl Measured {
    /// The lowest byte of a word behind which the string goes on.
    const ON: u64 = 8;
}

impl Split for Measured {
    const STEP: usize = 7;

    #[inline(always)]
    fn word(rest: &[u8]) -> u64 {
        let len = if cfg!(fyris_mutant = "judy_length_forgotten") {
            rest.len().clamp(1, 8)
        } else {
            rest.len().min(8)
        };
        byte_key_prefix(rest, 0) & !0xFF | len as u64
    }

    fn through(bytes: &[u8]) -> u64 {
        byte_key_prefix(&bytes[..Self::STEP], 0) | Self::ON
    }

    fn common_words(common: usize, shorter: usize) -> usize {
        // The seven last bytes of a string are a word of their own kind.
        common.min(shorter.saturating_sub(1)) / Self::STEP
    }

    #[inline(always)]
    fn ends(word: u64) -> bool {
        word & 0xFF < Self::ON
    }

    fn bytes(word: u64) -> usize {
        if Self::ends(word) {
            (word & 0xFF) as usize
        } else {
            Self::STEP
        }
    }

    #[inline(always)]
    fn decides<K: TreeKey + ?Sized>(word: u64, _: &K, _: usize) -> bool {
        Self::ends(word)
    }
}

/// Returns the bytes behind an offset; none if there are no more.
#[inline(always)]
pub(crate) fn rest(bytes: &[u8], offset: usize) -> &[u8] {
    bytes.get(offset..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_the_order_of_strings() {
        let mut strings: Vec<Vec<u8>> = vec![vec![]];
        for digits in [[0u8, 1], [0, 255], [7, 8]] {
            for len in 1..10 {
                strings.extend((0..1u32 << len.min(6)).map(|bits| {
                    (0..len)
                        .map(|at| digits[(bits >> (at % 6) & 1) as usize])
                        .collect()
                }));
            }
        }
        for a in &strings {
            for b in &strings {
                let (left, right) = (Measured::word(a), Measured::word(b));
                let same = a == b || a.len() > 7 && b.len() > 7 && a[..7] == b[..7];
                assert_eq!(left == right, same, "{a:?} {b:?}");
                assert!(same || (left < right) == (a < b), "{a:?} {b:?}");
                assert!(Padded::word(a) <= Padded::word(b) || a > b, "{a:?} {b:?}");
                let zeroless = !a.contains(&0) && !b.contains(&0);
                let same = a == b || a.len() > 7 && b.len() > 7 && a[..8] == b[..8];
                assert!(!zeroless || (Ended::word(a) == Ended::word(b)) == same);
            }
        }
    }
}
