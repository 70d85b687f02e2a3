//! The rows of a SELECT: those of the tables, joined and looked at, then groups, order and limits.

use std::collections::{BTreeMap, BTreeSet};

use fyris_term::Term;

use super::aggregate::Running;
use super::expression::{JoinedRow, Sight, SqlExpr};
use super::scan::ScanResults;
use super::select::SelectPlan;
use super::value::{SqlKey, SqlValue};
use crate::shell::error::ShellError;
use crate::shell::session::Session;

/// The fewest rows that are held before those beyond the limit are dropped.
const ROOM: usize = 1024;

/// Shows the rows, page by page as they are found unless they are sorted.
pub(super) fn show(session: &Session, plan: &SelectPlan) -> Result<(), ShellError> {
    let mut rows = results(plan)?;
    let next = || {
        let row = rows.next().transpose()?;
        Ok(row.map(|row| row.into_iter().map(shown).collect()))
    };
    let most = plan.limit.map_or(session.most(), |_| usize::MAX);
    let (shown, more) = session.display().rows(&plan.names, most, next)?;
    match more {
        // Who left the pages has seen enough.
        true if shown < most => session.display().note(format!("... {shown} shown")),
        true => session
            .display()
            .note(format!("... {shown} shown; `LIMIT N` shows more")),
        false => Ok(()),
    }
}

/// Returns a value as a term to be shown.
fn shown(value: SqlValue) -> Term {
    let text = value.text().unwrap_or_default();
    value
        .into_term()
        .unwrap_or_else(|_| Term::binary(text.into_bytes()))
}

/// Rows of results.
type Results<'p> = Box<dyn Iterator<Item = Result<Vec<SqlValue>, ShellError>> + 'p>;

/// Returns the rows of results.
pub(super) fn results(plan: &SelectPlan) -> Result<Results<'_>, ShellError> {
    let limit = plan.limit.unwrap_or(usize::MAX);
    let found: Sorted<'_> = match &plan.groups {
        Some(groups) => Box::new(grouped(plan, groups)?.into_iter().map(Ok)),
        None => Box::new(
            Joined::new(plan).map(move |row| row.and_then(|row| evaluated(plan, &row, &[]))),
        ),
    };
    let mut seen = plan.is_distinct.then(BTreeSet::new);
    let found: Sorted<'_> = Box::new(found.filter(move |row| match (row, &mut seen) {
        (Ok((_, row)), Some(seen)) => seen.insert(SqlKey(row.clone())),
        _ => true,
    }));
    let found: Sorted<'_> = match plan.order.is_empty() {
        true => found,
        false => Box::new(sorted(plan, found)?.into_iter().map(Ok)),
    };
    let rows = found.map(|row| row.map(|(_, row)| row));
    Ok(Box::new(rows.skip(plan.offset).take(limit)))
}

/// The values to sort by, and a row of results.
type SortedRow = (Vec<SqlValue>, Vec<SqlValue>);
type Sorted<'p> = Box<dyn Iterator<Item = Result<SortedRow, ShellError>> + 'p>;

/// Returns the results of a row, or of a group.
fn evaluated(
    plan: &SelectPlan,
    row: &[Option<Term>],
    aggregates: &[SqlValue],
) -> Result<SortedRow, ShellError> {
    let sight = Sight { row, aggregates };
    let order = plan.order.iter().map(|(expr, _)| expr.value(sight));
    let results = plan.results.iter().map(|expr| expr.value(sight));
    Ok((
        order.collect::<Result<_, _>>()?,
        results.collect::<Result<_, _>>()?,
    ))
}

