//! Strings of several lines and sigils, as OTP 27 and later read them.
//!
//! ```text
//! """          ~"text"   ~b"text"   ~B"text"   a binary of UTF-8
//!   text       ~s"text"  ~S"text"              a string
//!   """        also ~s(text), [], {}, <>, //, ||, '', ``, ##, and ~s""" ... """
//! ```
//!
//! In `~B`, `~S` and text of several lines a backslash is itself, but for `~b"""` and `~s"""`.

use super::error::{ParseErrorKind, Wrong};
use super::scan::Scanner;
use crate::Term;

const A_STRING: &str = "a string";
const A_SIGIL: &str = "a sigil";

/// The quotes that text of several lines begins with, at least.
const THREE: &str = "\"\"\"";

impl Scanner<'_> {
    /// Reads a string; the cursor is on its first quote.
    pub(super) fn string(&mut self) -> Result<String, Wrong> {
        if self.rest().starts_with(THREE) {
            self.lines(true, A_STRING)
        } else {
            self.quoted('"', A_STRING)
        }
    }

    /// Reads a sigil, the cursor on its `~`.
    pub(super) fn sigil(&mut self) -> Result<Term, Wrong> {
        let start = self.at;
        self.bump();
        let kind = self.word();
        let verbatim = match kind {
            "" | "b" | "s" => false,
            "B" | "S" => true,
            _ => {
                let what = "a sigil that is none of ~, ~b, ~B, ~s and ~S";
                return Err(Wrong::new(start, ParseErrorKind::Refused(what)));
            }
        };
        let text = if self.rest().starts_with(THREE) {
            self.lines(verbatim || kind.is_empty(), A_SIGIL)?
        } else {
            let close = match self.peek() {
                Some('(') => ')',
                Some('[') => ']',
                Some('{') => '}',
                Some('<') => '>',
                Some(quote @ ('/' | '|' | '#' | '`' | '\'' | '"')) => quote,
                _ => return Err(self.unexpected("a quote or a bracket behind the sigil")),
            };
            match verbatim {
                true => self.verbatim(close)?,
                false => self.quoted(close, A_SIGIL)?,
            }
        };
        Ok(match kind {
            "s" | "S" => Term::string(&text),
            _ => Term::binary(text.into_bytes()),
        })
    }

    /// Reads up to `close`, the cursor on what opens.
    fn verbatim(&mut self, close: char) -> Result<String, Wrong> {
        let start = self.at;
        self.bump();
        let rest = self.rest();
        let Some(end) = rest.find(close) else {
            return Err(Wrong::new(start, ParseErrorKind::Unclosed(A_SIGIL)));
        };
        self.at += end + close.len_utf8();
        Ok(rest[..end].to_owned())
    }

    /// Reads text of several lines, the cursor on its first quote. It ends at a line that begins with as many quotes,
    /// behind the blanks that each line begins with and that are not its own.
    fn lines(&mut self, verbatim: bool, what: &'static str) -> Result<String, Wrong> {
        let start = self.at;
        let rest = self.rest();
        let quotes = &rest[..rest.len() - rest.trim_start_matches('"').len()];
        self.at += quotes.len();
        let unclosed = || Wrong::new(start, ParseErrorKind::Unclosed(what));
        let first = self.rest().split('\n').next().unwrap_or_default();
        if !first.trim_matches(is_blank).is_empty() {
            let what = "text behind three quotes: it begins on the next line";
            return Err(Wrong::new(start, ParseErrorKind::Refused(what)));
        }
        self.line(true).ok_or_else(unclosed)??;
        let mut lines = Vec::new();
        let indent = loop {
            let rest = self.rest();
            let indent = &rest[..rest.len() - rest.trim_start_matches(is_blank_in_line).len()];
            if rest[indent.len()..].starts_with(quotes) {
                self.at += indent.len() + quotes.len();
                break indent;
            }
            let at = self.at;
            lines.push((at, self.line(verbatim).ok_or_else(unclosed)??));
        };
        if let Some((_, last)) = lines.last_mut() {
            last.truncate(
                last.strip_suffix("\r\n")
                    .unwrap_or(&last[..last.len() - 1])
                    .len(),
            );
        }
        let mut text = String::new();
        for (at, line) in &lines {
            match line.strip_prefix(indent) {
                Some(line) => text += line,
                None if matches!(line.as_str(), "" | "\n" | "\r\n") => text += line,
                None => {
                    let what = "a line that is indented less than the quotes at the end";
                    return Err(Wrong::new(*at, ParseErrorKind::Refused(what)));
                }
            }
        }
        Ok(text)
    }

    /// Reads a line and its end; `None` if the text ends before.
    fn line(&mut self, verbatim: bool) -> Option<Result<String, Wrong>> {
        let mut line = String::new();
        loop {
            match self.bump()? {
                '\\' if !verbatim => match self.escape(Some(A_STRING)) {
                    Ok(c) => line.push(c),
                    Err(wrong) => return Some(Err(wrong)),
                },
                c => line.push(c),
            }
            // Escaped, too.
            if line.ends_with('\n') && self.text[..self.at].ends_with('\n') {
                return Some(Ok(line));
            }
        }
    }
}

