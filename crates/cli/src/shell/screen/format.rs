//! The forms in which programs read objects: one a line, as an Erlang term, as JSON or as CSV.
//!
//! | term | JSON | CSV field |
//! |---|---|---|
//! | integer, float | number, of any size | its digits |
//! | `true`, `false` | the same | the same |
//! | `undefined` | `null` | empty |
//! | another atom | string | its name |
//! | binary of UTF-8 | string | its text |
//! | tuple, list | array | the Erlang term |
//! | map | object, whose keys are written as CSV fields are | the Erlang term |
//! | all else, and what is nested deeper than [`DEEPEST`] | string of the Erlang term | the Erlang term |
//!
//! Terms that have no form of their own there would come back as text, and some as other terms: `export` looks.

use std::borrow::Cow;
use std::fmt::Write;

use fyris_term::Term;
use fyris_term::text::{self, PrintOptions};

/// Levels of arrays and objects in JSON: what `load` takes, less the line itself.
const DEEPEST: usize = 498;

/// The form of objects in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Erlang terms.
    Erl,
    /// JSON: a tuple is an array.
    Json,
    /// Comma-separated values: a tuple is a row.
    Csv,
    /// Fields with `|` between, as sqlite3 writes them.
    List,
    /// Rows as a table with a header, all else as Erlang terms.
    Table,
}

impl Format {
    /// Their names, for messages.
    pub(crate) const NAMES: &'static str = "erl, json, csv, list and table";

    /// Returns its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Format::Erl => "erl",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::List => "list",
            Format::Table => "table",
        }
    }

    /// Returns the format of a name.
    pub(crate) fn named(name: &str) -> Option<Format> {
        clap::ValueEnum::from_str(name, false).ok()
    }

    /// Returns a term as a line, without the line's end.
    pub(crate) fn line(self, term: &Term) -> String {
        match self {
            Format::Erl | Format::Table => erlang(term),
            Format::Json => json(term),
            Format::Csv => row(parts(term)),
            Format::List => list_row(parts(term)),
        }
    }
}

/// Returns a text on one line, with its control characters as escapes: files of others may have any, and a terminal
/// would do what they say.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, &[])
}

/// Returns a text of several lines so.
pub(crate) fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, &['\n', '\t'])
}

fn escaped<'t>(text: &'t str, kept: &[char]) -> Cow<'t, str> {
    let is_escaped = |c: char| c.is_control() && !kept.contains(&c);
    if !text.contains(is_escaped) {
        return text.into();
    }
    let show = |c: char| match is_escaped(c) {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(show).collect::<String>().into()
}

/// Returns the elements of a tuple, or the term alone.
fn parts(term: &Term) -> &[Term] {
    term.as_tuple().unwrap_or(std::slice::from_ref(term))
}

/// Returns the fields of a row with `|` between.
pub(crate) fn list_row(elements: &[Term]) -> String {
    elements.iter().map(field).collect::<Vec<_>>().join("|")
}

/// Returns a term as Erlang's shell writes it on a line without end.
fn erlang(term: &Term) -> String {
    let options = PrintOptions {
        line_width: 1 << 30,
        ..PrintOptions::default()
    };
    text::print_p(term, &options)
}

/// Returns the JSON of a term.
fn json(term: &Term) -> String {
    let mut out = String::new();
    write_json(&mut out, term, 0);
    out
}

/// Returns the JSON object of a row, with a name for each element.
pub(crate) fn json_row(names: &[String], elements: &[Term]) -> String {
    let mut out = String::from("{");
    for (i, (name, element)) in names.iter().zip(elements).enumerate() {
        comma(&mut out, i);
        out.push_str(&quoted(name));
        out.push(':');
        write_json(&mut out, element, 1);
    }
    out.push('}');
    out
}

fn write_json(out: &mut String, term: &Term, depth: usize) {
    match term {
        Term::Int(_) | Term::Big(_) => _ = write!(out, "{term}"),
        // In the shortest digits that give the same float back, and with a point or an exponent.
        Term::Float(float) => out.push_str(&serde_json::json!(float.get()).to_string()),
        Term::Atom(name) => out.push_str(&match name.as_str() {
            "undefined" => "null".to_owned(),
            "true" | "false" => name.as_str().to_owned(),
            other => quoted(other),
        }),
        Term::Tuple(items) | Term::List(items) if depth < DEEPEST => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                comma(out, i);
                write_json(out, item, depth + 1);
            }
            out.push(']');
        }
        Term::Map(map) if depth < DEEPEST => {
            out.push('{');
            for (i, (key, value)) in map.pairs().iter().enumerate() {
                comma(out, i);
                out.push_str(&quoted(&field(key)));
                out.push(':');
                write_json(out, value, depth + 1);
            }
            out.push('}');
        }
        other => out.push_str(&quoted(&plain(other))),
    }
}

