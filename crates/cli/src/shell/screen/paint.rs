//! Colours, where there is a terminal that has them.

use std::borrow::Cow;
use std::io::IsTerminal;

const RESET: &str = "\x1b[0m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const MAGENTA: &str = "\x1b[35m";
const CYAN: &str = "\x1b[36m";

/// Whether one of the outputs takes colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Returns the paint of an output: none unless it is a terminal, nor where `NO_COLOR` (no-color.org) says anything
    /// or the terminal calls itself dumb.
    pub(crate) fn of(output: &impl IsTerminal) -> Paint {
        let told = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = told("TERM").is_none_or(|terminal| terminal == "dumb");
        Paint {
            on: output.is_terminal() && !dumb && told("NO_COLOR").is_none(),
        }
    }

    /// Returns an error's text.
    pub(crate) fn error(self, text: &str) -> Cow<'_, str> {
        self.all(RED, text)
    }

    /// Returns a warning's text.
    pub(crate) fn warning(self, text: &str) -> Cow<'_, str> {
        self.all(YELLOW, text)
    }

    fn all<'t>(self, colour: &str, text: &'t str) -> Cow<'t, str> {
        match self.on {
            true => format!("{colour}{text}{RESET}").into(),
            false => text.into(),
        }
    }

    /// Returns a line of terms as Erlang writes them: text green, numbers cyan, atoms magenta.
    pub(crate) fn terms(self, line: &str) -> Cow<'_, str> {
        if !self.on {
            return line.into();
        }
        let (mut out, mut rest) = (String::with_capacity(line.len() * 2), line);
        while let Some(first) = rest.chars().next() {
            let (length, colour) = token(rest, first);
            let (token, after) = rest.split_at(length);
            match colour {
                Some(colour) => out.extend([colour, token, RESET]),
                None => out.push_str(token),
            }
            rest = after;
        }
        out.into()
    }
}

/// Returns the length and the colour of the token that `text` begins with, whose first character is `first`.
fn token(text: &str, first: char) -> (usize, Option<&'static str>) {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@');
    let until = |ends: &dyn Fn(char) -> bool| text.find(ends).unwrap_or(text.len());
    match first {
        '"' => (quoted(text), Some(GREEN)),
        '\'' => (quoted(text), Some(MAGENTA)),
        '0'..='9' => (until(&|c| !(word(c) || c == '.' || c == '#')), Some(CYAN)),
        '-' if text[1..].starts_with(|c: char| c.is_ascii_digit()) => {
            let digits = text[1..].find(|c: char| !(word(c) || c == '.'));
            (digits.map_or(text.len(), |end| end + 1), Some(CYAN))
        }
        c if c.is_lowercase() => (until(&|c| !word(c)), Some(MAGENTA)),
        // A word of another kind (`Ref`, the type behind `/`) or a run of signs.
        c if word(c) => (until(&|c| !word(c)), None),
        '/' => (
            1 + text[1..].find(|c| !word(c)).unwrap_or(text.len() - 1),
            None,
        ),
        c => (c.len_utf8(), None),
    }
}

/// Returns the length of a quoted text with its quotes; of an open one, of all of it.
fn quoted(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let mut escaped = false;
    for (i, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return i + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON: Paint = Paint { on: true };

    /// Returns a line with the letters of the colours in the places of their codes.
    fn painted(line: &str) -> String {
        let codes = [
            (GREEN, "<g>"),
            (CYAN, "<c>"),
            (MAGENTA, "<m>"),
            (RESET, "<>"),
        ];
        let painted = ON.terms(line).into_owned();
        codes
            .iter()
            .fold(painted, |text, (code, letter)| text.replace(code, letter))
    }

    #[test]
    fn each_kind_of_term_has_its_colour() {
        for (line, wanted) in [
            ("{a1,'B c',\"s,1\"}", "{<m>a1<>,<m>'B c'<>,<g>\"s,1\"<>}"),
            ("[-1,2.5e3,- x]", "[<c>-1<>,<c>2.5e3<>,- <m>x<>]"),
            ("<<\"ü\\\"\"/utf8>>", "<<<g>\"ü\\\"\"<>/utf8>>"),
            ("#{k => <<1,2:3>>}", "#{<m>k<> => <<<c>1<>,<c>2<>:<c>3<>>>}"),
            ("\"open", "<g>\"open<>"),
            ("'", "<m>'<>"),
            ("-", "-"),
            ("/", "/"),
        ] {
            assert_eq!(painted(line), wanted);
        }
        assert_eq!(Paint { on: false }.terms("{a,1}"), "{a,1}");
    }
}
