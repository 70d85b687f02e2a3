//! Terms back from key bytes, whatever the bytes are.
//!
//! Accepts exactly what the encoder writes: where a second form of the same term would be readable it is refused, so
//! two keys that decode to the same term are the same bytes.

use crate::walk::{Grow, Part, grow};
use crate::{
    Atom, Definition, Fun, LocalFun, Map, NativeRecord, Pid, Port, Reference, Term, Terms,
};

use super::error::{KeyError, KeyErrorKind};
use super::input::{Input, KeyResult};
use super::{marks, rest, tag};

/// Returns the term of a key.
///
/// `trailer` is what was stored behind the order part: [`KeyBuf::trailer`](super::KeyBuf::trailer) and,
/// if there is one, [`KeyBuf::rest`](super::KeyBuf::rest).
/// Without the rest, a closure comes back `=:=` to the one that went in, but with arity 0 and no maker. O(size);
/// allocates no more than in proportion to the bytes that are there.
///
/// # Errors
///
/// Bytes that [`KeyBuf::encode`](super::KeyBuf::encode) would not have written.
pub fn decode(order: &[u8], trailer: &[u8]) -> Result<Term, KeyError> {
    let (marks, rest) = trailer.split_at(rest::trailer_len(trailer));
    let whole = order.len() + trailer.len();
    let mut reader = KeyReader {
        order: Input {
            bytes: order,
            at: 0,
            base: 0,
        },
        rest: Input {
            bytes: rest.get(1..).unwrap_or(&[]),
            at: 0,
            base: whole - rest.len().saturating_sub(1),
        },
        has_rest: !rest.is_empty(),
        rest_needed: false,
        marks,
        numbers: 0,
        exact: 0,
        owed: 0,
    };
    let term = match reader.next()? {
        Part::Leaf(term) => term,
        Part::Open(frame) => grow(&mut reader, frame)?,
    };
    reader.finish()?;
    Ok(term)
}

/// The item that ends too early when the rest was cut.
const REST: &str = "the rest of a closure";
/// The item that is wrong in a record.
const RECORD: &str = "a native record";

/// Returns a closure of which nothing but its identity was kept.
fn unknown_rest(module: Atom) -> LocalFun {
    LocalFun {
        module,
        arity: 0,
        uniq: [0; 16],
        index: 0,
        old_index: 0,
        old_uniq: 0,
        creator: Pid {
            node: module,
            id: 0,
            serial: 0,
            creation: 0,
        },
        free: Terms::default(),
    }
}

pub(super) struct KeyReader<'a> {
    pub(super) order: Input<'a>,
    pub(super) rest: Input<'a>,
    pub(super) has_rest: bool,
    /// Whether the rest says anything that would not have been assumed.
    pub(super) rest_needed: bool,
    pub(super) marks: &'a [u8],
    pub(super) numbers: usize,
    /// The number of map keys around the place to read at.
    pub(super) exact: usize,
    /// The number of terms that open containers wait for: never more than there are bytes left.
    owed: u64,
}

/// A container that is being read.
pub(super) struct KeyFrame {
    kind: KeyContainer,
    /// The number of parts that are to come; in a list, 1 until its end was met.
    left: u64,
    parts: Vec<Term>,
}

pub(super) enum KeyContainer {
    Tuple,
    /// A list whose next part is an element.
    Cells,
    /// A list whose tail was met.
    Tailed,
    /// Its size, and where that stands.
    Map(u64, usize),
    Fun(Box<LocalFun>),
    Record(Definition),
}

