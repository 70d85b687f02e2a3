//! Compiles clauses.

use fyris_term::Term;

use crate::compile::compiler::Compiler;
use crate::compile::error::{Place, ProblemKind, brief};
use crate::compile::expressions::Nodes;
use crate::compile::irrefutable::irrefutable_head;
use crate::program::{Clause, Id, Node, Pattern};
use crate::syntax::atoms::known;
use crate::syntax::key_shape;

impl Compiler {
    pub(super) fn clause(&mut self, clause: &Term, n: usize) {
        self.place = Place::Clause(n);
        let Some([head, guards, body]) = clause.as_tuple() else {
            return self.problem(ProblemKind::NotAClause(brief(clause)));
        };
        self.variables.clear();
        self.place = Place::Head(n);
        let prefixes = prefixes(head);
        let head = self.head(head);
        let bindings = self.bindings();
        let guards = self.expressions(guards, Place::Guards(n), |i| Place::Guard(n, i));
        let body = self.expressions(body, Place::Body(n), |i| Place::Expression(n, i));
        let (Some(guards), Some(body)) = (guards, body) else {
            return;
        };
        match body.last() {
            Some(&body) => {
                let mut clause = self.compiled(head, bindings, &guards, body);
                clause.prefixes = prefixes;
                self.program.clauses.push(clause);
            }
            None => {
                self.place = Place::Body(n);
                self.problem(ProblemKind::EmptyBody);
            }
        }
    }

    /// Makes the clause: the guards that test an element become early tests, the others stay nodes.
    fn compiled(&mut self, head: Pattern, bindings: Vec<Id>, guards: &[Id], body: Id) -> Clause {
        let (mut early, mut late) = (Vec::new(), Nodes::new());
        for &guard in guards {
            match self.program.node(guard) {
                Node::Test(slot, test) => match self.element_of(slot) {
                    Some(element) => early.push((element, test)),
                    None => late.push(guard),
                },
                _ => late.push(guard),
            }
        }
        early.sort_by_key(|&(element, _)| element);
        let is_true = self.as_constant(body).and_then(Term::as_atom) == Some(known().r#true);
        let reads = !matches!(self.program.node(body), Node::Constant(_) | Node::Object);
        Clause {
            head,
            irrefutable: irrefutable_head(head, &self.program.patterns, reads || !late.is_empty()),
            bindings,
            early,
            late: self.node_span(late),
            prefixes: Vec::new(),
            body,
            is_true,
        }
    }

    /// Returns the element of the head's tuple that binds a slot, counted from 0.
    fn element_of(&self, slot: Id) -> Option<u32> {
        let place = self.places.iter().find(|(bound, _)| *bound == slot)?;
        Some(place.1)
    }

    /// Returns the slots, sorted by the numbers of their variables.
    fn bindings(&self) -> Vec<Id> {
        let mut slots: Vec<Id> = (0..self.variables.len() as Id).collect();
        slots.sort_unstable_by_key(|&slot| self.variables[slot as usize]);
        slots
    }
}

/// Returns, for each element of a head that is a pattern with parts, the prefix of the order bytes of a matching key.
fn prefixes(head: &Term) -> Vec<(u32, Vec<u8>)> {
    let elements = head.as_tuple().unwrap_or(&[]).iter().enumerate();
    elements
        .filter_map(|(i, element)| Some((i as u32, key_shape::prefix_of(element)?)))
        .collect()
}
