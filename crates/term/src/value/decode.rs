//! Reading values.

use num_bigint::BigInt;

use crate::walk::{Gather, Grow, Part, SHALLOW, grow};
use crate::{
    Atom, BitString, Blob, Definition, Float, Fun, LocalFun, Map, NativeRecord, Pid, Port,
    Reference, Term,
};

use super::definition::definition;
use super::error::{ValueError, ValueErrorKind};
use super::fun::FunCode;
use super::reader::{Result, ValueReader};
use super::shape::Shape;
use super::tag;

/// Reads the value at the front of `bytes`, which then starts behind it. O(size).
///
/// `blobs` is the list that the value was encoded with; binaries out of it are shared, not copied.
///
/// # Errors
///
/// Bytes that [`encode`](super::encode) did not write; `bytes` is then as it was.
#[inline]
pub fn decode(bytes: &mut &[u8], blobs: &[Blob]) -> Result<Term, ValueError> {
    let mut reader = ValueReader { left: bytes };
    if let Ok(tag) = reader.byte()
        && let Some(Ok(value)) = int(&mut reader, tag)
    {
        *bytes = reader.left;
        return Ok(Term::Int(value));
    }
    decode_any(bytes, blobs)
}

fn decode_any(bytes: &mut &[u8], blobs: &[Blob]) -> Result<Term, ValueError> {
    let mut decoder = ValueDecoder {
        reader: ValueReader { left: bytes },
        blobs,
        owed: 0,
    };
    match decoder.term(0) {
        Ok(term) => {
            *bytes = decoder.reader.left;
            Ok(term)
        }
        Err(kind) => Err(ValueError {
            offset: bytes.len() - decoder.reader.left.len(),
            kind,
        }),
    }
}

/// Reads the integer with this tag; `None` if it is not the tag of an integer.
#[inline(always)]
pub(super) fn int(reader: &mut ValueReader<'_>, tag: u8) -> Option<Result<i64>> {
    Some(match tag {
        0..tag::NEGATIVE => Ok(i64::from(tag)),
        tag::NEGATIVE..tag::MIDDLE => Ok(i64::from(tag) - 0x90),
        tag::MIDDLE..=tag::INT_0 => {
            let high = i64::from(tag - tag::MIDDLE) << 8;
            reader
                .byte()
                .map(|low| tag::MIDDLE_FIRST + (high | i64::from(low)))
        }
        0xA0..=0xA7 => reader.int(usize::from(tag - tag::INT_0)),
        _ => return None,
    })
}

struct ValueDecoder<'a, 'b> {
    reader: ValueReader<'a>,
    blobs: &'b [Blob],
    /// The number of terms that open containers wait for. Never more than there are bytes left, so that the room that
    /// is made is in proportion to these, however containers nest.
    owed: u64,
}

/// A container that is being read.
struct ValueFrame {
    kind: ValueContainer,
    /// The number of its parts that are to come.
    left: u64,
    parts: Gather,
}

enum ValueContainer {
    Tuple,
    List,
    Improper,
    Map,
    Shaped(&'static Shape),
    Fun(Box<LocalFun>),
    Record(Definition),
}

impl Grow for ValueDecoder<'_, '_> {
    type Out = Term;
    type Frame = ValueFrame;
    type Error = ValueErrorKind;

    #[inline]
    fn part(&mut self, frame: &mut ValueFrame) -> Result<Option<Part<Term, ValueFrame>>> {
        let Some(left) = frame.left.checked_sub(1) else {
            return Ok(None);
        };
        frame.left = left;
        self.owed -= 1;
        self.next().map(Some)
    }

    #[inline]
    fn put(&mut self, frame: &mut ValueFrame, part: Term) {
        frame.parts.put(part);
    }

    fn finish(&mut self, frame: ValueFrame) -> Result<Term> {
        let parts = frame.parts;
        Ok(match frame.kind {
            ValueContainer::Tuple => Term::tuple(parts.into_terms()),
            ValueContainer::List => Term::list(parts.into_terms()),
            ValueContainer::Improper => {
                let mut elements = parts.into_terms();
                let tail = elements.pop().ok_or(ValueErrorKind::Truncated)?;
                Term::improper(elements, tail)
            }
            ValueContainer::Map => Map::from_sorted(parts.into_pairs())
                .map(Term::Map)
                .ok_or(ValueErrorKind::Malformed("map"))?,
            ValueContainer::Shaped(shape) => {
                let keys = shape.keys().iter().copied().map(Term::Atom);
                Term::Map(Map {
                    pairs: keys.zip(parts.into_terms()).collect(),
                })
            }
            ValueContainer::Fun(mut fun) => {
                fun.free = parts.into_terms().into();
                Term::Fun(Box::new(Fun::Local(*fun)))
            }
            ValueContainer::Record(definition) => Term::Record(Box::new(NativeRecord {
                definition,
                values: parts.into_terms().into(),
            })),
        })
    }
}

impl ValueDecoder<'_, '_> {
    /// Reads a term that lies inside `depth` others.
    #[inline(always)]
    fn term(&mut self, depth: usize) -> Result<Term> {
        let tag = self.reader.byte()?;
        match int(&mut self.reader, tag) {
            Some(value) => value.map(Term::Int),
            None => self.no_int(tag, depth),
        }
    }

