//! What expressions work on: references into the object, decoded only when they must be.

use fyris_term::key::KeyKind;
use fyris_term::value::View;
use fyris_term::{Atom, Float, Term};

use crate::program::Constant;
use crate::run::object::ObjectView;

/// What a specification is run over.
#[derive(Clone, Copy)]
pub(crate) enum Subject<'a> {
    Stored(&'a ObjectView<'a>),
    Term(&'a Term),
}

/// A place in the object, or a constant. Cheap to copy, nothing decoded.
#[derive(Clone, Copy)]
pub(crate) enum Ref<'a> {
    /// The whole object.
    Object,
    /// The key of a stored object.
    Key,
    /// Value bytes that start with the one meant.
    Stored(&'a [u8]),
    Term(&'a Term),
    Constant(&'a Constant),
    Int(i64),
    /// A list of bytes, not empty.
    String(&'a [u8]),
    /// So many value bytes, not none, and behind them a tail if the list is improper.
    Tail {
        count: u64,
        improper: bool,
        values: &'a [u8],
    },
    /// Terms, not none, and a tail if the list is improper.
    Terms(&'a [Term], Option<&'a Term>),
}

/// The value of an expression.
pub(crate) enum Value<'a> {
    Int(i64),
    Float(Float),
    Atom(Atom),
    Ref(Ref<'a>),
    Owned(Term),
}

/// A number or an atom as it is.
#[inline]
pub(super) fn scalar<'a>(term: &Term) -> Option<Value<'a>> {
    match term {
        Term::Int(int) => Some(Value::Int(*int)),
        Term::Float(float) => Some(Value::Float(*float)),
        Term::Atom(atom) => Some(Value::Atom(*atom)),
        _ => None,
    }
}

pub(super) fn kind_of(term: &Term) -> KeyKind {
    match term {
        Term::Int(_) | Term::Big(_) => KeyKind::Integer,
        Term::Float(_) => KeyKind::Float,
        Term::Atom(_) => KeyKind::Atom,
        Term::Reference(_) => KeyKind::Reference,
        Term::Fun(_) => KeyKind::Fun,
        Term::Port(_) => KeyKind::Port,
        Term::Pid(_) => KeyKind::Pid,
        Term::Tuple(_) => KeyKind::Tuple,
        Term::Map(_) => KeyKind::Map,
        Term::List(elements) if elements.is_empty() => KeyKind::Nil,
        Term::List(_) | Term::Improper(..) => KeyKind::Cons,
        Term::Binary(_) => KeyKind::Binary,
        Term::Bits(_) => KeyKind::Bits,
    }
}

pub(super) fn kind_of_view(view: &View<'_>) -> KeyKind {
    match view {
        View::Int(_) | View::Big(_) => KeyKind::Integer,
        View::Float(_) => KeyKind::Float,
        View::Atom(_) => KeyKind::Atom,
        View::Binary(_) | View::Blob(_) => KeyKind::Binary,
        View::Bits => KeyKind::Bits,
        View::Nil => KeyKind::Nil,
        View::String(_) | View::List(..) | View::Improper(..) => KeyKind::Cons,
        View::Map(..) => KeyKind::Map,
        View::Pid => KeyKind::Pid,
        View::Port => KeyKind::Port,
        View::Reference => KeyKind::Reference,
        View::Fun => KeyKind::Fun,
        // A tuple; and kinds to come would be added here.
        _ => KeyKind::Tuple,
    }
}
