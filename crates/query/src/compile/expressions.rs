//! Compiles guards and bodies to nodes.

use std::convert::Infallible;
use std::marker::PhantomData;

use fyris_term::walk::{Grow, Next, Part, Parts, grow};
use fyris_term::{Atom, Term};
use smallvec::SmallVec;

use crate::compile::compiler::Compiler;
use crate::compile::error::{Place, ProblemKind, brief};
use crate::program::{Id, Node, Span, Test, kinds};
use crate::syntax::atoms::{known, variable};
use crate::syntax::function::{self, Callee, Comparison, NoCall};
use crate::syntax::structure::Structure;

/// The guards of a clause, or the expressions of its body.
pub(super) type Nodes = SmallVec<[Id; 8]>;

/// The levels of calls and structures that are evaluated by recursion.
const DIRECT: usize = 16;

impl Compiler {
    /// Compiles guards or a body; `None` if the term is no list.
    pub(super) fn expressions(
        &mut self,
        list: &Term,
        whole: Place,
        place: impl Fn(usize) -> Place,
    ) -> Option<Nodes> {
        let Term::List(expressions) = list else {
            self.place = whole;
            self.problem(ProblemKind::NotAList(brief(list)));
            return None;
        };
        let mut nodes = Nodes::new();
        for (i, expression) in expressions.iter().enumerate() {
            self.place = place(i + 1);
            nodes.push(self.expression(expression));
        }
        Some(nodes)
    }

    fn expression(&mut self, term: &Term) -> Id {
        let made = match self.begin_expression(term) {
            Part::Leaf(made) => made,
            Part::Open(open) => {
                let mut expressions = Expressions {
                    compiler: self,
                    terms: PhantomData,
                    made: SmallVec::new(),
                    depth: 0,
                };
                let Ok(made) = grow(&mut expressions, open);
                made
            }
        };
        self.node_of(made)
    }

    fn begin_expression<'t>(&mut self, term: &'t Term) -> Part<MadeNode, OpenCall<'t>> {
        if let Some((structure, parts)) = Structure::of(term) {
            return Part::Open(OpenCall::new(Form::Structure(structure), parts));
        }
        Part::Leaf(match term {
            Term::Atom(_) => self.atom(term),
            Term::Tuple(elements) => return self.call(term, elements),
            other => MadeNode::Constant(other.clone()),
        })
    }

    fn atom(&mut self, term: &Term) -> MadeNode {
        if term.as_atom() == Some(known().object) {
            return MadeNode::Node(Node::Object);
        }
        if term.as_atom() == Some(known().bindings) {
            return MadeNode::Node(Node::Bindings);
        }
        let Some(number) = variable(term) else {
            return MadeNode::Constant(term.clone());
        };
        match self.variables.iter().position(|&known| known == number) {
            Some(slot) => MadeNode::Node(Node::Variable(slot as Id)),
            None => self.refused(ProblemKind::Unbound(brief(term))),
        }
    }

    fn call<'t>(&mut self, term: &'t Term, elements: &'t [Term]) -> Part<MadeNode, OpenCall<'t>> {
        let [Term::Atom(name), arguments @ ..] = elements else {
            return Part::Leaf(self.refused(ProblemKind::NotACall(brief(term))));
        };
        Part::Leaf(match function::lookup(name.as_str(), arguments.len()) {
            Ok(Callee::Const) => MadeNode::Constant(arguments[0].clone()),
            Ok(callee) => {
                return Part::Open(OpenCall::new(
                    Form::Call(*name, callee),
                    Parts::Terms(arguments),
                ));
            }
            Err(why) => self.no_call(*name, why, arguments.len()),
        })
    }

    /// Reports why a call is refused.
    fn no_call(&mut self, name: Atom, why: NoCall, found: usize) -> MadeNode {
        let name = brief(&Term::Atom(name));
        self.refused(match why {
            NoCall::Unknown => ProblemKind::UnknownFunction(format!("{name}/{found}")),
            NoCall::OnlyForTracing => ProblemKind::OnlyForTracing(name),
            NoCall::Arity(expected) => ProblemKind::Arity {
                name,
                expected,
                found,
            },
        })
    }

    /// Reports a problem, and returns a node in the place of what has it.
    fn refused(&mut self, problem: ProblemKind) -> MadeNode {
        self.problem(problem);
        MadeNode::Node(Node::Object)
    }

    fn node_of(&mut self, made: MadeNode) -> Id {
        let node = match made {
            MadeNode::Constant(term) => Node::Constant(self.constant(term)),
            MadeNode::Node(node) => node,
        };
        self.push_node(node)
    }

    pub(super) fn node_span(&mut self, parts: impl IntoIterator<Item = Id>) -> Span {
        let at = self.program.node_parts.len();
        self.program.node_parts.extend(parts);
        Span::between(at, self.program.node_parts.len())
    }

    fn spanned(&mut self, parts: impl Iterator<Item = MadeNode>) -> Span {
        let at = self.program.node_parts.len();
        for made in parts {
            let node = self.node_of(made);
            self.program.node_parts.push(node);
        }
        Span::between(at, self.program.node_parts.len())
    }

    /// Makes a comparison; that of a variable with a constant is a test.
    fn comparison(&mut self, comparison: Comparison, a: MadeNode, b: MadeNode) -> Node {
        match (a, b) {
            (MadeNode::Node(Node::Variable(slot)), MadeNode::Constant(term)) => {
                Node::Test(slot, Test::Compare(comparison, self.constant(term)))
            }
            (MadeNode::Constant(term), MadeNode::Node(Node::Variable(slot))) => {
                let comparison = comparison.mirrored();
                Node::Test(slot, Test::Compare(comparison, self.constant(term)))
            }
            (a, b) => Node::Compare(comparison, self.node_of(a), self.node_of(b)),
        }
    }
}

