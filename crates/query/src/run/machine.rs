//! What a run can ask about the machine it is on.

use fyris_term::{Atom, Pid, Term};

use crate::syntax::atoms::known;

/// Who runs a specification: the answers to `{self}` and `{node}`. Cheap to make; may be shared and reused.
#[derive(Debug, Clone)]
pub struct Machine {
    caller: Term,
    node: Term,
    /// What terms have in the place of the node's name.
    written: Atom,
}

impl Machine {
    /// A run by `caller`, on the caller's node.
    pub fn new(caller: Pid) -> Machine {
        Machine {
            node: Term::Atom(caller.node),
            written: caller.node,
            caller: Term::Pid(Box::new(caller)),
        }
    }

    /// The same on a node whose name is this one, where pids, ports and references of the node bear another name
    /// (the caller's pid shows which).
    pub fn called(self, node: Atom) -> Machine {
        Machine {
            node: Term::Atom(node),
            ..self
        }
    }

    /// The name of a node that a term bears.
    pub(crate) fn name_of(&self, written: Atom) -> Atom {
        match self.node {
            Term::Atom(name) if written == self.written => name,
            _ => written,
        }
    }

    /// The value of `{self}`.
    pub(crate) fn caller(&self) -> &Term {
        &self.caller
    }

    /// The value of `{node}`.
    pub(crate) fn node(&self) -> &Term {
        &self.node
    }
}

impl Default for Machine {
    /// A run by nobody in particular: `<0.0.0>` of a node without a name.
    fn default() -> Machine {
        Machine::new(Pid {
            node: known().no_node,
            id: 0,
            serial: 0,
            creation: 0,
        })
    }
}
