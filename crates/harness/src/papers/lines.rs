//! What was measured, and the parts that a page is made of.

use crate::args::Suite;
use crate::figure::{Bar, Figure, Value, threads};
use crate::report::Line;
use crate::suites;

/// The section of a paper.
pub(super) struct Paper {
    pub(super) title: &'static str,
    pub(super) source: &'static str,
    pub(super) parts: Vec<Part>,
}

/// What is said of some figures of a paper.
pub(super) enum Part {
    Shown(Shown),
    /// Figures without a counterpart, and the reason.
    Absent {
        what: &'static str,
        why: &'static str,
    },
}

/// Figures with a counterpart.
pub(super) struct Shown {
    /// The numbers of the figures, and their subject.
    pub(super) what: &'static str,
    pub(super) figures: Vec<Figure>,
    /// The steps of the plan that measured the lines.
    pub(super) steps: &'static [&'static str],
    /// What the paper found.
    pub(super) found: &'static str,
    /// What we see.
    pub(super) see: String,
    /// Why they differ, or why they do not.
    pub(super) why: String,
}

/// An index and its options.
pub(super) type Kind = (&'static str, &'static str);

/// All lines.
pub(super) struct Findings<'a> {
    pub(super) lines: &'a [Line],
    /// Processors of the machine.
    pub(super) cpus: usize,
}

impl Findings<'_> {
    /// Returns the drawings that a suite makes of its lines; the note says what they do not show.
    pub(super) fn drawings(&self, suite: Suite, note: &str) -> Vec<Figure> {
        let lines: Vec<Line> = self
            .lines
            .iter()
            .filter(|line| line.suite == suite.name())
            .cloned()
            .collect();
        if lines.is_empty() {
            return Vec::new();
        }
        let mut figures = (suites::entry(suite).figures)(&lines);
        figures
            .iter_mut()
            .for_each(|figure| figure.note = note.to_owned());
        figures
    }

    /// Returns the line of a table of `ets_bench` with the most keys that were measured with two threads.
    pub(super) fn table(&self, case: &str, kind: Kind, threads: usize) -> Option<&Line> {
        let is = |line: &&Line| {
            line.suite == Suite::EtsBench.name()
                && (line.case, line.threads) == (case, threads)
                && (line.index, line.options) == (Some(kind.0), Some(kind.1))
        };
        self.lines.iter().filter(is).max_by_key(|line| line.n)
    }

    /// Returns how many times as many operations a second two threads do as one.
    pub(super) fn gain(&self, case: &str, kind: Kind) -> Option<Value> {
        Some(self.ops(case, kind, 2)?.over(self.ops(case, kind, 1)?))
    }

    /// Returns million operations a second.
    pub(super) fn ops(&self, case: &str, kind: Kind, threads: usize) -> Option<Value> {
        Some(million(self.table(case, kind, threads)?))
    }

    /// Returns how many times as many operations a second one kind of table does as another.
    pub(super) fn ratio(
        &self,
        case: &str,
        kind: Kind,
        other: Kind,
        threads: usize,
    ) -> Option<Value> {
        Some(
            self.ops(case, kind, threads)?
                .over(self.ops(case, other, threads)?),
        )
    }

    /// Returns a bar for each kind of table that was measured, with one thread and with two.
    pub(super) fn bars(&self, case: &str, kinds: &[Kind]) -> Vec<Bar> {
        let mut bars = Vec::new();
        for kind in kinds {
            for count in [1, 2] {
                bars.extend(self.table(case, *kind, count).map(|line| Bar {
                    row: threads(count),
                    cluster: name(*kind),
                    value: million(line),
                }));
            }
        }
        bars
    }

    /// Returns what the number of processors keeps from being shown.
    pub(super) fn limit(&self) -> String {
        format!(
            "Error bars: quartiles. This machine has {} processors: what more threads, or several chips, would do is \
             not shown.",
            self.cpus
        )
    }
}

/// Returns the throughput of all threads.
pub(super) fn million(line: &Line) -> Value {
    Value::of(line, |ns| line.threads as f64 * 1e3 / ns)
}

/// Returns the name of a kind of table.
pub(super) fn name((index, options): Kind) -> String {
    match options {
        "no" => index.to_owned(),
        _ => format!("{index} {options}"),
    }
}
