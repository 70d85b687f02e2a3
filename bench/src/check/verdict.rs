//! A figure, and whether a run reached it.

/// What one line of the check compares, and how it came out.
pub struct Verdict {
    /// The figure in words.
    pub what: String,
    /// What must not be exceeded.
    pub target: f64,
    /// What was measured; `None` if the run did not measure it.
    pub measured: Option<f64>,
}

impl Verdict {
    /// Whether the figure is reached; an unmeasured one is not.
    pub fn passed(&self) -> bool {
        self.measured
            .is_some_and(|measured| measured <= self.target)
    }
}
