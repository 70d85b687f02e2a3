//! `load`: a table from CSV or JSON.

use std::path::{Path, PathBuf};

use fyris::Table;
use fyris_term::{Atom, Term};
use tempfile::NamedTempFile;

use super::files::{atom, file_of};
use super::options::Given;
use crate::shell::data::csv_file::CsvFile;
use crate::shell::data::json_lines::JsonLines;
use crate::shell::data::readings::Types;
use crate::shell::data::rows::{RowSource, Schema, Ticker};
use crate::shell::error::ShellError;
use crate::shell::screen::display;
use crate::shell::session::{self, Session, name_of};

/// Rows inserted in one step.
const CHUNK: usize = 256;

const LOAD: &str = "load FILE|- key COLUMN [as NAME] [type TYPE] [format csv|json] [delimiter C] [header yes|no] \
     [as KIND,... | as COLUMN:KIND,... | terms]";

/// Runs `load FILE|- key COLUMN ...`.
pub(crate) fn load(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    let (table, schema) = from_file(session, words)?;
    loaded(session, &table, schema)
}

/// Takes a table that was loaded in use, says so, and notes the names of the columns.
fn loaded(session: &mut Session, table: &Table, schema: Schema) -> Result<(), ShellError> {
    session.take(table);
    report(session, table, &schema)?;
    let table = name_of(table);
    let atoms = schema.readings.with_atoms(&schema.names);
    session.columns_mut().set(&table, schema.names, atoms);
    Ok(())
}

/// Runs `import FILE [NAME] [key COLUMN]`.
pub(crate) fn import(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    const USAGE: &str = "import FILE [NAME] [key COLUMN]";
    let (file, name, key) = match words {
        [file] => (file, None, None),
        [file, name] => (file, Some(name), None),
        [file, word, key] if word == "key" => (file, None, Some(key)),
        [file, name, word, key] if word == "key" => (file, Some(name), Some(key)),
        _ => {
            let option = words.iter().find(|word| word.starts_with("--"));
            let problem = match option {
                Some(option) => format!("`{option}`: the ending of the file says what is in it"),
                None => "a file is needed, and then at most its table and key".to_owned(),
            };
            return Err(Session::usage(problem, USAGE));
        }
    };
    import_file(session, Path::new(file), name, key)
}

/// Loads a file whose key is its first column, unless another one is named.
pub(crate) fn import_file(
    session: &mut Session,
    path: &Path,
    name: Option<&String>,
    key: Option<&String>,
) -> Result<(), ShellError> {
    let key = match key {
        Some(key) => key.clone(),
        None => first_column(path)?,
    };
    let mut options = vec!["key".to_owned(), key.clone()];
    options.extend(
        name.iter()
            .flat_map(|&name| ["as".to_owned(), name.clone()]),
    );
    let (table, schema) = from_path(session, path.to_owned(), &options)?;
    if (table.len() as u64) < schema.rows {
        table.delete()?;
        return Err(ShellError::Data {
            path: path.to_owned(),
            place: format!("column {key:?}"),
            problem: "several rows have the same value there, so it is no key: `key COLUMN` says which is, and \
                      `load FILE key COLUMN type duplicate_bag` keeps rows with the same key"
                .to_owned(),
        });
    }
    loaded(session, &table, schema)
}

/// Returns the name of the first column of a file.
fn first_column(path: &Path) -> Result<String, ShellError> {
    let given = Given::new(&[], &[], &[], LOAD)?;
    let schema = source_of(path, &given)?.schema(&mut Ticker::new("reading columns", path))?;
    let first = schema.names.into_iter().next();
    first.ok_or_else(|| ShellError::Data {
        path: path.to_owned(),
        place: "line 1".to_owned(),
        problem: "the file has no columns".to_owned(),
    })
}

/// Returns whether a file is one of rows, by its ending.
pub(crate) fn has_rows(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let ending = ending.map(str::to_ascii_lowercase);
    matches!(
        ending.as_deref(),
        Some("csv" | "tsv" | "jsonl" | "ndjson" | "json")
    )
}

