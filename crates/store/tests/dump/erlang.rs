//! Running the oracle, where Erlang is installed.

use std::path::Path;
use std::process::Command;

const ORACLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dump_oracle.escript");

/// Runs the oracle on a folder; false, and a word about it, where there is no Erlang.
///
/// # Panics
///
/// If the oracle found something wrong.
pub(crate) fn oracle(command: &str, folder: &Path) -> bool {
    let Ok(output) = Command::new("escript")
        .arg(ORACLE)
        .arg(command)
        .arg(folder)
        .output()
    else {
        eprintln!("skipped: no escript here");
        return false;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the oracle says\n{said}{errors}");
    true
}

/// Returns whether there is an Erlang to ask.
pub(crate) fn is_here() -> bool {
    let found = Command::new("escript").arg("-h").output().is_ok();
    if !found {
        eprintln!("skipped: no escript here");
    }
    found
}
