//! The suites: one row each.

use crate::args::Suite;
use crate::entry::Entry;
use crate::{array_mix, core, ets_bench, judy, query, rwlock, segment, snapshot};

/// Returns what runs the suite.
pub(super) fn entry(suite: Suite) -> Entry {
    match suite {
        Suite::Core => core::ENTRY,
        Suite::Query => query::ENTRY,
        Suite::Snapshot => snapshot::ENTRY,
        Suite::EtsBench => ets_bench::ENTRY,
        Suite::Judy => judy::ENTRY,
        Suite::Rwlock => rwlock::ENTRY,
        Suite::Segment => segment::ENTRY,
        Suite::ArrayMix => array_mix::ENTRY,
    }
}
