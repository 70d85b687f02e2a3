//! Compiles libraries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use fyris_index::library::{Fault, Library};

/// Returns a path for a library, which no other has.
fn fresh(name: &str) -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: a number of its own is all that is asked for.
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(format!("{name}-{}-{number}.so", std::process::id()))
}

/// Compiles a library and loads it. The file can go once it is loaded.
fn load(compiler: &mut Command, source: &Path) -> Result<Library, Fault> {
    let name = source.file_stem().expect("a name").to_string_lossy();
    let library = fresh(&name);
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../capi/include");
    compiler.args(["-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]);
    compiler
        .args(["-I", include, "-o"])
        .arg(&library)
        .arg(source);
    let status = compiler.status().expect("to run the compiler");
    assert!(status.success(), "{compiler:?}");
    // SAFETY: code of this repository, which touches no memory but its own.
    let loaded = unsafe { Library::load(library.to_str().expect("a path in UTF-8")) };
    std::fs::remove_file(&library).expect("to remove it");
    loaded
}

/// Returns the library of a sorted array, with these definitions.
pub(crate) fn sorted(definitions: &[&str]) -> Result<Library, Fault> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/sorted.c");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wno-unused-function", "-pthread"]);
    cc.args(
        definitions
            .iter()
            .map(|definition| format!("-D{definition}")),
    );
    load(&mut cc, &source)
}

/// Returns one of the libraries that are shipped as examples; `None` without a compiler for C++.
pub(crate) fn example(name: &str) -> Option<Library> {
    if Command::new("c++").arg("--version").output().is_err() {
        eprintln!("skipped: no c++ here");
        return None;
    }
    let source = format!(
        "{}/../capi/examples/index/{name}.cc",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut cc = Command::new("c++");
    cc.args(["-std=c++17", "-Wpedantic"]);
    Some(load(&mut cc, Path::new(&source)).expect("a library without fault"))
}