    /// Reads tuples and lists, which are most of what has parts, by recursion for the first levels, and others from the
    /// leaves up.
    fn no_int(&mut self, tag: u8, depth: usize) -> Result<Term> {
        match tag {
            0xD8..=0xDF if depth < SHALLOW => self
                .terms(u64::from(tag - tag::TUPLE_0), depth)
                .map(Term::tuple),
            tag::TUPLE if depth < SHALLOW => {
                let count = self.reader.length()?;
                self.terms(count, depth).map(Term::tuple)
            }
            tag::LIST if depth < SHALLOW => {
                let count = self.reader.length()?;
                self.terms(count, depth).map(Term::list)
            }
            0xD8..=0xDF
            | tag::TUPLE
            | tag::LIST
            | tag::IMPROPER
            | tag::MAP
            | tag::SHAPED
            | tag::FUN_LOCAL
            | tag::RECORD => match self.other(tag)? {
                Part::Leaf(term) => Ok(term),
                Part::Open(frame) => grow(self, frame),
            },
            _ => self.leaf(tag),
        }
    }

    fn terms(&mut self, count: u64, depth: usize) -> Result<Vec<Term>> {
        self.claim(count)?;
        let mut terms = Vec::with_capacity(count as usize);
        for _ in 0..count {
            self.owed -= 1;
            terms.push(self.term(depth + 1)?);
        }
        Ok(terms)
    }

    /// Reads a term, or the beginning of a container.
    #[inline(always)]
    fn next(&mut self) -> Result<Part<Term, ValueFrame>> {
        let tag = self.reader.byte()?;
        match int(&mut self.reader, tag) {
            Some(value) => value.map(Term::Int).map(Part::Leaf),
            None => self.other(tag),
        }
    }

    fn other(&mut self, tag: u8) -> Result<Part<Term, ValueFrame>> {
        match tag {
            0xD8..=0xDF => self.open(ValueContainer::Tuple, u64::from(tag - tag::TUPLE_0)),
            tag::TUPLE => self.counted(ValueContainer::Tuple),
            tag::LIST => self.counted(ValueContainer::List),
            tag::IMPROPER => {
                let length = self.reader.length()?;
                self.open(ValueContainer::Improper, length.saturating_add(1))
            }
            tag::MAP => self.map(),
            tag::SHAPED => {
                let shape = shape(&mut self.reader)?;
                self.open(ValueContainer::Shaped(shape), shape.keys().len() as u64)
            }
            tag::FUN_LOCAL => self.local_fun(),
            tag::RECORD => {
                let definition = definition(&mut self.reader)?;
                let fields = definition.fields().len() as u64;
                self.open(ValueContainer::Record(definition), fields)
            }
            _ => self.leaf(tag).map(Part::Leaf),
        }
    }

    /// Reads a term without parts.
    fn leaf(&mut self, tag: u8) -> Result<Term> {
        match tag {
            tag::FLOAT => self.float(),
            tag::BIG => Ok(Term::integer(BigInt::from_signed_bytes_le(
                self.reader.counted()?,
            ))),
            0xAC..=0xAF => atom(&mut self.reader, usize::from(tag - tag::ATOM_0)).map(Term::Atom),
            0xB0..=0xBF => Ok(Term::Binary(
                self.reader.take(usize::from(tag - tag::BINARY_0))?.into(),
            )),
            tag::BINARY => {
                let len = usize::from(self.reader.byte()?);
                Ok(Term::Binary(self.reader.take(len)?.into()))
            }
            tag::BLOB => self.blob().map(Term::Binary),
            tag::BITS | tag::BITS_BLOB => self.bits(tag),
            tag::PID => pid(&mut self.reader).map(|pid| Term::Pid(Box::new(pid))),
            tag::PORT => self.port(),
            tag::REFERENCE => self.reference(),
            tag::FUN_EXTERNAL => self.external_fun(),
            tag::NIL => Ok(Term::list([])),
            tag::STRING => {
                let bytes = self.reader.counted()?;
                let characters = bytes.iter().map(|&byte| Term::Int(i64::from(byte)));
                Ok(Term::List(characters.collect()))
            }
            unknown => Err(ValueErrorKind::UnknownTag(unknown)),
        }
    }

    /// Notes that `count` terms are to come: no more than there are bytes.
    #[inline]
    fn claim(&mut self, count: u64) -> Result<()> {
        let left = self.reader.left.len() as u64;
        if count > left.saturating_sub(self.owed) {
            return Err(ValueErrorKind::Truncated);
        }
        self.owed += count;
        Ok(())
    }

