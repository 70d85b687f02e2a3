//! Terms back from key bytes, whatever the bytes are.
//!
//! Accepts exactly what the encoder writes: where a second form of the same term would be readable it is refused, so
//! two keys that decode to the same term are the same bytes.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::{Atom, Float, Fun, LocalFun, MAX_DEPTH, Map, Pid, Port, Reference, Term};

use super::buf::KeyBuf;
use super::error::{KeyError, KeyErrorKind};
use super::marks::{self, Mark};
use super::{escape, number, rest, tag};

/// The term of a key.
///
/// `trailer` is what was stored behind the order part: [`KeyBuf::trailer`] and, if there is one, [`KeyBuf::rest`].
/// Without the rest, a closure comes back `=:=` to the one that went in, but with arity 0 and no maker. O(size);
/// allocates no more than in proportion to the bytes that are there.
///
/// # Errors
///
/// Bytes that [`KeyBuf::encode`] would not have written, and nesting beyond [`MAX_DEPTH`].
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

type Result<T, E = KeyError> = std::result::Result<T, E>;

/// What ends too early when the rest was not kept.
const REST: &str = "the rest of a closure";

/// Bytes read from the front.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where they begin, for errors.
    base: usize,
}

impl<'a> Input<'a> {
    fn error<T>(&self, at: usize, kind: KeyErrorKind) -> Result<T> {
        Err(KeyError {
            offset: self.base + at,
            kind,
        })
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8]> {
        match self.bytes[self.at..].get(..n) {
            Some(taken) => {
                self.at += n;
                Ok(taken)
            }
            None => self.error(self.bytes.len(), KeyErrorKind::Truncated(what)),
        }
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    fn byte(&mut self, what: &'static str) -> Result<u8> {
        Ok(self.array::<1>(what)?[0])
    }

    /// The inverse of [`number::put_length`].
    fn length(&mut self, complement: bool, what: &'static str) -> Result<u64> {
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

    /// Escaped bytes and their end.
    fn escaped(&mut self, what: &'static str) -> Result<Vec<u8>> {
        match escape::read(&self.bytes[self.at..]) {
            Some((content, taken)) => {
                self.at += taken;
                Ok(content)
            }
            None => self.error(self.bytes.len(), KeyErrorKind::Truncated(what)),
        }
    }

    fn name(&mut self) -> Result<Atom> {
        let at = self.at;
        let name = self.escaped("an atom")?;
        self.atom(at, &name)
    }

    /// The atom whose name starts at `at`.
    fn atom(&self, at: usize, name: &[u8]) -> Result<Atom> {
        let Ok(name) = std::str::from_utf8(name) else {
            return self.error(at, KeyErrorKind::NotUtf8);
        };
        Atom::new(name).or_else(|error| self.error(at, KeyErrorKind::Atom(error)))
    }

    /// The inverse of `KeyWriter::name`: a name behind a tag of its own.
    fn tagged_name(&mut self) -> Result<Atom> {
        if self.byte("an atom")? != tag::ATOM {
            return self.error(self.at - 1, KeyErrorKind::NotCanonical("a name"));
        }
        self.inner_name()
    }

    /// A name that ends in one more zero.
    fn inner_name(&mut self) -> Result<Atom> {
        let name = self.name()?;
        match self.byte("a name")? {
            0 => Ok(name),
            _ => self.error(self.at - 1, KeyErrorKind::NotCanonical("a name")),
        }
    }

    fn u32(&mut self, what: &'static str) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array(what)?))
    }

    fn ordered(&mut self, what: &'static str) -> Result<i64> {
        Ok((u64::from_be_bytes(self.array(what)?) ^ 1 << 63) as i64)
    }

    fn pid(&mut self) -> Result<Pid> {
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

/// A closure of which nothing but its identity was kept.
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

struct Reader<'a> {
    order: Input<'a>,
    rest: Input<'a>,
    has_rest: bool,
    /// Whether the rest says anything that would not have been assumed.
    rest_needed: bool,
    marks: &'a [u8],
    numbers: usize,
    /// How many map keys we are inside of.
    exact: usize,
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

    /// `count` terms. Room is made for no more than the bytes that are left can hold.
    fn terms(&mut self, count: u64, depth: usize) -> Result<Vec<Term>> {
        let left = self.order.left();
        if count > left as u64 {
            return self.order.error(
                self.order.bytes.len(),
                KeyErrorKind::Truncated("the elements"),
            );
        }
        let mut terms = Vec::with_capacity((count as usize).min(left / 2 + 1));
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
            return Ok(Term::binary(bytes));
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

    /// How many zero words end a reference, as the rest tells, if there is one.
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

    /// What the identity of a closure leaves out.
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

    /// Who made a closure.
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

    /// A number; `at` is where its tag is.
    fn number(&mut self, at: usize, tag: u8) -> Result<Term> {
        match tag {
            tag::EXACT_FLOAT if self.exact > 0 => {
                let word = u64::from_be_bytes(self.order.array("a float")?);
                number::exact_float(word)
                    .map_or_else(|| self.not_canonical(at), |float| Ok(Term::Float(float)))
            }
            tag::NEG_TINY | tag::POS_TINY if self.exact == 0 => self.tiny(at, tag == tag::NEG_TINY),
            tag::NEG_BIG | tag::POS_BIG => self.big(at, tag == tag::NEG_BIG),
            tag::NEG_HUGE | tag::POS_HUGE => self.huge(at, tag == tag::NEG_HUGE),
            tag::ZERO => self.integral(at, Term::Int(0)),
            _ if (tag::NEG_0 - 8..=tag::NEG_0).contains(&tag) => {
                self.small(at, tag::NEG_0 - tag, true)
            }
            _ if (tag::POS_0 + 1..=tag::POS_0 + 8).contains(&tag) => {
                self.small(at, tag - tag::POS_0, false)
            }
            unknown => self.order.error(at, KeyErrorKind::UnknownTag(unknown)),
        }
    }

    fn not_canonical<T>(&self, at: usize) -> Result<T> {
        self.order.error(at, KeyErrorKind::NotCanonical("a number"))
    }

    fn tiny(&mut self, at: usize, negative: bool) -> Result<Term> {
        let word = u64::from_be_bytes(self.order.array("a float")?);
        let value = f64::from_bits(if negative { !word } else { word });
        let value = if negative { -value } else { value };
        self.checked_float(at, value)
    }

    /// The float, if it is one and these were its bytes.
    fn checked_float(&self, at: usize, value: f64) -> Result<Term> {
        let Some(float) = Float::new(value) else {
            return self.not_canonical(at);
        };
        let mut again = KeyBuf::new();
        number::put_float(&mut again, float);
        again.end(&[]);
        if again.order() != &self.order.bytes[at..self.order.at] {
            return self.not_canonical(at);
        }
        Ok(Term::Float(float))
    }

    /// A floor of up to eight bytes, and perhaps a fraction.
    fn small(&mut self, at: usize, len: u8, negative: bool) -> Result<Term> {
        let bytes = self.order.take(usize::from(len), "a number")?;
        let low = bytes
            .iter()
            .fold(if negative { u64::MAX } else { 0 }, |low, &byte| {
                low << 8 | u64::from(byte)
            });
        let extension = if negative { 0xFF } else { 0 };
        if bytes.first() == Some(&extension) {
            return self.not_canonical(at);
        }
        let floor = i128::from(low) - if negative { 1i128 << 64 } else { 0 };
        if self.order.peek() == Some(tag::FRACTION) && self.exact == 0 {
            return self.with_fraction(at, floor as f64);
        }
        let term = i64::try_from(floor).map_or_else(|_| Term::integer(floor), Term::Int);
        self.integral(at, term)
    }

    fn with_fraction(&mut self, at: usize, floor: f64) -> Result<Term> {
        self.order.at += 1;
        let mut value = floor;
        let mut scale = 1.0 / 128.0;
        loop {
            let byte = self.order.byte("a fraction")?;
            value += f64::from(byte >> 1) * scale;
            scale /= 128.0;
            if byte & 1 == 0 {
                return self.checked_float(at, value);
            }
        }
    }

    /// 9 to 128 bytes, in groups.
    fn big(&mut self, at: usize, negative: bool) -> Result<Term> {
        let flip = if negative { 0xFF } else { 0 };
        let len = usize::from(self.order.byte("a number")? ^ flip);
        if !(9..=tag::FLOAT_BYTES).contains(&len) {
            return self.not_canonical(at);
        }
        let mut bytes = [0u8; tag::FLOAT_BYTES];
        let mut read = 0;
        while read < len {
            let group = (len - read).min(8);
            bytes[read..read + group].copy_from_slice(self.order.take(group, "a number")?);
            read += group;
            if read < len && !self.more_groups()? {
                break;
            }
        }
        let term = self.signed(at, negative, &bytes[..len])?;
        if !self.same_big(at, &term) {
            return self.not_canonical(at);
        }
        self.integral(at, term)
    }

    fn more_groups(&mut self) -> Result<bool> {
        let at = self.order.at;
        match self.order.byte("a number")? {
            tag::MORE => Ok(true),
            tag::ONLY_ZEROS => Ok(false),
            _ => self.not_canonical(at),
        }
    }

    fn huge(&mut self, at: usize, negative: bool) -> Result<Term> {
        let len = self.order.length(negative, "a number")?;
        let bytes = self
            .order
            .take(usize::try_from(len).unwrap_or(usize::MAX), "a number")?;
        if bytes.len() <= tag::FLOAT_BYTES {
            return self.not_canonical(at);
        }
        let term = self.signed(at, negative, bytes)?;
        self.integral(at, term)
    }

    /// The integer with these bytes in two's complement, below an infinity of zeros or ones.
    fn signed(&self, at: usize, negative: bool, bytes: &[u8]) -> Result<Term> {
        let extension = if negative { 0xFF } else { 0 };
        if bytes.first() == Some(&extension) {
            return self.not_canonical(at);
        }
        let mut signed = Vec::with_capacity(bytes.len() + 1);
        signed.push(extension);
        signed.extend_from_slice(bytes);
        Ok(Term::Big(Box::new(BigInt::from_signed_bytes_be(&signed))))
    }

    /// Whether the bytes since `at` are how this integer is written.
    fn same_big(&self, at: usize, term: &Term) -> bool {
        let mut again = KeyBuf::new();
        if let Term::Big(value) = term {
            number::put_big(&mut again, value);
        }
        again.end(&[]);
        again.order() == &self.order.bytes[at..self.order.at]
    }

    /// An integer, or the float of the same value if the trailer says so.
    fn integral(&mut self, at: usize, integer: Term) -> Result<Term> {
        if self.exact > 0 {
            return Ok(integer);
        }
        let mark = marks::read(self.marks, self.numbers);
        self.numbers += 1;
        let value = match (mark, &integer) {
            (Some(Mark::Integer), _) => return Ok(integer),
            (Some(Mark::NegativeZero), Term::Int(0)) => Some(-0.0),
            (Some(Mark::Float), Term::Int(value)) => Some(*value as f64),
            (Some(Mark::Float), Term::Big(value)) => value.to_f64(),
            _ => None,
        };
        match value {
            Some(value) => self
                .checked_float(at, value)
                .or_else(|_| self.order.error(at, KeyErrorKind::Trailer)),
            None => self.order.error(at, KeyErrorKind::Trailer),
        }
    }
}
