//! Functions of all rows of a group.

use std::collections::BTreeSet;

use super::expression::SqlExpr;
use super::function::overflow;
use super::number;
use super::value::{SqlKey, SqlValue};
use crate::shell::error::ShellError;
use crate::shell::gather::Sum;
use crate::shell::query::Aggregation;

/// An aggregate of a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SqlAggregate {
    pub(super) what: Aggregation,
    /// Its argument; nothing for `count(*)`.
    pub(super) argument: Option<SqlExpr>,
    /// Is each value taken once?
    pub(super) distinct: bool,
}

/// An aggregate on its way.
pub(super) struct Running {
    what: Aggregation,
    seen: Option<BTreeSet<SqlKey>>,
    count: i64,
    sum: Sum,
    /// The sum of the integers alone, if it fits.
    whole: Option<i64>,
    best: SqlValue,
}

impl Running {
    pub(super) fn new(of: &SqlAggregate) -> Running {
        Running {
            what: of.what,
            seen: of.distinct.then(BTreeSet::new),
            count: 0,
            sum: Sum::default(),
            whole: Some(0),
            best: SqlValue::Null,
        }
    }

    /// Takes a value in; all aggregates leave out NULL.
    pub(super) fn add(&mut self, value: SqlValue) {
        if value == SqlValue::Null {
            return;
        }
        let key = || SqlKey(vec![value.clone()]);
        if self.seen.as_mut().is_some_and(|seen| !seen.insert(key())) {
            return;
        }
        self.count += 1;
        match self.what {
            Aggregation::Count => {}
            Aggregation::Sum | Aggregation::Avg => self.add_number(&value),
            Aggregation::Min if self.count == 1 || value.order(&self.best).is_lt() => {
                self.best = value;
            }
            Aggregation::Max if value.order(&self.best).is_gt() => self.best = value,
            Aggregation::Min | Aggregation::Max => {}
        }
    }

    /// Adds a number; a text that is none counts as the float that it begins with.
    fn add_number(&mut self, value: &SqlValue) {
        let number = match value {
            SqlValue::Text(text) => {
                number::whole(text).unwrap_or_else(|| SqlValue::Real(value.real()))
            }
            value => value.number(),
        };
        match number {
            SqlValue::Int(n) => {
                self.sum.add_int(n);
                self.whole = self.whole.and_then(|whole| whole.checked_add(n));
            }
            other => self.sum.add_float(other.real()),
        }
    }

    /// Returns the aggregate.
    pub(super) fn finish(self) -> Result<SqlValue, ShellError> {
        Ok(match self.what {
            Aggregation::Count => SqlValue::Int(self.count),
            Aggregation::Min | Aggregation::Max => self.best,
            Aggregation::Sum | Aggregation::Avg if self.count == 0 => SqlValue::Null,
            Aggregation::Avg => SqlValue::Real(self.sum.float() / self.count as f64),
            Aggregation::Sum if self.sum.is_whole() => {
                SqlValue::Int(self.whole.ok_or_else(overflow)?)
            }
            Aggregation::Sum => SqlValue::Real(self.sum.float()),
        })
    }
}
