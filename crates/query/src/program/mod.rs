//! Compiled specifications as data: flat vectors of nodes that name each other by number.

mod irrefutable;
pub(crate) mod key_ranges;
pub(crate) mod plan;
mod prefilter;
mod test;

use std::sync::OnceLock;

use fyris_term::key::KeyBuf;
use fyris_term::{Term, value};

use crate::syntax::function::{Comparison, Function};
use crate::syntax::structure::Structure;

pub(crate) use irrefutable::IrrefutableHead;
pub(crate) use plan::KeptPlan;
pub(crate) use prefilter::{Prefilter, PrefilterValue};
pub(crate) use test::{Test, kinds};

/// The number of a node, a constant or a slot.
pub(crate) type Id = u32;

/// A slice of a vector, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

impl Span {
    /// Returns the span of what was pushed between two lengths of a vector.
    pub(crate) fn between(before: usize, now: usize) -> Span {
        Span {
            at: before as u32,
            len: (now - before) as u32,
        }
    }

    /// Returns the slice.
    #[inline]
    pub(crate) fn of<T>(self, all: &[T]) -> &[T] {
        &all[self.at as usize..(self.at + self.len) as usize]
    }
}

/// A compiled specification.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) source: Term,
    pub(crate) clauses: Vec<Clause>,
    /// The parts of patterns.
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) nodes: Vec<Node>,
    /// The arguments and parts of nodes.
    pub(crate) node_parts: Vec<Id>,
    pub(crate) constants: Vec<Constant>,
    /// The comparison that decides most objects, if there is one.
    pub(crate) prefilter: Option<Prefilter>,
    /// The first plan that was made: as a rule a specification is used with one table.
    pub(crate) plan: OnceLock<KeptPlan>,
}

/// One `{Head, Guards, Body}`.
#[derive(Debug)]
pub(crate) struct Clause {
    pub(crate) head: Pattern,
    /// Set if the head is irrefutable.
    pub(crate) irrefutable: Option<IrrefutableHead>,
    /// The slots of the variables, in the order of the variables' numbers; slots are numbered as the head meets them.
    pub(crate) bindings: Vec<Id>,
    /// The guards that test an element of the head's tuple: the element, counted from 0, and the test.
    pub(crate) early: Vec<(u32, Test)>,
    /// The other guards: nodes, among the parts of nodes.
    pub(crate) late: Span,
    /// For the elements of the head's tuple that are patterns with parts, counted from 0: the prefix of the order
    /// bytes of every key that matches, should the element be the key.
    pub(crate) prefixes: Vec<(u32, Vec<u8>)>,
    /// The last expression of the body: the others have neither value nor effect, and are not compiled in.
    pub(crate) body: Id,
    /// Whether the body is the constant `true`.
    pub(crate) is_true: bool,
}

/// A pattern.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pattern {
    Any,
    /// Binds the next slot.
    Bind,
    /// `=:=` to what a slot holds.
    Same(Id),
    /// `=:=` to a constant.
    Constant(Id),
    /// A tuple of exactly these elements; those from `used` on are `'_'`.
    Tuple {
        elements: Span,
        used: u32,
    },
    /// A list of at least these elements; its tail is the last one.
    Cons(Span),
    /// A map with at least these keys, ascending: a constant and a pattern in turn.
    Map(Span),
}

impl Pattern {
    /// Returns the elements of a tuple.
    pub(crate) fn elements(self, program: &Program) -> Option<&[Pattern]> {
        match self {
            Pattern::Tuple { elements, .. } => Some(elements.of(&program.patterns)),
            _ => None,
        }
    }

    /// Returns whether it is a tuple, a list or a map of patterns.
    #[inline]
    pub(crate) fn has_parts(self) -> bool {
        matches!(
            self,
            Pattern::Tuple { .. } | Pattern::Cons(_) | Pattern::Map(_)
        )
    }
}

/// An expression.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Node {
    Constant(Id),
    Variable(Id),
    Object,
    Bindings,
    Structure(Structure, Span),
    Call(Function, Span),
    Compare(Comparison, Id, Id),
    /// A test of a slot: most guards.
    Test(Id, Test),
    And(Span),
    Or(Span),
    AndAlso(Span),
    OrElse(Span),
    /// A node inside so many others that those in it are evaluated without recursion.
    Deep(Id),
}

impl Node {
    /// Returns whether its value is made of those of other nodes.
    pub(crate) fn has_parts(self) -> bool {
        !matches!(
            self,
            Node::Constant(_) | Node::Variable(_) | Node::Object | Node::Bindings | Node::Test(..)
        )
    }
}

/// A constant in every form in which it is compared.
#[derive(Debug)]
pub(crate) struct Constant {
    pub(crate) term: Term,
    /// Its value, if it is a small integer.
    pub(crate) int: Option<i64>,
    pub(crate) value: Vec<u8>,
    /// Whether a stored value is this constant if, and only if, its bytes start with `value`.
    pub(crate) plain: bool,
    /// Key bytes: order part and trailer.
    pub(crate) key: Box<[u8]>,
    /// Length of the order part.
    pub(crate) order: usize,
}

impl Constant {
    /// Encodes a constant.
    pub(crate) fn new(term: Term) -> Constant {
        let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
        value::encode(&term, &mut bytes, &mut blobs);
        let key = KeyBuf::encode(&term);
        Constant {
            int: term.as_int(),
            plain: value::is_plain(&bytes, &blobs),
            term,
            value: bytes,
            key: key.bytes().into(),
            order: key.order_len(),
        }
    }

    /// Returns the bytes behind the constant if `values` starts with it. The constant must be plain.
    #[inline]
    pub(crate) fn strip<'v>(&self, values: &'v [u8]) -> Option<&'v [u8]> {
        /// The most bytes for which a loop is faster than a call.
        const SHORT: usize = 4;
        if self.value.len() > SHORT {
            return values.strip_prefix(&self.value[..]);
        }
        let (first, behind) = values.split_at_checked(self.value.len())?;
        let mut pairs = first.iter().zip(&self.value);
        pairs.all(|(a, b)| a == b).then_some(behind)
    }

    /// Returns the order part of its key bytes.
    #[inline]
    pub(crate) fn key_order(&self) -> &[u8] {
        &self.key[..self.order]
    }
}

impl Program {
    /// Returns the constant with this number.
    #[inline]
    pub(crate) fn constant(&self, id: Id) -> &Constant {
        &self.constants[id as usize]
    }

    /// Returns the node with this number.
    #[inline]
    pub(crate) fn node(&self, id: Id) -> Node {
        self.nodes[id as usize]
    }

    /// Returns the nodes of a span.
    #[inline]
    pub(crate) fn parts(&self, span: Span) -> &[Id] {
        span.of(&self.node_parts)
    }
}
