//! The values of expressions: references into the object, which are decoded only when they must be.

use fyris_term::key::KeyKind;
use fyris_term::value::View;
use fyris_term::{Atom, Float, Term};

use crate::program::Constant;
use crate::run::object::ObjectView;

/// The object that a specification is run over.
#[derive(Clone, Copy)]
pub(crate) enum Subject<'a> {
    Stored(&'a ObjectView<'a>),
    Term(&'a Term),
}

/// A reference to a place in the object, or to a constant. Cheap to copy; nothing is decoded.
#[derive(Clone, Copy)]
pub(crate) enum Ref<'a> {
    /// The whole object.
    Object,
    /// The key of a stored object.
    Key,
    /// Order bytes of a part of a key in which no float is integral: the key has no trailer.
    KeyPart(&'a [u8]),
    /// Value bytes; the value is the first one.
    Stored(&'a [u8]),
    Term(&'a Term),
    Constant(&'a Constant),
    Int(i64),
    /// A list of bytes, not empty.
    String(&'a [u8]),
    /// A list of `count` values, at least one, with a tail behind them if it is improper.
    Tail {
        count: u64,
        improper: bool,
        values: &'a [u8],
    },
    /// A list of terms, at least one, with a tail if it is improper.
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

/// Returns the value of a small integer, a float or an atom.
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
        Term::Record(_) => KeyKind::Record,
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
        View::Record => KeyKind::Record,
        // `View` is non-exhaustive; the kind not listed above is the tuple.
        _ => KeyKind::Tuple,
    }
}