/// Sorts rows, equal ones in the order in which they came; of a limit holds twice as many as are wanted.
fn sorted(plan: &SelectPlan, rows: Sorted<'_>) -> Result<Vec<SortedRow>, ShellError> {
    let compare = |a: &SortedRow, b: &SortedRow| {
        let values = a.0.iter().zip(&b.0).zip(&plan.order);
        let mut orders = values.map(|((a, b), (_, descending))| match descending {
            true => b.order(a),
            false => a.order(b),
        });
        orders
            .find(|order| order.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    };
    let wanted = plan
        .limit
        .map_or(usize::MAX, |limit| limit.saturating_add(plan.offset));
    let mut held = Vec::new();
    for row in rows {
        held.push(row?);
        if held.len() >= wanted.saturating_mul(2).max(ROOM) {
            held.sort_by(compare);
            held.truncate(wanted);
        }
    }
    held.sort_by(compare);
    Ok(held)
}

/// A group on its way: its first row, and its aggregates.
struct GroupOfRows {
    first: JoinedRow,
    running: Vec<Running>,
}

/// Returns the results of the groups, in their order.
fn grouped(plan: &SelectPlan, by: &[SqlExpr]) -> Result<Vec<SortedRow>, ShellError> {
    let fresh = |first: JoinedRow| GroupOfRows {
        first,
        running: plan.aggregates.iter().map(Running::new).collect(),
    };
    let mut groups: BTreeMap<SqlKey, GroupOfRows> = BTreeMap::new();
    if by.is_empty() {
        // All rows are one group, also if there are none.
        groups.insert(SqlKey(vec![]), fresh(vec![]));
    }
    for row in Joined::new(plan) {
        let row = row?;
        let sight = Sight {
            row: &row,
            aggregates: &[],
        };
        let key = by
            .iter()
            .map(|expr| expr.value(sight))
            .collect::<Result<_, _>>()?;
        let group = groups
            .entry(SqlKey(key))
            .or_insert_with(|| fresh(row.clone()));
        for (running, aggregate) in group.running.iter_mut().zip(&plan.aggregates) {
            running.add(match &aggregate.argument {
                Some(argument) => argument.value(sight)?,
                None => SqlValue::Int(1),
            });
        }
    }
    let mut results = Vec::new();
    for group in groups.into_values() {
        let aggregates = group.running.into_iter().map(Running::finish);
        let aggregates = aggregates.collect::<Result<Vec<_>, _>>()?;
        let sight = Sight {
            row: &group.first,
            aggregates: &aggregates,
        };
        let having = plan
            .having
            .as_ref()
            .map(|having| having.test(sight))
            .transpose()?;
        if having.is_none_or(|having| having == Some(true)) {
            results.push(evaluated(plan, &group.first, &aggregates)?);
        }
    }
    Ok(results)
}

/// Rows of all tables that fit the conditions.
struct Joined<'p> {
    plan: &'p SelectPlan,
    found: ScanResults<'p>,
    ready: std::vec::IntoIter<JoinedRow>,
}

impl<'p> Joined<'p> {
    fn new(plan: &'p SelectPlan) -> Joined<'p> {
        Joined {
            plan,
            found: plan.scan.found(),
            ready: Vec::new().into_iter(),
        }
    }

    fn next_row(&mut self) -> Result<Option<JoinedRow>, ShellError> {
        loop {
            for row in self.ready.by_ref() {
                if fits(&self.plan.scan.behind, &row)? {
                    return Ok(Some(row));
                }
            }
            let Some(object) = self.found.next()? else {
                return Ok(None);
            };
            let mut rows = vec![vec![Some(object)]];
            for join in &self.plan.joins {
                let mut joined = Vec::new();
                for row in rows {
                    join.join(row, &mut joined)?;
                }
                rows = joined;
            }
            self.ready = rows.into_iter();
        }
    }
}

impl Iterator for Joined<'_> {
    type Item = Result<JoinedRow, ShellError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().transpose()
    }
}

/// Returns whether all conditions are true in a row.
pub(super) fn fits(conditions: &[SqlExpr], row: &[Option<Term>]) -> Result<bool, ShellError> {
    let sight = Sight {
        row,
        aggregates: &[],
    };
    for condition in conditions {
        if condition.test(sight)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}
