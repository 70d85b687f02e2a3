//! Terms of the machine from what is stored.

use std::cell::Cell;
use std::sync::Arc;

use fyris_term::value::{Build, build_term};
use fyris_term::{Atom, Pid, Term as Owned};
use smallvec::SmallVec;

use super::rare;
use crate::sys::{self, Env, Term};
use crate::{atoms, load};

/// Makes terms in an environment.
pub(crate) struct Maker(pub(crate) Env);

thread_local! {
    static STACK: Cell<Vec<Term>> = const { Cell::new(Vec::new()) };
}

/// A stack larger than this is given back after use.
const KEEP: usize = 1 << 12;

/// Runs `f` with a maker and scratch memory for it, which the thread keeps for the next time.
#[inline]
pub(crate) fn with_maker<R>(env: Env, f: impl FnOnce(&mut Maker, &mut Vec<Term>) -> R) -> R {
    let mut stack = STACK.take();
    let result = f(&mut Maker(env), &mut stack);
    stack.clear();
    if stack.capacity() <= KEEP {
        STACK.set(stack);
    }
    result
}

/// The machine's term for one of ours.
pub(crate) fn make(env: Env, term: &Owned) -> Term {
    build_term(term, &mut Maker(env))
}

impl Build for Maker {
    type Out = Term;

    #[inline]
    fn int(&mut self, value: i64) -> Term {
        self.0.make_int(value)
    }

    #[inline]
    fn float(&mut self, value: f64) -> Term {
        self.0.make_float(value)
    }

    #[inline]
    fn atom(&mut self, atom: Atom) -> Term {
        atoms::to_machine(self.0, atom)
    }

    #[inline]
    fn binary(&mut self, bytes: &[u8]) -> Term {
        self.0.make_binary(bytes)
    }

    /// A binary that holds a count of the blob: no byte is copied.
    fn blob(&mut self, blob: &Arc<[u8]>) -> Term {
        let held = blob.clone();
        // SAFETY: the destroyer of the type drops an `Arc<[u8]>`; the bytes are immutable and live as long
        // as it, which is as long as the resource; our own count goes back once the term has one.
        unsafe {
            let object = sys::new_resource(load::types().blob, held);
            let term = self.0.make_resource_binary(object, blob);
            sys::release(object);
            term
        }
    }

    fn string(&mut self, bytes: &[u8]) -> Term {
        let nil = self.0.make_list(&[]);
        let cell = |tail, &byte| self.0.make_cell(self.0.make_int(i64::from(byte)), tail);
        bytes.iter().rev().fold(nil, cell)
    }

    fn list(&mut self, elements: &[Term], tail: Option<Term>) -> Term {
        match tail {
            None => self.0.make_list(elements),
            Some(tail) => elements
                .iter()
                .rev()
                .fold(tail, |tail, &e| self.0.make_cell(e, tail)),
        }
    }

    #[inline]
    fn tuple(&mut self, elements: &[Term]) -> Term {
        self.0.make_tuple(elements)
    }

    fn map(&mut self, pairs: &[Term]) -> Term {
        let keys: SmallVec<[Term; 32]> = pairs.iter().step_by(2).copied().collect();
        let values: SmallVec<[Term; 32]> = pairs.iter().skip(1).step_by(2).copied().collect();
        self.0
            .make_map(&keys, &values)
            .expect("all keys of a map are different")
    }

    fn pid(&mut self, pid: &Pid) -> Term {
        rare::from_local_pid(pid)
            .unwrap_or_else(|| rare::make(self.0, &Owned::Pid(Box::new(pid.clone()))))
    }

    fn other(&mut self, term: &Owned) -> Term {
        rare::make(self.0, term)
    }
}
