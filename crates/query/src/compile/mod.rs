//! From the term to the program, with a list of everything that is wrong.
//!
//! Depth is checked first, without recursion; what recurses below is bounded by
//! [`MAX_DEPTH`](fyris_term::MAX_DEPTH).

mod depth;
pub(crate) mod error;
mod irrefutable;
pub(crate) mod key_preservation;
mod prefilter;

use std::sync::OnceLock;

use fyris_term::Term;
use smallvec::SmallVec;

use crate::compile::error::{Place, Problem, ProblemKind, SpecError, brief};
use crate::program::{Clause, Constant, Id, Node, Pattern, Program, Span, Test, kinds};
use crate::syntax::atoms::{is_anything, known, variable};
use crate::syntax::function::{self, Callee, Comparison, Function, NoCall};
use crate::syntax::key_shape;
use depth::is_too_deep;
use irrefutable::irrefutable_head;
use prefilter::prefilter;

/// Parts on their way into a vector.
type Parts = SmallVec<[Id; 8]>;
type Patterns = SmallVec<[Pattern; 8]>;

/// Compiles a whole specification.
pub(crate) fn specification(source: &Term) -> Result<Program, SpecError> {
    let Term::List(clauses) = source else {
        return Err(bad(Place::Spec, ProblemKind::NotAList(brief(source))));
    };
    for (i, clause) in clauses.iter().enumerate() {
        shallow(clause, i + 1)?;
    }
    let mut compiler = Compiler::new(Term::List(clauses.clone()));
    for (i, clause) in clauses.iter().enumerate() {
        compiler.clause(clause, i + 1);
    }
    compiler.finish()
}

/// Compiles a pattern into one clause without guards.
pub(crate) fn pattern(pattern: &Term, body: Term) -> Result<Program, SpecError> {
    if is_too_deep(pattern) {
        return Err(SpecError::SystemLimit(Place::Head(1)));
    }
    let clause = Term::Tuple(vec![pattern.clone(), Term::List(Vec::new()), body]);
    let mut compiler = Compiler::new(Term::List(vec![clause.clone()]));
    compiler.clause(&clause, 1);
    compiler.finish()
}

/// The error for a specification without clauses, where one is needed.
pub(crate) fn no_clause() -> SpecError {
    bad(Place::Spec, ProblemKind::NoClause)
}

/// An error with one problem.
fn bad(place: Place, kind: ProblemKind) -> SpecError {
    SpecError::Bad(vec![Problem { place, kind }])
}

/// Refuses parts that are nested too deep.
fn shallow(clause: &Term, n: usize) -> Result<(), SpecError> {
    let too_deep = |place| Err(SpecError::SystemLimit(place));
    let Term::Tuple(parts) = clause else {
        return if is_too_deep(clause) {
            too_deep(Place::Clause(n))
        } else {
            Ok(())
        };
    };
    let [head, guards, body] = &parts[..] else {
        return if is_too_deep(clause) {
            too_deep(Place::Clause(n))
        } else {
            Ok(())
        };
    };
    if is_too_deep(head) {
        return too_deep(Place::Head(n));
    }
    let lists = [
        (
            guards,
            Place::Guards(n),
            Place::Guard as fn(usize, usize) -> Place,
        ),
        (body, Place::Body(n), Place::Expression),
    ];
    for (list, whole, part) in lists {
        let Term::List(expressions) = list else {
            if is_too_deep(list) {
                return too_deep(whole);
            }
            continue;
        };
        if let Some(deep) = expressions.iter().position(is_too_deep) {
            return too_deep(part(n, deep + 1));
        }
    }
    Ok(())
}

struct Compiler {
    program: Program,
    problems: Vec<Problem>,
    place: Place,
    /// The variables of the clause at hand, in the order of their slots.
    variables: SmallVec<[u32; 8]>,
    /// The constants so far: most of the small ones become part of a larger one, so they are encoded at the end.
    constants: Vec<Term>,
}

impl Compiler {
    fn new(source: Term) -> Compiler {
        Compiler {
            program: Program {
                source,
                clauses: Vec::new(),
                patterns: Vec::new(),
                nodes: Vec::new(),
                node_parts: Vec::new(),
                constants: Vec::new(),
                prefilter: None,
                plan: OnceLock::new(),
            },
            problems: Vec::new(),
            place: Place::Spec,
            variables: SmallVec::new(),
            constants: Vec::new(),
        }
    }

