//! The seam between the harness and a suite.

use crate::args::{BenchArgs, Suite};
use crate::error::BenchError;
use crate::figure::Figure;
use crate::output::Output;
use crate::registry::Registry;
use crate::report::Line;

/// A suite: its name, its functions, its drawings.
pub(crate) struct Entry {
    /// Its name on the command line.
    pub(crate) suite: Suite,
    /// The names of its cases.
    pub(crate) cases: fn() -> Vec<&'static str>,
    /// Measures, and hands the lines to the output as they come.
    pub(crate) run: fn(&mut Output, &Registry) -> Result<(), BenchError>,
    /// Plays the part of the child that the suite started this program for.
    pub(crate) child: fn(&BenchArgs, &Registry, &str) -> Result<(), BenchError>,
    /// Tables for people.
    pub(crate) table: fn(&[Line]) -> String,
    /// The drawings of `--plot`.
    pub(crate) figures: fn(&[Line]) -> Vec<Figure>,
}

impl Entry {
    /// Refuses options of the command line that mean nothing to the suite.
    pub(crate) fn check_options(&self, args: &BenchArgs) -> Result<(), BenchError> {
        let given = [
            ("--range", !args.range.is_empty()),
            ("--options", !args.options.is_empty()),
            ("--object", !args.object.is_empty()),
            ("--library", args.library.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) if self.suite != Suite::EtsBench => {
                Err(BenchError::NothingToRun(format!(
                    "{option} is for `ets_bench`, not for `{}`",
                    self.suite.name()
                )))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what no case of the suite is called.
    pub(crate) fn check_cases(&self, args: &BenchArgs) -> Result<(), BenchError> {
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