/// Makes a table of the rows of a file.
pub(super) fn from_file(
    session: &mut Session,
    words: &[String],
) -> Result<(Table, Schema), ShellError> {
    let (path, rest) = file_of(words, LOAD)?;
    from_path(session, path, rest)
}

fn from_path(
    session: &mut Session,
    path: PathBuf,
    rest: &[String],
) -> Result<(Table, Schema), ShellError> {
    let with_value = ["key", "as", "type", "format", "delimiter", "header"];
    let given = Given::new(rest, &with_value, &["terms"], LOAD)?;
    // A file is read twice, standard input can be read once.
    let copy = if path.as_os_str() == "-" {
        Some(copy_of_input()?)
    } else {
        None
    };
    let path = copy.as_ref().map_or(path, |copy| copy.path().to_owned());
    let source = source_of(&path, &given)?;
    let mut schema = source.schema(&mut Ticker::new("reading columns", &path))?;
    let key = key_position(&mut schema, given.get("key"), &path)?;
    schema.readings = types_of(&given, LOAD)?.of(&schema.names)?;
    let name = match (given.all("as").find(|name| !Types::are_in(name)), &copy) {
        (Some(name), _) => atom(name)?,
        (None, Some(_)) => atom("stdin")?,
        (None, None) => name_from(&path)?,
    };
    let kind = Term::Atom(atom(given.get("type").unwrap_or("ordered_set"))?);
    let table = create(session, name, kind, key)?;
    let mut ticker = Ticker::new("loading", &path);
    match fill(&table, source.as_ref(), &schema, &mut ticker) {
        Ok(()) => Ok((table, schema)),
        Err(e) => {
            table.delete()?;
            Err(e)
        }
    }
}

/// Returns the types of the columns that the options give.
pub(super) fn types_of(given: &Given<'_>, usage: &'static str) -> Result<Types, ShellError> {
    let mut types = given.all("as").filter(|text| Types::are_in(text));
    match (given.has("terms"), types.next(), types.next()) {
        (false, None, _) => Ok(Types::Auto),
        (true, None, _) => Ok(Types::Terms),
        (false, Some(list), None) => Ok(Types::List(list.to_owned())),
        _ => Err(Session::usage("the columns are given types twice", usage)),
    }
}

/// Makes the table.
fn create(session: &mut Session, name: Atom, kind: Term, key: usize) -> Result<Table, ShellError> {
    let keypos = Term::tuple(vec![Term::atom("keypos"), Term::Int(key as i64)]);
    let options = vec![
        kind,
        Term::atom("named_table"),
        Term::atom("public"),
        keypos,
    ];
    session.make(name, &session::options(options)?)
}

/// Copies standard input to a file that is gone when it is dropped.
fn copy_of_input() -> Result<NamedTempFile, ShellError> {
    let failed = |source| ShellError::Io {
        path: PathBuf::from("-"),
        source,
    };
    let mut file = NamedTempFile::new().map_err(failed)?;
    std::io::copy(&mut std::io::stdin().lock(), &mut file).map_err(failed)?;
    Ok(file)
}

/// Fills `table` with the rows of `source`, a chunk at a time.
fn fill(
    table: &Table,
    source: &dyn RowSource,
    schema: &Schema,
    ticker: &mut Ticker,
) -> Result<(), ShellError> {
    let mut chunk = Vec::with_capacity(CHUNK);
    source.rows(schema, ticker, &mut |mut row| {
        while row.len() < table.keypos() {
            row.push(Term::atom("undefined"));
        }
        chunk.push(Term::tuple(row));
        if chunk.len() == CHUNK {
            table.insert_many(std::mem::take(&mut chunk))?;
        }
        Ok(())
    })?;
    table.insert_many(chunk)?;
    Ok(())
}