impl KeyReader<'_> {
    fn finish(&self) -> KeyResult<()> {
        if self.order.left() > 0 {
            return self.order.error(self.order.at, KeyErrorKind::LeftOver);
        }
        if !marks::is_canonical(self.marks, self.numbers) {
            return self.order.error(self.order.at, KeyErrorKind::Trailer);
        }
        if self.rest.left() > 0 {
            return self.rest.error(self.rest.at, KeyErrorKind::LeftOver);
        }
        if self.has_rest && !self.rest_needed {
            return self.rest.error(0, KeyErrorKind::NotCanonical("the rest"));
        }
        Ok(())
    }

    /// Reads a term, or the beginning of a container.
    fn next(&mut self) -> KeyResult<Part<Term, KeyFrame>> {
        let at = self.order.at;
        let tag = self.order.byte("a term")?;
        if tag <= tag::EXACT_FLOAT {
            return self.number(at, tag).map(Part::Leaf);
        }
        match tag {
            tag::TUPLE_0..tag::TUPLE_LONG => {
                self.open(KeyContainer::Tuple, u64::from(tag - tag::TUPLE_0), 1)
            }
            tag::TUPLE_LONG => self.long_tuple(),
            tag::MAP => {
                let at = self.order.at;
                let size = self.order.length(false, "a map's size")?;
                self.open(KeyContainer::Map(size, at), size, 2)
            }
            tag::CONS => self.open(KeyContainer::Cells, 1, 1),
            tag::FUN_LOCAL => self.local_fun(),
            tag::RECORD => self.record(at),
            _ => self.leaf(at, tag).map(Part::Leaf),
        }
    }

    fn leaf(&mut self, at: usize, tag: u8) -> KeyResult<Term> {
        match tag {
            tag::ATOM => self.order.name().map(Term::Atom),
            tag::BITS => self.bits(),
            tag::PORT => self.port(),
            tag::PID => self.order.pid().map(|pid| Term::Pid(Box::new(pid))),
            tag::REFERENCE => self.reference(),
            tag::FUN_EXTERNAL => self.external_fun(),
            tag::NIL => Ok(Term::list([])),
            unknown => self.order.error(at, KeyErrorKind::UnknownTag(unknown)),
        }
    }

    /// Begins a container of `count` parts of so many terms each, no more than there are bytes.
    fn open(
        &mut self,
        kind: KeyContainer,
        count: u64,
        terms: u64,
    ) -> KeyResult<Part<Term, KeyFrame>> {
        let left = count.saturating_mul(terms);
        let free = (self.order.left() as u64).saturating_sub(self.owed);
        if left > free {
            return self.order.error(
                self.order.bytes.len(),
                KeyErrorKind::Truncated("the elements"),
            );
        }
        self.owed += left;
        Ok(Part::Open(KeyFrame {
            kind,
            left,
            parts: Vec::with_capacity(left as usize),
        }))
    }

    fn long_tuple(&mut self) -> KeyResult<Part<Term, KeyFrame>> {
        let at = self.order.at;
        let arity = self.order.length(false, "an arity")?;
        if arity <= tag::TUPLE_SHORT as u64 {
            return self.order.error(at, KeyErrorKind::NotCanonical("an arity"));
        }
        self.open(KeyContainer::Tuple, arity, 1)
    }

    fn bits(&mut self) -> KeyResult<Term> {
        let bytes = self.order.escaped("a bitstring")?;
        let at = self.order.at;
        let last_bits = self.order.byte("a bitstring")?;
        if last_bits == tag::WHOLE_BYTE {
            return Ok(Term::binary(&*bytes));
        }
        let unused = 0xFFu8.checked_shr(u32::from(last_bits)).unwrap_or(0);
        let is_clean = bytes.last().is_some_and(|last| last & unused == 0);
        if !is_clean || !(1..8).contains(&last_bits) {
            return self
                .order
                .error(at, KeyErrorKind::NotCanonical("a bitstring"));
        }
        let bits = (bytes.len() - 1) * 8 + usize::from(last_bits);
        match Term::bits(&bytes, bits) {
            Some(term) => Ok(term),
            None => self
                .order
                .error(at, KeyErrorKind::NotCanonical("a bitstring")),
        }
    }

    fn port(&mut self) -> KeyResult<Term> {
        let node = self.order.inner_name()?;
        let creation = self.order.u32("a port")?;
        let id = u64::from_be_bytes(self.order.array("a port")?);
        Ok(Term::Port(Box::new(Port { node, id, creation })))
    }

    fn reference(&mut self) -> KeyResult<Term> {
        let node = self.order.inner_name()?;
        let creation = self.order.u32("a reference")?;
        let at = self.order.at;
        let count = self.order.length(false, "a reference")?;
        let size = usize::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(4))
            .unwrap_or(usize::MAX);
        let words = self.order.take(size, "a reference")?;
        let words = words
            .as_chunks::<4>()
            .0
            .iter()
            .rev()
            .map(|&word| u32::from_be_bytes(word));
        let mut ids: Vec<u32> = words.collect();
        if ids.last() == Some(&0) {
            return self
                .order
                .error(at, KeyErrorKind::NotCanonical("a reference"));
        }
        ids.resize(ids.len() + self.zero_words()?, 0);
        Ok(Term::Reference(Box::new(Reference {
            node,
            creation,
            ids,
        })))
    }

    /// Returns the number of zero words at the end of a reference, from the rest, if there is one.
    fn zero_words(&mut self) -> KeyResult<usize> {
        if !self.has_rest {
            return Ok(0);
        }
        let zeros = usize::from(u16::from_be_bytes(
            self.rest.array("the rest of a reference")?,
        ));
        self.rest_needed |= zeros > 0;
        Ok(zeros)
    }

    fn external_fun(&mut self) -> KeyResult<Term> {
        let module = self.order.inner_name()?;
        let function = self.order.tagged_name()?;
        let arity = self.order.byte("a fun")?;
        Ok(Term::Fun(Box::new(Fun::External {
            module,
            function,
            arity,
        })))
    }

    fn local_fun(&mut self) -> KeyResult<Part<Term, KeyFrame>> {
        let module = self.order.inner_name()?;
        let index = self.order.u32("a fun")?;
        let old_uniq = self.order.ordered("a fun")?;
        let count = self.order.length(false, "a fun")?;
        let mut fun = if self.has_rest {
            self.rest_needed = true;
            self.rest_of_closure(module)?
        } else {
            unknown_rest(module)
        };
        (fun.index, fun.old_uniq) = (index, old_uniq);
        self.open(KeyContainer::Fun(Box::new(fun)), count, 1)
    }

    fn record(&mut self, at: usize) -> KeyResult<Part<Term, KeyFrame>> {
        let module = self.order.inner_name()?;
        let name = self.order.tagged_name()?;
        let exported = self.order.byte(RECORD)?;
        let count = self.order.length(false, RECORD)?;
        let mut fields = Vec::new();
        for _ in 0..count {
            fields.push(self.order.tagged_name()?);
        }
        match Definition::new(module, name, exported == 1, &fields) {
            Some(definition) if exported <= 1 => {
                self.open(KeyContainer::Record(definition), count, 1)
            }
            _ => self.order.error(at, KeyErrorKind::NotCanonical(RECORD)),
        }
    }

    /// Reads the parts of a closure that are not of its identity.
    fn rest_of_closure(&mut self, module: Atom) -> KeyResult<LocalFun> {
        let arity = self.rest.byte(REST)?;
        let uniq = self.rest.array(REST)?;
        let old_index = i64::from_be_bytes(self.rest.array(REST)?);
        let creator = self.creator()?;
        Ok(LocalFun {
            arity,
            uniq,
            old_index,
            creator,
            ..unknown_rest(module)
        })
    }

    /// Reads the process that made a closure.
    fn creator(&mut self) -> KeyResult<Pid> {
        let id = self.rest.u32(REST)?;
        let serial = self.rest.u32(REST)?;
        let creation = self.rest.u32(REST)?;
        let len = usize::from(u16::from_be_bytes(self.rest.array(REST)?));
        let name = self.rest.take(len, REST)?;
        let node = self.rest.atom(self.rest.at - len, name)?;
        Ok(Pid {
            node,
            id,
            serial,
            creation,
        })
    }
}

