//! Commands that change a table.

use fyris::{SecondaryIndex, Table};
use fyris_term::Term;

use crate::shell::error::ShellError;
use crate::shell::names::{is_value, listed, place, said, unknown};
use crate::shell::session::Session;

/// Runs `insert [TABLE] OBJECT ...`.
pub(crate) fn insert(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, objects) = session.table_and_objects(args, "insert [TABLE] OBJECT ...")?;
    warn_of_objects(session, &table, &objects);
    let count = objects.len();
    table.insert_list(&objects)?;
    session.display().done(format!("true ({count} inserted)"))
}

/// Runs `insert_new [TABLE] OBJECT ...`.
pub(crate) fn insert_new(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, objects) = session.table_and_objects(args, "insert_new [TABLE] OBJECT ...")?;
    warn_of_objects(session, &table, &objects);
    let done = table.insert_new_list(&objects)?;
    session.display().done(done)
}

/// Warns of the first object that does not have the columns of a table whose columns have names, or has something else
/// in one than what `load` puts there.
fn warn_of_objects(session: &Session, table: &Table, objects: &[Term]) {
    let named = Term::Atom(table.name());
    let columns = session.columns().of(Some(&named));
    let doubt = objects.iter().find_map(|object| {
        let elements = object.as_tuple()?;
        if elements.len() != columns.len() {
            let (object, count) = (object.brief(40), elements.len());
            let columns = listed(columns);
            return Some(format!(
                "`{object}` has {count} elements, and the columns are {columns}"
            ));
        }
        (0..)
            .zip(elements)
            .find_map(|(at, element)| doubt(session, &named, at, element))
    });
    if let Some(doubt) = doubt.filter(|_| !columns.is_empty()) {
        session.display().warn(&doubt);
    }
}

/// Warns of the first update, of one or a list of them, as [`warn_of_objects`] does of an object.
fn warn_of_updates(session: &Session, table: &Table, updates: &Term) {
    let named = Term::Atom(table.name());
    let updates = updates.as_list().unwrap_or(std::slice::from_ref(updates));
    let doubt = updates.iter().find_map(|update| match update.as_tuple()? {
        [Term::Int(position), value] => {
            let at = usize::try_from(position.checked_sub(1)?).ok()?;
            doubt(session, &named, at, value)
        }
        _ => None,
    });
    if let Some(doubt) = doubt {
        session.display().warn(&doubt);
    }
}

/// Returns what is odd about the value of a column, from 0: texts that were loaded are binaries.
fn doubt(session: &Session, table: &Term, at: usize, value: &Term) -> Option<String> {
    let columns = session.columns();
    let column = columns.of(Some(table)).get(at)?;
    let (text, kind) = match value {
        Term::Atom(name) if !is_value(name.as_str()) => {
            let may_be = columns.with_atoms(Some(table)).contains(column);
            (!may_be).then(|| (format!("{:?}", name.as_str()), "an atom"))?
        }
        Term::List(elements) if !elements.is_empty() => {
            let text = value.brief(40);
            text.starts_with('"')
                .then_some((text, "a list of characters"))?
        }
        _ => return None,
    };
    let (column, value) = (said(column), value.brief(40));
    Some(format!(
        "{column} gets `{value}`, {kind}: texts in columns are binaries, `<<{text}>>`"
    ))
}

/// Runs `delete [TABLE] KEY`.
pub(crate) fn delete(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, key) = session.table_and_one(args, "delete [TABLE] KEY")?;
    table.delete_key(&key)?;
    session.display().done("true")
}

/// Runs `delete_object [TABLE] OBJECT`.
pub(crate) fn delete_object(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, object) = session.table_and_one(args, "delete_object [TABLE] OBJECT")?;
    table.delete_object(&object)?;
    session.display().done("true")
}

/// Runs `delete_all TABLE`.
pub(crate) fn delete_all(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let [name] = session.exactly(args, "delete_all TABLE")?;
    session.named(&name)?.delete_all_objects()?;
    session.display().done("true")
}

/// Runs `add_secondary [TABLE] NAME VALUE`.
pub(crate) fn add_secondary(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "add_secondary [TABLE] NAME VALUE";
    let value = session.last(&mut args, USAGE)?;
    let (table, name) = session.table_and_secondary(args, USAGE)?;
    let columns = session.columns().of(Some(&Term::Atom(table.name())));
    let value = element_placed(columns, value)?;
    table.add_secondary(&SecondaryIndex::new(name.as_str(), value))?;
    session.display().done("true")
}

/// Returns what a secondary index is of, with the position of a column that is named in `{element, COLUMN}`.
fn element_placed(columns: &[String], value: Term) -> Result<Term, ShellError> {
    let (unique, element) = (Term::atom("unique"), Term::atom("element"));
    let inner = match value.as_tuple() {
        Some([what, inner]) if *what == unique => inner,
        _ => &value,
    };
    let placed = match inner.as_tuple() {
        Some([what, Term::Atom(name)]) if *what == element && !columns.is_empty() => {
            Term::tuple(vec![element, position(columns, name.as_str())?])
        }
        _ => return Ok(value),
    };
    let is_unique = !std::ptr::eq(inner, &value);
    Ok(match is_unique {
        true => Term::tuple(vec![unique, placed]),
        false => placed,
    })
}

