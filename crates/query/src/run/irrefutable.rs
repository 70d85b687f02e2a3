//! Irrefutable heads: their tests asked in place, their variables found when they are read.

use fyris_term::value;

use crate::program::{Clause, Program};
use crate::run::context::EvalContext;
use crate::run::object::ObjectView;
use crate::run::value::{Ref, Subject};

impl<'a> EvalContext<'a> {
    /// Whether the subject is a tuple of `size` elements that pass the early tests of a clause whose head is open.
    #[inline(always)]
    pub(crate) fn is_admitted(self, program: &'a Program, clause: &'a Clause, size: usize) -> bool {
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

    /// Goes over the values once: the tests are in the order of the elements.
    #[inline(always)]
    fn passes_stored(
        self,
        program: &'a Program,
        clause: &'a Clause,
        object: &'a ObjectView<'a>,
    ) -> bool {
        let (mut values, mut at) = (object.values, 0);
        for &(element, test) in &clause.early {
            // A place is looked at where it is made, and never written to memory.
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

    /// Does something with the place of an element, of a subject that was admitted.
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

/// The values of an object from an element on that is not the key; none if there are fewer.
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