    /// Begins a container of `count` terms.
    #[inline]
    fn open(&mut self, kind: ValueContainer, count: u64) -> Result<Part<Term, ValueFrame>> {
        self.claim(count)?;
        Ok(Part::Open(ValueFrame {
            kind,
            left: count,
            parts: Gather::Terms(Vec::with_capacity(count as usize)),
        }))
    }

    fn counted(&mut self, kind: ValueContainer) -> Result<Part<Term, ValueFrame>> {
        let count = self.reader.length()?;
        self.open(kind, count)
    }

    fn map(&mut self) -> Result<Part<Term, ValueFrame>> {
        let size = self.reader.length()?;
        let left = size.saturating_mul(2);
        self.claim(left)?;
        Ok(Part::Open(ValueFrame {
            kind: ValueContainer::Map,
            left,
            parts: Gather::pairs(size as usize),
        }))
    }

    fn float(&mut self) -> Result<Term> {
        let value = f64::from_le_bytes(self.reader.array()?);
        Float::new(value)
            .map(Term::Float)
            .ok_or(ValueErrorKind::Malformed("float"))
    }

    fn blob(&mut self) -> Result<Blob> {
        let place = self.reader.length()?;
        let blob = usize::try_from(place)
            .ok()
            .and_then(|place| self.blobs.get(place));
        blob.cloned().ok_or(ValueErrorKind::NoBlob(place))
    }

    fn bits(&mut self, tag: u8) -> Result<Term> {
        let last_bits = self.reader.byte()?;
        let bytes: Blob = if tag == tag::BITS_BLOB {
            self.blob()?
        } else {
            let len = usize::from(self.reader.byte()?);
            self.reader.take(len)?.into()
        };
        let unused = 0xFFu8.checked_shr(u32::from(last_bits)).unwrap_or(0);
        match bytes.last() {
            Some(last) if last & unused == 0 && (1..8).contains(&last_bits) => {
                Ok(Term::Bits(BitString { bytes, last_bits }))
            }
            _ => Err(ValueErrorKind::Malformed("bitstring")),
        }
    }

    fn port(&mut self) -> Result<Term> {
        let node = wide_atom(&mut self.reader)?;
        let creation = self.reader.u32()?;
        let id = u64::from_le_bytes(self.reader.array()?);
        Ok(Term::Port(Box::new(Port { node, id, creation })))
    }

    fn reference(&mut self) -> Result<Term> {
        let (node, creation, ids) = reference_parts(&mut self.reader)?;
        Ok(Term::Reference(Box::new(Reference {
            node: known_atom(node)?,
            creation,
            ids: ids.iter().map(|&word| u32::from_le_bytes(word)).collect(),
        })))
    }

    fn external_fun(&mut self) -> Result<Term> {
        let module = wide_atom(&mut self.reader)?;
        let function = wide_atom(&mut self.reader)?;
        let arity = self.reader.byte()?;
        Ok(Term::Fun(Box::new(Fun::External {
            module,
            function,
            arity,
        })))
    }

    fn local_fun(&mut self) -> Result<Part<Term, ValueFrame>> {
        let code = FunCode::read(&mut self.reader)?;
        let creator = pid(&mut self.reader)?;
        let fun = code.fun(creator, Vec::new())?;
        self.counted(ValueContainer::Fun(Box::new(fun)))
    }
}

/// Reads the atom whose number has `len` bytes.
#[inline]
pub(super) fn atom(reader: &mut ValueReader<'_>, len: usize) -> Result<Atom> {
    known_atom(reader.number(len)? as u32)
}

/// Reads the bytes between the tag and the values of a map with a shape.
pub(super) fn shape(reader: &mut ValueReader<'_>) -> Result<&'static Shape> {
    let size = reader.byte()?;
    let number = reader.length()?;
    let shape = u32::try_from(number).ok().and_then(Shape::numbered);
    shape
        .filter(|shape| shape.keys().len() == usize::from(size))
        .ok_or(ValueErrorKind::Malformed("shape"))
}

fn wide_atom(reader: &mut ValueReader<'_>) -> Result<Atom> {
    known_atom(reader.u32()?)
}

/// Reads the parts behind the tag of a reference: the number of its node's atom, how often that has started, and the
/// numbers.
pub(super) fn reference_parts<'a>(
    reader: &mut ValueReader<'a>,
) -> Result<(u32, u32, &'a [[u8; 4]])> {
    let (node, creation) = (reader.u32()?, reader.u32()?);
    Ok((node, creation, reader.parts(4)?.as_chunks().0))
}

/// Reads the bytes after the tag of a process identifier.
pub(super) fn pid(reader: &mut ValueReader<'_>) -> Result<Pid> {
    Ok(Pid {
        node: wide_atom(reader)?,
        id: reader.u32()?,
        serial: reader.u32()?,
        creation: reader.u32()?,
    })
}

#[inline]
fn known_atom(id: u32) -> Result<Atom> {
    Atom::from_id(id).ok_or(ValueErrorKind::UnknownAtom(id))
}
