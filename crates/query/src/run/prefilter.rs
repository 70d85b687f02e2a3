//! The first look at an object: in registers, and enough for most.
//!
//! Most specifications that are run over many objects have one clause, and an open head with a first guard that compares an
//! element with a small integer, or a head in which an element is a small integer. What that says of an object is then
//! told before a [`Run`] is made, and where nothing else is asked and the value is an element too, the object is done
//! with. All else takes the long way, which asks the same again.

use fyris_term::{Term, key, value};

use crate::program::{Clause, Constant, Node, Pattern};
use crate::run::irrefutable::Open;
use crate::run::object::ObjectView;
use crate::run::test::Test;
use crate::run::value::{Run, Subject, World};
use crate::syntax::function::Comparison;

/// Elements of an object that are gone over to find one, at most.
const NEAR: u32 = 4;

/// What there is to know at once of a specification of that kind.
#[derive(Debug)]
pub(crate) struct Quick {
    /// The size of the tuples that can match.
    size: usize,
    /// The element that is compared, from 0.
    element: u32,
    /// With what.
    int: i64,
    /// Which orders of the two let it pass: see [`Comparison::orders`](crate::syntax::function::Comparison).
    orders: u8,
    /// What the value of an object that passes is, if nothing else is asked.
    value: Value,
}

/// The value of an object that passes, as far as it is known at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    /// The long way tells.
    Unknown,
    True,
    /// This element, from 0.
    Element(u32),
}

impl Quick {
    /// Of a specification, if it is of that kind.
    pub(crate) fn new(
        clauses: &[Clause],
        patterns: &[Pattern],
        constants: &[Constant],
        nodes: &[Node],
    ) -> Option<Quick> {
        let [clause] = clauses else {
            return None;
        };
        let Some(open) = &clause.open else {
            return Quick::of_head(clause, patterns, constants);
        };
        let &(element, Test::Compare(comparison, constant)) = clause.early.first()? else {
            return None;
        };
        if element >= NEAR {
            return None;
        }
        let is_all = clause.early.len() == 1 && clause.late.len == 0
            || cfg!(fyris_mutant = "query_quick_is_all");
        Some(Quick {
            size: open.size,
            element,
            int: constants[constant as usize].int?,
            orders: comparison.orders(),
            value: match is_all {
                true => value_of(clause, open, nodes),
                false => Value::Unknown,
            },
        })
    }

    /// Of a head in which an element is a small integer.
    fn of_head(clause: &Clause, patterns: &[Pattern], constants: &[Constant]) -> Option<Quick> {
        let Pattern::Tuple { elements, .. } = clause.head else {
            return None;
        };
        let elements = elements.of(patterns);
        let int_of = |(at, element): (u32, &Pattern)| match element {
            Pattern::Constant(id) => Some((at, constants[*id as usize].int?)),
            _ => None,
        };
        let (element, int) = (0..NEAR).zip(elements).find_map(int_of)?;
        Some(Quick {
            size: elements.len(),
            element,
            int,
            orders: Comparison::Exact.orders(),
            value: Value::Unknown,
        })
    }

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
    pub(crate) fn turns_away(&self, arity: usize, int: impl FnOnce(usize) -> Option<i64>) -> bool {
        arity != self.size || int(self.element as usize + 1).is_some_and(|int| !self.lets_pass(int))
    }

    /// As [`Quick::passes`], of a term.
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
        self.value == Value::True
    }

    /// Appends the value of an object that passes; `false` if the long way must.
    #[inline(always)]
    pub(crate) fn push(&self, object: &ObjectView<'_>, values: &mut Vec<Term>) -> bool {
        let Value::Element(element) = self.value else {
            return false;
        };
        match small_int(object, element) {
            Some(int) => values.push(Term::Int(int)),
            None => push_other(object, element, values),
        }
        true
    }

    /// As [`Quick::push`], of a term.
    #[inline(always)]
    pub(crate) fn push_term(&self, term: &Term, values: &mut Vec<Term>) -> bool {
        let (Value::Element(element), Term::Tuple(elements)) = (self.value, term) else {
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

fn value_of(clause: &Clause, open: &Open, nodes: &[Node]) -> Value {
    match nodes[clause.body as usize] {
        _ if clause.is_true => Value::True,
        Node::Variable(slot) if open.elements[slot as usize] < NEAR => {
            Value::Element(open.elements[slot as usize])
        }
        _ => Value::Unknown,
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
    let world = World::new(&run);
    world.with_element(element, |place| world.push_other(place, values));
}
