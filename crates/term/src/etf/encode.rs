//! Terms to bytes, as `term_to_binary` writes them.

use super::{inflate, tag};
use crate::term::Map;
use crate::walk::{Open, Parts, Visit, walk};
use crate::{Atom, Fun, LocalFun, NativeRecord, Pid, Port, Reference, Term};

/// The longest list of bytes that is written as `STRING_EXT`.
const MAX_STRING: usize = if cfg!(fyris_mutant = "etf_string_limit") {
    0xFFFE
} else {
    0xFFFF
};

/// The spellings to use: the `{minor_version, N}` of `term_to_binary`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MinorVersion {
    /// Floats as text, atoms in Latin-1 where that is possible: before OTP 17.
    V0,
    /// Floats in binary, atoms in Latin-1 where that is possible: the default of OTP 17 to 25.
    V1,
    /// Floats in binary, atoms in UTF-8: the default since OTP 26.
    #[default]
    V2,
}

/// Whether to compress: the `compressed` of `term_to_binary`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// With zlib at this level, 0 to 9 (`compressed` alone means 6), where that makes it no longer.
    /// The bytes depend on the zlib in use, in OTP too; the term does not.
    Level(u8),
}

/// Options for writing a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EncodeOptions {
    /// The spellings.
    pub minor_version: MinorVersion,
    /// Whether to compress.
    pub compression: Compression,
}

/// Why a term cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The format has 32 bits for a length.
    #[error("{what} of {len}: the external term format allows at most 4294967295")]
    TooLong {
        /// The item that is too long.
        what: &'static str,
        /// The length.
        len: usize,
    },
    /// There is no memory for a part of it.
    #[error("no memory for {what} of {len}")]
    NoMemory {
        /// The part.
        what: &'static str,
        /// Its length.
        len: usize,
    },
}

impl EncodeOptions {
    /// Returns the bytes that `term_to_binary/1` gives on OTP 25: atoms in Latin-1 where that is possible.
    pub fn otp25() -> EncodeOptions {
        EncodeOptions {
            minor_version: MinorVersion::V1,
            ..EncodeOptions::default()
        }
    }

    /// Returns the external form of `term`, with the version byte. Linear in the term.
    ///
    /// # Errors
    ///
    /// If something in the term is too long for the format.
    pub fn encode(&self, term: &Term) -> Result<Vec<u8>, EncodeError> {
        let mut out = Vec::new();
        self.encode_into(term, &mut out)?;
        Ok(out)
    }

    /// Appends the external form of `term`, with the version byte, to `out`.
    ///
    /// # Errors
    ///
    /// If something in the term is too long for the format; `out` is then as it was.
    pub fn encode_into(&self, term: &Term, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        out.push(tag::VERSION);
        self.bare_into(term, start, out)?;
        if let Compression::Level(level) = self.compression {
            compress(out, start, level);
        }
        Ok(())
    }

    /// Appends the external form of `term`, without the version byte and never compressed.
    ///
    /// # Errors
    ///
    /// If something in the term is too long for the format; `out` is then as it was.
    pub fn encode_bare_into(&self, term: &Term, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.bare_into(term, out.len(), out)
    }

    /// Writes the term without the version byte; on failure, cuts `out` back to `start`.
    fn bare_into(&self, term: &Term, start: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut writer = EtfWriter {
            minor_version: self.minor_version,
            out,
        };
        let result = walk(&mut writer, term);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }
}

/// Replaces the term that begins at `start` by its compressed form, unless that is longer.
fn compress(out: &mut Vec<u8>, start: usize, level: u8) {
    let plain = &out[start + 1..];
    let Ok(size) = u32::try_from(plain.len()) else {
        return;
    };
    let deflated = inflate::deflate(plain, level.min(9).into());
    if 1 + 4 + deflated.len() > plain.len() {
        return;
    }
    out.truncate(start + 1);
    out.push(tag::COMPRESSED);
    out.extend(size.to_be_bytes());
    out.extend(deflated);
}

struct EtfWriter<'a> {
    minor_version: MinorVersion,
    out: &'a mut Vec<u8>,
}

