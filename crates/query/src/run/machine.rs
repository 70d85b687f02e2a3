//! The machine that a run is on: its processes, nodes and clock.

use fyris_term::{Atom, Pid, Term};

use crate::syntax::atoms::known;

/// The process and the node that run a specification: the values of `{self}` and `{node}`. Cheap to make; may be
/// shared and reused.
#[derive(Debug, Clone)]
pub struct Machine {
    caller: Term,
    node: Term,
    /// The node name that stored terms of this node carry.
    written: Atom,
}

impl Machine {
    /// Makes the machine of the process `caller`, on its node.
    pub fn new(caller: Pid) -> Machine {
        Machine {
            node: Term::Atom(caller.node),
            written: caller.node,
            caller: Term::Pid(Box::new(caller)),
        }
    }

    /// Returns the machine with another name for its node, where stored pids, ports and references of the node carry
    /// the name in the caller's pid.
    pub fn called(self, node: Atom) -> Machine {
        Machine {
            node: Term::Atom(node),
            ..self
        }
    }

    /// Returns the name of the node of a pid, port or reference that carries the name `written`.
    pub(crate) fn name_of(&self, written: Atom) -> Atom {
        match self.node {
            Term::Atom(name) if written == self.written => name,
            _ => written,
        }
    }

    /// Returns the value of `{self}`.
    pub(crate) fn caller(&self) -> &Term {
        &self.caller
    }

    /// Returns the value of `{node}`.
    pub(crate) fn node(&self) -> &Term {
        &self.node
    }
}

impl Default for Machine {
    /// Makes the machine of `<0.0.0>` on a node without a name.
    fn default() -> Machine {
        Machine::new(Pid {
            node: known().no_node,
            id: 0,
            serial: 0,
            creation: 0,
        })
    }
}
