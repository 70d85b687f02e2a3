//! The compiled form: flat vectors of nodes that name each other by number.

mod irrefutable;
pub(crate) mod key_ranges;
pub(crate) mod plan;
mod prefilter;
mod test;

use std::sync::OnceLock;

use fyris_term::key::KeyBuf;
use fyris_term::{Term, value};

use crate::syntax::function::{Comparison, Function};

pub(crate) use irrefutable::IrrefutableHead;
pub(crate) use plan::KeptPlan;
pub(crate) use prefilter::{Prefilter, PrefilterValue};
pub(crate) use test::{Test, kinds};

/// The number of a node, a constant or a slot.
pub(crate) type Id = u32;

/// Some neighbours in a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

impl Span {
    /// The neighbours.
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
    /// What tells most objects at once.
    pub(crate) prefilter: Option<Prefilter>,
    /// The plan that was asked for first: a specification is used with one table, as a rule.
    pub(crate) plan: OnceLock<KeptPlan>,
}

/// One `{Head, Guards, Body}`.
#[derive(Debug)]
pub(crate) struct Clause {
    pub(crate) head: Pattern,
    /// If the head is irrefutable.
    pub(crate) irrefutable: Option<IrrefutableHead>,
    /// The slots of the variables, in the order of the variables' numbers; slots are numbered as the head meets them.
    pub(crate) bindings: Vec<Id>,
    /// Those guards that test an element of the head's tuple, by element, from 0.
    pub(crate) early: Vec<(u32, Test)>,
    /// The guards that are left: nodes, among the parts of nodes.
    pub(crate) late: Span,
    /// Of elements of the head's tuple that are patterns with parts, from 0: what the order bytes of a key that matches
    /// start with.
    pub(crate) prefixes: Vec<(u32, Vec<u8>)>,
    /// The last expression of the body; those before it are evaluated for nothing, so they are not.
    pub(crate) body: Id,
    /// The body is the constant `true`.
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
    /// A tuple of just so many elements; those from `used` on are `'_'`.
    Tuple {
        elements: Span,
        used: u32,
    },
    /// A list of at least these elements; its tail is the last one.
    Cons(Span),
    /// A map with at least these keys, ascending: a constant and a pattern in turn.
    Map(Span),
}

/// An expression.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Node {
    Constant(Id),
    Variable(Id),
    Object,
    Bindings,
    Tuple(Span),
    List(Span),
    /// Elements, then the tail.
    Improper(Span),
    /// Keys and values in turn.
    Map(Span),
    Call(Function, Span),
    Compare(Comparison, Id, Id),
    /// A test of a slot: most guards.
    Test(Id, Test),
    And(Span),
    Or(Span),
    AndAlso(Span),
    OrElse(Span),
}

/// A constant in every form that it may have to be compared in.
#[derive(Debug)]
pub(crate) struct Constant {
    pub(crate) term: Term,
    /// The small integer that it is.
    pub(crate) int: Option<i64>,
    pub(crate) value: Vec<u8>,
    /// Stored bytes that start with `value` are this constant, and no others are.
    pub(crate) plain: bool,
    /// Key bytes: order part and trailer.
    pub(crate) key: Box<[u8]>,
    /// Length of the order part.
    pub(crate) order: usize,
}

impl Constant {
    /// A constant of at most [`fyris_term::MAX_DEPTH`] levels.
    pub(crate) fn new(term: Term) -> Constant {
        let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
        let encoded = value::encode(&term, &mut bytes, &mut blobs).is_ok();
        let key = KeyBuf::encode(&term);
        Constant {
            int: term.as_int(),
            plain: encoded && value::is_plain(&bytes, &blobs),
            term,
            value: bytes,
            key: key.bytes().into(),
            order: key.order_len(),
        }
    }

    /// What is behind the constant, if `values` starts with it; only of one that is plain.
    #[inline]
    pub(crate) fn strip<'v>(&self, values: &'v [u8]) -> Option<&'v [u8]> {
        /// Up to so many bytes a loop is faster than a call.
        const SHORT: usize = 4;
        if self.value.len() > SHORT {
            return values.strip_prefix(&self.value[..]);
        }
        let (first, behind) = values.split_at_checked(self.value.len())?;
        let mut pairs = first.iter().zip(&self.value);
        pairs.all(|(a, b)| a == b).then_some(behind)
    }

    /// The order part of its key bytes.
    #[inline]
    pub(crate) fn key_order(&self) -> &[u8] {
        &self.key[..self.order]
    }
}

impl Program {
    /// The constant with this number.
    #[inline]
    pub(crate) fn constant(&self, id: Id) -> &Constant {
        &self.constants[id as usize]
    }

    /// The node with this number.
    #[inline]
    pub(crate) fn node(&self, id: Id) -> Node {
        self.nodes[id as usize]
    }

    /// The nodes of a span.
    #[inline]
    pub(crate) fn parts(&self, span: Span) -> &[Id] {
        span.of(&self.node_parts)
    }
}
