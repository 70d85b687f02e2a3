//! Evaluates expressions of any depth, without recursion.

use crate::program::{Id, Node, Program};
use crate::run::eval::{Evaluation, builtin, truth};
use crate::run::value::Value;

/// A call or a structure that is being evaluated.
struct OpenNode {
    node: Node,
    /// The number of its parts that were evaluated.
    at: usize,
}

impl OpenNode {
    fn next_part(&self, program: &Program) -> Option<Id> {
        match self.node {
            Node::Compare(_, a, b) => [a, b].get(self.at).copied(),
            Node::Structure(_, parts)
            | Node::Call(_, parts)
            | Node::And(parts)
            | Node::Or(parts)
            | Node::AndAlso(parts)
            | Node::OrElse(parts) => program.parts(parts).get(self.at).copied(),
            _ => None,
        }
    }

    /// Returns the value at which `andalso` and `orelse` stop.
    fn stop(&self) -> Option<bool> {
        match self.node {
            Node::AndAlso(_) => Some(false),
            Node::OrElse(_) => Some(true),
            _ => None,
        }
    }
}

impl<'a> Evaluation<'_, 'a> {
    /// Returns the value of a call or a structure, `None` if it fails: on a stack of its own, as it may be nested
    /// deeper than the thread's has room for.
    #[cold]
    #[inline(never)]
    pub(super) fn deep(&self, outermost: Id) -> Option<Value<'a>> {
        let open = |id| OpenNode {
            node: self.program.node(id),
            at: 0,
        };
        let mut around = vec![open(outermost)];
        // The values so far of all that is open; of `andalso` and `orelse` the last one.
        let mut values = Vec::new();
        while let Some(inner) = around.last_mut() {
            let part = inner.next_part(self.program);
            let known = match (part, inner.stop(), inner.at) {
                (Some(_), Some(stop), 1..) => {
                    let value = values.pop().and_then(|value| self.boolean(&value));
                    (value != Some(!stop)).then_some(value.map(truth))
                }
                (Some(_), ..) => None,
                (None, stop, parts) => {
                    let kept = if stop.is_some() { 1 } else { parts };
                    let parts = values.drain(values.len() - kept..);
                    Some(self.apply(inner.node, parts))
                }
            };
            let value = match (known, part) {
                (None, Some(part)) => {
                    inner.at += 1;
                    if self.program.node(part).has_parts() {
                        around.push(open(part));
                        continue;
                    }
                    self.value(part)?
                }
                (known, _) => {
                    around.pop();
                    self.or_exit(known.flatten())?
                }
            };
            values.push(value);
        }
        values.pop()
    }

    /// Returns the value of a call or a structure of these values.
    fn apply(&self, node: Node, mut values: impl Iterator<Item = Value<'a>>) -> Option<Value<'a>> {
        match node {
            Node::Structure(structure, _) => {
                let terms = values.map(|value| self.context.owned(value)).collect();
                Some(Value::Owned(structure.build(terms)))
            }
            Node::And(_) => self.strict(values.map(Some), true),
            Node::Or(_) => self.strict(values.map(Some), false),
            Node::Compare(comparison, ..) => {
                let (a, b) = (values.next()?, values.next()?);
                Some(truth(self.compare(comparison, &a, &b)))
            }
            Node::Call(function, _) => builtin::apply(self, function, values),
            _ => values.next(),
        }
    }
}
