//! Expressions whose names are known, and their values, in three-valued logic.

use std::cmp::Ordering;

use fyris_term::Term;

use super::function::{SqlFunction, like};
use super::value::SqlValue;
use crate::shell::error::ShellError;

/// A row of a query: an object of each table, or none where a LEFT JOIN has found none.
pub(super) type JoinedRow = Vec<Option<Term>>;

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SqlComparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl SqlComparison {
    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            SqlComparison::Equal => order.is_eq(),
            SqlComparison::NotEqual => order.is_ne(),
            SqlComparison::Less => order.is_lt(),
            SqlComparison::LessOrEqual => order.is_le(),
            SqlComparison::Greater => order.is_gt(),
            SqlComparison::GreaterOrEqual => order.is_ge(),
        }
    }

    /// Returns the comparison with its sides exchanged.
    pub(super) fn turned(self) -> SqlComparison {
        match self {
            SqlComparison::Less => SqlComparison::Greater,
            SqlComparison::LessOrEqual => SqlComparison::GreaterOrEqual,
            SqlComparison::Greater => SqlComparison::Less,
            SqlComparison::GreaterOrEqual => SqlComparison::LessOrEqual,
            same => same,
        }
    }
}

/// An operator of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SqlExpr {
    Value(SqlValue),
    /// TRUE or FALSE as it was written: a number, unless a table gets it.
    Flag(bool),
    /// An element of an object: of which table, and its place from 0.
    Column(usize, usize),
    /// An aggregate, by its place among those of the query.
    Aggregate(usize),
    Compare(SqlComparison, Box<SqlExpr>, Box<SqlExpr>),
    And(Box<SqlExpr>, Box<SqlExpr>),
    Or(Box<SqlExpr>, Box<SqlExpr>),
    Not(Box<SqlExpr>),
    Arithmetic(Arithmetic, Box<SqlExpr>, Box<SqlExpr>),
    Concat(Box<SqlExpr>, Box<SqlExpr>),
    IsNull(Box<SqlExpr>),
    In(Box<SqlExpr>, Vec<SqlExpr>),
    /// IN of constants.
    Among(Box<SqlExpr>, SqlSet),
    Between(Box<SqlExpr>, Box<SqlExpr>, Box<SqlExpr>),
    Like(Box<SqlExpr>, Box<SqlExpr>),
    /// What is compared, if there is such, conditions with results, and the result otherwise.
    Case(Option<Box<SqlExpr>>, Vec<(SqlExpr, SqlExpr)>, Box<SqlExpr>),
    Call(SqlFunction, Vec<SqlExpr>),
}

/// Constants, of which each is once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SqlSet {
    /// Sorted.
    pub(super) values: Vec<SqlValue>,
    has_null: bool,
}

impl SqlSet {
    fn new(mut values: Vec<SqlValue>) -> SqlSet {
        let all = values.len();
        values.retain(|value| *value != SqlValue::Null);
        let has_null = values.len() < all;
        values.sort_by(SqlValue::order);
        values.dedup_by(|a, b| a.order(b).is_eq());
        SqlSet { values, has_null }
    }

    /// Returns whether a value is one of them; nothing if that is unknown.
    fn has(&self, value: &SqlValue) -> Option<bool> {
        let found = || self.values.binary_search_by(|known| known.order(value));
        match value {
            SqlValue::Null => (self.values.is_empty() && !self.has_null).then_some(false),
            _ if found().is_ok() => Some(true),
            _ => (!self.has_null).then_some(false),
        }
    }
}

/// What an expression looks at.
#[derive(Clone, Copy)]
pub(super) struct Sight<'r> {
    pub(super) row: &'r [Option<Term>],
    pub(super) aggregates: &'r [SqlValue],
}

impl SqlExpr {
    /// Returns the test whether a value is one of several.
    pub(super) fn among(of: Box<SqlExpr>, among: Vec<SqlExpr>) -> SqlExpr {
        let constant = |one: &SqlExpr| match one {
            SqlExpr::Value(value) => Some(value.clone()),
            SqlExpr::Flag(flag) => Some(SqlValue::Int(i64::from(*flag))),
            _ => None,
        };
        match among.iter().map(constant).collect() {
            Some(values) => SqlExpr::Among(of, SqlSet::new(values)),
            None => SqlExpr::In(of, among),
        }
    }

