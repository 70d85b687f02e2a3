//! Numbers and their texts, as sqlite3 has them.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::FromPrimitive;

use super::value::SqlValue;

/// Digits of a float's text.
const DIGITS: usize = 15;

/// Digits that tell whether a float lies on a half.
const EXACT: usize = 60;

/// 2^63, the first float above all integers.
const ABOVE: f64 = 9_223_372_036_854_775_808.0;

/// Compares an integer with a float exactly.
pub(super) fn compare(int: i64, real: f64) -> Ordering {
    if real >= ABOVE {
        return Ordering::Less;
    }
    if real < -ABOVE {
        return Ordering::Greater;
    }
    let whole = real.trunc();
    let parts = int.cmp(&(whole as i64));
    parts.then_with(|| 0.0.partial_cmp(&(real - whole)).unwrap_or(Ordering::Equal))
}

/// Compares an integer beyond 64 bits with a float exactly: floats as large have no fractions.
pub(super) fn compare_big(int: &BigInt, real: f64) -> Ordering {
    match BigInt::from_f64(real) {
        Some(whole) => int.cmp(&whole),
        // An infinity.
        None if real > 0.0 => Ordering::Less,
        None => Ordering::Greater,
    }
}

/// Returns the text of a float: at most 15 digits, always with a point.
pub(super) fn text(real: f64) -> String {
    if !real.is_finite() {
        return (if real > 0.0 { "Inf" } else { "-Inf" }).to_owned();
    }
    if real == 0.0 {
        return "0.0".to_owned();
    }
    let (digits, exponent) = rounded(decimal(real, EXACT), DIGITS);
    let digits = digits.trim_end_matches('0');
    let sign = if real < 0.0 { "-" } else { "" };
    let number = match exponent {
        0..15 => {
            let whole = exponent as usize + 1;
            let padded = format!("{digits:0<whole$}");
            let (whole, part) = padded.split_at(whole);
            format!("{whole}.{}", or_zero(part))
        }
        -4..0 => format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize)),
        _ => {
            let (first, rest) = digits.split_at(1);
            let direction = if exponent < 0 { '-' } else { '+' };
            let size = exponent.unsigned_abs();
            format!("{first}.{}e{direction}{size:02}", or_zero(rest))
        }
    };
    format!("{sign}{number}")
}

