//! The tables of a query, and the names of their columns.

use fyris::{Error, MatchSpec, Table};
use fyris_term::Term;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart, Spanned, TableFactor};

use super::expression::SqlExpr;
use super::{guard, refuse};
use crate::shell::commands::select::Asked;
use crate::shell::error::ShellError;
use crate::shell::names::unknown;
use crate::shell::session::{Session, name_of};

/// The most columns of a table whose columns have no names, as sqlite3 has it: an object is made with all of them.
const MOST_COLUMNS: usize = 2000;

/// A table of a query.
pub(super) struct Source {
    /// Its name in the query.
    pub(super) name: String,
    pub(super) table: Table,
    pub(super) columns: Vec<String>,
    /// Are the names those of a file? Else they are `c1`, `c2` and so on.
    pub(super) is_named: bool,
}

/// The tables of a query, in the order of the joins.
#[derive(Default)]
pub(super) struct Scope(pub(super) Vec<Source>);

impl Source {
    /// Finds the table that a part of FROM names.
    pub(super) fn new(session: &Session, factor: &TableFactor) -> Result<Source, ShellError> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return Err(refuse::part(factor));
        };
        let mut bare = factor.clone();
        if let TableFactor::Table { alias, .. } = &mut bare {
            *alias = None;
        }
        refuse::rest(factor.span(), &bare, &name.to_string())?;
        let mut source = Source::named(session, name)?;
        if let Some(alias) = alias {
            if !alias.columns.is_empty() {
                return Err(refuse::named(alias.name.span, &alias.to_string()));
            }
            source.name.clone_from(&alias.name.value);
        }
        Ok(source)
    }

    /// Finds a table by its name.
    pub(super) fn named(session: &Session, name: &ObjectName) -> Result<Source, ShellError> {
        let name = self::name(name)?;
        let table = table(session, &name.value)
            .map_err(|error| refuse::at(name.span, &error.to_string()))?;
        let known = session.columns().of(Some(&Term::Atom(table.name())));
        let columns = match known {
            [] => numbered(&table)?,
            known => known.to_vec(),
        };
        Ok(Source {
            name: name.value.clone(),
            is_named: !known.is_empty(),
            table,
            columns,
        })
    }

    /// Returns the place of a column, exactly as it is written or in any case of its letters.
    pub(super) fn place(&self, column: &str) -> Option<usize> {
        let exact = self.columns.iter().position(|name| name == column);
        let near = || {
            self.columns
                .iter()
                .position(|name| name.eq_ignore_ascii_case(column))
        };
        exact.or_else(near).or_else(|| self.numbered_place(column))
    }

    /// Returns the place of `c7` of a table whose columns have no names: objects may have more than the first one.
    fn numbered_place(&self, column: &str) -> Option<usize> {
        let number = column.strip_prefix(['c', 'C']).filter(|_| !self.is_named)?;
        let place = number.parse::<usize>().ok()?.checked_sub(1)?;
        (place < MOST_COLUMNS.max(self.table.keypos())).then_some(place)
    }

    /// Returns the names that `*` stands for: without names of a file, one for each element that an object has.
    pub(super) fn all_columns(&self) -> Result<Vec<String>, ShellError> {
        if self.is_named {
            return Ok(self.columns.clone());
        }
        let most = widest(&self.table, self.columns.len())?;
        if most > MOST_COLUMNS.max(self.columns.len()) {
            return Err(ShellError::other(format!(
                "{} has an object of {most} elements: `*` is for {MOST_COLUMNS} at most, c1, c2 and so on name some",
                self.name
            )));
        }
        Ok((1..=most).map(|n| format!("c{n}")).collect())
    }

    /// Returns the place of the column with a name, or an error that names the others.
    pub(super) fn column(&self, column: &Ident) -> Result<usize, ShellError> {
        self.place(&column.value)
            .ok_or_else(|| no_column(column, &self.columns))
    }
}

