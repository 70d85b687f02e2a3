//! Commands that change a table.

use fyris::SecondaryIndex;
use fyris_term::Term;

use crate::shell::error::ShellError;
use crate::shell::names::{place, unknown};
use crate::shell::session::Session;

/// Runs `insert [TABLE] OBJECT ...`.
pub(crate) fn insert(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, objects) = session.table_and_objects(args, "insert [TABLE] OBJECT ...")?;
    let count = objects.len();
    table.insert_list(&objects)?;
    session.display().done(format!("true ({count} inserted)"))
}

/// Runs `insert_new [TABLE] OBJECT ...`.
pub(crate) fn insert_new(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, objects) = session.table_and_objects(args, "insert_new [TABLE] OBJECT ...")?;
    let done = table.insert_new_list(&objects)?;
    session.display().done(done)
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
    table.add_secondary(&SecondaryIndex::new(name.as_str(), value))?;
    session.display().done("true")
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
            let place = place(columns, name.as_str());
            let place = place.ok_or_else(|| ShellError::other(unknown(columns, name.as_str())))?;
            let place = Term::Int(place as i64 + 1);
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
