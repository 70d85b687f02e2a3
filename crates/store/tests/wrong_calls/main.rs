//! The compiler finds each mistake that is marked in `calls.rs`, and no other: what the signatures of the store and of
//! the public maps are worth.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns what cargo has built last of a crate, beside this program.
fn library(deps: &Path, name: &str) -> PathBuf {
    let files = fs::read_dir(deps).expect("the folder of this program");
    let paths = files.map(|file| file.expect("a file").path());
    let built = paths.filter(|path| {
        let file = path.file_name().and_then(|name| name.to_str());
        file.is_some_and(|file| file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib"))
    });
    let last = built.max_by_key(|path| path.metadata().and_then(|file| file.modified()).ok());
    last.expect("the library that this program is linked with")
}

/// Returns the lines in which the compiler finds an error, and what it says.
fn errors(source: &Path) -> (BTreeSet<usize>, String) {
    let program = std::env::current_exe().expect("a path");
    let deps = program.parent().expect("a folder");
    let out = tempfile::tempdir().expect("a folder");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args([
        "--edition=2024",
        "--crate-type=lib",
        "--emit=metadata",
        "--error-format=short",
    ]);
    command.arg("--out-dir").arg(out.path()).arg("-L").arg(deps);
    for name in ["fyris", "fyris_index"] {
        let library = library(deps, name);
        command
            .arg("--extern")
            .arg(format!("{name}={}", library.display()));
    }
    let said = command.arg(source).output().expect("rustc runs");
    let said = String::from_utf8(said.stderr).expect("text");
    let place = format!("{}:", source.display());
    let lines = said.lines().filter(|line| line.contains(": error"));
    let numbers =
        lines.filter_map(|line| line.strip_prefix(&place)?.split(':').next()?.parse().ok());
    (numbers.collect(), said)
}

#[test]
fn wrong_calls_are_found() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong_calls/calls.rs");
    let text = fs::read_to_string(&source).expect("the calls");
    let marked = (1..)
        .zip(text.lines())
        .filter(|(_, line)| line.ends_with("// wrong"));
    let marked: BTreeSet<usize> = marked.map(|(number, _)| number).collect();
    let (found, said) = errors(&source);
    assert!(marked.len() >= 20);
    assert_eq!(found, marked, "{said}");
}
