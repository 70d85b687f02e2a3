//! The cases of the suite `query`, and what they aim at.

/// One kind of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryCase {
    /// Select the keys of the half that a guard lets through; per object visited
    SelectGuard,
    /// Count them
    SelectCountGuard,
    /// Select a tuple built of each of them
    SelectTupleBody,
    /// Match a pattern that one object has; per object visited
    Match,
    /// Run a compiled specification over a list; per term
    MatchSpecRun,
    /// Compile one clause with two guards
    Compile,
    /// Look a key up
    Lookup,
    /// Compile a specification that gives the key, and select by it
    Point,
    /// A range of a hundred keys, as terms; per entry
    Range100,
    /// Select by a plan for such a range; per entry
    SelectRange100,
}

impl QueryCase {
    /// Every case, in the order of the tables.
    pub(super) const ALL: [QueryCase; 10] = [
        QueryCase::SelectGuard,
        QueryCase::SelectCountGuard,
        QueryCase::SelectTupleBody,
        QueryCase::Match,
        QueryCase::MatchSpecRun,
        QueryCase::Compile,
        QueryCase::Lookup,
        QueryCase::Point,
        QueryCase::Range100,
        QueryCase::SelectRange100,
    ];

    /// Returns the name in the vocabulary.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SelectGuard => "select_guard",
            Self::SelectCountGuard => "select_count_guard",
            Self::SelectTupleBody => "select_tuple_body",
            Self::Match => "match",
            Self::MatchSpecRun => "match_spec_run",
            Self::Compile => "compile",
            Self::Lookup => "lookup",
            Self::Point => "point",
            Self::Range100 => "range100",
            Self::SelectRange100 => "select_range100",
        }
    }

    /// Returns whether it needs the order of keys, and integers to name a range of a hundred.
    pub(super) fn is_range(self) -> bool {
        matches!(self, Self::Range100 | Self::SelectRange100)
    }

    /// Returns whether several threads can share the work.
    pub(super) fn is_shared(self) -> bool {
        self == Self::SelectCountGuard
    }

    /// Returns the greatest allowed ratio of Fyris's time to that of ETS.
    pub(super) fn share_of_ets(self) -> Option<f64> {
        match self {
            Self::SelectGuard | Self::SelectCountGuard => Some(0.2),
            Self::SelectTupleBody => Some(0.35),
            Self::MatchSpecRun => Some(0.5),
            _ => None,
        }
    }
}
