//! Maps of many keys: hash array mapped tries, whose nodes are boxed and whose leaves are cells of a key and its value.
//!
//! | node | words |
//! |---|---|
//! | root | a header, how many keys, the children |
//! | inner node | a header, the children |
//!
//! (The machine's `erl_map.h`.) A header has a bit for each child, above the kind of the node. Where the keys stand depends on their hashes alone,
//! so maps of the same keys have the same nodes: an [`Image`] of one, copied, is a map of these keys. And a map of
//! others is written by `write`, from the hashes.

use fyris_term::Term as Owned;
use num_bigint::BigInt;

use super::{image, write};
use crate::kind::binary_of;
use crate::machine::{
    Env, FEW_KEYS, LIST, Learned, PRIMARY, SUBTAG, Term, address, header, layouts, words,
};

/// Where the kind of a node begins in its header, and its bits there.
pub(super) const KIND_SHIFT: u32 = 6;
pub(super) const KIND: usize = 3;
pub(super) const INNER: usize = 1;
/// A root with a place for each child that there can be, and one with places for its own.
pub(super) const FULL: usize = 2;
pub(super) const FEW: usize = 3;
const ROOTS: [usize; 2] = [FULL, FEW];
/// Where the bits of the children begin.
pub(super) const CHILDREN_SHIFT: u32 = 16;
/// Words of a root before its children.
pub(super) const ROOT: usize = 2;
/// Words of an inner node before its children.
pub(super) const NODE: usize = 1;

/// A key and its value.
pub(crate) type Pair = (Term, Term);

/// The kind in the headers of nodes, if maps of many keys look like this.
static NODES: Learned<usize> = Learned::new();

#[inline]
pub(super) fn nodes() -> Option<usize> {
    NODES.get().copied()
}

/// Learns that, and whether maps that are copied, and those that are written, are the ones that the machine makes. To
/// be called after the layouts of other terms are known.
pub(in crate::kind) fn learn(env: Env) {
    let Some(samples) = Sample::all(env) else {
        return;
    };
    NODES.learn(|| {
        let subtag = layouts()?.map?.header & SUBTAG;
        let is_known = |sample: &Sample| {
            let mut found = leaves_of(subtag, sample.map)?;
            // The values count down.
            found.sort_unstable_by_key(|pair| std::cmp::Reverse(pair.1.small()));
            let pairs = sample
                .keys
                .iter()
                .copied()
                .zip(sample.values.iter().copied());
            pairs.eq(found).then_some(())
        };
        samples.iter().try_for_each(is_known)?;
        Some(subtag)
    });
    image::learn(env, &samples);
    write::learn(env, &samples);
}

/// Returns whether maps are copied and written.
pub(crate) fn are_made() -> bool {
    image::is_known() && write::is_known()
}

/// The maps to learn from, with roots of few and of all children, and deep nodes: the number of the first key of each,
/// how many keys, and of how many kinds they are, simple ones first.
const SAMPLES: [(i64, usize, i64); 8] = [
    (0, FEW_KEYS + 1, ALL_KINDS),
    (100, FEW_KEYS + 1, ALL_KINDS),
    (200, FEW_KEYS + 1, ALL_KINDS),
    (300, FEW_KEYS + 1, SIMPLE_KINDS),
    (400, FEW_KEYS + 2, SIMPLE_KINDS),
    (600, 100, SIMPLE_KINDS),
    (800, 100, ALL_KINDS),
    (1000, 1000, ALL_KINDS),
];
const SIMPLE_KINDS: i64 = 3;
const ALL_KINDS: i64 = 8;

/// A map of many keys of several kinds, made by the machine.
pub(super) struct Sample {
    pub(super) keys: Vec<Term>,
    pub(super) values: Vec<Term>,
    pub(super) map: Term,
}

impl Sample {
    fn all(env: Env) -> Option<Vec<Sample>> {
        SAMPLES
            .into_iter()
            .map(|sample| Sample::new(env, sample))
            .collect()
    }

    fn new(env: Env, (first, size, kinds): (i64, usize, i64)) -> Option<Sample> {
        let key = |i: i64| {
            Some(match i % kinds {
                0 => env.make_binary(&i.to_le_bytes()),
                // Atoms stay for ever.
                1 if i < FEW_KEYS as i64 => env.make_atom(format!("fyris_key_{i}").as_bytes()),
                1 => env.make_int(-i),
                2 => env.make_int(i * i),
                3 => env.make_float(i as f64 / 8.0),
                4 => env.make_cell(env.make_int(i), env.make_tuple(&[])),
                5 => env.encoded(&Owned::integer(BigInt::from(i) << 70))?,
                6 => env.make_ref(),
                _ => env.make_tuple(&[env.make_int(i)]),
            })
        };
        let numbers = first..first + size as i64;
        let keys: Option<Vec<Term>> = numbers.clone().map(key).collect();
        let values: Vec<Term> = numbers.map(|i| env.make_int(-i)).collect();
        let keys = keys?;
        let map = env.make_map(&keys, &values)?;
        Some(Sample { keys, values, map })
    }
}

