//! Values as SQL knows them, and what they are in a table.
//!
//! | in the table | is |
//! |---|---|
//! | `undefined`, or an element that an object does not have | NULL |
//! | integers, floats | numbers, compared exactly; arithmetic makes floats of integers beyond 64 bits |
//! | `true`, `false` | 1 and 0, shown as they are |
//! | other atoms, binaries of UTF-8 | text |
//! | other bitstrings | themselves: among the texts, by their bytes |
//! | all else | itself: above all text, in the order of terms, and equal to what is exactly the same |
//!
//! The order is sqlite3's: NULL, numbers, text by its bytes, and the rest.

use std::cmp::Ordering;

use fyris_term::{Float, Term};
use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive};

use super::number;
use crate::shell::error::ShellError;

/// A value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SqlValue {
    Null,
    Int(i64),
    Real(f64),
    /// An integer beyond 64 bits.
    Big(Box<BigInt>),
    /// An atom.
    Bool(bool),
    Text(String),
    /// A term that SQL has no form for.
    Other(Term),
}

use SqlValue::{Big, Bool, Int, Null, Other, Real, Text};

/// The place of texts among the classes of values.
const TEXTS: u8 = 3;

/// Atoms that are no text.
pub(super) const NO_TEXTS: [&str; 3] = ["false", "true", "undefined"];

