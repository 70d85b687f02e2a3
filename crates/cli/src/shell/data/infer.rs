//! The type of a text column, inferred from all of its values.
//!
//! A column gets the narrowest type that holds every value in it, so that no value is changed on the
//! way in: `007` and `1e999` stay text. An empty field says nothing of the type and becomes the atom `undefined`.

use std::fmt;

use fyris_term::{Float, Term};
use num_bigint::BigInt;

/// The longest number, in digits: what the syntax of terms reads too. Reading one costs the square of its length.
pub(crate) const DIGITS_LIMIT: usize = 100_000;

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum ColumnType {
    /// Nothing seen but empty fields.
    #[default]
    Empty,
    /// `true` and `false`: atoms.
    Boolean,
    /// Whole numbers of any size, written as Erlang would print them.
    Integer,
    /// Numbers, at least one with a fraction or an exponent.
    Float,
    /// Anything else: binaries.
    Text,
}

impl ColumnType {
    /// Returns the narrowest type that holds what this column held so far and `field` too.
    pub(crate) fn widen(self, field: &str) -> ColumnType {
        use ColumnType::*;
        let seen = ColumnType::of(field);
        match (self, seen) {
            (known, Empty) => known,
            (Empty, seen) => seen,
            (known, seen) if known == seen => known,
            (Integer, Float) | (Float, Integer) => Float,
            _ => Text,
        }
    }

    fn of(field: &str) -> ColumnType {
        match field {
            "" => ColumnType::Empty,
            "true" | "false" => ColumnType::Boolean,
            _ if is_integer(field) => ColumnType::Integer,
            _ if is_float(field) => ColumnType::Float,
            _ => ColumnType::Text,
        }
    }

    /// Returns the term of a field of this column. A field that does not fit (the file changed since it was read for
    /// types) stays text.
    pub(crate) fn term(self, field: &str) -> Term {
        if field.is_empty() {
            return Term::atom("undefined");
        }
        let fitting = match self {
            ColumnType::Boolean if matches!(field, "true" | "false") => Some(Term::atom(field)),
            ColumnType::Integer if is_integer(field) => integer(field),
            // An integer beyond 2^53 might not survive as a float: it stays an integer.
            ColumnType::Float if is_integer(field) && field.len() > 15 => integer(field),
            ColumnType::Float => float(field),
            _ => None,
        };
        fitting.unwrap_or_else(|| Term::binary(field.as_bytes()))
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnType::Empty => "empty",
            ColumnType::Boolean => "boolean",
            ColumnType::Integer => "integer",
            ColumnType::Float => "float",
            ColumnType::Text => "text",
        })
    }
}

/// Returns the integer that a decimal literal stands for.
pub(crate) fn integer(text: &str) -> Option<Term> {
    match text.parse::<i64>() {
        Ok(small) => Some(Term::Int(small)),
        Err(_) => text.parse::<BigInt>().ok().map(Term::integer),
    }
}

/// Returns the float that a decimal literal stands for, if it is finite.
pub(crate) fn float(text: &str) -> Option<Term> {
    text.parse::<f64>()
        .ok()
        .and_then(Float::new)
        .map(Term::Float)
}

/// Returns whether the text is decimal digits as a number prints them: no sign but `-`, no leading zero.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.len() <= DIGITS_LIMIT
        && digits.bytes().all(|b| b.is_ascii_digit())
        && match digits.len() {
            0 => false,
            1 => text != "-0",
            _ => !digits.starts_with('0'),
        }
}

fn is_float(text: &str) -> bool {
    let numeric = text
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-' | b'+'));
    let body = text.strip_prefix('-').unwrap_or(text);
    let leading = body.starts_with(|c: char| c.is_ascii_digit())
        && !(body.starts_with('0') && body[1..].starts_with(|c: char| c.is_ascii_digit()));
    numeric && leading && text.contains(['.', 'e', 'E']) && float(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(fields: &[&str]) -> ColumnType {
        fields
            .iter()
            .fold(ColumnType::Empty, |so_far, field| so_far.widen(field))
    }

    #[test]
    fn the_narrowest_type_that_holds_all() {
        assert_eq!(column(&["1", "", "-20"]), ColumnType::Integer);
        assert_eq!(column(&["1", "2.5"]), ColumnType::Float);
        assert_eq!(column(&["1", "x"]), ColumnType::Text);
        assert_eq!(column(&["true", "false", ""]), ColumnType::Boolean);
        assert_eq!(column(&["true", "1"]), ColumnType::Text);
        assert_eq!(column(&["", ""]), ColumnType::Empty);
    }

    #[test]
    fn what_would_not_print_back_stays_text() {
        for field in [
            &"9".repeat(DIGITS_LIMIT + 1),
            "007",
            "+1",
            "-0",
            "1_000",
            "0x10",
            "1e999",
            "nan",
            "inf",
            ".5",
            "00.5",
            "-",
        ] {
            assert_eq!(column(&[field]), ColumnType::Text, "{field}");
        }
    }

    #[test]
    fn values_become_terms() {
        assert_eq!(ColumnType::Integer.term("12"), Term::Int(12));
        assert_eq!(
            ColumnType::Integer
                .term("123456789012345678901234567890")
                .to_string(),
            "123456789012345678901234567890"
        );
        assert_eq!(
            ColumnType::Float.term("3"),
            Term::Float(Float::new(3.0).unwrap())
        );
        assert_eq!(ColumnType::Text.term(""), Term::atom("undefined"));
        assert_eq!(
            ColumnType::Integer.term("changed"),
            Term::binary(*b"changed")
        );
    }
}
