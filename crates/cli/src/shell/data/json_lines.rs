//! JSON: an object a line, or one array of objects; their fields are the columns.
//!
//! JSON carries its own types: strings become binaries, numbers integers of any size or floats, `true` and `false`
//! atoms, `null` and absent fields the atom `undefined`, arrays lists, objects maps with binary keys. Numbers are read
//! from their text, so a large integer loses nothing. Columns may be read as something else (`readings`).

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use fyris_term::{Map, Term};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::infer;
use super::json_array::{self, Elements, Stop};
use super::rows::{ROW_LIMIT, RowSource, Schema, Ticker};
use crate::shell::error::ShellError;

/// The greatest depth of brackets in a line, its own included: a term with room to spare, and a small stack.
const DEPTH_LIMIT: usize = 500;

/// A file of JSON lines.
pub(crate) struct JsonLines {
    path: PathBuf,
}

/// The fields of one object, in order, their values still text.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl JsonLines {
    /// Returns the file at `path`; nothing is read yet.
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

    fn io(&self, source: std::io::Error) -> ShellError {
        ShellError::Io {
            path: self.path.clone(),
            source,
        }
    }

    fn reader(&self) -> Result<BufReader<File>, ShellError> {
        let file = File::open(&self.path).map_err(|e| self.io(e))?;
        Ok(BufReader::with_capacity(1 << 18, file))
    }

    /// Reads every object, with the line where it begins.
    fn each(
        &self,
        ticker: &mut Ticker,
        row: impl FnMut(u64, Fields<'_>) -> Result<(), ShellError>,
    ) -> Result<(), ShellError> {
        match json_array::is_array(&mut self.reader()?).map_err(|e| self.io(e))? {
            true => self.each_element(ticker, row),
            false => self.each_line(ticker, row),
        }
    }

    fn each_element(
        &self,
        ticker: &mut Ticker,
        mut row: impl FnMut(u64, Fields<'_>) -> Result<(), ShellError>,
    ) -> Result<(), ShellError> {
        let stopped = |stop| match stop {
            Stop::Io(error) => self.io(error),
            Stop::Bad(line, problem) => self.bad(line, problem),
        };
        let mut elements = Elements::new(self.reader()?).map_err(stopped)?;
        let mut bytes = Vec::new();
        while let Some(line) = elements.next(&mut bytes).map_err(stopped)? {
            let fields = fields(self.text(&bytes, line)?).map_err(|e| self.bad(line, e))?;
            row(line, fields)?;
            ticker.row(elements.at)?;
        }
        Ok(())
    }

    /// Reads every line that is not blank.
    fn each_line(
        &self,
        ticker: &mut Ticker,
        mut row: impl FnMut(u64, Fields<'_>) -> Result<(), ShellError>,
    ) -> Result<(), ShellError> {
        let io = |source| self.io(source);
        let mut reader = self.reader()?;
        let (mut bytes, mut line, mut at) = (Vec::new(), 0, 0);
        loop {
            bytes.clear();
            let mut limited = std::io::Read::take(&mut reader, ROW_LIMIT);
            let read = limited.read_until(b'\n', &mut bytes).map_err(io)? as u64;
            if read == 0 {
                return Ok(());
            }
            line += 1;
            at += read;
            if read == ROW_LIMIT {
                return Err(self.bad(line, format!("longer than {ROW_LIMIT} bytes")));
            }
            let text = self.text(&bytes, line)?;
            if !text.is_empty() {
                let fields = fields(text).map_err(|problem| self.bad(line, problem))?;
                row(line, fields)?;
                ticker.row(at)?;
            }
        }
    }

    /// Returns a line without the space around it, and without the mark that some programs put at the beginning of a
    /// file.
    fn text<'a>(&self, bytes: &'a [u8], line: u64) -> Result<&'a str, ShellError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|e| self.bad(line, format!("not UTF-8 at byte {}", e.valid_up_to() + 1)))?;
        let text = match line {
            1 => text.strip_prefix('\u{feff}').unwrap_or(text),
            _ => text,
        };
        Ok(text.trim())
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
            is_blank: ticker.count() == 0,
            names,
            types,
            rows: ticker.count(),
            ..Schema::default()
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
            let mut terms = vec![None; schema.names.len()];
            for (name, raw) in fields.0 {
                if let Some(&i) = place.get(name.as_str()) {
                    let value = term(raw).and_then(|value| schema.readings.of(i).value(value));
                    terms[i] = Some(value.map_err(|problem| {
                        self.bad(line, format!("column {name:?}: {problem}"))
                    })?);
                }
            }
            row(schema.readings.filled(terms))
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

/// Returns the fields of the object in a line. `serde_json` skips values without a look at their depth, so that is
/// checked here, before anything descends into them.
fn fields(text: &str) -> Result<Fields<'_>, String> {
    if let Some(column) = too_deep(text) {
        return Err(format!(
            "column {column}: nested deeper than {DEPTH_LIMIT} levels"
        ));
    }
    serde_json::from_str(text).map_err(|e| in_line(&e))
}

/// Returns the column, in bytes, of the bracket that opens more levels than a value may have.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_LIMIT {
            return Some(i + 1);
        }
    }
    None
}