impl EtfWriter<'_> {
    /// Writes a term without parts that is no integer of 64 bits and no atom.
    fn leaf(&mut self, term: &Term) -> Result<(), EncodeError> {
        match term {
            Term::Big(value) => self.big(value)?,
            Term::Float(value) => self.float(value.get()),
            Term::Reference(reference) => self.reference(reference),
            Term::Port(port) => self.port(port),
            Term::Pid(pid) => self.pid(pid),
            Term::Binary(bytes) => {
                self.out.push(tag::BINARY);
                self.long(bytes.len(), "a binary")?;
                self.out.extend_from_slice(bytes);
            }
            Term::Bits(bits) => {
                self.out.push(tag::BIT_BINARY);
                self.long(bits.bytes().len(), "a bitstring")?;
                self.out.push(bits.last_bits());
                self.out.extend_from_slice(bits.bytes());
            }
            // `open` writes the others.
            _ => {}
        }
        Ok(())
    }

    /// Writes a length of 32 bits, and makes room for as many bytes.
    fn long(&mut self, len: usize, what: &'static str) -> Result<(), EncodeError> {
        let wide = u32::try_from(len).map_err(|_| EncodeError::TooLong { what, len })?;
        self.u32(wide);
        let room = self.out.try_reserve(len);
        room.map_err(|_| EncodeError::NoMemory { what, len })
    }

    fn u32(&mut self, value: u32) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    #[inline]
    fn int(&mut self, value: i64) {
        if let Ok(byte) = u8::try_from(value) {
            self.out.extend_from_slice(&[tag::SMALL_INTEGER, byte]);
        } else if let Ok(word) = i32::try_from(value) {
            self.out.push(tag::INTEGER);
            self.out.extend_from_slice(&word.to_be_bytes());
        } else {
            let digits = value.unsigned_abs().to_le_bytes();
            let len = 8 - value.unsigned_abs().leading_zeros() as usize / 8;
            self.out
                .extend_from_slice(&[tag::SMALL_BIG, len as u8, u8::from(value < 0)]);
            self.out.extend_from_slice(&digits[..len]);
        }
    }

    fn big(&mut self, value: &num_bigint::BigInt) -> Result<(), EncodeError> {
        let (sign, digits) = value.to_bytes_le();
        match u8::try_from(digits.len()) {
            Ok(len) => self.out.extend_from_slice(&[tag::SMALL_BIG, len]),
            Err(_) => {
                self.out.push(tag::LARGE_BIG);
                self.long(digits.len(), "a bignum")?;
            }
        }
        self.out.push(u8::from(sign == num_bigint::Sign::Minus));
        self.out.extend(digits);
        Ok(())
    }

    fn float(&mut self, value: f64) {
        if self.minor_version == MinorVersion::V0 {
            self.out.push(tag::FLOAT);
            let text = float_text(value);
            self.out
                .extend(text.bytes().chain(std::iter::repeat(0)).take(31));
        } else {
            self.out.push(tag::NEW_FLOAT);
            self.out.extend_from_slice(&value.to_bits().to_be_bytes());
        }
    }

    fn atom(&mut self, atom: Atom) {
        let name = atom.as_str();
        if self.minor_version != MinorVersion::V2 && name.chars().all(|c| u32::from(c) < 256) {
            self.out.push(tag::ATOM);
            self.out.extend((name.chars().count() as u16).to_be_bytes());
            self.out.extend(name.chars().map(|c| c as u8));
            return;
        }
        match u8::try_from(name.len()) {
            Ok(len) => self.out.extend_from_slice(&[tag::SMALL_ATOM_UTF8, len]),
            // 255 characters are at most 1020 bytes.
            Err(_) => {
                self.out.push(tag::ATOM_UTF8);
                self.out.extend((name.len() as u16).to_be_bytes());
            }
        }
        self.out.extend_from_slice(name.as_bytes());
    }

    fn pid(&mut self, pid: &Pid) {
        self.out.push(tag::NEW_PID);
        self.atom(pid.node);
        self.u32(pid.id);
        self.u32(pid.serial);
        self.u32(pid.creation);
    }

    /// Writes a port: as `NEW_PORT_EXT` up to 28 bits, which older nodes can hold, as OTP does.
    fn port(&mut self, port: &Port) {
        match u32::try_from(port.id) {
            Ok(id) if id < 1 << 28 => {
                self.out.push(tag::NEW_PORT);
                self.atom(port.node);
                self.u32(id);
            }
            _ => {
                self.out.push(tag::V4_PORT);
                self.atom(port.node);
                self.out.extend(port.id.to_be_bytes());
            }
        }
        self.u32(port.creation);
    }

    fn reference(&mut self, reference: &Reference) {
        self.out.push(tag::NEWER_REFERENCE);
        self.out.extend((reference.ids.len() as u16).to_be_bytes());
        self.atom(reference.node);
        self.u32(reference.creation);
        for &word in &reference.ids {
            self.u32(word);
        }
    }

    fn fun<'t>(&mut self, fun: &'t Fun) -> Opened<'t> {
        match fun {
            Fun::External {
                module,
                function,
                arity,
            } => {
                self.out.push(tag::EXPORT);
                self.atom(*module);
                self.atom(*function);
                self.int((*arity).into());
                Ok(None)
            }
            Fun::Local(fun) => self.closure(fun),
        }
    }

    fn closure<'t>(&mut self, fun: &'t LocalFun) -> Opened<'t> {
        self.out.push(tag::NEW_FUN);
        let mark = EtfMark::FunFrom(self.out.len());
        self.u32(0);
        self.out.push(fun.arity);
        self.out.extend(fun.uniq);
        self.u32(fun.index);
        self.long(fun.free.len(), "the captured values of a fun")?;
        self.atom(fun.module);
        self.int(fun.old_index);
        self.int(fun.old_uniq);
        self.pid(&fun.creator);
        let parts = Parts::Terms(&fun.free);
        Ok(Some(Open { parts, mark }))
    }

    fn record<'t>(&mut self, record: &'t NativeRecord) -> Opened<'t> {
        let definition = record.definition();
        self.out.push(tag::NATIVE_RECORD);
        self.long(definition.fields().len(), "the fields of a native record")?;
        self.out.push(definition.is_exported().into());
        self.atom(definition.module());
        self.atom(definition.name());
        definition
            .fields()
            .iter()
            .for_each(|field| self.atom(*field));
        let (parts, mark) = (Parts::Terms(record.values()), EtfMark::Nothing);
        Ok(Some(Open { parts, mark }))
    }

    fn tuple<'t>(&mut self, elements: &'t [Term]) -> Opened<'t> {
        match u8::try_from(elements.len()) {
            Ok(arity) => self.out.extend_from_slice(&[tag::SMALL_TUPLE, arity]),
            Err(_) => {
                self.out.push(tag::LARGE_TUPLE);
                self.long(elements.len(), "a tuple")?;
            }
        }
        let (parts, mark) = (Parts::Terms(elements), EtfMark::Nothing);
        Ok(Some(Open { parts, mark }))
    }

    fn map<'t>(&mut self, map: &'t Map) -> Opened<'t> {
        self.out.push(tag::MAP);
        self.long(map.pairs.len(), "a map")?;
        let (parts, mark) = (Parts::Pairs(map.pairs()), EtfMark::Nothing);
        Ok(Some(Open { parts, mark }))
    }

    fn list<'t>(&mut self, elements: &'t [Term]) -> Opened<'t> {
        if elements.is_empty() {
            self.out.push(tag::NIL);
        } else if is_string(elements) {
            self.out.push(tag::STRING);
            self.out.extend((elements.len() as u16).to_be_bytes());
            self.out.extend(elements.iter().filter_map(byte));
        } else {
            self.cells(elements.len())?;
            let (parts, mark) = (Parts::Terms(elements), EtfMark::List);
            return Ok(Some(Open { parts, mark }));
        }
        Ok(None)
    }

    /// Begins a `LIST_EXT`: its elements and its tail follow.
    fn cells(&mut self, count: usize) -> Result<(), EncodeError> {
        self.out.push(tag::LIST);
        self.long(count, "a list")
    }
}

