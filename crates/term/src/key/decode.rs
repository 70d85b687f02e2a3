//! Terms back from key bytes, whatever the bytes are.
//!
//! Accepts exactly what the encoder writes: where a second form of the same term would be readable it is refused, so
//! two keys that decode to the same term are the same bytes.

use crate::{Atom, Fun, LocalFun, MAX_DEPTH, Map, Pid, Port, Reference, Term};

use super::error::{KeyError, KeyErrorKind};
use super::input::{Input, Result};
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
/// Bytes that [`KeyBuf::encode`](super::KeyBuf::encode) would not have written, and nesting beyond [`MAX_DEPTH`].
pub fn decode(order: &[u8], trailer: &[u8]) -> Result<Term, KeyError> {
    let (marks, rest) = trailer.split_at(rest::trailer_len(trailer));
    let whole = order.len() + trailer.len();
    let mut reader = Reader {
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
    };
    let term = reader.term(0)?;
    reader.finish()?;
    Ok(term)
}

/// The item that ends too early when the rest was cut.
const REST: &str = "the rest of a closure";

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
        free: Vec::new(),
    }
}

pub(super) struct Reader<'a> {
    pub(super) order: Input<'a>,
    pub(super) rest: Input<'a>,
    pub(super) has_rest: bool,
    /// Whether the rest says anything that would not have been assumed.
    pub(super) rest_needed: bool,
    pub(super) marks: &'a [u8],
    pub(super) numbers: usize,
    /// The number of map keys around the place to read at.
    pub(super) exact: usize,
}

impl Reader<'_> {
    fn finish(&self) -> Result<()> {
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

    fn term(&mut self, depth: usize) -> Result<Term> {
        let at = self.order.at;
        let tag = self.order.byte("a term")?;
        if tag <= tag::EXACT_FLOAT {
            return self.number(at, tag);
        }
        match tag {
            tag::ATOM => self.order.name().map(Term::Atom),
            tag::BITS => self.bits(),
            tag::PORT => self.port(),
            tag::PID => self.order.pid().map(|pid| Term::Pid(Box::new(pid))),
            tag::REFERENCE => self.reference(),
            tag::FUN_EXTERNAL => self.external_fun(),
            _ if depth >= MAX_DEPTH => self.order.error(at, KeyErrorKind::TooDeep),
            tag::TUPLE_0..tag::TUPLE_LONG => self.tuple(u64::from(tag - tag::TUPLE_0), depth),
            tag::TUPLE_LONG => self.long_tuple(depth),
            tag::MAP => self.map(depth),
            tag::NIL => Ok(Term::List(Vec::new())),
            tag::CONS => self.list(depth),
            tag::FUN_LOCAL => self.local_fun(depth),
            unknown => self.order.error(at, KeyErrorKind::UnknownTag(unknown)),
        }
    }

    /// Reads `count` terms. No more of them than there are bytes left; and room is made for a few only, since each
    /// level of nesting could claim all these bytes.
    fn terms(&mut self, count: u64, depth: usize) -> Result<Vec<Term>> {
        let left = self.order.left();
        if count > left as u64 {
            return self.order.error(
                self.order.bytes.len(),
                KeyErrorKind::Truncated("the elements"),
            );
        }
        let mut terms = Vec::with_capacity((count as usize).min(crate::MAX_ROOM));
        for _ in 0..count {
            terms.push(self.term(depth + 1)?);
        }
        Ok(terms)
    }

    fn tuple(&mut self, arity: u64, depth: usize) -> Result<Term> {
        self.terms(arity, depth).map(Term::Tuple)
    }

    fn long_tuple(&mut self, depth: usize) -> Result<Term> {
        let at = self.order.at;
        let arity = self.order.length(false, "an arity")?;
        if arity <= tag::TUPLE_SHORT as u64 {
            return self.order.error(at, KeyErrorKind::NotCanonical("an arity"));
        }
        self.tuple(arity, depth)
    }

    fn list(&mut self, depth: usize) -> Result<Term> {
        let mut elements = vec![self.term(depth + 1)?];
        loop {
            match self.order.peek() {
                Some(tag::CONS) => {
                    self.order.at += 1;
                    elements.push(self.term(depth + 1)?);
                }
                Some(tag::NIL) => {
                    self.order.at += 1;
                    return Ok(Term::List(elements));
                }
                _ => {
                    let tail = self.term(depth + 1)?;
                    return Ok(Term::Improper(elements, Box::new(tail)));
                }
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Term> {
        let at = self.order.at;
        let size = self.order.length(false, "a map's size")?;
        self.exact += 1;
        let keys = self.terms(size, depth)?;
        self.exact -= 1;
        let values = self.terms(size, depth)?;
        match Map::from_sorted(keys.into_iter().zip(values).collect()) {
            Some(map) => Ok(Term::Map(map)),
            None => self
                .order
                .error(at, KeyErrorKind::NotCanonical("the order of a map's keys")),
        }
    }

    fn bits(&mut self) -> Result<Term> {
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

    fn port(&mut self) -> Result<Term> {
        let node = self.order.inner_name()?;
        let creation = self.order.u32("a port")?;
        let id = u64::from_be_bytes(self.order.array("a port")?);
        Ok(Term::Port(Box::new(Port { node, id, creation })))
    }

    fn reference(&mut self) -> Result<Term> {
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
    fn zero_words(&mut self) -> Result<usize> {
        if !self.has_rest {
            return Ok(0);
        }
        let zeros = usize::from(u16::from_be_bytes(
            self.rest.array("the rest of a reference")?,
        ));
        self.rest_needed |= zeros > 0;
        Ok(zeros)
    }

    fn external_fun(&mut self) -> Result<Term> {
        let module = self.order.inner_name()?;
        let function = self.order.tagged_name()?;
        let arity = self.order.byte("a fun")?;
        Ok(Term::Fun(Box::new(Fun::External {
            module,
            function,
            arity,
        })))
    }

    fn local_fun(&mut self, depth: usize) -> Result<Term> {
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
        fun.free = self.terms(count, depth)?;
        (fun.index, fun.old_uniq) = (index, old_uniq);
        Ok(Term::Fun(Box::new(Fun::Local(fun))))
    }

    /// Reads the parts of a closure that are not of its identity.
    fn rest_of_closure(&mut self, module: Atom) -> Result<LocalFun> {
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
    fn creator(&mut self) -> Result<Pid> {
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