/// The white space of Erlang.
fn is_blank(c: char) -> bool {
    matches!(c, '\0'..=' ' | '\u{80}'..='\u{A0}')
}

fn is_blank_in_line(c: char) -> bool {
    c != '\n' && is_blank(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What OTP 29.1.1 reads (`erl_parse:parse_term`), and prints with `~w`.
    #[test]
    fn text_is_read_as_otp_29_reads_it() {
        for (text, printed) in [
            ("\"\"\"\nabc\n\"\"\"", "[97,98,99]"),
            (
                "\"\"\"\n  abc\n\n    d\\n\n  \"\"\"",
                "[97,98,99,10,10,32,32,100,92,110]",
            ),
            ("\"\"\"  \n\"\"\"", "[]"),
            ("\"\"\"\"\n\"\"\"\n\"\"\"\"", "[34,34,34]"),
            ("\"\"\"\nabc\r\n\"\"\"", "[97,98,99]"),
            ("\"\"\"\n\n\"\"\"", "[]"),
            ("\"\"\"\na\n\"\"\" \"b\"", "[97,98]"),
            ("\"\"\"\na \"\"\" b\n\"\"\"", "[97,32,34,34,34,32,98]"),
            ("~\"a\\nb\"", "<<97,10,98>>"),
            ("~b\"a\\nb\"", "<<97,10,98>>"),
            ("~B\"a\\nb\"", "<<97,92,110,98>>"),
            ("~s\"a\\nb\"", "[97,10,98]"),
            ("~S\"a\\nb\"", "[97,92,110,98]"),
            ("~s{a(}", "[97,40]"),
            ("~S[a\\]", "[97,92]"),
            ("~b<å€>", "<<195,165,226,130,172>>"),
            (
                "{~(a),~|a|,~/a/,~#a#,~`a`,~'a'}",
                "{<<97>>,<<97>>,<<97>>,<<97>>,<<97>>,<<97>>}",
            ),
            ("~\"\"\"\n a\\n\n \"\"\"", "<<97,92,110>>"),
            ("~b\"\"\"\n a\\tb\n \"\"\"", "<<97,9,98>>"),
            ("~s\"\"\"\n a\\\"\"\" b\n \"\"\"", "[97,34,34,34,32,98]"),
            ("~S\"\"\"\n a\\\n \"\"\"", "[97,92]"),
            ("~b\"\"\"\n \\sa\\\n b\n \"\"\"", "<<32,97,10,98>>"),
            ("{~\"a\",~s(b)}", "{<<97>>,[98]}"),
            ("<<\"\"\"\nå\n\"\"\"/utf8>>", "<<195,165>>"),
            ("~B\"\"\"\n\"\"\"", "<<>>"),
            ("16#1.8", "1.5"),
            ("16#1.8#e2", "384.0"),
            ("16#1.8#e-2", "0.005859375"),
            ("16#1.8#E+2", "384.0"),
            ("2#0.111", "0.875"),
            ("2#0.10101#e8", "168.0"),
            ("10#1.5#e2", "150.0"),
            ("16#fefe.fefe#e16", "1.2041849337671418e24"),
            ("36#z.z", "35.97222222222222"),
            ("16#1.8e2", "1.55517578125"),
            ("-16#0.0", "-0.0"),
            ("2#1.0#e1023", "8.98846567431158e307"),
            ("2#1.0#e-1080", "0.0"),
            ("16#1_0.8_0#e1_0", "18141941858304.0"),
            ("3#1.2", "1.6666666666666665"),
            ("7#123456.654321#e-5", "1.3610978891211"),
            ("16#.8", "0.5"),
            ("36#zzzzzzzzzzzzzzzzzzzz.zzz", "1.3367494538843734e31"),
            ("16#ffffffffffffff.f", "7.205759403792794e16"),
        ] {
            let term = Term::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(super::super::print_w(&term), printed, "{text}");
        }
    }

    #[test]
    fn what_otp_29_refuses_is_refused() {
        for (text, incomplete) in [
            ("\"\"\"abc\"\"\"", false),
            ("\"\"\"\n  a\n b\n  \"\"\"", false),
            ("\"\"\"\n \n  a\n  \"\"\"", false),
            ("\"\"\"\na\"\"\"", true),
            ("\"\"\"", true),
            ("~x\"a\"", false),
            ("~ \"a\"", false),
            ("~\"a\"x", false),
            ("~\"a\" \"b\"", false),
            ("~(a", true),
            ("~S(a", true),
            ("~", true),
            ("<<~\"abc\">>", false),
            ("16#1.8#e", true),
            ("16#1.8#x", false),
            ("16#1.8#", true),
            ("2#1.0#e1024", false),
            ("10#1.5e2", false),
            ("16#1.8#e2a", false),
            ("2#1.2", false),
            ("37#1.0", false),
        ] {
            let error = Term::parse(text).expect_err(text);
            assert_eq!(error.is_incomplete(), incomplete, "{text}: {error}");
        }
    }
}
