//! Comparisons that are words: `in`, `between` and `like`, each with `not` before it or not.
//!
//! `like` is made of parts of binaries, since match specifications have no such function: so `%` stands once, at an end
//! or between two texts. As in SQL it tells no letters of ASCII by their case.

use fyris_term::Term;

use super::expression::{Expressions, Nested};
use super::shape::call;
use crate::shell::error::ShellError;

/// The words, which stand where another comparison does.
const WORDS: [&str; 3] = ["in", "between", "like"];

const NO_LIKE: &str = "`like` here takes a text with one `%` at most, and no `_`: `SELECT ... WHERE ... LIKE` takes any";

impl Expressions<'_, '_> {
    /// Parses a comparison with `left`, if one of the words stands here.
    pub(super) fn worded(&mut self, left: &Term) -> Result<Option<Nested>, ShellError> {
        let denied = self.is_denied() && self.scan.take("not");
        let Some(word) = WORDS.into_iter().find(|word| self.scan.take(word)) else {
            return Ok(None);
        };
        if matches!(left.as_tuple(), Some([Term::Atom(not), _]) if not.as_str() == "not") {
            let problem = format!("`not` stands before `{word}`: `age not {word} ...`");
            return Err(self.scan.refused(&problem));
        }
        let (test, depth) = match word {
            "in" => self.one_of(left)?,
            "between" => self.between(left)?,
            _ => (self.like(left)?, 1),
        };
        Ok(Some(match denied {
            true => (call("not", vec![test]), self.deeper(depth)?),
            false => (test, depth),
        }))
    }

    /// Returns whether `not` and one of the words stand here.
    fn is_denied(&mut self) -> bool {
        let rest = self.scan.rest();
        let after = rest
            .strip_prefix("not")
            .filter(|_| self.scan.word() == "not");
        let after = after.unwrap_or_default().trim_start();
        let word = &after[..after
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(after.len())];
        WORDS.contains(&word)
    }

    /// Parses the values behind `in`, in parentheses or a list.
    fn one_of(&mut self, left: &Term) -> Result<Nested, ShellError> {
        let end = match self.scan.rest().starts_with('[') {
            true => "]",
            false => ")",
        };
        let begin = if end == "]" { "[" } else { "(" };
        self.scan.expect(begin, "values in `(...)` or `[...]`")?;
        let values = self.parts(end, Self::expression)?;
        self.close(end, "`,`, an operator or the end of the values")?;
        let mut test = None;
        let mut depth = 1;
        for value in values {
            let equal = self.comparison("==", left.clone(), value)?;
            test = Some(match test {
                None => equal,
                Some(before) => {
                    depth = self.deeper(depth)?;
                    call("orelse", vec![before, equal])
                }
            });
        }
        Ok((test.unwrap_or_else(|| Term::atom("false")), depth))
    }

    /// Parses two bounds with `and` between, both of which are in the range.
    fn between(&mut self, left: &Term) -> Result<Nested, ShellError> {
        let (low, first) = self.bound()?;
        self.scan.expect("and", "an operator or `and`")?;
        let (high, second) = self.bound()?;
        let tests = vec![
            self.comparison(">=", left.clone(), low)?,
            self.comparison("=<", left.clone(), high)?,
        ];
        Ok((call("andalso", tests), self.deeper(first.max(second) + 1)?))
    }

    /// Parses the pattern of `like`.
    fn like(&mut self, left: &Term) -> Result<Term, ShellError> {
        let pattern = match self.scan.rest().chars().next() {
            Some('"' | '\'' | '<') => self.scan.term()?,
            _ => return Err(self.scan.expected("a text: \"Bo%\"")),
        };
        let text = match &pattern {
            Term::Atom(name) => Some(name.as_str().to_owned()),
            Term::Binary(bytes) => String::from_utf8(bytes.to_vec()).ok(),
            Term::List(codes) => codes.iter().map(character).collect(),
            _ => None,
        };
        let text = text.filter(|text| !text.contains('_') && text.matches('%').count() < 2);
        let text = text.ok_or_else(|| self.scan.refused(NO_LIKE))?;
        Ok(match text.split_once('%') {
            None => all(
                has_size("=:=", left, text.len()),
                parts_like(left, &text, 0),
            ),
            Some((begin, end)) => {
                let size = has_size(">=", left, begin.len() + end.len());
                let begins = parts_like(left, begin, 0);
                all(size, begins.chain(parts_like(left, end, end.len())))
            }
        })
    }
}

fn character(code: &Term) -> Option<char> {
    char::from_u32(u32::try_from(code.as_int()?).ok()?)
}

/// The test of a binary for its size.
fn has_size(sign: &str, of: &Term, size: usize) -> Term {
    let size_of = call("byte_size", vec![of.clone()]);
    let fits = call(sign, vec![size_of, Term::Int(size as i64)]);
    call("andalso", vec![call("is_binary", vec![of.clone()]), fits])
}

/// The test of all tests.
fn all(first: Term, more: impl Iterator<Item = Term>) -> Term {
    let parts: Vec<Term> = [Term::atom("andalso"), first]
        .into_iter()
        .chain(more)
        .collect();
    match parts.len() {
        2 => parts[1].clone(),
        _ => Term::tuple(parts),
    }
}

/// The tests of the bytes of a binary, from the beginning or the last `from_end` of them: of letters each for itself,
/// in both cases, of all that is between them at once.
fn parts_like<'t>(of: &'t Term, text: &'t str, from_end: usize) -> impl Iterator<Item = Term> + 't {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
    let runs = text
        .as_bytes()
        .chunk_by(move |a, b| !is_letter(a) && !is_letter(b));
    let mut at = 0;
    runs.map(move |run| {
        let begin = at;
        at += run.len();
        let begin = Term::Int(begin as i64);
        let begin = match from_end {
            0 => begin,
            end => {
                let size = call("byte_size", vec![of.clone()]);
                let end = call("-", vec![size, Term::Int(end as i64)]);
                call("+", vec![end, begin])
            }
        };
        let length = Term::Int(run.len() as i64);
        let part = call("binary_part", vec![of.clone(), begin, length]);
        let is = |bytes: Vec<u8>| call("=:=", vec![part.clone(), Term::binary(bytes)]);
        match run {
            [letter] if letter.is_ascii_alphabetic() => {
                let cases = [letter.to_ascii_lowercase(), letter.to_ascii_uppercase()];
                call("orelse", cases.map(|case| is(vec![case])).to_vec())
            }
            run => is(run.to_vec()),
        }
    })
}
