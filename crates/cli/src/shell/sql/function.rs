//! Functions of values, as sqlite3 has them.

use super::number;
use super::value::SqlValue;
use crate::shell::error::ShellError;

use SqlValue::{Int, Null, Real, Text};

/// A function of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SqlFunction {
    Abs,
    Coalesce,
    Length,
    Lower,
    Round,
    Substr,
    Upper,
}

impl SqlFunction {
    /// Returns the function of a name, in lower case, with the numbers of arguments that it takes.
    pub(super) fn named(name: &str) -> Option<(SqlFunction, std::ops::RangeInclusive<usize>)> {
        Some(match name {
            "abs" => (SqlFunction::Abs, 1..=1),
            "coalesce" => (SqlFunction::Coalesce, 2..=usize::MAX),
            "length" => (SqlFunction::Length, 1..=1),
            "lower" => (SqlFunction::Lower, 1..=1),
            "round" => (SqlFunction::Round, 1..=2),
            "substr" | "substring" => (SqlFunction::Substr, 2..=3),
            "upper" => (SqlFunction::Upper, 1..=1),
            _ => return None,
        })
    }

    /// Returns its value.
    pub(super) fn of(self, arguments: &[SqlValue]) -> Result<SqlValue, ShellError> {
        if self == SqlFunction::Coalesce {
            let first = arguments.iter().find(|value| **value != Null);
            return Ok(first.cloned().unwrap_or(Null));
        }
        if arguments.contains(&Null) {
            return Ok(Null);
        }
        let first = &arguments[0];
        let text = first.text().unwrap_or_default();
        Ok(match self {
            SqlFunction::Abs => match first {
                Int(n) => Int(n.checked_abs().ok_or_else(overflow)?),
                other => Real(other.real().abs()),
            },
            SqlFunction::Length => Int(text.chars().count() as i64),
            SqlFunction::Lower => Text(text.to_ascii_lowercase()),
            SqlFunction::Upper => Text(text.to_ascii_uppercase()),
            SqlFunction::Round => {
                let digits = arguments
                    .get(1)
                    .map_or(0, |digits| digits.int().clamp(0, 30));
                Real(number::round(first.real(), digits as usize))
            }
            SqlFunction::Substr => {
                let length = arguments.get(2).map(SqlValue::int);
                Text(part(&text, arguments[1].int(), length))
            }
            SqlFunction::Coalesce => Null,
        })
    }
}

/// Returns the error of an integer that does not fit into 64 bits.
pub(super) fn overflow() -> ShellError {
    ShellError::other("integer overflow")
}

/// Returns a part of a text: characters from `from` on, counted from 1, or from the end if it is below zero; of a
/// length, or before that place if it is below zero.
fn part(text: &str, from: i64, length: Option<i64>) -> String {
    let characters = text.chars().count() as i128;
    let (mut at, mut count) = (
        i128::from(from),
        length.map_or(i128::from(i64::MAX), i128::from),
    );
    let before = count < 0;
    count = count.abs();
    if at < 0 {
        at += characters;
        if at < 0 {
            (at, count) = (0, (count + at).max(0));
        }
    } else if at > 0 {
        at -= 1;
    } else if count > 0 {
        count -= 1;
    }
    if before {
        at -= count;
        if at < 0 {
            (at, count) = (0, count + at);
        }
    }
    let begin = at.clamp(0, characters) as usize;
    let count = count.clamp(0, characters) as usize;
    text.chars().skip(begin).take(count).collect()
}

/// Returns whether a text is like a pattern, in which `%` is any text and `_` any character; ASCII without its case.
pub(super) fn like(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let pattern: Vec<char> = pattern.chars().collect();
    let (mut at, mut of) = (0, 0);
    // Where the last `%` is, and what it stands for ends so far.
    let mut again: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(of) {
            Some('%') => {
                again = Some((of, at));
                of += 1;
            }
            Some(&c) if c == '_' || c.eq_ignore_ascii_case(&text[at]) => {
                (at, of) = (at + 1, of + 1)
            }
            _ => match again {
                None => return false,
                Some((any, end)) => {
                    again = Some((any, end + 1));
                    (at, of) = (end + 1, any + 1);
                }
            },
        }
    }
    pattern[of..].iter().all(|&c| c == '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_like() {
        for (text, pattern, is) in [
            ("Ann", "a%", true),
            ("Ann", "_N_", true),
            ("Ann", "ann_", false),
            ("", "%", true),
            ("abcabd", "%ab_", true),
            ("abcabd", "%abc", false),
            ("Ärger", "ärger", false),
            ("100%", "%\\%", false),
        ] {
            assert_eq!(like(text, pattern), is, "{text} {pattern}");
        }
    }

    #[test]
    fn parts_are_those_of_substr() {
        for (from, length, wanted) in [
            (1, Some(2), "ab"),
            (0, Some(2), "a"),
            (-2, None, "de"),
            (-9, Some(6), "ab"),
            (3, Some(-2), "ab"),
            (-1, Some(-2), "cd"),
            (9, Some(1), ""),
            (-9, None, "abcde"),
            (2, None, "bcde"),
        ] {
            assert_eq!(part("abcde", from, length), wanted, "{from} {length:?}");
        }
    }
}
