//! Pids and references of other nodes, read where they are and made by copies.
//!
//! | term | words |
//! |---|---|
//! | pid | a header, the node, a link, two half words: its number and its serial number |
//! | reference | a header, the node, a link, half words: how many numbers, the numbers |
//!
//! The node is the address of the machine's entry for it, which the term has counted; the link is to another term that
//! has counted something. The two stand in either order, which is learned when the library is loaded; where such terms
//! look otherwise they go by way of the external format.
//!
//! A term that has counted something is for the machine to make: so it copies one of the same node, and the copy gets
//! its own numbers.
//!
//! # Invariant
//!
//! **ENTRY**: the machine's entry of a node stays as long as a term counts it, and no node has two. A term of each node
//! that was met is kept for ever ([`MOST`] nodes at most, three kilobytes each); so an address that is remembered is
//! never that of another node. `nodes(known)` goes on to list these nodes.
//!
//! **NODE_FIRST**: the place of a node is published after what is there.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use fyris_term::{Atom, Pid, Reference, Term as Owned, etf};

use crate::sys::{BOXED, Env, OwnTerm, PRIMARY, Term};
use crate::words::{address, word_of, words};

/// The most nodes that are remembered; a node that starts again is another one.
const MOST: usize = 1 << 10;
const PLACES: usize = 2 * MOST;
/// Words of a pid, and those before its numbers.
const WORDS: usize = 4;
const HEAD: usize = 3;
/// Numbers above have been refused by some machines.
const PID_BITS: u32 = 28;
const REFERENCE_BITS: u32 = 18;

/// A node: the number of its atom, and that of its start.
pub(crate) type NodeIds = (u32, u32);

/// A term of another node.
pub(crate) enum Foreign {
    Pid(Pid),
    Reference(NodeIds, [u32; 3]),
}

/// What such terms look like.
#[derive(Clone, Copy)]
struct ExternalLayout {
    pid: usize,
    reference: usize,
    /// The place of the node among the words.
    node: usize,
}

static LAYOUT: OnceLock<Option<ExternalLayout>> = OnceLock::new();

fn layout() -> Option<ExternalLayout> {
    LAYOUT.get().copied().flatten()
}

/// Returns whether such terms look as we know.
pub(crate) fn are_known() -> bool {
    layout().is_some()
}

/// Learns what such terms look like, from some that the external format makes.
pub(crate) fn learn(env: Env) {
    LAYOUT.get_or_init(|| {
        let nodes = ["a@fyris", "b@fyris"].map(Atom::new);
        let [Ok(a), Ok(b)] = nodes else { return None };
        let pids = [
            pid_of(env, (a, 7), [5, 6])?,
            pid_of(env, (a, 7), [8, 9])?,
            pid_of(env, (b, 7), [5, 6])?,
        ];
        let references = [[1, 2, 3], [4, 5, 6]].map(|ids| reference_of(env, (a, 7), ids));
        // SAFETY: made just now, and boxed: terms that hold a node have more words.
        let [first, second, other] = pids.map(|pid| unsafe { words::<WORDS>(pid) });
        let node = (1..HEAD).find(|&at| first[at] == second[at] && first[at] != other[at])?;
        let [pid, ..] = first;
        let is_pid = |[header, .., last]: [usize; WORDS], [id, serial]: [u32; 2]| {
            (header, header >> 6, last) == (pid, 3, word_of(id, serial))
        };
        let are_pids = is_pid(first, [5, 6]) && is_pid(second, [8, 9]) && is_pid(other, [5, 6]);
        let [one, two] = [references[0]?, references[1]?];
        // SAFETY: as above.
        let [one, two] = [one, two].map(|term| unsafe { words::<{ WORDS + 1 }>(term) });
        let [reference, ..] = one;
        let is_reference = |all: [usize; WORDS + 1], [a, b, c]: [u32; 3]| {
            (all[0], all[0] >> 6, all[node]) == (reference, 4, first[node])
                && all[HEAD..] == [word_of(3, a), word_of(b, c)]
        };
        let are_references = is_reference(one, [1, 2, 3]) && is_reference(two, [4, 5, 6]);
        (are_pids && are_references).then_some(ExternalLayout {
            pid,
            reference,
            node,
        })
    });
}

