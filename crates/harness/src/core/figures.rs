//! The drawings of `--plot` for the suite `core`: a bar for each subject and case.

use super::case::Case;
use crate::figure::{Bar, Figure, Shape, Value};
use crate::report::Line;

/// Returns one figure for each kind of keys and number of threads, and one for memory.
pub(super) fn figures(lines: &[Line]) -> Vec<Figure> {
    let points = Case::POINTS.map(Case::name);
    let timed = |l: &&Line| points.contains(&l.case);
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for line in lines.iter().filter(timed) {
        if !groups.contains(&(line.keys, line.threads)) {
            groups.push((line.keys, line.threads));
        }
    }
    let mut out: Vec<Figure> = groups
        .into_iter()
        .map(|(keys, threads)| {
            let group = |l: &&Line| l.keys == keys && l.threads == threads && timed(l);
            Figure {
                file: format!("core-{keys}-{threads}"),
                title: format!("{keys} keys, {threads} thread(s)"),
                x: "case".to_owned(),
                y: "ns per operation and thread".to_owned(),
                note: String::new(),
                shape: bars(lines.iter().filter(group), |l| l.case),
            }
        })
        .collect();
    let memory = |l: &&Line| l.case == Case::Bytes.name();
    if lines.iter().any(|l| memory(&l)) {
        out.push(Figure {
            file: "core-bytes".to_owned(),
            title: "memory".to_owned(),
            x: "keys".to_owned(),
            y: "bytes per entry".to_owned(),
            note: String::new(),
            shape: bars(lines.iter().filter(memory), |l| l.keys),
        });
    }
    out
}

fn bars<'a>(lines: impl Iterator<Item = &'a Line>, cluster: fn(&Line) -> &'static str) -> Shape {
    let bar = |line: &Line| Bar {
        row: line.label(),
        cluster: cluster(line).to_owned(),
        value: Value::of(line, |figure| figure),
    };
    Shape::Bars(lines.map(bar).collect())
}
