//! What the texts of a column are read as, where a file does not tell itself.
//!
//! CSV has nothing but text, JSON no atoms and tuples. So `load` and `export` take types of columns, and mean the same:
//! `export` checks that `load` with the same types gives equal values.
//!
//! | | |
//! |---|---|
//! | `as int, text, term` | one for each column |
//! | `as state:atom, value:term` | for some columns, by their names |
//! | `terms` | `term` for all columns |
//!
//! A column of type `term` holds each value as Erlang writes it, in JSON within a string. That notation has a form for
//! every term but closures, a person can read it, and the lines stay JSON: of the forms of text that keep everything it
//! is the one that needs no format of its own.

use fyris_term::{Atom, Term};

use super::infer;
use crate::shell::error::ShellError;

/// What a value is read as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reading {
    /// In CSV what is inferred from all values of the column, in JSON what it is there.
    #[default]
    Auto,
    Int,
    Float,
    Text,
    Atom,
    Term,
}

impl Reading {
    /// All of them, with their names.
    pub(crate) const ALL: [(Reading, &'static str); 6] = [
        (Reading::Auto, "auto"),
        (Reading::Int, "int"),
        (Reading::Float, "float"),
        (Reading::Text, "text"),
        (Reading::Atom, "atom"),
        (Reading::Term, "term"),
    ];

    fn named(name: &str) -> Option<Reading> {
        let mut all = Reading::ALL.into_iter();
        all.find(|(_, known)| *known == name)
            .map(|(reading, _)| reading)
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        Reading::ALL[self as usize].1
    }

    /// Returns the value of a field of CSV. An empty one is `undefined`, but as text.
    pub(crate) fn field(self, text: &str) -> Result<Term, String> {
        match text.is_empty() && self != Reading::Text {
            true => Ok(Term::atom("undefined")),
            false => self.text(text),
        }
    }

    /// Returns the value of what a JSON value is by itself: strings are read, and so are integers as floats.
    pub(crate) fn value(self, value: Term) -> Result<Term, String> {
        match (self, &value) {
            (Reading::Auto | Reading::Text, Term::Binary(_)) => Ok(value),
            (_, Term::Binary(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) => self.text(text),
                Err(error) => Err(error.to_string()),
            },
            (Reading::Float, Term::Int(_) | Term::Big(_)) => self.text(&value.to_string()),
            (Reading::Auto | Reading::Term, _)
            | (Reading::Int, Term::Int(_) | Term::Big(_))
            | (Reading::Float, Term::Float(_)) => Ok(value),
            (Reading::Atom, Term::Atom(_)) => Ok(value),
            (_, Term::Atom(name)) if name.as_str() == "undefined" => Ok(value),
            _ => Err(self.unfit(&value)),
        }
    }

    fn text(self, text: &str) -> Result<Term, String> {
        let number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        let read = match self {
            Reading::Auto | Reading::Text => Some(Term::binary(text.as_bytes())),
            Reading::Atom => Some(Term::Atom(Atom::new(text).map_err(|e| e.to_string())?)),
            Reading::Term => Some(Term::parse(text).map_err(|e| e.to_string())?),
            Reading::Int => {
                let digits = text.strip_prefix('-').unwrap_or(text);
                let fits = number(digits) && digits.len() <= infer::DIGITS_LIMIT;
                infer::integer(text).filter(|_| fits)
            }
            Reading::Float => {
                let begins = text
                    .trim_start_matches('-')
                    .starts_with(|c: char| c.is_ascii_digit());
                infer::float(text).filter(|_| begins)
            }
        };
        read.ok_or_else(|| self.unfit(&Term::binary(text.as_bytes())))
    }

    fn unfit(self, value: &Term) -> String {
        format!("{} cannot be read as {}", value.brief(80), self.name())
    }
}

/// The types of columns as a command gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Types {
    /// None.
    #[default]
    Auto,
    /// `terms`: every column holds terms.
    Terms,
    /// Behind `as`: a list of types or of columns with types.
    List(String),
}

