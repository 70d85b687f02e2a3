//! Groups and orders: what is made of the values that a query finds.
//!
//! A query with `group by` or `sort by` is two match specifications. The first runs over the objects of the table and
//! returns of each, in one tuple, its group and the arguments of the aggregates. The second runs over a tuple of a
//! group and its finished aggregates, and returns what `return` says, so that `sum(x) / count()` and `{city, #{n =>
//! count()}}` need no evaluator of their own. The values to sort by go along with the result, in one tuple with it.

use fyris_term::{Map, Term};

use crate::shell::error::ShellError;
use crate::shell::names::said;

/// A function of all objects of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregation {
    /// The number of objects; with an argument, of those where it is not `undefined`.
    Count,
    /// The sum of the numbers.
    Sum,
    /// The least value, in the order of terms.
    Min,
    /// The greatest value.
    Max,
    /// The mean of the numbers.
    Avg,
}

impl Aggregation {
    /// Their names.
    pub(crate) const NAMES: [&'static str; 5] = ["count", "sum", "min", "max", "avg"];

    /// Returns the aggregation of a name that takes this number of arguments: `min` of two is a function of a guard.
    pub(crate) fn of(name: &str, arguments: usize) -> Option<Aggregation> {
        match (name, arguments) {
            ("count", 0 | 1) => Some(Aggregation::Count),
            ("sum", 1) => Some(Aggregation::Sum),
            ("min", 1) => Some(Aggregation::Min),
            ("max", 1) => Some(Aggregation::Max),
            ("avg", 1) => Some(Aggregation::Avg),
            _ => None,
        }
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        Aggregation::NAMES[self as usize]
    }
}

/// Aggregates that were read, each with its argument. An expression names one by its place here.
#[derive(Debug, Default)]
pub(super) struct Aggregates(Vec<(Aggregation, Term)>);

impl Aggregates {
    /// Adds an aggregate, unless it is there already; returns what stands for it in an expression.
    pub(super) fn place(&mut self, what: Aggregation, argument: Option<Term>) -> Term {
        let one = (what, argument.unwrap_or_else(|| Term::atom("true")));
        let place = self.0.iter().position(|known| *known == one);
        let place = place.unwrap_or_else(|| {
            self.0.push(one);
            self.0.len() - 1
        });
        call(PLACE, vec![Term::Int(place as i64)])
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The function that stands for an aggregate in an expression; no call that can be typed has this name.
const PLACE: &str = "$aggregate";

/// What is made of the values that a query finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shape {
    /// For each value to sort by, whether the greatest comes first. They stand behind the result, in one tuple with it.
    pub(crate) descending: Vec<bool>,
    /// Groups, if objects are not results by themselves.
    pub(crate) groups: Option<Groups>,
}

/// The second half of a query with groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Groups {
    /// The number of values that make the group; the arguments of the aggregates stand behind them.
    pub(crate) by: usize,
    /// The aggregates.
    pub(crate) aggregates: Vec<Aggregation>,
    /// The match specification of a result, over `{Group..., Aggregate...}`.
    pub(crate) result: Term,
}

/// Parts of a query that decide its shape.
#[derive(Debug, Default)]
pub(super) struct ShapeParts {
    pub(super) group: Option<Vec<Term>>,
    pub(super) sort: Vec<(Term, bool)>,
    pub(super) aggregates: Aggregates,
}

impl ShapeParts {
    /// Returns the body of the query over objects and what is made of its values. `body` is what `return` said,
    /// `columns` are for messages.
    pub(super) fn finish(
        self,
        body: Option<Term>,
        columns: &[String],
    ) -> Result<(Term, Option<Box<Shape>>), ShellError> {
        let (sort, descending): (Vec<Term>, Vec<bool>) = self.sort.into_iter().unzip();
        if self.group.is_none() && self.aggregates.len() == 0 {
            let body = body.unwrap_or_else(|| Term::atom("$_"));
            let shape = Shape {
                descending,
                groups: None,
            };
            let shape = (!sort.is_empty()).then(|| Box::new(shape));
            return Ok((with_keys(body, sort), shape));
        }
        let by = self.group.unwrap_or_default();
        let mut aggregates = self.aggregates;
        let body = match body {
            Some(body) => body,
            None if by.is_empty() => {
                let problem = "an aggregate in `sort by` needs `group by`, or a `return`";
                return Err(ShellError::other(problem));
            }
            None => {
                let count = aggregates.place(Aggregation::Count, None);
                tuple(by.iter().cloned().chain([count]).collect())
            }
        };
        let outer = Outer { by: &by, columns };
        let result = outer.of(&body)?;
        let sort = outer.all(&sort)?;
        let (kinds, arguments): (Vec<_>, Vec<_>) = aggregates.0.into_iter().unzip();
        let groups = Groups {
            by: by.len(),
            aggregates: kinds,
            result: clause(with_keys(result, sort)),
        };
        let inner = tuple(by.into_iter().chain(arguments).collect());
        let groups = Some(groups);
        Ok((inner, Some(Box::new(Shape { descending, groups }))))
    }
}

/// The expression of a result with the values to sort by behind it.
fn with_keys(result: Term, sort: Vec<Term>) -> Term {
    if sort.is_empty() {
        return result;
    }
    tuple(std::iter::once(result).chain(sort).collect())
}

/// The expression of a tuple.
fn tuple(parts: Vec<Term>) -> Term {
    Term::tuple(vec![Term::tuple(parts)])
}

/// A match specification that returns the value of `body` for every tuple.
fn clause(body: Term) -> Term {
    let parts = vec![Term::atom("_"), Term::list([]), Term::list(vec![body])];
    Term::list(vec![Term::tuple(parts)])
}

/// Turns expressions over an object into expressions over `{Group..., Aggregate...}`.
struct Outer<'q> {
    by: &'q [Term],
    columns: &'q [String],
}

