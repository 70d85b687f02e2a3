//! Errors of SQL: what is not known, and where it stands.

use std::fmt::Display;

use sqlparser::ast::{Spanned, Statement};
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::Span;

use super::KNOWN;
use super::function::SqlFunction;
use crate::shell::error::ShellError;
use crate::shell::query::Aggregation;

/// Characters of a statement that are shown.
const SHOWN: usize = 60;

/// Returns the error of something at its place.
pub(super) fn at(span: Span, problem: &str) -> ShellError {
    let start = span.start;
    ShellError::other(match (start.line, start.column) {
        (0, _) => problem.to_owned(),
        (1, column) => format!("column {column}: {problem}"),
        (line, column) => format!("line {line}, column {column}: {problem}"),
    })
}

/// Returns the error of a part of SQL that is not known.
pub(super) fn part(part: &(impl Spanned + Display)) -> ShellError {
    named(part.span(), &part.to_string())
}

/// Returns the error of a part of SQL that is not known, by its text.
pub(super) fn named(span: Span, text: &str) -> ShellError {
    let instead = instead(text).map(|instead| format!(": {instead}"));
    let instead = instead.unwrap_or_default();
    at(
        span,
        &format!("`{}` is not supported{instead}", brief(text)),
    )
}

/// Returns what to write in the place of what is not known, by a word of it.
fn instead(text: &str) -> Option<&'static str> {
    let text = format!(" {} ", text.to_ascii_uppercase());
    let known = INSTEAD.iter().find(|(word, _)| text.contains(word));
    // The grammar knows some functions by name.
    let is_call = text
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_alphabetic())
        .starts_with('(');
    let instead = known.map(|(_, instead)| *instead);
    instead.or(is_call.then_some(FUNCTIONS))
}

/// What there is of functions.
const FUNCTIONS: &str = "there are abs, coalesce, length, lower, round, substr and upper, and of groups avg, count, \
                         max, min and sum";

/// Words, and what to write in their place; the first that stands in a text says what it is.
const INSTEAD: [(&str, &str); 23] = [
    (" UNION ", "each SELECT is a statement of its own"),
    (" INTERSECT ", "IN of values, or a JOIN"),
    (" EXCEPT ", "NOT IN of values, or a LEFT JOIN and IS NULL"),
    (" WITH ", "a JOIN, or a SELECT for each step"),
    (" EXISTS", "a JOIN, or a LEFT JOIN and IS NULL"),
    ("(SELECT ", "a JOIN, or the values themselves"),
    (" SELECT ", "VALUES with the rows"),
    (" OVER ", "GROUP BY"),
    (" FILTER ", "an aggregate of CASE WHEN ... THEN ... END"),
    (
        " OR REPLACE ",
        "the command `insert` replaces objects, DELETE comes before INSERT",
    ),
    (" OR ", "INSERT and UPDATE are refused where a key is there"),
    (
        " ON CONFLICT",
        "UPDATE, or the command `insert`, which replaces objects",
    ),
    (" RETURNING ", "a SELECT beside it"),
    (" NULLS ", "ORDER BY x IS NULL, x"),
    (" COLLATE ", "lower(x) compares without case"),
    (" ESCAPE ", "substr(x, 1, 2) = '..'"),
    (" GLOB ", "LIKE, with % and _"),
    (" REGEXP ", "LIKE, with % and _"),
    (" JOIN ", "JOIN and LEFT JOIN with `ON a.x = b.key`"),
    (
        " CAST(",
        "x + 0 makes a number of a text, x || '' a text of a number",
    ),
    (" % ", "x - x / n * n"),
    (" DEFAULT VALUES ", "VALUES with the key"),
    (" IS ", "=, IS NULL and IS NOT NULL"),
];

/// Returns the error of a function that is not known, or is called otherwise than it is known.
pub(super) fn function(span: Span, text: &str, name: &str) -> ShellError {
    at(
        span,
        &format!(
            "`{}` is not supported: {}",
            brief(text),
            match (Aggregation::of(name, 1), SqlFunction::named(name)) {
                (None, None) => FUNCTIONS,
                (None, Some(_)) => "it takes another number of arguments, and no DISTINCT",
                (Some(_), _) =>
                    "an aggregate takes one argument, DISTINCT before it or not; `count(*)` counts rows",
            }
        ),
    )
}

/// Returns the error of a statement that is not known.
pub(super) fn statement(statement: &Statement) -> ShellError {
    let text = statement.to_string();
    ShellError::other(format!("`{}` is not supported: {KNOWN}", brief(&text)))
}

/// Returns the error of what is left of a part when all that is known has been taken out, if there is such. `empty` is
/// what a part is without all of it.
pub(super) fn rest(span: Span, left: &impl Display, empty: &str) -> Result<(), ShellError> {
    let left = left.to_string();
    let words: Vec<&str> = left.split_whitespace().collect();
    let known: Vec<&str> = empty.split_whitespace().collect();
    match words == known {
        true => Ok(()),
        false => {
            let begins = words.iter().zip(&known).take_while(|(a, b)| a == b).count();
            let ends = words[begins..]
                .iter()
                .rev()
                .zip(known[begins..].iter().rev());
            let ends = ends.take_while(|(a, b)| a == b).count();
            Err(named(span, &words[begins..words.len() - ends].join(" ")))
        }
    }
}

fn brief(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the error of a text that is no SQL.
pub(super) fn parse_error(error: ParserError) -> ShellError {
    ShellError::other(match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            text.replace(" at Line: 1, Column: ", " at column ")
        }
        ParserError::RecursionLimitExceeded => "nested too deeply".to_owned(),
    })
}
