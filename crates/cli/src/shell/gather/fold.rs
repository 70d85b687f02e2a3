//! One aggregate of one group.

use fyris_term::{Float, Term};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::shell::error::ShellError;
use crate::shell::query::Aggregation;

/// An aggregate on its way. `undefined`, which an empty field of a file becomes, is left out by all of them.
pub(super) struct Fold {
    what: Aggregation,
    /// Values that were taken in.
    count: u64,
    sum: Sum,
    best: Option<Term>,
}

impl Fold {
    pub(super) fn new(what: Aggregation) -> Fold {
        Fold {
            what,
            count: 0,
            sum: Sum::default(),
            best: None,
        }
    }

    /// Takes a value in.
    pub(super) fn add(&mut self, value: Term) -> Result<(), ShellError> {
        if matches!(&value, Term::Atom(name) if name.as_str() == "undefined") {
            return Ok(());
        }
        self.count += 1;
        match self.what {
            Aggregation::Count => {}
            Aggregation::Sum | Aggregation::Avg => {
                if !self.sum.add(&value) {
                    return Err(self.error(&format!("{} is no number", value.brief(80))));
                }
            }
            Aggregation::Min => self.keep(value, std::cmp::Ordering::Less),
            Aggregation::Max => self.keep(value, std::cmp::Ordering::Greater),
        }
        Ok(())
    }

    fn keep(&mut self, value: Term, better: std::cmp::Ordering) {
        let best = self.best.as_ref();
        if best.is_none_or(|best| value.cmp_order(best) == better) {
            self.best = Some(value);
        }
    }

    /// Returns the aggregate: `undefined` for the least, greatest or mean of nothing.
    pub(super) fn finish(self) -> Result<Term, ShellError> {
        let nothing = || Term::atom("undefined");
        match self.what {
            Aggregation::Count => Ok(Term::integer(self.count)),
            Aggregation::Min | Aggregation::Max => Ok(self.best.unwrap_or_else(nothing)),
            Aggregation::Sum if self.sum.is_whole() => Ok(Term::integer(self.sum.whole())),
            Aggregation::Avg if self.count == 0 => Ok(nothing()),
            Aggregation::Sum | Aggregation::Avg => {
                let parts = match self.what {
                    Aggregation::Avg => self.count as f64,
                    _ => 1.0,
                };
                let mean = Float::new(self.sum.float() / parts).map(Term::Float);
                mean.ok_or_else(|| self.error("the sum is beyond what a float can hold"))
            }
        }
    }

    fn error(&self, problem: &str) -> ShellError {
        ShellError::other(format!("{}: {problem}", self.what.name()))
    }
}

/// A sum of integers, exact, and one of floats, with what rounding took from it (Neumaier, "Rundungsfehleranalyse
/// einiger Verfahren zur Summation endlicher Summen", ZAMM 54, 1974).
#[derive(Default)]
pub(crate) struct Sum {
    /// Integers of 64 bits: fewer than 2^63 of them cannot overflow it.
    small: i128,
    large: BigInt,
    floats: f64,
    lost: f64,
    any_float: bool,
}

impl Sum {
    /// Adds a number; returns whether it is one.
    fn add(&mut self, value: &Term) -> bool {
        match value {
            Term::Int(n) => self.add_int(*n),
            Term::Big(n) => self.large += n.as_ref(),
            Term::Float(float) => self.add_float(float.get()),
            _ => return false,
        }
        true
    }

    /// Adds an integer.
    pub(crate) fn add_int(&mut self, value: i64) {
        self.small += i128::from(value);
    }

    /// Adds a float.
    pub(crate) fn add_float(&mut self, value: f64) {
        let sum = self.floats + value;
        self.lost += if self.floats.abs() >= value.abs() {
            (self.floats - sum) + value
        } else {
            (value - sum) + self.floats
        };
        self.floats = sum;
        self.any_float = true;
    }

    /// Returns whether there was no float.
    pub(crate) fn is_whole(&self) -> bool {
        !self.any_float
    }

    fn whole(&self) -> BigInt {
        &self.large + self.small
    }

    /// Returns the sum as a float.
    pub(crate) fn float(&self) -> f64 {
        if !self.floats.is_finite() {
            return self.floats;
        }
        self.whole().to_f64().unwrap_or(f64::INFINITY) + (self.floats + self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(what: Aggregation, values: &str) -> Result<String, String> {
        let values = Term::parse(values).expect("a term");
        let mut fold = Fold::new(what);
        for value in values.as_list().expect("a list") {
            fold.add(value.clone()).map_err(|e| e.to_string())?;
        }
        fold.finish()
            .map(|term| term.to_string())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn numbers_are_added_exactly_as_far_as_they_can_be() {
        use Aggregation::*;
        for (what, values, wanted) in [
            (Count, "[1, undefined, a]", "2"),
            (Sum, "[]", "0"),
            (Sum, "[1, 2.5, undefined]", "3.5"),
            (Sum, "[9223372036854775807, 1]", "9223372036854775808"),
            (Sum, "[9223372036854775808, -9223372036854775808, 3]", "3"),
            (Sum, "[1.0e100, 1.0, -1.0e100]", "1.0"),
            (Avg, "[1, 2]", "1.5"),
            (Avg, "[undefined]", "undefined"),
            (Min, "[b, {a}, 3, undefined]", "3"),
            (Max, "[b, {a}, 3, undefined]", "{a}"),
            (Min, "[]", "undefined"),
        ] {
            assert_eq!(fold(what, values), Ok(wanted.into()), "{what:?} {values}");
        }
        for (what, values, problem) in [
            (Sum, "[1, a]", "sum: a is no number"),
            (
                Avg,
                "[1.7e308, 1.7e308]",
                "avg: the sum is beyond what a float can hold",
            ),
        ] {
            assert_eq!(fold(what, values), Err(problem.into()));
        }
    }
}
