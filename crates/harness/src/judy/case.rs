//! The cases of the suite `judy`: the programs of the study, and memory.

/// One program, or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JudyCase {
    /// Fill an empty table in the order of keys
    InsertSequential,
    /// Fill an empty table in random order
    InsertRandom,
    /// Look every key up, in order
    LookupSequential,
    /// Look every key up, in random order
    LookupRandom,
    /// Go through the table by `first` and `next`
    Traverse,
    /// Add one to the second element of every object, in random order
    UpdateCounter,
    /// Go through the table and delete each key
    Delete,
    /// Bytes an object
    Bytes,
}

impl JudyCase {
    /// Every case: the programs, which are timed, in the order of the figures, then memory.
    pub(super) const ALL: [JudyCase; 8] = [
        JudyCase::InsertSequential,
        JudyCase::InsertRandom,
        JudyCase::LookupSequential,
        JudyCase::LookupRandom,
        JudyCase::Traverse,
        JudyCase::UpdateCounter,
        JudyCase::Delete,
        JudyCase::Bytes,
    ];

    /// The number of cases that are timed.
    pub(super) const TIMED: usize = 7;

    /// Returns the name in the vocabulary.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::InsertSequential => "insert_sequential",
            Self::InsertRandom => "insert_random",
            Self::LookupSequential => "lookup_sequential",
            Self::LookupRandom => "lookup_random",
            Self::Traverse => "traverse",
            Self::UpdateCounter => "update_counter",
            Self::Delete => "delete",
            Self::Bytes => "bytes",
        }
    }

    /// Returns what it does, as the captions of the study say it, and the figure there that shows it.
    pub(super) const fn caption(self) -> (&'static str, Option<u32>) {
        match self {
            Self::InsertSequential => ("sequential-order insertion", Some(6)),
            Self::InsertRandom => ("random-order insertion", Some(7)),
            Self::LookupSequential => ("sequential-order lookup", Some(9)),
            Self::LookupRandom => ("random-order lookup", Some(10)),
            Self::Traverse => ("forward table traversal", Some(11)),
            Self::UpdateCounter => ("random-order counter update", None),
            Self::Delete => ("key deletion", Some(12)),
            Self::Bytes => ("memory", None),
        }
    }
}