fn pid_of(env: Env, (node, creation): (Atom, u32), [id, serial]: [u32; 2]) -> Option<Term> {
    let pid = Pid {
        node,
        id,
        serial,
        creation,
    };
    boxed(env.read_external(&etf::encode(&Owned::Pid(Box::new(pid))))?)
}

fn reference_of(env: Env, (node, creation): (Atom, u32), ids: [u32; 3]) -> Option<Term> {
    let reference = Reference {
        node,
        creation,
        ids: ids.to_vec(),
    };
    boxed(env.read_external(&etf::encode(&Owned::Reference(Box::new(reference))))?)
}

fn boxed(term: Term) -> Option<Term> {
    (term.0 & PRIMARY == BOXED).then_some(term)
}

/// A node that was met.
struct MetNode {
    node: NodeIds,
    /// The address of its entry.
    entry: usize,
    /// A pid and a reference of it, to be copied (ENTRY), in a tuple.
    kept: OwnTerm,
    pid: Term,
    reference: Term,
}

static ALL: [OnceLock<MetNode>; MOST] = [const { OnceLock::new() }; MOST];
/// The number of nodes; held while one is remembered.
static COUNT: Mutex<usize> = Mutex::new(0);
/// Whether there is no room for another.
static IS_FULL: AtomicBool = AtomicBool::new(false);
/// The place of a node plus one, at the first free place from the hash of its entry, or of its name, on.
static BY_ENTRY: [AtomicU32; PLACES] = [const { AtomicU32::new(0) }; PLACES];
static BY_NODE: [AtomicU32; PLACES] = [const { AtomicU32::new(0) }; PLACES];

/// Returns the node that is looked for, or the place where its number would stand.
#[inline]
fn find(
    by: &[AtomicU32; PLACES],
    hash: u64,
    is_it: impl Fn(&MetNode) -> bool,
) -> Result<&'static MetNode, usize> {
    let mut place = hash as usize % PLACES;
    // Acquire: pairs with the Release in `publish` (NODE_FIRST). There are more places than nodes.
    while let Some(number) = by[place].load(Ordering::Acquire).checked_sub(1) {
        match ALL[number as usize].get() {
            Some(met) if is_it(met) => return Ok(met),
            _ => place = (place + 1) % PLACES,
        }
    }
    Err(place)
}

fn hash(what: impl std::hash::Hash) -> u64 {
    foldhash::fast::FixedState::default().hash_one(what)
}

fn by_entry(entry: usize) -> Result<&'static MetNode, usize> {
    find(&BY_ENTRY, hash(entry), |met| met.entry == entry)
}

fn by_node(node: NodeIds) -> Result<&'static MetNode, usize> {
    find(&BY_NODE, hash(node), |met| met.node == node)
}

/// Returns a pid or reference of another node that was met, read where it is; `None` for other terms.
#[inline]
pub(crate) fn see(term: Term) -> Option<Foreign> {
    let layout = layout().filter(|_| term.0 & PRIMARY == BOXED)?;
    // SAFETY: a boxed term points to its header (CALL), which says how many words follow.
    unsafe {
        let [header] = words(term);
        if header == layout.pid {
            let all: [usize; WORDS] = words(term);
            return pid(all[layout.node], all[HEAD]);
        }
        if header == layout.reference {
            let all: [usize; WORDS + 1] = words(term);
            return reference(all[layout.node], [all[HEAD], all[HEAD + 1]]);
        }
    }
    None
}

#[inline(never)]
fn pid(entry: usize, numbers: usize) -> Option<Foreign> {
    let (node, creation) = by_entry(entry).ok()?.node;
    let (id, serial) = (numbers as u32, (numbers >> u32::BITS) as u32);
    let node = Atom::from_id(node)?;
    Some(Foreign::Pid(Pid {
        node,
        id,
        serial,
        creation,
    }))
}

