//! The shape that the head of a clause gives the key.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::slice::from_ref;

use fyris_term::Term;
use fyris_term::key::{KeyBuf, KeyWriter};
use fyris_term::walk::{Grow, Next, Part, Parts, grow};

use smallvec::{SmallVec, smallvec};

use crate::syntax::atoms::{is_anything, known, variable};
use crate::syntax::structure::{NIL, Structure};

/// The key of the objects that a head can match.
pub(crate) enum Shape {
    /// None: the head is no tuple, or a tuple without the key's element.
    Nothing,
    /// Any key.
    Any,
    /// A key that is `=:=` to this term.
    Literal(Term),
    /// A tuple or a list whose first parts are known.
    Prefix(Prefix),
}

/// The known first parts of a key.
pub(crate) struct Prefix {
    /// Order bytes up to the first part that is not known.
    pub(crate) bytes: Vec<u8>,
    /// The variable that is the first unknown part, if it is one.
    pub(crate) next: Option<u32>,
    /// The pattern, with the known variables replaced.
    pattern: Term,
}

impl Prefix {
    /// Returns the pattern for printing: with `next` in the place of the first unknown part, and `'_'` for those
    /// behind.
    pub(crate) fn label(&self, next: Option<&Term>) -> Term {
        let next = next.cloned().unwrap_or(Term::Atom(known().anything));
        rebuilt(&self.pattern, Replace::FirstUnknown(Some(next)))
    }
}

/// The literals that the guards require variables to equal.
pub(crate) type Substitution<'p> = dyn Fn(u32) -> Option<Term> + 'p;

/// Returns the shape of the key in a head.
pub(crate) fn of_head(head: &Term, keypos: usize, substitution: &Substitution<'_>) -> Shape {
    if is_anything(head) || variable(head).is_some() {
        return Shape::Any;
    }
    match head
        .as_tuple()
        .and_then(|elements| elements.get(keypos.checked_sub(1)?))
    {
        Some(key) => of_key(key, substitution),
        None => Shape::Nothing,
    }
}

fn of_key(key: &Term, substitution: &Substitution<'_>) -> Shape {
    if is_anything(key) || variable(key).is_some() || key.as_map().is_some() {
        return Shape::Any;
    }
    if is_literal(key) {
        return Shape::Literal(key.clone());
    }
    let mut buf = KeyBuf::new();
    let mut writer = KeyWriter::new(&mut buf);
    let stop = write_prefix(key, &mut writer, substitution);
    writer.finish();
    let pattern = rebuilt(key, Replace::Known(substitution));
    match stop {
        // The guards determine every variable.
        Ok(()) => Shape::Literal(pattern),
        Err(Unknown(next)) => Shape::Prefix(Prefix {
            bytes: buf.order().to_vec(),
            next,
            pattern,
        }),
    }
}

/// Returns the prefix of the order bytes of every key that matches a pattern with parts; `None` for other patterns.
pub(crate) fn prefix_of(pattern: &Term) -> Option<Vec<u8>> {
    match of_key(pattern, &|_| None) {
        Shape::Prefix(prefix) => Some(prefix.bytes),
        Shape::Nothing | Shape::Any | Shape::Literal(_) => None,
    }
}

/// The first unknown part, at which a prefix ends: the variable that it is, if it is one.
struct Unknown(Option<u32>);

/// Writes the order bytes of a pattern up to the first unknown part.
fn write_prefix(
    pattern: &Term,
    writer: &mut KeyWriter<'_>,
    substitution: &Substitution<'_>,
) -> Result<(), Unknown> {
    let mut around: SmallVec<[_; 4]> = smallvec![(Parts::Terms(from_ref(pattern)), 0)];
    // The tails of lists around the place.
    let mut tails = 0;
    while let Some((open, at)) = around.last_mut() {
        let is_list = matches!(open, Parts::Cells(..));
        let Some(part) = open.get(*at) else {
            tails -= usize::from(is_list);
            around.pop();
            continue;
        };
        match open {
            Parts::Cells(elements, _) if *at < elements.len() => writer.cons(),
            _ => tails += usize::from(is_list),
        }
        *at += 1;
        if let Some(parts) = parts(part) {
            if let Parts::Terms(elements) = parts {
                writer.begin_tuple(elements.len());
            }
            around.push((parts, 0));
        } else if is_known(part) {
            writer.term(part);
        } else {
            let number = variable(part);
            match number.and_then(substitution) {
                Some(value) => writer.term(&value),
                // No range follows from a tail: in order bytes, `T > b` and `[a | T] > [a | b]` are different orders.
                None => return Err(Unknown(number.filter(|_| tails == 0))),
            }
        }
    }
    Ok(())
}

