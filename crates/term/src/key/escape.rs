//! Names and bitstrings: bytes that may hold zeros, ended by a zero.
//!
//! ```text
//! 00        in the content  ->  00 FF
//! any other byte            ->  itself
//! end of an atom            ->  00
//! end of a name inside      ->  00 00, because bytes of any value follow it there (a creation, an arity)
//! end of a bitstring        ->  00, bits in the last byte (1 to 7; 8: a whole one, or no byte at all)
//! ```
//!
//! Invariant **ESCAPE**: the byte after a closing zero is never `FF`: a bit count, another zero, a tag, the trailer or
//! nothing. So the end is told from an escaped zero by one byte, and a string that ends sorts below one that goes on
//! with a zero. Of two bitstrings with the same bytes the one with fewer bits in the last byte is the prefix, and its
//! count is less.

use std::ops::Deref;

use smallvec::SmallVec;

use super::buf::KeyBuf;
use super::tag::ESCAPED;

/// Writes the tag, the content and the end. O(length).
#[inline]
pub(super) fn put(out: &mut KeyBuf, tag: u8, content: &[u8], bits: Option<u8>) {
    let n = content.len();
    let size = n + 3;
    if let Some(room) = out.room(size) {
        room[0] = tag;
        let no_zero = copy_without_zero(&mut room[1..=n], content);
        if no_zero {
            room[n + 1] = 0;
            room[n + 2] = bits.unwrap_or(0);
            out.advance(n + 2 + usize::from(bits.is_some()));
            return;
        }
    }
    put_with_zeros(out, tag, content, bits);
}

/// Writes any content. If there is room for the longest result, escapes byte by byte: each byte is stored with a mark
/// behind it, which the next byte overwrites unless the first one is zero; so there is no branch to be mispredicted.
#[inline(never)]
fn put_with_zeros(out: &mut KeyBuf, tag: u8, content: &[u8], bits: Option<u8>) {
    let Some(room) = out.room(2 * content.len() + 3) else {
        return put_runs(out, tag, content, bits);
    };
    room[0] = tag;
    let mut at = 1;
    for &byte in content {
        room[at..at + 2].copy_from_slice(&[byte, ESCAPED]);
        at += 1 + usize::from(byte == 0);
    }
    room[at] = 0;
    room[at + 1] = bits.unwrap_or(0);
    out.advance(at + 1 + usize::from(bits.is_some()));
}

/// Runs without zeros are copied whole.
#[cold]
fn put_runs(out: &mut KeyBuf, tag: u8, content: &[u8], bits: Option<u8>) {
    out.push(tag);
    let mut rest = content;
    while let Some(zero) = memchr::memchr(0, rest) {
        out.extend(&rest[..=zero]);
        out.push(ESCAPED);
        rest = &rest[zero + 1..];
    }
    out.extend(rest);
    out.push(0);
    if let Some(bits) = bits {
        out.push(bits);
    }
}

/// Copies `from` to `to`, which are equally long; true if there was no zero byte. The content of `to` is of no use
/// otherwise.
///
/// Eight bytes a step, the last step overlapping the one before, because a call of `memcpy` and one of `memchr` cost
/// more than a short key.
#[inline(always)]
fn copy_without_zero(to: &mut [u8], from: &[u8]) -> bool {
    let n = from.len();
    if let (Some(last_to), Some(&last)) = (to.last_chunk_mut::<8>(), from.last_chunk::<8>()) {
        *last_to = last;
        let mut zeros = zero_bytes(u64::from_ne_bytes(last));
        for (to, from) in to
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .zip(from.as_chunks::<8>().0)
        {
            *to = *from;
            zeros |= zero_bytes(u64::from_ne_bytes(*from));
        }
        return zeros == 0;
    }
    if let (Some(&first), Some(&last)) = (from.first_chunk::<4>(), from.last_chunk::<4>()) {
        to[..4].copy_from_slice(&first);
        to[n - 4..].copy_from_slice(&last);
        let both = u64::from(u32::from_ne_bytes(first)) << 32 | u64::from(u32::from_ne_bytes(last));
        return zero_bytes(both) == 0;
    }
    let mut no_zero = true;
    for (to, &from) in to.iter_mut().zip(from) {
        *to = from;
        no_zero &= from != 0;
    }
    no_zero
}

