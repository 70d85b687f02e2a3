//! Copies of terms, their equality and their hash, at any depth.

use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::mem::discriminant;

use crate::term::{Fun, LocalFun};
use crate::walk::{Gather, Grow, Open, Part, Parts, SHALLOW, Visit, grow, grow_deep, walk};
use crate::{Map, NativeRecord, Term, Terms};

impl Clone for Term {
    #[inline]
    fn clone(&self) -> Term {
        copy(self, 0)
    }
}

/// Copies a term that lies inside `depth` others.
fn copy(term: &Term, depth: usize) -> Term {
    if depth >= SHALLOW
        && let Some(parts) = Parts::of(term)
    {
        let Ok(copy) = grow_deep(
            &mut Copies::new(|_: &mut Term| {}, false),
            Copying::new(term, parts),
        );
        return copy;
    }
    let all = |terms: &[Term]| terms.iter().map(|term| copy(term, depth + 1)).collect();
    match term {
        Term::Tuple(elements) => Term::Tuple(all(elements)),
        Term::List(elements) => Term::List(all(elements)),
        Term::Improper(elements, tail) => {
            Term::Improper(all(elements), Box::new(copy(tail, depth + 1)))
        }
        Term::Map(map) => {
            let pair = |(key, value): &(Term, Term)| (copy(key, depth + 1), copy(value, depth + 1));
            Term::Map(Map {
                pairs: map.pairs.iter().map(pair).collect(),
            })
        }
        Term::Fun(fun) => copy_fun(fun, |free| all(free)),
        Term::Record(record) => copy_record(record, all(record.values())),
        Term::Int(value) => Term::Int(*value),
        Term::Big(value) => Term::Big(value.clone()),
        Term::Float(value) => Term::Float(*value),
        Term::Atom(atom) => Term::Atom(*atom),
        Term::Reference(reference) => Term::Reference(reference.clone()),
        Term::Port(port) => Term::Port(port.clone()),
        Term::Pid(pid) => Term::Pid(pid.clone()),
        Term::Binary(bytes) => Term::Binary(bytes.clone()),
        Term::Bits(bits) => Term::Bits(bits.clone()),
    }
}

/// Copies a fun, with captured values that are made of its own.
#[inline(never)]
fn copy_fun(fun: &Fun, captured: impl FnOnce(&[Term]) -> Terms) -> Term {
    let copy = match fun {
        &Fun::External {
            module,
            function,
            arity,
        } => Fun::External {
            module,
            function,
            arity,
        },
        Fun::Local(fun) => Fun::Local(LocalFun {
            free: captured(&fun.free),
            creator: fun.creator.clone(),
            ..*fun
        }),
    };
    Term::Fun(Box::new(copy))
}

/// Copies a record, with values of its own.
#[inline(never)]
fn copy_record(record: &NativeRecord, values: Terms) -> Term {
    Term::Record(Box::new(NativeRecord {
        definition: record.definition.clone(),
        values,
    }))
}

/// Copies what is too deep to recurse, or is changed meanwhile.
struct Copies<'t, F> {
    /// Called with each copy but those of containers.
    change: F,
    /// Whether keys of maps may have changed.
    sort: bool,
    terms: PhantomData<&'t Term>,
}

impl<F: FnMut(&mut Term)> Copies<'_, F> {
    fn new(change: F, sort: bool) -> Self {
        Copies {
            change,
            sort,
            terms: PhantomData,
        }
    }
}

/// A container that is being copied.
struct Copying<'t> {
    term: &'t Term,
    parts: Parts<'t>,
    at: usize,
    copies: Gather,
}

impl<'t> Copying<'t> {
    fn new(term: &'t Term, parts: Parts<'t>) -> Copying<'t> {
        Copying {
            term,
            parts,
            at: 0,
            copies: match parts {
                Parts::Pairs(pairs) => Gather::pairs(pairs.len()),
                _ => Gather::Terms(Vec::with_capacity(parts.len())),
            },
        }
    }
}

impl<'t, F: FnMut(&mut Term)> Grow for Copies<'t, F> {
    type Out = Term;
    type Frame = Copying<'t>;
    type Error = Infallible;

    fn part(
        &mut self,
        frame: &mut Copying<'t>,
    ) -> Result<Option<Part<Term, Copying<'t>>>, Infallible> {
        let part = frame.parts.get(frame.at);
        frame.at += 1;
        Ok(part.map(|term| match Parts::of(term) {
            Some(parts) => Part::Open(Copying::new(term, parts)),
            None => {
                let mut copy = copy(term, 0);
                (self.change)(&mut copy);
                Part::Leaf(copy)
            }
        }))
    }

    fn put(&mut self, frame: &mut Copying<'t>, part: Term) {
        frame.copies.put(part);
    }

    fn finish(&mut self, frame: Copying<'t>) -> Result<Term, Infallible> {
        let copies = frame.copies;
        Ok(match frame.term {
            Term::Map(_) if self.sort => Term::Map(Map::new(copies.into_pairs())),
            Term::Map(_) => Term::Map(Map {
                pairs: copies.into_pairs(),
            }),
            Term::Tuple(_) => Term::tuple(copies.into_terms()),
            Term::Improper(..) => {
                let mut copies = copies.into_terms();
                let tail = copies.pop().unwrap_or(Term::Int(0));
                Term::Improper(copies.into(), Box::new(tail))
            }
            Term::Fun(fun) => {
                let mut fun = copy_fun(fun, |_| copies.into_terms().into());
                (self.change)(&mut fun);
                fun
            }
            Term::Record(record) => copy_record(record, copies.into_terms().into()),
            _ => Term::list(copies.into_terms()),
        })
    }
}