impl Grow for KeyReader<'_> {
    type Out = Term;
    type Frame = KeyFrame;
    type Error = KeyError;

    fn part(&mut self, frame: &mut KeyFrame) -> KeyResult<Option<Part<Term, KeyFrame>>> {
        let Some(left) = frame.left.checked_sub(1) else {
            return Ok(None);
        };
        frame.left = left;
        self.owed -= 1;
        match frame.kind {
            // The first element stands behind the mark of the list itself.
            KeyContainer::Cells => {
                match self.order.peek() {
                    _ if frame.parts.is_empty() => {}
                    Some(tag::CONS) => self.order.at += 1,
                    Some(tag::NIL) => {
                        self.order.at += 1;
                        return Ok(None);
                    }
                    _ => frame.kind = KeyContainer::Tailed,
                }
                if let KeyContainer::Cells = frame.kind {
                    frame.left += 1;
                    self.owed += 1;
                }
            }
            // Keys are in exact form.
            KeyContainer::Map(size, _) if left + 1 == 2 * size => self.exact += 1,
            KeyContainer::Map(size, _) if left + 1 == size => self.exact -= 1,
            _ => {}
        }
        self.next().map(Some)
    }

    fn put(&mut self, frame: &mut KeyFrame, part: Term) {
        frame.parts.push(part);
    }

    fn finish(&mut self, frame: KeyFrame) -> KeyResult<Term> {
        let mut parts = frame.parts;
        match frame.kind {
            KeyContainer::Tuple => Ok(Term::tuple(parts)),
            KeyContainer::Cells => Ok(Term::list(parts)),
            KeyContainer::Tailed => {
                let tail = parts.pop().unwrap_or_else(|| Term::list([]));
                Ok(Term::Improper(parts.into(), Box::new(tail)))
            }
            KeyContainer::Map(size, at) => {
                let values = parts.split_off(size as usize);
                match Map::from_sorted(parts.into_iter().zip(values).collect()) {
                    Some(map) => Ok(Term::Map(map)),
                    None => {
                        let what = "the order of a map's keys";
                        self.order.error(at, KeyErrorKind::NotCanonical(what))
                    }
                }
            }
            KeyContainer::Fun(mut fun) => {
                fun.free = parts.into();
                Ok(Term::Fun(Box::new(Fun::Local(*fun))))
            }
            KeyContainer::Record(definition) => Ok(Term::Record(Box::new(NativeRecord {
                definition,
                values: parts.into(),
            }))),
        }
    }
}