    fn finish(self) -> Result<Program, SpecError> {
        if !self.problems.is_empty() {
            return Err(SpecError::Bad(self.problems));
        }
        let mut program = self.program;
        program.constants = self.constants.into_iter().map(Constant::new).collect();
        program.prefilter = prefilter(
            &program.clauses,
            &program.patterns,
            &program.constants,
            &program.nodes,
        );
        Ok(program)
    }

    fn problem(&mut self, kind: ProblemKind) {
        self.problems.push(Problem {
            place: self.place,
            kind,
        });
    }

    fn clause(&mut self, clause: &Term, n: usize) {
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

    /// A clause, its guards sorted into those that test an element and the others.
    fn compiled(&mut self, head: Pattern, bindings: Vec<Id>, guards: &[Id], body: Id) -> Clause {
        let (mut early, mut late) = (Vec::new(), Parts::new());
        for &guard in guards {
            match self.program.node(guard) {
                Node::Test(slot, test) => match self.element_of(head, slot) {
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
            late: self.node_span(&late),
            prefixes: Vec::new(),
            body,
            is_true,
        }
    }

    /// The element of the head's tuple that binds a slot.
    fn element_of(&self, head: Pattern, slot: Id) -> Option<u32> {
        let Pattern::Tuple { elements, .. } = head else {
            return None;
        };
        let (mut bound, mut found) = (0, None);
        for (i, &element) in elements.of(&self.program.patterns).iter().enumerate() {
            if matches!(element, Pattern::Bind) && bound == slot {
                found = Some(i as u32);
            }
            bound += self.slots_in(element);
        }
        found
    }

    /// How many slots a pattern binds.
    fn slots_in(&self, pattern: Pattern) -> u32 {
        let parts = match pattern {
            Pattern::Bind => return 1,
            Pattern::Tuple { elements, .. } => elements,
            Pattern::Cons(parts) | Pattern::Map(parts) => parts,
            Pattern::Any | Pattern::Same(_) | Pattern::Constant(_) => return 0,
        };
        let parts = parts.of(&self.program.patterns).iter();
        parts.map(|&part| self.slots_in(part)).sum()
    }

    /// The slots, sorted by the numbers of their variables.
    fn bindings(&self) -> Vec<Id> {
        let mut slots: Vec<Id> = (0..self.variables.len() as Id).collect();
        slots.sort_unstable_by_key(|&slot| self.variables[slot as usize]);
        slots
    }

    /// Guards or a body; `None` if it is no list.
    fn expressions(
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

    // ---- patterns

    fn pattern_span(&mut self, parts: &[Pattern]) -> Span {
        let at = self.program.patterns.len() as u32;
        self.program.patterns.extend_from_slice(parts);
        Span {
            at,
            len: parts.len() as u32,
        }
    }

    /// A tuple in a head stays one, even of constants: it is compared with objects element by element.
    fn head(&mut self, term: &Term) -> Pattern {
        let Some(elements) = term.as_tuple() else {
            return self.pattern(term);
        };
        let parts: Patterns = elements
            .iter()
            .map(|element| self.pattern(element))
            .collect();
        let matters = |pattern: &Pattern| !matches!(pattern, Pattern::Any);
        let used = parts.iter().rposition(matters).map_or(0, |last| last + 1) as u32;
        let elements = self.pattern_span(&parts);
        Pattern::Tuple { elements, used }
    }

    fn pattern(&mut self, term: &Term) -> Pattern {
        match term {
            Term::Atom(_) => self.atom_pattern(term),
            Term::Tuple(elements) => self.tuple_pattern(term, elements),
            Term::List(elements) if !elements.is_empty() => {
                self.list_pattern(term, elements, &Term::List(Vec::new()))
            }
            Term::Improper(elements, tail) => self.list_pattern(term, elements, tail),
            Term::Map(map) => self.map_pattern(map.pairs()),
            other => self.constant_pattern(other),
        }
    }

    fn atom_pattern(&mut self, term: &Term) -> Pattern {
        if is_anything(term) {
            return Pattern::Any;
        }
        let Some(number) = variable(term) else {
            return self.constant_pattern(term);
        };
        match self.variables.iter().position(|&known| known == number) {
            Some(slot) => Pattern::Same(slot as Id),
            None => {
                self.variables.push(number);
                Pattern::Bind
            }
        }
    }

    fn constant_pattern(&mut self, term: &Term) -> Pattern {
        Pattern::Constant(self.constant(term.clone()))
    }

    fn constant(&mut self, term: Term) -> Id {
        self.constants.push(term);
        self.constants.len() as Id - 1
    }

    /// Compiles the parts of a pattern. If all are constants these are taken back, and the whole is one.
    fn pattern_parts<'t>(&mut self, parts: impl Iterator<Item = &'t Term>) -> Option<Patterns> {
        let before = self.constants.len();
        let parts: Patterns = parts.map(|part| self.pattern(part)).collect();
        if parts
            .iter()
            .all(|part| matches!(part, Pattern::Constant(_)))
        {
            self.constants.truncate(before);
            return None;
        }
        Some(parts)
    }

    fn tuple_pattern(&mut self, term: &Term, elements: &[Term]) -> Pattern {
        match self.pattern_parts(elements.iter()) {
            Some(parts) => Pattern::Tuple {
                used: parts.len() as u32,
                elements: self.pattern_span(&parts),
            },
            None => self.constant_pattern(term),
        }
    }

    fn list_pattern(&mut self, term: &Term, elements: &[Term], tail: &Term) -> Pattern {
        match self.pattern_parts(elements.iter().chain([tail])) {
            Some(parts) => Pattern::Cons(self.pattern_span(&parts)),
            None => self.constant_pattern(term),
        }
    }

    /// Never a constant, since it matches maps that have more keys.
    fn map_pattern(&mut self, pairs: &[(Term, Term)]) -> Pattern {
        let mut parts = Patterns::new();
        for (key, value) in pairs {
            if variable(key).is_some() || is_anything(key) {
                self.problem(ProblemKind::VariableKey(brief(key)));
            }
            parts.push(self.constant_pattern(key));
            parts.push(self.pattern(value));
        }
        Pattern::Map(self.pattern_span(&parts))
    }

    // ---- expressions

    fn push_node(&mut self, node: Node) -> Id {
        self.program.nodes.push(node);
        self.program.nodes.len() as Id - 1
    }

    fn node_span(&mut self, parts: &[Id]) -> Span {
        let at = self.program.node_parts.len() as u32;
        self.program.node_parts.extend_from_slice(parts);
        Span {
            at,
            len: parts.len() as u32,
        }
    }

    fn expression(&mut self, term: &Term) -> Id {
        let node = match term {
            Term::Atom(_) => self.atom(term),
            Term::Tuple(elements) => self.tuple_or_call(term, elements),
            Term::List(elements) if !elements.is_empty() => {
                self.structure(elements.iter(), Node::List, Term::List)
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

    fn as_constant(&self, id: Id) -> Option<&Term> {
        match self.program.node(id) {
            Node::Constant(constant) => Some(&self.constants[constant as usize]),
            _ => None,
        }
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
            [Term::Tuple(inner)] => self.structure(inner.iter(), Node::Tuple, Term::Tuple),
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

    /// Says why there is no such call, and what is wrong in its arguments.
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

    /// A comparison; one of a variable with a constant is a test.
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

    /// A call; a test of a variable's type is a test.
    fn function(&mut self, function: Function, parts: &[Id]) -> Node {
        if let ([argument], Some(kinds)) = (parts, kinds(function))
            && let Node::Variable(slot) = self.program.node(*argument)
        {
            return Node::Test(slot, Test::Kind(kinds));
        }
        Node::Call(function, self.node_span(parts))
    }

    /// A tuple, list or map; of constants alone it is a constant.
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

/// For every element of a head, should it be the key: how the bytes of that start.
fn prefixes(head: &Term) -> Vec<(u32, Vec<u8>)> {
    let elements = head.as_tuple().unwrap_or(&[]).iter().enumerate();
    elements
        .filter_map(|(i, element)| Some((i as u32, key_shape::prefix_of(element)?)))
        .collect()
}

/// A list whose last part is its tail.
pub(crate) fn improper(mut parts: Vec<Term>) -> Term {
    match parts.pop() {
        Some(tail) => Term::improper(parts, tail),
        None => Term::List(parts),
    }
}

/// A map of keys and values in turn; of equal keys the last counts.
pub(crate) fn map_of(parts: Vec<Term>) -> Term {
    let mut pairs = Vec::with_capacity(parts.len() / 2);
    let mut parts = parts.into_iter();
    while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
        pairs.push((key, value));
    }
    Term::Map(fyris_term::Map::new(pairs))
}
