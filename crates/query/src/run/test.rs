//! Tests: guards on one place that always have an answer.
//!
//! A comparison with a constant and a test of a type cannot fail, and most guards are nothing else. Those on an element
//! of the object are asked as soon as the head has reached it, before what follows is looked at; the order of
//! guards without effects cannot be told from outside.

use std::cmp::Ordering;

use fyris_term::key::KeyKind;

use crate::program::{Constant, Id, Program};
use crate::run::value::{Ref, Subject, World};
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

impl Comparison {
    /// The orders of two terms that it holds for, a bit each from less to greater. `=:=` of terms that are `==` is for
    /// the caller to know.
    #[inline]
    pub(crate) fn orders(self) -> u8 {
        const LESS: u8 = 1;
        const EQUAL: u8 = 2;
        const GREATER: u8 = 4;
        match self {
            Comparison::Greater => GREATER,
            Comparison::GreaterEqual => GREATER | EQUAL,
            Comparison::Less => LESS,
            Comparison::LessEqual => LESS | EQUAL,
            Comparison::Equal | Comparison::Exact => EQUAL,
            Comparison::NotEqual | Comparison::NotExact => LESS | GREATER,
        }
    }

    /// Whether it holds for terms in this order: by a mask, as a branch for each comparison would be guessed wrong where
    /// objects differ.
    #[inline]
    pub(crate) fn holds(self, order: Ordering) -> bool {
        self.orders() >> (order as i8 + 1) & 1 == 1
    }
}

impl<'a> World<'a> {
    /// The answer to a test of what is at a place.
    #[inline(always)]
    pub(crate) fn passes(self, program: &'a Program, place: Ref<'a>, test: Test) -> bool {
        match test {
            Test::Compare(comparison, id) => self.compares(place, comparison, program.constant(id)),
            Test::Kind(mask) => mask >> self.kind_at(place) as u16 & 1 == 1,
        }
    }

    #[inline(always)]
    fn compares(self, place: Ref<'a>, comparison: Comparison, constant: &'a Constant) -> bool {
        if let (Some(int), Some(value)) = (constant.int, self.small_int(place)) {
            return comparison.holds(value.cmp(&int));
        }
        self.compares_other(place, comparison, constant)
    }

    #[inline(never)]
    fn compares_other(
        self,
        place: Ref<'a>,
        comparison: Comparison,
        constant: &'a Constant,
    ) -> bool {
        match (comparison, place, self.subject()) {
            (Comparison::Exact, ..) => self.is_constant(place, constant),
            (Comparison::NotExact, ..) => !self.is_constant(place, constant),
            (_, Ref::Key, Subject::Stored(object)) => {
                comparison.holds(object.key_order.cmp(constant.key_order()))
            }
            _ => {
                let (value, constant) = (self.load(place), self.load(Ref::Constant(constant)));
                comparison.holds(self.compare(&value, &constant))
            }
        }
    }
}