/// Returns the parts of a pattern that is a tuple or a list with parts.
fn parts(pattern: &Term) -> Option<Parts<'_>> {
    match pattern {
        Term::Tuple(elements) => Some(Parts::Terms(elements)),
        Term::List(elements) if !elements.is_empty() => Some(Parts::Cells(elements, &NIL)),
        Term::Improper(elements, tail) => Some(Parts::Cells(elements, tail)),
        _ => None,
    }
}

/// Returns whether exactly one term matches a pattern without parts. That of a map never does: maps with more keys
/// match as well.
fn is_known(pattern: &Term) -> bool {
    !is_anything(pattern) && variable(pattern).is_none() && pattern.as_map().is_none()
}

/// Returns whether exactly one term matches the pattern.
fn is_literal(pattern: &Term) -> bool {
    let mut waiting: SmallVec<[_; 8]> = smallvec![pattern];
    while let Some(pattern) = waiting.pop() {
        match parts(pattern) {
            Some(parts) => waiting.extend((0..).map_while(|at| parts.get(at))),
            None if is_known(pattern) => {}
            None => return false,
        }
    }
    true
}

/// What is replaced in a pattern.
enum Replace<'p> {
    /// The known variables.
    Known(&'p Substitution<'p>),
    /// The first unknown part, by this term, which is taken, and those behind by `'_'`; a list ends there.
    FirstUnknown(Option<Term>),
}

impl Replace<'_> {
    fn has_ended(&self) -> bool {
        matches!(self, Replace::FirstUnknown(None))
    }

    /// Returns what stands for a part without parts.
    fn part(&mut self, pattern: &Term) -> Term {
        let value = match self {
            Replace::Known(substitution) => variable(pattern).and_then(*substitution),
            Replace::FirstUnknown(Some(_)) if is_known(pattern) => None,
            Replace::FirstUnknown(next) => next.take().or(Some(Term::Atom(known().anything))),
        };
        value.unwrap_or_else(|| pattern.clone())
    }
}

fn rebuilt(pattern: &Term, replace: Replace<'_>) -> Term {
    let mut rebuild = Rebuild {
        replace,
        terms: PhantomData,
    };
    match rebuild.start(pattern) {
        Part::Leaf(term) => term,
        Part::Open(open) => {
            let Ok(term) = grow(&mut rebuild, open);
            term
        }
    }
}

struct Rebuild<'p, 't> {
    replace: Replace<'p>,
    terms: PhantomData<&'t Term>,
}

impl<'t> Rebuild<'_, 't> {
    fn start(&mut self, pattern: &'t Term) -> Part<Term, Rebuilding<'t>> {
        match parts(pattern) {
            Some(parts) if !self.replace.has_ended() => Part::Open(Rebuilding {
                parts,
                made: Vec::new(),
            }),
            _ => Part::Leaf(self.replace.part(pattern)),
        }
    }
}

/// A tuple or a list of which the parts so far are made.
struct Rebuilding<'t> {
    parts: Parts<'t>,
    made: Vec<Term>,
}

impl<'t> Grow for Rebuild<'_, 't> {
    type Out = Term;
    type Frame = Rebuilding<'t>;
    type Error = Infallible;

    fn part(&mut self, open: &mut Rebuilding<'t>) -> Next<Self> {
        if let Parts::Cells(elements, tail) = open.parts
            && self.replace.has_ended()
            && open.made.len() < elements.len()
        {
            open.parts = Parts::Cells(&elements[..open.made.len()], tail);
        }
        let part = open.parts.get(open.made.len());
        Ok(part.map(|part| self.start(part)))
    }

    fn put(&mut self, open: &mut Rebuilding<'t>, part: Term) {
        open.made.push(part);
    }

    fn finish(&mut self, open: Rebuilding<'t>) -> Result<Term, Infallible> {
        let structure = match open.parts {
            Parts::Cells(..) => Structure::Improper,
            _ => Structure::Tuple,
        };
        Ok(structure.build(open.made))
    }
}
