//! Bytes read from the front, each read checked.

use super::error::ValueErrorKind;

pub(super) type Result<T, E = ValueErrorKind> = std::result::Result<T, E>;

/// The remaining bytes of a value.
pub(super) struct ValueReader<'a> {
    pub(super) left: &'a [u8],
}

impl<'a> ValueReader<'a> {
    #[inline(always)]
    pub(super) fn byte(&mut self) -> Result<u8> {
        let (&byte, left) = self.left.split_first().ok_or(ValueErrorKind::Truncated)?;
        self.left = left;
        Ok(byte)
    }

    #[inline]
    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, left) = self
            .left
            .split_at_checked(n)
            .ok_or(ValueErrorKind::Truncated)?;
        self.left = left;
        Ok(taken)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (&taken, left) = self
            .left
            .split_first_chunk()
            .ok_or(ValueErrorKind::Truncated)?;
        self.left = left;
        Ok(taken)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(super) fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// Reads a LEB128 number of at most 64 bits.
    #[inline]
    pub(super) fn length(&mut self) -> Result<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            Ok(u64::from(first))
        } else {
            self.long_length(first)
        }
    }

    fn long_length(&mut self, first: u8) -> Result<u64> {
        let mut length = u64::from(first & 0x7F);
        for shift in (7..63).step_by(7) {
            let byte = self.byte()?;
            length |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(length);
            }
        }
        Err(ValueErrorKind::Malformed("length"))
    }

    /// Reads a length in bytes, and returns as many bytes.
    pub(super) fn counted(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Reads a number of parts of `size` bytes each, and returns their bytes.
    pub(super) fn parts(&mut self, size: usize) -> Result<&'a [u8]> {
        let count = usize::try_from(self.length()?).unwrap_or(usize::MAX);
        self.take(count.saturating_mul(size))
    }

    /// Reads a number of one to eight bytes without a sign.
    #[inline(always)]
    pub(super) fn number(&mut self, len: usize) -> Result<u64> {
        self.take(len).map(little_endian)
    }

    /// Reads an integer of one to eight bytes.
    #[inline(always)]
    pub(super) fn int(&mut self, len: usize) -> Result<i64> {
        let word = little_endian(self.take(len)?);
        let shift = (64 - 8 * len as u32) % 64;
        Ok((word << shift) as i64 >> shift)
    }
}

/// Returns the number in one to eight bytes, by loads that overlap: a copy of a length not known beforehand would be a
/// call.
#[inline(always)]
fn little_endian(bytes: &[u8]) -> u64 {
    match (bytes, bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (_, Some(&low), Some(&high)) => {
            let high = u64::from(u32::from_le_bytes(high));
            u64::from(u32::from_le_bytes(low)) | high << (8 * (bytes.len() - 4) % 64)
        }
        ([first, .., last], ..) => {
            let middle = bytes.len() / 2;
            u64::from(*first)
                | u64::from(bytes[middle]) << (8 * middle)
                | u64::from(*last) << (8 * (bytes.len() - 1))
        }
        ([only], ..) => u64::from(*only),
        ([], ..) => 0,
    }
}
