//! Floats as OTP prints them since version 25: the shortest digits that read back, plain or with an exponent.
//!
//! The digits are those of the Ryu algorithm, which OTP uses too: of the shortest that read back the closest, and of
//! two equally close the even one (Rust's own formatting takes the larger: `2^46 + 0.125` ends in `.13` there, in `.12`
//! here). Plain notation is chosen where it is not longer than the other, and only below 2^53: from there on its last
//! digits would not be significant.

use std::fmt::{self, Write};

const TWO_53: f64 = 9_007_199_254_740_992.0;

/// Writes a finite float.
pub(super) fn write_float(out: &mut impl Write, value: f64) -> fmt::Result {
    if value.is_sign_negative() {
        out.write_char('-')?;
    }
    let digits = Digits::of(value.abs());
    let scientific = digits.scientific();
    // Plain notation of what is below 1e-5 starts with five zeros at least: it is never the shorter, so do not build
    // it.
    if value.abs() >= TWO_53 || (value != 0.0 && value.abs() < 1e-5) {
        return out.write_str(&scientific);
    }
    let plain = digits.plain();
    out.write_str(if plain.len() <= scientific.len() {
        &plain
    } else {
        &scientific
    })
}

/// A decimal number: `d.ddd` times ten to the `exponent`.
struct Digits {
    /// Without zeros at either end; `0` for zero.
    digits: String,
    exponent: i32,
}

impl Digits {
    /// Returns the shortest digits of a finite number that is not negative.
    fn of(value: f64) -> Digits {
        let mut buffer = ryu::Buffer::new();
        let text = buffer.format_finite(value);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        let digits = all.trim_start_matches('0');
        if digits.is_empty() {
            return Digits {
                digits: "0".into(),
                exponent: 0,
            };
        }
        // The place of the first digit, counted from the point.
        let place = whole.len() as i32 - (all.len() - digits.len()) as i32 - 1;
        Digits {
            digits: digits.trim_end_matches('0').into(),
            exponent: place + exponent.parse().unwrap_or(0),
        }
    }

    /// Returns the form `1.0e22`: one digit, a point, at least one digit, the exponent.
    fn scientific(&self) -> String {
        let (first, rest) = self.digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        format!("{first}.{rest}e{}", self.exponent)
    }

    /// Returns the form `12300.0`, `1.23`, `0.00123`.
    fn plain(&self) -> String {
        let Ok(whole) = usize::try_from(self.exponent + 1) else {
            let zeros = "0".repeat(-(self.exponent + 1) as usize);
            return format!("0.{zeros}{}", self.digits);
        };
        match self.digits.split_at_checked(whole) {
            Some(("", fraction)) => format!("0.{fraction}"),
            Some((whole, "")) => format!("{whole}.0"),
            Some((whole, fraction)) => format!("{whole}.{fraction}"),
            None => format!("{:0<whole$}.0", self.digits),
        }
    }
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

    /// `103100464295394.125` was printed as `103100464295394.13`, where OTP prints `.12`: both read back, and are
    /// equally close.
    #[test]
    fn of_two_equally_close_the_even_one() {
        for (value, text) in [
            (103_100_464_295_394.0 + 0.125, "103100464295394.12"),
            (103_100_464_295_394.0 + 0.375, "103100464295394.38"),
            (-103_100_464_295_394.0 - 0.625, "-103100464295394.62"),
            (1e15 + 0.25, "1000000000000000.2"),
            (0.3, "0.3"),
            (0.05, "0.05"),
            (9.5, "9.5"),
        ] {
            let mut out = String::new();
            write_float(&mut out, value).unwrap();
            assert_eq!(out, text);
            assert_eq!(out.parse(), Ok(value));
        }
    }
}
