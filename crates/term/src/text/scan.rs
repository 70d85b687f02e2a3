//! The scanner: characters, names, quoted text and numbers, one at a time, on demand.
//!
//! The cursor only moves forward over whole characters, so invariant **ON_A_BOUNDARY**: `at` is always a character
//! boundary of `text`, and slicing there cannot panic.

use num_bigint::BigInt;
use num_traits::{Num, ToPrimitive};

use super::chars::{continues_name, is_reserved, starts_atom};
use super::error::{ParseErrorKind, Wrong};
use crate::{Atom, Float, Term};

/// The most digits an integer may have in a text: converting takes time quadratic in them.
pub(super) const MAX_DIGITS: usize = 100_000;

pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Skips white space and comments.
    pub(super) fn skip_blank(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                // The white space of Erlang: controls, the space, and the no-break space with the C1 controls.
                '\0'..=' ' | '\u{80}'..='\u{A0}' => {
                    self.bump();
                }
                '%' => {
                    let comment = self.rest();
                    self.at += comment.find('\n').unwrap_or(comment.len());
                }
                _ => return,
            }
        }
    }

    /// Takes `token` if it stands here.
    pub(super) fn take(&mut self, token: &str) -> bool {
        let here = self.rest().starts_with(token);
        if here {
            self.at += token.len();
        }
        here
    }

    /// Takes `token`, blanks before it too, or says that `expected` was.
    pub(super) fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), Wrong> {
        self.skip_blank();
        if self.take(token) {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// Makes the error that something else than `expected` stands here.
    pub(super) fn unexpected(&self, expected: &'static str) -> Wrong {
        let kind = match self.peek() {
            None => ParseErrorKind::Incomplete(expected),
            // The beginning of `=>`, `>>` or `<<`, cut off.
            Some(_) if matches!(self.rest(), "<" | "=" | ">" | "#") => {
                ParseErrorKind::Incomplete(expected)
            }
            // `1.` could become `1.5`.
            Some('.')
                if self.rest() == "."
                    && self.text[..self.at].ends_with(|c: char| c.is_ascii_digit()) =>
            {
                ParseErrorKind::Incomplete(expected)
            }
            Some(c) if continues_name(c) => {
                let word: String = self
                    .rest()
                    .chars()
                    .take_while(|&c| continues_name(c))
                    .take(40)
                    .collect();
                ParseErrorKind::Unexpected {
                    expected,
                    found: format!("`{word}`"),
                }
            }
            Some(c) => ParseErrorKind::Unexpected {
                expected,
                found: format!("`{c}`"),
            },
        };
        Wrong::new(self.at, kind)
    }

    /// Reads an atom, with quotes or without.
    pub(super) fn atom(&mut self, expected: &'static str) -> Result<Atom, Wrong> {
        let start = self.at;
        match self.peek() {
            Some('\'') => {
                let name = self.quoted('\'', "a quoted atom")?;
                Atom::new(&name).map_err(|e| Wrong::new(start, e))
            }
            Some(c) if starts_atom(c) => {
                let name = self.word();
                if is_reserved(name) {
                    let what = "a reserved word: as an atom it needs quotes, like 'end'";
                    return Err(Wrong::new(start, ParseErrorKind::Refused(what)));
                }
                Atom::new(name).map_err(|e| Wrong::new(start, e))
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Takes the letters, digits, `_` and `@` that stand here.
    pub(super) fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Reads the text between quotes; the cursor is on the opening one.
    pub(super) fn quoted(&mut self, quote: char, what: &'static str) -> Result<String, Wrong> {
        let start = self.at;
        self.bump();
        let mut text = String::new();
        loop {
            match self.bump() {
                None => return Err(Wrong::new(start, ParseErrorKind::Unclosed(what))),
                Some(c) if c == quote => return Ok(text),
                Some('\\') => text.push(self.escape(Some(what))?),
                Some(c) => text.push(c),
            }
        }
    }

    /// Reads `$c`, the cursor behind the dollar.
    pub(super) fn character(&mut self) -> Result<Term, Wrong> {
        let start = self.at;
        let c = match self.bump() {
            None => return Err(Wrong::new(start, ParseErrorKind::Incomplete("a character"))),
            Some('\\') => self.escape(None)?,
            Some(c) => c,
        };
        Ok(Term::Int(i64::from(u32::from(c))))
    }

    /// Reads the escape behind a backslash. `inside`: the quotes it is in, unclosed if the text ends here.
    pub(super) fn escape(&mut self, inside: Option<&'static str>) -> Result<char, Wrong> {
        let start = self.at - 1;
        let Some(c) = self.bump() else {
            let kind = match inside {
                Some(what) => ParseErrorKind::Unclosed(what),
                None => ParseErrorKind::Incomplete("an escape sequence"),
            };
            return Err(Wrong::new(start, kind));
        };
        Ok(match c {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{0B}',
            'b' => '\u{08}',
            'f' => '\u{0C}',
            'e' => '\u{1B}',
            's' => ' ',
            'd' => '\u{7F}',
            '^' => return self.control(start),
            'x' => return self.hex_escape(start, inside),
            '0'..='7' => return Ok(self.octal_escape(c)),
            other => other,
        })
    }

    /// Reads `\^C`.
    fn control(&mut self, start: usize) -> Result<char, Wrong> {
        match self.bump() {
            Some(c @ '@'..='_') => Ok(char::from(c as u8 & 0x1F)),
            Some(c @ 'a'..='z') => Ok(char::from(c as u8 & 0x1F)),
            Some('?') => Ok('\u{7F}'),
            _ => {
                let what = "`\\^` is followed by a letter, `?`, or one of `@[\\]^_`";
                Err(Wrong::new(start, ParseErrorKind::Escape(what)))
            }
        }
    }

    /// Reads `\NNN`: one to three octal digits, the first one given.
    fn octal_escape(&mut self, first: char) -> char {
        let mut value = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            match self.peek().and_then(|c| c.to_digit(8)) {
                Some(digit) => value = value * 8 + digit,
                None => break,
            }
            self.bump();
        }
        // At most 0o777, which no surrogate is.
        char::from_u32(value).unwrap_or('\0')
    }

    /// Reads `\xHH` or `\x{H...}`.
    fn hex_escape(&mut self, start: usize, inside: Option<&'static str>) -> Result<char, Wrong> {
        let digits = if self.take("{") {
            let rest = self.rest();
            let Some(end) = rest.find(|c: char| !c.is_ascii_hexdigit()) else {
                let kind = match inside {
                    Some(what) => ParseErrorKind::Unclosed(what),
                    None => ParseErrorKind::Incomplete("`}`"),
                };
                return Err(Wrong::new(start, kind));
            };
            self.at += end;
            if !self.take("}") {
                return Err(self.unexpected("a hexadecimal digit or `}`"));
            }
            &rest[..end]
        } else {
            let rest = self.rest();
            let digits = rest
                .bytes()
                .take(2)
                .take_while(u8::is_ascii_hexdigit)
                .count();
            if digits < 2 {
                let what = "`\\x` is followed by two hexadecimal digits or by `{`";
                return Err(Wrong::new(start, ParseErrorKind::Escape(what)));
            }
            self.at += 2;
            &rest[..2]
        };
        u32::from_str_radix(digits, 16)
            .ok()
            .and_then(char::from_u32)
            .ok_or_else(|| {
                let what =
                    "no Unicode character has this number (surrogates cannot be written in a text)";
                Wrong::new(start, ParseErrorKind::Escape(what))
            })
    }

    /// Takes digits of `radix` with underscores between them, without the underscores.
    fn digits(&mut self, radix: u32) -> String {
        let mut digits = String::new();
        while let Some(c) = self.peek() {
            if c.is_digit(radix) {
                digits.push(c);
            } else {
                let next = self.rest()[c.len_utf8()..].chars().next();
                if c != '_' || digits.is_empty() || !next.is_some_and(|n| n.is_digit(radix)) {
                    break;
                }
            }
            self.bump();
        }
        digits
    }

    /// Reads an integer or a float, without sign.
    pub(super) fn number(&mut self, negative: bool) -> Result<Term, Wrong> {
        let start = self.at;
        let digits = self.digits(10);
        if self.peek() == Some('#') {
            return self.based(start, &digits, negative);
        }
        let fraction = self
            .rest()
            .strip_prefix('.')
            .and_then(|rest| rest.chars().next());
        if !fraction.is_some_and(|c| c.is_ascii_digit()) {
            let term = self.integer(start, &digits, 10, negative)?;
            return self.ends_number(start).map(|()| term);
        }
        self.bump();
        let mut text = digits + "." + &self.digits(10);
        self.exponent(start, &mut text)?;
        self.ends_number(start)?;
        let value: f64 = text.parse().unwrap_or(f64::INFINITY);
        match Float::new(if negative { -value } else { value }) {
            Some(float) => Ok(Term::Float(float)),
            None => Err(self.wrong_number(start, "a float beyond what 64 bits hold")),
        }
    }

    fn exponent(&mut self, start: usize, text: &mut String) -> Result<(), Wrong> {
        if !matches!(self.peek(), Some('e' | 'E')) {
            return Ok(());
        }
        self.bump();
        text.push('e');
        if let Some(sign @ ('+' | '-')) = self.peek() {
            self.bump();
            text.push(sign);
        }
        let digits = self.digits(10);
        if digits.is_empty() {
            return Err(match self.peek() {
                None => Wrong::new(self.at, ParseErrorKind::Incomplete("an exponent")),
                Some(_) => self.wrong_number(start, "a float without digits in its exponent"),
            });
        }
        text.push_str(&digits);
        Ok(())
    }

    /// Reads `Base#Digits`, the cursor on the `#`.
    fn based(&mut self, start: usize, base: &str, negative: bool) -> Result<Term, Wrong> {
        let radix = match base.parse() {
            Ok(radix @ 2..=36) => radix,
            _ => return Err(self.wrong_number(start, "a base that is not from 2 to 36")),
        };
        self.bump();
        let digits = self.digits(radix);
        let fraction = self.rest().strip_prefix('.');
        let fraction = fraction.and_then(|rest| rest.chars().next());
        if fraction.is_some_and(|c| c.is_digit(radix)) {
            return self.based_float(start, digits, radix, negative);
        }
        if digits.is_empty() {
            return Err(self.unexpected("digits of this base"));
        }
        let term = self.integer(start, &digits, radix, negative)?;
        self.ends_number(start).map(|()| term)
    }

    /// Reads `.Digits` and perhaps `#eExponent`, a power of the base, the cursor on the point. Calculates as OTP does:
    /// of the digits as an integer, so the last bit may be another one than that of the nearest float.
    fn based_float(
        &mut self,
        start: usize,
        whole: String,
        radix: u32,
        negative: bool,
    ) -> Result<Term, Wrong> {
        self.bump();
        let fraction = self.digits(radix);
        let mut exponent = String::from("0");
        if self.peek() == Some('#') {
            self.bump();
            if !matches!(self.peek(), Some('e' | 'E')) {
                return Err(self.unexpected("`e` and an exponent"));
            }
            exponent.clear();
            self.exponent(start, &mut exponent)?;
            exponent.remove(0);
        }
        self.ends_number(start)?;
        let fraction = fraction.trim_end_matches('0');
        let beyond = || self.wrong_number(start, "a float beyond what 64 bits hold");
        let digits = match self.integer(start, &format!("0{whole}{fraction}"), radix, negative)? {
            Term::Big(digits) => digits.to_f64(),
            digits => digits.as_int().map(|digits| digits as f64),
        };
        let exponent = exponent.parse::<i32>().map_err(|_| beyond())?;
        let power = f64::from(radix).powf(f64::from(exponent) - fraction.len() as f64);
        let sign = if negative { -1.0 } else { 1.0 };
        let value = (digits.unwrap_or(f64::INFINITY) * power).abs() * sign;
        Float::new(value).map(Term::Float).ok_or_else(beyond)
    }

    fn integer(
        &self,
        start: usize,
        digits: &str,
        radix: u32,
        negative: bool,
    ) -> Result<Term, Wrong> {
        if let Ok(small) = i64::from_str_radix(digits, radix) {
            return Ok(Term::Int(if negative { -small } else { small }));
        }
        if digits.len() > MAX_DIGITS {
            return Err(Wrong::new(
                start,
                ParseErrorKind::Refused("an integer of more than 100000 digits"),
            ));
        }
        match BigInt::from_str_radix(digits, radix) {
            Ok(big) => Ok(Term::integer(if negative { -big } else { big })),
            Err(_) => Err(self.wrong_number(start, "no integer")),
        }
    }

    /// Returns an error if a letter stands right behind a number: it is a mistake, not the next token.
    fn ends_number(&mut self, start: usize) -> Result<(), Wrong> {
        if self.peek().is_some_and(continues_name) {
            self.word();
            return Err(self.wrong_number(start, "a number that goes on with letters"));
        }
        Ok(())
    }

    fn wrong_number(&self, start: usize, what: &'static str) -> Wrong {
        let text = self.text[start..self.at].chars().take(40).collect();
        Wrong::new(start, ParseErrorKind::Number { what, text })
    }

    /// Reads a small number without sign, as in `<0.1.2>`.
    pub(super) fn plain_number(&mut self, expected: &'static str) -> Result<u64, Wrong> {
        let start = self.at;
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        if end == 0 {
            return Err(self.unexpected(expected));
        }
        self.at += end;
        rest[..end]
            .parse()
            .map_err(|_| self.wrong_number(start, "a number beyond 64 bits"))
    }
}
