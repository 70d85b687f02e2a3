//! Terms that come by way of the external format, and what is local in them.
//!
//! Here come bitstrings, funs and terms of other nodes that were not met before, and all kinds that look otherwise than
//! we know.

use fyris::Error;
use fyris_term::etf::{self, DecodeErrorKind};
use fyris_term::{Atom, Fun, Reference, Term as Owned};

use super::{Result, keep};
use crate::kind::node::{self, Foreign, Node, here, this_node};
use crate::kind::{atom, integer, port, reference};
use crate::machine::{Env, Term};

/// Returns a term of a kind that has no form of its own here.
#[cold]
#[inline(never)]
pub(super) fn read(env: Env, term: Term) -> Result<Owned> {
    if let Some(ids) = reference::local_ids(term) {
        return Ok(Owned::Reference(Box::new(ids.reference())));
    }
    if let Some(large) = integer::read(term) {
        return Ok(Owned::integer(large));
    }
    if let Some(port) = port::see(env, term) {
        return Ok(Owned::Port(Box::new(port)));
    }
    if let Some(owned) = node::see(term).and_then(from_foreign) {
        return Ok(owned);
    }
    let owned = by_external(env, term)?;
    remember_node(env, term, &owned);
    if !names_no_node(&owned) {
        keep::met(env, term, &owned);
    }
    Ok(owned)
}

/// Returns a term of another node as we have it.
fn from_foreign(foreign: Foreign) -> Option<Owned> {
    Some(match foreign {
        Foreign::Pid(pid) => Owned::Pid(Box::new(pid)),
        Foreign::Reference((node, creation), ids) => Owned::Reference(Box::new(Reference {
            node: Atom::from_id(node)?,
            creation,
            ids: ids.to_vec(),
        })),
    })
}

/// Remembers the node of a pid or reference of another node.
fn remember_node(env: Env, term: Term, owned: &Owned) {
    let node = match owned {
        Owned::Pid(pid) => (pid.node, pid.creation),
        Owned::Reference(reference) => (reference.node, reference.creation),
        _ => return,
    };
    if is_of_another_node(owned) {
        node::remember(env, term, node);
    }
}

/// Returns a term by way of the external format.
pub(crate) fn by_external(env: Env, term: Term) -> Result<Owned> {
    let external = env.write_external(term);
    let external = external.ok_or_else(|| Error::BadArgument("no room for a term".to_owned()))?;
    if atom::is_known_only() {
        // Local terms bear the name of this node, and may be stored though it was never met.
        this_node(env);
    }
    let mut owned = decode(&external)?;
    if names(&owned, here()) {
        return Err(Error::BadArgument(format!(
            "a term of a node called {}",
            here().as_str()
        )));
    }
    match &mut owned {
        Owned::Reference(reference) if reference::is_local(term) => {
            (reference.node, reference.creation) = (here(), 0);
        }
        other if names_no_node(other) || is_foreign(other, term) => {}
        other => {
            if let Some(this) = this_node(env) {
                move_node(other, this, (here(), 0));
            }
        }
    }
    Ok(owned)
}

/// Returns whether a term, which is no local reference, is known to be of another node and to have no parts. Local pids
/// and ports are single words.
fn is_foreign(owned: &Owned, term: Term) -> bool {
    match owned {
        Owned::Pid(_) => term.is_boxed(),
        Owned::Port(_) => term.is_boxed() && port::are_known(),
        Owned::Reference(_) => reference::known()[0],
        _ => false,
    }
}

/// Returns whether a term is of a kind that is the same on every node.
fn names_no_node(owned: &Owned) -> bool {
    match owned {
        Owned::Big(_) | Owned::Bits(_) => true,
        Owned::Fun(fun) => matches!(**fun, Fun::External { .. }),
        _ => false,
    }
}

fn decode(external: &[u8]) -> Result<Owned> {
    let decoded = match atom::is_known_only() {
        true => etf::decode_known(external),
        false => etf::decode(external),
    };
    decoded.map_err(|error| match error.kind() {
        DecodeErrorKind::UnknownAtom(_) => atom::no_more(),
        DecodeErrorKind::Atom(error) => Error::Atom(error.clone()),
        _ => Error::BadArgument(error.to_string()),
    })
}

/// Returns the machine's term for one of those.
#[cold]
pub(super) fn make(env: Env, owned: &Owned) -> Term {
    let local = match owned {
        Owned::Reference(reference) => reference::make_by_external(env, reference),
        Owned::Port(port) => port::make(port.node.id(), port.creation, port.id),
        _ => None,
    };
    if let Some(term) = local {
        return term;
    }
    let term = if names_no_node(owned) || is_of_another_node(owned) {
        env.encoded(owned)
    } else {
        let mut owned = owned.clone();
        if let Some(this) = this_node(env) {
            move_node(&mut owned, (here(), 0), this);
        }
        env.encoded(&owned)
    };
    let term = term.expect("a term that came from this machine");
    remember_node(env, term, owned);
    term
}

/// Returns whether a term is stored under the name of another node, and has no parts.
fn is_of_another_node(owned: &Owned) -> bool {
    match owned {
        Owned::Pid(pid) => pid.node != here(),
        Owned::Port(port) => port.node != here(),
        Owned::Reference(reference) => reference.node != here(),
        _ => false,
    }
}

/// Returns whether a term has a part of a node with this name.
fn names(term: &Owned, name: Atom) -> bool {
    let mut found = false;
    term.each(|part| {
        found |= match part {
            Owned::Pid(pid) => pid.node == name,
            Owned::Port(port) => port.node == name,
            Owned::Reference(reference) => reference.node == name,
            Owned::Fun(fun) => match &**fun {
                Fun::Local(fun) => fun.creator.node == name,
                Fun::External { .. } => false,
            },
            _ => false,
        };
    });
    found
}

/// Gives what is of node `from` in a term to node `to`.
fn move_node(term: &mut Owned, from: Node, to: Node) {
    let turn = |node: &mut Atom, creation: &mut u32| {
        if (*node, *creation) == from {
            (*node, *creation) = to;
        }
    };
    *term = term.changed(|part| match part {
        // Local pids by themselves do not come this way; those in closures keep their numbers.
        Owned::Pid(pid) => turn(&mut pid.node, &mut pid.creation),
        Owned::Port(port) => turn(&mut port.node, &mut port.creation),
        Owned::Reference(reference) => turn(&mut reference.node, &mut reference.creation),
        Owned::Fun(fun) => {
            if let Fun::Local(fun) = &mut **fun {
                turn(&mut fun.creator.node, &mut fun.creator.creation);
            }
        }
        _ => {}
    });
}
