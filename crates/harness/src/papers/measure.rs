//! Doing what the plan says and has not been done.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::page;
use super::plan::{Program, Step};
use super::raw::{self, RawFile, Ticks};
use crate::error::BenchError;

/// Prints the plan.
pub(super) fn print_plan(steps: &[Step], out: &Path) {
    let mut left = 0.0;
    for step in steps.iter().filter(|step| step.program != Program::Make) {
        let done = is_done(out, step);
        left += if done { 0.0 } else { step.seconds };
        let state = if done {
            "done".to_owned()
        } else {
            minutes(step.seconds)
        };
        println!("{state:>8}  {}: {}", step.name, step.of);
        println!("{:10}{}", "", step.line());
    }
    println!(
        "{} to go; raw lines and page in {}",
        minutes(left),
        out.display()
    );
}

/// Returns true if the step need not be measured.
fn is_done(out: &Path, step: &Step) -> bool {
    RawFile::read(out, step).is_some_and(|file| file.is_of(step))
}

/// Does all steps whose lines are not there, and makes the page after each.
pub(super) fn all(steps: &[Step], out: &Path, compare: Option<&Path>) -> Result<(), BenchError> {
    print_plan(steps, out);
    std::fs::create_dir_all(out.join(raw::FOLDER))?;
    let is_missing = |step: &&Step| step.program != Program::Make && !is_done(out, step);
    let missing: Vec<&Step> = steps.iter().filter(is_missing).collect();
    let (mut taken, mut planned) = (0.0, 0.0);
    for (at, step) in missing.iter().enumerate() {
        let left: f64 = missing[at..].iter().map(|step| step.seconds).sum();
        // As much slower or faster than planned as what has been done.
        let pace = if planned > 0.0 { taken / planned } else { 1.0 };
        eprintln!(
            "{} of {}: {} ({}), {} left",
            at + 1,
            missing.len(),
            step.name,
            step.of,
            minutes(left * pace)
        );
        taken += one(step, out, compare)?;
        planned += step.seconds;
        page::write(steps, out)?;
    }
    Ok(())
}

/// Does one step; returns the seconds it took.
fn one(step: &Step, out: &Path, compare: Option<&Path>) -> Result<f64, BenchError> {
    let program = match compare.filter(|_| step.program == Program::Compare) {
        Some(program) => program.to_owned(),
        None => std::env::current_exe()?,
    };
    let (before, start) = (Ticks::now(), Instant::now());
    let child = Command::new(program)
        .args(&step.args)
        .arg("--json")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(BenchError::Child(format!(
            "{}: {}",
            step.line(),
            output.status
        )));
    }
    let seconds = start.elapsed().as_secs_f64();
    let lines = String::from_utf8_lossy(&output.stdout);
    raw::write(
        out,
        step,
        &format!("{}\n{lines}", raw::about(step, before, seconds)),
    )?;
    Ok(seconds)
}

fn minutes(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}
