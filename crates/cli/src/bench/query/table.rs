//! Tables of the suite `query` for people: ours, theirs, the ratio and what it should be.

use super::case::Case;
use crate::bench::report::Line;

/// What compiling a specification may take, in nanoseconds.
const COMPILE: f64 = 2000.0;

/// What two threads may take of the time of one: the inverse of 1.7.
const TWO_THREADS: f64 = 0.588;

/// What a point plan may take of a lookup and compiling, and a range plan of the range itself.
const POINT: f64 = 1.3;
const RANGE: f64 = 1.5;

/// A table for each kind of table measured.
pub(super) fn render(lines: &[Line]) -> String {
    let mut out = String::new();
    let mut groups: Vec<(Option<&str>, &str)> = Vec::new();
    for line in lines.iter().filter(|l| l.subject == "fyris") {
        if !groups.contains(&(line.index, line.keys)) {
            groups.push((line.index, line.keys));
        }
    }
    for (index, keys) in groups {
        let table_type = if index == Some("ordered") {
            "ordered_set"
        } else {
            "set"
        };
        let wanted =
            |l: &&Line| l.keys == keys && (l.index == index || l.index == Some(table_type));
        let group = Group(lines.iter().filter(wanted).collect());
        out.push_str(&group.render(table_type));
    }
    out
}

/// The lines of one kind of table.
struct Group<'a>(Vec<&'a Line>);

/// A ratio and its target.
type Judged = Option<(f64, f64)>;

impl Group<'_> {
    fn render(&self, table_type: &str) -> String {
        let (n, object) = self
            .0
            .first()
            .map_or((0, ""), |l| (l.n, l.object.unwrap_or("")));
        let mut out = format!(
            "\n{table_type} of {n} {object}: ns per object visited, or per call\n{:30} {:>9} {:>9} {:>7}  aim\n",
            "", "fyris", "ets", "ratio"
        );
        for line in self.0.iter().filter(|l| l.subject == "fyris") {
            let theirs = self.time("ets", line.case, 1);
            let name = match line.threads {
                1 => line.case.to_owned(),
                n => format!("{}, {n} threads", line.case),
            };
            let ratio = theirs.map(|theirs| line.figure() / theirs);
            let show = |figure: Option<f64>, digits| {
                figure.map_or("-".to_owned(), |figure| format!("{figure:.digits$}"))
            };
            out.push_str(&format!(
                "{name:30} {:>9.1} {:>9} {:>7}  {}\n",
                line.figure(),
                show(theirs, 1),
                show(ratio, 2),
                self.aim(line, ratio)
            ));
        }
        out
    }

    /// What is aimed at, and whether it is reached.
    fn aim(&self, line: &Line, ratio: Option<f64>) -> String {
        let case = Case::ALL.into_iter().find(|case| case.name() == line.case);
        let ours = |case: Case| self.time("fyris", case.name(), 1);
        let of = |part: Option<f64>, target: f64| -> Judged {
            part.map(|part| (line.figure() / part, target))
        };
        let (words, judged) = match case {
            Some(Case::Compile) => ("of 2 us", Some((line.figure() / COMPILE, 1.0))),
            Some(Case::Point) => {
                let parts = ours(Case::Lookup).zip(ours(Case::Compile));
                (
                    "of lookup and compile",
                    of(parts.map(|(a, b)| a + b), POINT),
                )
            }
            Some(Case::SelectRange100) => ("of range100", of(ours(Case::Range100), RANGE)),
            Some(case) if line.threads == 2 => ("of one thread", of(ours(case), TWO_THREADS)),
            Some(case) => ("of ets", ratio.zip(case.share_of_ets())),
            None => ("", None),
        };
        judged.map_or_else(String::new, |(found, target)| {
            let word = if found <= target { "reached" } else { "MISSED" };
            format!("{found:.2} {words}, at most {target}: {word}")
        })
    }

    fn time(&self, subject: &str, case: &str, threads: usize) -> Option<f64> {
        let is = |l: &&&Line| l.subject == subject && l.case == case && l.threads == threads;
        self.0.iter().find(is).map(|line| line.figure())
    }
}