/// Returns a word that is zero exactly when no byte of `word` is zero.
#[inline(always)]
fn zero_bytes(word: u64) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    word.wrapping_sub(LOW) & !word & HIGH
}

/// Unescaped bytes: borrowed if they hold no zero, else copied.
pub(super) enum Unescaped<'a> {
    Plain(&'a [u8]),
    Copied(SmallVec<[u8; SHORT]>),
}

/// Bytes of content that are copied without an allocation.
const SHORT: usize = 64;

impl Deref for Unescaped<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Unescaped::Plain(bytes) => bytes,
            Unescaped::Copied(bytes) => bytes,
        }
    }
}

/// Reads an escaped content from the start of `bytes`: the content, and how many bytes it and its closing zero take.
/// `None` if there is no end. Copies only what holds a zero.
pub(super) fn read(bytes: &[u8]) -> Option<(Unescaped<'_>, usize)> {
    let zero = first_zero(bytes)?;
    if bytes.get(zero + 1) == Some(&ESCAPED) {
        return read_with_zeros(bytes, zero);
    }
    Some((Unescaped::Plain(&bytes[..zero]), zero + 1))
}

/// Returns the place of the first zero byte. Goes eight bytes a step while there are few: a call costs more.
#[inline]
fn first_zero(bytes: &[u8]) -> Option<usize> {
    let near = &bytes[..bytes.len().min(SHORT)];
    for (i, word) in near.as_chunks::<8>().0.iter().enumerate() {
        let zeros = zero_bytes(u64::from_le_bytes(*word));
        if zeros != 0 {
            return Some(8 * i + zeros.trailing_zeros() as usize / 8);
        }
    }
    let from = near.len() & !7;
    memchr::memchr(0, &bytes[from..]).map(|at| from + at)
}

/// Reads a content whose first zero, an escaped one, is known: the content, and how many bytes it and its closing zero
/// take. While it is short it goes to an array, whose length is a number in a register; a vector would store and load
/// its own with every byte.
fn read_with_zeros(bytes: &[u8], zero: usize) -> Option<(Unescaped<'_>, usize)> {
    let mut short = [0; SHORT];
    let (mut at, mut len) = (zero + 2, zero + 1);
    if let Some(begin) = short.get_mut(..len) {
        begin.copy_from_slice(&bytes[..len]);
        while let Some(place) = short.get_mut(len) {
            let byte = *bytes.get(at)?;
            if byte == 0 && bytes.get(at + 1) != Some(&ESCAPED) {
                let content = SmallVec::from_buf_and_len(short, len);
                return Some((Unescaped::Copied(content), at + 1));
            }
            *place = byte;
            len += 1;
            at += 1 + usize::from(byte == 0);
        }
    }
    read_long(bytes, zero)
}

/// Reads a content of any length whose first zero, an escaped one, is known.
#[cold]
fn read_long(bytes: &[u8], zero: usize) -> Option<(Unescaped<'_>, usize)> {
    let mut content = SmallVec::from_slice(&bytes[..=zero]);
    let mut at = zero + 2;
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        if byte == 0 {
            if bytes.get(at) != Some(&ESCAPED) {
                return Some((Unescaped::Copied(content), at));
            }
            at += 1;
        }
        content.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_any_length_come_back_with_their_zeros() {
        for len in 0..2 * SHORT + 8 {
            for every in [1, 2, 3, 7, SHORT - 1, SHORT, len.max(1)] {
                let is_zero = |i: usize| (i + 1).is_multiple_of(every);
                let content: Vec<u8> = (0..len).map(|i| 17 * u8::from(!is_zero(i))).collect();
                let mut buf = KeyBuf::new();
                put(&mut buf, 9, &content, Some(8));
                buf.end(&[]);
                let (read, taken) = read(&buf.order()[1..]).expect("there is an end");
                assert_eq!(*read, content[..], "{len} {every}");
                assert_eq!(buf.order()[1 + taken..], [8]);
                // Bytes that are cut off may look like an end, but are no reason to read on.
                for cut in 1..=taken {
                    let content = super::read(&buf.order()[1..cut]);
                    assert!(content.is_none_or(|(read, _)| read.len() < cut));
                }
            }
        }
    }
}
