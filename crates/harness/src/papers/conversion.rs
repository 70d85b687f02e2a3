//! The paper on versioned memory, CONVERSION (2013).

use super::drawings::ends;
use super::lines::{Findings, Paper, Part, Shown};
use super::say::{Claims, above, all, below, joined};
use crate::args::Suite;
use crate::figure::{Curve, Figure, Shape, Value, add_point};
use crate::report::Line;

const MIXES: [&str; 3] = ["74:25:1", "49:50:1", "25:74:1"];

pub(super) fn paper(m: &Findings) -> Paper {
    Paper {
        title: "Conversion: multi-version concurrency control for main memory segments (2013)",
        source: "Merrifield, Eriksson. Its machine: four chips with 8 cores. Segments of Fyris do in a library what \
                 the paper's do in the kernel; `fyris_declared` says beforehand which pages it writes to, `fyris` does \
                 not. `harness` is one worker with plain memory, the unit of throughput.",
        parts: vec![
            Part::Absent {
                what: "Figures 1 and 5, Tables 1, 2 and 4",
                why: "They show how the system works, its functions, and its lines of code: no measurements.",
            },
            Part::Shown(operations(m)),
            Part::Shown(throughput(m)),
            Part::Shown(workers(m)),
            Part::Shown(queries(m)),
            Part::Absent {
                what: "Figure 6, Table 5",
                why: "Deterministic threads beside plain ones are measured by `make bench-dthreads`, over the programs \
                      of `crates/dthreads/programs` in the place of those of PARSEC and Phoenix; they are not in this \
                      page yet.",
            },
        ],
    }
}

/// Table 3.
fn operations(m: &Findings) -> Shown {
    let note = "Median of each case; C is the time of a copy-on-write fault of the kernel on each machine, in the \
                paper 2.4 microseconds.";
    let in_c = |case| {
        let is = |line: &&Line| line.suite == Suite::Segment.name() && line.case == case;
        m.lines.iter().find(is)?.extra("in_c")
    };
    let mut claims = Claims::default();
    claims.add(
        in_c("fault_first").map(|c| below(c.into(), 1.1)),
        "the first write to a page costs a tenth more than a fault of the kernel at most",
    );
    let merge = in_c("merge_page_sparse").zip(in_c("update_page_sparse"));
    claims.add(
        merge.map(|(merge, update)| above((merge / update).into(), 2.0)),
        "merging a page that both sides have changed costs more than twice what updating it costs",
    );
    let value = |case, words: &str| in_c(case).map(|c| format!("{words} takes {c:.2} C"));
    let values: Vec<String> = [
        value("fault_first", "A first write to a page"),
        value("commit_page_scattered", "committing a page"),
        value("update_page_sparse", "updating one"),
        value("merge_page_sparse", "merging one"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let sentence = match values.is_empty() {
        true => String::new(),
        false => format!("{}.", values.join(", ")),
    };
    Shown {
        what: "Table 3: faults, commits, updates and merges",
        figures: m.drawings(Suite::Segment, note),
        steps: &["segment"],
        found: "A fault takes 2.5 microseconds instead of 2.4; a commit 3 to 6 and 0.8 a page; an update as much and \
                0.4 a page, or 5.2 where a page has to be merged (section 4.1).",
        see: joined(&[sentence, claims.text()]),
        why: "CONVERSION exchanges pages in the kernel, and compares whole ones to merge them; a library copies what \
              has changed, so it knows which words those are, and merging costs hardly more than updating. Pages that \
              are written again and again stay writable, and do not fault."
            .to_owned(),
    }
}

/// The lines of `array_mix`.
struct Arrays<'a>(Vec<&'a Line>);

impl<'a> Arrays<'a> {
    fn of(m: &Findings<'a>) -> Self {
        let is = |line: &&Line| line.suite == Suite::ArrayMix.name();
        Self(m.lines.iter().filter(is).collect())
    }

    /// Returns throughput as a multiple of one worker's without synchronisation.
    fn speedup(&self, line: &Line) -> Option<Value> {
        let is = |l: &&&Line| l.subject == "harness" && l.case == line.case;
        let (alone, threads) = (self.0.iter().find(is)?.figure(), line.threads as f64);
        Some(Value::of(line, |ns| threads * alone / ns))
    }

    fn find(&self, case: &str, subject: &str, threads: usize) -> Option<&'a Line> {
        let is =
            |line: &&&Line| (line.case, line.subject, line.threads) == (case, subject, threads);
        self.0.iter().find(is).copied()
    }

    /// Returns the throughput of two workers with declared writes over that of another subject.
    fn beside(&self, case: &str, other: &str) -> Option<Value> {
        let ns = |subject| Some(Value::of(self.find(case, subject, 2)?, |ns| ns));
        Some(ns(other)?.over(ns("fyris_declared")?))
    }

    /// Says that the others were not measured, if they were not.
    fn absent(&self) -> String {
        let has_others = self.0.iter().any(|line| line.subject == "one_lock");
        match has_others || self.0.is_empty() {
            true => String::new(),
            false => "The transactional memory and the single lock were not measured in this run: `make papers` builds \
                      `fyris-compare`, which has them."
                .to_owned(),
        }
    }
}

