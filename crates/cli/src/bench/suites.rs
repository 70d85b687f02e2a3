//! The suites that are built: one row each.

use super::args::{BenchArgs, Suite};
use super::figure::Figure;
use super::output::Output;
use super::registry::Registry;
use super::report::Line;
use super::{BenchError, array_mix, core, query, segment};

/// What a suite has to offer.
pub(super) struct Entry {
    /// Its name on the command line.
    pub(super) suite: Suite,
    /// The names of its cases.
    pub(super) cases: fn() -> Vec<&'static str>,
    /// Measures, and hands the lines to the output as they come.
    pub(super) run: fn(&mut Output, &Registry) -> Result<(), BenchError>,
    /// Plays the part of the child that the suite started this program for.
    pub(super) child: fn(&BenchArgs, &Registry, &str) -> Result<(), BenchError>,
    /// Tables for people.
    pub(super) table: fn(&[Line]) -> String,
    /// What `--plot` draws.
    pub(super) figures: fn(&[Line]) -> Vec<Figure>,
}

const SUITES: [Entry; 4] = [core::ENTRY, query::ENTRY, segment::ENTRY, array_mix::ENTRY];

/// The suite of that name.
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

/// The names of all, for messages.
fn built() -> String {
    SUITES.map(|entry| entry.suite.name()).join(", ")
}

impl Entry {
    /// Refuses what no case of the suite is called.
    pub(super) fn check_cases(&self, args: &BenchArgs) -> Result<(), BenchError> {
        let known = (self.cases)();
        match args.case.iter().find(|c| !known.contains(&c.as_str())) {
            None => Ok(()),
            Some(bad) => Err(BenchError::NothingToRun(format!(
                "no case `{bad}` in `{}`; there are: {}",
                self.suite.name(),
                known.join(", ")
            ))),
        }
    }
}
