//! The suites that are built: one row each.

use crate::args::Suite;
use crate::entry::Entry;
use crate::error::BenchError;
use crate::{array_mix, core, judy, query, rwlock, segment, snapshot};

const SUITES: [Entry; 7] = [
    core::ENTRY,
    query::ENTRY,
    snapshot::ENTRY,
    judy::ENTRY,
    rwlock::ENTRY,
    segment::ENTRY,
    array_mix::ENTRY,
];

/// Returns the suite of that name.
///
/// # Errors
///
/// [`BenchError::NoSuchSuite`] if it is not built yet.
pub(super) fn find(suite: Suite) -> Result<Entry, BenchError> {
    SUITES
        .into_iter()
        .find(|entry| entry.suite == suite)
        .ok_or_else(|| BenchError::NoSuchSuite(suite.name(), built()))
}

/// Returns the names of all, for messages.
fn built() -> String {
    SUITES.map(|entry| entry.suite.name()).join(", ")
}
