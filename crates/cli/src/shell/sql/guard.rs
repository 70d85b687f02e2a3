//! What of a condition a match specification can say.
//!
//! A guard holds for an object if and only if the condition is true for it, and not false or unknown. So it looks at
//! comparisons of a column with a constant, which tell NULL apart by themselves: `undefined` is above all numbers in
//! the order of terms. Texts are atoms and binaries, with terms that are no texts between.
//!
//! A guard fails for an object that does not have the element it looks at. That is as good as `false`, but for
//! `orelse`, which fails as a whole: so the sides of it ask for the size first.

use fyris_term::{Atom, Term};

use super::expression::{SqlComparison, SqlExpr, SqlSet};
use super::value::{NO_TEXTS, SqlValue};

/// The most values of IN that a guard compares with one by one.
pub(super) const MOST_VALUES: usize = 16;

/// Guards of which all have to hold.
pub(super) struct Guards {
    pub(super) all: Vec<Term>,
    /// The number of elements without which one of them fails.
    needs: usize,
}

impl Guards {
    fn of(place: usize, all: Vec<Term>) -> Guards {
        let needs = place + 1;
        Guards { all, needs }
    }

    fn and(mut self, other: Guards) -> Guards {
        self.all.extend(other.all);
        self.needs = self.needs.max(other.needs);
        self
    }

    /// Returns them as one guard that does not fail; all objects have elements up to the key.
    fn safe(self, key: usize) -> Term {
        let size = (self.needs > key + 1).then(|| size(">=", self.needs));
        let tests = size.into_iter().chain(self.all);
        let test = tests.reduce(|before, test| call("andalso", vec![before, test]));
        test.unwrap_or_else(|| Term::atom("true"))
    }
}

