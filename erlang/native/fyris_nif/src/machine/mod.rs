//! The Erlang machine: its C interface, and its words where a call costs more than a look.
//!
//! # Invariant
//!
//! **CALL**: an [`Env`] is made when the machine calls us and is used only until we return, on that thread; a [`Term`]
//! is used only with the `Env` it came with. Nothing else of this crate keeps either. (A message of a thread of ours is
//! such a call of its own, from the first term that is built until its [`MessageEnv`] is cleared.) So every call below
//! passes a live environment and a term that belongs to it, which is all that the C functions ask for; and the words
//! that a term points to stay where they are as long as it is used. CALL in the comments stands for this paragraph.
//!
//! # Words
//!
//! What terms look like in memory is no promise of the machine. So nothing is taken for granted: when the library is
//! loaded, it compares what it expects with what the machine makes of known values, and learns from these what differs
//! between releases ([`Learned`]). Where tags or small integers are otherwise it refuses to load and says so
//! ([`WordLayout::probe`]); where a kind of term is otherwise, that kind goes by way of calls or of the external
//! format.
//!
//! | what | where the machine has it (`erts/emulator/beam`) |
//! |---|---|
//! | tags of words, headers, floats, references, pids of other nodes | `erl_term.h` |
//! | large integers | `big.h` |
//! | binaries | up to OTP 26 `erl_binary.h`, `global.h` (`ProcBin`); later `erl_bits.h` (`ErlHeapBits`, `ErlSubBits`, `BinRef`) |
//! | maps | `erl_map.h` |
//! | funs | `erl_fun.h` |
//! | local pids and ports | `erl_ptab.h`, `erl_process.h` |
//!
//! All of it was seen to be so in OTP 25, 27 and 29; `fyris_nif:layout/0` tells what was learned.
//!
//! Invariant **ARITY**: a boxed term points to its header, whose bits above the six low ones say how many words follow,
//! at least; in maps and funs these bits say something else.

mod env;
mod layout;
mod resource;
mod room;
mod term;

use std::hash::{BuildHasher, Hash};
use std::sync::OnceLock;

pub(crate) use env::{Entry, Env, ErlNifEnv, ErlNifPid, ErlNifTerm, ErlNifTermType, Type};
pub(crate) use layout::{
    FEW_KEYS, Known, MAP, Maps, SHORT, known_layouts, layouts, learn as learn_layouts,
};
pub(crate) use resource::{MessageEnv, OwnTerm, ResourceCount, anchor, destroy, resources};
pub(crate) use room::{FILLER, Room, list_of_pair, write_short};
pub(crate) use term::{Term, WordLayout, learn_records};

/// Bits of a pointer that are none of the address.
const TAGS: usize = 0x7;
/// Bits of a word that tell pointers, and those of pointers to a cell and to a header.
pub(crate) const PRIMARY: usize = 0x3;
pub(crate) const LIST: usize = 0x1;
pub(crate) const BOXED: usize = 0x2;
/// Bits of a header that tell the kind of what follows.
pub(crate) const SUBTAG: usize = 0x3F;
/// Where the number of words that follow begins in a header.
pub(crate) const ARITY_SHIFT: u32 = 6;

/// What is learned of the machine when the library is loaded; nothing where it is otherwise than we know.
pub(crate) struct Learned<T>(OnceLock<Option<T>>);

impl<T> Learned<T> {
    pub(crate) const fn new() -> Learned<T> {
        Learned(OnceLock::new())
    }

    /// Learns it, unless that was done in an earlier load.
    pub(crate) fn learn(&self, find: impl FnOnce() -> Option<T>) -> Option<&T> {
        self.0.get_or_init(find).as_ref()
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.get()?.as_ref()
    }

    pub(crate) fn is_known(&self) -> bool {
        self.get().is_some()
    }
}

/// Returns the address of a term of several words.
#[inline(always)]
pub(crate) fn address(term: Term) -> *const usize {
    std::ptr::with_exposed_provenance(term.0 & !TAGS)
}

/// Returns the first words of a term.
///
/// # Safety
///
/// It lies in the heap, with at least `N` words.
#[inline(always)]
pub(crate) unsafe fn words<const N: usize>(term: Term) -> [usize; N] {
    // SAFETY: the caller's contract.
    unsafe { address(term).cast::<[usize; N]>().read() }
}

/// Returns the header of a boxed term; `None` of any other.
#[inline(always)]
pub(crate) fn header(term: Term) -> Option<usize> {
    // SAFETY: a boxed term points to its header (ARITY).
    term.is_boxed().then(|| unsafe { address(term).read() })
}

/// Returns the first words of a term with this header, if it has as many; `None` of any other. Not for maps and funs.
#[inline(always)]
pub(crate) fn words_with<const N: usize>(term: Term, wanted: usize) -> Option<[usize; N]> {
    let is_it = wanted >> ARITY_SHIFT >= N - 1 && header(term) == Some(wanted);
    // SAFETY: the header says that there are as many (ARITY).
    is_it.then(|| unsafe { words(term) })
}

/// Returns the first words of a boxed term, if it has as many; `None` of any other. Not for maps and funs.
pub(crate) fn words_of<const N: usize>(term: Term) -> Option<[usize; N]> {
    words_with(term, header(term)?)
}

/// Returns a word of two half words.
#[inline(always)]
pub(crate) fn word_of(low: u32, high: u32) -> usize {
    low as usize | (high as usize) << u32::BITS
}

/// Returns the half words of a word, the low one first.
#[inline(always)]
pub(crate) fn halves(word: usize) -> [u32; 2] {
    [word as u32, (word >> u32::BITS) as u32]
}

/// Returns a hash that is the same as long as the library is loaded.
pub(crate) fn hash_of(what: impl Hash) -> u64 {
    foldhash::fast::FixedState::default().hash_one(what)
}