/// Returns the number of keys of a map of many; `None` for other terms, and where such maps look otherwise.
pub(crate) fn size(map: Term) -> Option<usize> {
    root(nodes()?, map).map(|(size, _)| size)
}

/// Returns the pairs of a map of many keys in the order of its leaves, in which maps of the same keys have them. `None`
/// for other terms, and where such maps look otherwise: from OTP 26 on, if two keys have the same hash.
#[inline]
pub(crate) fn leaves(map: Term) -> Option<Vec<Pair>> {
    leaves_of(nodes()?, map)
}

fn leaves_of(subtag: usize, map: Term) -> Option<Vec<Pair>> {
    let (size, children) = root(subtag, map)?;
    let mut pairs = Vec::with_capacity(size);
    collect(subtag, children, &mut pairs)?;
    (pairs.len() == size).then_some(pairs)
}

fn collect(subtag: usize, children: &[Term], pairs: &mut Vec<Pair>) -> Option<()> {
    for &child in children {
        match child.0 & PRIMARY {
            LIST => pairs.push(leaf(child)),
            _ => collect(subtag, inner(subtag, child)?, pairs)?,
        }
    }
    Some(())
}

/// Returns the pair of a leaf.
#[inline(always)]
pub(super) fn leaf(child: Term) -> Pair {
    // SAFETY: a child with this tag is a cell, of two words, in the heap of the call (CALL).
    let [key, value] = unsafe { words(child) };
    (Term(key), Term(value))
}

/// Returns the number of keys and the children, if the term is the root of a map.
pub(super) fn root<'t>(subtag: usize, term: Term) -> Option<(usize, &'t [Term])> {
    let header = header(term)?;
    let is_root = header & SUBTAG == subtag && ROOTS.contains(&(header >> KIND_SHIFT & KIND));
    // SAFETY: a root has a second word, and behind it as many children as bits.
    is_root.then(|| unsafe {
        let [_, size] = words(term);
        (size, children(term, header, ROOT))
    })
}

/// Returns the children of an inner node; `None` for other terms.
#[inline]
pub(super) fn inner<'t>(subtag: usize, term: Term) -> Option<&'t [Term]> {
    let header = header(term)?;
    let is_inner = header & SUBTAG == subtag && header >> KIND_SHIFT & KIND == INNER;
    // SAFETY: an inner node has as many children as bits.
    is_inner.then(|| unsafe { children(term, header, NODE) })
}

/// Returns the children of a node.
///
/// # Safety
///
/// The term is a node with this header, and with `before` words ahead of its children; it belongs to the call under
/// way (CALL).
#[inline(always)]
unsafe fn children<'t>(term: Term, header: usize, before: usize) -> &'t [Term] {
    let bits = (header >> CHILDREN_SHIFT) as u16;
    // SAFETY: the caller's contract.
    unsafe {
        let first = address(term).add(before).cast();
        std::slice::from_raw_parts(first, bits.count_ones() as usize)
    }
}

/// Returns whether a term that is boxed, and no map of few keys, is the root of a map of many.
#[inline]
pub(in crate::kind) fn is_root(header: usize) -> bool {
    nodes() == Some(header & SUBTAG) && ROOTS.contains(&(header >> KIND_SHIFT & KIND))
}

/// Returns whether two maps of many keys have the same nodes and leaves.
pub(super) fn are_same(env: Env, a: Term, b: Term) -> bool {
    size(a) == size(b) && nodes().is_some_and(|subtag| are_same_nodes(env, subtag, [a, b], true))
}

fn are_same_nodes(env: Env, subtag: usize, nodes: [Term; 2], are_roots: bool) -> bool {
    let children_of = |term| match are_roots {
        true => root(subtag, term).map(|(_, children)| children),
        false => inner(subtag, term),
    };
    let [Some(of_a), Some(of_b)] = nodes.map(children_of) else {
        return false;
    };
    let [a, b] = nodes.map(header);
    let is_same_key = |a: Term, b: Term| {
        let of = |key| binary_of(env, key);
        a == b || (of(a).is_some() && of(a) == of(b))
    };
    let are_same = |(&a, &b): (&Term, &Term)| match a.0 & b.0 & PRIMARY {
        LIST => {
            let (a, b) = (leaf(a), leaf(b));
            is_same_key(a.0, b.0) && a.1 == b.1
        }
        _ => are_same_nodes(env, subtag, [a, b], false),
    };
    a == b && of_a.iter().zip(of_b).all(are_same)
}
