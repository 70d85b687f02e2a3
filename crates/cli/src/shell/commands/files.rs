//! Commands about files: dumps, CSV, JSON lines.

use std::path::{Path, PathBuf};

use fyris::Table;
use fyris_term::{Atom, Term};
use tempfile::NamedTempFile;

use crate::shell::data::csv_file::CsvFile;
use crate::shell::data::json_lines::JsonLines;
use crate::shell::data::readings::Readings;
use crate::shell::data::rows::{RowSource, Schema, Ticker};
use crate::shell::error::ShellError;
use crate::shell::screen::display;
use crate::shell::session::{self, Session, name_of};

/// Rows inserted in one step while loading.
const CHUNK: usize = 256;

const OPEN: &str = "open FILE [as NAME]";
const SAVE: &str = "save [TABLE] FILE";
const LOAD: &str = "load FILE|- key COLUMN [as NAME] [type TYPE] [format csv|json] [delimiter C] [header yes|no] \
     [atoms COLUMN,...] [terms COLUMN,...]";

/// Runs `open FILE [as NAME]`.
pub(crate) fn open(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    let (file, rest) = file_of(words, OPEN)?;
    let given = options(rest, &["as"], OPEN)?;
    session.open(&file, given[0].map(atom).transpose()?)
}

/// Runs `describe FILE`.
pub(crate) fn describe(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    const USAGE: &str = "describe FILE";
    let (file, rest) = file_of(words, USAGE)?;
    options(rest, &[], USAGE)?;
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
    session.save(&table, Path::new(file))
}

/// Runs `load FILE|- key COLUMN ...`.
pub(crate) fn load(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    let (path, rest) = file_of(words, LOAD)?;
    let known = [
        "key",
        "as",
        "type",
        "format",
        "delimiter",
        "header",
        "atoms",
        "terms",
    ];
    let given = options(rest, &known, LOAD)?;
    // A file is read twice, standard input can be read once.
    let copy = if path.as_os_str() == "-" {
        Some(copy_of_input()?)
    } else {
        None
    };
    let path = copy.as_ref().map_or(path, |copy| copy.path().to_owned());
    let source = source_of(&path, &given[3..])?;
    let schema = source.schema(&mut Ticker::new("reading columns", &path))?;
    let readings = Readings::new(&schema, given[6], given[7])?;
    let key = key_position(&schema, given[0], &path)?;
    let name = match (given[1], &copy) {
        (Some(name), _) => atom(name)?,
        (None, Some(_)) => atom("stdin")?,
        (None, None) => name_from(&path)?,
    };
    let kind = Term::Atom(atom(given[2].unwrap_or("ordered_set"))?);
    let keypos = Term::tuple(vec![Term::atom("keypos"), Term::Int(key as i64)]);
    let options = session::options(vec![
        kind,
        Term::atom("named_table"),
        Term::atom("public"),
        keypos,
    ])?;
    let table = session.create(name, &options)?;
    let filled = fill(
        &table,
        source.as_ref(),
        &schema,
        &readings,
        &mut Ticker::new("loading", &path),
    );
    if let Err(e) = filled {
        table.delete()?;
        session.forget_missing();
        return Err(e);
    }
    report(session, &table, &schema, key)?;
    let table = name_of(&table);
    let read_anew = readings.names().map(str::to_owned).collect();
    session.columns_mut().set(&table, schema.names, read_anew);
    Ok(())
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
    readings: &Readings,
    ticker: &mut Ticker,
) -> Result<(), ShellError> {
    let mut chunk = Vec::with_capacity(CHUNK);
    source.rows(schema, ticker, &mut |mut row| {
        readings.apply(&mut row)?;
        chunk.push(Term::tuple(row));
        if chunk.len() == CHUNK {
            table.insert_many(std::mem::take(&mut chunk))?;
        }
        Ok(())
    })?;
    table.insert_many(chunk)?;
    Ok(())
}

fn report(session: &Session, table: &Table, schema: &Schema, key: usize) -> Result<(), ShellError> {
    let objects = table.len() as u64;
    let show = session.display();
    show.note(format!(
        "{}; columns {}",
        display::objects(objects),
        schema.describe()
    ))?;
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
            schema.names[key - 1]
        ))?;
    }
    Ok(())
}

/// Returns the reader of a file: by its ending, or by the values of `format`, `delimiter` and `header`.
fn source_of(path: &Path, given: &[Option<&str>]) -> Result<Box<dyn RowSource>, ShellError> {
    let ending = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or("")
        .to_ascii_lowercase();
    let [format, delimiter, header] = [given[0], given[1], given[2]];
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

fn key_position(schema: &Schema, key: Option<&str>, path: &Path) -> Result<usize, ShellError> {
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

fn atom(name: &str) -> Result<Atom, ShellError> {
    Atom::new(name).map_err(|e| ShellError::other(e.to_string()))
}

fn file_of<'w>(
    words: &'w [String],
    usage: &'static str,
) -> Result<(PathBuf, &'w [String]), ShellError> {
    let (file, rest) = words
        .split_first()
        .ok_or_else(|| Session::usage("a file is needed", usage))?;
    Ok((PathBuf::from(file), rest))
}

/// Returns the values of `WORD VALUE` pairs, in the order of `known`.
fn options<'w>(
    words: &'w [String],
    known: &[&str],
    usage: &'static str,
) -> Result<Vec<Option<&'w str>>, ShellError> {
    let mut values = vec![None; known.len()];
    for pair in words.chunks(2) {
        let place = known.iter().position(|k| *k == pair[0]);
        let (Some(place), Some(value)) = (place, pair.get(1)) else {
            return Err(Session::usage(
                format!("`{}` makes no sense here", pair.join(" ")),
                usage,
            ));
        };
        values[place] = Some(value.as_str());
    }
    Ok(values)
}