impl Types {
    /// Returns whether what stands behind `as` is types, and no name of a table.
    pub(crate) fn are_in(text: &str) -> bool {
        text.contains([',', ':']) || Reading::named(text).is_some()
    }

    /// Returns the reading of each of these columns.
    pub(crate) fn of(&self, columns: &[String]) -> Result<Readings, ShellError> {
        let text = match self {
            Types::Auto => return Ok(Readings::default()),
            Types::Terms => return Ok(Readings(vec![Reading::Term; columns.len()])),
            Types::List(text) => text,
        };
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let named = |part: &str| {
            Reading::named(part).ok_or_else(|| {
                let names = Reading::ALL.map(|(_, name)| name).join(", ");
                ShellError::other(format!("no type {part:?}: there are {names}"))
            })
        };
        if !text.contains(':') {
            let readings = parts.iter().map(|part| named(part));
            let readings = readings.collect::<Result<Vec<_>, _>>()?;
            return match readings.len() == columns.len() {
                true => Ok(Readings(readings)),
                false => Err(ShellError::other(format!(
                    "the types are {} ({text}), and the columns are {} ({})",
                    readings.len(),
                    columns.len(),
                    columns.join(", ")
                ))),
            };
        }
        let mut readings = vec![Reading::Auto; columns.len()];
        for part in parts {
            let Some((name, reading)) = part.rsplit_once(':') else {
                let problem = format!("{part:?} is no column with a type, as `age:int` is one");
                return Err(ShellError::other(problem));
            };
            let reading = named(reading.trim())?;
            let places = (0..columns.len()).filter(|&at| columns[at] == name.trim());
            let places: Vec<usize> = places.collect();
            if places.is_empty() {
                return Err(ShellError::other(format!(
                    "no column {:?}; the columns are: {}",
                    name.trim(),
                    columns.join(", ")
                )));
            }
            places.into_iter().for_each(|at| readings[at] = reading);
        }
        Ok(Readings(readings))
    }
}

/// What each column is read as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readings(Vec<Reading>);

impl Readings {
    /// Returns the reading of a column, counted from 0.
    pub(crate) fn of(&self, column: usize) -> Reading {
        self.0.get(column).copied().unwrap_or_default()
    }

    /// Returns the list of the readings of the first columns.
    pub(crate) fn first(&self, columns: usize) -> String {
        let names: Vec<&str> = (0..columns).map(|at| self.of(at).name()).collect();
        names.join(",")
    }

    /// Changes the reading of a column.
    pub(crate) fn set(&mut self, column: usize, reading: Reading) {
        if self.0.len() <= column {
            self.0.resize(column + 1, Reading::Auto);
        }
        self.0[column] = reading;
    }

    /// Returns a row of JSON, whose absent fields are `undefined`; but at the end, where terms are to be read, they are
    /// elements that the object does not have.
    pub(super) fn filled(&self, mut row: Vec<Option<Term>>) -> Vec<Term> {
        while row.last() == Some(&None) && self.of(row.len() - 1) == Reading::Term {
            row.pop();
        }
        let row = row.into_iter();
        row.map(|value| value.unwrap_or_else(|| Term::atom("undefined")))
            .collect()
    }

