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
        self.quantile(0.5)
    }

    /// Returns the sample that this share of all lie below, between two samples in proportion; NaN if there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else {
            return f64::NAN;
        };
        let at = share * last as f64;
        let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
        low + (high - low) * at.fract()
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
        assert_eq!((samples.quantile(0.25), samples.quantile(0.75)), (3.0, 7.0));
        samples.push(7.0);
        assert_eq!(samples.median(), 6.0);
    }
}
