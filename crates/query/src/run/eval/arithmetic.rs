//! Arithmetic on integers of any size and floats, with Erlang's conversions between them.
//!
//! `None` is `badarith`, or `badarg` for conversions, or an integer beyond [`MAX_BITS`]: all are a failure of the
//! expression.

use fyris_term::{Float, Term};
use num_bigint::{BigInt, Sign};
use num_traits::{FromPrimitive, Signed, ToPrimitive, Zero};

use crate::syntax::function::Function;

/// The most bits of an integer, as in OTP 27 and later.
const MAX_BITS: u64 = 4_194_304;

/// A number.
enum Number {
    Integer(BigInt),
    Float(f64),
}

impl Number {
    fn of(term: &Term) -> Option<Number> {
        match term {
            Term::Float(float) => Some(Number::Float(float.get())),
            other => integer(other).map(Number::Integer),
        }
    }

    /// Converts to a float; `None` if the number is too large.
    fn to_f64(&self) -> Option<f64> {
        match self {
            Number::Integer(int) => big_to_f64(int),
            Number::Float(float) => Some(*float),
        }
    }
}

/// Converts as Erlang does: digit by digit from the highest, rounding at each step.
fn big_to_f64(int: &BigInt) -> Option<f64> {
    const DIGIT: f64 = 18_446_744_073_709_551_616.0;
    let digits = int.magnitude().iter_u64_digits().rev();
    let size = digits.fold(0.0, |sum, digit| sum * DIGIT + digit as f64);
    let value = if int.is_negative() { -size } else { size };
    value.is_finite().then_some(value)
}

fn integer(term: &Term) -> Option<BigInt> {
    match term {
        Term::Int(int) => Some(BigInt::from(*int)),
        Term::Big(int) => Some((**int).clone()),
        _ => None,
    }
}

fn float(value: f64) -> Option<Term> {
    Float::new(value).map(Term::Float)
}

fn bounded(int: BigInt) -> Option<Term> {
    (int.bits() <= MAX_BITS).then(|| Term::integer(int))
}

/// Computes a function of one number.
pub(crate) fn unary(function: Function, a: &Term) -> Option<Term> {
    match function {
        Function::Bnot => bounded(!integer(a)?),
        Function::Float => float(Number::of(a)?.to_f64()?),
        Function::Round => rounded(a, f64::round),
        Function::Trunc => rounded(a, f64::trunc),
        Function::Floor => rounded(a, f64::floor),
        Function::Ceil => rounded(a, f64::ceil),
        Function::Plus => Number::of(a).map(|_| a.clone()),
        Function::Minus => match Number::of(a)? {
            Number::Integer(int) => bounded(-int),
            // Negation, not subtraction from zero: in Erlang, -(0.0) is -0.0.
            Number::Float(value) => float(-value),
        },
        Function::Abs => match Number::of(a)? {
            Number::Integer(int) => bounded(int.abs()),
            Number::Float(value) => float(value.abs()),
        },
        _ => None,
    }
}

/// Rounds a float to an integer, exactly; returns an integer as it is.
fn rounded(a: &Term, round: fn(f64) -> f64) -> Option<Term> {
    match Number::of(a)? {
        Number::Integer(int) => Some(Term::integer(int)),
        Number::Float(value) => BigInt::from_f64(round(value)).map(Term::integer),
    }
}

/// Computes a function of two small integers; `None` if the result is no small integer, or a failure.
#[inline]
pub(crate) fn small(function: Function, a: i64, b: i64) -> Option<i64> {
    match function {
        Function::Add => a.checked_add(b),
        Function::Subtract => a.checked_sub(b),
        Function::Multiply => a.checked_mul(b),
        Function::Div => a.checked_div(b),
        Function::Rem => a.checked_rem(b),
        Function::Band => Some(a & b),
        Function::Bor => Some(a | b),
        Function::Bxor => Some(a ^ b),
        _ => None,
    }
}

/// Computes a function of two numbers.
pub(crate) fn binary(function: Function, a: &Term, b: &Term) -> Option<Term> {
    match function {
        Function::Add | Function::Subtract | Function::Multiply => mixed(function, a, b),
        Function::Divide => divide(a, b),
        Function::Bsl | Function::Bsr => shift(function, &integer(a)?, &integer(b)?),
        _ => integral(function, integer(a)?, integer(b)?),
    }
}

fn mixed(function: Function, a: &Term, b: &Term) -> Option<Term> {
    let (a, b) = (Number::of(a)?, Number::of(b)?);
    if let (Number::Integer(a), Number::Integer(b)) = (&a, &b) {
        return match function {
            Function::Add => bounded(a + b),
            Function::Subtract => bounded(a - b),
            _ if a.bits() + b.bits() > MAX_BITS + 1 => None,
            _ => bounded(a * b),
        };
    }
    let (a, b) = (a.to_f64()?, b.to_f64()?);
    float(match function {
        Function::Add => a + b,
        Function::Subtract => a - b,
        _ => a * b,
    })
}

fn divide(a: &Term, b: &Term) -> Option<Term> {
    let (a, b) = (Number::of(a)?.to_f64()?, Number::of(b)?.to_f64()?);
    if b == 0.0 {
        return None;
    }
    float(a / b)
}

fn integral(function: Function, a: BigInt, b: BigInt) -> Option<Term> {
    match function {
        Function::Div | Function::Rem if b.is_zero() => None,
        Function::Div => bounded(a / b),
        Function::Rem => bounded(a % b),
        Function::Band => bounded(a & b),
        Function::Bor => bounded(a | b),
        Function::Bxor => bounded(a ^ b),
        _ => None,
    }
}

/// Shifts to the left by `by` bits, or to the right if it is negative; `bsr` the other way round. A shift beyond the
/// largest integer fails before anything is allocated.
fn shift(function: Function, a: &BigInt, by: &BigInt) -> Option<Term> {
    let left = (by.sign() != Sign::Minus) == (function == Function::Bsl);
    if a.is_zero() || by.is_zero() {
        return Some(Term::integer(a.clone()));
    }
    match (left, by.magnitude().to_u64()) {
        (true, Some(bits)) if a.bits().saturating_add(bits) <= MAX_BITS => bounded(a << bits),
        (true, _) => None,
        (false, Some(bits)) if bits < a.bits() => bounded(a >> bits),
        (false, _) => Some(Term::Int(if a.is_negative() { -1 } else { 0 })),
    }
}
