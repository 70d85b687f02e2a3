//! Tests: guards on one place that always have an answer.
//!
//! A comparison with a constant and a test of a type cannot fail, and most guards are nothing else. Those on an element
//! of the object are asked as soon as the head has reached it, before what follows is looked at; the order of
//! guards without effects cannot be told from outside.

use fyris_term::key::KeyKind;

use super::Id;
use crate::syntax::function::{Comparison, Function};

/// A question about one place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    /// How it compares with a constant.
    Compare(Comparison, Id),
    /// Whether it is of one of these kinds: a bit each.
    Kind(u16),
}

/// The kinds that a type test accepts, if it is one that looks at nothing but the kind.
pub(crate) fn kinds(function: Function) -> Option<u16> {
    use KeyKind as K;
    let kinds: &[KeyKind] = match function {
        Function::IsAtom => &[K::Atom],
        Function::IsFloat => &[K::Float],
        Function::IsInteger => &[K::Integer],
        Function::IsNumber => &[K::Integer, K::Float],
        Function::IsList => &[K::Nil, K::Cons],
        Function::IsPid => &[K::Pid],
        Function::IsPort => &[K::Port],
        Function::IsReference => &[K::Reference],
        Function::IsTuple => &[K::Tuple],
        Function::IsMap => &[K::Map],
        Function::IsBinary => &[K::Binary],
        Function::IsBitstring => &[K::Binary, K::Bits],
        Function::IsFun => &[K::Fun],
        _ => return None,
    };
    Some(kinds.iter().fold(0, |mask, &kind| mask | 1 << kind as u16))
}
