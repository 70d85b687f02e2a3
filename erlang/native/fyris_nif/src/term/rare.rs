//! Terms that come by way of the external format, and what is local in them.

use std::sync::{LazyLock, OnceLock};

use fyris::Error;
use fyris_term::{Atom, Fun, Map, Pid, Reference, Term as Owned, etf};

use super::{Result, keep};
use crate::atoms;
use crate::sys::{self, Env, Term};

/// Our atom for the machine's.
#[inline]
pub(super) fn atom(env: Env, term: Term) -> Result<Atom> {
    atoms::from_machine(env, term).ok_or_else(no_more)
}

#[cold]
fn no_more() -> Error {
    Error::BadArgument("no more atoms".to_owned())
}

/// The node that local things are stored under.
pub(super) fn here() -> Atom {
    static HERE: LazyLock<Atom> =
        LazyLock::new(|| Atom::new("nonode@nohost\u{1}").expect("a short name"));
    *HERE
}

/// Low bits of the machine's word for a local pid that are its two numbers; above is its place in the process table.
const BOTH_BITS: u32 = 31;
/// Bits of a pid's number; the rest is its serial number.
const NUMBER_BITS: u32 = 15;

/// A local pid as it is stored: its two numbers, which order it among others, and its place in the process table, which
/// only the machine needs.
pub(super) fn local_pid(id: u64) -> Pid {
    let (numbers, place) = (id & ((1 << BOTH_BITS) - 1), id >> BOTH_BITS);
    Pid {
        node: here(),
        id: numbers as u32 & ((1 << NUMBER_BITS) - 1),
        serial: (numbers >> NUMBER_BITS) as u32,
        creation: place as u32,
    }
}

/// The machine's local pid from its stored form; `None` for a foreign one.
pub(super) fn from_local_pid(pid: &Pid) -> Option<Term> {
    let numbers = u64::from(pid.serial) << NUMBER_BITS | u64::from(pid.id);
    let id = u64::from(pid.creation) << BOTH_BITS | numbers;
    (pid.node == here()).then(|| Term::from_local_pid(id))
}

/// A term of a kind that has no form of its own here.
#[cold]
#[inline(never)]
pub(super) fn read(env: Env, term: Term) -> Result<Owned> {
    if let Some(numbers) = env
        .plain_reference(term)
        .filter(|_| *NUMBERS_ARE_KNOWN.get_or_init(|| knows_numbers(env)))
    {
        return Ok(Owned::Reference(Box::new(local_reference(numbers))));
    }
    let external = env.write_external(term).ok_or(Error::TooDeep)?;
    let mut owned = decode(&external)?;
    if let Some(this) = this_node(env) {
        move_node(&mut owned, this, (here(), 0));
    }
    keep::met(env, term, &owned);
    Ok(owned)
}

/// Terms of fewer bytes are not deep.
const SHALLOW: usize = 512;
/// Room for a decoder at any depth.
const STACK: usize = 4 << 20;

/// The term of an external format. The stack of a scheduler for long work does not hold the decoder of a fun that has
/// captured a term a thousand levels deep, so there a thread with a stack of its own does it.
fn decode(external: &[u8]) -> Result<Owned> {
    let decode = || etf::decode(external).map_err(|error| Error::BadArgument(error.to_string()));
    if external.len() <= SHALLOW || !sys::has_small_stack() {
        return decode();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let decoder = thread.spawn_scoped(scope, decode);
        let decoded = decoder.map_err(|_| Error::TooDeep)?.join();
        decoded.unwrap_or(Err(Error::TooDeep))
    })
}

fn local_reference(numbers: [u32; 3]) -> Reference {
    Reference {
        node: here(),
        creation: 0,
        ids: numbers.to_vec(),
    }
}

/// Whether the numbers in the words of references are those of their external format.
static NUMBERS_ARE_KNOWN: OnceLock<bool> = OnceLock::new();

#[cold]
fn knows_numbers(env: Env) -> bool {
    let is_known = |_| {
        let term = env.make_ref();
        let external = env
            .write_external(term)
            .and_then(|bytes| etf::decode(&bytes).ok());
        match (external, env.plain_reference(term)) {
            (Some(Owned::Reference(reference)), Some(numbers)) => reference.ids == numbers,
            _ => false,
        }
    };
    (0..3).all(is_known)
}

/// A local reference: the bytes of another one, with its numbers at their end.
fn make_local_reference(env: Env, reference: &Reference) -> Option<Term> {
    /// The version of the format, and how references begin.
    const BEGIN: [u8; 2] = [131, 90];
    if reference.node != here() || reference.creation != 0 {
        return None;
    }
    let mut external = env.write_external(env.make_ref())?;
    let count = u16::try_from(reference.ids.len()).ok()?.to_be_bytes();
    if !external.starts_with(&[BEGIN, count].concat()) {
        return None;
    }
    let from = external.len().checked_sub(4 * reference.ids.len())?;
    let numbers = external[from..].chunks_exact_mut(4);
    for (to, number) in numbers.zip(&reference.ids) {
        to.copy_from_slice(&number.to_be_bytes());
    }
    env.read_external(&external)
}

/// The machine's term for one of those.
#[cold]
pub(super) fn make(env: Env, owned: &Owned) -> Term {
    if let Owned::Reference(reference) = owned
        && let Some(term) = make_local_reference(env, reference)
    {
        return term;
    }
    let mut owned = owned.clone();
    if let Some(this) = this_node(env) {
        move_node(&mut owned, (here(), 0), this);
    }
    env.read_external(&etf::encode(&owned))
        .expect("a term that came from this machine")
}

/// The identity of a node: its name, and the number of its start.
type Node = (Atom, u32);

/// This node, as it is called now.
fn this_node(env: Env) -> Option<Node> {
    // Some environments have no process; every one can make a reference.
    match etf::decode(&env.write_external(env.make_ref())?).ok()? {
        Owned::Reference(reference) => Some((reference.node, reference.creation)),
        _ => None,
    }
}

/// Returns the present name of this node.
pub(crate) fn node_name(env: Env) -> Option<Atom> {
    this_node(env).map(|(name, _)| name)
}

/// Gives what is of node `from` in a term to node `to`.
fn move_node(term: &mut Owned, from: Node, to: Node) {
    let turn = |node: &mut Atom, creation: &mut u32| {
        if (*node, *creation) == from {
            (*node, *creation) = to;
        }
    };
    match term {
        // Local pids by themselves do not come this way; those in closures keep their numbers.
        Owned::Pid(pid) => turn(&mut pid.node, &mut pid.creation),
        Owned::Port(port) => turn(&mut port.node, &mut port.creation),
        Owned::Reference(reference) => turn(&mut reference.node, &mut reference.creation),
        Owned::Fun(fun) => {
            if let Fun::Local(fun) = &mut **fun {
                turn(&mut fun.creator.node, &mut fun.creator.creation);
                fun.free.iter_mut().for_each(|t| move_node(t, from, to));
            }
        }
        Owned::Tuple(all) | Owned::List(all) => {
            all.iter_mut().for_each(|t| move_node(t, from, to));
        }
        Owned::Improper(all, tail) => {
            all.iter_mut().for_each(|t| move_node(t, from, to));
            move_node(tail, from, to);
        }
        Owned::Map(map) => {
            let mut pairs = std::mem::take(map).into_pairs();
            for (key, value) in &mut pairs {
                move_node(key, from, to);
                move_node(value, from, to);
            }
            *map = Map::new(pairs);
        }
        _ => {}
    }
}
