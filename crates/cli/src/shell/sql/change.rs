//! INSERT, UPDATE and DELETE: all of a statement happens, or nothing of it.

use std::cmp::Ordering;

use fyris::{Table, TableType};
use fyris_term::Term;
use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, FromTable, Insert, ObjectName, Query, SetExpr,
    Spanned, TableFactor, TableObject, TableWithJoins, Update,
};

use super::expression::{Sight, SqlExpr};
use super::refuse;
use super::rows::fits;
use super::scan::Scan;
use super::scope::{Scope, Source, name};
use super::select::single;
use super::value::SqlValue;
use crate::shell::error::ShellError;
use crate::shell::interrupt;
use crate::shell::screen::display;
use crate::shell::session::{Session, name_of};

/// A change of a table.
pub(super) struct Change {
    table: Table,
    /// The name of its key.
    key: String,
    what: What,
}

enum What {
    Insert(Vec<Term>),
    /// Places of elements, and what they become.
    Update(Scan, Vec<(usize, SqlExpr)>),
    Delete(Scan),
}

impl Change {
    fn new(source: &Source, what: What) -> Change {
        Change {
            table: source.table.clone(),
            key: source.columns[source.table.keypos() - 1].clone(),
            what,
        }
    }

    /// Plans an INSERT.
    pub(super) fn insert(session: &Session, insert: &mut Insert) -> Result<Change, ShellError> {
        let span = insert.span();
        // What is left of the statement has to be empty; its rows may be many.
        let columns = std::mem::take(&mut insert.columns);
        let mut query = insert.source.take();
        let change = match (&insert.table, &mut query) {
            (TableObject::TableName(table), Some(query)) => {
                let bare = format!("INSERT INTO {table} DEFAULT VALUES");
                refuse::rest(span, insert, &bare)
                    .and_then(|()| Change::of_rows(session, table, &columns, query))
            }
            (_, None) => Err(refuse::named(span, "DEFAULT VALUES")),
            _ => Err(refuse::named(span, &insert.table.to_string())),
        };
        (insert.columns, insert.source) = (columns, query);
        change
    }

    fn of_rows(
        session: &Session,
        table: &ObjectName,
        columns: &[ObjectName],
        query: &mut Query,
    ) -> Result<Change, ShellError> {
        let source = Source::named(session, table)?;
        let mut places = Vec::new();
        for column in columns {
            let column = name(column)?;
            let place = source.column(column)?;
            if places.contains(&place) {
                return Err(refuse::at(column.span, "the column is named twice"));
            }
            places.push(place);
        }
        let SetExpr::Values(values) = &mut *query.body else {
            return Err(refuse::part(query));
        };
        let rows = std::mem::take(&mut values.rows);
        let bare = values.to_string();
        let change = refuse::rest(query.span(), query, &bare).and_then(|()| {
            let objects = rows
                .iter()
                .map(|row| object(&source, &places, &row.content));
            let objects = objects.collect::<Result<Vec<_>, _>>()?;
            let mut change = Change::new(&source, What::Insert(Vec::new()));
            change.check_keys(&[], &objects)?;
            change.what = What::Insert(objects);
            Ok(change)
        });
        if let SetExpr::Values(values) = &mut *query.body {
            values.rows = rows;
        }
        change
    }

    /// Plans an UPDATE.
    pub(super) fn update(session: &Session, update: &Update) -> Result<Change, ShellError> {
        let mut bare = update.clone();
        (bare.assignments, bare.selection) = (vec![], None);
        refuse::rest(update.span(), &bare, &format!("UPDATE {}", update.table))?;
        let scope = one_table(session, &update.table)?;
        let mut sets: Vec<(usize, SqlExpr)> = Vec::new();
        for Assignment { target, value } in &update.assignments {
            let AssignmentTarget::ColumnName(column) = target else {
                return Err(refuse::named(value.span(), &target.to_string()));
            };
            let place = scope.0[0].column(name(column)?)?;
            let value = single(&scope, &[], Some(value))?;
            sets.retain(|(known, _)| *known != place);
            sets.extend(value.map(|value| (place, value)));
        }
        let scan = scan(&scope, update.selection.as_ref())?;
        Ok(Change::new(&scope.0[0], What::Update(scan, sets)))
    }

