//! The page, as Markdown and as HTML that is made of it, and its drawings.

use std::collections::BTreeSet;
use std::path::Path;

use super::lines::{Findings, Paper, Part, Shown};
use super::plan::{Program, Step};
use super::raw::{FOLDER, RawFile};
use super::{conversion, ets_2013, study_2003, talk_2010, tree_2014};
use crate::error::BenchError;
use crate::plot;
use crate::report::Line;
use crate::stats::Samples;

/// The share of the processors from which on others are said to have kept them busy.
const BUSY: f64 = 0.1;

/// Writes the page and its drawings, from the lines of all steps that were done.
pub(super) fn write(steps: &[Step], out: &Path) -> Result<(), BenchError> {
    let read = |step| RawFile::read(out, step).map(|file: RawFile| (step, file));
    let files: Vec<(&Step, RawFile)> = steps.iter().filter_map(read).collect();
    if files.is_empty() {
        let why = format!("no lines in {}", out.join(FOLDER).display());
        return Err(BenchError::NothingToRun(why));
    }
    let lines = distinct(
        files
            .iter()
            .flat_map(|(_, file)| file.lines.iter().cloned()),
    );
    let cpus = files
        .iter()
        .map(|(_, file)| file.number("cpus") as usize)
        .max()
        .unwrap_or(1);
    let measured = Findings {
        lines: &lines,
        cpus,
    };
    let papers = [
        study_2003::paper(&measured),
        talk_2010::paper(&measured),
        ets_2013::paper(&measured),
        conversion::paper(&measured),
        tree_2014::paper(&measured),
    ];
    for shown in papers
        .iter()
        .flat_map(|paper| &paper.parts)
        .filter_map(shown)
    {
        plot::draw_all(out, &shown.figures)?;
    }
    let mut page = head(steps, &files, &lines);
    let done: Vec<&str> = files.iter().map(|(step, _)| step.name).collect();
    papers
        .iter()
        .for_each(|paper| section(&mut page, paper, &done));
    std::fs::write(out.join("index.html"), html(&page))?;
    Ok(std::fs::write(out.join("index.md"), page)?)
}

/// Returns the lines without those that say again what another has said: steps overlap.
fn distinct(lines: impl Iterator<Item = Line>) -> Vec<Line> {
    let mut seen = BTreeSet::new();
    lines
        .filter(|l| {
            let what = (l.suite, l.case, l.subject, l.index);
            seen.insert((what, (l.object, l.options, l.keys, l.threads, l.n)))
        })
        .collect()
}

fn shown(part: &Part) -> Option<&Shown> {
    match part {
        Part::Shown(shown) => Some(shown),
        Part::Absent { .. } => None,
    }
}