    /// Returns those of the columns that may hold atoms.
    pub(crate) fn with_atoms(&self, columns: &[String]) -> Vec<String> {
        let readings = (0..).map(|at| self.of(at));
        let columns = columns.iter().zip(readings);
        let columns = columns.filter(|(_, to)| matches!(to, Reading::Atom | Reading::Term));
        columns.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the list that says the same of columns of these names; nothing if the names do not allow it.
    pub(crate) fn said(&self, columns: &[String]) -> Option<String> {
        let typed = columns.iter().zip(&self.0);
        let typed = typed.filter(|(_, reading)| **reading != Reading::Auto);
        let mut said = Vec::new();
        for (name, reading) in typed {
            let is_plain = !name.contains([',', ':']) && name.trim() == name;
            let is_one = columns.iter().filter(|column| *column == name).count() == 1;
            if !is_plain || !is_one {
                return None;
            }
            said.push(format!("{name}:{}", reading.name()));
        }
        Some(said.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> [String; 3] {
        ["id", "state", "a value"].map(str::to_owned)
    }

    fn readings(list: &str) -> Result<Readings, String> {
        let types = Types::List(list.to_owned());
        types.of(&columns()).map_err(|e| e.to_string())
    }

    #[test]
    fn types_are_of_all_columns_or_of_some() {
        use Reading::*;
        let all = Readings(vec![Int, Atom, Term]);
        assert_eq!(readings("int, atom,term"), Ok(all.clone()));
        assert_eq!(
            readings("a value:term, state:atom"),
            Ok(Readings(vec![Auto, Atom, Term]))
        );
        let said = all.said(&columns()).expect("plain names");
        assert_eq!(said, "id:int,state:atom,a value:term");
        assert_eq!(all.with_atoms(&columns()), ["state", "a value"]);
        assert_eq!(
            Types::Terms.of(&columns()).ok(),
            Some(Readings(vec![Term; 3]))
        );
        for (list, problem) in [
            (
                "int,text",
                "the types are 2 (int,text), and the columns are 3 (id, state, a value)",
            ),
            (
                "int,txt,term",
                "no type \"txt\": there are auto, int, float",
            ),
            (
                "status:atom",
                "no column \"status\"; the columns are: id, state, a value",
            ),
            ("id:int,atom", "\"atom\" is no column with a type"),
        ] {
            let said = readings(list).expect_err(list);
            assert!(said.contains(problem), "{list}: {said}");
        }
        assert!(Types::are_in("int, text") && Types::are_in("text") && !Types::are_in("people"));
    }

    #[test]
    fn texts_are_read_and_nothing_else() {
        let field = |reading: Reading, text| reading.field(text).map(|term| term.to_string());
        for (reading, text, term) in [
            (Reading::Int, "007", "7"),
            (Reading::Int, "-12", "-12"),
            (Reading::Int, "", "undefined"),
            (Reading::Float, "1", "1.0"),
            (Reading::Float, "-2.5e3", "-2.5e3"),
            (Reading::Text, "007", "<<\"007\">>"),
            (Reading::Text, "", "<<>>"),
            (Reading::Atom, "in use", "'in use'"),
            (Reading::Term, "{a,[1]}", "{a,[1]}"),
        ] {
            assert_eq!(field(reading, text), Ok(term.to_owned()), "{text}");
        }
        for (reading, text, problem) in [
            (Reading::Int, "1.0", "<<\"1.0\">> cannot be read as int"),
            (Reading::Int, "1_000", "cannot be read as int"),
            (Reading::Float, "inf", "cannot be read as float"),
            (Reading::Float, "1e999", "cannot be read as float"),
            (Reading::Term, "{", "expected a term"),
        ] {
            let said = field(reading, text).expect_err(text);
            assert!(said.contains(problem), "{text}: {said}");
        }
        assert!(Reading::Atom.field(&"x".repeat(256)).is_err());
        let value = |reading: Reading, term: &str| {
            let read = reading.value(Term::parse(term).expect("a term"));
            read.map(|term| term.to_string())
        };
        for (reading, json, term) in [
            (Reading::Auto, "[1]", "[1]"),
            (Reading::Int, "<<\"12\">>", "12"),
            (Reading::Float, "12", "12.0"),
            (Reading::Text, "undefined", "undefined"),
            (Reading::Atom, "<<>>", "''"),
            (Reading::Atom, "true", "true"),
            (Reading::Term, "<<\"{a}\">>", "{a}"),
            (Reading::Term, "[1]", "[1]"),
        ] {
            assert_eq!(value(reading, json), Ok(term.to_owned()), "{json}");
        }
        assert!(value(Reading::Text, "12").is_err() && value(Reading::Int, "true").is_err());
    }
}