    /// Plans a DELETE.
    pub(super) fn delete(session: &Session, delete: &Delete) -> Result<Change, ShellError> {
        let FromTable::WithFromKeyword(from) = &delete.from else {
            return Err(refuse::part(delete));
        };
        let [table] = &from[..] else {
            return Err(refuse::part(delete));
        };
        let mut bare = delete.clone();
        bare.selection = None;
        refuse::rest(delete.span(), &bare, &format!("DELETE FROM {table}"))?;
        let scope = one_table(session, table)?;
        let scan = scan(&scope, delete.selection.as_ref())?;
        Ok(Change::new(&scope.0[0], What::Delete(scan)))
    }

    /// Returns the plan in words, a line each.
    pub(super) fn explain(&self) -> Result<Vec<String>, ShellError> {
        Ok(match &self.what {
            What::Insert(objects) => {
                vec![format!("insert {}", display::objects(objects.len() as u64))]
            }
            What::Update(scan, _) => [scan.words()?, vec!["update".to_owned()]].concat(),
            What::Delete(scan) if scan.is_of_all() => vec!["delete all objects".to_owned()],
            What::Delete(scan) => [scan.words()?, vec!["delete".to_owned()]].concat(),
        })
    }

    /// Makes the change, and says of how many objects.
    pub(super) fn run(&self, session: &Session) -> Result<(), ShellError> {
        let said = match &self.what {
            What::Insert(objects) => self.insert_all(session, objects)?,
            What::Update(scan, sets) => self.update_all(session, scan, sets)?,
            What::Delete(scan) => {
                let deleted = self.delete_all(session, scan)?;
                format!("{} deleted", display::objects(deleted))
            }
        };
        session.display().note(said)
    }

    fn insert_all(&self, session: &Session, objects: &[Term]) -> Result<String, ShellError> {
        let inserted = session.atomically(&self.table, |table| {
            let before = table.len();
            self.put(table, objects)?;
            Ok(table.len() - before)
        })?;
        let said = format!("{} inserted", display::objects(inserted as u64));
        Ok(match objects.len() - inserted {
            0 => said,
            same => format!("{said}: a bag keeps none of {same} that it has already"),
        })
    }

    fn update_all(
        &self,
        session: &Session,
        scan: &Scan,
        sets: &[(usize, SqlExpr)],
    ) -> Result<String, ShellError> {
        let before = found(scan)?;
        let after = before.iter().map(|object| changed(object, sets));
        let after = after.collect::<Result<Vec<_>, _>>()?;
        let key = self.table.keypos() - 1;
        let keys_stay = !sets.iter().any(|(place, _)| *place == key);
        if !keys_stay {
            self.check_keys(&before, &after)?;
        }
        let left = session.atomically(&self.table, |table| {
            if keys_stay && !table.table_type().is_bag() {
                table.insert_list(&after)?;
                return Ok(after.len());
            }
            take_away(table, &before)?;
            let others = table.len();
            self.put(table, &after)?;
            Ok(table.len() - others)
        })?;
        let said = format!("{} updated", display::objects(before.len() as u64));
        Ok(match before.len() - left {
            0 => said,
            same => format!("{said}: a bag keeps none of {same} that are the same as others now"),
        })
    }

    fn delete_all(&self, session: &Session, scan: &Scan) -> Result<u64, ShellError> {
        if scan.is_of_all() && !session.is_in_transaction(&self.table) {
            // In one step, whatever the size.
            return Ok(scan.delete(&self.table)?.unwrap_or_default());
        }
        session.atomically(&self.table, |table| match scan.delete(table)? {
            Some(deleted) => Ok(deleted),
            None => {
                let found = found(scan)?;
                take_away(table, &found)?;
                Ok(found.len() as u64)
            }
        })
    }

    /// Refuses objects that have lost their key, or two with the same key.
    fn check_keys(&self, before: &[Term], after: &[Term]) -> Result<(), ShellError> {
        let at = self.table.keypos() - 1;
        fn key(object: &Term, at: usize) -> Option<&Term> {
            object.as_tuple()?.get(at)
        }
        let none = Term::atom("undefined");
        let has_none = |object: &Term| key(object, at) == Some(&none);
        let lost = after
            .iter()
            .enumerate()
            .any(|(place, object)| has_none(object) && !before.get(place).is_some_and(has_none));
        if lost {
            let problem = format!("{} is the key: it cannot be NULL", self.key);
            return Err(ShellError::other(problem));
        }
        let order: fn(&Term, &Term) -> Ordering = match self.table.table_type() {
            TableType::OrderedSet => Term::cmp_order,
            TableType::Set => Term::cmp_exact,
            _ => return Ok(()),
        };
        let mut keys: Vec<&Term> = after.iter().filter_map(|object| key(object, at)).collect();
        keys.sort_by(|a, b| order(a, b));
        match keys.windows(2).find(|pair| order(pair[0], pair[1]).is_eq()) {
            Some(pair) => Err(self.taken(pair[0])),
            None => Ok(()),
        }
    }

