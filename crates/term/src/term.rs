//! The owned value of every Erlang type.

use num_bigint::BigInt;

pub use crate::map::Map;
use crate::{Atom, Blob, NativeRecord, Terms};

/// Any Erlang term, owned.
///
/// `==` on terms is Erlang's `=:=` (exact equality). Erlang's `==` and `<` are in the crate's
/// `order` module: many terms that differ exactly are equal in order (`1` and `1.0`).
pub enum Term {
    /// An integer that fits 64 bits.
    Int(i64),
    /// An integer that does not (kept canonical by [`Term::integer`]).
    Big(Box<BigInt>),
    /// A float, always finite.
    Float(Float),
    /// An atom.
    Atom(Atom),
    /// A reference.
    Reference(Box<Reference>),
    /// A fun.
    Fun(Box<Fun>),
    /// A port.
    Port(Box<Port>),
    /// A process identifier.
    Pid(Box<Pid>),
    /// A tuple.
    Tuple(Terms),
    /// A native record, new in OTP 29.
    Record(Box<NativeRecord>),
    /// A map.
    Map(Map),
    /// A proper list; the empty one is `[]`.
    List(Terms),
    /// An improper list: at least one element, and a tail that is no list (kept canonical by
    /// [`Term::improper`]).
    Improper(Terms, Box<Term>),
    /// A binary: whole bytes, shared by reference count.
    Binary(Blob),
    /// A bitstring whose length is not a multiple of 8 bits.
    Bits(BitString),
}

/// A finite 64-bit float. `0.0` and `-0.0` are exactly different, as in OTP 27 and later.
#[derive(Debug, Clone, Copy)]
pub struct Float(f64);

impl Float {
    /// `0.0`.
    pub const ZERO: Float = Float(0.0);

    /// Makes a float; `None` for NaN and the infinities, which Erlang does not have.
    pub fn new(value: f64) -> Option<Float> {
        value.is_finite().then_some(Float(value))
    }

    /// Returns the number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Float) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}
impl Eq for Float {}

/// A process identifier: `<node.id.serial>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pid {
    /// The node it lives on.
    pub node: Atom,
    /// First number.
    pub id: u32,
    /// Second number.
    pub serial: u32,
    /// The number of the node's start.
    pub creation: u32,
}

/// A port identifier.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Port {
    /// The node it lives on.
    pub node: Atom,
    /// Its number (64 bits since OTP 24).
    pub id: u64,
    /// The number of the node's start.
    pub creation: u32,
}

/// A reference: one to five 32-bit words, the least significant first, as in the external format.
///
/// Equality (`=:=`) takes the words as one number: zero words at the end do not count.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The node that made it.
    pub node: Atom,
    /// The number of the node's start.
    pub creation: u32,
    /// One to five words.
    pub ids: Vec<u32>,
}

impl Reference {
    /// Returns the words without the zeros at the end: the reference's identity on its node.
    pub fn significant(&self) -> &[u32] {
        let used = self
            .ids
            .iter()
            .rposition(|&word| word != 0)
            .map_or(0, |last| last + 1);
        &self.ids[..used]
    }
}

impl PartialEq for Reference {
    fn eq(&self, other: &Reference) -> bool {
        self.node == other.node
            && self.creation == other.creation
            && self.significant() == other.significant()
    }
}
impl Eq for Reference {}

impl std::hash::Hash for Reference {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.node, self.creation, self.significant()).hash(state);
    }
}

/// A fun.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fun {
    /// `fun M:F/A`.
    External {
        /// Module.
        module: Atom,
        /// Function.
        function: Atom,
        /// Arity, 0 to 255.
        arity: u8,
    },
    /// A closure (`NEW_FUN_EXT`).
    Local(LocalFun),
}

impl Fun {
    /// Returns the number of arguments.
    pub fn arity(&self) -> u8 {
        match self {
            Fun::External { arity, .. } => *arity,
            Fun::Local(fun) => fun.arity,
        }
    }
}

