//! Floats as OTP prints them since version 25: the shortest digits that read back, plain or with an exponent.
//!
//! The digits come from Rust's own shortest formatting. Plain notation is chosen where it is not longer than the other,
//! and only below 2^53: from there on its last digits would not be significant.

use std::fmt::{self, Write};

const TWO_53: f64 = 9_007_199_254_740_992.0;

/// Writes a finite float.
pub(super) fn write_float(out: &mut impl Write, value: f64) -> fmt::Result {
    let scientific = scientific(value);
    if value.abs() >= TWO_53 {
        return out.write_str(&scientific);
    }
    // Plain notation of these starts with five zeros at least: it is never the shorter, so do not build it.
    if value != 0.0 && value.abs() < 1e-5 {
        return out.write_str(&scientific);
    }
    let mut plain = format!("{value}");
    if !plain.contains('.') {
        plain.push_str(".0");
    }
    out.write_str(if plain.len() <= scientific.len() {
        &plain
    } else {
        &scientific
    })
}

/// `1.0e22`: one digit, a point, at least one digit, the exponent.
fn scientific(value: f64) -> String {
    let mut text = format!("{value:e}");
    if let Some(exponent) = text.find('e')
        && !text[..exponent].contains('.')
    {
        text.insert_str(exponent, ".0");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_otp_25() {
        let expected = [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1.0e10, "1.0e10"),
            (1.0e21, "1.0e21"),
            (1.0e23, "1.0e23"),
            (123456789012345680.0, "1.2345678901234568e17"),
            (1.0e-5, "1.0e-5"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (1.5e-7, "1.5e-7"),
            (5.0e-324, "5.0e-324"),
            (-0.0, "-0.0"),
            (100.0, "100.0"),
            (f64::MAX, "1.7976931348623157e308"),
            (9007199254740992.0, "9.007199254740992e15"),
            (1.0e3, "1.0e3"),
            (12345678.9e3, "12345678900.0"),
            (4503599627370496.0, "4503599627370496.0"),
            (1.23456e8, "1.23456e8"),
            (999999999999999.9, "999999999999999.9"),
            (0.00012345, "1.2345e-4"),
            (0.012345, "0.012345"),
        ];
        for (value, text) in expected {
            let mut out = String::new();
            write_float(&mut out, value).unwrap();
            assert_eq!(out, text);
        }
    }
}
