//! A cursor over the input that never steps outside it.

use super::error::{DecodeError, DecodeErrorKind};
use crate::{Term, memory};

/// The input, how far it has been read, how many elements the open containers still wait for, and how many more
/// elements the whole term may have.
pub(super) struct EtfReader<'a> {
    input: &'a [u8],
    at: usize,
    owed: usize,
    allowed: usize,
    no_atoms: bool,
}

impl<'a> EtfReader<'a> {
    pub(super) fn new(input: &'a [u8]) -> EtfReader<'a> {
        EtfReader {
            input,
            at: 0,
            owed: 0,
            allowed: usize::MAX,
            no_atoms: false,
        }
    }

    /// Makes a reader that makes no atoms.
    pub(super) fn known(input: &'a [u8]) -> EtfReader<'a> {
        EtfReader {
            no_atoms: true,
            ..EtfReader::new(input)
        }
    }

    /// Returns whether atoms that are not known are refused.
    pub(super) fn makes_no_atoms(&self) -> bool {
        self.no_atoms
    }

    /// Makes a reader of what the bytes of this one inflated to: of a term of at most `allowed` elements in all.
    pub(super) fn inflated<'b>(&self, input: &'b [u8], allowed: usize) -> EtfReader<'b> {
        EtfReader {
            allowed,
            no_atoms: self.no_atoms,
            ..EtfReader::new(input)
        }
    }

    /// Returns the number of further elements that the whole term may have.
    pub(super) fn allowed(&self) -> usize {
        self.allowed
    }

    /// Returns the number of bytes read so far.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// Returns the bytes not yet read.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.input[self.at..]
    }

    /// Reads on behind `count` bytes of [`EtfReader::rest`].
    pub(super) fn advance(&mut self, count: usize) {
        self.at += count.min(self.rest().len());
    }

    /// Takes the next `count` bytes; `what` names them in the error.
    #[inline]
    pub(super) fn take(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        match self.rest().get(..count) {
            Some(bytes) => {
                self.check_memory::<u8>(count, what)?;
                self.at += count;
                Ok(bytes)
            }
            None => Err(self.truncated(count as u64, what)),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        match self.rest().first_chunk::<N>() {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => Err(self.truncated(N as u64, what)),
        }
    }

    #[inline]
    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        Ok(u8::from_be_bytes(self.array(what)?))
    }

    #[inline]
    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.array(what)?))
    }

    #[inline]
    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.array(what)?))
    }

    #[inline]
    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        Ok(u64::from_be_bytes(self.array(what)?))
    }

    /// Reads sixteen bytes as they stand.
    pub(super) fn md5(&mut self, what: &'static str) -> Result<[u8; 16], DecodeError> {
        self.array(what)
    }

    /// Admits a container of `count` elements: from here on they are owed, and each that is read is
    /// paid back by [`EtfReader::element`]. This is the bounded-allocation invariant of the module.
    #[inline]
    pub(super) fn claim(&mut self, count: usize, what: &'static str) -> Result<(), DecodeError> {
        let owed = if cfg!(fyris_mutant = "etf_owed_forgotten") {
            0
        } else {
            self.owed
        };
        let free = self.rest().len().saturating_sub(owed);
        if count > free {
            let kind = DecodeErrorKind::Truncated {
                what,
                needed: count as u64,
                left: free,
            };
            return Err(DecodeError::new(self.at, kind));
        }
        self.check_memory::<Term>(count, what)?;
        self.owed += count;
        self.allow(count, self.at)
    }

    /// Refuses an item for which there is no memory.
    #[inline]
    fn check_memory<T>(&self, len: usize, what: &'static str) -> Result<(), DecodeError> {
        match memory::is_there_for::<T>(len) {
            true => Ok(()),
            false => Err(DecodeError::new(
                self.at,
                DecodeErrorKind::NoMemory { what, len },
            )),
        }
    }

    /// Takes `count` elements, of an item at `at`, from those that the whole term may have.
    #[inline]
    pub(super) fn allow(&mut self, count: usize, at: usize) -> Result<(), DecodeError> {
        match self.allowed.checked_sub(count) {
            Some(left) => {
                self.allowed = left;
                Ok(())
            }
            None => Err(DecodeError::new(at, DecodeErrorKind::TooManyElements)),
        }
    }

    /// Notes that one claimed element is about to be read.
    #[inline]
    pub(super) fn element(&mut self) {
        self.owed -= 1;
    }

    fn truncated(&self, needed: u64, what: &'static str) -> DecodeError {
        let left = self.rest().len();
        DecodeError::new(self.at, DecodeErrorKind::Truncated { what, needed, left })
    }
}