/// Returns the digits of a float, as many as are asked for, and the power of ten of the first.
fn decimal(real: f64, digits: usize) -> (String, i32) {
    let scientific = format!("{:.*e}", digits - 1, real.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

/// Cuts digits to a number of them, halves rounded up.
fn rounded((digits, exponent): (String, i32), count: usize) -> (String, i32) {
    let (kept, rest) = digits.split_at(count.min(digits.len()));
    if !rest.starts_with(|c| c >= '5') {
        return (kept.to_owned(), exponent);
    }
    let nines = kept
        .bytes()
        .rev()
        .take_while(|&digit| digit == b'9')
        .count();
    let (before, carried) = kept.split_at(kept.len() - nines);
    let zeros = "0".repeat(carried.len());
    match before.as_bytes().split_last() {
        None => (format!("1{zeros}"), exponent + 1),
        Some((last, before)) => {
            let before = String::from_utf8_lossy(before);
            (format!("{before}{}{zeros}", char::from(last + 1)), exponent)
        }
    }
}

fn or_zero(digits: &str) -> &str {
    if digits.is_empty() { "0" } else { digits }
}

/// Returns the length of the number that a text begins with, and whether it is written as an integer.
fn number_in(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from.min(bytes.len())..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut is_int = true;
    if bytes.get(end) == Some(&b'.') {
        let part = digits(end + 1);
        if whole + part > 0 {
            (end, is_int) = (end + 1 + part, false);
        }
    }
    if end == sign {
        return (0, true);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + signed);
        if exponent > 0 {
            (end, is_int) = (end + 1 + signed + exponent, false);
        }
    }
    (end, is_int)
}

/// Returns the number that a text begins with, or 0.
pub(super) fn prefix(text: &str) -> SqlValue {
    let text = text.trim_start_matches(is_space);
    let (end, is_int) = number_in(text);
    of(&text[..end], is_int).unwrap_or(SqlValue::Int(0))
}

/// Returns the number that a text is, if it is nothing else.
pub(super) fn whole(text: &str) -> Option<SqlValue> {
    let text = text.trim_matches(is_space);
    let (end, is_int) = number_in(text);
    of(text, is_int).filter(|_| end == text.len())
}

/// Returns the integer that a text begins with, or 0.
pub(super) fn int_prefix(text: &str) -> i64 {
    let text = text.trim_start_matches(is_space);
    let sign = usize::from(text.starts_with(['+', '-']));
    let end = text[sign..].find(|c: char| !c.is_ascii_digit());
    let digits = &text[..end.map_or(text.len(), |end| sign + end)];
    digits
        .parse()
        .unwrap_or_else(|_| match (digits.len() > 1, sign) {
            (true, 1) if text.starts_with('-') => i64::MIN,
            (true, _) => i64::MAX,
            _ => 0,
        })
}

/// Returns the number that digits write.
pub(super) fn of(digits: &str, is_int: bool) -> Option<SqlValue> {
    match digits.parse() {
        Ok(int) if is_int => Some(SqlValue::Int(int)),
        _ => digits.parse().ok().map(SqlValue::Real),
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

/// Rounds to a number of digits behind the point, halves away from zero. As in sqlite3 what is nearly a half is one,
/// since 0.475 is a little less as a float.
pub(super) fn round(real: f64, digits: usize) -> f64 {
    // Beyond 2^52 there are no fractions.
    if real == 0.0 || real.abs() > 4_503_599_627_370_496.0 || !real.is_finite() {
        return real;
    }
    if digits == 0 {
        return (real.abs() + 0.5).trunc().copysign(real);
    }
    let nearly = match digits as f64 + real.abs().log2().floor() / 3.0 < 15.0 {
        true => real.abs() * 3e-16,
        false => 0.0,
    };
    let (known, exponent) = decimal(real.abs() + nearly, EXACT);
    let kept = exponent + 1 + digits as i32;
    // Nothing is kept of what lies below the last digit; it may become that digit.
    let zeros = usize::try_from(-kept).unwrap_or(0);
    let known = "0".repeat(zeros) + &known;
    let (kept, exponent) = rounded((known, exponent + zeros as i32), kept.max(0) as usize);
    // `kept` times a power of ten.
    let power = exponent + 1 - kept.len() as i32;
    let number = format!("{}e{power}", or_zero(&kept));
    number.parse::<f64>().unwrap_or(real.abs()).copysign(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_the_texts_of_sqlite() {
        for (real, wanted) in [
            (1.0, "1.0"),
            (-0.1, "-0.1"),
            (100.25, "100.25"),
            (1e14, "100000000000000.0"),
            (1e15, "1.0e+15"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
            (0.1 + 0.2, "0.3"),
            (622_051_862_259_214.5, "622051862259215.0"),
            (999_999_999_999_999.9, "1.0e+15"),
            (f64::INFINITY, "Inf"),
        ] {
            assert_eq!(text(real), wanted);
        }
    }

    #[test]
    fn texts_begin_with_numbers() {
        for (text, number) in [
            ("12abc", SqlValue::Int(12)),
            (" -1.5e1x", SqlValue::Real(-15.0)),
            (".5", SqlValue::Real(0.5)),
            ("5.", SqlValue::Real(5.0)),
            ("1e", SqlValue::Int(1)),
            (".", SqlValue::Int(0)),
            ("", SqlValue::Int(0)),
            ("99999999999999999999", SqlValue::Real(1e20)),
        ] {
            assert_eq!(prefix(text), number, "{text}");
        }
        assert_eq!(whole(" 7 "), Some(SqlValue::Int(7)));
        assert_eq!((whole("7 x"), whole("")), (None, None));
        assert_eq!((int_prefix("-12.9"), int_prefix("x")), (-12, 0));
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for (real, digits, wanted) in [
            (2.5, 0, 3.0),
            (-2.5, 0, -3.0),
            (0.125, 2, 0.13),
            (9.995, 1, 10.0),
            (99.96, 1, 100.0),
            (0.475, 2, 0.48),
            (0.5, 0, 1.0),
            (0.04, 0, 0.0),
            (0.004, 1, 0.0),
            (0.06, 1, 0.1),
            (1234.5678, 2, 1234.57),
            (1.25, 5, 1.25),
        ] {
            assert_eq!(round(real, digits), wanted, "{real}");
        }
    }
}
