//! Runs irrefutable heads: makes their early tests in place, finds their variables when they are read.

use fyris_term::value;

use crate::program::{Clause, Program};
use crate::run::context::EvalContext;
use crate::run::object::ObjectView;
use crate::run::value::{Ref, Subject};

impl<'a> EvalContext<'a> {
    /// Returns whether the subject is a tuple of `size` elements that passes the early tests of the clause.
    #[inline(always)]
    pub(crate) fn passes_early_tests(
        self,
        program: &'a Program,
        clause: &'a Clause,
        size: usize,
    ) -> bool {
        match self.subject() {
            Subject::Stored(object) => {
                object.arity == size && self.passes_stored(program, clause, object)
            }
            Subject::Term(term) => term.as_tuple().is_some_and(|terms| {
                let mut tests = clause.early.iter();
                terms.len() == size
                    && tests.all(|&(element, test)| {
                        self.passes(program, Ref::Term(&terms[element as usize]), test)
                    })
            }),
        }
    }

    /// Makes the early tests in one pass over the values: the tests are in the order of the elements.
    #[inline(always)]
    fn passes_stored(
        self,
        program: &'a Program,
        clause: &'a Clause,
        object: &'a ObjectView<'a>,
    ) -> bool {
        let (mut values, mut at) = (object.values, 0);
        for &(element, test) in &clause.early {
            // The place is tested where it is made, so that it stays in registers.
            let passes = if element as usize + 1 == object.keypos {
                self.passes(program, Ref::Key, test)
            } else {
                while at < element {
                    if at as usize + 1 != object.keypos && value::skip(&mut values).is_err() {
                        return false;
                    }
                    at += 1;
                }
                self.passes(program, Ref::Stored(values), test)
            };
            if !passes {
                return false;
            }
        }
        true
    }

    /// Calls `f` with the place of an element, counted from 0, of a subject that passed the early tests.
    #[inline(always)]
    pub(crate) fn with_element<R>(self, element: u32, f: impl FnOnce(Ref<'a>) -> R) -> R {
        let element = element as usize;
        match self.subject() {
            Subject::Stored(object) if element + 1 == object.keypos => f(Ref::Key),
            Subject::Stored(object) => f(Ref::Stored(behind(object, element))),
            Subject::Term(term) => match term.as_tuple().and_then(|terms| terms.get(element)) {
                Some(term) => f(Ref::Term(term)),
                None => f(Ref::Object),
            },
        }
    }
}

/// Returns the value bytes of an object from an element on that is not the key; empty if there are fewer elements.
#[inline(always)]
fn behind<'a>(object: &'a ObjectView<'a>, element: usize) -> &'a [u8] {
    let mut values = object.values;
    for _ in usize::from(element >= object.keypos)..element {
        if value::skip(&mut values).is_err() {
            return &[];
        }
    }
    values
}
