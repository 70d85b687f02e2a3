//! The elements of tuples and lists, dropped without recursion.
//!
//! The drop of an enum's fields goes one call deeper with every level, and [`Term`] cannot have a drop of its own, or
//! its fields could not be moved out. So the containers in it drop what they hold: a few levels by recursion, which
//! takes no memory, and what is deeper by a list on the heap.

use std::fmt;
use std::mem::take;
use std::ops::{Deref, DerefMut};

use crate::term::Fun;
use crate::walk::SHALLOW;
use crate::{Map, Term};

/// The elements of a tuple or a list: a `Vec<Term>`, which it dereferences to, that can be dropped at any depth.
///
/// ```
/// use fyris_term::{Term, Terms};
/// let tuple = Term::tuple([Term::Int(1), Term::Int(2)]);
/// let Term::Tuple(mut elements) = tuple else { unreachable!() };
/// elements.push(Term::Int(3));
/// let elements: Vec<Term> = elements.into_vec();
/// assert_eq!(Term::Tuple(elements.into()).to_string(), "{1,2,3}");
/// ```
#[derive(Default, Clone, PartialEq, Eq, Hash)]
pub struct Terms(Vec<Term>);

impl Terms {
    /// Returns no terms. Allocates nothing.
    pub const fn new() -> Terms {
        Terms(Vec::new())
    }

    /// Returns the vector. O(1).
    pub fn into_vec(mut self) -> Vec<Term> {
        take(&mut self.0)
    }
}

impl Deref for Terms {
    type Target = Vec<Term>;

    #[inline]
    fn deref(&self) -> &Vec<Term> {
        &self.0
    }
}

impl DerefMut for Terms {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<Term> {
        &mut self.0
    }
}

impl AsRef<[Term]> for Terms {
    fn as_ref(&self) -> &[Term] {
        &self.0
    }
}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Vec<Term>> for Terms {
    #[inline]
    fn from(terms: Vec<Term>) -> Terms {
        Terms(terms)
    }
}

impl From<Terms> for Vec<Term> {
    fn from(terms: Terms) -> Vec<Term> {
        terms.into_vec()
    }
}

impl From<&[Term]> for Terms {
    fn from(terms: &[Term]) -> Terms {
        terms.to_vec().into()
    }
}

impl<const N: usize> From<[Term; N]> for Terms {
    fn from(terms: [Term; N]) -> Terms {
        Terms(terms.into())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Terms {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(out)
    }
}

impl FromIterator<Term> for Terms {
    fn from_iter<I: IntoIterator<Item = Term>>(terms: I) -> Terms {
        Terms(terms.into_iter().collect())
    }
}

impl Extend<Term> for Terms {
    fn extend<I: IntoIterator<Item = Term>>(&mut self, terms: I) {
        self.0.extend(terms);
    }
}

impl IntoIterator for Terms {
    type Item = Term;
    type IntoIter = std::vec::IntoIter<Term>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a Terms {
    type Item = &'a Term;
    type IntoIter = std::slice::Iter<'a, Term>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a mut Terms {
    type Item = &'a mut Term;
    type IntoIter = std::slice::IterMut<'a, Term>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl PartialEq<Vec<Term>> for Terms {
    fn eq(&self, other: &Vec<Term>) -> bool {
        self.0 == *other
    }
}

impl PartialEq<Terms> for Vec<Term> {
    fn eq(&self, other: &Terms) -> bool {
        *self == other.0
    }
}

impl PartialEq<[Term]> for Terms {
    fn eq(&self, other: &[Term]) -> bool {
        self.0 == other
    }
}

impl<const N: usize> PartialEq<[Term; N]> for Terms {
    fn eq(&self, other: &[Term; N]) -> bool {
        self.0 == other
    }
}

impl Drop for Terms {
    #[inline]
    fn drop(&mut self) {
        if !self.0.iter().all(is_leaf) {
            drop_all(take(&mut self.0));
        }
    }
}

impl Drop for Map {
    #[inline]
    fn drop(&mut self) {
        if !(self.pairs.iter()).all(|(key, value)| is_leaf(key) && is_leaf(value)) {
            drop_all(take(&mut self.pairs));
        }
    }
}

/// Returns whether a term has no parts, so that its drop goes no deeper.
#[inline(always)]
fn is_leaf(term: &Term) -> bool {
    use Term as T;
    !matches!(
        term,
        T::Tuple(_) | T::List(_) | T::Improper(..) | T::Map(_) | T::Fun(_) | T::Record(_)
    )
}

/// What a container held, and what is still to be dropped of it.
enum Content {
    Terms(Vec<Term>),
    Pairs(Vec<(Term, Term)>),
}

impl Content {
    fn is_empty(&self) -> bool {
        match self {
            Content::Terms(terms) => terms.is_empty(),
            Content::Pairs(pairs) => pairs.is_empty(),
        }
    }
}

impl From<Vec<Term>> for Content {
    fn from(terms: Vec<Term>) -> Content {
        Content::Terms(terms)
    }
}

impl From<Vec<(Term, Term)>> for Content {
    fn from(pairs: Vec<(Term, Term)>) -> Content {
        Content::Pairs(pairs)
    }
}

#[inline(never)]
fn drop_all(content: impl Into<Content>) {
    let mut deep = Vec::new();
    drop_content(content.into(), 0, &mut deep);
    while let Some(content) = deep.pop() {
        drop_content(content, 0, &mut deep);
    }
}

/// Drops the content of a container that lies inside `depth` others; what is too deep, and not empty, goes to `deep`.
fn drop_content(content: Content, depth: usize, deep: &mut Vec<Content>) {
    if content.is_empty() {
        return;
    }
    if depth >= SHALLOW {
        return deep.push(content);
    }
    match content {
        Content::Terms(mut terms) => {
            for term in terms.iter_mut().filter(|term| !is_leaf(term)) {
                drop_inside(term, depth, deep);
            }
        }
        Content::Pairs(mut pairs) => {
            for (key, value) in &mut pairs {
                drop_inside(key, depth, deep);
                drop_inside(value, depth, deep);
            }
        }
    }
}

/// Drops what a term holds, and leaves it empty.
#[inline]
fn drop_inside(term: &mut Term, depth: usize, deep: &mut Vec<Content>) {
    let mut inside = |content: Content| drop_content(content, depth + 1, deep);
    match term {
        Term::Tuple(elements) | Term::List(elements) => inside(take(&mut elements.0).into()),
        Term::Improper(elements, tail) => {
            // The tail is one more of the elements.
            let mut elements = take(&mut elements.0);
            elements.push(std::mem::replace(&mut **tail, Term::Int(0)));
            inside(elements.into());
        }
        Term::Map(map) => inside(take(map).into_pairs().into()),
        Term::Fun(fun) => {
            if let Fun::Local(fun) = &mut **fun {
                inside(take(&mut fun.free.0).into());
            }
        }
        Term::Record(record) => inside(take(&mut record.values.0).into()),
        _ => {}
    }
}