#[inline(never)]
fn reference(entry: usize, [low, high]: [usize; 2]) -> Option<Foreign> {
    let node = by_entry(entry).ok()?.node;
    let ids = [
        (low >> u32::BITS) as u32,
        high as u32,
        (high >> u32::BITS) as u32,
    ];
    (low as u32 == 3).then_some(Foreign::Reference(node, ids))
}

/// Returns a pid of another node that was met; `None` of any other.
#[inline(never)]
pub(crate) fn make_pid(env: Env, node: NodeIds, [id, serial]: [u32; 2]) -> Option<Term> {
    let layout = layout().filter(|_| id >> PID_BITS == 0 && serial >> PID_BITS == 0)?;
    let met = by_node(node).ok()?;
    copied(env, met, met.pid, layout.pid, [word_of(id, serial)])
}

/// Returns a reference of another node that was met; `None` of any other.
#[inline(never)]
pub(crate) fn make_reference(env: Env, node: NodeIds, [a, b, c]: [u32; 3]) -> Option<Term> {
    let layout = layout().filter(|_| a >> REFERENCE_BITS == 0)?;
    let numbers = [word_of(3, a), word_of(b, c)];
    let met = by_node(node).ok()?;
    copied(env, met, met.reference, layout.reference, numbers)
}

/// Returns a copy of a term of a node with these words behind its head.
fn copied<const N: usize>(
    env: Env,
    met: &MetNode,
    term: Term,
    header: usize,
    numbers: [usize; N],
) -> Option<Term> {
    let copy = boxed(met.kept.copy_part_to(env, term))?;
    // SAFETY: a boxed term points to its header, which says how many words follow: those of the head, and these, which
    // are numbers only. It was made just now, so nothing else has seen it.
    unsafe {
        let [found] = words(copy);
        if found != header {
            return None;
        }
        let to = address(copy).add(HEAD).cast_mut();
        to.cast::<[usize; N]>().write(numbers);
    }
    Some(copy)
}

/// Remembers the node of a pid or reference of another node, if there is room.
#[cold]
pub(crate) fn remember(env: Env, term: Term, node: (Atom, u32)) -> Option<()> {
    let entry = entry_of(term)?;
    // Relaxed: only saves what follows.
    if by_entry(entry).is_ok() || IS_FULL.load(Ordering::Relaxed) {
        return None;
    }
    let kept = env.make_tuple(&[
        pid_of(env, node, [1, 0])?,
        reference_of(env, node, [1, 0, 0])?,
    ]);
    let kept = OwnTerm::copy_of(kept);
    let &[pid, reference] = env.tuple(kept.get())? else {
        return None;
    };
    // The name is that of the entry.
    if entry_of(pid) != Some(entry) || entry_of(reference) != Some(entry) {
        return None;
    }
    publish(MetNode {
        node: (node.0.id(), node.1),
        entry,
        kept,
        pid,
        reference,
    })
}

/// Returns the entry of the node of a pid or reference of another node; `None` for other terms.
fn entry_of(term: Term) -> Option<usize> {
    let layout = layout().filter(|_| term.0 & PRIMARY == BOXED)?;
    // SAFETY: a boxed term points to its header (CALL); those of the two kinds have a head of as many words.
    unsafe {
        let [header] = words(term);
        let is_foreign = header == layout.pid || header == layout.reference;
        is_foreign.then(|| words::<HEAD>(term)[layout.node])
    }
}

fn publish(met: MetNode) -> Option<()> {
    // A thread that panicked (for want of memory) has published nothing.
    let mut count = COUNT.lock().unwrap_or_else(PoisonError::into_inner);
    let (Err(of_entry), Err(of_node)) = (by_entry(met.entry), by_node(met.node)) else {
        return None;
    };
    ALL.get(*count)?.set(met).ok()?;
    *count += 1;
    // Relaxed: only saves work.
    IS_FULL.store(*count == MOST, Ordering::Relaxed);
    for (by, place) in [(&BY_ENTRY, of_entry), (&BY_NODE, of_node)] {
        // Release: pairs with the Acquire in `find` (NODE_FIRST).
        by[place].store(*count as u32, Ordering::Release);
    }
    Some(())
}
