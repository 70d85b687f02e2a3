//! Maps of many keys: hash array mapped tries, whose nodes are boxed and whose leaves are cells of a key and its value.
//!
//! | node | words |
//! |---|---|
//! | root | a header, how many keys, the children |
//! | inner node | a header, the children |
//!
//! A header has a bit for each child, above the kind of the node. Where the keys stand depends on their hashes alone, so
//! maps of the same keys have the same nodes: an [`Image`] of one, copied, is a map of these keys. And a map of others
//! is written by `write`, from the hashes.

mod image;
mod write;

use super::{FEW_KEYS, Known, LIST, Maps, Seen, TAGS, address, layouts, see, words};
use crate::sys::{BOXED, Env, PRIMARY, SUBTAG, Term};

pub(crate) use image::Image;
pub(super) use write::{is_known as is_written, learn as learn_to_write};

/// Where the kind of a node begins in its header, and its bits there.
const KIND_SHIFT: u32 = 6;
const KIND: usize = 3;
const INNER: usize = 1;
const ROOTS: [usize; 2] = [2, 3];
/// Where the bits of the children begin.
const CHILDREN_SHIFT: u32 = 16;
/// Words of a root before its children.
const ROOT: usize = 2;
/// Words of an inner node before its children.
const NODE: usize = 1;

/// A key and its value.
pub(crate) type Pair = (Term, Term);

/// Learns whether maps of many keys look like this, and the kind in the headers of their nodes.
pub(super) fn learn(env: Env, maps: Option<Maps>) -> Option<usize> {
    let subtag = maps?.header & SUBTAG;
    let is_known = |sample: Sample| {
        let mut found = leaves_of(subtag, sample.map)?;
        // The values count down.
        found.sort_unstable_by_key(|pair| std::cmp::Reverse(pair.1.small()));
        let pairs = sample.keys.into_iter().zip(sample.values);
        pairs.eq(found).then_some(())
    };
    SAMPLES
        .into_iter()
        .try_for_each(|size| is_known(Sample::new(env, size)?))?;
    Some(subtag)
}

/// The sizes of maps to learn from: roots of few and of all children, and deep nodes.
const SAMPLES: [usize; 4] = [FEW_KEYS + 1, FEW_KEYS + 2, 100, 1000];

/// A map of many keys of several kinds, made by the machine.
struct Sample {
    keys: Vec<Term>,
    values: Vec<Term>,
    map: Term,
}

impl Sample {
    fn new(env: Env, size: usize) -> Option<Sample> {
        let key = |i: i64| match i % 3 {
            0 => env.make_binary(&i.to_le_bytes()),
            1 => env.make_tuple(&[env.make_int(i)]),
            _ => env.make_int(i * i),
        };
        let numbers = 0..size as i64;
        let keys: Vec<Term> = numbers.clone().map(key).collect();
        let values: Vec<Term> = numbers.map(|i| env.make_int(-i)).collect();
        let map = env.make_map(&keys, &values)?;
        Some(Sample { keys, values, map })
    }
}

/// Returns the pairs of a map of many keys in the order of its leaves, in which maps of the same keys have them. `None`
/// for other terms, and where such maps look otherwise, or two keys have the same hash.
#[inline]
pub(crate) fn leaves(map: Term) -> Option<Vec<Pair>> {
    leaves_of(layouts()?.tree?, map)
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
fn leaf(child: Term) -> Pair {
    // SAFETY: a child with this tag is a cell, of two words, in the heap of the call (CALL).
    let [key, value] = unsafe { words(child) };
    (Term(key), Term(value))
}

/// Returns the number of keys and the children, if the term is the root of a map.
fn root<'t>(subtag: usize, term: Term) -> Option<(usize, &'t [Term])> {
    if term.0 & TAGS != BOXED {
        return None;
    }
    // SAFETY: a boxed term points to its header. A root has a second word, and behind it as many children as bits.
    unsafe {
        let [header] = words(term);
        let is_root = header & SUBTAG == subtag && ROOTS.contains(&(header >> KIND_SHIFT & KIND));
        if !is_root {
            return None;
        }
        let [_, size] = words(term);
        Some((size, children(term, header, ROOT)))
    }
}

/// Returns the children of an inner node; `None` for other terms.
#[inline]
fn inner<'t>(subtag: usize, term: Term) -> Option<&'t [Term]> {
    if term.0 & TAGS != BOXED {
        return None;
    }
    // SAFETY: a boxed term points to its header. An inner node has as many children as bits.
    unsafe {
        let [header] = words(term);
        let is_inner = header & SUBTAG == subtag && header >> KIND_SHIFT & KIND == INNER;
        is_inner.then(|| children(term, header, NODE))
    }
}

/// Returns the children of a node.
///
/// # Safety
///
/// The term is a node with this header, and so many words before its children; it belongs to the call under way (CALL).
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
pub(super) fn is_root(known: &Known, header: usize) -> bool {
    known.tree == Some(header & SUBTAG) && ROOTS.contains(&(header >> KIND_SHIFT & KIND))
}

/// Returns the bytes of a binary.
#[inline]
pub(crate) fn binary<'t>(env: Env, term: Term) -> Option<&'t [u8]> {
    match see(term) {
        Seen::Binary(bytes) => Some(bytes),
        _ => env.binary(term),
    }
}