/// Returns the position of a column, from 1.
fn position(columns: &[String], name: &str) -> Result<Term, ShellError> {
    let place = place(columns, name).ok_or_else(|| ShellError::other(unknown(columns, name)))?;
    Ok(Term::Int(place as i64 + 1))
}

/// Runs `remove_secondary [TABLE] NAME`.
pub(crate) fn remove_secondary(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "remove_secondary [TABLE] NAME";
    let (table, name) = session.table_and_secondary(args, USAGE)?;
    table.remove_secondary(name.as_str())?;
    session.display().done("true")
}

/// Runs `take [TABLE] KEY`.
pub(crate) fn take(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, key) = session.table_and_one(args, "take [TABLE] KEY")?;
    let objects = table.take(&key)?;
    session.show_objects(objects)
}

/// Runs `update_element [TABLE] KEY {POS, VALUE}`, where POS may be the name of a column.
pub(crate) fn update_element(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "update_element [TABLE] KEY {POS, VALUE}";
    let updates = session.last(&mut args, USAGE)?;
    let updates = placed(session, &args, updates)?;
    let (table, key) = session.table_and_one(args, USAGE)?;
    warn_of_updates(session, &table, &updates);
    let found = table.update_element_term(&key, &updates, None)?;
    session.display().line(found)
}

/// Runs `put_in [TABLE] KEY PATH VALUE`.
pub(crate) fn put_in(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "put_in [TABLE] KEY PATH VALUE";
    let value = session.last(&mut args, USAGE)?;
    let path = session.last_list(&mut args, USAGE)?;
    let (table, key) = session.table_and_one(args, USAGE)?;
    session.display().line(table.put_in(&key, &path, &value)?)
}

/// Runs `delete_in [TABLE] KEY PATH`.
pub(crate) fn delete_in(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "delete_in [TABLE] KEY PATH";
    let path = session.last_list(&mut args, USAGE)?;
    let (table, key) = session.table_and_one(args, USAGE)?;
    match table.delete_in(&key, &path)? {
        Some(part) => session.display().term(&part),
        None => session.display().line("nothing there"),
    }
}

/// Runs `take_many [TABLE] [KEY, ...]`.
pub(crate) fn take_many(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "take_many [TABLE] [KEY, ...]";
    let keys = session.last_list(&mut args, USAGE)?;
    let table = session.table_alone(args, USAGE)?;
    session.show_objects(table.take_many(&keys)?.concat())
}

/// Runs `update_counter [TABLE] KEY INCR [DEFAULT]`.
pub(crate) fn update_counter(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "update_counter [TABLE] KEY INCR [DEFAULT]";
    let default = match &args[..] {
        [_, _, _, _] => args.pop(),
        // A default is an object. With three arguments the first may be a key, unless a table has that name.
        [
            first,
            Term::Int(_) | Term::Tuple(_) | Term::List(_),
            Term::Tuple(_),
        ] if session.named(first).is_err() => args.pop(),
        _ => None,
    };
    let incr = session.last(&mut args, USAGE)?;
    let incr = placed(session, &args, incr)?;
    let (table, key) = session.table_and_one(args, USAGE)?;
    let result = table.update_counter_term(&key, &incr, default.as_ref())?;
    session.display().term(&result)
}

/// Returns an update, or a list of them, with the positions of the columns that are named. The arguments before it are
/// `[TABLE] KEY`.
fn placed(session: &Session, before: &[Term], update: Term) -> Result<Term, ShellError> {
    let table = match before {
        [table, _] => Some(table),
        _ => None,
    };
    let columns = session.columns().of(table);
    let place = |update: Term| match update.as_tuple() {
        Some([Term::Atom(name), rest @ ..]) if !columns.is_empty() => {
            let place = position(columns, name.as_str())?;
            let parts = std::iter::once(place).chain(rest.iter().cloned());
            Ok(Term::Tuple(parts.collect()))
        }
        _ => Ok(update),
    };
    match update {
        Term::List(updates) => {
            let placed = updates.into_vec().into_iter().map(place);
            Ok(Term::List(placed.collect::<Result<_, ShellError>>()?))
        }
        update => place(update),
    }
}

/// Runs `cas [TABLE] OLD NEW`.
pub(crate) fn cas(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    const USAGE: &str = "cas [TABLE] OLD NEW";
    let new = session.last(&mut args, USAGE)?;
    let (table, old) = session.table_and_one(args, USAGE)?;
    let done = table.compare_and_swap(&old, &new)?;
    session.display().done(done)
}
