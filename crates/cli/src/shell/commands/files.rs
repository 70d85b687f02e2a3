//! Commands about dumps.

use std::path::{Path, PathBuf};

use fyris::import::{Format, format};
use fyris::{InfoValue, Table};
use fyris_term::{Atom, Term};

use super::load;
use super::options::Given;
use crate::shell::error::ShellError;
use crate::shell::session::Session;

const OPEN: &str = "open FILE [as NAME]";
const SAVE: &str = "save [TABLE] FILE";

/// Runs `open FILE [as NAME]`.
pub(crate) fn open(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    let (file, rest) = file_of(words, OPEN)?;
    let given = Given::new(rest, &["as"], &[], OPEN)?;
    session.open(&file, given.get("as").map(atom).transpose()?)
}

/// Runs `describe FILE`.
pub(crate) fn describe(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    const USAGE: &str = "describe FILE";
    let (file, rest) = file_of(words, USAGE)?;
    Given::new(rest, &[], &[], USAGE)?;
    let header = fyris::dump::tabfile_info(&file).map_err(|e| ShellError::from_dump(&file, e))?;
    session.display().term(&header.to_term())
}

/// Runs `save [TABLE] FILE`.
pub(crate) fn save(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    let (table, file) = match words {
        [file] => (session.table(None)?, file),
        [table, file] => (session.named(&Term::Atom(atom(table)?))?, file),
        [] => return Err(Session::usage("a file is needed", SAVE)),
        _ => {
            let problem = "too many words: quote a name with spaces";
            return Err(Session::usage(problem, SAVE));
        }
    };
    let path = Path::new(file);
    check_place(path)?;
    session.save(&table, path)?;
    tell_indexes(session, &table)?;
    session.saved(&table)
}

/// Refuses a place where a dump would be taken for something else, or would be put in its place.
fn check_place(path: &Path) -> Result<(), ShellError> {
    let has_content = path
        .metadata()
        .is_ok_and(|meta| meta.is_file() && meta.len() > 0);
    let is_other = has_content && !matches!(format(path), Ok(Some(Format::Dump)));
    if is_other || load::has_rows(path) {
        let path = path.display();
        let problem = match is_other {
            true => {
                format!("{path} is there, and is no dump of a table: `save` replaces nothing else")
            }
            false => format!("`save` writes dumps, and {path} is named as a file of rows"),
        };
        return Err(ShellError::other(format!(
            "{problem}; `export` writes rows"
        )));
    }
    Ok(())
}

/// Says which secondary indexes of a table that was saved are not in its file.
fn tell_indexes(session: &Session, table: &Table) -> Result<(), ShellError> {
    let Some(InfoValue::Term(Term::List(indexes))) = table.info_item("secondary")? else {
        return Ok(());
    };
    let names = indexes.iter().filter_map(|index| index.as_tuple()?.first());
    let names: Vec<String> = names.map(Term::to_string).collect();
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(", ");
    let note = format!("secondary indexes are not in the file: {names}");
    session.display().note(note)
}

/// Returns a name.
pub(super) fn atom(name: &str) -> Result<Atom, ShellError> {
    Atom::new(name).map_err(|e| ShellError::other(e.to_string()))
}

/// Returns the file that comes first, and the words behind it.
pub(super) fn file_of<'w>(
    words: &'w [String],
    usage: &'static str,
) -> Result<(PathBuf, &'w [String]), ShellError> {
    let (file, rest) = words
        .split_first()
        .ok_or_else(|| Session::usage("a file is needed", usage))?;
    Ok((PathBuf::from(file), rest))
}
