//! Commands about tables as wholes.

use fyris::{InfoValue, Table};
use fyris_term::Term;

use crate::shell::error::ShellError;
use crate::shell::names::said;
use crate::shell::screen::display;
use crate::shell::session::{self, Session, name_of};

/// Runs `tables`.
pub(crate) fn list(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let [] = session.exactly(args, "tables")?;
    let tables = session.tables();
    if tables.is_empty() {
        return session
            .display()
            .line("no tables: `open FILE`, `load FILE key COLUMN` or `new NAME` makes one");
    }
    let width = tables
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0)
        .max(5);
    let show = session.display();
    show.line(format!(
        "  {:width$}  {:13}  {:>10}  {:>10}  key",
        "table", "type", "objects", "memory"
    ))?;
    for (name, info) in tables {
        let mark = if session.is_current(&name) { '*' } else { ' ' };
        let (size, memory) = (info.size, display::bytes(info.memory as u64 * 8));
        let kind = info.table_type.as_str();
        show.line(format!(
            "{mark} {name:width$}  {kind:13}  {size:>10}  {memory:>10}  element {}",
            info.keypos
        ))?;
    }
    Ok(())
}

/// Runs `schema [TABLE]`.
pub(crate) fn schema(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    let name = args.pop();
    let [] = session.exactly(args, "schema [TABLE]")?;
    let tables = match &name {
        Some(_) => vec![session.table(name.as_ref())?],
        None => session.all_tables()?,
    };
    for table in tables {
        session.display().line(schema_of(session, &table)?)?;
    }
    Ok(())
}

/// Returns the type of a table, its columns and its secondary indexes, in a line.
fn schema_of(session: &Session, table: &Table) -> Result<String, ShellError> {
    let name = Term::atom(&name_of(table));
    let (kind, key) = (table.table_type().as_str(), table.keypos());
    let columns = session.columns().of(Some(&name)).iter().enumerate();
    let columns = columns.map(|(at, column)| match at + 1 == key {
        true => format!("{} key", said(column)),
        false => said(column),
    });
    let mut columns: Vec<String> = columns.collect();
    if columns.is_empty() {
        columns.push(format!("element {key} key"));
    }
    let mut line = format!("{name} ({}) {kind}", columns.join(", "));
    if let Some(InfoValue::Term(Term::List(indexes))) = table.info_item("secondary")? {
        for index in indexes.iter() {
            line += &format!(", secondary {index}");
        }
    }
    Ok(line)
}

/// Runs `use TABLE`.
pub(crate) fn use_table(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let [name] = session.exactly(args, "use TABLE")?;
    session.set_current(&name)
}

/// Runs `new NAME [TYPE] [OPTION ...]`.
pub(crate) fn new(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "new NAME [TYPE] [OPTION ...]";
    if args.is_empty() {
        return Err(Session::usage("a name is needed", USAGE));
    }
    let name = Session::name(args.remove(0), USAGE)?;
    args.push(Term::atom("named_table"));
    session.create(name, &session::options(args)?)?;
    session.display().done(name.as_str())
}

/// Runs `drop TABLE`.
pub(crate) fn drop_table(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let [name] = session.exactly(args, "drop TABLE")?;
    session.named(&name)?.delete()?;
    session.forget_missing();
    session.display().done("true")
}

/// Runs `rename [TABLE] NAME`.
pub(crate) fn rename(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "rename [TABLE] NAME";
    let (table, name) = session.table_and_one(args, USAGE)?;
    let name = Session::name(name, USAGE)?;
    let before = name_of(&table);
    table.rename(name)?;
    session.columns_mut().rename(&before, name.as_str());
    session.forget_missing();
    session.set_current(&Term::Atom(name))?;
    session.display().done(name.as_str())
}

/// Runs `info [TABLE] [ITEM]`.
pub(crate) fn info(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "info [TABLE] [ITEM]";
    let item = match args.len() {
        2 => args.pop(),
        1 if session.named(&args[0]).is_err() => args.pop(),
        _ => None,
    };
    let table = session.table_alone(args, USAGE)?;
    let undefined = || Term::atom("undefined");
    let answer = match item {
        Some(Term::Atom(item)) => table
            .info_item(item.as_str())?
            .map_or_else(undefined, value_term),
        Some(item) => {
            return Err(Session::usage(
                format!("an item is an atom, not {item}"),
                USAGE,
            ));
        }
        None => table.info_items().map_or_else(undefined, |items| {
            let pair = |(item, value)| Term::tuple(vec![Term::atom(item), value_term(value)]);
            Term::List(items.into_iter().map(pair).collect())
        }),
    };
    session.display().term(&answer)
}

/// Returns an info value in words: processes and tables by their numbers.
fn value_term(value: InfoValue) -> Term {
    match value {
        InfoValue::Term(term) => term,
        InfoValue::Process(None) => Term::atom("none"),
        InfoValue::Process(Some(process)) => Term::integer(process.0),
        InfoValue::Table(id) => Term::integer(id.0),
        InfoValue::Fixed(fixed) => Term::atom(if fixed.is_some() { "true" } else { "false" }),
    }
}

/// Runs `count [TABLE]`.
pub(crate) fn count(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let table = session.table_alone(args, "count [TABLE]")?;
    session.display().line(table.len())
}
