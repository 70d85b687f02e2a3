//! `export`: a table as CSV or JSON lines.

use std::borrow::Cow;
use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fyris::Table;
use fyris_term::{Atom, Term};

use crate::shell::data::kinds::Kinds;
use crate::shell::error::ShellError;
use crate::shell::interrupt;
use crate::shell::screen::display;
use crate::shell::screen::format::{self, Format};
use crate::shell::screen::progress::Progress;
use crate::shell::session::Session;

const EXPORT: &str = "export [TABLE] FILE|- [format csv|json] [columns NAME,NAME,...]";

/// Objects between two looks at Ctrl-C and the progress bar.
const BREATH: u64 = 512;

/// Runs `export [TABLE] FILE|- [format csv|json] [columns NAME,NAME,...]`.
pub(crate) fn export(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    let first_option = words.iter().position(|w| w == "format" || w == "columns");
    let (places, given) = words.split_at(first_option.unwrap_or(words.len()));
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
    let table = session.table(name.as_ref())?;
    let known = session.columns().of(name.as_ref()).to_vec();
    let (mut format, mut named) = (None, None);
    for pair in given.chunks(2) {
        match pair {
            [word, names] if word == "columns" => {
                let names = names.split(',').map(|name| name.trim().to_owned());
                named = Some(names.collect());
            }
            [word, name] if word == "format" => format = Some(name.as_str()),
            _ => {
                let problem = format!("`{}` makes no sense here", pair.join(" "));
                return Err(Session::usage(problem, EXPORT));
            }
        }
    }
    let format = format_of(Path::new(file), format)?;
    let rows = Rows::new(format, Chosen::new(known, named)?);
    let written = if file == "-" {
        rows.write(&table, &mut io::stdout().lock(), Path::new("-"))?
    } else {
        to_file(&table, rows, Path::new(file))?
    };
    let show = session.display();
    if file != "-" {
        show.note(format!(
            "{} written to {file}",
            display::objects(written.objects)
        ))?;
    }
    match written.remark {
        Some(remark) => show.note(remark),
        None => Ok(()),
    }
}

fn atom(name: &str) -> Result<Atom, ShellError> {
    Atom::new(name).map_err(|e| ShellError::other(e.to_string()))
}

/// Returns the format that is named, or that of the file's ending.
fn format_of(path: &Path, named: Option<&str>) -> Result<Format, ShellError> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match named.or(ending) {
        Some("csv") => Ok(Format::Csv),
        Some("json" | "jsonl" | "ndjson") => Ok(Format::Json),
        _ => Err(Session::usage(
            "the file ends in none of .csv .jsonl .ndjson .json, and no `format csv|json` is given",
            EXPORT,
        )),
    }
}

/// Writes a file that appears under its name when it is complete.
fn to_file(table: &Table, rows: Rows, path: &Path) -> Result<Written, ShellError> {
    let failed = |source| ShellError::Io {
        path: path.to_owned(),
        source,
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let mode =
        std::fs::metadata(path).map_or(Permissions::from_mode(0o666), |old| old.permissions());
    let mut builder = tempfile::Builder::new();
    let file = builder
        .permissions(mode)
        .tempfile_in(folder)
        .map_err(failed)?;
    let mut out = BufWriter::new(file);
    let written = rows.write(table, &mut out, path)?;
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(written)
}

/// What an export has done.
struct Written {
    objects: u64,
    /// What `load` needs to be told, for it to give the same terms back.
    remark: Option<String>,
}

/// The columns of an export.
struct Chosen {
    names: Vec<String>,
    /// The elements that these are; `None` if they are all of an object.
    places: Option<Vec<usize>>,
    /// Whether an object may have more elements.
    open: bool,
}

impl Chosen {
    /// Returns the columns that the command names, of those that the table was loaded with, or all of these. As many
    /// names as columns, if one of them is new, rename the columns.
    fn new(known: Vec<String>, named: Option<Vec<String>>) -> Result<Chosen, ShellError> {
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

    /// Returns the chosen elements of an object.
    fn of<'e>(&self, elements: &'e [Term]) -> Cow<'e, [Term]> {
        match &self.places {
            Some(places) => (places.iter())
                .filter_map(|&at| elements.get(at).cloned())
                .collect(),
            None => Cow::Borrowed(elements),
        }
    }
}

/// The form of the rows.
struct Rows {
    format: Format,
    chosen: Chosen,
    kinds: Kinds,
}

impl Rows {
    fn new(format: Format, chosen: Chosen) -> Rows {
        Rows {
            format,
            chosen,
            kinds: Kinds::default(),
        }
    }

    /// Writes all objects, in the order of the table.
    fn write(
        mut self,
        table: &Table,
        out: &mut impl Write,
        path: &Path,
    ) -> Result<Written, ShellError> {
        let failed = |source: io::Error| match path.as_os_str() == "-" {
            true => ShellError::Output(source),
            false => ShellError::Io {
                path: path.to_owned(),
                source,
            },
        };
        let progress = Progress::objects("exporting", table.len() as u64);
        let mut count = 0;
        for object in table.iter() {
            let object = object?;
            let elements = object.as_tuple().unwrap_or(std::slice::from_ref(&object));
            let elements = &*self.chosen.of(elements);
            if count == 0 && self.format == Format::Csv {
                self.name(elements.len());
                writeln!(out, "{}", format::names_row(&self.chosen.names)).map_err(failed)?;
            }
            writeln!(out, "{}", self.row(elements)?).map_err(failed)?;
            self.kinds.see(elements);
            count += 1;
            if count % BREATH == 0 {
                interrupt::check()?;
                progress.at(count, count);
            }
        }
        out.flush().map_err(failed)?;
        Ok(Written {
            objects: count,
            remark: self.kinds.remark(self.format, &self.chosen.names),
        })
    }

    /// Adds names up to a number of elements: `c1`, `c2` and so on, as `load` names columns without a header.
    fn name(&mut self, elements: usize) {
        let names = &mut self.chosen.names;
        if self.chosen.open {
            let more = names.len() + 1..=elements;
            names.extend(more.map(|i| format!("c{i}")));
        }
    }

    fn row(&mut self, elements: &[Term]) -> Result<String, ShellError> {
        let is_json = self.format == Format::Json;
        if is_json {
            self.name(elements.len());
        }
        let names = &self.chosen.names;
        // Of an object that lacks a chosen element the others would get the wrong names.
        let may_be_short = is_json && self.chosen.places.is_none();
        if elements.len() > names.len() || elements.len() < names.len() && !may_be_short {
            let object = Term::tuple(elements.to_vec()).brief(80);
            let both = if self.chosen.open {
                ": JSON lines can hold both"
            } else {
                ""
            };
            return Err(ShellError::other(format!(
                "{object} has {} elements and the columns are {}{both}",
                elements.len(),
                names.len()
            )));
        }
        Ok(match self.format {
            Format::Json => format::json_row(names, elements),
            _ => format::row(elements),
        })
    }
}
