//! A figure, and whether a run reached it.

/// One line of the check: a comparison and its outcome.
pub struct Verdict {
    /// The figure in words.
    pub what: String,
    /// The limit, inclusive.
    pub target: f64,
    /// The measured value; `None` if the run did not measure it.
    pub measured: Option<f64>,
}

impl Verdict {
    /// Returns whether the figure is reached; an unmeasured one is not.
    pub fn passed(&self) -> bool {
        self.measured
            .is_some_and(|measured| measured <= self.target)
    }
}
