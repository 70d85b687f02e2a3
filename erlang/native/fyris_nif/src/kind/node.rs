//! Nodes: the one that we are on; and pids and references of others, read where they are and made by copies.
//!
//! | term | words |
//! |---|---|
//! | pid | a header, the node, a link, two half words: its number and its serial number |
//! | reference | a header, the node, a link, half words: how many numbers, the numbers |
//!
//! (`ExternalThing` of the machine's `erl_term.h`.) The node is the address of the machine's entry for it, which the term has counted; the link is to another term that
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

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use fyris_term::text::OWN_NODE;
use fyris_term::{Atom, Pid, Reference, Term as Owned};

use crate::machine::{
    ARITY_SHIFT, Env, Learned, OwnTerm, Term, address, halves, hash_of, word_of, words_of,
    words_with,
};

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

static LAYOUT: Learned<ExternalLayout> = Learned::new();

/// Returns whether such terms look as we know.
pub(crate) fn are_known() -> bool {
    LAYOUT.is_known()
}

/// Learns what such terms look like, from some that the external format makes.
pub(super) fn learn(env: Env) {
    LAYOUT.learn(|| {
        let [a, b] = [Atom::new("a@fyris").ok()?, Atom::new("b@fyris").ok()?];
        let pid_with = |node, ids| words_of::<WORDS>(pid_of(env, (node, 7), ids)?);
        let (first, second) = (pid_with(a, [5, 6])?, pid_with(a, [8, 9])?);
        let other = pid_with(b, [5, 6])?;
        let node = (1..HEAD).find(|&at| first[at] == second[at] && first[at] != other[at])?;
        let [pid, ..] = first;
        let is_pid = |[header, .., last]: [usize; WORDS], [id, serial]: [u32; 2]| {
            (header, header >> ARITY_SHIFT, last) == (pid, 3, word_of(id, serial))
        };
        let are_pids = is_pid(first, [5, 6]) && is_pid(second, [8, 9]) && is_pid(other, [5, 6]);
        let reference_with = |ids| words_of::<{ WORDS + 1 }>(reference_of(env, (a, 7), ids)?);
        let (one, two) = (reference_with([1, 2, 3])?, reference_with([4, 5, 6])?);
        let [reference, ..] = one;
        let is_reference = |all: [usize; WORDS + 1], [a, b, c]: [u32; 3]| {
            (all[0], all[0] >> ARITY_SHIFT, all[node]) == (reference, 4, first[node])
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
    env.encoded(&Owned::Pid(Box::new(pid)))
}

fn reference_of(env: Env, (node, creation): (Atom, u32), ids: [u32; 3]) -> Option<Term> {
    let reference = Reference {
        node,
        creation,
        ids: ids.to_vec(),
    };
    env.encoded(&Owned::Reference(Box::new(reference)))
}

/// Returns the node that local things are stored under.
pub(crate) fn here() -> Atom {
    static HERE: LazyLock<Atom> = LazyLock::new(|| Atom::new(OWN_NODE).expect("a short name"));
    *HERE
}

/// The identity of a node: its name, and the number of its start.
pub(crate) type Node = (Atom, u32);

/// Returns this node, as it is called now. It is asked each time: the machine tells nobody that the node was renamed,
/// and a name that was kept would be that of another node. So it is asked only for terms that may have local parts.
pub(crate) fn this_node(env: Env) -> Option<Node> {
    // Some environments have no process; every one can make a reference.
    match env.decoded(env.make_ref())? {
        Owned::Reference(reference) => Some((reference.node, reference.creation)),
        _ => None,
    }
}

/// Returns the present name of this node.
pub(crate) fn node_name(env: Env) -> Option<Atom> {
    this_node(env).map(|(name, _)| name)
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

fn by_entry(entry: usize) -> Result<&'static MetNode, usize> {
    find(&BY_ENTRY, hash_of(entry), |met| met.entry == entry)
}

fn by_node(node: NodeIds) -> Result<&'static MetNode, usize> {
    find(&BY_NODE, hash_of(node), |met| met.node == node)
}

/// Returns a pid or reference of another node that was met, read where it is; `None` for other terms.
#[inline]
pub(crate) fn see(term: Term) -> Option<Foreign> {
    let layout = LAYOUT.get()?;
    if let Some(all) = words_with::<WORDS>(term, layout.pid) {
        return pid(all[layout.node], all[HEAD]);
    }
    let all = words_with::<{ WORDS + 1 }>(term, layout.reference)?;
    reference(all[layout.node], [all[HEAD], all[HEAD + 1]])
}

#[inline(never)]
fn pid(entry: usize, numbers: usize) -> Option<Foreign> {
    let (node, creation) = by_entry(entry).ok()?.node;
    let [id, serial] = halves(numbers);
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
    let ([count, a], [b, c]) = (halves(low), halves(high));
    (count == 3).then_some(Foreign::Reference(node, [a, b, c]))
}

/// Returns a pid of another node that was met; `None` of any other.
#[inline(never)]
pub(crate) fn make_pid(env: Env, node: NodeIds, [id, serial]: [u32; 2]) -> Option<Term> {
    let layout = LAYOUT
        .get()
        .filter(|_| id >> PID_BITS == 0 && serial >> PID_BITS == 0)?;
    let met = by_node(node).ok()?;
    copied(env, met, met.pid, layout.pid, [word_of(id, serial)])
}

/// Returns a reference of another node that was met; `None` of any other.
#[inline(never)]
pub(crate) fn make_reference(env: Env, node: NodeIds, [a, b, c]: [u32; 3]) -> Option<Term> {
    let layout = LAYOUT.get().filter(|_| a >> REFERENCE_BITS == 0)?;
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
    let copy = met.kept.copy_part_to(env, term);
    let is_it =
        header >> ARITY_SHIFT >= HEAD - 1 + N && crate::machine::header(copy) == Some(header);
    is_it.then(|| {
        let to = address(copy).wrapping_add(HEAD).cast_mut();
        // SAFETY: the header says that so many words follow (ARITY): those of the head, and these, which are numbers
        // only. The copy was made just now, so nothing else has seen it.
        unsafe { to.cast::<[usize; N]>().write(numbers) };
        copy
    })
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
    let layout = LAYOUT.get()?;
    let head = |header| words_with::<HEAD>(term, header);
    Some(head(layout.pid).or_else(|| head(layout.reference))?[layout.node])
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
