//! What a run can ask about the world around it.

use fyris_term::{Pid, Term};

use crate::atoms::known;

/// Who runs a specification: the answers to `{self}` and `{node}`. Cheap to make; may be shared and reused.
#[derive(Debug, Clone)]
pub struct Machine {
    caller: Term,
    node: Term,
}

impl Machine {
    /// A run by `caller`, on the caller's node.
    pub fn new(caller: Pid) -> Machine {
        Machine {
            node: Term::Atom(caller.node),
            caller: Term::Pid(Box::new(caller)),
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
