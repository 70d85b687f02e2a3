//! Key constraints: the set of keys for which a guard can be true.
//!
//! [`constrain`] returns the keys for which an expression can have a wanted value; for an expression that it does not
//! understand, these are all keys. A guard that fails is not `true`, so it needs no special case. The set may be too
//! large and never too small: this is how planning keeps the invariant SUPERSET.

use std::borrow::Cow;
use std::convert::Infallible;
use std::marker::PhantomData;

use fyris_term::Term;
use fyris_term::walk::{Grow, Next, Part, Parts, grow};

use crate::syntax::atoms::{is_anything, known, variable};
use crate::syntax::function::{self, Callee, Comparison, Function};
use crate::syntax::structure::Structure;

/// The side of a comparison that is not the literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    /// The key.
    Key,
    /// The first part of the key that the head does not determine.
    Next,
}

/// Sets of keys of one kind of table.
pub(crate) trait KeySets {
    /// A set of keys.
    type Keys: Clone;

    /// Returns the set of all keys that the head can match.
    fn all(&self) -> Self::Keys;

    /// Returns the empty set.
    fn none(&self) -> Self::Keys;

    /// Returns the operand that the term is, if it is the key or the next part of it.
    fn operand(&self, term: &Term) -> Option<Operand>;

    /// Returns the keys for which `operand comparison literal` can hold.
    fn compare(&self, operand: Operand, comparison: Comparison, literal: &Term) -> Self::Keys;

    /// Returns the keys in both sets.
    fn intersect(&self, a: Self::Keys, b: Self::Keys) -> Self::Keys;

    /// Returns the keys in any of the sets.
    fn union(&self, sets: Vec<Self::Keys>) -> Self::Keys;
}

/// Returns the keys for which the expression can have the value `want`.
pub(crate) fn constrain<S: KeySets>(sets: &S, expression: &Term, want: bool) -> S::Keys {
    match read(sets, expression, want) {
        Read::Keys(keys) => keys,
        Read::Join(join, waiting) => {
            let mut joins = Joins {
                sets,
                terms: PhantomData,
            };
            let Ok(keys) = grow(&mut joins, Joining::new(sets, join, waiting));
            keys
        }
    }
}

/// How the keys of several expressions are joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    /// Those of all.
    Intersect,
    /// Those of any.
    Unite,
}

/// An expression, and the value that is wanted of it.
type Wish<'t> = (&'t Term, bool);

/// What an expression says about keys.
enum Read<'t, K> {
    Keys(K),
    /// What its arguments say, joined.
    Join(Join, Vec<Wish<'t>>),
}

fn read<'t, S: KeySets>(sets: &S, mut expression: &'t Term, mut want: bool) -> Read<'t, S::Keys> {
    loop {
        if let Some(literal) = literal(expression) {
            let is_it = literal.as_atom() == Some(known().boolean(want));
            return Read::Keys(if is_it { sets.all() } else { sets.none() });
        }
        let Some([Term::Atom(name), arguments @ ..]) = expression.as_tuple() else {
            return Read::Keys(sets.all());
        };
        let join = match function::lookup(name.as_str(), arguments.len()) {
            Ok(Callee::And | Callee::AndAlso) => [Join::Unite, Join::Intersect],
            Ok(Callee::Or | Callee::OrElse) => [Join::Intersect, Join::Unite],
            Ok(Callee::Function(Function::Not)) => {
                (expression, want) = (&arguments[0], !want);
                continue;
            }
            Ok(Callee::Compare(comparison)) => {
                let comparison = if want {
                    comparison
                } else {
                    comparison.negated()
                };
                let keys = compare(sets, comparison, &arguments[0], &arguments[1]);
                return Read::Keys(keys);
            }
            _ => return Read::Keys(sets.all()),
        };
        let wishes = arguments.iter().rev().map(|argument| (argument, want));
        return Read::Join(join[usize::from(want)], wishes.collect());
    }
}

/// Joins the keys of expressions of any depth.
struct Joins<'s, 't, S> {
    sets: &'s S,
    terms: PhantomData<&'t Term>,
}

/// Expressions whose keys are being joined.
struct Joining<'t, K> {
    join: Join,
    /// The last one comes first.
    waiting: Vec<Wish<'t>>,
    /// The keys of those before: one set, or those to unite.
    keys: Vec<K>,
}

impl<'t, K> Joining<'t, K> {
    fn new(sets: &impl KeySets<Keys = K>, join: Join, waiting: Vec<Wish<'t>>) -> Self {
        let keys = match join {
            Join::Intersect => vec![sets.all()],
            Join::Unite => Vec::new(),
        };
        Joining {
            join,
            waiting,
            keys,
        }
    }
}

impl<'t, S: KeySets> Grow for Joins<'_, 't, S> {
    type Out = S::Keys;
    type Frame = Joining<'t, S::Keys>;
    type Error = Infallible;

    fn part(&mut self, joining: &mut Self::Frame) -> Next<Self> {
        while let Some((expression, want)) = joining.waiting.pop() {
            return Ok(Some(match read(self.sets, expression, want) {
                Read::Keys(keys) => Part::Leaf(keys),
                // `A and (B and C)` is one intersection: sets are not joined again at each level.
                Read::Join(join, inner) if join == joining.join => {
                    joining.waiting.extend(inner);
                    continue;
                }
                Read::Join(join, inner) => Part::Open(Joining::new(self.sets, join, inner)),
            }));
        }
        Ok(None)
    }

    fn put(&mut self, joining: &mut Self::Frame, keys: S::Keys) {
        let keys = match (joining.join, joining.keys.pop()) {
            (Join::Intersect, Some(all)) => self.sets.intersect(all, keys),
            (Join::Unite, Some(last)) => {
                joining.keys.push(last);
                keys
            }
            (_, None) => keys,
        };
        joining.keys.push(keys);
    }

    fn finish(&mut self, mut joining: Self::Frame) -> Result<S::Keys, Infallible> {
        Ok(match (joining.join, joining.keys.pop()) {
            (Join::Intersect, Some(all)) => all,
            (_, last) => {
                joining.keys.extend(last);
                self.sets.union(joining.keys)
            }
        })
    }
}

