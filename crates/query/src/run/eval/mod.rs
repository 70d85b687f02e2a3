//! Evaluates guards and bodies.
//!
//! `None` is a failure. A guard that fails does not hold; the value of a call in a body that fails is `'EXIT'`, with
//! which the enclosing expression continues.
//!
//! Recursion goes down with the expression, up to a [`Node::Deep`].

mod arithmetic;
mod builtin;
mod deep;

use fyris_term::Term;

use crate::program::{Clause, Id, Node, Program, Span, Test};
use crate::run::context::EvalContext;
use crate::run::head::Bindings;
use crate::run::machine::Machine;
use crate::run::value::{Ref, Value};
use crate::syntax::atoms::known;
use crate::syntax::function::Comparison;
use crate::syntax::structure::Structure;

/// One clause whose head has matched.
pub(crate) struct Evaluation<'e, 'a> {
    pub(crate) program: &'a Program,
    pub(crate) machine: &'a Machine,
    pub(crate) context: EvalContext<'a>,
    pub(crate) clause: &'a Clause,
    pub(crate) bindings: &'e Bindings<'a>,
    /// Whether the body is being evaluated: then the value of a call that fails is `'EXIT'`.
    pub(crate) in_body: bool,
}

impl<'a> Evaluation<'_, 'a> {
    /// Returns whether all guards that are no early tests are exactly `true`.
    #[inline(always)]
    pub(crate) fn guards_hold(&self) -> bool {
        // The matcher has made the early tests.
        let guards = self.clause.late;
        guards.len == 0 || self.hold(guards)
    }

    fn hold(&self, guards: Span) -> bool {
        let mut guards = self.program.parts(guards).iter();
        guards.all(|&guard| match self.program.node(guard) {
            Node::Test(slot, test) => self.passes(slot, test),
            _ => self.is_true(guard),
        })
    }

    /// Calls `f` with the place of a variable.
    #[inline(always)]
    fn with_place<R>(&self, slot: Id, f: impl Fn(Ref<'a>) -> R) -> R {
        match &self.clause.irrefutable {
            Some(head) if head.is_lazy => {
                self.context.with_element(head.elements[slot as usize], f)
            }
            _ => f(self.bindings[slot as usize]),
        }
    }

    /// Returns the place of a variable.
    #[inline(never)]
    fn place(&self, slot: Id) -> Ref<'a> {
        self.with_place(slot, |place| place)
    }

    #[inline]
    fn passes(&self, slot: Id, test: Test) -> bool {
        self.context.passes(self.program, self.place(slot), test)
    }

    /// Appends the value of a variable.
    #[inline(always)]
    fn push_variable(&self, slot: Id, out: &mut Vec<Term>) {
        let small = self.with_place(slot, |place| self.context.small_int(place));
        match small {
            Some(int) => out.push(Term::Int(int)),
            None => self.context.push_other(self.place(slot), out),
        }
    }

    /// Returns whether the value of the expression is exactly `true`.
    pub(crate) fn is_true(&self, id: Id) -> bool {
        self.value(id)
            .is_some_and(|value| self.boolean(&value) == Some(true))
    }

    /// Returns the boolean that a value is.
    #[inline]
    pub(crate) fn boolean(&self, value: &Value<'a>) -> Option<bool> {
        let atom = match value {
            Value::Atom(atom) => *atom,
            // `load` decodes the atoms of all other places.
            Value::Ref(Ref::Key) => self.context.key_term().as_atom()?,
            Value::Owned(term) => term.as_atom()?,
            _ => return None,
        };
        known().as_boolean(atom)
    }

    /// Returns the value of the body; a body cannot fail.
    #[inline(never)]
    pub(crate) fn body(&self) -> Term {
        let exit = || Term::Atom(known().exit);
        match self.program.node(self.clause.body) {
            // Built in place, without an intermediate `Value`.
            Node::Structure(Structure::Tuple, parts) => {
                self.terms(parts).map_or_else(exit, Term::tuple)
            }
            Node::Object => self.context.object_term().into_owned(),
            Node::Variable(slot) => self.context.owned_at(self.place(slot)),
            _ => {
                let value = self.value(self.clause.body);
                value.map_or_else(exit, |value| self.context.owned(value))
            }
        }
    }

    /// Appends the value of the body.
    #[inline(always)]
    pub(crate) fn push_body(&self, values: &mut Vec<Term>) {
        match self.program.node(self.clause.body) {
            Node::Variable(slot) => self.push_variable(slot, values),
            _ => self.push_compound(values),
        }
    }

    /// Appends the value of a compound expression. Not inlined, so that the callers have one inlined append, which
    /// writes the term directly to the vector.
    #[inline(never)]
    fn push_compound(&self, values: &mut Vec<Term>) {
        values.push(self.body());
    }

    /// Returns whether the value of the body is exactly `true`.
    #[inline]
    pub(crate) fn body_is_true(&self) -> bool {
        self.clause.is_true || self.is_true(self.clause.body)
    }

    pub(crate) fn value(&self, id: Id) -> Option<Value<'a>> {
        match self.program.node(id) {
            Node::Constant(constant) => {
                let constant = self.program.constant(constant);
                Some(self.context.load(Ref::Constant(constant)))
            }
            Node::Variable(slot) => Some(self.context.load(self.place(slot))),
            Node::Object => Some(self.context.load(Ref::Object)),
            Node::Test(slot, test) => Some(truth(self.passes(slot, test))),
            Node::Compare(comparison, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                Some(truth(self.compare(comparison, &a, &b)))
            }
            node => self.compound(node),
        }
    }

    #[inline(never)]
    fn compound(&self, node: Node) -> Option<Value<'a>> {
        let value = match node {
            Node::Bindings => Some(self.all_bindings()),
            Node::Structure(structure, parts) => self
                .terms(parts)
                .map(|terms| Value::Owned(structure.build(terms))),
            Node::And(parts) => self.strict(self.values(parts), true),
            Node::Or(parts) => self.strict(self.values(parts), false),
            Node::AndAlso(parts) => self.lazy(parts, false),
            Node::OrElse(parts) => self.lazy(parts, true),
            Node::Call(function, parts) => builtin::call(self, function, self.program.parts(parts)),
            Node::Deep(inner) => self.deep(inner),
            // `value` evaluates the other nodes.
            _ => None,
        };
        self.or_exit(value)
    }

    /// Returns the value of a call or a structure, or of its failure.
    #[inline(always)]
    fn or_exit(&self, value: Option<Value<'a>>) -> Option<Value<'a>> {
        match value {
            None if self.in_body && !cfg!(fyris_mutant = "query_exit_spreads") => {
                Some(Value::Atom(known().exit))
            }
            value => value,
        }
    }

    #[inline(never)]
    fn compare(&self, comparison: Comparison, a: &Value<'a>, b: &Value<'a>) -> bool {
        match comparison {
            Comparison::Exact => self.context.same(a, b),
            Comparison::NotExact => !self.context.same(a, b),
            by_order => by_order.holds(self.context.compare(a, b)),
        }
    }

    fn all_bindings(&self) -> Value<'a> {
        let slots = self.clause.bindings.iter();
        let term = |&slot: &Id| self.context.owned_at(self.place(slot));
        Value::Owned(Term::List(slots.map(term).collect()))
    }

    /// Evaluates the parts of a structure to terms.
    fn terms(&self, parts: Span) -> Option<Vec<Term>> {
        let parts = self.program.parts(parts);
        let mut terms = Vec::with_capacity(parts.len());
        for &part in parts {
            match self.program.node(part) {
                // Decoded into the vector, without an intermediate `Value`.
                Node::Variable(slot) => self.push_variable(slot, &mut terms),
                _ => terms.push(self.context.owned(self.value(part)?)),
            }
        }
        Some(terms)
    }

    fn values(&self, parts: Span) -> impl Iterator<Item = Option<Value<'a>>> {
        self.program
            .parts(parts)
            .iter()
            .map(|&part| self.value(part))
    }

    /// Evaluates `and`, if `start` is true, or `or`: every argument is evaluated and must be a boolean.
    fn strict(
        &self,
        values: impl Iterator<Item = Option<Value<'a>>>,
        start: bool,
    ) -> Option<Value<'a>> {
        let mut all = Some(start);
        for value in values {
            all = match (all, self.boolean(&value?)) {
                (Some(all), Some(one)) => Some(if start { all && one } else { all || one }),
                _ => None,
            };
        }
        all.map(truth)
    }

    /// Evaluates `andalso` and `orelse`: the value is `stop` if an argument is `stop`, else that of the last argument.
    fn lazy(&self, parts: Span, stop: bool) -> Option<Value<'a>> {
        let (&last, first) = self.program.parts(parts).split_last()?;
        for &part in first {
            if self.boolean(&self.value(part)?)? == stop {
                return Some(truth(stop));
            }
        }
        self.value(last)
    }
}

/// Returns the atom `true` or `false`.
#[inline]
pub(crate) fn truth<'a>(value: bool) -> Value<'a> {
    Value::Atom(known().boolean(value))
}
