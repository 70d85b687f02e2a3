//! The objects of a table for which a condition is true: as far as match specifications say it, and what is left.

use std::slice::Iter;

use fyris::{Error, MatchSpec, Table};
use fyris_term::Term;

use super::expression::SqlExpr;
use super::guard;
use super::join::{LookupBy, lookup_by};
use crate::shell::commands::select::{Asked, QueryResults};
use crate::shell::error::ShellError;

/// The most lookups in a secondary index that take the place of one query.
const MOST: usize = 64;

/// A plan to find objects.
pub(super) struct Scan {
    /// Queries, of which no two find the same object, and their specifications.
    queries: Vec<(Asked, Term)>,
    /// Conditions that are looked at for each object that is found.
    pub(super) behind: Vec<SqlExpr>,
}

impl Scan {
    /// Plans to find objects of a table, the first of a query.
    pub(super) fn new(table: &Table, condition: Option<SqlExpr>) -> Result<Scan, ShellError> {
        let mut said = Vec::new();
        let mut behind = Vec::new();
        for part in condition.into_iter().flat_map(SqlExpr::conjuncts) {
            match guard::guards(&part) {
                Some(guards) => said.push((part, guards)),
                None => behind.push(part),
            }
        }
        let all = said.iter().flat_map(|(_, guards)| guards.clone());
        let mut queries = vec![query(table, all.collect())?];
        if queries[0].0.is_full_scan()
            && let Some(lookups) = by_index(table, &said)?
        {
            queries = lookups;
        }
        Ok(Scan { queries, behind })
    }

    /// Returns the objects, as far as the queries find them.
    pub(super) fn found(&self) -> ScanResults<'_> {
        ScanResults {
            queries: self.queries.iter(),
            results: None,
        }
    }

    /// Returns the plan in words.
    pub(super) fn words(&self) -> Vec<String> {
        let each = self.queries.iter();
        let mut lines: Vec<String> = each
            .flat_map(|(asked, spec)| [spec.to_string(), asked.plan()])
            .collect();
        match self.behind.len() {
            0 => {}
            1 => lines.push("behind it: 1 condition".to_owned()),
            more => lines.push(format!("behind it: {more} conditions")),
        }
        lines
    }
}

/// Returns queries that find the objects by a secondary index, one for each term that an element may be: a query uses
/// the index for one only.
fn by_index(
    table: &Table,
    said: &[(SqlExpr, Vec<Term>)],
) -> Result<Option<Vec<(Asked, Term)>>, ShellError> {
    for (at, (part, _)) in said.iter().enumerate() {
        let Some((place, terms)) = guard::terms(part) else {
            continue;
        };
        let has_index = matches!(lookup_by(table, place), Some(LookupBy::Secondary(_)));
        if !has_index || terms.is_empty() || terms.len() > MOST {
            continue;
        }
        let others = said.iter().enumerate().filter(|(other, _)| *other != at);
        let others: Vec<Term> = others.flat_map(|(_, (_, guards))| guards.clone()).collect();
        let one = |term: &Term| {
            query(
                table,
                [vec![guard::is(place, term)], others.clone()].concat(),
            )
        };
        let queries = terms.iter().map(one).collect::<Result<Vec<_>, _>>()?;
        if !queries.iter().any(|(asked, _)| asked.is_full_scan()) {
            return Ok(Some(queries));
        }
    }
    Ok(None)
}

/// Plans a query with guards.
fn query(table: &Table, guards: Vec<Term>) -> Result<(Asked, Term), ShellError> {
    let body = Term::list(vec![Term::atom("$_")]);
    let clause = Term::tuple(vec![Term::atom("_"), Term::list(guards), body]);
    let spec = Term::list(vec![clause]);
    let checked = MatchSpec::new(&spec).map_err(Error::BadMatchSpec)?;
    Ok((Asked::of(table.clone(), checked, None)?, spec))
}

/// The objects that the queries of a plan find, one by one.
pub(super) struct ScanResults<'s> {
    queries: Iter<'s, (Asked, Term)>,
    results: Option<QueryResults>,
}

impl ScanResults<'_> {
    /// Returns the next object.
    pub(super) fn next(&mut self) -> Result<Option<Term>, ShellError> {
        loop {
            if let Some(results) = &mut self.results
                && let Some(object) = results.next()?
            {
                return Ok(Some(object));
            }
            match self.queries.next() {
                Some((asked, _)) => self.results = Some(asked.found()),
                None => return Ok(None),
            }
        }
    }
}
