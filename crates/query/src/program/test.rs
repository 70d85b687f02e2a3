//! Tests: guards on one place that cannot fail.
//!
//! Comparisons with a constant and type tests cannot fail, and most guards are one of them. A test of an element is
//! made as soon as the head has reached the element, before later elements are read: guards have no effects, so their
//! order cannot be observed.

use fyris_term::key::KeyKind;

use super::Id;
use crate::syntax::function::{Comparison, Function};

/// A test of one place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    /// A comparison with a constant.
    Compare(Comparison, Id),
    /// A type test: the kinds that pass, a bit each.
    Kind(u16),
}

/// Returns the kinds that a function accepts, as a mask, if it is a type test that reads nothing but the kind.
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
