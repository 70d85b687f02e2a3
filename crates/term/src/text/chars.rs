//! Characters: which need quotes, which are printable, how they are escaped.
//!
//! Erlang's classes are those of ISO 8859-1: an unquoted atom starts with a lower-case letter of Latin-1, whatever
//! letters Unicode has beyond it.

use std::fmt::{self, Write};

/// Reserved words of OTP 25, which are atoms only in quotes. (`maybe` and `else` joined them in OTP 27; they are
/// accepted bare, and printed bare as OTP 25 does.)
const RESERVED: [&str; 27] = [
    "after", "and", "andalso", "band", "begin", "bnot", "bor", "bsl", "bsr", "bxor", "case",
    "catch", "cond", "div", "end", "fun", "if", "let", "not", "of", "or", "orelse", "receive",
    "rem", "try", "when", "xor",
];

/// Returns whether `word` is reserved, so that an atom of that name needs quotes.
pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// Returns whether `c` can start an atom without quotes.
pub(super) fn starts_atom(c: char) -> bool {
    matches!(c, 'a'..='z' | 'ß'..='ö' | 'ø'..='ÿ')
}

/// Returns whether `c` can start a variable. (Terms have none, but the error can say so.)
pub(super) fn starts_variable(c: char) -> bool {
    matches!(c, 'A'..='Z' | '_' | 'À'..='Ö' | 'Ø'..='Þ')
}

/// Returns whether `c` can continue an atom without quotes.
pub(super) fn continues_name(c: char) -> bool {
    starts_atom(c) || starts_variable(c) || matches!(c, '0'..='9' | '@')
}

/// Returns whether an atom of this name must be quoted.
pub(super) fn needs_quotes(name: &str) -> bool {
    let mut chars = name.chars();
    is_reserved(name) || !chars.next().is_some_and(starts_atom) || !chars.all(continues_name)
}

/// Returns whether Erlang shows this character as such in a string.
pub(super) fn is_printable(c: u32, unicode: bool) -> bool {
    match c {
        0x08..=0x0D | 0x1B | 0x20..=0x7E | 0xA0..=0xFF => true,
        0x100..=0xD7FF | 0xE000..=0xFFFD | 0x10000..=0x10FFFF => unicode,
        _ => false,
    }
}

/// Writes one character inside quotes `quote`. Characters beyond Latin-1 are escaped unless `unicode`.
pub(super) fn write_escaped(
    out: &mut impl Write,
    c: char,
    quote: char,
    unicode: bool,
) -> fmt::Result {
    match c {
        c if c == quote || c == '\\' => write!(out, "\\{c}"),
        ' '..='~' | '\u{A0}'..='\u{FF}' => out.write_char(c),
        '\u{100}'.. if unicode => out.write_char(c),
        '\u{100}'.. => write!(out, "\\x{{{:X}}}", u32::from(c)),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\u{0B}' => out.write_str("\\v"),
        '\u{08}' => out.write_str("\\b"),
        '\u{0C}' => out.write_str("\\f"),
        '\u{1B}' => out.write_str("\\e"),
        '\u{7F}' => out.write_str("\\d"),
        control => write!(out, "\\{:03o}", u32::from(control)),
    }
}

/// Writes `text` in quotes.
pub(super) fn write_quoted(
    out: &mut impl Write,
    text: impl Iterator<Item = char>,
    quote: char,
    unicode: bool,
) -> fmt::Result {
    out.write_char(quote)?;
    for c in text {
        write_escaped(out, c, quote, unicode)?;
    }
    out.write_char(quote)
}

/// Writes an atom, in quotes if it needs them.
pub(super) fn write_atom(out: &mut impl Write, name: &str, unicode: bool) -> fmt::Result {
    if needs_quotes(name) {
        write_quoted(out, name.chars(), '\'', unicode)
    } else {
        out.write_str(name)
    }
}