/// A closure, as the external format carries it.
///
/// Equality (`=:=`) is Erlang's: module, index, old checksum and captured values. The rest follows from
/// these, but for the creator, which does not count: the same closure made by two processes is equal.
#[derive(Debug, Clone)]
pub struct LocalFun {
    /// Module that made it.
    pub module: Atom,
    /// Number of arguments.
    pub arity: u8,
    /// MD5 of the significant parts of the module.
    pub uniq: [u8; 16],
    /// Number of the fun in its module.
    pub index: u32,
    /// Older number, part of identity (`OldIndex`; an integer in the format).
    pub old_index: i64,
    /// Older checksum (`OldUniq`; an integer in the format).
    pub old_uniq: i64,
    /// The process that made it.
    pub creator: Pid,
    /// Captured values.
    pub free: Terms,
}

impl LocalFun {
    /// Returns what makes up its identity beside the captured values.
    pub(crate) fn code(&self) -> (Atom, u32, i64) {
        (self.module, self.index, self.old_uniq)
    }
}

impl PartialEq for LocalFun {
    fn eq(&self, other: &LocalFun) -> bool {
        self.code() == other.code() && self.free == other.free
    }
}
impl Eq for LocalFun {}

impl std::hash::Hash for LocalFun {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.code(), &self.free).hash(state);
    }
}

/// A bitstring with 1 to 7 bits in its last byte, the unused low bits zero.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BitString {
    pub(crate) bytes: Blob,
    pub(crate) last_bits: u8,
}

impl BitString {
    /// Returns the bytes; the last one carries [`BitString::last_bits`] bits in its high end.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of bits of the last byte that count: 1 to 7.
    pub fn last_bits(&self) -> u8 {
        self.last_bits
    }
}

impl Term {
    /// Makes an integer of any size, in canonical form.
    pub fn integer(value: impl Into<BigInt>) -> Term {
        let big = value.into();
        match i64::try_from(&big) {
            Ok(small) => Term::Int(small),
            Err(_) => Term::Big(Box::new(big)),
        }
    }

    /// Returns the atom named `name`, a word of the program itself.
    ///
    /// # Panics
    ///
    /// If the name has more than 255 characters, or is new and there are [`MAX_ATOMS`](crate::atom::MAX_ATOMS);
    /// [`Atom::new`] is for names that come from outside.
    pub fn atom(name: &str) -> Term {
        Term::Atom(Atom::word(name))
    }

    /// Makes a tuple.
    pub fn tuple(elements: impl Into<Terms>) -> Term {
        Term::Tuple(elements.into())
    }

    /// Makes a proper list.
    pub fn list(elements: impl Into<Terms>) -> Term {
        Term::List(elements.into())
    }

    /// Makes a binary.
    pub fn binary(bytes: impl Into<Blob>) -> Term {
        Term::Binary(bytes.into())
    }

    /// Makes a bitstring of `bits` bits: a binary when that is a multiple of 8. Bits beyond are cleared; `None` if
    /// there are fewer bytes than bits.
    pub fn bits(bytes: &[u8], bits: usize) -> Option<Term> {
        let bytes = bytes.get(..bits.div_ceil(8))?;
        let last_bits = (bits % 8) as u8;
        if last_bits == 0 {
            return Some(Term::Binary(bytes.into()));
        }
        let mut bytes: Vec<u8> = bytes.to_vec();
        *bytes.last_mut()? &= 0xFFu8 << (8 - last_bits);
        Some(Term::Bits(BitString {
            bytes: bytes.into(),
            last_bits,
        }))
    }

    /// Makes `[E1, ..., En | Tail]` in canonical form.
    pub fn improper(elements: impl Into<Terms>, tail: Term) -> Term {
        let mut elements = elements.into();
        match tail {
            tail if elements.is_empty() => tail,
            Term::List(rest) => {
                elements.extend(rest);
                Term::List(elements)
            }
            Term::Improper(rest, tail) => {
                elements.extend(rest);
                Term::Improper(elements, tail)
            }
            tail => Term::Improper(elements, Box::new(tail)),
        }
    }
}