impl Term {
    /// Calls `see` with the term and with each term in it, at any depth. O(size).
    pub fn each(&self, see: impl FnMut(&Term)) {
        let Ok(()) = walk(&mut Seeing(see), self);
    }

    /// Returns a copy, after `change` was called with each term in it that is no tuple, list or map. O(size).
    #[must_use]
    pub fn changed(&self, mut change: impl FnMut(&mut Term)) -> Term {
        match Parts::of(self) {
            Some(parts) => {
                let mut copies = Copies::new(change, true);
                let Ok(copy) = grow(&mut copies, Copying::new(self, parts));
                copy
            }
            None => {
                let mut copy = self.clone();
                change(&mut copy);
                copy
            }
        }
    }
}

struct Seeing<F>(F);

impl<'t, F: FnMut(&Term)> Visit<'t> for Seeing<F> {
    type Mark = ();
    type Stop = Infallible;

    fn open(&mut self, term: &'t Term) -> Result<Option<Open<'t, ()>>, Infallible> {
        (self.0)(term);
        Ok(Parts::of(term).map(|parts| Open { parts, mark: () }))
    }
}

impl PartialEq for Term {
    #[inline]
    fn eq(&self, other: &Term) -> bool {
        equal(self, other, 0)
    }
}
impl Eq for Term {}

fn equal(a: &Term, b: &Term, depth: usize) -> bool {
    match (a, b) {
        (Term::Int(a), Term::Int(b)) => a == b,
        (Term::Big(a), Term::Big(b)) => a == b,
        (Term::Float(a), Term::Float(b)) => a == b,
        (Term::Atom(a), Term::Atom(b)) => a == b,
        (Term::Reference(a), Term::Reference(b)) => a == b,
        (Term::Port(a), Term::Port(b)) => a == b,
        (Term::Pid(a), Term::Pid(b)) => a == b,
        (Term::Binary(a), Term::Binary(b)) => a == b,
        (Term::Bits(a), Term::Bits(b)) => a == b,
        _ if discriminant(a) != discriminant(b) => false,
        (Term::Fun(f), Term::Fun(g)) => match (&**f, &**g) {
            (Fun::Local(f), Fun::Local(g)) => f.code() == g.code() && equal_parts(a, b, depth),
            (f @ Fun::External { .. }, g @ Fun::External { .. }) => f == g,
            _ => false,
        },
        (Term::Record(r), Term::Record(s)) => {
            r.definition == s.definition && equal_parts(a, b, depth)
        }
        _ => equal_parts(a, b, depth),
    }
}

/// Compares the parts of two containers of one kind.
fn equal_parts(a: &Term, b: &Term, depth: usize) -> bool {
    let (Some(x), Some(y)) = (Parts::of(a), Parts::of(b)) else {
        return false;
    };
    if x.len() != y.len() {
        return false;
    }
    if depth >= SHALLOW {
        // Invariant EXACT_IS_EQ.
        return a.cmp_exact(b).is_eq();
    }
    let all = |a: &[Term], b: &[Term]| a.iter().zip(b).all(|(a, b)| equal(a, b, depth + 1));
    match (x, y) {
        (Parts::Terms(a), Parts::Terms(b)) => all(a, b),
        (Parts::Cells(a, s), Parts::Cells(b, t)) => all(a, b) && equal(s, t, depth + 1),
        (Parts::Pairs(a), Parts::Pairs(b)) => {
            let same = |(k, v): &(Term, Term), (l, w): &(Term, Term)| {
                equal(k, l, depth + 1) && equal(v, w, depth + 1)
            };
            a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        _ => false,
    }
}

impl Hash for Term {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Ok(()) = walk(&mut Hashing(state), self);
    }
}

struct Hashing<'a, H>(&'a mut H);

impl<'t, H: Hasher> Visit<'t> for Hashing<'_, H> {
    type Mark = ();
    type Stop = Infallible;

    fn open(&mut self, term: &'t Term) -> Result<Option<Open<'t, ()>>, Infallible> {
        // Of the type `H` itself: one more reference at each level would have no end.
        let state: &mut H = self.0;
        discriminant(term).hash(state);
        match term {
            Term::Int(value) => value.hash(state),
            Term::Big(value) => value.hash(state),
            Term::Float(value) => value.get().to_bits().hash(state),
            Term::Atom(atom) => atom.hash(state),
            Term::Reference(reference) => reference.hash(state),
            Term::Port(port) => port.hash(state),
            Term::Pid(pid) => pid.hash(state),
            Term::Binary(bytes) => bytes.hash(state),
            Term::Bits(bits) => bits.hash(state),
            Term::Fun(fun) => match &**fun {
                Fun::Local(fun) => fun.code().hash(state),
                external => external.hash(state),
            },
            Term::Record(record) => record.definition.hash(state),
            Term::Tuple(_) | Term::List(_) | Term::Improper(..) | Term::Map(_) => {}
        }
        let parts = Parts::of(term);
        parts.inspect(|parts| parts.len().hash(state));
        Ok(parts.map(|parts| Open { parts, mark: () }))
    }
}