    /// Puts objects in, whose keys nothing has in a table with one object a key.
    fn put(&self, table: &Table, objects: &[Term]) -> Result<(), ShellError> {
        if matches!(table.table_type(), TableType::Bag | TableType::DuplicateBag) {
            return Ok(table.insert_list(objects)?);
        }
        if table.insert_new_list(objects)? {
            return Ok(());
        }
        let at = table.keypos() - 1;
        for object in objects {
            let key = object.as_tuple().and_then(|elements| elements.get(at));
            if let Some(key) = key
                && table.member(key)?
            {
                return Err(self.taken(key));
            }
        }
        Err(ShellError::other("a key is there already"))
    }

    fn taken(&self, key: &Term) -> ShellError {
        ShellError::other(format!(
            "{} has an object with the {} {key} already: nothing is changed",
            name_of(&self.table),
            self.key
        ))
    }
}

/// Returns the scope of a statement about one table.
fn one_table(session: &Session, table: &TableWithJoins) -> Result<Scope, ShellError> {
    let (TableFactor::Table { .. }, []) = (&table.relation, &table.joins[..]) else {
        return Err(refuse::part(table));
    };
    let mut scope = Scope::default();
    scope.add(Source::new(session, &table.relation)?, table.span())?;
    Ok(scope)
}

fn scan(scope: &Scope, condition: Option<&Expr>) -> Result<Scan, ShellError> {
    Scan::new(&scope.0[0].table, single(scope, &[], condition)?)
}

/// Returns the object of a row of VALUES.
fn object(source: &Source, places: &[usize], row: &[Expr]) -> Result<Term, ShellError> {
    let span = row
        .first()
        .map_or_else(sqlparser::tokenizer::Span::empty, Spanned::span);
    let places: Vec<usize> = match places {
        [] if source.is_named || row.len() < source.table.keypos() => {
            (0..source.columns.len()).collect()
        }
        [] => (0..row.len()).collect(),
        places => places.to_vec(),
    };
    if row.len() != places.len() {
        let problem = format!("{} values for {} columns", row.len(), places.len());
        return Err(refuse::at(span, &problem));
    }
    let width = places.iter().map(|place| place + 1).max().unwrap_or(0);
    let width = width.max(if source.is_named {
        source.columns.len()
    } else {
        0
    });
    let mut elements = vec![Term::atom("undefined"); width.max(source.table.keypos())];
    for (place, expr) in places.into_iter().zip(row) {
        let value = single(&Scope::default(), &[], Some(expr))?;
        elements[place] = kept(
            value.as_ref().unwrap_or(&SqlExpr::Value(SqlValue::Null)),
            &[],
        )?;
    }
    Ok(Term::tuple(elements))
}

/// Returns the term that a table gets: a column stays as it is, TRUE and FALSE are atoms.
fn kept(value: &SqlExpr, row: &[Option<Term>]) -> Result<Term, ShellError> {
    match value {
        SqlExpr::Flag(flag) => SqlValue::Bool(*flag).into_term(),
        SqlExpr::Column(table, place) => {
            let element = super::expression::element(row, *table, *place);
            Ok(element.cloned().unwrap_or_else(|| Term::atom("undefined")))
        }
        other => {
            let sight = Sight {
                row,
                aggregates: &[],
            };
            other.value(sight)?.into_term()
        }
    }
}

/// Returns an object with elements that were set.
fn changed(object: &Term, sets: &[(usize, SqlExpr)]) -> Result<Term, ShellError> {
    let row = [Some(object.clone())];
    let mut elements = object.as_tuple().unwrap_or_default().to_vec();
    for (place, value) in sets {
        if elements.len() <= *place {
            elements.resize(place + 1, Term::atom("undefined"));
        }
        elements[*place] = kept(value, &row)?;
    }
    Ok(Term::tuple(elements))
}

/// Returns the objects that a statement is about.
fn found(scan: &Scan) -> Result<Vec<Term>, ShellError> {
    let mut results = scan.found();
    let mut found = Vec::new();
    while let Some(object) = results.next()? {
        let row = [Some(object)];
        if fits(&scan.behind, &row)? {
            found.extend(row.into_iter().flatten());
        }
    }
    Ok(found)
}

fn take_away(table: &Table, objects: &[Term]) -> Result<(), ShellError> {
    objects.iter().try_for_each(|object| {
        interrupt::check()?;
        Ok(table.delete_object(object)?)
    })
}