impl Outer<'_> {
    /// The recursion is as deep as the expression, which the parser bounds.
    fn of(&self, term: &Term) -> Result<Term, ShellError> {
        if let Some(place) = self.by.iter().position(|group| group == term) {
            return Ok(element(place));
        }
        Ok(match term {
            Term::Tuple(parts) => match &parts[..] {
                [Term::Atom(name), Term::Int(place)] if name.as_str() == PLACE => {
                    element(self.by.len() + *place as usize)
                }
                [Term::Atom(name), _] if name.as_str() == "const" => term.clone(),
                [Term::Atom(name), Term::Int(place), Term::Atom(whole)]
                    if name.as_str() == "element" && whole.as_str() == "$_" =>
                {
                    return Err(self.stray(*place));
                }
                parts => Term::tuple(self.all(parts)?),
            },
            Term::List(parts) => Term::list(self.all(parts)?),
            Term::Improper(parts, tail) => Term::improper(self.all(parts)?, self.of(tail)?),
            Term::Map(map) => {
                let pairs = map.pairs().iter();
                let pairs = pairs.map(|(key, value)| Ok((self.of(key)?, self.of(value)?)));
                Term::Map(Map::new(pairs.collect::<Result<Vec<_>, ShellError>>()?))
            }
            Term::Atom(name) if name.as_str().starts_with('$') => {
                return Err(ungrouped(name.as_str()));
            }
            other => other.clone(),
        })
    }

    fn all(&self, terms: &[Term]) -> Result<Vec<Term>, ShellError> {
        terms.iter().map(|term| self.of(term)).collect()
    }

    /// The error of an element that may differ within a group.
    fn stray(&self, place: i64) -> ShellError {
        let column = usize::try_from(place - 1).ok();
        match column.and_then(|column| self.columns.get(column)) {
            Some(name) => ungrouped(&said(name)),
            None => ungrouped(&format!("${place}")),
        }
    }
}

fn ungrouped(name: &str) -> ShellError {
    let quoted = match name.starts_with('`') {
        true => name.to_owned(),
        false => format!("`{name}`"),
    };
    ShellError::other(format!(
        "{quoted} may differ within a group: put it into `group by`, or into one of {}",
        Aggregation::NAMES.join(", ")
    ))
}

/// The expression of a call.
pub(super) fn call(name: &str, arguments: Vec<Term>) -> Term {
    let mut parts = vec![Term::atom(name)];
    parts.extend(arguments);
    Term::tuple(parts)
}

/// The expression of an element of the object or tuple, counted from 0.
pub(super) fn element(place: usize) -> Term {
    call(
        "element",
        vec![Term::Int(place as i64 + 1), Term::atom("$_")],
    )
}
