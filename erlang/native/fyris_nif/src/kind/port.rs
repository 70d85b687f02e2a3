//! Local ports: the machine's word, and the number that orders them.

use std::sync::OnceLock;

use fyris_term::{Port, Term as Owned};

use super::node::here;
use crate::load::Samples;
use crate::machine::{Env, Term};

/// Low bits of the machine's word for a local port that are its number; above is its place in the port table.
const NUMBER_BITS: u32 = 28;

/// Whether the machine's words for ports are laid out so, once a local port was seen.
static IS_SO: OnceLock<bool> = OnceLock::new();

/// Returns whether ports are as expected; false before one was seen.
pub(crate) fn are_known() -> bool {
    IS_SO.get() == Some(&true)
}

/// Returns a local port as it is stored: its number, which orders it among others, and one more than its place in the
/// port table, which only the machine needs; zero stands for a port that came by way of the external format.
fn local_port(id: u64) -> Port {
    Port {
        node: here(),
        id: id & ((1 << NUMBER_BITS) - 1),
        creation: (id >> NUMBER_BITS) as u32 + 1,
    }
}

/// Returns a local port; `None` for anything else, and where ports are otherwise than we know.
#[inline]
pub(crate) fn see(env: Env, term: Term) -> Option<Port> {
    let port = local_port(term.local_port()?);
    let is_so = || matches!(env.decoded(term), Some(Owned::Port(told)) if told.id == port.id);
    IS_SO.get_or_init(is_so).then_some(port)
}

/// Returns the machine's local port from its stored form; `None` for a foreign one, and for one that came by way of the
/// external format.
#[inline]
pub(crate) fn make(node: u32, creation: u32, id: u64) -> Option<Term> {
    let place = u64::from(creation).checked_sub(1)?;
    (node == here().id()).then(|| Term::from_local_port(place << NUMBER_BITS | id))
}

/// Learns whether ports are as expected, if there is one.
pub(super) fn learn(env: Env, samples: &Samples) {
    if let Some(&port) = samples.ports.first() {
        see(env, port);
    }
}