/// What a part of an expression was compiled to.
enum MadeNode {
    /// Its value is always this term. It becomes a constant, or a part of a larger one.
    Constant(Term),
    Node(Node),
}

/// A structure or a call.
#[derive(Clone, Copy)]
enum Form {
    Structure(Structure),
    Call(Atom, Callee),
}

/// A structure or a call that is being compiled.
struct OpenCall<'t> {
    form: Form,
    parts: Parts<'t>,
    at: usize,
    /// The number of its parts that were made.
    made: usize,
}

impl<'t> OpenCall<'t> {
    fn new(form: Form, parts: Parts<'t>) -> OpenCall<'t> {
        OpenCall {
            form,
            parts,
            at: 0,
            made: 0,
        }
    }

    /// Goes on with the arguments of the last argument if this is `andalso` or `orelse`, and that as well: the value of
    /// `{'andalso', A, {'andalso', B, C}}`, which is what `fun2ms` writes, is that of `{'andalso', A, B, C}`.
    fn unfold(&mut self) {
        let Form::Call(name, Callee::AndAlso | Callee::OrElse) = self.form else {
            return;
        };
        while let (Some(Term::Tuple(last)), None) =
            (self.parts.get(self.at), self.parts.get(self.at + 1))
            && let [Term::Atom(inner), arguments @ ..] = &last[..]
            && *inner == name
            && !arguments.is_empty()
        {
            (self.parts, self.at) = (Parts::Terms(arguments), 0);
        }
    }
}

/// Compiles expressions of any depth from the leaves up.
struct Expressions<'c, 't> {
    compiler: &'c mut Compiler,
    terms: PhantomData<&'t Term>,
    /// The parts made so far of all that is open.
    made: SmallVec<[MadeNode; 8]>,
    /// The structures and calls around the place.
    depth: usize,
}

impl Expressions<'_, '_> {
    /// Makes a call.
    fn call(&mut self, callee: Callee, from: usize) -> Node {
        if let Callee::Compare(comparison) = callee
            && let (Some(b), Some(a)) = (self.made.pop(), self.made.pop())
        {
            return self.compiler.comparison(comparison, a, b);
        }
        // A type test of a variable is a test.
        if let Callee::Function(function) = callee
            && let ([MadeNode::Node(Node::Variable(slot))], Some(kinds)) =
                (&self.made[from..], kinds(function))
        {
            let slot = *slot;
            self.made.truncate(from);
            return Node::Test(slot, Test::Kind(kinds));
        }
        let parts = self.compiler.spanned(self.made.drain(from..));
        match callee {
            Callee::Function(function) => Node::Call(function, parts),
            Callee::And => Node::And(parts),
            Callee::Or => Node::Or(parts),
            Callee::AndAlso => Node::AndAlso(parts),
            Callee::OrElse | Callee::Compare(_) | Callee::Const => Node::OrElse(parts),
        }
    }

    /// Makes a tuple, list or map; if all parts are constants, it is a constant.
    fn structure(&mut self, structure: Structure, from: usize) -> MadeNode {
        let mut parts = self.made[from..].iter();
        if !parts.all(|part| matches!(part, MadeNode::Constant(_))) {
            let parts = self.compiler.spanned(self.made.drain(from..));
            return MadeNode::Node(Node::Structure(structure, parts));
        }
        let terms = self.made.drain(from..).filter_map(|part| match part {
            MadeNode::Constant(term) => Some(term),
            MadeNode::Node(_) => None,
        });
        MadeNode::Constant(structure.build(terms.collect()))
    }
}

impl<'t> Grow for Expressions<'_, 't> {
    type Out = MadeNode;
    type Frame = OpenCall<'t>;
    type Error = Infallible;

    fn part(&mut self, open: &mut OpenCall<'t>) -> Next<Self> {
        open.unfold();
        let Some(part) = open.parts.get(open.at) else {
            return Ok(None);
        };
        open.at += 1;
        open.made += 1;
        let part = self.compiler.begin_expression(part);
        self.depth += usize::from(matches!(part, Part::Open(_)));
        Ok(Some(part))
    }

    fn put(&mut self, _open: &mut OpenCall<'t>, part: MadeNode) {
        self.made.push(part);
    }

    fn finish(&mut self, open: OpenCall<'t>) -> Result<MadeNode, Infallible> {
        let from = self.made.len() - open.made;
        let mut made = match open.form {
            Form::Structure(structure) => self.structure(structure, from),
            Form::Call(_, callee) => MadeNode::Node(self.call(callee, from)),
        };
        if let (DIRECT, MadeNode::Node(node)) = (self.depth, &made)
            && node.has_parts()
        {
            made = MadeNode::Node(Node::Deep(self.compiler.push_node(*node)));
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(made)
    }
}