/// Returns the title, and where the lines come from.
fn head(steps: &[Step], files: &[(&Step, RawFile)], lines: &[Line]) -> String {
    let all = |field: &str| {
        let values: BTreeSet<&str> = files
            .iter()
            .map(|(_, file)| file.text(field))
            .filter(|text| !text.is_empty())
            .collect();
        values.into_iter().collect::<Vec<_>>().join("; ")
    };
    let dates: BTreeSet<&str> = files.iter().map(|(_, file)| file.text("date")).collect();
    let span = match (dates.first(), dates.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last} UTC"),
        _ => format!("{} UTC", all("date")),
    };
    let others = files
        .iter()
        .map(|(_, file)| file.number("others"))
        .fold(0.0, f64::max);
    let cpus = files
        .iter()
        .map(|(_, file)| file.number("cpus"))
        .fold(0.0, f64::max);
    let otp = match all("otp") {
        none if none.is_empty() => "no Erlang: without `ets`".to_owned(),
        releases => format!("Erlang/OTP {releases}"),
    };
    let commit = match all("commit") {
        none if none.is_empty() => none,
        commits => format!(" (commit {commits})"),
    };
    let mut page = "# The experiments of the papers, on this machine\n\nFive papers stand behind Fyris. For each of \
                    their figures and tables that measures something this page shows what is measured here instead, \
                    made by `make papers`. Beneath stand what the paper found, what we see, and why the two differ or \
                    do not. Sentences about what we see are made from the drawn numbers by the program. Ratios within \
                    one drawing mean something; times of different machines do not compare.\n\n"
        .to_owned();
    if files.iter().any(|(step, _)| step.quick) {
        page.push_str(
            "**Made by a quick run, of small tables: it shows that the page is made as it should be, and proves \
             nothing.**\n\n",
        );
    }
    if others > cpus * BUSY {
        page.push_str(&format!(
            "**The machine was busy with other work, which took {others:.1} of {cpus:.0} processors during a \
             step.**\n\n"
        ));
    }
    page.push_str(&format!(
        "* Machine: {} with {cpus:.0} processors; {}.\n* Versions: Fyris {}{commit}; {otp}.\n* Measured: {span}.\n* \
         {}\n\n",
        all("machine"),
        all("kernel"),
        all("version"),
        noise(lines)
    ));
    let missing: Vec<&str> = steps
        .iter()
        .filter(|step| step.program != Program::Make)
        .filter(|step| !files.iter().any(|(done, _)| done.name == step.name))
        .map(|step| step.name)
        .collect();
    if !missing.is_empty() {
        page.push_str(&format!(
            "Not measured yet: {}. `make papers` goes on with them.\n\n",
            missing.join(", ")
        ));
    }
    page
}

/// Returns how far the runs of a line lie apart.
fn noise(lines: &[Line]) -> String {
    let mut spreads = Samples::default();
    let times = lines.iter().filter_map(|line| line.times.as_ref());
    times.for_each(|times| spreads.push(100.0 * (times.q3 - times.q1) / times.ns_per_op));
    format!(
        "Noise: the quartiles of a figure, which its error bar shows, lie {:.0} % of it apart in the middle one of {}, \
         and more than {:.0} % in one of ten.",
        spreads.median(),
        spreads.runs(),
        spreads.quantile(0.9)
    )
}

fn section(page: &mut String, paper: &Paper, done: &[&str]) {
    page.push_str(&format!("## {}\n\n{}\n\n", paper.title, paper.source));
    for part in &paper.parts {
        match part {
            Part::Absent { what, why } => {
                page.push_str(&format!("### {what}\n\nNo counterpart. {why}\n\n"));
            }
            Part::Shown(shown) => figures(page, shown, done),
        }
    }
}

/// Adds drawings, and what is said of them.
fn figures(page: &mut String, shown: &Shown, done: &[&str]) {
    page.push_str(&format!("### {}\n\n", shown.what));
    if shown.figures.is_empty() {
        let steps = shown.steps.join(", ");
        page.push_str(&format!("Not measured yet (step {steps} of the plan).\n\n"));
        return;
    }
    for figure in &shown.figures {
        page.push_str(&format!("![{}]({}.svg)\n\n", figure.title, figure.file));
    }
    let measured = shown.steps.iter().filter(|step| done.contains(step));
    let raw: Vec<_> = measured
        .map(|step| format!("{FOLDER}/{step}.jsonl"))
        .map(|file| format!("[{file}]({file})"))
        .collect();
    page.push_str(&format!(
        "**The paper.** {}\n\n**Here.** {}\n\n**Why.** {}\n\nRaw lines: {}\n\n",
        shown.found,
        shown.see,
        shown.why,
        raw.join(", ")
    ));
}

const STYLE: &str = "body{max-width:940px;margin:2em auto;padding:0 1em;font:16px/1.5 \
                     sans-serif;color:#111}img{max-width:100%;border:1px solid #ddd}h2{margin-top:3em;border-top:2px \
                     solid #111;padding-top:.5em}h3{margin-top:2.5em}code{background:#f3f3f3;padding:0 .2em}";

fn html(page: &str) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>Fyris: the experiments of the \
         papers</title>\n<style>{STYLE}</style>\n"
    );
    pulldown_cmark::html::push_html(&mut out, pulldown_cmark::Parser::new(page));
    out.push_str("</html>\n");
    out
}
