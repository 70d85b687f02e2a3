//! Errors of SQL: what is not known, and where it stands.

use std::fmt::Display;

use sqlparser::ast::{Spanned, Statement};
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::Span;

use super::KNOWN;
use crate::shell::error::ShellError;

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
    at(
        span,
        &format!("`{}` is no part of the SQL here", brief(text)),
    )
}

/// Returns the error of a statement that is not known.
pub(super) fn statement(statement: &Statement) -> ShellError {
    let text = statement.to_string();
    ShellError::other(format!("`{}`: of SQL there are {KNOWN}", brief(&text)))
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
