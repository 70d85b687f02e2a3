//! Tables of the suite `judy` for people.

use std::fmt::Write as _;

use super::case::JudyCase;
use super::figures::base;
use crate::report::Line;

/// Returns a table for each program: nanoseconds a key, and in brackets the share of the base's time; and of memory.
pub(super) fn render(lines: &[Line]) -> String {
    let mut out = String::new();
    for case in JudyCase::ALL {
        let lines_of: Vec<&Line> = lines
            .iter()
            .filter(|line| line.case == case.name())
            .collect();
        let (mut sizes, mut labels) = (Vec::new(), Vec::new());
        for line in &lines_of {
            if !sizes.contains(&line.n) {
                sizes.push(line.n);
            }
            if !labels.contains(&line.label()) {
                labels.push(line.label());
            }
        }
        if lines_of.is_empty() {
            continue;
        }
        let (name, base) = base(lines, case.name());
        let unit = if case == JudyCase::Bytes {
            "bytes an object"
        } else {
            "ns a key"
        };
        let _ = write!(
            out,
            "\n{} ({}): {unit} (share of {name}'s)\n{:28}",
            case.name(),
            case.caption().0,
            "keys"
        );
        for n in &sizes {
            let _ = write!(out, " {n:>15}");
        }
        out.push('\n');
        for label in labels {
            let _ = write!(out, "{label:28}");
            for n in &sizes {
                let line = lines_of
                    .iter()
                    .find(|line| line.label() == label && line.n == *n);
                let share = |figure: f64| {
                    let base = base.iter().find(|line| line.n == *n);
                    base.map_or(String::new(), |base| {
                        format!("({:.2})", figure / base.figure())
                    })
                };
                let cell = line.map_or("-".to_owned(), |line| {
                    format!("{:.1} {:>7}", line.figure(), share(line.figure()))
                });
                let _ = write!(out, " {cell:>15}");
            }
            out.push('\n');
        }
    }
    out
}
