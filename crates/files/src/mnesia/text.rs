//! The dumps of `mnesia:dump_to_textfile`: the tables, then their objects, each a term with a full stop. They are in
//! Latin-1, as Mnesia writes and reads them whatever the encoding of the system: a byte is a character.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

use fyris_term::text::parse_prefix;
use fyris_term::{Atom, Term};

use super::log::{is, list};
use super::schema::{atom, property, table_type};
use super::{Change, Form, Mnesia, MnesiaTable, MnesiaType, Step, Storage, Visit};
use crate::FileError;
use crate::source::Source;

/// The most bytes of one term.
const MAX_TERM: usize = 64 << 20;
/// The most lines within one term that end with a full stop: each is a try to read it.
const MAX_TRIES: usize = 100;

/// Opens a dump and reads its tables.
pub(super) fn open(path: &Path) -> Result<Mnesia, FileError> {
    let foreign = |why: &str| FileError::foreign(path, why);
    let first = Terms::open(path)?.next().transpose()?;
    let definitions = match first.as_ref().and_then(Term::as_tuple) {
        Some([tag, definitions]) if is(tag, "tables") => list(definitions),
        _ => return Err(foreign("it is neither a backup nor a text dump of Mnesia")),
    };
    let mut tables: Vec<_> = definitions.iter().filter_map(table).collect();
    if tables.len() != definitions.len() {
        return Err(foreign(
            "the tables at its beginning are not as Mnesia writes them",
        ));
    }
    tables.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
    Ok(Mnesia {
        path: path.to_path_buf(),
        form: Form::Text,
        node: None,
        tables,
        wrong: Vec::new(),
    })
}

/// Reads `{Table, [{record_name, Name}, {attributes, Names}]}`. Mnesia does not write that it was a bag, or ordered,
/// and reads it if somebody has added `{type, Type}`.
fn table(definition: &Term) -> Option<MnesiaTable> {
    let [Term::Atom(name), properties] = definition.as_tuple()? else {
        return None;
    };
    let attributes = list(property(properties, "attributes")?);
    Some(MnesiaTable {
        name: *name,
        table_type: property(properties, "type").map_or(Some(MnesiaType::Set), table_type)?,
        storage: Storage::RamCopies,
        record_name: property(properties, "record_name")
            .and_then(atom)
            .unwrap_or(*name),
        attributes: attributes.iter().map(atom).collect::<Option<Vec<Atom>>>()?,
        indexes: Vec::new(),
        elsewhere: Vec::new(),
    })
}

/// Gives the objects. Those of a table that is no bag whose keys have been there before are told: that the table was a
/// bag may not have been written.
pub(super) fn replay(mnesia: &Mnesia, visit: Visit<'_>) -> ControlFlow<()> {
    let terms = match Terms::open(&mnesia.path) {
        Ok(terms) => terms,
        Err(error) => return visit(Step::Wrong(error)),
    };
    let mut keys = HashSet::new();
    for term in terms.skip(1) {
        let step = match term {
            Ok(Term::Tuple(mut parts)) if parts.len() > 2 => match mnesia.find(&parts[0]) {
                Some(at) => {
                    let table = &mnesia.tables[at];
                    if table.table_type != MnesiaType::Bag && !keys.insert((at, parts[1].clone())) {
                        visit(Step::Wrong(replaces(&mnesia.path, &parts)))?;
                    }
                    parts[0] = Term::Atom(table.record_name);
                    Step::Change(at, Change::Write(Term::Tuple(parts)))
                }
                None => left_out(&mnesia.path, &Term::Tuple(parts)),
            },
            Ok(term) => left_out(&mnesia.path, &term),
            Err(error) => Step::Wrong(error),
        };
        visit(step)?;
    }
    ControlFlow::Continue(())
}

fn replaces(path: &Path, parts: &[Term]) -> FileError {
    let (table, key) = (&parts[0], parts[1].brief(60));
    let why = format!(
        "there are several objects of {table} with the key {key}, so each replaces the one before it: if it was a bag, \
         add {{type,bag}} to its definition"
    );
    FileError::foreign(path, why)
}

fn left_out(path: &Path, term: &Term) -> Step {
    let why = format!(
        "{} is no object of a table, and is left out",
        term.brief(60)
    );
    Step::Wrong(FileError::foreign(path, why))
}

/// The terms of a file.
struct Terms {
    path: std::path::PathBuf,
    lines: BufReader<File>,
    offset: u64,
    ended: bool,
}

impl Terms {
    fn open(path: &Path) -> Result<Terms, FileError> {
        let source = Source::open(path)?;
        Ok(Terms {
            path: path.to_path_buf(),
            lines: BufReader::new(source.into_file()),
            offset: 0,
            ended: false,
        })
    }

    /// Returns the bytes up to a line that ends with a full stop; none at the end of the file.
    fn statement(&mut self, statement: &mut Vec<u8>) -> Result<bool, FileError> {
        let from = statement.len();
        loop {
            let most = (MAX_TERM - statement.len().min(MAX_TERM)) as u64;
            let mut line = std::io::Read::take(&mut self.lines, most);
            let read = line.read_until(b'\n', statement);
            match read.map_err(|source| FileError::read(&self.path, source))? {
                0 if most == 0 => {
                    self.ended = true;
                    return Err(FileError::damage(
                        &self.path,
                        self.offset,
                        "this term has more than 64 MiB",
                    ));
                }
                0 => return Ok(statement.len() > from),
                _ if statement.trim_ascii_end().ends_with(b".") => return Ok(true),
                _ => {}
            }
        }
    }
}

impl Iterator for Terms {
    type Item = Result<Term, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut statement = Vec::new();
        let mut tries = 0;
        while !self.ended {
            match self.statement(&mut statement) {
                Ok(more) => self.ended = !more,
                Err(error) => return Some(Err(error)),
            }
            let offset = self.offset;
            let text: String = statement.iter().copied().map(char::from).collect();
            let wrong = match parse_prefix(&text) {
                Ok((term, end)) if text[end..].trim() == "." => {
                    self.offset += statement.len() as u64;
                    return Some(Ok(term));
                }
                Ok(_) => "this is no term with a full stop".to_owned(),
                // The stop at the end of the line was within a term.
                Err(error) if error.is_incomplete() && !self.ended && tries < MAX_TRIES => {
                    tries += 1;
                    continue;
                }
                Err(_) if text.trim().is_empty() => return None,
                Err(error) => error.to_string(),
            };
            self.offset += statement.len() as u64;
            let why = format!("{wrong}; what is before byte {} is left out", self.offset);
            return Some(Err(FileError::damage(&self.path, offset, why)));
        }
        None
    }
}