/// What is to be done behind the parts of a container.
enum EtfMark {
    Nothing,
    /// A proper list gets its end.
    List,
    /// A closure that begins at this place gets its size.
    FunFrom(usize),
}

/// A container whose beginning was written; `None` if that was all of it.
type Opened<'t> = Result<Option<Open<'t, EtfMark>>, EncodeError>;

impl<'t> Visit<'t> for EtfWriter<'_> {
    type Mark = EtfMark;
    type Stop = EncodeError;

    #[inline]
    fn open(&mut self, term: &'t Term) -> Opened<'t> {
        match term {
            Term::Int(value) => self.int(*value),
            Term::Atom(atom) => self.atom(*atom),
            Term::Tuple(elements) => return self.tuple(elements),
            Term::Map(map) => return self.map(map),
            Term::List(elements) => return self.list(elements),
            Term::Improper(elements, tail) => {
                self.cells(elements.len())?;
                let (parts, mark) = (Parts::Cells(elements, tail), EtfMark::Nothing);
                return Ok(Some(Open { parts, mark }));
            }
            Term::Fun(fun) => return self.fun(fun),
            Term::Record(record) => return self.record(record),
            leaf => self.leaf(leaf)?,
        }
        Ok(None)
    }

    fn close(&mut self, open: Open<'t, EtfMark>) -> Result<(), EncodeError> {
        match open.mark {
            EtfMark::Nothing => {}
            EtfMark::List => self.out.push(tag::NIL),
            EtfMark::FunFrom(start) => {
                let (what, len) = ("a fun", self.out.len() - start);
                let size = u32::try_from(len).map_err(|_| EncodeError::TooLong { what, len })?;
                self.out[start..start + 4].copy_from_slice(&size.to_be_bytes());
            }
        }
        Ok(())
    }
}

fn is_string(elements: &[Term]) -> bool {
    elements.len() <= MAX_STRING && elements.iter().all(|element| byte(element).is_some())
}

fn byte(term: &Term) -> Option<u8> {
    match term {
        Term::Int(value) => u8::try_from(*value).ok(),
        _ => None,
    }
}

/// Returns the number as C's `%.20e` prints it: 21 digits, and an exponent of at least two.
fn float_text(value: f64) -> String {
    let text = format!("{value:.20e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}
