//! Key constraints: the set of keys for which a guard can be true.
//!
//! [`constrain`] returns the keys for which an expression can have a wanted value; for an expression that it does not
//! understand, these are all keys. A guard that fails is not `true`, so it needs no special case. The set may be too
//! large and never too small: this is how planning keeps the invariant SUPERSET.

use std::borrow::Cow;

use fyris_term::{Map, Term};

use crate::syntax::atoms::{is_anything, known, variable};
use crate::syntax::function::{self, Callee, Comparison, Function};

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
    if let Some(literal) = literal(expression) {
        let is_it = literal.as_atom() == Some(known().boolean(want));
        return if is_it { sets.all() } else { sets.none() };
    }
    let Some([Term::Atom(name), arguments @ ..]) = expression.as_tuple() else {
        return sets.all();
    };
    let Ok(callee) = function::lookup(name.as_str(), arguments.len()) else {
        return sets.all();
    };
    match (callee, want) {
        (Callee::And | Callee::AndAlso, true) | (Callee::Or | Callee::OrElse, false) => {
            let parts = arguments
                .iter()
                .map(|argument| constrain(sets, argument, want));
            parts.fold(sets.all(), |all, one| sets.intersect(all, one))
        }
        (Callee::And | Callee::AndAlso, false) | (Callee::Or | Callee::OrElse, true) => sets.union(
            arguments
                .iter()
                .map(|argument| constrain(sets, argument, want))
                .collect(),
        ),
        (Callee::Function(Function::Not), want) => constrain(sets, &arguments[0], !want),
        (Callee::Compare(comparison), want) => {
            let comparison = if want {
                comparison
            } else {
                comparison.negated()
            };
            compare(sets, comparison, &arguments[0], &arguments[1])
        }
        _ => sets.all(),
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
    guards
        .iter()
        .find_map(|guard| known_value_by(guard, number, exactly))
}

fn known_value_by(guard: &Term, number: u32, exactly: bool) -> Option<Term> {
    let [Term::Atom(name), arguments @ ..] = guard.as_tuple()? else {
        return None;
    };
    let is_it = |term: &Term| variable(term) == Some(number);
    match function::lookup(name.as_str(), arguments.len()).ok()? {
        Callee::And | Callee::AndAlso => known_value(arguments, number, exactly),
        Callee::Compare(comparison) => {
            let equal =
                comparison == Comparison::Exact || (comparison == Comparison::Equal && !exactly);
            let value = match arguments {
                [variable, value] if is_it(variable) => value,
                [value, variable] if is_it(variable) => value,
                _ => return None,
            };
            literal(value).filter(|_| equal).map(Cow::into_owned)
        }
        _ => None,
    }
}

/// Returns the value of an expression that is the same for all objects; `None` if that cannot be seen.
pub(crate) fn literal(expression: &Term) -> Option<Cow<'_, Term>> {
    match expression {
        Term::Atom(atom) => {
            let special = *atom == known().object || *atom == known().bindings;
            (!special && variable(expression).is_none()).then_some(Cow::Borrowed(expression))
        }
        Term::Tuple(elements) => match &elements[..] {
            [Term::Atom(name), value] if *name == known().r#const => Some(Cow::Borrowed(value)),
            [Term::Tuple(parts)] => literals(parts).map(|parts| Cow::Owned(Term::tuple(parts))),
            _ => None,
        },
        Term::List(parts) => literals(parts).map(|parts| Cow::Owned(Term::list(parts))),
        Term::Improper(parts, tail) => {
            let tail = literal(tail)?.into_owned();
            literals(parts).map(|parts| Cow::Owned(Term::improper(parts, tail)))
        }
        Term::Map(map) => {
            let pairs = map.iter().map(|(key, value)| {
                Some((literal(key)?.into_owned(), literal(value)?.into_owned()))
            });
            pairs
                .collect::<Option<Map>>()
                .map(|map| Cow::Owned(Term::Map(map)))
        }
        other => Some(Cow::Borrowed(other)),
    }
}

fn literals(parts: &[Term]) -> Option<Vec<Term>> {
    parts
        .iter()
        .map(|part| literal(part).map(Cow::into_owned))
        .collect()
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
    match term {
        Term::Int(_) | Term::Big(_) | Term::Float(_) | Term::Fun(_) => true,
        Term::Tuple(parts) | Term::List(parts) => parts.iter().any(holds_number),
        Term::Improper(parts, tail) => parts.iter().any(holds_number) || holds_number(tail),
        Term::Map(map) => map
            .iter()
            .any(|(key, value)| holds_number(key) || holds_number(value)),
        Term::Record(record) => record.values().iter().any(holds_number),
        _ => false,
    }
}
