//! The page, as HTML and as Markdown, and its drawings.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use super::lines::{Findings, Paper, Part, Shown};
use super::plan::{Program, Step};
use super::raw::{FOLDER, RawFile};
use super::{conversion, ets_2013, study_2003, talk_2010, tree_2014};
use crate::error::BenchError;
use crate::plot;
use crate::report::Line;
use crate::stats::Samples;

/// A part of the text. In texts `these marks` are code.
enum PageBlock {
    Heading(usize, String),
    Text(String),
    /// A file beside the page, and what it shows.
    Drawing(String, String),
    List(Vec<String>),
    /// Files of raw lines.
    Raw(Vec<String>),
}

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
    let mut blocks = head(steps, &files, &lines);
    let done: Vec<&str> = files.iter().map(|(step, _)| step.name).collect();
    papers
        .iter()
        .for_each(|paper| section(&mut blocks, paper, &done));
    std::fs::write(out.join("index.html"), html(&blocks))?;
    Ok(std::fs::write(out.join("index.md"), markdown(&blocks))?)
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
fn head(steps: &[Step], files: &[(&Step, RawFile)], lines: &[Line]) -> Vec<PageBlock> {
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
    let mut blocks = vec![
        PageBlock::Heading(1, "The experiments of the papers, on this machine".to_owned()),
        PageBlock::Text(
            "Five papers stand behind Fyris. For each of their figures and tables that measures something this page \
             shows what is measured here instead, made by `make papers`. Beneath stand what the paper found, what we \
             see, and why the two differ or do not. Sentences about what we see are made from the drawn numbers by the \
             program. Ratios within one drawing mean something; times of different machines do not compare."
                .to_owned(),
        ),
    ];
    if files.iter().any(|(step, _)| step.quick) {
        blocks.push(PageBlock::Text(
            "**Made by a quick run, of small tables: it shows that the page is made as it should be, and proves \
             nothing.**"
                .to_owned(),
        ));
    }
    if others > cpus * BUSY {
        blocks.push(PageBlock::Text(format!(
            "**The machine was busy with other work, which took {others:.1} of {cpus:.0} processors during a step.**"
        )));
    }
    blocks.push(PageBlock::List(vec![
        format!(
            "Machine: {} with {cpus:.0} processors; {}.",
            all("machine"),
            all("kernel")
        ),
        format!("Versions: Fyris {}{commit}; {otp}.", all("version")),
        format!("Measured: {span}."),
        noise(lines),
    ]));
    let missing: Vec<&str> = steps
        .iter()
        .filter(|step| step.program != Program::Make)
        .filter(|step| !files.iter().any(|(done, _)| done.name == step.name))
        .map(|step| step.name)
        .collect();
    if !missing.is_empty() {
        blocks.push(PageBlock::Text(format!(
            "Not measured yet: {}. `make papers` goes on with them.",
            missing.join(", ")
        )));
    }
    blocks
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

fn section(blocks: &mut Vec<PageBlock>, paper: &Paper, done: &[&str]) {
    blocks.push(PageBlock::Heading(2, paper.title.to_owned()));
    blocks.push(PageBlock::Text(paper.source.to_owned()));
    for part in &paper.parts {
        match part {
            Part::Absent { what, why } => {
                blocks.push(PageBlock::Heading(3, (*what).to_owned()));
                blocks.push(PageBlock::Text(format!("No counterpart. {why}")));
            }
            Part::Shown(shown) => {
                blocks.push(PageBlock::Heading(3, shown.what.to_owned()));
                if shown.figures.is_empty() {
                    let steps = shown.steps.join(", ");
                    blocks.push(PageBlock::Text(format!(
                        "Not measured yet (step {steps} of the plan)."
                    )));
                    continue;
                }
                let drawing = |figure: &crate::figure::Figure| {
                    PageBlock::Drawing(format!("{}.svg", figure.file), figure.title.clone())
                };
                blocks.extend(shown.figures.iter().map(drawing));
                blocks.push(PageBlock::Text(format!("**The paper.** {}", shown.found)));
                blocks.push(PageBlock::Text(format!("**Here.** {}", shown.see)));
                blocks.push(PageBlock::Text(format!("**Why.** {}", shown.why)));
                let measured = shown.steps.iter().filter(|step| done.contains(step));
                blocks.push(PageBlock::Raw(
                    measured
                        .map(|step| format!("{FOLDER}/{step}.jsonl"))
                        .collect(),
                ));
            }
        }
    }
}

fn markdown(blocks: &[PageBlock]) -> String {
    let mut out = String::new();
    for block in blocks {
        let _ = match block {
            PageBlock::Heading(level, text) => writeln!(out, "{} {text}\n", "#".repeat(*level)),
            PageBlock::Text(text) => writeln!(out, "{text}\n"),
            PageBlock::Drawing(file, title) => writeln!(out, "![{title}]({file})\n"),
            PageBlock::List(items) => {
                items.iter().for_each(|item| _ = writeln!(out, "* {item}"));
                writeln!(out)
            }
            PageBlock::Raw(files) => {
                let links: Vec<String> = files
                    .iter()
                    .map(|file| format!("[{file}]({file})"))
                    .collect();
                writeln!(out, "Raw lines: {}\n", links.join(", "))
            }
        };
    }
    out
}

const STYLE: &str = "body{max-width:940px;margin:2em auto;padding:0 1em;font:16px/1.5 \
                     sans-serif;color:#111}img{max-width:100%;border:1px solid #ddd}h2{margin-top:3em;border-top:2px \
                     solid #111;padding-top:.5em}h3{margin-top:2.5em}code{background:#f3f3f3;padding:0 \
                     .2em}.raw{font-size:13px;color:#555}";

fn html(blocks: &[PageBlock]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>Fyris: the experiments of the \
         papers</title>\n<style>{STYLE}</style>\n"
    );
    for block in blocks {
        let _ = match block {
            PageBlock::Heading(level, text) => {
                writeln!(out, "<h{level}>{}</h{level}>", marked(text))
            }
            PageBlock::Text(text) => writeln!(out, "<p>{}</p>", marked(text)),
            PageBlock::Drawing(file, title) => {
                writeln!(
                    out,
                    "<p><img src=\"{file}\" alt=\"{}\"></p>",
                    escaped(title)
                )
            }
            PageBlock::List(items) => {
                let items: String = items
                    .iter()
                    .map(|item| format!("<li>{}</li>", marked(item)))
                    .collect();
                writeln!(out, "<ul>{items}</ul>")
            }
            PageBlock::Raw(files) => {
                let links: Vec<String> = files
                    .iter()
                    .map(|file| format!("<a href=\"{file}\">{file}</a>"))
                    .collect();
                writeln!(out, "<p class=\"raw\">Raw lines: {}</p>", links.join(", "))
            }
        };
    }
    out.push_str("</html>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns a text with its marks as elements: code between back quotes, bold between double stars.
fn marked(text: &str) -> String {
    let mut out = escaped(text);
    for (mark, element) in [("**", "strong"), ("`", "code")] {
        let parts: Vec<&str> = out.split(mark).collect();
        let joined: String = parts
            .iter()
            .enumerate()
            .map(|(at, part)| match at {
                at if at % 2 == 0 => (*part).to_owned(),
                _ => format!("<{element}>{part}</{element}>"),
            })
            .collect();
        out = joined;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_elements_for_marks_and_nothing_of_html_else() {
        let html = marked("**Here.** `a<b>` & \"c\"");
        assert_eq!(
            html,
            "<strong>Here.</strong> <code>a&lt;b&gt;</code> &amp; &quot;c&quot;"
        );
    }
}