    /// Returns whether it is the same in all rows, and known.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self, SqlExpr::Value(_) | SqlExpr::Flag(_))
    }

    /// Returns the value in a row.
    pub(super) fn value(&self, at: Sight<'_>) -> Result<SqlValue, ShellError> {
        Ok(match self {
            SqlExpr::Value(value) => value.clone(),
            SqlExpr::Flag(flag) => SqlValue::Int(i64::from(*flag)),
            SqlExpr::Column(table, place) => {
                let element = self::element(at.row, *table, *place);
                element.map_or(SqlValue::Null, SqlValue::of)
            }
            SqlExpr::Aggregate(place) => at.aggregates[*place].clone(),
            SqlExpr::Arithmetic(operator, left, right) => {
                calculated(*operator, &left.value(at)?, &right.value(at)?)
            }
            SqlExpr::Concat(left, right) => {
                let texts = (left.value(at)?.text(), right.value(at)?.text());
                match texts {
                    (Some(left), Some(right)) => SqlValue::Text(left + &right),
                    _ => SqlValue::Null,
                }
            }
            SqlExpr::Case(of, cases, otherwise) => chosen(of.as_deref(), cases, otherwise, at)?,
            SqlExpr::Call(function, arguments) => {
                let values = arguments.iter().map(|argument| argument.value(at));
                function.of(&values.collect::<Result<Vec<_>, _>>()?)?
            }
            test => SqlValue::flag(test.test(at)?),
        })
    }

    /// Returns whether it is true in a row; nothing if that is unknown.
    pub(super) fn test(&self, at: Sight<'_>) -> Result<Option<bool>, ShellError> {
        Ok(match self {
            SqlExpr::Compare(comparison, left, right) => {
                let order = left.value(at)?.compare(&right.value(at)?);
                order.map(|order| comparison.holds(order))
            }
            SqlExpr::And(left, right) => match left.test(at)? {
                Some(false) => Some(false),
                left => and(left, right.test(at)?),
            },
            SqlExpr::Or(left, right) => match left.test(at)? {
                Some(true) => Some(true),
                left => not(and(not(left), not(right.test(at)?))),
            },
            SqlExpr::Not(of) => not(of.test(at)?),
            SqlExpr::IsNull(of) => Some(of.value(at)? == SqlValue::Null),
            SqlExpr::In(of, among) => one_of(&of.value(at)?, among, at)?,
            SqlExpr::Among(of, set) => set.has(&of.value(at)?),
            SqlExpr::Between(of, low, high) => {
                let of = of.value(at)?;
                let above = of.compare(&low.value(at)?).map(Ordering::is_ge);
                and(above, of.compare(&high.value(at)?).map(Ordering::is_le))
            }
            SqlExpr::Like(of, pattern) => {
                let texts = (of.value(at)?.text(), pattern.value(at)?.text());
                match texts {
                    (Some(text), Some(pattern)) => Some(like(&text, &pattern)),
                    _ => None,
                }
            }
            other => other.value(at)?.truth(),
        })
    }

    /// Returns the expressions that it is made of.
    pub(super) fn parts(&self) -> Vec<&SqlExpr> {
        match self {
            SqlExpr::Value(_) | SqlExpr::Flag(_) | SqlExpr::Column(..) | SqlExpr::Aggregate(_) => {
                vec![]
            }
            SqlExpr::Compare(_, a, b)
            | SqlExpr::Arithmetic(_, a, b)
            | SqlExpr::And(a, b)
            | SqlExpr::Or(a, b)
            | SqlExpr::Concat(a, b)
            | SqlExpr::Like(a, b) => vec![a, b],
            SqlExpr::Not(of) | SqlExpr::IsNull(of) | SqlExpr::Among(of, _) => vec![of],
            SqlExpr::In(of, among) => std::iter::once(&**of).chain(among).collect(),
            SqlExpr::Between(of, low, high) => vec![of, low, high],
            SqlExpr::Case(of, cases, otherwise) => {
                let of = of.iter().map(|of| &**of);
                let cases = cases.iter().flat_map(|(when, then)| [when, then]);
                of.chain(cases).chain([&**otherwise]).collect()
            }
            SqlExpr::Call(_, arguments) => arguments.iter().collect(),
        }
    }

    /// Returns whether it or a part of it is so.
    pub(super) fn any(&self, is: &impl Fn(&SqlExpr) -> bool) -> bool {
        is(self) || self.parts().into_iter().any(|part| part.any(is))
    }

    /// Returns what all have to be true for it to be.
    pub(super) fn conjuncts(self) -> Vec<SqlExpr> {
        match self {
            SqlExpr::And(left, right) => {
                let mut all = left.conjuncts();
                all.extend(right.conjuncts());
                all
            }
            other => vec![other],
        }
    }
}

/// Returns an element of an object of a row.
pub(super) fn element(row: &[Option<Term>], table: usize, place: usize) -> Option<&Term> {
    row.get(table)?.as_ref()?.as_tuple()?.get(place)
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn not(test: Option<bool>) -> Option<bool> {
    test.map(|test| !test)
}

fn one_of(value: &SqlValue, among: &[SqlExpr], at: Sight<'_>) -> Result<Option<bool>, ShellError> {
    let mut found = Some(false);
    for one in among {
        match value.compare(&one.value(at)?) {
            Some(Ordering::Equal) => return Ok(Some(true)),
            None => found = None,
            Some(_) => {}
        }
    }
    Ok(found)
}

fn chosen(
    of: Option<&SqlExpr>,
    cases: &[(SqlExpr, SqlExpr)],
    otherwise: &SqlExpr,
    at: Sight<'_>,
) -> Result<SqlValue, ShellError> {
    let of = of.map(|of| of.value(at)).transpose()?;
    for (when, then) in cases {
        let is = match &of {
            None => when.test(at)? == Some(true),
            Some(of) => of.compare(&when.value(at)?) == Some(Ordering::Equal),
        };
        if is {
            return then.value(at);
        }
    }
    otherwise.value(at)
}

/// Returns the result of an operator: of integers an integer, if it fits.
fn calculated(operator: Arithmetic, left: &SqlValue, right: &SqlValue) -> SqlValue {
    let (left, right) = (left.number(), right.number());
    if let (SqlValue::Int(a), SqlValue::Int(b)) = (&left, &right) {
        let whole = match operator {
            Arithmetic::Add => a.checked_add(*b),
            Arithmetic::Subtract => a.checked_sub(*b),
            Arithmetic::Multiply => a.checked_mul(*b),
            Arithmetic::Divide if *b == 0 => return SqlValue::Null,
            Arithmetic::Divide => a.checked_div(*b),
        };
        if let Some(whole) = whole {
            return SqlValue::Int(whole);
        }
    }
    if left == SqlValue::Null || right == SqlValue::Null {
        return SqlValue::Null;
    }
    let (a, b) = (left.real(), right.real());
    let real = match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide if b == 0.0 => return SqlValue::Null,
        Arithmetic::Divide => a / b,
    };
    match real.is_nan() {
        true => SqlValue::Null,
        false => SqlValue::Real(real),
    }
}
