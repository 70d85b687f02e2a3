//! The objects of a table for which a condition is true: as far as match specifications say it, and what is left.

use fyris::{Error, MatchSpec, Table};
use fyris_term::Term;

use super::expression::SqlExpr;
use super::guard;
use super::join::lookup_by;
use crate::shell::commands::select::{Asked, QueryResults};
use crate::shell::error::ShellError;

/// A plan to find objects.
pub(super) struct Scan {
    table: Table,
    search: Search,
    /// Conditions that are looked at for each object that is found.
    pub(super) behind: Vec<SqlExpr>,
}

/// How objects are found.
enum Search {
    /// By a query with guards.
    Once(Vec<Term>),
    /// By a query for each term that an element may be, none of which finds what another does.
    Each(Sought),
}

/// Terms that an element may be, and more guards.
struct Sought {
    place: usize,
    /// Are the terms told apart by `=:=`?
    exactly: bool,
    terms: Vec<Term>,
    guards: Vec<Term>,
}

impl Scan {
    /// Plans to find objects of a table, the first of a query.
    pub(super) fn new(table: &Table, condition: Option<SqlExpr>) -> Result<Scan, ShellError> {
        let key = table.keypos() - 1;
        let parts = condition.into_iter().flat_map(SqlExpr::conjuncts);
        let guards = |part: &SqlExpr| guard::guards(part, key).map(|guards| guards.all);
        let mut parts: Vec<_> = parts.map(|part| (guards(&part), part)).collect();
        let said = |parts: &[(Option<Vec<Term>>, SqlExpr)]| -> Vec<Term> {
            parts
                .iter()
                .flat_map(|(said, _)| said.iter().flatten().cloned())
                .collect()
        };
        let is_full = query(table, said(&parts), false)?.is_full_scan();
        // An index does not help where a query has a part of the table already, unless it cannot say the condition.
        let found = parts.iter().enumerate().find_map(|(at, (said, part))| {
            let wanted = is_full || said.is_none();
            wanted
                .then(|| sought(table, part))
                .flatten()
                .map(|sought| (at, sought))
        });
        let search = match found {
            Some((at, sought)) => {
                parts.remove(at);
                let guards = said(&parts);
                Search::Each(Sought { guards, ..sought })
            }
            None => Search::Once(said(&parts)),
        };
        let behind = parts.into_iter().filter(|(said, _)| said.is_none());
        Ok(Scan {
            table: table.clone(),
            search,
            behind: behind.map(|(_, part)| part).collect(),
        })
    }

    /// Returns the objects, as far as the queries find them.
    pub(super) fn found(&self) -> ScanResults<'_> {
        ScanResults {
            guards: self.search.guards(),
            table: &self.table,
            results: None,
        }
    }

    /// Returns whether it finds all objects, and looks at none.
    pub(super) fn is_of_all(&self) -> bool {
        let is_open = matches!(&self.search, Search::Once(guards) if guards.is_empty());
        is_open && self.behind.is_empty()
    }

    /// Deletes the objects of a handle of the table, if none has to be looked at; returns how many there were.
    pub(super) fn delete(&self, table: &Table) -> Result<Option<u64>, ShellError> {
        if !self.behind.is_empty() {
            return Ok(None);
        }
        let mut deleted = 0;
        for guards in self.search.guards() {
            deleted += query(table, guards, true)?.delete_all()?;
        }
        Ok(Some(deleted))
    }

    /// Returns the plan in words.
    pub(super) fn words(&self) -> Result<Vec<String>, ShellError> {
        let mut lines = Vec::new();
        let mut each = self.search.guards();
        for guards in each.by_ref().take(SHOWN) {
            lines.push(spec(guards.clone(), false).to_string());
            lines.push(query(&self.table, guards, false)?.plan());
        }
        match each.len() {
            0 => {}
            more => lines.push(format!("and {more} more such lookups")),
        }
        match self.behind.len() {
            0 => {}
            1 => lines.push("behind it: 1 condition".to_owned()),
            more => lines.push(format!("behind it: {more} conditions")),
        }
        let is_like = |part: &SqlExpr| matches!(part, SqlExpr::Like(..));
        if self.behind.iter().any(|part| part.any(&is_like)) {
            lines.push(NO_RANGE.to_owned());
        }
        Ok(lines)
    }
}

/// Queries of which `explain` shows the plans.
const SHOWN: usize = 3;

const NO_RANGE: &str =
    "LIKE does not tell letters of ASCII by their case: no range of keys is that";

impl Search {
    /// Returns the guards of each query.
    fn guards(&self) -> Box<dyn ExactSizeIterator<Item = Vec<Term>> + '_> {
        match self {
            Search::Once(guards) => Box::new(std::iter::once(guards.clone())),
            Search::Each(sought) => Box::new(sought.terms.iter().map(|term| {
                let is = guard::is(sought.place, term, sought.exactly);
                [&[is], &sought.guards[..]].concat()
            })),
        }
    }
}

/// Returns the terms that an element of the objects may be, if there is an index for them and the values are no more
/// than the objects.
fn sought(table: &Table, condition: &SqlExpr) -> Option<Sought> {
    let (place, values) = guard::values(condition)?;
    let by = lookup_by(table, place)?;
    if values.len() > table.len() {
        return None;
    }
    let terms = values.iter().flat_map(|value| by.terms(table, value));
    Some(Sought {
        place,
        exactly: by.is_exact(table),
        terms: terms.collect(),
        guards: Vec::new(),
    })
}

/// Plans a query with guards, for objects or to delete them.
fn query(table: &Table, guards: Vec<Term>, deletes: bool) -> Result<Asked, ShellError> {
    let checked = MatchSpec::new(&spec(guards, deletes)).map_err(Error::BadMatchSpec)?;
    Asked::of(table.clone(), checked, None)
}

/// Returns the specification of a query.
fn spec(guards: Vec<Term>, deletes: bool) -> Term {
    let value = if deletes { "true" } else { "$_" };
    let body = Term::list(vec![Term::atom(value)]);
    let clause = Term::tuple(vec![Term::atom("_"), Term::list(guards), body]);
    Term::list(vec![clause])
}

/// The objects that the queries of a plan find, one by one.
pub(super) struct ScanResults<'s> {
    guards: Box<dyn ExactSizeIterator<Item = Vec<Term>> + 's>,
    table: &'s Table,
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
            match self.guards.next() {
                Some(guards) => self.results = Some(query(self.table, guards, false)?.found()),
                None => return Ok(None),
            }
        }
    }
}
