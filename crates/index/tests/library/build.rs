//! Compiles libraries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The file of a library, which goes with it. A library that is loaded stays.
pub(crate) struct Built(PathBuf);

impl Built {
    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns a path for a library, which no other has.
fn fresh(name: &str) -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: a number of its own is all that is asked for.
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(format!("{name}-{}-{number}.so", std::process::id()))
}

fn build(compiler: &mut Command, source: &str) -> Built {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the folder of crates");
    let source = crates.join(source);
    let built = Built(fresh(
        &source.file_stem().expect("a name").to_string_lossy(),
    ));
    compiler.args(["-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]);
    compiler.arg("-I").arg(crates.join("capi/include"));
    compiler.arg("-o").arg(&built.0).arg(source);
    let status = compiler.status().expect("to run the compiler");
    assert!(status.success(), "{compiler:?}");
    built
}

/// Builds the library of a sorted array, with these definitions.
pub(crate) fn sorted(definitions: &[&str]) -> Built {
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wno-unused-function", "-pthread"]);
    cc.args(
        definitions
            .iter()
            .map(|definition| format!("-D{definition}")),
    );
    build(&mut cc, "index/tests/library/sorted.c")
}

/// Builds one of the libraries that are shipped as examples; `None` without a compiler for C++.
pub(crate) fn example(name: &str) -> Option<Built> {
    if Command::new("c++").arg("--version").output().is_err() {
        eprintln!("skipped: no c++ here");
        return None;
    }
    let mut cc = Command::new("c++");
    cc.args(["-std=c++17", "-Wpedantic"]);
    Some(build(&mut cc, &format!("capi/examples/index/{name}.cc")))
}