fn compare<S: KeySets>(sets: &S, comparison: Comparison, a: &Term, b: &Term) -> S::Keys {
    if let (Some(operand), Some(literal)) = (sets.operand(a), literal(b)) {
        return sets.compare(operand, comparison, &literal);
    }
    if let (Some(literal), Some(operand)) = (literal(a), sets.operand(b)) {
        return sets.compare(operand, comparison.mirrored(), &literal);
    }
    sets.all()
}

/// Returns the literal that the guards require a variable to equal: by `=:=` only if `exactly`, else by `==` as well.
pub(crate) fn known_value(guards: &[Term], number: u32, exactly: bool) -> Option<Term> {
    let is_it = |term: &Term| variable(term) == Some(number);
    let mut waiting: Vec<&Term> = guards.iter().rev().collect();
    while let Some(guard) = waiting.pop() {
        let Some([Term::Atom(name), arguments @ ..]) = guard.as_tuple() else {
            continue;
        };
        match (function::lookup(name.as_str(), arguments.len()), arguments) {
            (Ok(Callee::And | Callee::AndAlso), _) => waiting.extend(arguments.iter().rev()),
            (Ok(Callee::Compare(comparison)), [a, b])
                if comparison == Comparison::Exact
                    || (comparison == Comparison::Equal && !exactly) =>
            {
                let value = match (is_it(a), is_it(b)) {
                    (true, _) => literal(b),
                    (_, true) => literal(a),
                    _ => None,
                };
                if let Some(value) = value {
                    return Some(value.into_owned());
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the value of an expression that is the same for all objects; `None` if that cannot be seen.
pub(crate) fn literal(expression: &Term) -> Option<Cow<'_, Term>> {
    match start(expression)? {
        Part::Leaf(value) => Some(Cow::Borrowed(value)),
        Part::Open(open) => {
            let literal = grow(&mut Literals(PhantomData), open);
            literal.ok().map(Cow::Owned)
        }
    }
}

/// A structure of literals of which the values so far are made.
struct Literal<'t> {
    structure: Structure,
    parts: Parts<'t>,
    made: Vec<Term>,
}

fn start(expression: &Term) -> Option<Part<&Term, Literal<'_>>> {
    if let Some((structure, parts)) = Structure::of(expression) {
        return Some(Part::Open(Literal {
            structure,
            parts,
            made: Vec::new(),
        }));
    }
    match expression {
        Term::Atom(atom) => {
            let special = *atom == known().object || *atom == known().bindings;
            (!special && variable(expression).is_none()).then_some(Part::Leaf(expression))
        }
        Term::Tuple(elements) => match &elements[..] {
            [Term::Atom(name), value] if *name == known().r#const => Some(Part::Leaf(value)),
            _ => None,
        },
        other => Some(Part::Leaf(other)),
    }
}

struct Literals<'t>(PhantomData<&'t Term>);

impl<'t> Grow for Literals<'t> {
    type Out = Term;
    type Frame = Literal<'t>;
    /// An expression that is no literal.
    type Error = ();

    fn part(&mut self, open: &mut Literal<'t>) -> Next<Self> {
        let Some(part) = open.parts.get(open.made.len()) else {
            return Ok(None);
        };
        Ok(Some(match start(part).ok_or(())? {
            Part::Leaf(value) => Part::Leaf(value.clone()),
            Part::Open(open) => Part::Open(open),
        }))
    }

    fn put(&mut self, open: &mut Literal<'t>, part: Term) {
        open.made.push(part);
    }

    fn finish(&mut self, open: Literal<'t>) -> Result<Term, ()> {
        Ok(open.structure.build(open.made))
    }
}

/// Returns whether the expression is `{element, KeyPos, Object}`, where `Object` is `'$_'` or a variable bound to it.
pub(crate) fn is_key_element(expression: &Term, keypos: usize, head: &Term) -> bool {
    let Some([Term::Atom(name), Term::Int(position), object]) = expression.as_tuple() else {
        return false;
    };
    let whole =
        object.as_atom() == Some(known().object) || (variable(object).is_some() && object == head);
    *name == known().element && usize::try_from(*position) == Ok(keypos) && whole
}

/// Returns whether the term is a variable that the head binds to the key.
pub(crate) fn is_key_variable(term: &Term, keypos: usize, head: &Term) -> bool {
    let key = head
        .as_tuple()
        .and_then(|elements| elements.get(keypos.checked_sub(1)?));
    !is_anything(term) && variable(term).is_some() && key == Some(term)
}

/// Returns whether the term contains a number, so that other terms can be `==` to it without being `=:=`.
pub(crate) fn holds_number(term: &Term) -> bool {
    let mut holds = false;
    term.each(|part| {
        let is_number = matches!(
            part,
            Term::Int(_) | Term::Big(_) | Term::Float(_) | Term::Fun(_)
        );
        holds |= is_number;
    });
    holds
}
