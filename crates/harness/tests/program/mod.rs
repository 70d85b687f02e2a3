//! The program itself, run by tests.

use std::process::{Command, Output, Stdio};

pub(crate) fn bench(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fyris-bench"))
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

/// Returns what a run that succeeds prints.
pub(crate) fn printed(line: &str) -> String {
    let output = bench(line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}
