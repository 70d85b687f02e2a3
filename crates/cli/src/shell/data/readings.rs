//! Columns whose texts are to be read as atoms or as Erlang terms, which neither CSV nor JSON has.

use fyris_term::{Atom, Term};

use super::rows::Schema;
use crate::shell::error::ShellError;

/// What a text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Atom,
    Term,
}

/// The columns that are read anew, by their places in a row, each with its name.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    columns: Vec<(usize, String, Reading)>,
}

impl Readings {
    /// Finds the columns that `atoms` and `terms` name, with commas between.
    pub(crate) fn new(
        schema: &Schema,
        atoms: Option<&str>,
        terms: Option<&str>,
    ) -> Result<Readings, ShellError> {
        let mut readings = Readings::default();
        for (names, reading) in [(atoms, Reading::Atom), (terms, Reading::Term)] {
            let names = names.into_iter().flat_map(|names| names.split(','));
            for name in names.map(str::trim) {
                let mut places = schema.positions(name).peekable();
                if places.peek().is_none() {
                    return Err(ShellError::other(format!(
                        "no column {name:?}; the columns are: {}",
                        schema.names.join(", ")
                    )));
                }
                let column = |place| (place - 1, name.to_owned(), reading);
                readings.columns.extend(places.map(column));
            }
        }
        Ok(readings)
    }

    /// Returns the names of the columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(_, name, _)| name.as_str())
    }

    /// Reads the texts of a row that are to be read.
    pub(crate) fn apply(&self, row: &mut [Term]) -> Result<(), ShellError> {
        for (place, name, reading) in &self.columns {
            let Some(Term::Binary(bytes)) = row.get(*place) else {
                continue;
            };
            let wrong = |problem: String| {
                let text = row[*place].brief(80);
                ShellError::other(format!("column {name:?}: {text}: {problem}"))
            };
            let text = std::str::from_utf8(bytes).map_err(|e| wrong(e.to_string()))?;
            row[*place] = match reading {
                Reading::Atom => Term::Atom(Atom::new(text).map_err(|e| wrong(e.to_string()))?),
                Reading::Term => Term::parse(text).map_err(|e| wrong(e.to_string()))?,
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(atoms: Option<&str>, terms: Option<&str>, row: &str) -> Result<String, String> {
        let schema = Schema {
            names: vec!["id".into(), "state".into(), "value".into()],
            types: vec![None; 3],
            rows: 1,
        };
        let readings = Readings::new(&schema, atoms, terms).map_err(|e| e.to_string())?;
        let row = Term::parse(row).expect("a term");
        let mut row = row.as_list().expect("a list").to_vec();
        readings.apply(&mut row).map_err(|e| e.to_string())?;
        Ok(Term::list(row).to_string())
    }

    #[test]
    fn texts_are_read_and_nothing_else() {
        let row = "[1, <<\"in use\">>, <<\"{a,[1]}\">>]";
        assert_eq!(
            read(Some("id,state"), Some(" value"), row),
            Ok("[1,'in use',{a,[1]}]".into())
        );
        assert_eq!(read(None, None, "[a, b, c]"), Ok("[a,b,c]".into()));
        let unknown = read(Some("status"), None, row).expect_err("no such column");
        assert_eq!(
            unknown,
            "no column \"status\"; the columns are: id, state, value"
        );
        let wrong = read(None, Some("state"), row).expect_err("no term");
        assert!(
            wrong.starts_with("column \"state\": <<\"in use\">>: "),
            "{wrong}"
        );
        let long = format!("[1, <<\"{}\">>, 2]", "x".repeat(256));
        assert!(read(Some("state"), None, &long).is_err());
    }
}
