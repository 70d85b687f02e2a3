//! Samples and their median.

/// The samples of one figure, one a run.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds a run's sample.
    pub fn push(&mut self, sample: f64) {
        self.0.push(sample);
    }

    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        self.0.len()
    }

    /// Returns the middle sample, or the mean of the two in the middle; NaN if there are none.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[n / 2],
            n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
        }
    }

    /// Returns the least sample.
    pub fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns the greatest sample.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let mut samples = Samples::default();
        assert!(samples.median().is_nan());
        for sample in [9.0, 1.0, 5.0] {
            samples.push(sample);
        }
        assert_eq!(
            (samples.median(), samples.min(), samples.max()),
            (5.0, 1.0, 9.0)
        );
        samples.push(7.0);
        assert_eq!(samples.median(), 6.0);
    }
}
