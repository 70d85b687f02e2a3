//! Compiles guards and bodies to nodes.

use fyris_term::Term;
use smallvec::SmallVec;

use crate::compile::compiler::Compiler;
use crate::compile::error::{Place, ProblemKind, brief};
use crate::program::{Id, Node, Span, Test, kinds};
use crate::syntax::atoms::{known, variable};
use crate::syntax::function::{self, Callee, Comparison, Function, NoCall};

/// The parts of a node under construction.
pub(super) type Parts = SmallVec<[Id; 8]>;

impl Compiler {
    /// Compiles guards or a body; `None` if the term is no list.
    pub(super) fn expressions(
        &mut self,
        list: &Term,
        whole: Place,
        place: impl Fn(usize) -> Place,
    ) -> Option<Parts> {
        let Term::List(expressions) = list else {
            self.place = whole;
            self.problem(ProblemKind::NotAList(brief(list)));
            return None;
        };
        let mut nodes = Parts::new();
        for (i, expression) in expressions.iter().enumerate() {
            self.place = place(i + 1);
            nodes.push(self.expression(expression));
        }
        Some(nodes)
    }

    fn expression(&mut self, term: &Term) -> Id {
        let node = match term {
            Term::Atom(_) => self.atom(term),
            Term::Tuple(elements) => self.tuple_or_call(term, elements),
            Term::List(elements) if !elements.is_empty() => {
                self.structure(elements.iter(), Node::List, Term::list)
            }
            Term::Improper(elements, tail) => {
                let parts = elements.iter().chain([&**tail]);
                self.structure(parts, Node::Improper, improper)
            }
            Term::Map(map) => {
                let parts = map.pairs().iter().flat_map(|(key, value)| [key, value]);
                self.structure(parts, Node::Map, map_of)
            }
            other => self.constant_node(other.clone()),
        };
        self.push_node(node)
    }

    fn constant_node(&mut self, term: Term) -> Node {
        Node::Constant(self.constant(term))
    }

    fn atom(&mut self, term: &Term) -> Node {
        if term.as_atom() == Some(known().object) {
            return Node::Object;
        }
        if term.as_atom() == Some(known().bindings) {
            return Node::Bindings;
        }
        let Some(number) = variable(term) else {
            return self.constant_node(term.clone());
        };
        match self.variables.iter().position(|&known| known == number) {
            Some(slot) => Node::Variable(slot as Id),
            None => {
                self.problem(ProblemKind::Unbound(brief(term)));
                Node::Object
            }
        }
    }

    fn tuple_or_call(&mut self, term: &Term, elements: &[Term]) -> Node {
        match elements {
            [Term::Tuple(inner)] => self.structure(inner.iter(), Node::Tuple, Term::tuple),
            [Term::Atom(name), arguments @ ..] => {
                match function::lookup(name.as_str(), arguments.len()) {
                    Ok(callee) => self.call(callee, arguments),
                    Err(why) => {
                        self.no_call(term, why, arguments);
                        Node::Object
                    }
                }
            }
            _ => {
                self.problem(ProblemKind::NotACall(brief(term)));
                Node::Object
            }
        }
    }

    /// Reports why a call is refused.
    fn no_call(&mut self, term: &Term, why: NoCall, arguments: &[Term]) {
        let name = term.as_tuple().and_then(|elements| elements.first());
        let name = name.map(brief).unwrap_or_default();
        self.problem(match why {
            NoCall::Unknown => ProblemKind::UnknownFunction(format!("{name}/{}", arguments.len())),
            NoCall::OnlyForTracing => ProblemKind::OnlyForTracing(name),
            NoCall::Arity(expected) => ProblemKind::Arity {
                name,
                expected,
                found: arguments.len(),
            },
        });
    }

    fn call(&mut self, callee: Callee, arguments: &[Term]) -> Node {
        if callee == Callee::Const {
            return self.constant_node(arguments[0].clone());
        }
        let parts: Parts = arguments
            .iter()
            .map(|argument| self.expression(argument))
            .collect();
        match callee {
            Callee::Function(function) => self.function(function, &parts),
            Callee::Compare(comparison) => self.comparison(comparison, parts[0], parts[1]),
            Callee::And => Node::And(self.node_span(&parts)),
            Callee::Or => Node::Or(self.node_span(&parts)),
            Callee::AndAlso => Node::AndAlso(self.node_span(&parts)),
            Callee::OrElse | Callee::Const => Node::OrElse(self.node_span(&parts)),
        }
    }

    /// Makes a comparison; that of a variable with a constant is a test.
    fn comparison(&mut self, comparison: Comparison, a: Id, b: Id) -> Node {
        match (self.program.node(a), self.program.node(b)) {
            (Node::Variable(slot), Node::Constant(constant)) => {
                Node::Test(slot, Test::Compare(comparison, constant))
            }
            (Node::Constant(constant), Node::Variable(slot)) => {
                Node::Test(slot, Test::Compare(comparison.mirrored(), constant))
            }
            _ => Node::Compare(comparison, a, b),
        }
    }

    /// Makes a call; a type test of a variable is a test.
    fn function(&mut self, function: Function, parts: &[Id]) -> Node {
        if let ([argument], Some(kinds)) = (parts, kinds(function))
            && let Node::Variable(slot) = self.program.node(*argument)
        {
            return Node::Test(slot, Test::Kind(kinds));
        }
        Node::Call(function, self.node_span(parts))
    }

    /// Makes a tuple, list or map; if all parts are constants, it is a constant.
    fn structure<'t>(
        &mut self,
        parts: impl Iterator<Item = &'t Term>,
        node: fn(Span) -> Node,
        build: fn(Vec<Term>) -> Term,
    ) -> Node {
        let (nodes, constants) = (self.program.nodes.len(), self.constants.len());
        let ids: Parts = parts.map(|part| self.expression(part)).collect();
        let terms: Option<Vec<Term>> = ids
            .iter()
            .map(|&id| self.as_constant(id).cloned())
            .collect();
        match terms {
            Some(terms) => {
                self.program.nodes.truncate(nodes);
                self.constants.truncate(constants);
                self.constant_node(build(terms))
            }
            None => node(self.node_span(&ids)),
        }
    }
}

/// Builds a list whose last part is its tail.
fn improper(mut parts: Vec<Term>) -> Term {
    match parts.pop() {
        Some(tail) => Term::improper(parts, tail),
        None => Term::list(parts),
    }
}

/// Builds a map of keys and values in turn; of equal keys the last counts.
fn map_of(parts: Vec<Term>) -> Term {
    let mut pairs = Vec::with_capacity(parts.len() / 2);
    let mut parts = parts.into_iter();
    while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
        pairs.push((key, value));
    }
    Term::Map(fyris_term::Map::new(pairs))
}
