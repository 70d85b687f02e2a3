//! The words of a bucket, and the bits of a hash in them.
//!
//! ```text
//!  63            48 47                                              0
//! +----------------+-------------------------------------------------+
//! | tag            | handle of an entry, or address of the overflow  |   0 = empty
//! +----------------+-------------------------------------------------+
//! ```
//!
//! # Choice of bits
//!
//! The *top* `bits` bits of the hash number the bucket. So doubling the table splits bucket `i` into
//! `2i` and `2i + 1`, and going through buckets in order is going through entries in hash order, at
//! every size.
//!
//! The tag is a window of 16 bits that begins where [`window`] says, at or a little above the end of the bucket number.
//! It moves only every eighth doubling. Between two moves the tag holds the very bit that says which half an entry goes
//! to when its bucket is split, so splitting looks at words alone and not at entries: seven of eight doublings touch no
//! entry, which would be a cache miss each. The price: up to 7 of the 16 bits are known from the bucket number, so at
//! worst one comparison in 512 is made in vain.

/// Says that the word holds the address of an overflow bucket.
pub(super) const LINK: u16 = 0xFFFF;

const HANDLE_BITS: u32 = 48;
const HANDLE: u64 = (1 << HANDLE_BITS) - 1;

/// The smallest table has two buckets.
pub(super) const MIN_BITS: u32 = 1;

/// Returns the bit at which the tag's window begins in the hash, counted from the top, in a table of `2^bits` buckets.
///
/// The moves lie at 16, 4096 and 2^20 buckets.
pub(super) fn window(bits: u32) -> u32 {
    if bits < 4 { 0 } else { 4 + (bits - 4) / 8 * 8 }
}

/// Returns the tag of a hash: never 0 (so that no tag equals an empty word's) and never [`LINK`].
#[inline]
pub(super) fn tag_of(hash: u64, window: u32) -> u16 {
    let tag = (hash << window >> HANDLE_BITS) as u16;
    if tag.wrapping_add(1) < 2 {
        return neighbour(tag);
    }
    tag
}

/// Returns the tag that stands for one that is none. Only the last bit is changed, and that bit never says where an
/// entry goes.
#[cold]
fn neighbour(tag: u16) -> u16 {
    tag ^ 1
}

/// Returns the tag in a word.
#[inline]
pub(super) fn tag(word: u64) -> u16 {
    (word >> HANDLE_BITS) as u16
}

/// Returns the 48 bits below the tag.
#[inline]
pub(super) fn handle(word: u64) -> u64 {
    word & HANDLE
}

/// Returns the word of a tag and 48 bits.
#[inline]
pub(super) fn word(tag: u16, handle: u64) -> u64 {
    debug_assert!(handle != 0 && handle <= HANDLE);
    u64::from(tag) << HANDLE_BITS | handle
}

/// Returns the half for the entry of a word when a table of `2^bits` buckets doubles. Only for sizes
/// between which the window does not move.
#[inline]
pub(super) fn half(word: u64, bits: u32) -> usize {
    (tag(word) >> (15 - (bits - window(bits))) & 1) as usize
}

/// Returns the hash made fit for use from the top: a hasher for integers may leave the high bits poor.
///
/// An odd factor loses nothing: different hashes stay different.
#[inline]
pub fn spread(hash: u64) -> u64 {
    hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_knows_its_half_wherever_the_window_stays() {
        for bits in MIN_BITS..40 {
            if window(bits) != window(bits + 1) {
                continue;
            }
            for seed in 0..2000u64 {
                // All ones and all zeros below the bucket number are the cases that clamp.
                let low = [0, u64::MAX, spread(seed)][seed as usize % 3];
                let hash = spread(seed) >> (64 - bits) << (64 - bits) | low >> bits;
                let word = word(tag_of(hash, window(bits)), 1);
                assert_eq!(half(word, bits), (hash >> (63 - bits) & 1) as usize);
                assert!(tag(word) != 0 && tag(word) != LINK);
            }
        }
    }
}
