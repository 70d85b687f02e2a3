//! Walks over terms of any depth, on any stack.
//!
//! A walk goes down the first 32 levels by recursion, which is fast and takes no memory, and on from there by a
//! list of open containers on the heap. Both call the same steps: what is done with a term, with the terms in it, and
//! behind them.
//!
//! - `Visit` and `walk`: over the terms in a [`Term`], for those who write it as something else.
//! - [`Grow`] and [`grow`]: from the leaves up, for those who make terms of something else.

use crate::Term;
use crate::term::Fun;

/// The levels that are walked by recursion.
pub(crate) const SHALLOW: usize = if cfg!(fyris_mutant = "term_recursion") {
    usize::MAX
} else {
    32
};

/// The terms in a term, in the order in which they are visited.
#[derive(Clone, Copy)]
pub enum Parts<'t> {
    /// One after another.
    Terms(&'t [Term]),
    /// The elements of an improper list, and its tail.
    Cells(&'t [Term], &'t Term),
    /// Each key before its value.
    Pairs(&'t [(Term, Term)]),
    /// All keys, then all values.
    KeysFirst(&'t [(Term, Term)]),
    /// The values alone.
    Values(&'t [(Term, Term)]),
}

impl<'t> Parts<'t> {
    /// Returns the terms in a term; `None` if it is a leaf.
    #[inline]
    pub fn of(term: &'t Term) -> Option<Parts<'t>> {
        match term {
            Term::Tuple(elements) | Term::List(elements) => Some(Parts::Terms(elements)),
            Term::Improper(elements, tail) => Some(Parts::Cells(elements, tail)),
            Term::Map(map) => Some(Parts::Pairs(map.pairs())),
            Term::Fun(fun) => match &**fun {
                Fun::Local(fun) => Some(Parts::Terms(&fun.free)),
                Fun::External { .. } => None,
            },
            Term::Record(record) => Some(Parts::Terms(record.values())),
            _ => None,
        }
    }

    /// Returns the term at a place.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&'t Term> {
        match *self {
            Parts::Terms(terms) => terms.get(at),
            Parts::Cells(terms, tail) => terms.get(at).or((at == terms.len()).then_some(tail)),
            Parts::Pairs(pairs) => {
                let (key, value) = pairs.get(at / 2)?;
                Some(if at.is_multiple_of(2) { key } else { value })
            }
            Parts::KeysFirst(pairs) => match pairs.get(at) {
                Some((key, _)) => Some(key),
                None => pairs.get(at - pairs.len()).map(|(_, value)| value),
            },
            Parts::Values(pairs) => pairs.get(at).map(|(_, value)| value),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Parts::Terms(terms) => terms.len(),
            Parts::Cells(terms, _) => terms.len() + 1,
            Parts::Pairs(pairs) | Parts::KeysFirst(pairs) => 2 * pairs.len(),
            Parts::Values(pairs) => pairs.len(),
        }
    }
}

/// A container that is being visited.
pub(crate) struct Open<'t, M> {
    pub(crate) parts: Parts<'t>,
    /// What its visitor wants to know behind the parts.
    pub(crate) mark: M,
}

/// What is done with the terms of a walk.
pub(crate) trait Visit<'t> {
    type Mark;
    /// Why a walk ends early.
    type Stop;

    /// Visits a term; `None` if the walk need not go into it.
    fn open(&mut self, term: &'t Term) -> Result<Option<Open<'t, Self::Mark>>, Self::Stop>;

    /// Called before the term at a place is visited.
    #[inline(always)]
    fn before(&mut self, _open: &Open<'t, Self::Mark>, _at: usize) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// Called behind the last term of a container.
    #[inline(always)]
    fn close(&mut self, _open: Open<'t, Self::Mark>) -> Result<(), Self::Stop> {
        Ok(())
    }
}

/// Visits a term and all terms in it.
#[inline]
pub(crate) fn walk<'t, V: Visit<'t>>(visitor: &mut V, term: &'t Term) -> Result<(), V::Stop> {
    walk_at(visitor, term, 0)
}

/// Visits terms that lie inside `depth` others.
fn walk_at<'t, V: Visit<'t>>(visitor: &mut V, term: &'t Term, depth: usize) -> Result<(), V::Stop> {
    let Some(open) = visitor.open(term)? else {
        return Ok(());
    };
    if depth >= SHALLOW {
        return walk_deep(visitor, open);
    }
    if let Parts::Terms(terms) = open.parts {
        for (at, part) in terms.iter().enumerate() {
            visitor.before(&open, at)?;
            walk_at(visitor, part, depth + 1)?;
        }
        return visitor.close(open);
    }
    let mut at = 0;
    while let Some(part) = open.parts.get(at) {
        visitor.before(&open, at)?;
        walk_at(visitor, part, depth + 1)?;
        at += 1;
    }
    visitor.close(open)
}

#[cold]
#[inline(never)]
fn walk_deep<'t, V: Visit<'t>>(
    visitor: &mut V,
    outermost: Open<'t, V::Mark>,
) -> Result<(), V::Stop> {
    let mut around = vec![(outermost, 0)];
    while let Some((open, at)) = around.last_mut() {
        if let Some(part) = open.parts.get(*at) {
            visitor.before(open, *at)?;
            *at += 1;
            around.extend(visitor.open(part)?.map(|open| (open, 0)));
        } else if let Some((open, _)) = around.pop() {
            visitor.close(open)?;
        }
    }
    Ok(())
}

/// What stands at the next place inside a container.
pub enum Part<O, F> {
    /// A term without parts, or one made at once.
    Leaf(O),
    /// The beginning of a container.
    Open(F),
}

/// The next part of a container; `None` behind the last one.
pub type Next<G> = Result<Option<Part<<G as Grow>::Out, <G as Grow>::Frame>>, <G as Grow>::Error>;

/// Makes terms, or whatever `Out` is, from the leaves up.
pub trait Grow {
    /// What is made.
    type Out;
    /// A container whose parts are being made.
    type Frame;
    /// Why it is given up.
    type Error;

    /// Returns what is next inside the container; `None` behind the last of its parts.
    ///
    /// # Errors
    ///
    /// Any, which ends [`grow`].
    fn part(&mut self, frame: &mut Self::Frame) -> Next<Self>;

    /// Puts a part into its container.
    fn put(&mut self, frame: &mut Self::Frame, part: Self::Out);

    /// Returns the container with all its parts.
    ///
    /// # Errors
    ///
    /// Any, which ends [`grow`].
    fn finish(&mut self, frame: Self::Frame) -> Result<Self::Out, Self::Error>;
}

/// Makes a container of any depth: recurses for the first levels, and keeps the containers around the others on the
/// heap.
///
/// # Errors
///
/// Those of the steps.
#[inline]
pub fn grow<G: Grow>(steps: &mut G, outermost: G::Frame) -> Result<G::Out, G::Error> {
    grow_at(steps, outermost, 0)
}

fn grow_at<G: Grow>(steps: &mut G, mut frame: G::Frame, depth: usize) -> Result<G::Out, G::Error> {
    if depth >= SHALLOW {
        return grow_deep(steps, frame);
    }
    while let Some(part) = steps.part(&mut frame)? {
        let part = match part {
            Part::Leaf(part) => part,
            Part::Open(inner) => grow_at(steps, inner, depth + 1)?,
        };
        steps.put(&mut frame, part);
    }
    steps.finish(frame)
}

#[cold]
#[inline(never)]
pub(crate) fn grow_deep<G: Grow>(steps: &mut G, outermost: G::Frame) -> Result<G::Out, G::Error> {
    let mut around = Vec::new();
    let mut frame = outermost;
    loop {
        let part = match steps.part(&mut frame)? {
            Some(Part::Leaf(part)) => part,
            Some(Part::Open(inner)) => {
                around.push(std::mem::replace(&mut frame, inner));
                continue;
            }
            None => {
                let Some(outer) = around.pop() else {
                    return steps.finish(frame);
                };
                steps.finish(std::mem::replace(&mut frame, outer))?
            }
        };
        steps.put(&mut frame, part);
    }
}

/// The parts that a container has so far: terms, or pairs of them.
pub(crate) enum Gather {
    Terms(Vec<Term>),
    /// The second is a key whose value is to come.
    Pairs(Vec<(Term, Term)>, Option<Term>),
}

impl Gather {
    /// Makes room for the terms of pairs, which come in turn.
    pub(crate) fn pairs(room: usize) -> Gather {
        Gather::Pairs(Vec::with_capacity(room), None)
    }

    #[inline]
    pub(crate) fn put(&mut self, term: Term) {
        match self {
            Gather::Terms(terms) => terms.push(term),
            Gather::Pairs(pairs, key) => match key.take() {
                Some(key) => pairs.push((key, term)),
                None => *key = Some(term),
            },
        }
    }

    pub(crate) fn into_terms(self) -> Vec<Term> {
        match self {
            Gather::Terms(terms) => terms,
            Gather::Pairs(..) => Vec::new(),
        }
    }

    pub(crate) fn into_pairs(self) -> Vec<(Term, Term)> {
        match self {
            Gather::Terms(_) => Vec::new(),
            Gather::Pairs(pairs, _) => pairs,
        }
    }
}
