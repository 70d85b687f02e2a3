//! The cases of the suite `snapshot`, and what they aim at.

/// One kind of measurement. `live` ones come before any snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SnapshotCase {
    /// Look a key up
    Lookup,
    /// Count by a guard; per object
    Count,
    /// Read all objects by a cursor; per object
    Scan,
    /// Overwrite all objects, in random order
    Overwrite,
    /// Take and release the first snapshot of a table
    First,
    /// Take and release one while another lives
    Take,
    /// Look up, count and scan in a snapshot since which nothing was written
    LookupStill,
    CountStill,
    ScanStill,
    /// Overwrite all objects for the first time since the snapshot, and again
    OverwriteFirst,
    OverwriteAgain,
    /// Look up, count and scan in the snapshot then
    LookupPast,
    CountPast,
    ScanPast,
    /// Look a key up in the table then
    LookupOver,
    /// Overwrite all objects beside a hundred snapshots
    OverwriteMany,
    /// Look a key up when all was released and collected
    LookupAfter,
    /// As `First` and `Take`, beside two writers
    FirstBusy,
    TakeBusy,
    /// Two writers; and beside a snapshot that is taken and counted once a second
    Writers,
    WritersBeside,
}

use SnapshotCase as Case;

/// The limit of a case: a ratio to another, beyond some nanoseconds that are not counted; or nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    Of(Case, f64, f64),
    Nanoseconds(f64),
}

const fn of(case: Case, ratio: f64) -> Limit {
    Limit::Of(case, ratio, 0.0)
}

/// The cases, in the order of the tables, with their names and limits.
const CASES: [(Case, &str, Option<Limit>); 21] = [
    (Case::Lookup, "lookup", None),
    (Case::Count, "count", None),
    (Case::Scan, "scan", None),
    (Case::Overwrite, "overwrite", None),
    (Case::First, "first", Some(Limit::Nanoseconds(5e3))),
    (Case::Take, "take", Some(Limit::Nanoseconds(2e3))),
    (
        Case::LookupStill,
        "lookup_still",
        Some(of(Case::Lookup, 1.1)),
    ),
    (Case::CountStill, "count_still", Some(of(Case::Count, 1.1))),
    (Case::ScanStill, "scan_still", Some(of(Case::Scan, 1.1))),
    (
        Case::OverwriteFirst,
        "overwrite_first",
        Some(of(Case::Overwrite, 1.8)),
    ),
    (
        Case::OverwriteAgain,
        "overwrite_again",
        Some(of(Case::Overwrite, 1.5)),
    ),
    (Case::LookupPast, "lookup_past", Some(of(Case::Lookup, 2.0))),
    (Case::CountPast, "count_past", Some(of(Case::Count, 2.0))),
    (
        Case::ScanPast,
        "scan_past",
        Some(Limit::Of(Case::Scan, 2.0, 15.0)),
    ),
    (Case::LookupOver, "lookup_over", Some(of(Case::Lookup, 1.8))),
    (
        Case::OverwriteMany,
        "overwrite_many",
        Some(of(Case::Overwrite, 1.6)),
    ),
    (
        Case::LookupAfter,
        "lookup_after",
        Some(of(Case::Lookup, 1.0)),
    ),
    (Case::FirstBusy, "first_busy", Some(Limit::Nanoseconds(1e6))),
    (Case::TakeBusy, "take_busy", Some(Limit::Nanoseconds(5e3))),
    (Case::Writers, "writers", None),
    (
        Case::WritersBeside,
        "writers_beside",
        Some(of(Case::Writers, 1.25)),
    ),
];

impl Case {
    /// Every case.
    pub(super) fn all() -> impl Iterator<Item = Case> {
        CASES.into_iter().map(|(case, ..)| case)
    }

    fn row(self) -> (&'static str, Option<Limit>) {
        let row = CASES.into_iter().find(|(case, ..)| *case == self);
        row.map_or(("", None), |(_, name, limit)| (name, limit))
    }

    /// Returns the name in the vocabulary.
    pub(super) fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the limit.
    pub(super) fn limit(self) -> Option<Limit> {
        self.row().1
    }
}