fn comma(out: &mut String, before: usize) {
    if before > 0 {
        out.push(',');
    }
}

/// Returns a text in quotes, as JSON has it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the fields of a row with commas between, in quotes where it takes them.
pub(crate) fn row(elements: &[Term]) -> String {
    fields(elements.iter().map(field))
}

/// Returns the header of CSV.
pub(crate) fn names_row(names: &[String]) -> String {
    fields(names.iter().cloned())
}

/// Returns texts with commas between, in quotes where it takes them.
fn fields(fields: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for (i, field) in fields.enumerate() {
        comma(&mut out, i);
        let special = field.contains([',', '"', '\n', '\r']);
        // An edge of spaces is part of the field, and a lone empty field is no blank line.
        if special || field.trim() != field || (i == 0 && field.is_empty()) {
            let doubled = field.replace('"', "\"\"");
            _ = write!(out, "\"{doubled}\"");
        } else {
            out.push_str(&field);
        }
    }
    out
}

/// Returns the text of an element in a row.
pub(super) fn field(term: &Term) -> String {
    match term {
        Term::Atom(name) if name.as_str() == "undefined" => String::new(),
        Term::Atom(name) => name.as_str().to_owned(),
        other => plain(other),
    }
}

/// Returns a binary of text as it is, and any other term as Erlang writes it.
fn plain(term: &Term) -> String {
    match term {
        Term::Binary(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => erlang(term),
        },
        other => erlang(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(term: &str) -> [String; 3] {
        let term = Term::parse(term).expect("a term");
        [Format::Erl, Format::Json, Format::Csv].map(|format| format.line(&term))
    }

    #[test]
    fn each_kind_of_term_has_a_form() {
        for (term, json, csv) in [
            ("{1,2.0,-1.0e30}", "[1,2.0,-1e+30]", "1,2.0,-1.0e30"),
            ("{true,undefined,a}", "[true,null,\"a\"]", "true,,a"),
            (
                "{<<\"ü, \\\"x\\\"\"/utf8>>}",
                "[\"ü, \\\"x\\\"\"]",
                "\"ü, \"\"x\"\"\"",
            ),
            ("{<<1,255>>}", "[\"<<1,255>>\"]", "\"<<1,255>>\""),
            (
                "{[1,{a}],#{k => 1}}",
                "[[1,[\"a\"]],{\"k\":1}]",
                "\"[1,{a}]\",#{k => 1}",
            ),
            (
                "{123456789012345678901234567890}",
                "[123456789012345678901234567890]",
                "123456789012345678901234567890",
            ),
            ("[1|2]", "\"[1|2]\"", "[1|2]"),
            ("{undefined,1}", "[null,1]", "\"\",1"),
        ] {
            let [_, as_json, as_csv] = lines(term);
            assert_eq!((as_json.as_str(), as_csv.as_str()), (json, csv), "{term}");
        }
        assert_eq!(lines("{a,\"b\", <<1>>}")[0], "{a,\"b\",<<1>>}");
    }

    #[test]
    fn control_characters_are_escaped() {
        let text = "a\u{1b}[2J\tb\r\u{9b}1m\u{7f}\nc";
        let line = "a\\u{1b}[2J\\tb\\r\\u{9b}1m\\u{7f}\\nc";
        assert_eq!(printable(text), line);
        let lines = "a\\u{1b}[2J\tb\\r\\u{9b}1m\\u{7f}\nc";
        assert_eq!(printable_lines(text), lines);
        // Erlang has escapes of its own.
        let terms = [
            Term::atom(text),
            Term::binary(text.as_bytes()),
            Term::list(vec![Term::Int(27)]),
        ];
        let line = Format::Erl.line(&Term::tuple(terms.to_vec()));
        assert_eq!(printable(&line), line);
    }

    #[test]
    fn what_is_nested_too_deeply_is_text() {
        let deep = (0..600).fold(Term::Int(1), |term, _| Term::list(vec![term]));
        let json = Format::Json.line(&deep);
        let open = json.chars().take_while(|c| *c == '[').count();
        assert_eq!(open, DEEPEST);
        assert!(json[open..].starts_with('"'));
    }
}