/// Figure 2.
fn throughput(m: &Findings) -> Shown {
    let note = m.limit().replace("more threads", "more processes");
    let mut figures = m.drawings(Suite::ArrayMix, &note);
    figures.retain(|figure| figure.file.ends_with("-2"));
    let arrays = Arrays::of(m);
    let mut claims = Claims::default();
    for (other, words) in [
        ("one_lock", "one lock"),
        ("stm", "the transactional memory"),
    ] {
        let at = |size: &str| {
            let beside = |mix| arrays.beside(&format!("{mix}/{size}"), other);
            MIXES.into_iter().filter_map(beside).collect::<Vec<_>>()
        };
        claims.add(
            all(at("5K").into_iter().map(|ratio| below(ratio, 1.0))),
            &format!("{words} does more than segments with 5,000 elements, in all mixes"),
        );
        claims.add(
            all(at("2M").into_iter().map(|ratio| above(ratio, 1.0))),
            &format!("segments do more than {words} with 2 million, in all mixes"),
        );
    }
    let why = if claims.fail() {
        "The transactional memory here, `xstm`, keeps no list of what a query reads, and with one other worker a query \
         is seldom overtaken; with 31 it begins again and again."
    } else {
        "With two workers instead of 32 fewer wait while one queries."
    };
    let unit = "elements, in times one worker with plain memory";
    Shown {
        what: "Figure 2: throughput by size of the array",
        see: joined(&[ends(&figures, unit), claims.text(), arrays.absent()]),
        figures,
        steps: &["array-sizes"],
        found: "The larger the array, the longer a query, and the more CONVERSION gains on transactional memory, which \
                aborts, and on one lock, which is held: it overtakes them at 50,000, 300,000 and 500,000 elements in \
                the three mixes, with 32 threads (section 4.2.2).",
        why: format!(
            "A commit and an update cost some microseconds however little has changed, a lock tens of nanoseconds: so \
             small arrays are the lock's. {why}"
        ),
    }
}

/// Figure 3.
fn workers(m: &Findings) -> Shown {
    let arrays = Arrays::of(m);
    let mut figures = Vec::new();
    for mix in MIXES {
        let case = format!("{mix}/2M");
        let mut of_case: Vec<&Line> = arrays
            .0
            .iter()
            .copied()
            .filter(|line| line.case == case)
            .collect();
        of_case.retain(|line| line.subject != "harness");
        of_case.sort_by_key(|line| line.threads);
        let mut curves: Vec<Curve> = Vec::new();
        for line in of_case {
            if let Some(value) = arrays.speedup(line) {
                add_point(&mut curves, line.subject, (line.threads as f64, value));
            }
        }
        if curves.iter().any(|curve| curve.points.len() > 1) {
            figures.push(Figure {
                file: format!("array_mix-workers-{}", mix.replace(':', "-")),
                title: format!(
                    "Figure 3 of the 2013 paper: {mix} (lookups:writes:queries), 2M elements"
                ),
                x: "processes, or threads of the lock and the transactional memory".to_owned(),
                y: "throughput, one unsynchronised worker = 1".to_owned(),
                note: m.limit().replace("more threads", "more processes at once"),
                shape: Shape::Curves(curves),
            });
        }
    }
    Shown {
        what: "Figure 3: throughput by number of workers",
        see: ends(&figures, "workers, in times one worker with plain memory"),
        figures,
        steps: &["array-sizes", "array-workers"],
        found: "With mostly lookups CONVERSION scales to 32 threads, as updating needs no lock; the more writes, the \
                more pages each update has to bring and the more commits wait for each other, so it stops scaling \
                early (section 4.2.3).",
        why: "Beyond the number of processors more processes only take turns, so the curves say what they cost each \
              other and not how they scale."
            .to_owned(),
    }
}

/// Figure 4.
fn queries(m: &Findings) -> Shown {
    let mut figures = m.drawings(Suite::ArrayMix, "Medians of all runs.");
    figures.retain(|figure| figure.file.ends_with("-2-query"));
    let arrays = Arrays::of(m);
    let ms = |subject, workers| {
        arrays
            .find("74:25:1/2M", subject, workers)?
            .extra("query_ms")
    };
    let mut claims = Claims::default();
    let segment = ms("fyris_declared", 2);
    let stm = ms("stm", 2)
        .zip(segment)
        .map(|(stm, segment)| stm / segment);
    claims.add(
        stm.map(|ratio| above(ratio.into(), 4.0)),
        "a query of 2 million elements takes four times as long in the transactional memory at least, in 74:25:1",
    );
    let stm_here = match claims.fail() {
        true => {
            " The transactional memory here, `xstm`, has each value beside its version, and keeps no list of what a \
             query reads, so looking at both costs little."
        }
        false => "",
    };
    let plain = segment.zip(ms("harness", 1)).map(|(segment, plain)| {
        format!(
            "In 74:25:1 with 2 million elements it takes {:.2} times as long in a segment as in plain memory.",
            segment / plain
        )
    });
    Shown {
        what: "Figure 4: how long a query takes",
        see: joined(&[
            ends(&figures, "elements, in milliseconds"),
            plain.unwrap_or_default(),
            claims.text(),
            arrays.absent(),
        ]),
        figures,
        steps: &["array-sizes"],
        found: "Queries run on plain memory in CONVERSION, 4 to 10 times as fast as under transactional memory, which \
                looks at each word (section 4.2.2).",
        why: format!("A segment is plain memory between two updates, here as there.{stm_here}"),
    }
}
