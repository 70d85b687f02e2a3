//! Tables for people, and the drawings of `--plot`.

use super::case::CASES;
use crate::figure::{Curve, Figure, Shape, Value, add_point};
use crate::report::Line;

/// Returns a table for each case: subjects down; the time of an operation and waits across.
pub(super) fn render(lines: &[Line]) -> String {
    const WAITS: [(&str, &str); 6] = [
        ("read_p50_ns", "read p50"),
        ("read_p99_ns", "read p99"),
        ("read_max_ns", "read max"),
        ("write_p50_ns", "write p50"),
        ("write_p99_ns", "write p99"),
        ("write_max_ns", "write max"),
    ];
    let width = lines.iter().map(|l| l.subject.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (case, threads) in groups(lines) {
        out.push_str(&format!(
            "\n{case}, {threads} threads: ns an operation and thread, million operations a second, \
             waits in us\n{:width$} {:>10} {:>10}",
            "", "ns/op", "Mops/s"
        ));
        WAITS
            .iter()
            .for_each(|(_, name)| out.push_str(&format!(" {name:>10}")));
        let of_group = |l: &&Line| l.case == case && l.threads == threads;
        for line in lines.iter().filter(of_group) {
            let time = line.times.as_ref().map_or(0.0, |times| times.ns_per_op);
            let throughput = line.extra("ops_per_s").unwrap_or(0.0) / 1e6;
            let subject = line.subject;
            out.push_str(&format!(
                "\n{subject:width$} {time:>10.1} {throughput:>10.1}"
            ));
            for (field, _) in WAITS {
                let wait = line.extra(field).map(|ns| format!("{:.2}", ns / 1e3));
                out.push_str(&format!(" {:>10}", wait.as_deref().unwrap_or("-")));
            }
        }
        out.push('\n');
    }
    out
}

fn groups(lines: &[Line]) -> Vec<(&'static str, usize)> {
    let mut groups = Vec::new();
    for line in lines {
        if !groups.contains(&(line.case, line.threads)) {
            groups.push((line.case, line.threads));
        }
    }
    groups
}

/// Returns a figure for each case: throughput over the number of threads.
pub(super) fn figures(lines: &[Line]) -> Vec<Figure> {
    let cases = CASES
        .iter()
        .filter(|case| lines.iter().any(|l| l.case == case.name));
    cases
        .map(|case| Figure {
            file: format!("rwlock-{}", case.name.replace('/', "-")),
            title: format!(
                "The comparison of the 2010 talk: {}, {} under the lock",
                case.shares(),
                match case.turns {
                    0 => "nothing to do".to_owned(),
                    turns => format!("{turns} turns of work"),
                }
            ),
            x: "threads".to_owned(),
            y: "million operations a second".to_owned(),
            note: String::new(),
            shape: Shape::Curves(curves(lines, case.name)),
        })
        .collect()
}

/// Returns a curve for each lock.
fn curves(lines: &[Line], case: &str) -> Vec<Curve> {
    let mut out: Vec<Curve> = Vec::new();
    for line in lines
        .iter()
        .filter(|l| l.case == case && l.subject != "harness")
    {
        let throughput = Value::of(line, |ns| line.threads as f64 * 1e3 / ns);
        add_point(&mut out, line.subject, (line.threads as f64, throughput));
    }
    out
}