/// Returns the guards that say a condition on the first table of a query, whose key is in this place, if there are
/// such.
pub(super) fn guards(condition: &SqlExpr, key: usize) -> Option<Guards> {
    match condition {
        SqlExpr::And(left, right) => Some(guards(left, key)?.and(guards(right, key)?)),
        SqlExpr::Or(left, right) => {
            let sides = vec![guards(left, key)?.safe(key), guards(right, key)?.safe(key)];
            Some(Guards::of(key, vec![call("orelse", sides)]))
        }
        SqlExpr::IsNull(of) => {
            let place = column(of)?;
            let is_null = call("==", vec![element(place), Term::atom("undefined")]);
            Some(Guards::of(
                key,
                vec![match place <= key {
                    true => is_null,
                    false => call("orelse", vec![size("<", place + 1), is_null]),
                }],
            ))
        }
        SqlExpr::Not(of) => match &**of {
            SqlExpr::IsNull(of) => {
                let place = column(of)?;
                Some(Guards::of(place, vec![is_there(&element(place))]))
            }
            _ => None,
        },
        SqlExpr::Compare(comparison, left, right) => match (&**left, &**right) {
            (of, SqlExpr::Value(value)) => compared(*comparison, column(of)?, value, key),
            (SqlExpr::Value(value), of) => compared(comparison.turned(), column(of)?, value, key),
            _ => None,
        },
        SqlExpr::Among(of, SqlSet { values, .. })
            if values.len() <= MOST_VALUES && values.iter().all(SqlValue::is_exact) =>
        {
            let place = column(of)?;
            let terms = values.iter().flat_map(|value| terms(value, place, key));
            Some(Guards::of(
                place,
                vec![equal(&element(place), terms.collect())],
            ))
        }
        SqlExpr::Between(of, low, high) => match (&**low, &**high) {
            (SqlExpr::Value(low), SqlExpr::Value(high)) => {
                let place = column(of)?;
                let low = compared(SqlComparison::GreaterOrEqual, place, low, key)?;
                Some(low.and(compared(SqlComparison::LessOrEqual, place, high, key)?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the place of the element of which a condition says the values that it may be equal to, and these.
pub(super) fn values(condition: &SqlExpr) -> Option<(usize, &[SqlValue])> {
    let (of, values) = match condition {
        SqlExpr::Compare(SqlComparison::Equal, left, right) => match (&**left, &**right) {
            (of, SqlExpr::Value(value)) | (SqlExpr::Value(value), of) => {
                (of, std::slice::from_ref(value))
            }
            _ => return None,
        },
        SqlExpr::Among(of, set) => (&**of, &set.values[..]),
        _ => return None,
    };
    Some((column(of)?, values))
}

/// The test of an element for a term.
pub(super) fn is(place: usize, term: &Term, exactly: bool) -> Term {
    let sign = if exactly { "=:=" } else { "==" };
    call(sign, vec![element(place), constant(term.clone())])
}

/// Returns the place of the element that a column of the first table is.
fn column(of: &SqlExpr) -> Option<usize> {
    match of {
        SqlExpr::Column(0, place) => Some(*place),
        _ => None,
    }
}

fn element(place: usize) -> Term {
    let place = Term::Int(place as i64 + 1);
    call("element", vec![place, Term::atom("$_")])
}

/// The test of an object for its number of elements.
pub(super) fn size(sign: &str, elements: usize) -> Term {
    call(sign, vec![size_of(), Term::Int(elements as i64)])
}

/// The number of elements of an object.
pub(super) fn size_of() -> Term {
    call("size", vec![Term::atom("$_")])
}

/// Returns the terms that are equal to a value in this place.
fn terms(value: &SqlValue, place: usize, key: usize) -> Vec<Term> {
    match place == key {
        true => value.among_keys(value.equals()),
        false => value.equals(),
    }
}

/// Returns the guards of a comparison. Below a number there may be `false` and `true`, too, but of the key, where a range
/// is worth more.
fn compared(
    comparison: SqlComparison,
    place: usize,
    value: &SqlValue,
    key: usize,
) -> Option<Guards> {
    let of = element(place);
    if !value.is_exact() {
        return None;
    }
    let all = match (comparison, value) {
        (_, SqlValue::Null) => vec![Term::atom("false")],
        (SqlComparison::Equal, _) => vec![equal(&of, terms(value, place, key))],
        (SqlComparison::NotEqual, _) => {
            let other = |term| call("/=", vec![of.clone(), constant(term)]);
            // Of the key, too: nothing is looked up here.
            let others = value.equals().into_iter().map(other);
            others.chain([is_there(&of)]).collect()
        }
        (_, SqlValue::Text(text)) => beside_text(comparison, &of, text)?,
        (_, number) => {
            let bound = number.equals().into_iter().next()?;
            let test = call(sign(comparison), vec![of.clone(), bound]);
            let holds = |flag: &bool| {
                let order = SqlValue::Bool(*flag).order(number);
                comparison.holds(order)
            };
            let flags = |sign: &str, wanted: bool| {
                let flags = [false, true].into_iter();
                let flags = flags.filter(|flag| holds(flag) == wanted);
                let name = |flag: bool| Term::atom(if flag { "true" } else { "false" });
                flags
                    .map(|flag| call(sign, vec![of.clone(), name(flag)]))
                    .collect::<Vec<_>>()
            };
            match is_above(comparison) {
                true => [vec![test, is_there(&of)], flags("=/=", false)].concat(),
                false if place == key => vec![test],
                false => {
                    let tests = std::iter::once(test).chain(flags("=:=", true));
                    let any = tests.reduce(|before, test| call("orelse", vec![before, test]));
                    any.into_iter().collect()
                }
            }
        }
    };
    Some(Guards::of(place, all))
}

fn sign(comparison: SqlComparison) -> &'static str {
    match comparison {
        SqlComparison::Equal => "==",
        SqlComparison::NotEqual => "/=",
        SqlComparison::Less => "<",
        SqlComparison::LessOrEqual => "=<",
        SqlComparison::Greater => ">",
        SqlComparison::GreaterOrEqual => ">=",
    }
}

fn is_above(comparison: SqlComparison) -> bool {
    matches!(
        comparison,
        SqlComparison::Greater | SqlComparison::GreaterOrEqual
    )
}

/// Returns the tests for what is above a text, or below it. In the order of terms there are numbers, atoms, what is no
/// text, and bitstrings.
fn beside_text(comparison: SqlComparison, of: &Term, text: &str) -> Option<Vec<Term>> {
    let sign = sign(comparison);
    // No atom has a longer name.
    let atom = constant(Term::Atom(Atom::new(text).ok()?));
    let than = |sign: &str, bound: Term| call(sign, vec![of.clone(), bound]);
    let as_atom = than(sign, atom);
    let as_binary = than(sign, Term::binary(text.as_bytes()));
    let lowest = || Term::binary([0_u8; 0]);
    Some(match is_above(comparison) {
        true => {
            let no_text = NO_TEXTS.map(|atom| than("=/=", Term::atom(atom)));
            let rest = call("orelse", vec![than("<", lowest()), as_binary]);
            [as_atom, rest].into_iter().chain(no_text).collect()
        }
        false => {
            let binaries = call("andalso", vec![than(">=", lowest()), as_binary]);
            let flags = ["false", "true"].map(|flag| than("=:=", Term::atom(flag)));
            let tests = [as_atom, binaries].into_iter().chain(flags).collect();
            vec![call("orelse", tests), is_there(of)]
        }
    })
}

fn is_there(of: &Term) -> Term {
    call("=/=", vec![of.clone(), Term::atom("undefined")])
}

/// The test for one of several terms.
fn equal(of: &Term, terms: Vec<Term>) -> Term {
    let tests = terms
        .into_iter()
        .map(|term| call("==", vec![of.clone(), constant(term)]));
    let test = tests.reduce(|before, test| call("orelse", vec![before, test]));
    test.unwrap_or_else(|| Term::atom("false"))
}

/// An atom may read as a variable.
fn constant(term: Term) -> Term {
    match &term {
        Term::Atom(name) if name.as_str() == "_" || name.as_str().starts_with('$') => {
            call("const", vec![term])
        }
        _ => term,
    }
}

fn call(name: &str, arguments: Vec<Term>) -> Term {
    Term::tuple([vec![Term::atom(name)], arguments].concat())
}