/// Describes an error and its column. The lines that `serde_json` counts are those of the object or value: of more
/// than one only in an array.
fn in_line(error: &serde_json::Error) -> String {
    let (text, line, column) = (error.to_string(), error.line(), error.column());
    let place = format!(" at line {line} column {column}");
    match (text.strip_suffix(&place), column) {
        (Some(what), 0) => what.to_owned(),
        (Some(what), column) if line == 1 => format!("column {column}: {what}"),
        (Some(what), column) => format!("its line {line}, column {column}: {what}"),
        (None, _) => text,
    }
}

/// Returns the term of a JSON value that is no deeper than [`DEPTH_LIMIT`].
fn term(raw: &RawValue) -> Result<Term, String> {
    let text = raw.get();
    let nested = |e: serde_json::Error| in_line(&e);
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
        infer::integer(text).filter(|_| text.len() <= infer::DIGITS_LIMIT)
    } else {
        infer::float(text)
    };
    parsed.ok_or_else(|| match text.get(40..) {
        Some(rest) if !rest.is_empty() => {
            format!("{}... is no number that a term can hold", &text[..40])
        }
        _ => format!("{text} is no number that a term can hold"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        match fields(text) {
            Err(problem) => problem,
            Ok(fields) => fields
                .0
                .into_iter()
                .find_map(|(_, raw)| term(raw).err())
                .expect("something is wrong"),
        }
    }

    /// A line of 100,000 brackets once overflowed the stack of the shell: serde_json limits the depth of what it reads,
    /// but not of what it hands over unread.
    #[test]
    fn depth_is_limited_before_anything_descends() {
        let nest = |open: &str, close: &str, n: usize| {
            format!("{{\"k\": {}1{}}}", open.repeat(n), close.repeat(n))
        };
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            assert!(fields(&nest(open, close, 499)).is_ok());
            let problem = error(&nest(open, close, 500));
            assert!(problem.contains("deeper than 500 levels"), "{problem}");
        }
        assert_eq!(too_deep(&"[".repeat(1_000_000)), Some(501));
        assert_eq!(too_deep(&format!("\"{}\\\"[\"", "[".repeat(1000))), None);
    }

    #[test]
    fn errors_name_the_column_and_no_line_of_their_own() {
        for (text, problem) in [
            ("{\"a\": }", "column 7: expected value"),
            ("[1]", "invalid type: sequence, expected a JSON object"),
            ("{\"a\": 1} {}", "column 10: trailing characters"),
            ("{\"a\": 1e400}", "1e400 is no number that a term can hold"),
        ] {
            assert_eq!(error(text), problem, "{text}");
        }
        let digits = "9".repeat(infer::DIGITS_LIMIT + 1);
        assert!(error(&format!("{{\"a\": {digits}}}")).contains("no number that a term can hold"));
    }
}
