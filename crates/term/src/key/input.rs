//! Bytes of a key read from the front, each read checked.

use crate::{Atom, Pid};

use super::error::{KeyError, KeyErrorKind};
use super::escape::{self, Unescaped};
use super::tag;

pub(super) type KeyResult<T> = Result<T, KeyError>;

/// Bytes read from the front.
pub(super) struct Input<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// Their offset, for errors.
    pub(super) base: usize,
}

impl<'a> Input<'a> {
    pub(super) fn error<T>(&self, at: usize, kind: KeyErrorKind) -> KeyResult<T> {
        Err(KeyError {
            offset: self.base + at,
            kind,
        })
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn take(&mut self, n: usize, what: &'static str) -> KeyResult<&'a [u8]> {
        match self.bytes[self.at..].get(..n) {
            Some(taken) => {
                self.at += n;
                Ok(taken)
            }
            None => self.error(self.bytes.len(), KeyErrorKind::Truncated(what)),
        }
    }

    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> KeyResult<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(super) fn byte(&mut self, what: &'static str) -> KeyResult<u8> {
        Ok(self.array::<1>(what)?[0])
    }

    /// Reads a length, as `number::put_length` writes it.
    pub(super) fn length(&mut self, complement: bool, what: &'static str) -> KeyResult<u64> {
        let at = self.at;
        let flip = if complement { 0xFF } else { 0 };
        let first = self.byte(what)? ^ flip;
        if first < 0xF0 {
            return Ok(u64::from(first));
        }
        let len = usize::from(first - 0xF0);
        if len == 0 || len > 8 {
            return self.error(at, KeyErrorKind::NotCanonical(what));
        }
        let bytes = self.take(len, what)?;
        let length = bytes
            .iter()
            .fold(0, |length, &byte| length << 8 | u64::from(byte ^ flip));
        if bytes[0] ^ flip == 0 || length < 0xF0 {
            return self.error(at, KeyErrorKind::NotCanonical(what));
        }
        Ok(length)
    }

    /// Reads escaped bytes and their end.
    pub(super) fn escaped(&mut self, what: &'static str) -> KeyResult<Unescaped<'a>> {
        match escape::read(&self.bytes[self.at..]) {
            Some((content, taken)) => {
                self.at += taken;
                Ok(content)
            }
            None => self.error(self.bytes.len(), KeyErrorKind::Truncated(what)),
        }
    }

    pub(super) fn name(&mut self) -> KeyResult<Atom> {
        let at = self.at;
        let name = self.escaped("an atom")?;
        self.atom(at, &name)
    }

    /// Returns the atom whose name starts at `at`.
    pub(super) fn atom(&self, at: usize, name: &[u8]) -> KeyResult<Atom> {
        let Ok(name) = std::str::from_utf8(name) else {
            return self.error(at, KeyErrorKind::NotUtf8);
        };
        Atom::new(name).or_else(|error| self.error(at, KeyErrorKind::Atom(error)))
    }

    /// Reads a name behind a tag of its own, as `KeyWriter::name` writes it.
    pub(super) fn tagged_name(&mut self) -> KeyResult<Atom> {
        if self.byte("an atom")? != tag::ATOM {
            return self.error(self.at - 1, KeyErrorKind::NotCanonical("a name"));
        }
        self.inner_name()
    }

    /// Reads a name that ends in one more zero.
    pub(super) fn inner_name(&mut self) -> KeyResult<Atom> {
        let name = self.name()?;
        match self.byte("a name")? {
            0 => Ok(name),
            _ => self.error(self.at - 1, KeyErrorKind::NotCanonical("a name")),
        }
    }

    pub(super) fn u32(&mut self, what: &'static str) -> KeyResult<u32> {
        Ok(u32::from_be_bytes(self.array(what)?))
    }

    pub(super) fn ordered(&mut self, what: &'static str) -> KeyResult<i64> {
        Ok((u64::from_be_bytes(self.array(what)?) ^ 1 << 63) as i64)
    }

    pub(super) fn pid(&mut self) -> KeyResult<Pid> {
        let serial = self.u32("a pid")?;
        let id = self.u32("a pid")?;
        let node = self.tagged_name()?;
        Ok(Pid {
            node,
            id,
            serial,
            creation: self.u32("a pid")?,
        })
    }
}
