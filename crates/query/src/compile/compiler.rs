//! The state of a compilation.

use std::sync::OnceLock;

use fyris_term::Term;
use smallvec::SmallVec;

use crate::compile::error::{Place, Problem, ProblemKind};
use crate::program::{Id, Node, Program};

/// A program under construction, and the problems found so far.
pub(super) struct Compiler {
    pub(super) program: Program,
    pub(super) problems: Vec<Problem>,
    pub(super) place: Place,
    /// The variables of the current clause, in the order of their slots.
    pub(super) variables: SmallVec<[u32; 8]>,
    /// The slots that elements of the current head's tuple bind: slot and element, counted from 0.
    pub(super) places: SmallVec<[(Id, u32); 8]>,
    /// The constants so far. They are encoded at the end.
    pub(super) constants: Vec<Term>,
}

impl Compiler {
    /// Returns an empty compiler; the source comes in at the end, which is when it may be moved.
    pub(super) fn new() -> Compiler {
        Compiler {
            program: Program {
                source: Term::list(Vec::new()),
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
            places: SmallVec::new(),
            constants: Vec::new(),
        }
    }

    pub(super) fn problem(&mut self, kind: ProblemKind) {
        self.problems.push(Problem {
            place: self.place,
            kind,
        });
    }

    pub(super) fn constant(&mut self, term: Term) -> Id {
        self.constants.push(term);
        self.constants.len() as Id - 1
    }

    pub(super) fn push_node(&mut self, node: Node) -> Id {
        self.program.nodes.push(node);
        self.program.nodes.len() as Id - 1
    }

    pub(super) fn as_constant(&self, id: Id) -> Option<&Term> {
        match self.program.node(id) {
            Node::Constant(constant) => Some(&self.constants[constant as usize]),
            _ => None,
        }
    }
}
