//! What of a condition a match specification can say.
//!
//! A guard holds for an object if and only if the condition is true for it, and not false or unknown. So it looks at
//! comparisons of a column with a constant, which tell NULL apart by themselves: `undefined` is above all numbers in the
//! order of terms. Texts are compared for equality only, since they may be atoms and binaries.

use fyris_term::Term;

use super::expression::{SqlComparison, SqlExpr};
use super::value::SqlValue;

/// Returns the guards that say a condition on the first table of a query, if there are such.
pub(super) fn guards(condition: &SqlExpr) -> Option<Vec<Term>> {
    match condition {
        SqlExpr::And(left, right) => Some([guards(left)?, guards(right)?].concat()),
        SqlExpr::Or(left, right) => {
            let (left, right) = (all(guards(left)?), all(guards(right)?));
            Some(vec![call("orelse", vec![left, right])])
        }
        SqlExpr::Not(of) => match &**of {
            SqlExpr::IsNull(of) => Some(vec![is_there(&column(of)?)]),
            _ => None,
        },
        SqlExpr::Compare(comparison, left, right) => match (&**left, &**right) {
            (of, SqlExpr::Value(value)) => compared(*comparison, &column(of)?, value),
            (SqlExpr::Value(value), of) => compared(comparison.turned(), &column(of)?, value),
            _ => None,
        },
        SqlExpr::IsFlag(of, flag) => {
            let (of, number) = (column(of)?, SqlValue::Int(i64::from(*flag)));
            let atom = SqlValue::Bool(*flag);
            Some(vec![equal(&of, &[number.equals(), atom.equals()].concat())])
        }
        SqlExpr::In(of, among) => {
            let of = column(of)?;
            let mut terms = Vec::new();
            for one in among {
                match one {
                    SqlExpr::Value(value) if is_exact(value) => terms.extend(value.equals()),
                    _ => return None,
                }
            }
            Some(vec![equal(&of, &terms)])
        }
        SqlExpr::Between(of, low, high) => match (&**low, &**high) {
            (SqlExpr::Value(low), SqlExpr::Value(high)) => {
                let of = column(of)?;
                let low = compared(SqlComparison::GreaterOrEqual, &of, low)?;
                Some([low, compared(SqlComparison::LessOrEqual, &of, high)?].concat())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the place of the element of which a condition says the terms that it may be equal to, and these.
pub(super) fn terms(condition: &SqlExpr) -> Option<(usize, Vec<Term>)> {
    let (of, values) = match condition {
        SqlExpr::Compare(SqlComparison::Equal, left, right) => match (&**left, &**right) {
            (of, SqlExpr::Value(value)) | (SqlExpr::Value(value), of) => (of, vec![value.clone()]),
            _ => return None,
        },
        SqlExpr::In(of, among) => {
            let value = |one: &SqlExpr| match one {
                SqlExpr::Value(value) => Some(value.clone()),
                _ => None,
            };
            (&**of, among.iter().map(value).collect::<Option<Vec<_>>>()?)
        }
        _ => return None,
    };
    let SqlExpr::Column(0, place) = of else {
        return None;
    };
    let mut terms: Vec<Term> = Vec::new();
    for term in values.iter().flat_map(SqlValue::equals) {
        if !terms.iter().any(|known| known.cmp_order(&term).is_eq()) {
            terms.push(term);
        }
    }
    Some((*place, terms))
}

/// The test of an element for a term.
pub(super) fn is(place: usize, term: &Term) -> Term {
    call("==", vec![element(place), constant(term.clone())])
}

/// Returns the element that a column of the first table is.
fn column(of: &SqlExpr) -> Option<Term> {
    match of {
        SqlExpr::Column(0, place) => Some(element(*place)),
        _ => None,
    }
}

fn element(place: usize) -> Term {
    let place = Term::Int(place as i64 + 1);
    call("element", vec![place, Term::atom("$_")])
}

/// Returns whether the terms that are equal to a value are known.
fn is_exact(value: &SqlValue) -> bool {
    matches!(value, SqlValue::Null | SqlValue::Text(_)) || value.is_plain_number()
}

fn compared(comparison: SqlComparison, of: &Term, value: &SqlValue) -> Option<Vec<Term>> {
    if *value == SqlValue::Null {
        return Some(vec![Term::atom("false")]);
    }
    if !is_exact(value) {
        return None;
    }
    if comparison == SqlComparison::Equal {
        return Some(vec![equal(of, &value.equals())]);
    }
    if comparison == SqlComparison::NotEqual {
        let other = |term| call("/=", vec![of.clone(), constant(term)]);
        let others = value.equals().into_iter().map(other);
        return Some(others.chain([is_there(of)]).collect());
    }
    if !value.is_plain_number() {
        return None;
    }
    let bound = constant(value.clone().into_term().ok()?);
    let sides = vec![of.clone(), bound];
    Some(match comparison {
        SqlComparison::Less => vec![call("<", sides)],
        SqlComparison::LessOrEqual => vec![call("=<", sides)],
        SqlComparison::Greater => vec![call(">", sides), is_there(of)],
        _ => vec![call(">=", sides), is_there(of)],
    })
}

fn is_there(of: &Term) -> Term {
    call("=/=", vec![of.clone(), Term::atom("undefined")])
}

/// The test for one of several terms.
fn equal(of: &Term, terms: &[Term]) -> Term {
    let tests = terms
        .iter()
        .map(|term| call("==", vec![of.clone(), constant(term.clone())]));
    let test = tests.reduce(|before, test| call("orelse", vec![before, test]));
    test.unwrap_or_else(|| Term::atom("false"))
}

fn all(guards: Vec<Term>) -> Term {
    let test = guards
        .into_iter()
        .reduce(|before, test| call("andalso", vec![before, test]));
    test.unwrap_or_else(|| Term::atom("true"))
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
