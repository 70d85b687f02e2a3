//! `export`: a table as CSV or JSON lines.
//!
//! What has been written is read back before the file takes its name: a value that `load` would make another one of is
//! an error, unless the command says `lossy`.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use fyris::Table;
use fyris::dump::NewFile;
use fyris_term::Term;
use tempfile::NamedTempFile;

use super::files::atom;
use super::load::types_of;
use super::options::{Given, quoted};
use crate::shell::data::check::Changes;
use crate::shell::data::kinds::Kinds;
use crate::shell::data::readings::Types;
use crate::shell::data::writer::{RowForm, RowWriter};
use crate::shell::error::ShellError;
use crate::shell::interrupt;
use crate::shell::screen::display::{self, Display};
use crate::shell::screen::format::Format;
use crate::shell::screen::progress::Progress;
use crate::shell::session::Session;

const EXPORT: &str = "export [TABLE] FILE|- [format csv|json] [columns NAME,...] \
     [as KIND,... | as COLUMN:KIND,... | terms] [lossy]";

/// Options that have a value, and those that stand alone.
const OPTIONS: ([&str; 3], [&str; 2]) = (["format", "columns", "as"], ["terms", "lossy"]);

/// Objects between two looks at Ctrl-C and the progress bar.
const BREATH: u64 = 512;

/// Runs `export [TABLE] FILE|- ...`.
pub(crate) fn export(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    let is_option = |word: &String| {
        let (with_value, alone) = OPTIONS;
        with_value.contains(&word.as_str()) || alone.contains(&word.as_str())
    };
    let first_option = words.iter().skip(1).position(is_option);
    let (places, rest) = words.split_at(first_option.map_or(words.len(), |at| at + 1));
    let (name, file) = match places {
        [file] => (None, file),
        [table, file] => (Some(Term::Atom(atom(table)?)), file),
        [] => return Err(Session::usage("a file is needed", EXPORT)),
        _ => {
            return Err(Session::usage(
                "too many words: quote a name with spaces",
                EXPORT,
            ));
        }
    };
    let given = Given::new(rest, &OPTIONS.0, &OPTIONS.1, EXPORT)?;
    let named = given.get("columns").map(|names| {
        let names = names.split(',').map(|name| name.trim().to_owned());
        names.collect()
    });
    let options = ExportOptions {
        format: format_of(Path::new(file), given.get("format"))?,
        types: types_of(&given, EXPORT)?,
        lossy: given.has("lossy"),
    };
    let known = session.columns().of(name.as_ref()).to_vec();
    let export = Export::new(
        session.table(name.as_ref())?,
        options,
        Chosen::new(known, named)?,
    )?;
    let said = match file.as_str() {
        "-" => export.to_output(session.display())?,
        file => {
            let said = export.to_file(Path::new(file))?;
            if !export.options.lossy && export.is_whole() {
                session.saved(&export.table)?;
            }
            said
        }
    };
    said.map_or(Ok(()), |said| session.display().note(said))
}

/// Runs `dump [TABLE]`.
pub(crate) fn dump(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    let all = ["-", "format", "csv", "terms"].map(str::to_owned);
    match words {
        [] | [_] => export(session, &[words, &all].concat()),
        _ => Err(Session::usage("one table at a time", "dump [TABLE]")),
    }
}

/// Returns the format that is named, or that of the file's ending.
fn format_of(path: &Path, named: Option<&str>) -> Result<Format, ShellError> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match named.or(ending) {
        Some("csv") => Ok(Format::Csv),
        Some("json" | "jsonl" | "ndjson") => Ok(Format::Json),
        _ if path.as_os_str() == "-" => Err(Session::usage(
            "standard output needs a format: `export - format csv` or `json`",
            EXPORT,
        )),
        _ => Err(Session::usage(
            "the file ends in none of .csv .jsonl .ndjson .json, and no `format csv|json` is given",
            EXPORT,
        )),
    }
}

/// The columns of an export.
pub(super) struct Chosen {
    names: Vec<String>,
    /// The elements that these are; `None` if they are all of an object.
    places: Option<Vec<usize>>,
    /// Whether an object may have more elements.
    open: bool,
}