impl SqlValue {
    /// Returns the value of an element.
    pub(super) fn of(element: &Term) -> SqlValue {
        match element {
            Term::Int(n) => Int(*n),
            Term::Float(float) => Real(float.get()),
            Term::Big(n) => Big(n.clone()),
            Term::Atom(name) => match name.as_str() {
                "undefined" => Null,
                "true" => Bool(true),
                "false" => Bool(false),
                text => Text(text.to_owned()),
            },
            Term::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Text(text.to_owned()),
                Err(_) => Other(element.clone()),
            },
            other => Other(other.clone()),
        }
    }

    /// Returns the term that a table keeps, or that is shown.
    pub(super) fn into_term(self) -> Result<Term, ShellError> {
        Ok(match self {
            Null => Term::atom("undefined"),
            Int(n) => Term::Int(n),
            Real(x) => match Float::new(x) {
                Some(float) => Term::Float(float),
                None => return Err(ShellError::other("a number beyond what a float can hold")),
            },
            Bool(b) => Term::atom(if b { "true" } else { "false" }),
            Big(n) => Term::Big(n),
            Text(text) => Term::binary(text.into_bytes()),
            Other(term) => term,
        })
    }

    /// Returns the terms, in tables, whose value is equal to this one, a number first. Numbers are equal as `==` has it.
    pub(super) fn equals(&self) -> Vec<Term> {
        match self {
            Null => vec![],
            Text(text) => {
                let atom = fyris_term::Atom::new(text).ok();
                let atom = atom.filter(|_| !NO_TEXTS.contains(&text.as_str()));
                let binary = Term::binary(text.clone().into_bytes());
                std::iter::once(binary)
                    .chain(atom.map(Term::Atom))
                    .collect()
            }
            Real(x) if !x.is_finite() => vec![],
            Bool(b) => Int(i64::from(*b)).equals(),
            value => {
                let flags = [false, true].map(Bool).into_iter();
                let equal = flags.filter(|flag| flag.order(value).is_eq());
                let terms = std::iter::once(value.clone()).chain(equal);
                terms.filter_map(|value| value.into_term().ok()).collect()
            }
        }
    }

    /// Returns the terms whose value is equal to this one, each for itself where 1 and 1.0 are told apart.
    pub(super) fn equals_exactly(&self) -> Vec<Term> {
        let real = match self {
            Int(n) => Some(*n as f64),
            Big(n) => n.to_f64(),
            Real(x) => Some(*x),
            Bool(b) => return Int(i64::from(*b)).equals_exactly(),
            _ => return self.equals(),
        };
        // The float next to it, and the integer next to that.
        let float = real.and_then(Float::new);
        let zero = float.filter(|float| float.get() == 0.0);
        let zero = zero.and_then(|float| Float::new(-float.get()));
        let int = match self {
            Real(x) => BigInt::from_f64(*x).map(Term::integer),
            int => int.clone().into_term().ok(),
        };
        let floats = float.into_iter().chain(zero).map(Term::Float);
        let flags = [false, true].map(|flag| Bool(flag).into_term());
        let mut terms: Vec<Term> = int.into_iter().chain(floats).collect();
        terms.extend(flags.into_iter().flatten());
        terms.retain(|term| SqlValue::of(term).order(self).is_eq());
        terms
    }

    /// Returns terms that are equal to this value, as they are looked up under keys: a number is not looked for under
    /// `true` and `false`, which are no ids.
    pub(super) fn among_keys(&self, mut equal: Vec<Term>) -> Vec<Term> {
        if let Int(_) | Real(_) | Big(_) = self {
            equal.retain(|term| !matches!(term, Term::Atom(_)));
        }
        equal
    }

    /// Returns whether terms compare with it, a constant, as SQL does.
    pub(super) fn is_exact(&self) -> bool {
        match self {
            Real(x) => x.is_finite(),
            Other(_) => false,
            Null | Int(_) | Big(_) | Bool(_) | Text(_) => true,
        }
    }

    /// Returns the value of a logical test.
    pub(super) fn flag(test: Option<bool>) -> SqlValue {
        test.map_or(Null, |test| Int(i64::from(test)))
    }

    /// Returns whether it counts as true; nothing for NULL.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Null => None,
            Int(n) => Some(*n != 0),
            Bool(b) => Some(*b),
            other => Some(other.real() != 0.0),
        }
    }

    /// Returns the number that arithmetic makes of it: NULL, an integer or a float.
    pub(super) fn number(&self) -> SqlValue {
        match self {
            Bool(b) => Int(i64::from(*b)),
            Text(text) => number::prefix(text),
            Other(_) => Int(0),
            Big(n) => Real(n.to_f64().unwrap_or(f64::INFINITY)),
            number => number.clone(),
        }
    }

    /// Returns it as a float.
    pub(super) fn real(&self) -> f64 {
        match self.number() {
            Int(n) => n as f64,
            Real(x) => x,
            _ => 0.0,
        }
    }

    /// Returns it as an integer: of a text the digits at its beginning.
    pub(super) fn int(&self) -> i64 {
        match self {
            Text(text) => number::int_prefix(text),
            other => match other.number() {
                Int(n) => n,
                // Saturates.
                Real(x) => x as i64,
                _ => 0,
            },
        }
    }

    /// Returns its text; nothing for NULL.
    pub(super) fn text(&self) -> Option<String> {
        Some(match self {
            Null => return None,
            Int(n) => n.to_string(),
            Real(x) => number::text(*x),
            Big(n) => n.to_string(),
            Bool(b) => i64::from(*b).to_string(),
            Text(text) => text.clone(),
            Other(term) => term.to_string(),
        })
    }

    fn class(&self) -> u8 {
        match self {
            Null => 0,
            Int(_) | Real(_) | Big(_) | Bool(_) => 1,
            Text(_) | Other(Term::Binary(_) | Term::Bits(_)) => TEXTS,
            Other(_) => 4,
        }
    }

    /// Compares in the order of sorting.
    pub(super) fn order(&self, other: &SqlValue) -> Ordering {
        match (self, other) {
            (Int(a), Int(b)) => a.cmp(b),
            (Real(a), Real(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
            (Int(a), Real(b)) => number::compare(*a, *b),
            (Real(a), Int(b)) => number::compare(*b, *a).reverse(),
            (Big(a), Big(b)) => a.cmp(b),
            (Big(a), Real(b)) => number::compare_big(a, *b),
            (Real(a), Big(b)) => number::compare_big(b, *a).reverse(),
            (Big(a), Int(b)) => (**a).cmp(&BigInt::from(*b)),
            (Int(a), Big(b)) => BigInt::from(*a).cmp(b),
            (Bool(a), b) => Int(i64::from(*a)).order(b),
            (a, Bool(b)) => a.order(&Int(i64::from(*b))),
            (Text(a), Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Text(a), Other(b)) if other.class() == TEXTS => {
                Term::binary(a.as_bytes()).cmp_order(b)
            }
            (Other(a), Text(b)) if self.class() == TEXTS => {
                a.cmp_order(&Term::binary(b.as_bytes()))
            }
            (Other(a), Other(b)) if self.class() == other.class() => {
                a.cmp_order(b).then_with(|| a.cmp_exact(b))
            }
            (a, b) => a.class().cmp(&b.class()),
        }
    }

    /// Compares as `=` and `<` do: nothing where one is NULL.
    pub(super) fn compare(&self, other: &SqlValue) -> Option<Ordering> {
        match (self, other) {
            (Null, _) | (_, Null) => None,
            (a, b) => Some(a.order(b)),
        }
    }
}

/// Values that are the same if they are equal in the order of sorting: of a group, of a row.
#[derive(Clone, Debug)]
pub(super) struct SqlKey(pub(super) Vec<SqlValue>);

impl Ord for SqlKey {
    fn cmp(&self, other: &SqlKey) -> Ordering {
        let orders = self.0.iter().zip(&other.0).map(|(a, b)| a.order(b));
        let mut different = orders.filter(|order| order.is_ne());
        different.next().unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for SqlKey {
    fn partial_cmp(&self, other: &SqlKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SqlKey {
    fn eq(&self, other: &SqlKey) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SqlKey {}
