//! Tables of the suite `query` for people: ours, theirs, the ratio and what it should be.

use super::aims;
use crate::report::Line;

/// Returns a table for each kind of table measured.
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
        out.push_str(&group.render(table_type, lines));
    }
    out
}

/// The lines of one kind of table.
struct Group<'a>(Vec<&'a Line>);

impl Group<'_> {
    fn render(&self, table_type: &str, lines: &[Line]) -> String {
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
                self.aim(line, lines)
            ));
        }
        out
    }

    /// Describes the aim and whether it is reached.
    fn aim(&self, line: &Line, lines: &[Line]) -> String {
        let aim = aims::aim(line, lines);
        let Some((aim, measured)) = aim.and_then(|aim| aim.measured.map(|ratio| (aim, ratio)))
        else {
            return String::new();
        };
        let word = if aim.is_reached() {
            "reached"
        } else {
            "MISSED"
        };
        format!(
            "{measured:.2} of {}, at most {}: {word}",
            aim.of, aim.target
        )
    }

    fn time(&self, subject: &str, case: &str, threads: usize) -> Option<f64> {
        let is = |l: &&&Line| l.subject == subject && l.case == case && l.threads == threads;
        self.0.iter().find(is).map(|line| line.figure())
    }
}