fn report(session: &Session, table: &Table, schema: &Schema) -> Result<(), ShellError> {
    let objects = table.len() as u64;
    let show = session.display();
    show.note(format!(
        "{}; columns {}",
        display::objects(objects),
        schema.describe()
    ))?;
    let is_number = |name: &String| name.parse::<f64>().is_ok_and(f64::is_finite);
    if schema.types.iter().all(Option::is_some) && schema.names.iter().all(is_number) {
        let names = schema.names.join(", ");
        show.warn(&format!(
            "the columns are called {names}: if that is a row, `load FILE key c1 header no` reads it as one"
        ));
    }
    if objects < schema.rows {
        let lost = schema.rows - objects;
        show.note(format!(
            "{lost} of {} rows had the key of a later row and were replaced by it",
            schema.rows
        ))?;
    }
    if table.member(&Term::atom("undefined"))? {
        show.note(format!(
            "some rows have no {:?}: their key is `undefined`",
            schema.names[table.keypos() - 1]
        ))?;
    }
    Ok(())
}

/// Returns the reader of a file: by its ending, or by the values of `format`, `delimiter` and `header`.
fn source_of(path: &Path, given: &Given<'_>) -> Result<Box<dyn RowSource>, ShellError> {
    let ending = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or("")
        .to_ascii_lowercase();
    let [format, delimiter, header] = ["format", "delimiter", "header"].map(|word| given.get(word));
    let of_csv = delimiter.or(header).map(|_| "csv");
    match format.or(of_csv).unwrap_or(&ending) {
        "csv" | "tsv" => {
            let delimiter = delimiter.map(delimiter_of).transpose()?;
            let header = match header {
                None | Some("yes") => true,
                Some("no") => false,
                Some(other) => {
                    let problem = format!("`header {other}`: it is yes or no");
                    return Err(Session::usage(problem, LOAD));
                }
            };
            Ok(Box::new(CsvFile::new(path, delimiter, header)))
        }
        "jsonl" | "ndjson" | "json" if of_csv.is_none() => Ok(Box::new(JsonLines::new(path))),
        "jsonl" | "ndjson" | "json" => {
            let problem = "JSON has neither a delimiter nor a header";
            Err(Session::usage(problem, LOAD))
        }
        _ if format.is_some() => {
            let problem = "there is no such format: csv and json are read";
            Err(Session::usage(problem, LOAD))
        }
        _ => Err(Session::usage(
            format!(
                "{} ends in none of .csv .tsv .jsonl .ndjson .json, and no `format` is given (a dump is opened by \
                 `open`)",
                path.display()
            ),
            LOAD,
        )),
    }
}

/// Returns the byte between fields: one character of ASCII, or `tab`.
fn delimiter_of(text: &str) -> Result<u8, ShellError> {
    match text.as_bytes() {
        b"tab" => Ok(b'\t'),
        &[byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(byte),
        _ => Err(Session::usage(
            format!("`delimiter {text}`: it is one ASCII character, or `tab`"),
            LOAD,
        )),
    }
}

/// Returns the position of the column of this name. Of JSON with no object in it, the key is the one column.
fn key_position(schema: &mut Schema, key: Option<&str>, path: &Path) -> Result<usize, ShellError> {
    if let Some(key) = key
        && schema.is_blank
    {
        (schema.names, schema.types) = (vec![key.to_owned()], vec![None]);
    }
    let schema = &*schema;
    let columns = || schema.names.join(", ");
    let Some(key) = key else {
        return Err(Session::usage(
            format!("which column is the key? There are: {}", columns()),
            LOAD,
        ));
    };
    let wrong = |problem| ShellError::Data {
        path: path.to_owned(),
        place: format!("column {key:?}"),
        problem,
    };
    let mut positions = schema.positions(key);
    match (positions.next(), positions.next()) {
        (Some(position), None) => Ok(position),
        (Some(_), Some(_)) => Err(wrong("several columns have this name".into())),
        (None, _) if schema.names.is_empty() => Err(wrong("the file has no columns".into())),
        (None, _) => Err(wrong(format!("not there; the columns are: {}", columns()))),
    }
}

fn name_from(path: &Path) -> Result<Atom, ShellError> {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("table");
    atom(stem)
}
