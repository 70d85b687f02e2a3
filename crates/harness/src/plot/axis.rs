//! An axis: where a value lies on it, and its ticks.

use crate::figure::number;

/// An axis from its low end to its high one.
pub(super) struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// Powers of two, named as such.
    by_two: bool,
}

/// Ticks of an axis, at most.
const TICKS: f64 = 9.0;

/// The ratio of the largest to the smallest value from which on a linear axis shows nothing of the small ones.
const WIDE: f64 = 40.0;

impl Axis {
    /// Returns a linear axis from zero.
    pub(super) fn from_zero(top: f64) -> Self {
        let high = if top > 0.0 { top * 1.05 } else { 1.0 };
        Self {
            low: 0.0,
            high,
            log: false,
            by_two: false,
        }
    }

    /// Returns a logarithmic axis for these positive values.
    pub(super) fn logarithmic(values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.clone().fold(1.0, f64::max);
        // One point alone still needs a width.
        let low = low.min(high / 2.0);
        Self {
            low: low / 1.2,
            high: high * 1.2,
            log: true,
            by_two: values.into_iter().all(|x| x.log2().fract() == 0.0),
        }
    }

    /// Returns an axis from zero, or a logarithmic one where the values are of very different size.
    pub(super) fn fitting(values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.clone().fold(0.0, f64::max);
        if low > 0.0 && high / low > WIDE {
            let by_two = false;
            return Self {
                by_two,
                ..Self::logarithmic(values)
            };
        }
        Self::from_zero(high)
    }

    /// Returns where the value lies, from 0 to 1.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            value / self.high
        };
        share.clamp(0.0, 1.0)
    }

    /// Returns the ticks with their names.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        if self.by_two {
            return self.powers_of_two();
        }
        let values = if self.log {
            self.decades()
        } else {
            self.steps()
        };
        values.into_iter().map(|x| (x, number(x))).collect()
    }

    fn powers_of_two(&self) -> Vec<(f64, String)> {
        let (from, to) = (
            self.low.log2().ceil() as i32,
            self.high.log2().floor() as i32,
        );
        let step = (f64::from(to - from + 1) / TICKS).ceil() as usize;
        let name = |power: i32| match power {
            _ if to > 12 || from < 0 => format!("2{}", superscript(power)),
            _ => (1 << power).to_string(),
        };
        let powers = (from..=to).step_by(step.max(1));
        powers
            .map(|power| (f64::from(power).exp2(), name(power)))
            .collect()
    }

    fn decades(&self) -> Vec<f64> {
        let (from, to) = (
            self.low.log10().floor() as i32,
            self.high.log10().ceil() as i32,
        );
        let parts: &[f64] = if f64::from(to - from) > TICKS / 2.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let all =
            (from..=to).flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)));
        all.filter(|x| (self.low..=self.high).contains(x)).collect()
    }

    fn steps(&self) -> Vec<f64> {
        let rough = self.high / TICKS;
        let power = 10f64.powf(rough.log10().floor());
        let nice = [1.0, 2.0, 5.0, 10.0].map(|part| part * power);
        let step = nice
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let count = (self.high / step).floor() as usize;
        (0..=count).map(|at| at as f64 * step).collect()
    }
}

fn superscript(power: i32) -> String {
    let digit = |letter: char| match letter {
        '-' => '⁻',
        _ => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][letter as usize - '0' as usize],
    };
    power.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_on_the_axis_and_are_few() {
        let axes = [
            Axis::from_zero(0.0),
            Axis::from_zero(37.0),
            Axis::logarithmic([8.0, 2_097_152.0].into_iter()),
            Axis::logarithmic([700.0, 7e6].into_iter()),
            Axis::fitting([1.0, 1000.0].into_iter()),
        ];
        for axis in axes {
            let ticks = axis.ticks();
            assert!((3..=13).contains(&ticks.len()), "{ticks:?}");
            assert!(
                ticks
                    .iter()
                    .all(|(x, _)| (axis.low..=axis.high).contains(x))
            );
        }
    }

    #[test]
    fn ranges_of_keys_are_powers() {
        let ticks = Axis::logarithmic([8.0, 65_536.0].into_iter()).ticks();
        assert_eq!(ticks[0], (8.0, "2³".to_owned()));
    }
}
