//! Text: Erlang's syntax for terms, both ways.
//!
//! - [`Term::parse`] and [`parse_prefix`] read it.
//! - [`print_w`] prints like `io:format("~tw")`, all on one line; `Display` (`to_string()`) and `Debug` do so but for
//!   binaries that are text, which they write as text.
//! - [`print_p`] lays it out like `io:format("~tp")`: strings as strings, long terms over several lines.
//!
//! # Releases
//!
//! Text is read as OTP 29 reads it. What differs between releases:
//!
//! | text | OTP 25 | OTP 29 | Fyris |
//! |---|---|---|---|
//! | three quotes and a line end | two strings, the second with its line ends | text of several lines | as 29 |
//! | `"""abc"""` | `"abc"` | refused | as 29 |
//! | `"a""b"` | `"ab"` | refused | as 25 |
//! | `~"abc"`, `~s(abc)`, `~B`, `~S`, `~b` | refused | a binary or a string | as 29 |
//! | `16#1.8#e2` | refused | 384.0 | as 29 |
//! | `maybe`, `else` | atoms | reserved words | as 25, read and printed |
//! | `#m:n{x = 1}`, a native record | refused | refused in a term, an expression | read, as exported |
//! | `#m:n/local{x = 1}`, one that is not exported | refused | refused | read |
//!
//! # Names of nodes
//!
//! OTP prints a pid of another node as `<5827.1.2>`, where `5827` means something in that run of that system only.
//! Fyris prints the node itself, `<'rabbit@host'/7.1.2>`, with its creation behind the slash unless it is 0, and reads
//! it back. Pids of the nameless node `nonode@nohost` (creation 0) are `<0.1.2>` in both. The same goes for ports and
//! references.
//!
//! OTP prints a native record that its module does not export as one that it does: `#m:n{x = 1}`. They are two terms,
//! and Fyris prints the first as `#m:n/local{x = 1}`.
//!
//! So whatever [`print_w`] prints can be read back exactly, except closures (`#Fun<m.1.2>`).

mod bitstring;
mod brief;
mod chars;
mod error;
mod float;
mod identifier;
mod parse;
mod pretty;
mod quoted;
mod scan;
mod write;

pub use write::OWN_NODE;

use std::fmt;

pub use error::{ParseError, ParseErrorKind};
pub use pretty::{PrintOptions, print_p};

use crate::Term;

impl Term {
    /// Reads one term in Erlang's syntax; a full stop behind it is allowed. O(length of the text), except for
    /// integers of thousands of digits.
    ///
    /// # Errors
    ///
    /// The error, with line and column; [`ParseError::is_incomplete`] if more text could make it right.
    pub fn parse(text: &str) -> Result<Term, ParseError> {
        Term::parse_with(text, &mut |_| None)
    }

    /// Reads one term in Erlang's syntax, with variables, each of which stands for the term that `value` gives for its
    /// name; without one it is an error.
    ///
    /// ```
    /// use fyris_term::{Term, term};
    ///
    /// let name = term!("Uppsala");
    /// let made = Term::parse_with("{town, Name, '_'}", &mut |_| Some(name.clone()))?;
    /// assert_eq!(made, term!({:town, "Uppsala", :"_"}));
    /// # Ok::<(), fyris_term::text::ParseError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error, with line and column; [`ParseError::is_incomplete`] if more text could make it right.
    pub fn parse_with(
        text: &str,
        value: &mut dyn FnMut(&str) -> Option<Term>,
    ) -> Result<Term, ParseError> {
        whole(text, parse::Parser::new(text, value))
    }

    /// Reads one term in Erlang's syntax, but text in double quotes is what `string` makes of it: for languages whose
    /// strings are other terms than Erlang's. (`~s"text"` is Erlang's.)
    ///
    /// ```
    /// use fyris_term::{Term, term};
    ///
    /// let made = Term::parse_strings_as("{town, \"Uppsala\"}", |text| Term::binary(text.as_bytes()))?;
    /// assert_eq!(made, term!({:town, "Uppsala"}));
    /// # Ok::<(), fyris_term::text::ParseError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Term::parse`].
    pub fn parse_strings_as(text: &str, string: fn(&str) -> Term) -> Result<Term, ParseError> {
        let mut none = |_: &str| None;
        let mut parser = parse::Parser::new(text, &mut none);
        parser.string = string;
        whole(text, parser)
    }
}

/// Reads one term, and nothing behind it but a full stop.
fn whole(text: &str, mut parser: parse::Parser<'_>) -> Result<Term, ParseError> {
    let parsed = parser.term().and_then(|term| {
        parser.scan.skip_blank();
        if parser.scan.take(".") {
            parser.scan.skip_blank();
        }
        if parser.scan.rest().is_empty() {
            return Ok(term);
        }
        Err(parser.scan.unexpected("the end of the text"))
    });
    parsed.map_err(|wrong| ParseError::at(text, wrong.offset, wrong.kind))
}

impl std::str::FromStr for Term {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Term, ParseError> {
        Term::parse(text)
    }
}

/// Reads the term at the start of `text` (blanks and comments before it are skipped): the term, and the number of
/// bytes up to its end. The text behind it is the caller's.
///
/// # Errors
///
/// The error, with line and column; [`ParseError::is_incomplete`] if more text could make it right.
pub fn parse_prefix(text: &str) -> Result<(Term, usize), ParseError> {
    let mut none = |_: &str| None;
    let mut parser = parse::Parser::new(text, &mut none);
    match parser.term() {
        Ok(term) => Ok((term, parser.scan.at)),
        Err(wrong) => Err(ParseError::at(text, wrong.offset, wrong.kind)),
    }
}

/// Prints like `io:format("~tw")`: one line, strings as lists of numbers. O(size of the text).
pub fn print_w(term: &Term) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write::write_term(&mut text, term, write::Style::whole(true));
    text
}

/// Writes one line, like `io:format("~tw")`, but binaries that are printable text as text: `<<"abc">>`. [`Term::parse`]
/// reads either.
impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = write::Style {
            text_up_to: usize::MAX,
            ..write::Style::whole(true)
        };
        write::write_term(f, self, style)
    }
}

/// Writes Erlang's syntax, like `Display`: it says more than Rust's would.
impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As in a term: quoted if need be.
impl fmt::Display for crate::Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        chars::write_atom(f, self.as_str(), true)
    }
}

impl fmt::Debug for crate::Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
