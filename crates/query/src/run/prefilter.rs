//! Asking the prefilter.

use fyris_term::{Term, key, value};

use crate::program::{Prefilter, PrefilterValue};
use crate::run::context::{EvalContext, Run};
use crate::run::object::ObjectView;
use crate::run::value::Subject;

impl Prefilter {
    /// Whether an object passes the first guard, or the integer in the head; `None` if the long way must tell.
    #[inline(always)]
    pub(crate) fn passes(&self, object: &ObjectView<'_>) -> Option<bool> {
        if object.arity != self.size {
            return Some(false);
        }
        let int = small_int(object, self.element)?;
        Some(self.lets_pass(int))
    }

    /// Whether it is known of an object of so many elements that it does not pass; `int` tells integers by their places,
    /// from 1.
    #[inline(always)]
    pub(crate) fn rejects(&self, arity: usize, int: impl FnOnce(usize) -> Option<i64>) -> bool {
        arity != self.size || int(self.element as usize + 1).is_some_and(|int| !self.lets_pass(int))
    }

    /// As [`Prefilter::passes`], of a term.
    #[inline(always)]
    pub(crate) fn passes_term(&self, term: &Term) -> Option<bool> {
        let elements = match term {
            Term::Tuple(elements) if elements.len() == self.size => elements,
            _ => return Some(false),
        };
        match elements.get(self.element as usize) {
            Some(&Term::Int(int)) => Some(self.lets_pass(int)),
            _ => None,
        }
    }

    #[inline(always)]
    fn lets_pass(&self, int: i64) -> bool {
        self.orders >> (int.cmp(&self.int) as i8 + 1) & 1 == 1
    }

    /// Whether the value of what passes is `true`, nothing else being asked.
    #[inline(always)]
    pub(crate) fn is_true(&self) -> bool {
        self.value == PrefilterValue::True
    }

    /// Appends the value of an object that passes; `false` if the long way must.
    #[inline(always)]
    pub(crate) fn push(&self, object: &ObjectView<'_>, values: &mut Vec<Term>) -> bool {
        let PrefilterValue::Element(element) = self.value else {
            return false;
        };
        match small_int(object, element) {
            Some(int) => values.push(Term::Int(int)),
            None => push_other(object, element, values),
        }
        true
    }

    /// As [`Prefilter::push`], of a term.
    #[inline(always)]
    pub(crate) fn push_term(&self, term: &Term, values: &mut Vec<Term>) -> bool {
        let (PrefilterValue::Element(element), Term::Tuple(elements)) = (self.value, term) else {
            return false;
        };
        match elements.get(element as usize) {
            Some(&Term::Int(int)) => values.push(Term::Int(int)),
            Some(Term::Binary(content)) => values.push(Term::Binary(content.clone())),
            _ => return false,
        }
        true
    }
}

/// The element of an object, from 0, if it is a small integer.
#[inline(always)]
fn small_int(object: &ObjectView<'_>, element: u32) -> Option<i64> {
    let element = element as usize;
    if element + 1 == object.keypos {
        return key::as_int(object.key_order, object.key_tail);
    }
    let mut values = object.values;
    for _ in usize::from(element >= object.keypos)..element {
        value::skip(&mut values).ok()?;
    }
    value::as_int(values)
}

#[inline(never)]
fn push_other(object: &ObjectView<'_>, element: u32, values: &mut Vec<Term>) {
    let run = Run::new(Subject::Stored(object));
    let context = EvalContext::new(&run);
    context.with_element(element, |place| context.push_other(place, values));
}
