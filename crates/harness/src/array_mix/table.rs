//! Tables for people: subjects down, sizes across, one for each mix.

use super::case::{ArrayCase, cases};
use crate::report::Line;

/// Returns the tables of all figures.
pub(super) fn render(lines: &[Line]) -> String {
    let mut out = String::new();
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for (mix, line) in lines.iter().filter_map(|l| Some((mix(l)?, l))) {
        if line.subject != "harness" && !groups.contains(&(mix, line.threads)) {
            groups.push((mix, line.threads));
        }
    }
    for (name, processes) in groups {
        let group: Vec<&Line> = lines
            .iter()
            .filter(|l| mix(l) == Some(name))
            .filter(|l| l.subject == "harness" || l.threads == processes)
            .collect();
        let title = format!(
            "{name} (lookups:writes:queries), {processes} workers: thousand operations a second together, \
             and as a multiple of one worker without synchronisation (fig. 2)"
        );
        out.push_str(&grid(&title, &group, |l| throughput(l, lines)));
        let title = format!("{name}, {processes} workers: milliseconds a query (fig. 4)");
        out.push_str(&grid(&title, &group, |l| {
            l.extra("query_ms").map(|ms| format!("{ms:.3}"))
        }));
    }
    out
}

fn mix(line: &Line) -> Option<&'static str> {
    ArrayCase::named(line.case).map(|case| case.mix)
}

/// Returns the throughput, and the speedup over the empty loop if that was measured.
fn throughput(line: &Line, lines: &[Line]) -> Option<String> {
    let thousands = line.extra("ops_per_s")? / 1e3;
    Some(match speedup(line, lines) {
        Some(speedup) => format!("{thousands:.0} {speedup:.2}x"),
        None => format!("{thousands:.0}"),
    })
}

/// Returns all workers' throughput as a multiple of one worker's without synchronisation.
pub(super) fn speedup(line: &Line, lines: &[Line]) -> Option<f64> {
    let alone = lines
        .iter()
        .find(|l| l.subject == "harness" && l.case == line.case)?;
    Some(line.extra("ops_per_s")? / alone.extra("ops_per_s")?)
}

fn grid(title: &str, lines: &[&Line], cell: impl Fn(&Line) -> Option<String>) -> String {
    let mut subjects: Vec<&str> = Vec::new();
    for line in lines {
        if !subjects.contains(&line.subject) {
            subjects.push(line.subject);
        }
    }
    let sizes: Vec<ArrayCase> = cases()
        .filter(|case| lines.iter().any(|l| l.case == case.name))
        .collect();
    let width = subjects.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut out = format!("\n{title}\n{:width$}", "");
    for case in &sizes {
        out.push_str(&format!(" {:>16}", case.elements));
    }
    for subject in subjects {
        out.push_str(&format!("\n{subject:width$}"));
        for case in &sizes {
            let line = lines
                .iter()
                .find(|l| l.subject == subject && l.case == case.name);
            let text = line.and_then(|l| cell(l)).unwrap_or_else(|| "-".to_owned());
            out.push_str(&format!(" {text:>16}"));
        }
    }
    out.push('\n');
    out
}
