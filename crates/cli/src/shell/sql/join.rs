//! Tables that are joined, by lookups of their keys or of secondary indexes.

use fyris::{InfoValue, Table, TableType};
use fyris_term::{Atom, Term};

use super::expression::{JoinedRow, Sight, SqlComparison, SqlExpr};
use super::scope::{Scope, Source};
use super::value::SqlValue;
use crate::shell::error::ShellError;
use crate::shell::interrupt;

/// How the objects of a value are found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LookupBy {
    Key,
    Secondary(String),
}

impl LookupBy {
    /// Returns whether 1 and 1.0 are told apart.
    pub(super) fn is_exact(&self, table: &Table) -> bool {
        *self != LookupBy::Key || table.table_type() != TableType::OrderedSet
    }

    /// Returns the terms under which the objects of a value are found, none under two of them.
    pub(super) fn terms(&self, table: &Table, value: &SqlValue) -> Vec<Term> {
        let equal = match self.is_exact(table) {
            true => value.equals_exactly(),
            false => value.equals(),
        };
        match self {
            LookupBy::Key => value.among_keys(equal),
            LookupBy::Secondary(_) => equal,
        }
    }
}

/// A table that is joined to those before it.
pub(super) struct JoinPlan {
    table: Table,
    by: LookupBy,
    /// The column that is looked up, for `explain`.
    column: String,
    /// What is looked up, of the tables before.
    value: SqlExpr,
    /// The condition, which is looked at for each object that is found.
    on: SqlExpr,
    /// Does a row stay that has no partner?
    is_left: bool,
}

impl JoinPlan {
    /// Plans a join of the last table of the scope; returns why it cannot be if no key is compared.
    pub(super) fn new(scope: &Scope, on: SqlExpr, is_left: bool) -> Result<JoinPlan, String> {
        let at = scope.0.len() - 1;
        let source = &scope.0[at];
        let conjuncts = on.clone().conjuncts().into_iter();
        let compared: Vec<_> = conjuncts.filter_map(|part| looked_up(part, at)).collect();
        let found = compared.iter().find_map(|(place, value)| {
            Some((*place, value.clone(), lookup_by(&source.table, *place)?))
        });
        let Some((place, value, by)) = found else {
            let makes_one = compared.first().map(|(place, _)| added(source, *place));
            return Err(format!(
                "JOIN {}: its ON has to compare the key, {}, with something of the tables before it by `=`, or a column \
                 with a secondary index{}",
                source.name,
                source.columns[source.table.keypos() - 1],
                makes_one.unwrap_or_default()
            ));
        };
        Ok(JoinPlan {
            table: source.table.clone(),
            by,
            column: source.columns.get(place).cloned().unwrap_or_default(),
            value,
            on,
            is_left,
        })
    }

    /// Adds the rows that a row becomes.
    pub(super) fn join(
        &self,
        row: JoinedRow,
        joined: &mut Vec<JoinedRow>,
    ) -> Result<(), ShellError> {
        let before = joined.len();
        for object in self.found(&row)? {
            interrupt::check()?;
            let mut row = row.clone();
            row.push(Some(object));
            let sight = Sight {
                row: &row,
                aggregates: &[],
            };
            if self.on.test(sight)? == Some(true) {
                joined.push(row);
            }
        }
        if self.is_left && joined.len() == before {
            let mut row = row;
            row.push(None);
            joined.push(row);
        }
        Ok(())
    }

    /// Returns the objects that may fit.
    fn found(&self, row: &JoinedRow) -> Result<Vec<Term>, ShellError> {
        let sight = Sight {
            row,
            aggregates: &[],
        };
        let value = self.value.value(sight)?;
        let mut found: Vec<Term> = Vec::new();
        for term in self.by.terms(&self.table, &value) {
            let more = match &self.by {
                LookupBy::Key => self.table.lookup(&term)?,
                LookupBy::Secondary(name) => self.table.lookup_by(name, &term)?,
            };
            found.extend(more);
        }
        Ok(found)
    }

    /// Returns the join in words.
    pub(super) fn words(&self) -> String {
        let kind = if self.is_left { "left join" } else { "join" };
        let table = self.table.name();
        match &self.by {
            LookupBy::Key => format!(
                "{kind} {}: lookup of its key, {}",
                table.as_str(),
                self.column
            ),
            LookupBy::Secondary(name) => {
                format!(
                    "{kind} {}: lookup of {} in {name}",
                    table.as_str(),
                    self.column
                )
            }
        }
    }
}

/// Returns the end of a message that names the command which makes a secondary index of a column.
fn added(source: &Source, place: usize) -> String {
    let (table, number) = (Term::Atom(source.table.name()), place + 1);
    let column = source.columns.get(place).filter(|_| source.is_named);
    // A column may have a longer name than an atom.
    let names = column.and_then(|column| {
        let name = Atom::new(&format!("by_{column}")).ok()?;
        Some((Term::Atom(name), Term::Atom(Atom::new(column).ok()?)))
    });
    let (name, element) = match names {
        Some((name, column)) => (name.to_string(), column.to_string()),
        None => (format!("by_{number}"), number.to_string()),
    };
    format!(": `add_secondary {table} {name} {{element, {element}}}` makes one")
}

/// Returns the column of table `at` that a condition compares with something of the tables before, and that.
fn looked_up(condition: SqlExpr, at: usize) -> Option<(usize, SqlExpr)> {
    let SqlExpr::Compare(SqlComparison::Equal, left, right) = condition else {
        return None;
    };
    let is_before = |expr: &SqlExpr| {
        !expr.any(&|part| matches!(part, SqlExpr::Column(table, _) if *table >= at))
    };
    match (*left, *right) {
        (SqlExpr::Column(table, place), value) if table == at && is_before(&value) => {
            Some((place, value))
        }
        (value, SqlExpr::Column(table, place)) if table == at && is_before(&value) => {
            Some((place, value))
        }
        _ => None,
    }
}

/// Returns how objects are found by a column, if they are.
pub(super) fn lookup_by(table: &Table, place: usize) -> Option<LookupBy> {
    if place + 1 == table.keypos() {
        return Some(LookupBy::Key);
    }
    let Ok(Some(InfoValue::Term(Term::List(indexes)))) = table.info_item("secondary") else {
        return None;
    };
    let element = Term::tuple(vec![Term::atom("element"), Term::Int(place as i64 + 1)]);
    let unique = Term::tuple(vec![Term::atom("unique"), element.clone()]);
    indexes.iter().find_map(|index| match index.as_tuple() {
        Some([Term::Atom(name), value]) if *value == element || *value == unique => {
            Some(LookupBy::Secondary(name.as_str().to_owned()))
        }
        _ => None,
    })
}
