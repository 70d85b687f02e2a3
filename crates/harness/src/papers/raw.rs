//! The files of raw lines: what was measured, when, where and by which version.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use super::plan::Step;
use crate::error::BenchError;
use crate::report::Line;

/// The folder of the raw lines, in that of the page.
pub(super) const FOLDER: &str = "raw";

/// Returns the file of a step.
pub(super) fn file(out: &Path, step: &Step) -> PathBuf {
    out.join(FOLDER).join(format!("{}.jsonl", step.name))
}

/// A file that has been measured.
pub(super) struct RawFile {
    /// The first line: see [`about`].
    about: Json,
    pub(super) lines: Vec<Line>,
}

impl RawFile {
    /// Reads a step's file; `None` if there is none, or if it was measured with other options. Whether others took
    /// part, of `fyris-compare` or a library, is no other option.
    pub(super) fn read(out: &Path, step: &Step) -> Option<Self> {
        let text = std::fs::read_to_string(file(out, step)).ok()?;
        let mut lines = text.lines();
        let about = serde_json::from_str::<Json>(lines.next()?).ok()?;
        let about = about.get("about")?.clone();
        let command = about["command"].as_str()?;
        (options(command) == options(&step.line())).then(|| Self {
            about,
            lines: lines.filter_map(Line::parse).collect(),
        })
    }

    /// Returns true if it is what the step would measure, of all who take part.
    pub(super) fn is_of(&self, step: &Step) -> bool {
        self.text("command") == step.line()
    }

    /// Returns a field of the first line.
    pub(super) fn text(&self, field: &str) -> &str {
        self.about[field].as_str().unwrap_or_default()
    }

    /// Returns a number of the first line.
    pub(super) fn number(&self, field: &str) -> f64 {
        self.about[field].as_f64().unwrap_or(0.0)
    }
}

/// Returns the first line of a step's file.
pub(super) fn about(step: &Step, before: Option<Ticks>, seconds: f64) -> String {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let others = before.and_then(|before| before.others_since(cpus as f64));
    json!({"about": {
        "command": step.line(),
        "date": said(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M"])),
        "machine": processor(),
        "cpus": cpus,
        "kernel": said(Command::new("uname").args(["-s", "-r"])),
        "version": env!("CARGO_PKG_VERSION"),
        "commit": said(Command::new("git").args(["rev-parse", "--short", "HEAD"])),
        "otp": otp(),
        "others": others.map(|others| (others * 100.0).round() / 100.0),
        "seconds": seconds.round(),
    }})
    .to_string()
}

/// Returns the options of a command, without the program and the library.
fn options(command: &str) -> &str {
    let options = command.split_once(' ').map_or("", |(_, options)| options);
    options
        .split(" --library ")
        .next()
        .unwrap_or(options)
        .trim_end()
}

/// Processor time so far, in the kernel's ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    /// Of all processors, idle or not.
    all: f64,
    /// Of those that were not idle.
    busy: f64,
    /// Of this process and the children that it has waited for.
    own: f64,
}

impl Ticks {
    /// Returns the account of now; nothing where there is no `/proc`.
    pub(super) fn now() -> Option<Self> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let of_all = stat.lines().next()?.split_whitespace().skip(1);
        let of_all: Vec<f64> = of_all.filter_map(|ticks| ticks.parse().ok()).collect();
        let own = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name in brackets may have blanks; the times are the 14th to 17th field, the name is the second.
        let own = own.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
        // User, nice, system, idle, waiting for a disk, interrupts twice, stolen by the host.
        let all: f64 = of_all.iter().take(8).sum();
        Some(Self {
            all,
            busy: all - of_all.get(3)? - of_all.get(4)?,
            own: own.filter_map(|ticks| ticks.parse::<f64>().ok()).sum(),
        })
    }

    /// Returns how many of `cpus` processors others have used since then.
    pub(super) fn others_since(self, cpus: f64) -> Option<f64> {
        let now = Self::now()?;
        let others = (now.busy - self.busy) - (now.own - self.own);
        Some((others / (now.all - self.all).max(1.0)).clamp(0.0, 1.0) * cpus)
    }
}

/// Returns the first line that a program prints; empty if it cannot be run.
fn said(command: &mut Command) -> String {
    let output = command.stderr(std::process::Stdio::null()).output();
    let text = output.ok().filter(|output| output.status.success());
    let text = text.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    name.unwrap_or("unknown")
        .trim_start_matches([' ', '\t', ':'])
        .to_owned()
}

/// Returns the release of Erlang/OTP; empty where there is none.
fn otp() -> String {
    let program = "io:put_chars(erlang:system_info(otp_release)), halt().";
    said(Command::new("erl").args(["-noshell", "-eval", program]))
}

/// Writes a step's file as a whole: a reader finds all of it or nothing.
pub(super) fn write(out: &Path, step: &Step, text: &str) -> Result<(), BenchError> {
    let file = file(out, step);
    let part = file.with_extension("part");
    std::fs::write(&part, text)?;
    Ok(std::fs::rename(part, file)?)
}
