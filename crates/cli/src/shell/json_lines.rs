//! JSON lines: one object a line; its fields are the columns.
//!
//! JSON carries its own types: strings become binaries, numbers integers of any size or floats, `true` and `false`
//! atoms, `null` and absent fields the atom `undefined`, arrays lists, objects maps with binary keys. Numbers are read from
//! their text, so a large integer loses nothing.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use fyris_term::{Map, Term};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::ShellError;
use super::infer;
use super::rows::{RowSource, Schema, Ticker};

/// The longest line, in bytes: what one row may cost in memory.
const LINE_LIMIT: u64 = 64 << 20;

/// A file of JSON lines.
pub(crate) struct JsonLines {
    path: PathBuf,
}

/// The fields of one object, in order, their values still text.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl JsonLines {
    /// The file at `path`; nothing is read yet.
    pub(crate) fn new(path: &Path) -> JsonLines {
        JsonLines {
            path: path.to_owned(),
        }
    }

    fn bad(&self, line: u64, problem: impl ToString) -> ShellError {
        ShellError::Data {
            path: self.path.clone(),
            place: format!("line {line}"),
            problem: problem.to_string(),
        }
    }

    /// Reads every line that is not blank.
    fn each(
        &self,
        ticker: &mut Ticker,
        mut row: impl FnMut(u64, Fields<'_>) -> Result<(), ShellError>,
    ) -> Result<(), ShellError> {
        let io = |source| ShellError::Io {
            path: self.path.clone(),
            source,
        };
        let mut reader = BufReader::with_capacity(1 << 18, File::open(&self.path).map_err(io)?);
        let (mut text, mut line, mut at) = (String::new(), 0, 0);
        loop {
            text.clear();
            let mut limited = std::io::Read::take(&mut reader, LINE_LIMIT);
            let read = limited.read_line(&mut text).map_err(io)? as u64;
            if read == 0 {
                return Ok(());
            }
            line += 1;
            at += read;
            if read == LINE_LIMIT {
                return Err(self.bad(line, format!("longer than {LINE_LIMIT} bytes")));
            }
            if !text.trim().is_empty() {
                let fields =
                    serde_json::from_str(text.trim_end()).map_err(|e| self.bad(line, e))?;
                row(line, fields)?;
                ticker.row(at)?;
            }
        }
    }
}

impl RowSource for JsonLines {
    fn schema(&self, ticker: &mut Ticker) -> Result<Schema, ShellError> {
        let mut names = Vec::new();
        let mut seen = HashSet::new();
        self.each(ticker, |_, fields| {
            for (name, _) in fields.0 {
                if seen.insert(name.clone()) {
                    names.push(name);
                }
            }
            Ok(())
        })?;
        let types = vec![None; names.len()];
        Ok(Schema {
            names,
            types,
            rows: ticker.count(),
        })
    }

    fn rows(
        &self,
        schema: &Schema,
        ticker: &mut Ticker,
        row: &mut dyn FnMut(Vec<Term>) -> Result<(), ShellError>,
    ) -> Result<(), ShellError> {
        let place: HashMap<&str, usize> = schema
            .names
            .iter()
            .enumerate()
            .map(|(i, name)| (name.as_str(), i))
            .collect();
        self.each(ticker, |line, fields| {
            let mut terms = vec![Term::atom("undefined"); schema.names.len()];
            for (name, raw) in fields.0 {
                if let Some(&i) = place.get(name.as_str()) {
                    terms[i] = term(raw)
                        .map_err(|problem| self.bad(line, format!("field {name:?}: {problem}")))?;
                }
            }
            row(terms)
        })
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry::<String, &RawValue>()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The term of a JSON value. `serde_json` has checked the whole line already, its depth (128) too.
fn term(raw: &RawValue) -> Result<Term, String> {
    let text = raw.get();
    let nested = |e: serde_json::Error| e.to_string();
    match text.as_bytes().first() {
        Some(b'n') => Ok(Term::atom("undefined")),
        Some(b't' | b'f') => Ok(Term::atom(text)),
        Some(b'"') => {
            let string: String = serde_json::from_str(text).map_err(nested)?;
            Ok(Term::binary(string.into_bytes()))
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(nested)?;
            Ok(Term::List(
                items.into_iter().map(term).collect::<Result<_, _>>()?,
            ))
        }
        Some(b'{') => {
            let fields: Fields<'_> = serde_json::from_str(text).map_err(nested)?;
            let pairs = fields
                .0
                .into_iter()
                .map(|(name, raw)| Ok((Term::binary(name.into_bytes()), term(raw)?)));
            Ok(Term::Map(Map::new(
                pairs.collect::<Result<Vec<_>, String>>()?,
            )))
        }
        _ => number(text),
    }
}

fn number(text: &str) -> Result<Term, String> {
    let whole = !text.contains(['.', 'e', 'E']);
    let parsed = if whole {
        infer::integer(text)
    } else {
        infer::float(text)
    };
    parsed.ok_or_else(|| format!("{text} is no number that a term can hold"))
}
