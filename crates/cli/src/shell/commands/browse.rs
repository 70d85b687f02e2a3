//! Commands that look at a table.

use fyris::{Table, TableType};
use fyris_term::Term;

use crate::shell::error::ShellError;
use crate::shell::interrupt;
use crate::shell::session::Session;

/// The number of objects that `head` and `tail` show unless it is said.
const FEW: usize = 10;

/// Runs `head [TABLE] [N]`.
pub(crate) fn head(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, count) = session.table_and_count(args, FEW, "head [TABLE] [N]")?;
    session.show_traversal(&table, table.iter(), count)
}

/// Runs `tail [TABLE] [N]`.
pub(crate) fn tail(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "tail [TABLE] [N]";
    let (table, count) = session.table_and_count(args, FEW, USAGE)?;
    if table.table_type() != TableType::OrderedSet {
        let kind = table.table_type().as_str();
        return Err(Session::usage(
            format!("tail does not work on a {kind}"),
            USAGE,
        ));
    }
    match key_from_end(&table, count)? {
        Some(key) => session.show_traversal(&table, from_key(&table, key), count),
        None => session.show_objects(Vec::new()),
    }
}

/// Returns the key that is followed by `count - 1` others: the first one if there are fewer, none if there are none.
fn key_from_end(table: &Table, count: usize) -> Result<Option<Term>, ShellError> {
    if count == 0 {
        return Ok(None);
    }
    let mut at = table.last()?;
    for _ in 1..count {
        interrupt::check()?;
        let Some(key) = &at else { break };
        match table.prev(key)? {
            Some(before) => at = Some(before),
            None => break,
        }
    }
    Ok(at)
}

/// Runs `walk [TABLE] [from KEY] [limit N]`.
pub(crate) fn walk(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "walk [TABLE] [from KEY] [limit N]";
    let mut args = args.into_iter().peekable();
    let explicit = args.next_if(|arg| !is_word(arg, "from") && !is_word(arg, "limit"));
    let table = session.table(explicit.as_ref())?;
    let mut limit = session.most();
    let mut from = None;
    while let Some(word) = args.next() {
        let value = args
            .next()
            .ok_or_else(|| Session::usage("a word without its value", USAGE))?;
        match (&word, &value) {
            (word, _) if is_word(word, "from") => from = Some(value),
            (word, Term::Int(n)) if is_word(word, "limit") && *n > 0 => limit = *n as usize,
            _ => {
                return Err(Session::usage(
                    format!("`{word} {value}` makes no sense here"),
                    USAGE,
                ));
            }
        }
    }
    match from {
        None => session.show_traversal(&table, table.iter(), limit),
        Some(key) => session.show_traversal(&table, from_key(&table, key), limit),
    }
}

/// Returns the objects with `key` and those of the keys after it.
fn from_key(table: &Table, key: Term) -> impl Iterator<Item = fyris::Result<Term>> + '_ {
    let mut batch = Vec::new().into_iter();
    let mut at = Some(key);
    let mut begun = false;
    std::iter::from_fn(move || {
        loop {
            if let Some(object) = batch.next() {
                return Some(Ok(object));
            }
            let key = at.take()?;
            let step = if begun {
                table.next_lookup(&key)
            } else {
                table.lookup(&key).map(|objects| Some((key, objects)))
            };
            begun = true;
            match step {
                Ok(Some((key, objects))) => (at, batch) = (Some(key), objects.into_iter()),
                Ok(None) => return None,
                Err(e) => return Some(Err(e)),
            }
        }
    })
}

pub(super) fn is_word(term: &Term, word: &str) -> bool {
    matches!(term, Term::Atom(atom) if atom.as_str() == word)
}

/// Runs `lookup [TABLE] KEY`.
pub(crate) fn lookup(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, key) = session.table_and_one(args, "lookup [TABLE] KEY")?;
    let objects = table.lookup(&key)?;
    session.show_objects(objects)
}

/// Runs `lookup_many [TABLE] [KEY, ...]`.
pub(crate) fn lookup_many(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "lookup_many [TABLE] [KEY, ...]";
    let keys = session.last_list(&mut args, USAGE)?;
    let table = session.table_alone(args, USAGE)?;
    session.show_objects(table.lookup_many(&keys)?.concat())
}

/// Runs `lookup_by [TABLE] NAME VALUE`.
pub(crate) fn lookup_by(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "lookup_by [TABLE] NAME VALUE";
    let value = session.last(&mut args, USAGE)?;
    let (table, name) = session.table_and_secondary(args, USAGE)?;
    let objects = table.lookup_by(name.as_str(), &value)?;
    session.show_objects(objects)
}

/// Runs `member [TABLE] KEY`.
pub(crate) fn member(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, key) = session.table_and_one(args, "member [TABLE] KEY")?;
    session.display().line(table.member(&key)?)
}

/// Runs `first [TABLE]`.
pub(crate) fn first(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let table = session.table_alone(args, "first [TABLE]")?;
    session.show_key(table.first()?)
}

/// Runs `last [TABLE]`.
pub(crate) fn last(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let table = session.table_alone(args, "last [TABLE]")?;
    session.show_key(table.last()?)
}

/// Runs `next [TABLE] KEY`.
pub(crate) fn next(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, key) = session.table_and_one(args, "next [TABLE] KEY")?;
    session.show_key(table.next(&key)?)
}

/// Runs `prev [TABLE] KEY`.
pub(crate) fn prev(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, key) = session.table_and_one(args, "prev [TABLE] KEY")?;
    session.show_key(table.prev(&key)?)
}