impl Chosen {
    /// Returns the columns that the command names, of those that the table was loaded with, or all of these. As many
    /// names as columns, if one of them is new, rename the columns.
    pub(super) fn new(
        known: Vec<String>,
        named: Option<Vec<String>>,
    ) -> Result<Chosen, ShellError> {
        let Some(names) = named else {
            return Ok(Chosen {
                names: known,
                places: None,
                open: true,
            });
        };
        let place = |name: &String| known.iter().position(|known| known == name);
        let places = names.iter().map(place).collect();
        let renames = known.is_empty() || known.len() == names.len();
        match names.iter().find(|name| place(name).is_none()) {
            Some(name) if !renames => Err(ShellError::other(format!(
                "no column {name}: the columns are {}",
                known.join(", ")
            ))),
            _ => Ok(Chosen {
                names,
                places,
                open: false,
            }),
        }
    }

    /// Adds names for the elements that a table's objects have: `c1`, `c2` and so on, as `load` names columns without a
    /// header.
    fn name_all(&mut self, table: &Table) -> Result<(), ShellError> {
        if !self.open {
            return Ok(());
        }
        let mut most = if table.is_empty() { table.keypos() } else { 0 };
        for object in table.iter() {
            most = most.max(object?.as_tuple().map_or(1, <[Term]>::len));
        }
        let more = self.names.len() + 1..=most;
        self.names.extend(more.map(|i| format!("c{i}")));
        Ok(())
    }

    /// Returns the chosen elements of an object.
    fn of(&self, object: Term) -> Vec<Term> {
        let elements = match object {
            Term::Tuple(elements) => elements.into_vec(),
            other => vec![other],
        };
        match &self.places {
            Some(places) => (places.iter())
                .filter_map(|&at| elements.get(at).cloned())
                .collect(),
            None => elements,
        }
    }

    /// Returns the name of the column of an element, from 1.
    fn name_of(&self, element: usize) -> Option<&String> {
        let place = match &self.places {
            Some(places) => places.iter().position(|&at| at + 1 == element)?,
            None => element - 1,
        };
        self.names.get(place)
    }
}

/// The form that a command asks for.
pub(super) struct ExportOptions {
    pub(super) format: Format,
    pub(super) types: Types,
    /// Is a file welcome that does not hold all values?
    pub(super) lossy: bool,
}

/// A table on its way to a file of rows.
pub(super) struct Export {
    table: Table,
    options: ExportOptions,
    chosen: Chosen,
    form: RowForm,
}

/// What an export has written.
struct Written {
    rows: u64,
    kinds: Kinds,
    changes: Changes,
}

impl Export {
    pub(super) fn new(
        table: Table,
        options: ExportOptions,
        mut chosen: Chosen,
    ) -> Result<Export, ShellError> {
        chosen.name_all(&table)?;
        let form = RowForm {
            format: options.format,
            names: chosen.names.clone(),
            readings: options.types.of(&chosen.names)?,
            is_whole: chosen.places.is_none(),
        };
        Ok(Export {
            table,
            options,
            chosen,
            form,
        })
    }

    /// Returns whether all of each object is written.
    fn is_whole(&self) -> bool {
        self.chosen.places.is_none()
    }

    /// Writes a file that appears under its name when it is complete, and loads again. Returns what is to be said.
    pub(super) fn to_file(&self, path: &Path) -> Result<Option<String>, ShellError> {
        let failed = |source| ShellError::Io {
            path: path.to_owned(),
            source,
        };
        let (new, file) = NewFile::create(path).map_err(failed)?;
        let written = self.write(&file, new.path()).map_err(|error| match error {
            ShellError::Output(source) => failed(source),
            error => error,
        })?;
        new.publish(file, true).map_err(failed)?;
        let mut said = format!(
            "{} written to {}",
            display::objects(written.rows),
            path.display()
        );
        match written.lost() {
            Some(lost) => said += &format!(", {lost}"),
            None => said += &self.way_back(path, written.changes.read),
        }
        Ok(Some(said))
    }

    /// Writes to standard output, when all is known to load again. Returns what is to be said.
    fn to_output(&self, display: &Display) -> Result<Option<String>, ShellError> {
        let failed = |source| ShellError::Io {
            path: PathBuf::from("-"),
            source,
        };
        let copy = NamedTempFile::new().map_err(failed)?;
        let written = self.write(copy.as_file(), copy.path())?;
        let mut text = File::open(copy.path()).map_err(failed)?;
        display.copy(&mut text)?;
        Ok(written.lost())
    }

