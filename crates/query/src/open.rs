//! Open heads: tuples of nothing but variables, each met once, and `'_'`.
//!
//! Such a head matches every tuple of its size, so all that can turn an object away are the guards; and most objects of a
//! scan are turned away. So those guards that test an element are asked first, of the few bytes they are about, and the
//! variables are bound only for what is left, and only if something will read them.

use fyris_term::value;

use crate::object::ObjectView;
use crate::program::{Clause, Pattern, Program};
use crate::value::{Ref, Subject, World};

/// The size of the tuples that an open head matches; nothing for another head.
pub(crate) fn size(head: Pattern, patterns: &[Pattern]) -> Option<usize> {
    let Pattern::Tuple { elements, .. } = head else {
        return None;
    };
    let mut elements = elements.of(patterns).iter();
    let size = elements.len();
    let is_open = elements.all(|element| matches!(element, Pattern::Any | Pattern::Bind));
    is_open.then_some(size)
}

impl<'a> World<'a> {
    /// Whether the subject is a tuple of `size` elements that pass the early tests of a clause whose head is open.
    #[inline]
    pub(crate) fn is_admitted(self, program: &'a Program, clause: &'a Clause, size: usize) -> bool {
        match self.subject {
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
    #[inline]
    fn passes_stored(
        self,
        program: &'a Program,
        clause: &'a Clause,
        object: &'a ObjectView<'a>,
    ) -> bool {
        let (mut values, mut at) = (object.values, 0);
        for &(element, test) in &clause.early {
            let place = if element as usize + 1 == object.keypos {
                Ref::Key
            } else {
                while at < element {
                    if at as usize + 1 != object.keypos && value::skip(&mut values).is_err() {
                        return false;
                    }
                    at += 1;
                }
                Ref::Stored(values)
            };
            if !self.passes(program, place, test) {
                return false;
            }
        }
        true
    }
}
