//! The doctor's report, for people and for programs.

use std::fmt::Write as _;
use std::path::Path;

use fyris_segment::{Attached, Listed, Repaired, Report};
use serde_json::json;

/// Returns the report in words.
pub(super) fn text(
    name: &Path,
    report: &Report,
    repaired: Option<Repaired>,
    sound: bool,
) -> String {
    let mut out = String::new();
    if let Some(r) = repaired {
        row(
            &mut out,
            "repaired",
            format_args!(
                "published page changes completed: {}, dead processes forgotten: {}, frames freed: {}",
                r.replayed, r.reaped, r.freed_frames
            ),
        );
    }
    let r = report;
    let (size, max, unit) = (r.size, r.max_size, r.unit);
    let name = name.display();
    row(
        &mut out,
        "segment",
        format_args!("{name}: {size} bytes, may grow to {max}, unit of {unit} bytes"),
    );
    row(
        &mut out,
        "version",
        format_args!("{}, after {} page changes", r.version, r.position),
    );
    row(
        &mut out,
        "log",
        format_args!("{} changes kept, room for {}", r.log_used, r.log_size),
    );
    row(
        &mut out,
        "frames",
        format_args!(
            "{} current, {} retained for processes behind, {} reserved by processes, {} free",
            r.frames_current, r.frames_retained, r.frames_reserved, r.frames_free
        ),
    );
    let longest = r.longest_runs.iter().map(|run| run.len().to_string());
    row(
        &mut out,
        "runs",
        format_args!(
            "{} of pages that lie in order; pages in the longest: {}",
            r.runs,
            longest.collect::<Vec<_>>().join(", ")
        ),
    );
    row(
        &mut out,
        "history",
        format_args!(
            "{} frames kept for processes behind the log, {} at most; {} evicted so far",
            r.frames_kept, r.frames_kept_max, r.evictions
        ),
    );
    row(
        &mut out,
        "overrun",
        format_args!("{} times, the log went on without a process", r.overruns),
    );
    processes(&mut out, &r.processes, r.slots);
    row(
        &mut out,
        "check",
        format_args!("{}", if sound { "sound" } else { "NOT SOUND" }),
    );
    out
}

pub(super) fn row(out: &mut String, name: &str, what: impl std::fmt::Display) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{name:<9} {what}");
}

fn processes(out: &mut String, processes: &[Attached], slots: usize) {
    row(
        out,
        "processes",
        format_args!("{} attached, {slots} at most", processes.len()),
    );
    for process in processes {
        let state = if process.alive { "runs" } else { "dead" };
        let behind = match process.behind {
            Some(0) => "up to date".to_owned(),
            Some(n) => format!("{n} page changes behind"),
            None => "evicted".to_owned(),
        };
        let (pid, commits) = (process.pid, process.commits);
        let kind = if process.in_place {
            ", reads in place"
        } else {
            ""
        };
        row(
            out,
            "",
            format_args!("pid {pid}, {state}, {behind}, {commits} commits{kind}"),
        );
    }
}

/// Returns the report as one JSON object in a line.
pub(super) fn json(report: &Report, repaired: Option<Repaired>, sound: bool) -> String {
    let processes: Vec<_> = report
        .processes
        .iter()
        .map(|p| {
            json!({
                "pid": p.pid,
                "alive": p.alive,
                "behind": p.behind,
                "commits": p.commits,
                "in_place": p.in_place,
            })
        })
        .collect();
    let repaired = repaired.map(
        |r| json!({"replayed": r.replayed, "reaped": r.reaped, "freed_frames": r.freed_frames}),
    );
    let object = json!({
        "size": report.size,
        "max_size": report.max_size,
        "unit": report.unit,
        "version": report.version,
        "position": report.position,
        "log_used": report.log_used,
        "log_size": report.log_size,
        "frames_current": report.frames_current,
        "frames_retained": report.frames_retained,
        "frames_kept": report.frames_kept,
        "frames_kept_max": report.frames_kept_max,
        "frames_reserved": report.frames_reserved,
        "frames_free": report.frames_free,
        "frames_holes": report.frames_holes,
        "runs": report.runs,
        "longest_runs": report.longest_runs.iter().map(|run| [run.start, run.end]).collect::<Vec<_>>(),
        "overruns": report.overruns,
        "evictions": report.evictions,
        "slots": report.slots,
        "processes": processes,
        "repaired": repaired,
        "sound": sound,
    });
    format!("{object}\n")
}

/// Returns a table of segments.
pub(super) fn list(all: &[Listed]) -> String {
    let width = all.iter().map(|listed| listed.name.len()).max();
    let width = width.unwrap_or(0).max("name".len());
    let (name, size, version) = ("name", "bytes", "version");
    let mut out = format!("{name:<width$} {size:>14} {version:>10} processes     memory\n");
    for listed in all {
        let name = &listed.name;
        // Writing to a string does not fail.
        let _ = match &listed.overview {
            Ok(o) => writeln!(
                out,
                "{name:<width$} {:>14} {:>10} {:>9} {:>10}",
                o.size, o.version, o.processes, o.backed
            ),
            Err(error) => writeln!(out, "{name:<width$} {error}"),
        };
    }
    out
}

/// Returns one JSON object for each segment, each in a line.
pub(super) fn list_json(all: &[Listed]) -> String {
    let object = |listed: &Listed| {
        let (name, path) = (&listed.name, listed.path.display().to_string());
        let object = match &listed.overview {
            Ok(o) => json!({
                "name": name,
                "path": path,
                "size": o.size,
                "max_size": o.max_size,
                "unit": o.unit,
                "version": o.version,
                "processes": o.processes,
                "backed": o.backed,
            }),
            Err(error) => json!({"name": name, "path": path, "error": error.to_string()}),
        };
        format!("{object}\n")
    };
    all.iter().map(object).collect()
}
