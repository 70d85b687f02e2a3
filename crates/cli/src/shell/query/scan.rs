//! A place in the text of a query, and what is wrong there.

use fyris_term::Term;
use fyris_term::text::parse_prefix;

use crate::shell::error::{ShellError, SyntaxError};
use crate::shell::names::is_in_name;

/// The number of characters of the text that are shown as found.
const SHOWN: usize = 20;

/// Reads a text from left to right.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Brackets that are open; more text is waited for only inside of them.
    pub(super) open: usize,
}

impl<'a> Scanner<'a> {
    /// Makes a scanner from byte `at` of `text` on.
    pub(super) fn new(text: &'a str, at: usize) -> Scanner<'a> {
        Scanner { text, at, open: 0 }
    }

    /// Returns the rest of the text after blanks and comments.
    pub(super) fn rest(&mut self) -> &'a str {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.trim_start();
            self.at += rest.len() - blank.len();
            match blank.strip_prefix('%') {
                Some(comment) => self.at += 1 + comment.find('\n').unwrap_or(comment.len()),
                None => return blank,
            }
        }
    }

    /// Returns whether nothing but a full stop is left.
    pub(super) fn is_over(&mut self) -> bool {
        let rest = self.rest();
        rest.is_empty() || rest == "."
    }

    /// Returns the word that stands here, not quoted; empty if none does.
    pub(super) fn word(&mut self) -> &'a str {
        let rest = self.rest();
        match rest.chars().next() {
            Some(c) if c.is_lowercase() => {
                &rest[..rest.find(|c| !is_in_name(c)).unwrap_or(rest.len())]
            }
            _ => "",
        }
    }

    /// Goes on after a number of bytes.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Takes a word or a sign, if it stands here.
    pub(super) fn take(&mut self, token: &str) -> bool {
        let here = match token.starts_with(char::is_alphabetic) {
            true => self.word() == token,
            false => self.rest().starts_with(token),
        };
        if here {
            self.skip(token.len());
        }
        here
    }

    /// Takes a sign, or says that it was expected.
    pub(super) fn expect(&mut self, sign: &str, expected: &str) -> Result<(), ShellError> {
        if self.take(sign) {
            return Ok(());
        }
        Err(self.expected(expected))
    }

    /// Parses a number above zero.
    pub(super) fn count(&mut self, what: &str) -> Result<usize, ShellError> {
        let rest = self.rest();
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        match rest[..digits].parse() {
            Ok(count) if count > 0 => {
                self.skip(digits);
                Ok(count)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Parses a term of Erlang's. Inside a native record or a binary `$1` would be read as a character.
    pub(super) fn term(&mut self) -> Result<Term, ShellError> {
        let rest = self.rest();
        let has_parts = rest.starts_with('#') || rest.starts_with("<<");
        match parse_prefix(rest) {
            Ok((term, used)) => match has_parts.then(|| dollar_inside(&rest[..used])).flatten() {
                Some(dollar) => {
                    self.skip(dollar);
                    Err(self.refused(
                        "a native record or a binary stands for itself, with no `$1`, `$_` or `$$` inside",
                    ))
                }
                None => {
                    self.skip(used);
                    Ok(term)
                }
            },
            Err(error) => {
                self.skip(error.offset);
                Err(self.error(error.kind.to_string(), error.is_incomplete()))
            }
        }
    }

    /// Returns the error of something else standing here.
    pub(super) fn expected(&mut self, expected: &str) -> ShellError {
        let over = self.rest().is_empty();
        let found = match over {
            true => "the end".to_owned(),
            false => format!("`{}`", self.glimpse()),
        };
        ShellError::Syntax(SyntaxError {
            column: self.column(),
            expected: expected.to_owned(),
            found,
            incomplete: over && self.open > 0,
        })
    }

    /// Returns an error in its own words.
    fn error(&self, problem: String, incomplete: bool) -> ShellError {
        match incomplete {
            true => ShellError::Syntax(SyntaxError {
                column: self.column(),
                expected: "a whole term".to_owned(),
                found: "the end".to_owned(),
                incomplete,
            }),
            false => ShellError::other(format!("column {}: {problem}", self.column())),
        }
    }

    /// Returns the error of something that stands here and may not.
    pub(super) fn refused(&self, problem: &str) -> ShellError {
        self.error(problem.to_owned(), false)
    }

    fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    /// Returns the word or the few characters that stand here.
    fn glimpse(&mut self) -> String {
        let rest = self.rest();
        let word = self.word();
        let shown = if word.is_empty() { rest } else { word };
        let line = shown.lines().next().unwrap_or_default();
        match line.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}...", &line[..end]),
            None => line.to_owned(),
        }
    }
}

/// Returns where the text of a term has `$1`, `$_` or `$$`, outside of quotes and comments.
fn dollar_inside(term: &str) -> Option<usize> {
    let mut chars = term.char_indices();
    let mut quote = None;
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => drop(chars.next()),
            (Some(open), c) => quote = (c != open).then_some(open),
            (None, '"' | '\'') => quote = Some(c),
            (None, '%') => drop(chars.find(|&(_, c)| c == '\n')),
            (None, '$') if is_dollar(&term[at..]) => return Some(at),
            // A character, maybe escaped.
            (None, '$') if chars.next().is_some_and(|(_, c)| c == '\\') => drop(chars.next()),
            _ => {}
        }
    }
    None
}

/// Returns whether the text begins with one of `$1`, `$_` and `$$`, and not with a character.
pub(super) fn is_dollar(rest: &str) -> bool {
    rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '_' || c == '$')
}