    /// Writes all objects, in the order of the table, and reads them back from the file's path.
    fn write(&self, file: &File, path: &Path) -> Result<Written, ShellError> {
        let progress = Progress::objects("exporting", self.table.len() as u64);
        let mut writer = RowWriter::new(&self.form, BufWriter::new(file))?;
        let mut count = 0;
        for row in self.rows() {
            writer.row(&row?)?;
            count += 1;
            if count % BREATH == 0 {
                interrupt::check()?;
                progress.at(count, count);
            }
        }
        let (kinds, rows) = writer.finish()?;
        drop(progress);
        self.check_empty(rows)?;
        let mut changes = Changes::new(path, &self.form, self.rows())?;
        self.check_key(&mut changes);
        let written = Written {
            rows,
            kinds,
            changes,
        };
        match self.refusal(&written) {
            Some(refusal)
                if !self.options.lossy && !cfg!(fyris_mutant = "export_changes_values") =>
            {
                Err(ShellError::other(refusal))
            }
            _ => Ok(written),
        }
    }

    /// Takes note of a key that no name says.
    fn check_key(&self, changes: &mut Changes) {
        let key = self.chosen.name_of(self.table.keypos());
        let Some(key) = key else { return };
        if self.form.names.iter().filter(|name| *name == key).count() > 1 {
            changes.add(|| format!("the key is in column {key:?}, and another has this name"));
        }
    }

    /// Refuses JSON of no objects where it would lose which element is the key.
    fn check_empty(&self, rows: u64) -> Result<(), ShellError> {
        let keypos = self.table.keypos();
        if rows > 0 || self.form.format != Format::Json || keypos == 1 || self.options.lossy {
            return Ok(());
        }
        Err(ShellError::other(format!(
            "JSON of no objects does not say that element {keypos} is the key: CSV has a header"
        )))
    }

    /// Returns the rows.
    fn rows(&self) -> impl Iterator<Item = Result<Vec<Term>, ShellError>> {
        let objects = self.table.iter();
        objects.map(|object| Ok(self.chosen.of(object?)))
    }

    /// Returns the error of a file that would not give the objects back, and what would keep them.
    fn refusal(&self, written: &Written) -> Option<String> {
        let changes = &written.changes;
        let more = match changes.count {
            0 | 1 => String::new(),
            count => format!(" (the first of {count} changes)"),
        };
        let mut refusal = format!("{}{more}; nothing is written.", changes.first.as_ref()?);
        let readings = self.form.readings.clone();
        let columns = changes.columns.iter().copied();
        let keeping = written.kinds.keeping(readings, columns, self.form.format);
        if keeping != self.form.readings
            && let Some(said) = keeping.said(&self.form.names)
        {
            let list = quoted(&said);
            refusal += &format!(" `as {list}` behind both `export` and `load` keeps them,");
        }
        let has_closures = |&column: &usize| written.kinds.has_closures(column);
        refusal += match self.options.types {
            Types::Auto | Types::List(_) if !changes.columns.iter().any(has_closures) => {
                " `terms` keeps all but closures,"
            }
            _ => " `save` keeps every term,",
        };
        refusal += " `lossy` writes the file all the same";
        Some(refusal)
    }

    /// Returns the end of a message that says how the file, with this number of columns, is loaded; nothing if the key
    /// is not in it.
    fn way_back(&self, path: &Path, columns: usize) -> String {
        let Some(key) = self.chosen.name_of(self.table.keypos()) else {
            return String::new();
        };
        let mut load = format!(
            "load {} key {}",
            quoted(&path.display().to_string()),
            quoted(key)
        );
        match self.table.table_type().as_str() {
            "ordered_set" => {}
            other => load += &format!(" type {other}"),
        }
        if format_of(path, None).ok() != Some(self.form.format) {
            load += &format!(" format {}", self.form.format.name());
        }
        match &self.options.types {
            Types::Auto => {}
            Types::Terms => load += " terms",
            Types::List(_) if columns == 0 => {}
            Types::List(_) if columns < self.form.names.len() => {
                load += &format!(" as {}", self.form.readings.first(columns));
            }
            Types::List(list) => load += &format!(" as {}", quoted(list)),
        }
        format!("; `{load}` reads them back")
    }
}

impl Written {
    /// Returns what is said of a file that does not hold all values.
    fn lost(&self) -> Option<String> {
        let first = self.changes.first.as_ref()?;
        Some(match (self.changes.unreadable, self.changes.count) {
            (true, _) => format!("which `load` does not give back: {first}"),
            (false, 1) => format!("1 change: {first}"),
            (false, count) => format!("{count} changes, the first: {first}"),
        })
    }
}
