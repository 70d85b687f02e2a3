//! Runs the prefilter.

use fyris_term::{Term, key, value};

use crate::program::{Prefilter, PrefilterValue};
use crate::run::context::{EvalContext, Run};
use crate::run::object::ObjectView;
use crate::run::value::Subject;

impl Prefilter {
    /// Returns whether a stored object passes; `None` if only the slow path can tell.
    #[inline(always)]
    pub(crate) fn passes(&self, object: &ObjectView<'_>) -> Option<bool> {
        if object.arity != self.size {
            return Some(false);
        }
        let int = small_int(object, self.element)?;
        Some(self.accepts(int))
    }

    /// Returns whether an object of `arity` elements does not pass. `int` returns an element, counted from 1, if it
    /// is a small integer.
    #[inline(always)]
    pub(crate) fn rejects(&self, arity: usize, int: impl FnOnce(usize) -> Option<i64>) -> bool {
        arity != self.size || int(self.element as usize + 1).is_some_and(|int| !self.accepts(int))
    }

    /// Returns whether a term passes; `None` if only the slow path can tell.
    #[inline(always)]
    pub(crate) fn passes_term(&self, term: &Term) -> Option<bool> {
        let elements = match term {
            Term::Tuple(elements) if elements.len() == self.size => elements,
            _ => return Some(false),
        };
        match elements.get(self.element as usize) {
            Some(&Term::Int(int)) => Some(self.accepts(int)),
            _ => None,
        }
    }

    #[inline(always)]
    fn accepts(&self, int: i64) -> bool {
        self.orders >> (int.cmp(&self.int) as i8 + 1) & 1 == 1
    }

    /// Returns whether the value of an object that passes is `true`.
    #[inline(always)]
    pub(crate) fn is_true(&self) -> bool {
        self.value == PrefilterValue::True
    }

    /// Appends the value of a stored object that passes; returns `false`, and appends nothing, if only the slow path
    /// can.
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

    /// Appends the value of a term that passes; returns `false`, and appends nothing, if only the slow path can.
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

/// Returns an element of an object, counted from 0, if it is a small integer.
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