/// Returns the names of the elements of objects that have none, by the first object.
fn numbered(table: &Table) -> Result<Vec<String>, ShellError> {
    let first = table.iter().next().transpose()?;
    let arity = first
        .as_ref()
        .and_then(Term::as_tuple)
        .map_or(0, <[Term]>::len);
    let columns = arity.min(MOST_COLUMNS).max(table.keypos());
    Ok((1..=columns).map(|n| format!("c{n}")).collect())
}

/// Returns the number of elements of the largest object, or `least` if none has more.
fn widest(table: &Table, least: usize) -> Result<usize, ShellError> {
    let clause = [
        Term::atom("_"),
        Term::list(vec![guard::size(">", least)]),
        Term::list(vec![guard::size_of()]),
    ];
    let spec = Term::list(vec![Term::tuple(clause.to_vec())]);
    let spec = MatchSpec::new(&spec).map_err(Error::BadMatchSpec)?;
    let mut sizes = Asked::of(table.clone(), spec, None)?.found();
    let mut most = least;
    while let Some(size) = sizes.next()? {
        most = most.max(size.as_int().map_or(0, |size| size as usize));
    }
    Ok(most)
}

/// Returns the table of a name, exactly or, if there is only one, in any case of its letters.
fn table(session: &Session, name: &str) -> Result<Table, ShellError> {
    let exact = session.named(&Term::atom(name));
    if exact.is_ok() {
        return exact;
    }
    let tables = session.all_tables().unwrap_or_default();
    let mut same = tables
        .into_iter()
        .filter(|table| name_of(table).eq_ignore_ascii_case(name));
    match (same.next(), same.next()) {
        (Some(table), None) => Ok(table),
        _ => exact,
    }
}

/// Returns a name of one part.
pub(super) fn name(name: &ObjectName) -> Result<&Ident, ShellError> {
    match &name.0[..] {
        [ObjectNamePart::Identifier(one)] => Ok(one),
        _ => Err(refuse::part(name)),
    }
}

fn no_column(column: &Ident, columns: &[String]) -> ShellError {
    let text = match column.quote_style {
        Some('"') => format!("; a text is written '{}'", column.value),
        _ => String::new(),
    };
    let problem = unknown(columns, &column.value);
    refuse::at(column.span, &format!("{problem}{text}"))
}

impl Scope {
    /// Adds a table.
    pub(super) fn add(
        &mut self,
        source: Source,
        span: sqlparser::tokenizer::Span,
    ) -> Result<(), ShellError> {
        let same = |known: &Source| known.name.eq_ignore_ascii_case(&source.name);
        if self.0.iter().any(same) {
            let problem = format!(
                "two tables are called {}: `AS` gives one another name",
                source.name
            );
            return Err(refuse::at(span, &problem));
        }
        self.0.push(source);
        Ok(())
    }

    /// Returns the column of a name, if one table has it.
    pub(super) fn find(&self, column: &Ident) -> Result<Option<SqlExpr>, ShellError> {
        let places = self.0.iter().enumerate().filter_map(|(table, source)| {
            let place = source.place(&column.value)?;
            Some(SqlExpr::Column(table, place))
        });
        let mut places = places.collect::<Vec<_>>().into_iter();
        match (places.next(), places.next()) {
            (Some(_), Some(_)) => {
                let problem = format!("several tables have a column {}", column.value);
                Err(refuse::at(column.span, &problem))
            }
            (found, _) => Ok(found),
        }
    }

    /// Returns the error of a name that no table has as a column.
    pub(super) fn missing(&self, column: &Ident) -> ShellError {
        let columns: Vec<String> = self
            .0
            .iter()
            .flat_map(|source| source.columns.iter().cloned())
            .collect();
        no_column(column, &columns)
    }

    /// Returns the place of a table.
    pub(super) fn table(&self, name: &Ident) -> Result<usize, ShellError> {
        let found = self
            .0
            .iter()
            .position(|source| source.name.eq_ignore_ascii_case(&name.value));
        found.ok_or_else(|| {
            let tables: Vec<&str> = self.0.iter().map(|source| source.name.as_str()).collect();
            let problem = format!(
                "{} is no table of this query: they are {}",
                name.value,
                tables.join(", ")
            );
            refuse::at(name.span, &problem)
        })
    }
}
