//! Fingerprints: 64 bits of values, by which one object is found among many of its key.
//!
//! # Layout
//!
//! | bits | hash of |
//! |---|---|
//! | 63 to 44 | the bytes up to the end of the first leaf |
//! | 43 to 24 | those up to the end of the second leaf |
//! | 23 to 0 | the first 64 |
//!
//! A leaf is a term without parts; the headers of the tuples, lists and maps that it lies in stand before it. So the
//! fingerprints of values that begin alike are a range: `{Pid, '_'}` is found without its second element.
//!
//! Only bytes count in which equal values are alike (CANONICAL_VALUE): up to a closure, of which equality overlooks the
//! creator, and up to the first reference, of which it overlooks zero words at the end; the first two words of that
//! reference are a leaf.

use std::ops::RangeInclusive;

use rapidhash::v3::rapidhash_v3;

use super::reader::{Result, ValueReader};
use super::skip::token;
use super::tag;

/// The most bytes that a part of a fingerprint is made of.
const PRINTED: usize = 64;
/// Where the hashes of the first leaf, of the second and of the whole begin.
const FIRST: u32 = 44;
const SECOND: u32 = 24;

/// Returns a number that runs of values have in common if they are [`equal`](super::equal), and others rarely. O(1).
pub fn fingerprint(values: &[u8]) -> u64 {
    let seen = Seen::of(values);
    let first = seen.leaves[0].map_or(0, |leaf| leaf.hash(values, 0, 0));
    let (from, second) = seen.second(values, first);
    let whole = match seen.whole.end > from {
        true => seen.whole.hash(values, from, second),
        false => second,
    };
    first >> FIRST << FIRST | second >> FIRST << SECOND | whole >> (64 - SECOND)
}

/// Returns the range of the fingerprints of all values with this prefix, which is whole terms and headers of terms.
/// O(1).
pub fn fingerprints(prefix: &[u8]) -> RangeInclusive<u64> {
    let seen = Seen::of(prefix);
    let Some(leaf) = seen.leaves[0] else {
        return 0..=u64::MAX;
    };
    let first = leaf.hash(prefix, 0, 0);
    match seen.leaves[1] {
        None => range(first >> FIRST << FIRST, FIRST),
        Some(_) => {
            let (_, second) = seen.second(prefix, first);
            range(first >> FIRST << FIRST | second >> FIRST << SECOND, SECOND)
        }
    }
}

/// Returns the numbers that differ from one in the low bits alone, which are zero there.
fn range(low: u64, bits: u32) -> RangeInclusive<u64> {
    low..=low | ((1 << bits) - 1)
}

/// The beginning of values in which equal ones are alike.
#[derive(Clone, Copy, Default)]
struct AlikePart {
    end: usize,
    /// The first two words of the reference at its end, if there is one.
    words: u64,
}

impl AlikePart {
    /// Returns the hash of a part of `values`, of which the bytes before `from` have the hash `before`; the high bits
    /// are the better ones.
    fn hash(self, values: &[u8], from: usize, before: u64) -> u64 {
        /// Odd, with bits that look random: 2^64 divided by the golden ratio.
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
        let end = self.end.min(PRINTED);
        rapidhash_v3(&values[from.min(end)..end])
            ^ (self.words ^ before.rotate_left(32)).wrapping_mul(SPREAD)
    }
}

/// The parts of the first bytes of values.
#[derive(Default)]
struct Seen {
    leaves: [Option<AlikePart>; 2],
    whole: AlikePart,
}

impl Seen {
    fn of(values: &[u8]) -> Seen {
        let mut seen = Seen::default();
        let mut reader = ValueReader { left: values };
        while seen.whole.end < PRINTED {
            match reader.left.first() {
                None | Some(&tag::FUN_LOCAL) => break,
                Some(&tag::REFERENCE) => {
                    if let Ok(part) = reference(values.len(), &mut reader) {
                        seen.add(part, true);
                    }
                    break;
                }
                _ => {}
            }
            let Ok(parts) = token(&mut reader) else {
                break;
            };
            let end = values.len() - reader.left.len();
            seen.add(AlikePart { end, words: 0 }, parts == 0);
        }
        seen
    }

    /// Returns the end of the second leaf and the hash up to there, given that of the first; those of the first if
    /// there is no second.
    fn second(&self, values: &[u8], first: u64) -> (usize, u64) {
        let from = self.leaves[0].map_or(0, |leaf| leaf.end);
        match self.leaves[1] {
            None => (from, first),
            Some(leaf) => (leaf.end, leaf.hash(values, from, first)),
        }
    }

    fn add(&mut self, part: AlikePart, is_leaf: bool) {
        self.whole = part;
        let free = self.leaves.iter_mut().find(|leaf| leaf.is_none());
        if let Some(leaf) = free.filter(|_| is_leaf) {
            *leaf = Some(part);
        }
    }
}

/// Reads the reference at the front of values of that length.
fn reference(len: usize, reader: &mut ValueReader<'_>) -> Result<AlikePart> {
    reader.take(1 + tag::REFERENCE_HEAD)?;
    let end = len - reader.left.len();
    let mut words = reader.parts(4)?.chunks_exact(4).take(2).map(|word| {
        let word = word.try_into().unwrap_or_default();
        u64::from(u32::from_le_bytes(word))
    });
    let (low, high) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
    Ok(AlikePart {
        end,
        words: high << 32 | low,
    })
}
