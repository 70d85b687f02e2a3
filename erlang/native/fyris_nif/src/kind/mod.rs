//! The kinds of terms, a file each: what they look like in the machine's words, how they are read where they are, and
//! how they are made.
//!
//! A local pid, port or reference stays the same term when the node gets a name or another one; its external form does
//! not. Invariant **LOCAL**: pids, references and ports of this node are stored under a name that no node has, and get
//! the node's own again when they leave. The name sorts as `nonode@nohost` does. On a node with a name of its own,
//! local references and ports stand among those of other nodes as if it had none; nothing else about the order depends
//! on names.

pub(crate) mod alias;
pub(crate) mod atom;
pub(crate) mod binary;
pub(crate) mod fun;
pub(crate) mod integer;
pub(crate) mod map;
pub(crate) mod node;
pub(crate) mod pid;
pub(crate) mod port;
pub(crate) mod reference;

use std::slice;

use crate::load::Samples;
use crate::machine::{
    self, ARITY_SHIFT, BOXED, Env, Known, LIST, MAP, Maps, PRIMARY, SUBTAG, Term, address, header,
    layouts, words,
};
use integer::Large;
use map::tree;

/// Learns what terms look like. To be called when the library is loaded, and the kinds of resources are known.
pub(crate) fn learn(env: Env, samples: &Samples) {
    machine::learn_records(env);
    machine::learn_layouts(env);
    integer::learn(env);
    tree::learn(env);
    node::learn(env);
    fun::learn(env);
    pid::learn(samples);
    reference::learn(env, samples);
    port::learn(env, samples);
    binary::learn(env, samples.native_atomics);
}

/// Returns what was learned: see `layout` in `calls/info.rs`.
pub(crate) fn known() -> [bool; 13] {
    let [terms, maps, floats] = machine::known_layouts();
    let [references, numbers, blocks, aliases] = reference::known();
    let (large, trees) = (integer::are_known(), tree::are_made());
    [
        terms,
        maps,
        references,
        fun::are_known(),
        binary::is_known(),
        floats,
        large,
        numbers,
        blocks,
        aliases,
        port::are_known(),
        trees,
        node::are_known(),
    ]
}

/// Returns whether a term is known to hold nothing outside the heap, and to have no terms in it: a term of one word, or
/// a short binary.
#[inline]
pub(crate) fn holds_nothing(term: Term) -> bool {
    match term.0 & PRIMARY {
        // No pointer.
        PRIMARY => true,
        BOXED => layouts().is_some_and(|known| {
            header(term).is_some_and(|header| (header ^ known.binaries[1].0) & SUBTAG == 0)
        }),
        _ => false,
    }
}

/// A term of several words, read where it is; valid during the call that the term belongs to (CALL).
pub(crate) enum Seen<'t> {
    Tuple(&'t [Term]),
    List(Cells),
    Map(Pairs<'t>),
    Binary(&'t [u8]),
    Float(f64),
    Large(Large<'t>),
    /// A map of many keys.
    Tree,
    /// To be asked of the machine.
    Other,
}

/// The elements of a list that are left, read where they are; valid during the call that the list belongs to (CALL).
#[derive(Clone, Copy)]
pub(crate) struct Cells(Term);

impl Cells {
    /// Returns what is behind the last cell, when all elements were read.
    pub(crate) fn end(self) -> Term {
        self.0
    }
}

impl Iterator for Cells {
    type Item = Term;

    #[inline(always)]
    fn next(&mut self) -> Option<Term> {
        if self.0.0 & PRIMARY != LIST {
            return None;
        }
        // SAFETY: a cell has two words; that of a list looks as we know, or [`see`] would not have made this.
        let [head, tail] = unsafe { words(self.0) };
        self.0 = Term(tail);
        Some(Term(head))
    }
}

/// Reads a term that is neither small nor an atom, if it is of a kind whose layout is known.
#[inline(always)]
pub(crate) fn see<'t>(term: Term) -> Seen<'t> {
    let Some(known) = layouts() else {
        return Seen::Other;
    };
    match term.0 & PRIMARY {
        BOXED => see_boxed(known, term),
        LIST => Seen::List(Cells(term)),
        _ => Seen::Other,
    }
}

#[inline(always)]
fn see_boxed<'t>(known: &Known, term: Term) -> Seen<'t> {
    // SAFETY: the term is boxed, so it points to its header (ARITY), which says what follows; it stays there during the
    // call (CALL).
    unsafe {
        let [header] = words(term);
        let behind = address(term).add(1);
        if header & SUBTAG == 0 {
            return Seen::Tuple(slice::from_raw_parts(behind.cast(), header >> ARITY_SHIFT));
        }
        if let Some(maps) = known.map.filter(|maps| maps.header == header) {
            return Seen::Map(pairs(term, maps));
        }
        // Sizes are told in units of one byte, or of its bits: a part of a byte is for the machine to tell.
        let (binary, unit) = known.binaries[1];
        if (header ^ binary) & SUBTAG == 0 && behind.read().is_multiple_of(unit) {
            let (bytes, size) = (behind.add(1).cast(), behind.read() / unit);
            return Seen::Binary(slice::from_raw_parts(bytes, size));
        }
        if known.float == Some(header) {
            return Seen::Float(f64::from_bits(behind.read() as u64));
        }
        if let Some(large) = Large::see(term) {
            return Seen::Large(large);
        }
        if tree::is_root(header) {
            return Seen::Tree;
        }
    }
    Seen::Other
}

/// Returns the bytes of a binary.
#[inline]
pub(crate) fn binary_of<'t>(env: Env, term: Term) -> Option<&'t [u8]> {
    match see(term) {
        Seen::Binary(bytes) => Some(bytes),
        _ => env.binary(term),
    }
}

/// A map of few keys, where it is.
pub(crate) struct Pairs<'t> {
    /// In the machine's order.
    pub(crate) keys: &'t [Term],
    pub(crate) values: &'t [Term],
    /// Whether atoms among the keys stand in the order of their numbers, not of their names.
    pub(crate) by_number: bool,
}

/// Reads a map of few keys where it is.
///
/// # Safety
///
/// The term is one, as its header says.
#[inline(always)]
unsafe fn pairs<'t>(term: Term, maps: Maps) -> Pairs<'t> {
    // SAFETY: behind the header are the number of the keys, a tuple of the keys and the values; they stay there during
    // the call (CALL).
    unsafe {
        let [_, size, keys]: [usize; MAP] = words(term);
        Pairs {
            keys: slice::from_raw_parts(address(Term(keys)).add(1).cast(), size),
            values: slice::from_raw_parts(address(term).add(MAP).cast(), size),
            by_number: maps.by_number,
        }
    }
}
