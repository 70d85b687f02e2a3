//! Compressed terms: inflating no more than was declared, and compressing.

use std::io::Write;

use flate2::{Decompress, FlushDecompress, Status};

use super::error::{DecodeError, DecodeErrorKind};
use super::reader::EtfReader;
use crate::Term;

/// The most bytes a compressed term may inflate to: 256 MiB.
pub const MAX_INFLATED: usize = 256 << 20;

/// Deflate makes at most 1032 bytes of one.
const MAX_RATIO: u64 = 1032;
/// The most elements in what a compressed term of no length inflates to, and how many more for each of its bytes.
const ELEMENTS: usize = 4 << 20;
const ELEMENTS_A_BYTE: usize = 16;
/// The output grows by this much at a time.
const STEP: usize = 64 << 10;

/// Bytes of memory that compressed terms may take, over as many terms as are decoded within it: see
/// [`decode_prefix_within`](super::decode_prefix_within).
///
/// A compressed term takes what it inflates to, and the size of a [`Term`] for each of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InflateBudget(u64);

impl InflateBudget {
    /// Makes room for a number of bytes.
    pub fn new(bytes: u64) -> InflateBudget {
        InflateBudget(bytes)
    }

    /// Returns the number of bytes that are left.
    pub fn left(self) -> u64 {
        self.0
    }

    pub(super) fn take(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes as u64);
    }

    /// Returns the number of elements that there is room for.
    pub(super) fn elements(self) -> usize {
        usize::try_from(self.0 / size_of::<Term>() as u64).unwrap_or(usize::MAX)
    }

    pub(super) fn take_elements(&mut self, count: usize) {
        self.take(count.saturating_mul(size_of::<Term>()));
    }
}

/// Inflates what stands behind the tag 80, which is next in `reader`, to no more than `most` bytes.
pub(super) fn inflate(reader: &mut EtfReader<'_>, most: u64) -> Result<Vec<u8>, DecodeError> {
    let at = reader.offset();
    reader.advance(1);
    let declared = reader.u32("the size of a compressed term")?;
    let max = (reader.rest().len() as u64 * MAX_RATIO)
        .min(MAX_INFLATED as u64)
        .min(most);
    if u64::from(declared) > max {
        let kind = DecodeErrorKind::TooLarge {
            declared: declared.into(),
            max,
        };
        return Err(DecodeError::new(at, kind));
    }
    let (output, used) = zlib(reader.rest(), declared as usize)
        .map_err(|why| DecodeError::new(reader.offset(), DecodeErrorKind::Damaged { why }))?;
    reader.advance(used);
    Ok(output)
}

/// Returns the most elements, of lists, tuples, maps and all others together, that may be in the terms to which
/// `compressed` bytes inflate.
///
/// An element is a byte in the format, and 32 or more in memory: without a limit a file of 260 KB could take 8 GB.
/// Terms that people compress have less than one element a byte.
pub(super) fn allowed_elements(compressed: usize) -> usize {
    compressed
        .saturating_mul(ELEMENTS_A_BYTE)
        .saturating_add(ELEMENTS)
}

/// Inflates `input` to exactly `size` bytes; also how much of the input that took.
fn zlib(input: &[u8], size: usize) -> Result<(Vec<u8>, usize), &'static str> {
    let mut stream = Decompress::new(true);
    let mut output = Vec::with_capacity(size.min(STEP));
    loop {
        let (read, written) = (stream.total_in() as usize, output.len());
        // One byte beyond the size is room enough to see that there is more.
        if output.len() == output.capacity() {
            output.reserve(STEP.min(size + 1 - output.len()));
        }
        let status = stream
            .decompress_vec(&input[read..], &mut output, FlushDecompress::None)
            .map_err(|_| "they are not zlib data, or the checksum is wrong")?;
        if output.len() > size {
            return Err("they inflate to more than was declared");
        }
        match status {
            Status::StreamEnd if output.len() == size => {
                return Ok((output, stream.total_in() as usize));
            }
            Status::StreamEnd => return Err("they inflate to less than was declared"),
            // Neither input taken nor output given: the input has ended within the stream.
            _ if stream.total_in() as usize == read && output.len() == written => {
                return Err("they end too early");
            }
            Status::Ok | Status::BufError => {}
        }
    }
}

/// Returns `plain` as zlib data at `level` 0 to 9.
pub(super) fn deflate(plain: &[u8], level: u32) -> Vec<u8> {
    let level = flate2::Compression::new(level);
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
    // Writing to a vector cannot fail; were it to, the caller sees no gain and keeps `plain`.
    match encoder.write_all(plain).and_then(|()| encoder.finish()) {
        Ok(compressed) => compressed,
        Err(_) => plain.to_vec(),
    }
}
