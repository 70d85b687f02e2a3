//! SQL over tables, with the meaning that sqlite3 gives it.
//!
//! A line is SQL if it begins with `SELECT ... FROM`, `INSERT INTO`, `UPDATE ... SET` or `DELETE FROM` (`text`).
//! `sqlparser` reads it; here it becomes, step by step,
//!
//! 1. names: the tables and columns that are meant (`scope`), and expressions whose names are known (`translate`, to
//!    `expression`, on `function` and `aggregate`, on `value` and `number`);
//! 2. a plan: what of WHERE match specifications can say exactly, so that keys and indexes are used (`scan`, on
//!    `guard`), tables that are joined by lookups (`join`), and the rest, which is looked at behind these (`select`;
//!    `change` for what changes a table);
//! 3. rows (`rows`), shown as they come unless they are grouped or sorted.
//!
//! What is not known is refused by name and place before any statement of the line runs (`refuse`). Then each is
//! planned when its turn comes: those before it may have changed its table.

mod aggregate;
mod change;
mod expression;
mod function;
mod guard;
mod join;
mod number;
mod refuse;
mod rows;
mod scan;
mod scope;
mod select;
mod text;
mod translate;
mod value;

use sqlparser::ast::Statement;
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;

use self::change::Change;
use self::select::SelectPlan;
use super::error::ShellError;
use super::session::Session;
pub(crate) use text::{OpenSql, SqlEnd, goes_on, is_comment, is_open, is_sql};

/// Words that begin statements that are not known, and no command.
pub(crate) const OTHERS: [&str; 9] = [
    "alter", "create", "insert", "pragma", "replace", "select", "update", "values", "with",
];

/// What there is of SQL, for messages.
pub(crate) const KNOWN: &str = "of SQL there are SELECT ... FROM, INSERT INTO, UPDATE ... SET and DELETE FROM, as \
                                `help sql` says";

/// A statement that is ready to run.
enum SqlPlan {
    Select(Box<SelectPlan>),
    Change(Box<Change>),
}

/// Runs a line of SQL, one or several statements.
pub(crate) fn run(session: &mut Session, text: &str) -> Result<(), ShellError> {
    each(session, text, |plan| match plan {
        SqlPlan::Select(plan) => rows::show(session, &plan),
        SqlPlan::Change(change) => change.run(session),
    })
}

/// Says how a line of SQL would be run.
pub(crate) fn explain(session: &mut Session, text: &str) -> Result<(), ShellError> {
    each(session, text, |plan| {
        let lines = match plan {
            SqlPlan::Select(plan) => plan.explain()?,
            SqlPlan::Change(change) => change.explain()?,
        };
        let mut lines = lines.into_iter();
        lines.try_for_each(|line| session.display().line(line))
    })
}

/// Plans each statement, and does something with the plan before the next one is planned; at first all of them are
/// looked at.
fn each(
    session: &Session,
    text: &str,
    run: impl Fn(SqlPlan) -> Result<(), ShellError>,
) -> Result<(), ShellError> {
    let tokens = text::tokens(text)?;
    let parser = Parser::new(&SQLiteDialect {}).with_tokens_with_locations(tokens);
    let mut statements = { parser }.parse_statements().map_err(refuse::parse_error)?;
    if let [one] = &mut statements[..] {
        return run(plan(session, one)?);
    }
    for statement in &mut statements {
        plan(session, statement)?;
    }
    statements
        .iter_mut()
        .try_for_each(|statement| run(plan(session, statement)?))
}

fn plan(session: &Session, statement: &mut Statement) -> Result<SqlPlan, ShellError> {
    Ok(match statement {
        Statement::Query(query) => SqlPlan::Select(Box::new(SelectPlan::new(session, query)?)),
        Statement::Insert(insert) => SqlPlan::Change(Box::new(Change::insert(session, insert)?)),
        Statement::Update(update) => SqlPlan::Change(Box::new(Change::update(session, update)?)),
        Statement::Delete(delete) => SqlPlan::Change(Box::new(Change::delete(session, delete)?)),
        other => return Err(refuse::statement(other)),
    })
}
